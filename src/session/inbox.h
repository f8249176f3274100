/*
 * inbox.h - what the user says while the agent is at work, until a turn has it.
 *
 *	said --> waiting --> begun_by of the next turn
 *	            '------> absorbed by a turn that is open
 *
 * A message belongs to the inbox of its session until a turn takes it. Turns compare two numbers to
 * know whether there is one they have not heard of, so that sessions nobody speaks to pay nothing.
 * One that an open turn has not heard of is not taken by another: the open one is asked first.
 */

#ifndef SESSION_INBOX_H
#define SESSION_INBOX_H

#include "base/err.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/ulid.h"
#include "json/write.h"
#include "session/supersede.h"

struct session;
struct turn;

struct message {
	struct node node;
	char id[LIMIT_MESSAGE_ID + 1];
	uint64_t number; /* in its session, from 1 */
	int64_t at_us;
	/* Of the turn it took the place of; "": of none. */
	char group[LIMIT_TURN_GROUP + 1];
	struct id from;
	size_t len;
	char text[];
};

struct inbox {
	struct list waiting;       /* struct message: of no turn yet, oldest first */
	uint64_t came;             /* ever */
	enum supersede_action how; /* the session's own word; AS_CONFIGURED: it has none */
	bool groups;               /* every turn has a group, also those no message began */
};

void inbox_init(struct inbox *b);
void inbox_done(struct inbox *b);

/* Said by the user. An id that waits already is the same message (*ret_twin). Told as an event.
 * E_BAD_REQUEST, E_TOO_LARGE, E_LIMIT, E_NOMEM. */
int session_say(struct session *s, struct str id, struct str text, struct message **ret,
		bool *ret_twin, struct err *e);

/* A turn begins: it takes what waits, and its group comes from there if it has none. */
void inbox_begin(struct turn *t);
/* The oldest one this turn has not heard of; NULL: none is left. */
const struct message *inbox_unheard(const struct turn *t);
const struct message *inbox_after(const struct turn *t, const struct message *m); /* the next */
/* They are the turn's. */
void inbox_absorb(struct turn *t);
/* They wait for the turn that takes this one's place. */
void inbox_hand_on(struct turn *t);

void messages_free(struct list *l);
size_t messages_bytes(const struct list *l);
void messages_write(struct jw *w, const struct list *l);
void message_write(struct jw *w, const struct message *m, size_t max_bytes); /* of its text */

#endif
