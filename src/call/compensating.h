/*
 * compensating.h - effects that are no files, taken back by the tool that can. For src/call only.
 *
 * Taking one back is a call of its own, with everything a call meets on its way: policy, questions,
 * journal, ledger. Its idempotency key is "compensate:" and the id of the effect, so that whoever
 * wants it, how often, and whatever dies in between: it runs once.
 */

#ifndef CALL_COMPENSATING_H
#define CALL_COMPENSATING_H

#include "call/gateway.h"

#define COMPENSATION_KEY "compensate:"

/* One effect of the ledger, and what comes of taking it back. Texts live as long. */
struct effect_step {
	struct effect_step *next;
	struct json_doc *doc;   /* of ledger_recall */
	struct json_doc *given; /* what its tool gave; NULL: that is not known */
	struct str id, call, session, tool, tenant, agent, tool_back;
	bool unread;       /* `doc` may be NULL; err says why */
	bool files;        /* what it did is in the history of changes */
	size_t number;     /* in the order they were gone through, from 1 */
	struct id by_call; /* the call that took it back; "": none was made */
	bool before;       /* it was taken back before */
	struct err err;    /* code 0: it is taken back, or could be */
};

void effect_step_done(struct effect_step *s);

/* What the ledger says of an effect, so far: is there anything to take back, or why not? */
void effect_step_judge(struct gateway *gw, struct effect_step *s, bool files);

/* On the loop; `done` comes later, or at once with an error in s->err. `where` is a workspace that
 * the call gets, or NULL: it cannot be had, and err says why. */
struct compensating;
typedef void (*compensated_fn)(struct effect_step *s, void *arg);
void compensate_start(struct gateway *gw, struct effect_step *s, struct workspace *where,
		      compensated_fn done, void *arg);
/* Could it be? For a rehearsal: s->err says why not. */
void compensate_rehearse(struct gateway *gw, struct effect_step *s);

void effect_step_write(struct jw *w, const struct effect_step *s);

#endif
