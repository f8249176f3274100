/* st_result.c - what the tool gave back, if it can be kept. */

#include "call/stage.h"

enum verdict
result_enter(struct call *c)
{
	if (buf_failed(&c->out.content) || buf_failed(&c->out.modified)) {
		buf_done(&c->out.content); /* what was touched stays known */
		return call_fail(c, E_EXECUTION,
				 "the result of %.*s is larger than the limit of %zu bytes",
				 STR_ARG(c->tool->name), LIMIT_RESULT_BYTES);
	}
	return NEXT;
}
