/*
 * given.c - what a tool gave back, as data, for the tool that takes its effect back.
 *
 * Taken before anybody shapes the result for whoever asked: no envelope, no redaction, nothing cut.
 * It goes into the ledger and nowhere else.
 */

#include "call/stage.h"

#define PARTS_BYTES                                                                                \
	(4 * LIMIT_EFFECT_GIVEN) /* that are looked through; quotes are escaped there              \
				  */

bool
given_is_wanted(const struct call *c)
{
	return c->does.compensation_tool.len > 0;
}

/* A part of an output with its brackets; NULL: too long, or no JSON. */
static struct json_doc *
part_parse(const char *open, const struct buf *part, const char *close)
{
	struct buf text = BUF_INIT(PARTS_BYTES);
	struct json_doc *doc = NULL;

	buf_addz(&text, open);
	buf_add(&text, buf_str(part));
	buf_addz(&text, close);
	if (!buf_failed(&text) && json_parse(buf_str(&text), &json_door, &doc, NULL) < 0)
		doc = NULL;
	buf_done(&text);
	return doc;
}

/* The first text, if it is JSON. */
static void
text_take(const struct json *blocks, struct buf *to)
{
	struct str text = json_str(json_get(json_at(blocks, 0), S("text")));
	struct json_doc *doc = NULL;

	if (text.ptr && text.len <= LIMIT_EFFECT_GIVEN &&
	    json_parse(text, &json_door, &doc, NULL) == 0)
		buf_add(to, text);
	json_doc_unref(doc);
}

void
given_take(const struct output *out, struct buf *to)
{
	struct json_doc *extra = out->extra.len ? part_parse("{", &out->extra, "}") : NULL;
	const struct json *data = extra ? json_get(json_root(extra), S("structuredContent")) : NULL;
	bool unread = out->extra.len && !extra; /* there may be some, which the text is not */
	struct json_doc *content = NULL;
	struct jw w = jw(to);

	buf_reset(to);
	if (data)
		jw_value(&w, data);
	else if (out->blocks && !unread)
		text_take(out->blocks, to);
	else if (!unread && (content = part_parse("[", &out->content, "]")))
		text_take(json_root(content), to);
	if (buf_failed(to)) /* half of it is none */
		buf_done(to);
	json_doc_unref(content);
	json_doc_unref(extra);
}
