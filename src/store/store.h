/*
 * store.h - what survives the process: events, the journal of calls, remembered answers.
 *
 * Writes are queued and never block the loop; one writer thread commits them in groups
 * (SQLite in WAL mode), ten milliseconds late unless somebody waits for them. Rows are copied
 * when they are put. Reads run on another thread and end with a call on the loop. Several
 * processes may share one file.
 */

#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/buf.h"
#include "loop/loop.h"

struct store;

/* path NULL: in memory, for tests and --ephemeral. Parents are made with mode 0700, the file 0600.
 */
int store_open(struct loop *l, const char *path, struct store **ret, struct err *e);
/* Writes out everything that is queued. Reads and syncs under way are answered in here. */
void store_free(struct store *s); /* takes NULL */

/* 0, or E_STORE with the reason while writing fails (disk full, read-only...): effects must not
 * begin then. It recovers by itself. */
int store_health(struct store *s, struct err *e);

/* More than half of what may wait for the disk does: time to hold new work back until store_sync.
 */
bool store_crowded(struct store *s);

/* What waits for the disk. */
void store_backlog(struct store *s, size_t *ret_rows, size_t *ret_bytes);

struct store_event {
	struct str id;
	int64_t wall_us;
	struct str session, turn, parent; /* {NULL,0} = null */
	const char *type, *actor, *sensitivity;
	bool audit;
	struct str payload; /* JSON */
	struct str json;    /* the whole of it, by record.h; {NULL,0}: to be made of the above */
};

/* The journal row of a call. Put again with the same id it replaces what was there. */
struct store_call {
	struct str id; /* call_... */
	struct str tool_use_id;
	struct str session, turn;
	struct str tool;
	const char *capability, *reversibility; /* NULL until resolved */
	const char *state;                      /* "running", "completed", "failed" */
	const char *error_class;                /* NULL when it did not fail */
	struct str message;                     /* what the agent was told, short */
	struct str inside;                      /* what it was not told */
	struct str rule;                        /* which rule let it through or stopped it */
	struct str input;   /* JSON; kept up to LIMIT_JOURNAL_INPUT_BYTES, cut with a mark */
	bool input_is_json; /* known to be; else it is looked at */
	struct str input_hash;
	bool hash_is_of_input; /* spaced (canon.h): then it can be told again, and is not kept */
	struct str files_modified;    /* JSON array or {NULL,0} */
	struct str command;           /* or {NULL,0} */
	struct str reviewed_by;       /* who answered, or {NULL,0} */
	int64_t reviewed_us;          /* wall; 0: nobody was asked */
	struct str shown_hash;        /* of what they were shown, or {NULL,0} */
	struct str confinement;       /* of what it started: "standard: group,death"; or {NULL,0} */
	int64_t opened_us, closed_us; /* wall; closed 0 while running */
	int64_t waited_ms;            /* for people and slots */
	int64_t ran_ms;
	int64_t input_bytes, output_bytes;
	int64_t attempts;
	bool success;
};

struct store_session {
	struct str id;
	struct str workspace;
	const char *kind;             /* "main", "worker" */
	struct str client;            /* who opened it, for showing */
	struct str tenant, agent;     /* {NULL,0}: the default ones */
	int64_t created_us, ended_us; /* ended 0 = open */
};

/* A remembered answer that outlives its session. */
struct store_grant {
	struct str id; /* grant_... */
	struct str workspace;
	struct str tool;
	struct str prefix; /* of a command, or {NULL,0} for every use of the tool */
	bool allow;
	int64_t created_us;
	struct str by;
};

/* Something that is set up besides the configuration: a tenant, an agent, a definition, an
 * activation. */
struct store_setting {
	const char *kind;               /* "tenant", "agent", "definition", "activation" */
	struct str tenant, agent, name; /* "" where it has none; together with the kind its key */
	struct str id;                  /* a UUID */
	struct str json;
	int64_t created_us, updated_us;
};

/* E_LIMIT when the queue is full, E_NOMEM. */
int store_put_event(struct store *s, const struct store_event *row);
int store_put_call(struct store *s, const struct store_call *row);
/* A row that is there, as it was read, with another state and its end; E_BAD_JSON. */
int store_put_call_state(struct store *s, struct str row, const char *state, int64_t closed_us);
int store_put_session(struct store *s, const struct store_session *row);
int store_put_grant(struct store *s, const struct store_grant *row);
int store_delete_grant(struct store *s, struct str id);
int store_put_setting(struct store *s, const struct store_setting *row);
int store_drop_setting(struct store *s, const struct store_setting *key);   /* by its key alone */
int store_drop_agent(struct store *s, struct str tenant, struct str agent); /* with all it has */
int store_drop_tenant(struct store *s, struct str tenant);                  /* the same */

/* After everything put so far is committed (code 0) or could not be (E_STORE). */
int store_sync(struct store *s, void (*done)(int code, void *arg), void *arg);

/*
 * Reading. Rows come as the JSON that REST shows, oldest first. A read sees everything put
 * before it; only while writing fails it shows what is on the disk (store_health says so).
 * A page ends early, with `more`, at LIMIT_STORE_PAGE_BYTES. It is valid inside `done` only.
 * E_LIMIT when too many are under way, E_NOMEM.
 */
struct store_row {
	struct str id;
	struct str type; /* of an event */
	struct str json; /* a whole object */
};
struct store_page {
	int code; /* 0 or E_STORE */
	const struct store_row *rows;
	size_t count;
	bool more;
};
typedef void (*store_page_fn)(const struct store_page *page, void *arg);

struct store_query {
	struct str session; /* {NULL,0}: all */
	struct str turn;    /* events and calls of one turn */
	struct str since;   /* ids greater than this */
	struct str until;   /* ids up to and including this */
	struct str types;   /* comma-separated event types; {NULL,0}: all */
	struct str id;      /* one row: a call by its id or tool_use_id, a session by its id */
	bool newest;        /* the last `limit` rows instead of the first; still oldest first */
	size_t limit;       /* 1..LIMIT_EVENT_PAGE */
};
int store_find_events(struct store *s, const struct store_query *q, store_page_fn done, void *arg);
int store_find_calls(struct store *s, const struct store_query *q, store_page_fn done, void *arg);
int store_find_sessions(struct store *s, const struct store_query *q, store_page_fn done,
			void *arg);

/* At start, blocking. */
int store_load_grants(struct store *s, void (*each)(const struct store_grant *g, void *arg),
		      void *arg, struct err *e);
/* Tenants first, then agents, then what these have. */
int store_load_settings(struct store *s, void (*each)(const struct store_setting *row, void *arg),
			void *arg, struct err *e);
int store_last_event_id(struct store *s, char ret[27], struct err *e); /* "" when there is none */

/* Forget events that are no audit events, calls, and sessions without calls, all older than this.
 * Queued. */
int store_prune(struct store *s, int64_t before_us);

/* Memory that only makes the next reading faster is given back. May block; any thread. */
void store_release(struct store *s);

#endif
