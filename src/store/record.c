/* record.c - events and calls written as JSON, the quick way: they are most of what is written. */

#include "store/record.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/canon.h"
#include "json/write.h"

static void
time_add(struct buf *b, int64_t wall_us)
{
	char text[CLOCK_TEXT];

	clock_text(wall_us, text);
	json_quote(b, (struct str){text, CLOCK_TEXT - 1});
}

/* A key and what stands around it. Marks are in files: they never change, and each has one key. */
struct key {
	unsigned char mark; /* 0: it is written out */
	struct str text;
};
#define KEY(mark, z)                                                                               \
	{                                                                                          \
		mark,                                                                              \
		{                                                                                  \
			z, sizeof(z) - 1                                                           \
		}                                                                                  \
	}

static void
key_add(struct buf *b, const struct key *k)
{
	if (k->mark)
		buf_addc(b, (char)k->mark);
	else
		buf_add(b, k->text);
}

enum event_key { ID, TIMESTAMP, SESSION, TURN, PARENT, TYPE, ACTOR, PAYLOAD, SENSITIVITY };
static const struct key event_keys[] = {
    [ID] = KEY(0x01, "{\"id\":"),
    [TIMESTAMP] = KEY(0x02, ",\"timestamp\":"),
    [SESSION] = KEY(0x03, ",\"session_id\":"),
    [TURN] = KEY(0x04, ",\"turn_id\":"),
    [PARENT] = KEY(0x05, ",\"parent_event_id\":"),
    [TYPE] = KEY(0x06, ",\"type\":"),
    [ACTOR] = KEY(0x07, ",\"actor\":"),
    [PAYLOAD] = KEY(0x08, ",\"payload\":"),
    [SENSITIVITY] = KEY(0x0b, ",\"sensitivity\":"),
};

void
record_event_begin(struct buf *b, const struct store_event *row)
{
	const struct key *k = event_keys;

	key_add(b, &k[ID]), json_quote(b, row->id);
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
	AS_HASH,  /* nothing behind the key: of the input, which stands before it */
};

#define AT(member) offsetof(struct store_call, member)

static const struct column {
	struct key key;
	enum as as;
	size_t at;
} call_columns[] = {
    {KEY(0x01, "{\"call_id\":"), AS_STR, AT(id)},
    {KEY(0x02, ",\"tool_use_id\":"), AS_STR, AT(tool_use_id)},
    {KEY(0x03, ",\"session_id\":"), AS_STR, AT(session)},
    {KEY(0x04, ",\"turn_id\":"), AS_STR, AT(turn)},
    {KEY(0x05, ",\"tool_name\":"), AS_STR, AT(tool)},
    {KEY(0x06, ",\"capability\":"), AS_Z, AT(capability)},
    {KEY(0x07, ",\"reversibility\":"), AS_Z, AT(reversibility)},
    {KEY(0x08, ",\"state\":"), AS_Z, AT(state)},
    {KEY(0x0b, ",\"success\":"), AS_SUCCESS, AT(success)},
    {KEY(0x0c, ",\"error_class\":"), AS_Z, AT(error_class)},
    {KEY(0x0e, ",\"message\":"), AS_STR, AT(message)},
    {KEY(0x0f, ",\"inside\":"), AS_STR, AT(inside)},
    {KEY(0x10, ",\"rule\":"), AS_STR, AT(rule)},
    {KEY(0x11, ",\"input\":"), AS_INPUT, AT(input)},
    {KEY(0x12, ",\"input_hash\":"), AS_HASH, AT(input_hash)},
    {KEY(0x13, ",\"input_bytes\":"), AS_INT, AT(input_bytes)},
    {KEY(0x14, ",\"output_bytes\":"), AS_INT, AT(output_bytes)},
    {KEY(0x15, ",\"files_modified\":"), AS_JSON, AT(files_modified)},
    {KEY(0x16, ",\"command\":"), AS_STR, AT(command)},
    {KEY(0x17, ",\"opened_at\":"), AS_TIME, AT(opened_us)},
    {KEY(0x18, ",\"closed_at\":"), AS_TIME, AT(closed_us)},
    {KEY(0x19, ",\"waited_ms\":"), AS_INT, AT(waited_ms)},
    {KEY(0x1a, ",\"ran_ms\":"), AS_INT, AT(ran_ms)},
    {KEY(0x1b, ",\"attempts\":"), AS_INT, AT(attempts)},
    {KEY(0x1c, ",\"reviewed_by\":"), AS_STR, AT(reviewed_by)},
    {KEY(0x1d, ",\"reviewed_at\":"), AS_TIME, AT(reviewed_us)},
    {KEY(0, ",\"shown_hash\":"), AS_STR, AT(shown_hash)},
    {KEY(0, ",\"confinement\":"), AS_STR, AT(confinement)},
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

/* 64 letters that nothing packs, in every row. */
static bool
hash_can_be_told(const struct store_call *row)
{
	return row->hash_is_of_input && row->input_is_json &&
	       row->input.len <= LIMIT_JOURNAL_INPUT_BYTES;
}

int
record_digest(const struct json *input, char out[static DIGEST_TEXT])
{
	return digest_value(input, CANON_SPACED, out, NULL);
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
	case AS_HASH:
		if (!text->ptr || !hash_can_be_told(row))
			json_quote(b, *text);
		return;
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

/* Shown */

#define MARKS 0x20 /* no more can be told from JSON */
#define INPUT_MARK 0x11
#define HASH_MARK 0x12

static const struct key *
key_of(enum log log, unsigned char mark)
{
	size_t i = 0;

	if (log == LOG_EVENTS) {
		while (i < ARRAY_LEN(event_keys) && event_keys[i].mark != mark)
			i++;
		return i < ARRAY_LEN(event_keys) ? &event_keys[i] : NULL;
	}
	while (i < ARRAY_LEN(call_columns) && call_columns[i].key.mark != mark)
		i++;
	return i < ARRAY_LEN(call_columns) ? &call_columns[i].key : NULL;
}

struct str
record_key(enum log log, unsigned char mark)
{
	const struct key *k = mark ? key_of(log, mark) : NULL;

	return k ? k->text : (struct str){NULL, 0};
}

static bool
is_key(enum log log, char c)
{
	return (unsigned char)c < MARKS && record_key(log, (unsigned char)c).ptr;
}

static void
hash_tell(struct buf *b, struct str input)
{
	char hash[DIGEST_TEXT];
	struct json_doc *doc = NULL;
	bool told = json_parse(input, &json_door, &doc, NULL) == 0 &&
		    record_digest(json_root(doc), hash) == 0;

	json_quote(b, told ? str_of(hash) : (struct str){NULL, 0});
	json_doc_unref(doc);
}

void
record_show(struct buf *b, enum log log, struct str kept)
{
	size_t from = 0, input = 0;

	for (size_t i = 0; i < kept.len; i++) {
		struct str key = (unsigned char)kept.ptr[i] < MARKS
				     ? record_key(log, (unsigned char)kept.ptr[i])
				     : (struct str){NULL, 0};
		if (!key.ptr)
			continue; /* white space, in what somebody else wrote */
		buf_add(b, (struct str){kept.ptr + from, i - from});
		buf_add(b, key);
		from = i + 1;
		if (log != LOG_CALLS)
			continue;
		if (kept.ptr[i] == INPUT_MARK)
			input = from;
		else if (kept.ptr[i] == HASH_MARK && from < kept.len && is_key(log, kept.ptr[from]))
			hash_tell(b, (struct str){kept.ptr + input, i - input});
	}
	buf_add(b, str_from(kept, from));
}
