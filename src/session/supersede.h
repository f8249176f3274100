/*
 * supersede.h - what becomes of a turn when a new message has come (seed 004 section 10).
 *
 *	SUPERSEDE       the turn is given up; the message's own takes its place, and its group
 *	ABSORB          the turn has the message, and goes on
 *	FORCE_COMPLETE  the turn goes on to its end, whatever comes
 *	QUEUE           the turn goes on; the message waits for one with a new group
 */

#ifndef SESSION_SUPERSEDE_H
#define SESSION_SUPERSEDE_H

#include "base/str.h"

struct turn;

enum supersede_action {
	AS_CONFIGURED, /* no word of its own */
	SUPERSEDE,
	ABSORB,
	FORCE_COMPLETE,
	QUEUE,
	BY_DEFAULT, /* as the turn stands: supersede_default */
	BY_ASKING,  /* whoever runs the agent decides, in time */
};
const char *supersede_name(enum supersede_action a);
/* "SUPERSEDE", "queue", "default", "ask": in capitals or without. */
bool supersede_parse(struct str word, enum supersede_action *ret);
/* One a session may have: these, and "configured". */
#define SUPERSEDE_MODES "SUPERSEDE, ABSORB, FORCE_COMPLETE, QUEUE, default, ask or configured"
bool supersede_mode_parse(struct str word, enum supersede_action *ret);
bool supersede_is_decision(enum supersede_action a); /* one of the four */

/* A commit point or any effect of this turn: QUEUE. Else SUPERSEDE. What has begun counts: nobody
 * knows what comes of it. */
enum supersede_action supersede_default(const struct turn *t);

#endif
