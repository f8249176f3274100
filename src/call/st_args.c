/* st_args.c - the input fits the schema, and gets the digest everything later is bound to. */

#include "call/stage.h"
#include "schema/repair.h"

/* At most LIMIT_SUMMARY_CHARS characters of the canonical text, "..." at the end of a cut one. */
static struct str
summary(struct call *c, struct str canonical)
{
	if (canonical.len <= LIMIT_SUMMARY_CHARS) /* it is ASCII */
		return arena_str(c->arena, canonical);
	char *text = arena_printf(c->arena, "%.*s...", LIMIT_SUMMARY_CHARS - 3, canonical.ptr);
	return str_of(text);
}

static int
fingerprint(struct call *c)
{
	struct buf b = BUF_INIT(LIMIT_JSON_BYTES * 6); /* an astral letter of 4 bytes becomes 12 */

	canon_write(&b, c->input, CANON_SPACED);
	bool failed = buf_failed(&b);
	if (!failed) {
		digest_bytes(buf_str(&b), c->input_hash);
		c->input_bytes = b.len;
		c->input_summary = summary(c, buf_str(&b));
	}
	buf_done(&b);
	return failed || !c->input_summary.ptr ? E_NOMEM : 0;
}

/* From here on there is one input, the repaired one: digest, question, journal and tool see it. */
static int
repair(struct call *c)
{
	struct json_doc *doc = NULL;
	int rc = schema_repair(c->tool->input_schema, c->input, &doc, &c->repairs, &c->err);

	if (doc) {
		json_doc_unref(c->input_doc);
		c->input_doc = doc;
		c->input = json_root(doc);
	}
	return rc;
}

/* The door could not read it; that is a validation error of this call, not of its message. */
static enum verdict
fail_unread(struct call *c)
{
	struct err why = c->err;

	if (why.code == 0)
		err_set(&why, E_VALIDATION, "the input is missing");
	c->invalid = str_of(arena_printf(c->arena, "$: %s", err_text(&why)));
	return call_fail(c, E_VALIDATION, "(root): %s", err_text(&why));
}

/* Twice in words: with pointers for the agent, and as the dispatcher's event has them. */
static enum verdict
fail_invalid(struct call *c, const struct schema *schema)
{
	struct buf lines = BUF_INIT(LIMIT_SCHEMA_TEXT), sentences = BUF_INIT(LIMIT_SCHEMA_TEXT);

	schema_validate(schema, c->input, SCHEMA_LINES, &lines);
	schema_validate(schema, c->input, SCHEMA_DISPATCHER, &sentences);
	c->wrong = arena_str(c->arena, buf_str(&lines));
	c->invalid = arena_str(c->arena, buf_str(&sentences));
	buf_done(&lines);
	buf_done(&sentences);
	return call_fail(c, E_VALIDATION, "%.*s", STR_ARG(c->wrong));
}

enum verdict
args_enter(struct call *c)
{
	const struct schema *schema;

	if (!c->input)
		return fail_unread(c);
	if (tool_schema(c->tool, &schema, &c->err) < 0)
		return FAIL;
	if (c->tool->repair_arguments && repair(c) < 0)
		return FAIL;
	if (!schema_fits(schema, c->input))
		return fail_invalid(c, schema);
	/* The function behind a definition relies on its own. */
	if (c->tool->inner && tool_schema(c->tool->inner, &schema, &c->err) < 0)
		return FAIL;
	if (c->tool->inner && !schema_fits(schema, c->input))
		return fail_invalid(c, schema);
	if (fingerprint(c) < 0)
		return call_fail(c, E_NOMEM, "out of memory");
	repeat_look(c);
	return NEXT;
}
