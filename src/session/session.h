/*
 * session.h - an agent at work in one workspace: its turns, and the slots its calls share.
 *
 * Sessions are counted by reference: a call keeps its session until it is over, also
 * after the session was ended. This folder knows nothing of calls; what waits here is a
 * `struct slot`.
 */

#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "base/limits.h"
#include "base/list.h"
#include "base/map.h"
#include "base/ulid.h"
#include "event/bus.h"
#include "catalog/seen.h"
#include "session/asked.h"
#include "session/inbox.h"
#include "session/repeat.h"
#include "tenant/tenant.h"
#include "workspace/workspace.h"

enum session_kind { SESSION_MAIN, SESSION_WORKER };
const char *session_kind_name(enum session_kind k);
bool session_kind_parse(struct str name, enum session_kind *ret);

/* Somebody who keeps something for a session until it ends; in its at_end, or removed from there
 * before. */
struct session_end {
	void (*ended)(struct session_end *at); /* once; its calls have been cancelled */
	struct node node;
};

struct session {
	struct id id;
	enum session_kind kind;
	struct workspace *workspace;
	char client[64]; /* who opened it, for showing */
	/* Whose tools it has, and whose effects these are; "default" where nobody said. */
	struct agent *owner; /* a reference; NULL: nobody but the default one is known here */
	char tenant[LIMIT_OWNER_NAME + 1], agent[LIMIT_OWNER_NAME + 1];
	int64_t created_us;
	uint64_t used_ms; /* monotonic: when a turn last began or ended */
	bool shared;      /* by clients that do not know of each other */
	bool attached;    /* to a connection, and ends with it: set by whoever holds that */
	bool ended;
	unsigned slots;           /* calls that may run together */
	struct list running;      /* struct slot: held */
	struct list waiting;      /* struct slot: in arrival order */
	struct list turns;        /* struct turn: open ones and the last few ended, oldest first */
	size_t turn_count;        /* ever */
	size_t ended_count;       /* of turns: those in the list that are over, */
	size_t ended_lone;        /* the lone ones among them, */
	size_t ended_bytes;       /* and what they take */
	char event[ULID_LEN + 1]; /* session.created */
	struct repeat repeat;     /* what its last call was */
	struct inbox inbox;       /* what the user said meanwhile */

	/* Its own, made when it browses; NULL before. */
	struct asked *asked;
	struct browse_seen *seen; /* cache-stable lists */

	struct list at_end; /* struct session_end */

	/* private */
	struct sessions *sessions;
	unsigned refs;
};

struct sessions {
	struct map by_id;
	struct bus *bus;
	struct store *store; /* or NULL: nothing is kept */
	struct list ended;   /* struct turn: of all sessions, in the order of their ends */
	size_t turn_bytes;   /* of all turns, open ones too */
};

struct sessions *sessions_new(struct bus *bus, struct store *store);
void sessions_free(struct sessions *s); /* ends all; nobody may hold one */

struct session_spec {
	struct workspace *workspace; /* open already (that can block); a reference is taken */
	enum session_kind kind;
	struct str client;
	struct agent *owner; /* a reference is taken; NULL: the default one */
};
/* E_LIMIT, E_NOMEM. Borrowed: the set keeps it until session_end. */
int session_open(struct sessions *s, const struct session_spec *spec, struct session **ret,
		 struct err *e);
/* The client says who it is: shown from now on instead of what was known at the opening. */
void session_rename(struct session *s, struct str client);
struct session *session_find(const struct sessions *s, struct str id); /* NULL = none, or ended */
/* One that nobody uses since before that time, has no open turn and is not attached; NULL = none.
 */
struct session *session_idle(const struct sessions *s, uint64_t before_ms);
/* No new turns; the set lets go of it. Cancel its calls first. */
void session_end(struct session *s);

struct session *session_ref(struct session *s);
void session_unref(struct session *s); /* takes NULL */

size_t sessions_count(const struct sessions *s);                    /* open */
struct session *session_each(const struct sessions *s, size_t *at); /* as map_each */
struct turn *session_open_turn(const struct session *s);            /* the oldest; NULL = none */
void session_write(struct jw *w, const struct session *s);

/* A place among the calls that run together. */
struct slot {
	struct node node; /* private */
	bool held;
	struct str tool;
	unsigned max_running; /* of this tool, 0 = any */
	void (*granted)(void *arg);
	void *arg;
};
/* True: held now. False: `granted` will be called once it is. First come, first served, but a
 * tool at its own cap does not hold up the others. */
bool slot_take(struct session *s, struct slot *slot);
void slot_give(struct session *s, struct slot *slot); /* held or waiting; no-op otherwise */

#endif
