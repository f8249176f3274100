/* record.c - events and calls written as JSON, the quick way: they are most of what is written. */

#include "store/record.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"
#include "json/write.h"

static void
time_add(struct buf *b, int64_t wall_us)
{
	char text[CLOCK_TEXT];

	clock_text(wall_us, text);
	json_quote(b, (struct str){text, CLOCK_TEXT - 1});
}

/* A key and what stands around it, in a field of one size: so its copy is no call. */
struct key {
	char text[24];
	unsigned char len;
};
#define KEY(z)                                                                                     \
	{                                                                                          \
		z, sizeof(z) - 1                                                                   \
	}

static void
key_add(struct buf *b, const struct key *k)
{
	if (b->failed || b->cap - b->len <= sizeof(k->text)) {
		buf_add(b, (struct str){k->text, k->len});
		return;
	}
	memcpy(b->ptr + b->len, k->text, sizeof(k->text));
	b->len += k->len;
}

enum event_key { TIMESTAMP, SESSION, TURN, PARENT, TYPE, ACTOR, PAYLOAD, SENSITIVITY };
static const struct key event_keys[] = {
    [TIMESTAMP] = KEY(",\"timestamp\":"), [SESSION] = KEY(",\"session_id\":"),
    [TURN] = KEY(",\"turn_id\":"),        [PARENT] = KEY(",\"parent_event_id\":"),
    [TYPE] = KEY(",\"type\":"),           [ACTOR] = KEY(",\"actor\":"),
    [PAYLOAD] = KEY(",\"payload\":"),     [SENSITIVITY] = KEY(",\"sensitivity\":"),
};

void
record_event_begin(struct buf *b, const struct store_event *row)
{
	const struct key *k = event_keys;

	buf_add(b, S("{\"id\":"));
	json_quote(b, row->id);
	key_add(b, &k[TIMESTAMP]), time_add(b, row->wall_us);
	key_add(b, &k[SESSION]), json_quote(b, row->session);
	key_add(b, &k[TURN]), json_quote(b, row->turn);
	key_add(b, &k[PARENT]), json_quote(b, row->parent);
	key_add(b, &k[TYPE]), json_quote(b, str_of(row->type));
	key_add(b, &k[ACTOR]), json_quote(b, str_of(row->actor));
	key_add(b, &k[PAYLOAD]);
}

void
record_event_end(struct buf *b, const struct store_event *row)
{
	key_add(b, &event_keys[SENSITIVITY]);
	json_quote(b, str_of(row->sensitivity));
	buf_addc(b, '}');
}

void
record_event(struct buf *b, const struct store_event *row)
{
	record_event_begin(b, row);
	buf_add(b, row->payload.ptr ? row->payload : S("null"));
	record_event_end(b, row);
}

enum as {
	AS_STR,
	AS_Z,
	AS_INT,
	AS_TIME,    /* 0 is "not yet" */
	AS_SUCCESS, /* null while it runs */
	AS_JSON,
	AS_INPUT, /* JSON, unless it is none or too long */
};

#define AT(member) offsetof(struct store_call, member)

static const struct column {
	struct key key;
	enum as as;
	size_t at;
} call_columns[] = {
    {KEY("{\"call_id\":"), AS_STR, AT(id)},
    {KEY(",\"tool_use_id\":"), AS_STR, AT(tool_use_id)},
    {KEY(",\"session_id\":"), AS_STR, AT(session)},
    {KEY(",\"turn_id\":"), AS_STR, AT(turn)},
    {KEY(",\"tool_name\":"), AS_STR, AT(tool)},
    {KEY(",\"capability\":"), AS_Z, AT(capability)},
    {KEY(",\"reversibility\":"), AS_Z, AT(reversibility)},
    {KEY(",\"state\":"), AS_Z, AT(state)},
    {KEY(",\"success\":"), AS_SUCCESS, AT(success)},
    {KEY(",\"error_class\":"), AS_Z, AT(error_class)},
    {KEY(",\"message\":"), AS_STR, AT(message)},
    {KEY(",\"inside\":"), AS_STR, AT(inside)},
    {KEY(",\"rule\":"), AS_STR, AT(rule)},
    {KEY(",\"input\":"), AS_INPUT, AT(input)},
    {KEY(",\"input_hash\":"), AS_STR, AT(input_hash)},
    {KEY(",\"input_bytes\":"), AS_INT, AT(input_bytes)},
    {KEY(",\"output_bytes\":"), AS_INT, AT(output_bytes)},
    {KEY(",\"files_modified\":"), AS_JSON, AT(files_modified)},
    {KEY(",\"command\":"), AS_STR, AT(command)},
    {KEY(",\"opened_at\":"), AS_TIME, AT(opened_us)},
    {KEY(",\"closed_at\":"), AS_TIME, AT(closed_us)},
    {KEY(",\"waited_ms\":"), AS_INT, AT(waited_ms)},
    {KEY(",\"ran_ms\":"), AS_INT, AT(ran_ms)},
    {KEY(",\"attempts\":"), AS_INT, AT(attempts)},
    {KEY(",\"reviewed_by\":"), AS_STR, AT(reviewed_by)},
    {KEY(",\"reviewed_at\":"), AS_TIME, AT(reviewed_us)},
    {KEY(",\"shown_hash\":"), AS_STR, AT(shown_hash)},
    {KEY(",\"confinement\":"), AS_STR, AT(confinement)},
};

/* What is no JSON is shown as the text it is, and could otherwise pass for members of its own. */
static void
input_add(struct buf *b, struct str input, bool is_json)
{
	struct buf cut = BUF_INIT(LIMIT_JOURNAL_INPUT_BYTES + 64);
	struct json_doc *doc = NULL;

	if (input.len > LIMIT_JOURNAL_INPUT_BYTES) {
		buf_add(&cut, str_utf8_upto(input, LIMIT_JOURNAL_INPUT_BYTES));
		buf_addf(&cut, "... [cut, %zu bytes in all]", input.len);
		b->failed |= buf_failed(&cut);
		json_quote(b, buf_str(&cut));
		buf_done(&cut);
	} else if (input.ptr && (is_json || json_parse(input, &json_door, &doc, NULL) == 0)) {
		buf_add(b, input);
		json_doc_unref(doc);
	} else {
		json_quote(b, input);
	}
}

static void
column_add(struct buf *b, enum as as, const void *at, const struct store_call *row)
{
	const struct str *text = at;
	const int64_t *number = at;

	switch (as) {
	case AS_STR: json_quote(b, *text); return;
	case AS_Z: json_quote(b, str_of(*(const char *const *)at)); return;
	case AS_INT: buf_add_i64(b, *number); return;
	case AS_SUCCESS:
		buf_add(b, row->closed_us == 0 ? S("null")
			   : *(const bool *)at ? S("true")
					       : S("false"));
		return;
	case AS_JSON: buf_add(b, text->ptr ? *text : S("null")); return;
	case AS_INPUT: input_add(b, *text, row->input_is_json); return;
	case AS_TIME:
		if (*number)
			time_add(b, *number);
		else
			buf_add(b, S("null"));
		return;
	}
	BUG("column of no type");
}

void
record_call(struct buf *b, const struct store_call *row)
{
	for (size_t i = 0; i < ARRAY_LEN(call_columns); i++) {
		const struct column *c = &call_columns[i];
		key_add(b, &c->key);
		column_add(b, c->as, (const char *)row + c->at, row);
	}
	buf_addc(b, '}');
}
