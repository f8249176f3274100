/* st_args.c - the input fits the schema, and gets the digest everything later is bound to. */

#include "call/stage.h"

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

enum verdict
args_enter(struct call *c)
{
	struct buf errors = BUF_INIT(sizeof(c->err.text) * 4);

	if (!c->input) {
		/* The door could not read it; that is a validation error of this call, not of its
		 * message. */
		if (c->err.code == 0)
			err_set(&c->err, E_VALIDATION, "$: the input is missing");
		c->invalid = arena_str(c->arena, str_of(err_text(&c->err)));
		c->err.code = E_VALIDATION;
		return FAIL;
	}
	if (schema_validate(c->tool->input, c->input, &errors) < 0) {
		c->invalid = arena_str(c->arena, buf_str(&errors));
		buf_done(&errors);
		return call_fail(c, E_VALIDATION, "%.*s", STR_ARG(c->invalid));
	}
	buf_done(&errors);
	if (fingerprint(c) < 0)
		return call_fail(c, E_NOMEM, "out of memory");
	return NEXT;
}
