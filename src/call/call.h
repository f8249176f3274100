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
#include "policy/effect.h"
#include "provider/provider.h"

struct claim;
struct hook_run;
struct hooks;
struct form;
struct keeping;
struct meter;
struct scope_check;
struct changes;
struct tuning;

/* One of those whose failures and calls are counted (meter.c). */
struct metered {
	struct meter *meter; /* the gateway's; NULL: nothing is counted */
	const struct tuning *tuning;
	bool begun, tries; /* an attempt is under way; it is the one that tries */
};

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
	struct str idempotency_key; /* the caller's own, or {NULL,0} */
	unsigned given_ms;          /* it may run no longer; 0: as its tool */
	struct str compensates;     /* the effect it takes back, or {NULL,0} */
	unsigned wished_ms;         /* its timeout where nothing is said of the tool; 0: none */

	/* whoever stands behind it, as its job sees them (behind.c) */
	struct behind behind;

	/* the driver's */
	int stage;         /* in gw->chain; -1 before the first */
	bool returning;    /* on the way out */
	uint64_t since_us; /* monotonic: what came before is charged to its stage */
	unsigned weight;   /* of its steps: for so many calls they are timed; 0: they are not */
	enum place place;
	struct node in_place;
	struct deferred waking;
	bool cancelled;
	struct timer timer; /* the alarm of the stage that waits */
	bool overdue;       /* it rang */

	/* record */
	int64_t opened_us; /* wall */
	uint64_t opened_mono_us;

	/* resolve */
	struct tool *tool;       /* a reference, to the end: the journal row names its effects */
	uint64_t catalog_was;    /* catalog_version, when it was found */
	struct tunings *tunings; /* a reference, or NULL: what it was read from */
	const struct tuning *tuning; /* how it is run */
	struct effect does;          /* to the world, by both; borrowed from them */
	struct metered metered[2];   /* the tool, its server */

	/* hooks */
	struct hooks *hooks;       /* as they were when it came by, a reference; NULL: none */
	size_t hook_at;            /* how many of them were looked at, this way */
	struct hook_run *hook_run; /* a program at work, or NULL */
	bool hook_calls;           /* a function is at work: it may change the call */
	bool aborted;              /* by one of them: none comes after it */

	/* for functions of the program that holds the gateway (guest.c) */
	struct buf input_text, result_text;
	const struct json *input_text_of; /* the input that is the text of */

	/* args */
	struct buf repairs; /* of the input, as schema/repair.h reports them */
	char input_hash[DIGEST_TEXT];
	size_t input_bytes;
	struct str input_summary; /* at most LIMIT_SUMMARY_CHARS */
	struct str wrong;         /* validation errors for the agent; {NULL,0} when it fitted */
	struct str invalid; /* the same in the dispatcher's sentences, for the event; a line each */

	/* scope */
	struct scope_check *check;
	struct str targets; /* where its paths lead, from the root; each ends with a NUL */

	/* replay */
	struct str effect_key;           /* {NULL,0}: it stands for itself */
	char effect_digest[DIGEST_TEXT]; /* of the arguments (JCS); "": nobody needed it */
	bool leads;                      /* the one of its key that goes on, here */
	bool cached;                     /* the result is one that was kept */
	struct claim *claim;             /* something is asked of the claims; or NULL */
	struct id effect;                /* its record in the ledger; "": there is none */
	bool taken, settled;             /* it is written down that it begins; how it ended */
	bool unrecorded;                 /* how it ended could not be */
	bool ran_well, ran_badly;        /* its tool said so: badly, and perhaps did a part of it */
	bool doubt;                      /* an attempt may have done it */
	bool left_behind;                /* its job was, and may still be at it */
	struct buf given; /* by its tool, as it was (given.c); empty: none, or not wanted */

	const char *must_ask; /* why a person is asked whatever the policy says; NULL: no reason */

	/* policy */
	enum policy_mode mode;
	bool ask;
	bool alone; /* asked whatever was remembered, and answered for this call alone */
	bool
	    secret; /* because of a secret file: nothing of it is told before somebody has looked */
	struct str rule;

	/* confirm */
	struct job *preview;
	struct question *question;
	struct form *form;    /* the same, in the client that made the call; or NULL */
	unsigned asked;       /* how often: again when what was shown has changed */
	char reviewed_by[32]; /* who answered the last question; "": nobody has */
	int64_t reviewed_us;
	char shown_hash[DIGEST_TEXT]; /* of all they were shown */
	char asked_event[ULID_LEN + 1];
	char shown_image[DIGEST_TEXT]; /* of the file as the question showed it; "": none was shown
					*/

	/* slot */
	struct slot slot;

	/* dispatch */
	struct job *job;
	unsigned attempts;       /* begun so far */
	bool effect_begun;       /* one that its turn counts */
	struct changes *changes; /* to files, as its jobs make them; NULL: none can be made */
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

	struct progress *progress; /* how far it is; NULL: it has not said, and runs for short */

	/* result */
	struct keeping *keeping;
	struct buf artifacts; /* JSON, comma-separated: what was kept of it */
	struct output out;    /* from dispatch on */

	struct err err; /* why it failed; code 0: it has not */
};

/* Makes a call that does not run yet. E_NOMEM, E_LIMIT. */
int call_new(struct gateway *gw, struct turn *turn, size_t index, const struct call_spec *spec,
	     struct call **ret, struct err *e);
void call_start(struct call *c); /* soon */
void call_cancel(struct call *c);
/* guest.c: what a function may see of it. Valid until the call goes on; NULL: there is none, or no
 * memory for it. */
const char *call_input_text(struct call *c);
const char *call_result_text(struct call *c); /* text alone, or why it failed */
bool call_is_error(const struct call *c);

void call_free(struct call *c); /* for one that was never started, or is over */

#endif
