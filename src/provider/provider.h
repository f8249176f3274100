/*
 * provider.h - who runs tools: C functions (builtin.h), MCP servers (mcp.h), and whatever comes.
 *
 * A provider never sees a call. It gets a job: a tool, its arguments, a workspace, whoever stands
 * behind it, and a way to report. So it can be tested alone, and a call can leave a job behind that
 * does not end.
 *
 *   start    begin; report exactly once, later (never inside start)
 *   cancel   hurry up; the report still comes. Called at most once
 *   done     the job is about to be freed: give back its instance
 *
 * All three are called on the loop. A job belongs to whoever made it until job_free. When that
 * comes before the report, the job belongs to itself and is freed when the provider reports.
 * Jobs keep references of their own to all they use.
 *
 * A new provider is one file:
 *
 *	static const struct provider ops = {"http", http_start, http_cancel, http_done};
 *
 *  1. It makes tools, by tool_new from a card or tool_adopt from a definition, sets provider,
 *     provider_data and provider_free, and puts them into the catalog. A tool says truly what it
 *     can touch (capability) and whether that can be taken back (reversibility): everything else,
 *     who is asked, what is retried, what is journalled before it begins, follows from these two.
 *  2. http_start takes JOB_PREVIEW (job_report_soon, if there is nothing to show) and JOB_RUN. What
 *     blocks goes to a worker (j->work); what waits returns, and its callback reports. State of one
 *     job is j->instance, freed in done.
 *  3. The result goes into j->out: output_text, or blocks as they were parsed; `extra` for what
 *     else an MCP client should get. A failure is j->out.err, with a sentence that helps an agent;
 *     what is not for it goes to `inside`. Never report success of what may not have been done.
 *  4. Whether a failed job may be done again is for four flags of j->out to say, not for its words:
 *     `broke` (on the way), `never_left`, `refused`, `unknown`. Without any its error is an answer.
 *  5. Deadlines, slots, approval, redaction, size limits and the journal are the pipeline's.
 *     j->behind may be told of progress (behind_progress), which moves the deadline. Where a job
 *     waits for its turn at what runs it, j->waits says so until behind_begun: that is when its
 *     time begins.
 */

#ifndef PROVIDER_PROVIDER_H
#define PROVIDER_PROVIDER_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "catalog/tool.h"
#include "loop/confine.h"
#include "loop/loop.h"
#include "mcp/behind.h"
#include "provider/image.h"
#include "workspace/workspace.h"

struct job;

struct provider {
	const char *name;
	void (*start)(struct provider *p, struct job *j);
	void (*cancel)(struct provider *p, struct job *j); /* may be NULL */
	void (*done)(struct provider *p, struct job *j);   /* may be NULL */
};

enum job_kind {
	JOB_RUN,     /* do it */
	JOB_PREVIEW, /* say what it would do: modifications, diff, command. No effect */
};

/* What a tool gives back (seed 000 section 3.3). */
struct output {
	bool success;       /* true from the start; an err makes it false */
	struct buf content; /* JSON content blocks, comma-separated, without the brackets */
	/* Instead of content: the blocks as they were parsed, an array; or NULL. */
	struct json_doc *doc; /* a reference */
	const struct json *blocks;
	struct buf modified; /* JSON strings, comma-separated: paths written, or that would be */
	struct buf command;  /* that was executed, or would be; empty for none */
	struct buf metadata; /* JSON members, comma-separated; may be empty */
	struct buf diff;     /* of a preview */
	bool diff_cut;       /* and it does not show all */
	bool unchanged;      /* of a preview: everything is as it would be made */
	char image[DIGEST_TEXT]; /* of a preview: the file as it is (image.h); "": it is about none
				  */
	bool streamed;           /* all of the output was; content shows it, perhaps in part */
	struct buf extra;        /* JSON members an MCP result has beside content and isError */
	int64_t rpc_code;    /* of a JSON-RPC error, if that is what an upstream said; 0: none */
	struct buf rpc_data; /* its data; may be empty */
	uint32_t layers; /* enum confine_layer: what was put on what it started; 0: nothing was */
	bool broke;      /* it failed on the way, not in the tool: another try may do better */
	bool never_left; /* nothing of it was sent: doing it again cannot do it twice */
	bool refused;    /* whoever was asked answered that it did not do it: the same */
	bool unknown;    /* it was sent, and what came back does not tell whether it was done */
	/* The last: code 0: none. Otherwise the job failed; content may hold a part. */
	struct err err;
};

struct job_context {
	struct str session, turn, call, tool_use_id;
	struct str tenant;     /* whose artifacts it sees; {NULL,0}: the default one's */
	struct str effect_key; /* under which the ledger holds what it does; {NULL,0}: nowhere */
	struct workspace *workspace;
	bool shared;             /* the session is: who made another turn there is somebody else */
	struct witness *witness; /* of changes to files; the job's own, or NULL */
	bool track; /* tell the witness what else has become of the workspace meanwhile */
	enum confinement_profile profile; /* of what it starts */
};

struct job {
	enum job_kind kind;
	struct tool *tool;
	const struct json *input; /* validated */
	struct job_context context;
	enum reversibility reversibility; /* what the tool does to the world, where it runs */
	struct behind *behind; /* who asked for it; NULL: nobody that can be told anything */
	atomic_bool cancelled; /* long work looks at it */
	bool late;             /* it is cancelled because its time is over */
	bool waits; /* the provider's: it has not begun, and says so when it does (behind_begun) */

	/* private to the owner and the provider */
	struct loop *loop;
	void (*report)(struct job *j, void *owner);
	void (*stream)(struct job *j, struct str bytes, bool is_stderr, void *owner); /* or NULL */
	void *owner;
	struct json_doc *input_doc;
	struct arena *arena;
	void *instance; /* the provider's state of this one job */
	struct work work;
	struct deferred deferred;
	struct tracking *tracking; /* track.c; NULL: nothing is compared */
	bool cancel_sent;
	bool reported; /* out is final */

	struct output out; /* its error is the last */
};

struct job_spec {
	enum job_kind kind;
	struct tool *tool; /* with tool->provider */
	struct json_doc *input_doc;
	const struct json *input;
	struct job_context context;
	const enum reversibility *policy; /* that the configuration has for it; NULL: the tool's */
	struct behind *behind;            /* borrowed: until the report, or job_free */
	void (*report)(struct job *j, void *owner);
	void (*stream)(struct job *j, struct str bytes, bool is_stderr, void *owner);
	void *owner;
};

/* Makes and starts. report is never called inside this. E_NOMEM. */
int job_start(struct loop *l, const struct job_spec *spec, struct job **ret, struct err *e);
void job_cancel(struct job *j); /* idempotent */
void job_expire(struct job *j); /* the same, because its time is over */
/* After the report: frees. Before it: the report will be thrown away. *j becomes NULL. No-op on
 * NULL. */
void job_free(struct job **j);

/* It is left behind: its report goes to somebody else, who frees it then; who asked for it and what
 * it streams are of no concern any more. Not after the report. */
void job_leave(struct job *j, void (*report)(struct job *j, void *owner), void *owner);

/* For providers. */
void job_report(struct job *j);      /* out is filled */
void job_report_soon(struct job *j); /* the same, on the next turn of the loop */

/*
 * track.c, for job.c: the workspace before and after, on a worker. The first is taken before the
 * provider hears of the job, the second when it has reported and nobody else knows that yet.
 */
bool track_begin(struct job *j); /* false: there is nothing to track; the provider may start */
bool track_end(struct job *j);   /* false: the report can go on */
bool track_is_under_way(const struct job *j); /* the provider is not at work */
void track_free(struct job *j);
void job__go(struct job *j);       /* the provider starts, unless the job was cancelled */
void job__reported(struct job *j); /* it is over: whoever waits is told */

/* Bounded by LIMIT_RESULT_BYTES and friends; done takes a zeroed one too. */
void output_init(struct output *o);
void output_done(struct output *o);
void output_move(struct output *to, struct output *from); /* *to was empty, *from is then */

/* For filling out. */
void output_text(struct output *o, struct str text); /* adds a text block */
void output_textf(struct output *o, const char *fmt, ...) PRINTF_LIKE(2, 3);
void output_modified(struct output *o, struct str path);

#endif
