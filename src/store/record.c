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
	struct str mark; /* a byte, or MORE and a letter */
	struct str text;
};
#define MORE "\x1f"
#define KEY(mark, z)                                                                               \
	{                                                                                          \
		{mark, sizeof(mark) - 1},                                                          \
		{                                                                                  \
			z, sizeof(z) - 1                                                           \
		}                                                                                  \
	}

static void
key_add(struct buf *b, const struct key *k)
{
	buf_addc(b, k->mark.ptr[0]); /* one byte, mostly: no copy of a length to be found out */
	if (k->mark.len > 1)
		buf_add(b, str_from(k->mark, 1));
}

enum event_key { ID, TIMESTAMP, SESSION, TURN, PARENT, TYPE, ACTOR, PAYLOAD, SENSITIVITY };
static const struct key event_keys[] = {
    [ID] = KEY("\x01", "{\"id\":"),
    [TIMESTAMP] = KEY("\x02", ",\"timestamp\":"),
    [SESSION] = KEY("\x03", ",\"session_id\":"),
    [TURN] = KEY("\x04", ",\"turn_id\":"),
    [PARENT] = KEY("\x05", ",\"parent_event_id\":"),
    [TYPE] = KEY("\x06", ",\"type\":"),
    [ACTOR] = KEY("\x07", ",\"actor\":"),
    [PAYLOAD] = KEY("\x08", ",\"payload\":"),
    [SENSITIVITY] = KEY("\x0b", ",\"sensitivity\":"),
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
	AS_SUCCESS, /* none while it runs */
	AS_JSON,
	AS_INPUT, /* JSON, unless it is none or too long */
	AS_HASH,  /* of the input, which stands before it */
};

#define AT(member) offsetof(struct store_call, member)

static const struct column {
	struct key key;
	enum as as;
	size_t at;
} call_columns[] = {
    {KEY("\x01", "{\"call_id\":"), AS_STR, AT(id)},
    {KEY("\x02", ",\"tool_use_id\":"), AS_STR, AT(tool_use_id)},
    {KEY("\x03", ",\"session_id\":"), AS_STR, AT(session)},
    {KEY("\x04", ",\"turn_id\":"), AS_STR, AT(turn)},
    {KEY("\x05", ",\"tool_name\":"), AS_STR, AT(tool)},
    {KEY("\x06", ",\"capability\":"), AS_Z, AT(capability)},
    {KEY("\x07", ",\"reversibility\":"), AS_Z, AT(reversibility)},
    {KEY("\x08", ",\"state\":"), AS_Z, AT(state)},
    {KEY("\x0b", ",\"success\":"), AS_SUCCESS, AT(success)},
    {KEY("\x0c", ",\"error_class\":"), AS_Z, AT(error_class)},
    {KEY("\x0e", ",\"message\":"), AS_STR, AT(message)},
    {KEY("\x0f", ",\"inside\":"), AS_STR, AT(inside)},
    {KEY("\x10", ",\"rule\":"), AS_STR, AT(rule)},
    {KEY("\x11", ",\"input\":"), AS_INPUT, AT(input)},
    {KEY("\x12", ",\"input_hash\":"), AS_HASH, AT(input_hash)},
    {KEY("\x13", ",\"input_bytes\":"), AS_INT, AT(input_bytes)},
    {KEY("\x14", ",\"output_bytes\":"), AS_INT, AT(output_bytes)},
    {KEY("\x15", ",\"files_modified\":"), AS_JSON, AT(files_modified)},
    {KEY("\x16", ",\"command\":"), AS_STR, AT(command)},
    {KEY("\x17", ",\"opened_at\":"), AS_TIME, AT(opened_us)},
    {KEY("\x18", ",\"closed_at\":"), AS_TIME, AT(closed_us)},
    {KEY("\x19", ",\"waited_ms\":"), AS_INT, AT(waited_ms)},
    {KEY("\x1a", ",\"ran_ms\":"), AS_INT, AT(ran_ms)},
    {KEY("\x1b", ",\"attempts\":"), AS_INT, AT(attempts)},
    {KEY("\x1c", ",\"reviewed_by\":"), AS_STR, AT(reviewed_by)},
    {KEY("\x1d", ",\"reviewed_at\":"), AS_TIME, AT(reviewed_us)},
    {KEY(MORE "a", ",\"shown_hash\":"), AS_STR, AT(shown_hash)},
    {KEY(MORE "b", ",\"confinement\":"), AS_STR, AT(confinement)},
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
	} else if (is_json || json_parse(input, &json_door, &doc, NULL) == 0) {
		buf_add(b, input);
		json_doc_unref(doc);
	} else {
		json_quote(b, input);
	}
}

#define TOLD '=' /* no JSON value begins so: what it is, is told by the input */

/* 64 letters that nothing packs, in every row. */
static bool
hash_can_be_told(const struct store_call *row)
{
	return row->hash_is_of_input && row->input_is_json &&
	       row->input.len <= LIMIT_JOURNAL_INPUT_BYTES;
}

static void
text_add(struct buf *b, struct str text)
{
	if (text.ptr)
		json_quote(b, text);
}

/* Nothing is written for null: what follows is another mark, or the end. */
static void
column_add(struct buf *b, enum as as, const void *at, const struct store_call *row)
{
	const struct str *text = at;
	const int64_t *number = at;

	switch (as) {
	case AS_STR: text_add(b, *text); return;
	case AS_Z: text_add(b, str_of(*(const char *const *)at)); return;
	case AS_INT: buf_add_i64(b, *number); return;
	case AS_SUCCESS:
		if (row->closed_us)
			buf_add(b, *(const bool *)at ? S("true") : S("false"));
		return;
	case AS_JSON: buf_add(b, *text); return;
	case AS_INPUT:
		if (text->ptr)
			input_add(b, *text, row->input_is_json);
		return;
	case AS_HASH:
		if (text->ptr && hash_can_be_told(row))
			buf_addc(b, TOLD);
		else
			text_add(b, *text);
		return;
	case AS_TIME:
		if (*number)
			time_add(b, *number);
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

static const struct key *
key_nth(enum log log, size_t i)
{
	if (log == LOG_EVENTS)
		return i < ARRAY_LEN(event_keys) ? &event_keys[i] : NULL;
	return i < ARRAY_LEN(call_columns) ? &call_columns[i].key : NULL;
}

/* Whose mark it begins with. */
static const struct key *
key_at(enum log log, struct str kept)
{
	const struct key *k;

	if (kept.len == 0 || (unsigned char)kept.ptr[0] >= MARKS)
		return NULL;
	for (size_t i = 0; (k = key_nth(log, i)); i++)
		if (str_starts(kept, k->mark))
			return k;
	return NULL; /* white space, in what somebody else wrote */
}

struct str
record_key(enum log log, struct str mark)
{
	const struct key *k = key_at(log, mark);

	return k ? k->text : (struct str){NULL, 0};
}

/* A value is no mark and no end. */
static bool
is_left_out(enum log log, struct str kept)
{
	return kept.len == 0 || kept.ptr[0] == '}' || key_at(log, kept);
}

static void
hash_tell(struct buf *b, struct str input)
{
	char hash[DIGEST_TEXT];
	struct json_doc *doc = NULL;
	bool told = json_parse(input, &json_door, &doc, NULL) == 0 &&
		    digest_value(json_root(doc), CANON_SPACED, hash, NULL) == 0;

	json_quote(b, told ? str_of(hash) : (struct str){NULL, 0});
	json_doc_unref(doc);
}

void
record_show(struct buf *b, enum log log, struct str kept)
{
	size_t from = 0;

	for (size_t i = 0; i < kept.len; i++) {
		const struct key *k = key_at(log, str_from(kept, i));
		if (!k)
			continue;
		struct str before = {kept.ptr + from, i - from}; /* the key's: a value */
		buf_add(b, before);
		buf_add(b, k->text);
		from = i + k->mark.len;
		if (is_left_out(log, str_from(kept, from)))
			buf_add(b, S("null"));
		else if (kept.ptr[from] == TOLD)
			hash_tell(b, before), from++;
		i = from - 1;
	}
	buf_add(b, str_from(kept, from));
}
