/*
 * gateway.h - everything a call meets on its way, in one place, and what fronts may do with it.
 *
 * Fronts (REST, MCP, the command line) submit turns, cancel, answer questions and read; they
 * see neither providers nor the store.
 */

#ifndef CALL_GATEWAY_H
#define CALL_GATEWAY_H

#include "artifact/artifact.h"
#include "catalog/browse.h"
#include "catalog/catalog.h"
#include "event/bus.h"
#include "policy/grant.h"
#include "policy/policy.h"
#include "policy/question.h"
#include "search/learned.h"
#include "session/session.h"
#include "session/turn.h"
#include "store/store.h"
#include "upstream/upstream.h"

struct call;

enum place {
#define PLACE(name, word, next, sentence) PLACE_##name,
#include "../../tbl/places.def"
#undef PLACE
	PLACE__COUNT
};
const char *place_name(enum place p);

struct counters {
	uint64_t calls; /* taken in */
	uint64_t completed;
	uint64_t failed;
	uint64_t asked;
	uint64_t abandoned; /* tools that ignored cancel */
};

struct gateway {
	/* Borrowed from whoever wired it; all but store must be there. */
	struct loop *loop;
	struct catalog *catalog;
	struct policy *policy;
	struct grants *grants;
	struct questions *questions;
	struct bus *bus;
	struct store *store; /* NULL: nothing is kept */
	struct artifacts *artifacts;
	struct sessions *sessions;
	struct upstreams *upstreams; /* the MCP servers behind; or NULL */
	struct learned *learned;     /* or NULL */
	void (*taught)(void *arg);   /* it has changed, and should be kept; may be NULL */
	void *taught_arg;
	const char *const *shut; /* directories no workspace opens, NULL-terminated */

	/* private to src/call */
	struct list at[PLACE__COUNT];
	struct map calls; /* by id */
	struct counters count;
	bool catching_up;  /* held calls wait for the journal */
	unsigned watchers; /* people who would see a question */
	bool stopping;
	void (*idle)(void *arg); /* after gateway_stop, once no call is left */
	void *idle_arg;
	struct deferred idle_soon;
};

void gateway_init(struct gateway *gw); /* the borrowed members are set */
void gateway_done(struct gateway *gw); /* no call may be left */

/* Refuse new calls and cancel the rest; idle is called when the last one is over, never inside. */
void gateway_stop(struct gateway *gw, void (*idle)(void *arg), void *arg);

/* How much of a result whoever asked gets to see. */
enum showing {
	SHOW_ENDS,     /* text beyond `results.max_bytes` is kept, its ends are shown */
	SHOW_WHOLE,    /* all of it */
	SHOW_ENVELOPE, /* a ResultEnvelope (artifact/envelope.h), as the gateway surface has it */
};

/* One call of a message. */
struct call_spec {
	struct str tool_use_id; /* {NULL,0}: one is made */
	struct str tool;
	struct json_doc *input_doc; /* borrowed; a reference is taken */
	const struct json
	    *input; /* NULL: the agent's input could not be read; input_error says why */
	const struct err *input_error;
	enum showing showing;
};
struct turn_spec {
	const struct call_spec *calls;
	size_t count;
	enum turn_shape shape;
	bool attended;         /* false: nobody behind this can be asked; only watchers could */
	struct behind *behind; /* who made it; NULL: nobody that can be told anything. Borrowed
				  until done: whoever goes away earlier calls turn_orphan */
	void (*done)(struct turn *t, void *arg); /* may be NULL */
	void *arg;
};
/*
 * All calls of one message. They run together as far as the session's slots go, results come in
 * the order given. `done` is never called inside. E_BAD_REQUEST (no call, an id twice), E_LIMIT,
 * E_SESSION_ENDED, E_STOPPING, E_NOMEM.
 */
int gateway_submit(struct gateway *gw, struct session *s, const struct turn_spec *spec,
		   struct turn **ret, struct err *e);

/* Cancel: what waits ends at once, what runs is told to stop. All are idempotent. */
int gateway_cancel_call(struct gateway *gw, struct str id); /* E_NO_CALL */
size_t gateway_cancel_turn(struct gateway *gw,
			   struct turn *t); /* how many calls were still alive */
size_t gateway_cancel_session(struct gateway *gw, struct session *s);
void gateway_end_session(struct gateway *gw, struct session *s); /* cancel, then end */

/*
 * browsing.c. What a session may see of the tools; all of them, without one. A session's queries
 * teach: `learned` hears of them when it runs what it was shown. stable: the cards a session has
 * seen come first and unchanged (seed 001 section 5). The shelf lives as long as the reply, which
 * is over before control goes back to the loop.
 */
int gateway_browse(struct gateway *gw, struct session *s, const struct browse_args *args,
		   bool stable, struct browse_reply *ret, struct err *e);
/* E_NOT_FOUND: there is no such tool, or not for this session. */
int gateway_hydrate(struct gateway *gw, struct session *s, struct str tool, struct jw *w,
		    struct err *e);

/* A person is looking at this gateway's events and could answer. */
void gateway_watch(struct gateway *gw, bool begins);

bool tool_visible(const struct tool *t, const struct session *s);

/* Counts per place, sessions, questions, totals. */
void gateway_write_status(struct jw *w, const struct gateway *gw); /* members of an open object */
/* One call that is alive, by its id or tool_use_id; false when there is none. */
bool gateway_write_call(struct jw *w, const struct gateway *gw, struct str id);
/* Calls that are alive, as the journal shows them. */
void gateway_write_live(struct jw *w, const struct gateway *gw, struct str session);

#endif
