/*
 * turn_body.h - the calls in a message, whichever of three shapes it has.
 *
 *	{"content": [{"type": "tool_use", "id", "name", "input"}, ...]}       Anthropic
 *	{"tool_calls": [{"id", "type": "function", "function": {...}}, ...]}  OpenAI
 *	{"name", "input", "id"?}                                              one call, short
 *
 * The first two may be the model's whole message as it came: other blocks and the message's
 * own members are passed over. Beside them stand our options `wait` and `attended`. Any other
 * member is refused by its name.
 */

#ifndef FRONT_TURN_BODY_H
#define FRONT_TURN_BODY_H

#include "base/limits.h"
#include "call/gateway.h"

struct turn_body {
	enum turn_shape shape;
	struct str group; /* turn_group_id, or {NULL,0} */
	bool wait;        /* answer when all results are in */
	bool attended;    /* somebody who can be asked stands behind it */
	struct call_spec calls[LIMIT_CALLS_PER_TURN];
	size_t count;

	/* private: what the calls point to */
	struct json_doc *docs[LIMIT_CALLS_PER_TURN];
	struct err *errors[LIMIT_CALLS_PER_TURN];
};

/* Fills *ret, which must be done in any case. doc must outlive it. E_BAD_REQUEST, E_LIMIT, E_NOMEM.
 */
int turn_body_read(struct json_doc *doc, struct turn_body *ret, struct err *e);
void turn_body_done(struct turn_body *b);

#endif
