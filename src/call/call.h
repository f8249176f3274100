/*
 * call.h - one call: who asked for what, how far it is, what came of it.
 *
 * A call lives in its own arena and is freed when its turn has the result. Members are
 * grouped by the stage that writes them; later stages only read.
 */

#ifndef CALL_CALL_H
#define CALL_CALL_H

#include "base/arena.h"
#include "base/limits.h"
#include "call/gateway.h"
#include "json/canon.h"
#include "provider/provider.h"

struct claim;
struct form;
struct keeping;
struct scope_check;

struct call {
	/* from the door */
	struct gateway *gw;
	struct arena *arena;
	struct id id;
	struct str tool_use_id;
	struct str tool_name;
	struct session *session; /* a reference */
	struct turn *turn;
	size_t index;               /* in the turn */
	struct json_doc *input_doc; /* a reference, or NULL */
	const struct json *input;   /* NULL: could not be read */
	enum showing showing;

	/* whoever stands behind it, as its job sees them (behind.c) */
	struct behind behind;

	/* the driver's */
	int stage; /* -1 before the first */
	enum place place;
	struct node in_place;
	struct deferred waking;
	bool cancelled;
	struct timer timer; /* the alarm of the stage that waits */
	bool overdue;       /* it rang */
	struct err err;     /* why it failed; code 0: it has not */

	/* record */
	int64_t opened_us; /* wall */
	uint64_t opened_mono_us;

	/* resolve */
	struct tool *tool; /* a reference, to the end: the journal row names its effects */

	/* args */
	struct buf repairs; /* of the input, as schema/repair.h reports them */
	char input_hash[DIGEST_TEXT];
	size_t input_bytes;
	struct str input_summary; /* at most LIMIT_SUMMARY_CHARS */
	struct str wrong;         /* validation errors for the agent; {NULL,0} when it fitted */
	struct str invalid; /* the same in the dispatcher's sentences, for the event; a line each */

	/* scope */
	struct scope_check *check;

	/* policy */
	enum policy_mode mode;
	bool ask;
	struct str rule;

	/* confirm */
	struct job *preview;
	struct question *question;
	struct form *form; /* the same, in the client that made the call; or NULL */
	char asked_event[ULID_LEN + 1];

	/* slot */
	struct slot slot;

	/* dispatch */
	struct claim *claim; /* that the journal knows of it; NULL: needs none */
	struct job *job;
	unsigned allowed_ms;     /* in all, as it stands */
	uint64_t people_ms;      /* that people were given meanwhile, beside the tool's own time */
	int ending;              /* E_TIMEOUT or E_CANCELLED once the job was told to stop */
	uint64_t called_mono_us; /* 0: never called */
	char called_event[ULID_LEN + 1];
	size_t streamed;     /* bytes in tool.output_delta events so far */
	struct spool *spool; /* everything it streamed; NULL: nothing */
	struct {
		char bytes[4];
		size_t len;
	} cut[2]; /* of stdout and stderr: a character that has begun but not ended */

	/* result */
	struct output out; /* from dispatch on */
	struct keeping *keeping;
	struct buf artifacts; /* JSON, comma-separated: what was kept of it */
};

/* Makes a call that does not run yet. E_NOMEM, E_LIMIT. */
int call_new(struct gateway *gw, struct turn *turn, size_t index, const struct call_spec *spec,
	     struct call **ret, struct err *e);
void call_start(struct call *c); /* soon */
void call_cancel(struct call *c);
void call_free(struct call *c); /* for one that was never started, or is over */

#endif
