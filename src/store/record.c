/* record.c - events and calls written as JSON, the quick way: they are most of what is written. */

#include "store/record.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"
#include "json/write.h"

#define EACH_BYTE (~(uint64_t)0 / 255)

/* In eight bytes: has one that is not written as it is? A byte below a limit borrows from above. */
static uint64_t
odd_in(uint64_t w)
{
	uint64_t quote = w ^ EACH_BYTE * '"', backslash = w ^ EACH_BYTE * '\\',
		 del = w ^ EACH_BYTE * 0x7f;

	return ((w - EACH_BYTE * 0x20) | (quote - EACH_BYTE) | (backslash - EACH_BYTE) |
		(del - EACH_BYTE) | w) &
	       EACH_BYTE * 0x80;
}

/* Ids, names and the like: nearly all that comes. */
static bool
is_plain(struct str s)
{
	uint64_t w = EACH_BYTE * ' ', odd = 0;

	if (s.len < sizeof(w)) {
		memcpy(&w, s.ptr, s.len);
		return !odd_in(w);
	}
	for (size_t i = 0; i + sizeof(w) <= s.len; i += sizeof(w)) {
		memcpy(&w, s.ptr + i, sizeof(w));
		odd |= odd_in(w);
	}
	memcpy(&w, s.ptr + s.len - sizeof(w), sizeof(w)); /* some of them once more */
	return !(odd | odd_in(w));
}

static void
text_add_slow(struct buf *b, struct str s)
{
	struct jw w = jw(b);

	jw_str(&w, s);
}

static void
text_add(struct buf *b, struct str s)
{
	char *p = s.ptr && is_plain(s) ? buf_room(b, s.len + 2) : NULL;

	if (!p) {
		text_add_slow(b, s);
		return;
	}
	p[0] = '"';
	memcpy(p + 1, s.ptr, s.len);
	p[s.len + 1] = '"';
	b->len += s.len + 2;
}

static void
time_add(struct buf *b, int64_t wall_us)
{
	char text[CLOCK_TEXT];

	clock_text(wall_us, text);
	text_add(b, (struct str){text, CLOCK_TEXT - 1});
}

void
record_event_begin(struct buf *b, const struct store_event *row)
{
	buf_add(b, S("{\"id\":"));
	text_add(b, row->id);
	buf_add(b, S(",\"timestamp\":"));
	time_add(b, row->wall_us);
	buf_add(b, S(",\"session_id\":"));
	text_add(b, row->session);
	buf_add(b, S(",\"turn_id\":"));
	text_add(b, row->turn);
	buf_add(b, S(",\"parent_event_id\":"));
	text_add(b, row->parent);
	buf_add(b, S(",\"type\":"));
	text_add(b, str_of(row->type));
	buf_add(b, S(",\"actor\":"));
	text_add(b, str_of(row->actor));
	buf_add(b, S(",\"payload\":"));
}

void
record_event_end(struct buf *b, const struct store_event *row)
{
	buf_add(b, S(",\"sensitivity\":"));
	text_add(b, str_of(row->sensitivity));
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

#define KEY(z)                                                                                     \
	{                                                                                          \
		"" z, sizeof(z) - 1                                                                \
	}
#define AT(member) offsetof(struct store_call, member)

static const struct column {
	struct str key;
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
};

/* What is no JSON is shown as the text it is, and could otherwise pass for members of its own. */
static void
input_add(struct buf *b, struct str input)
{
	struct buf cut = BUF_INIT(LIMIT_JOURNAL_INPUT_BYTES + 64);
	struct json_doc *doc = NULL;

	if (input.len > LIMIT_JOURNAL_INPUT_BYTES) {
		buf_add(&cut, str_utf8_upto(input, LIMIT_JOURNAL_INPUT_BYTES));
		buf_addf(&cut, "... [cut, %zu bytes in all]", input.len);
		b->failed |= buf_failed(&cut);
		text_add(b, buf_str(&cut));
		buf_done(&cut);
	} else if (input.ptr && json_parse(input, &json_door, &doc, NULL) == 0) {
		buf_add(b, input);
		json_doc_unref(doc);
	} else {
		text_add(b, input);
	}
}

static void
column_add(struct buf *b, enum as as, const void *at, bool open)
{
	const struct str *text = at;
	const int64_t *number = at;

	switch (as) {
	case AS_STR: text_add(b, *text); return;
	case AS_Z: text_add(b, str_of(*(const char *const *)at)); return;
	case AS_INT: buf_add_i64(b, *number); return;
	case AS_SUCCESS:
		buf_add(b, open ? S("null") : *(const bool *)at ? S("true") : S("false"));
		return;
	case AS_JSON: buf_add(b, text->ptr ? *text : S("null")); return;
	case AS_INPUT: input_add(b, *text); return;
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
		buf_add(b, c->key);
		column_add(b, c->as, (const char *)row + c->at, row->closed_us == 0);
	}
	buf_addc(b, '}');
}
