/*
 * upstream.h - MCP servers behind us: started when they are needed, shared by all clients, kept at
 * arm's length.
 *
 *	configured --start--> started --idle--> known --call--> started
 *	     |                   |  crash: back-off, then again when it is needed
 *	     '---> failed <------'  too many in a row: quarantined, until a person or time says so
 *
 * An upstream of either era, over either transport, looks the same from here: one asks it things
 * (struct exchange) and reads what it offers (lists). What it offers is remembered on disk, so that
 * its tools are listed while it is not running, and so that a tool that has changed since it was
 * first seen is noticed (pins).
 *
 * Everything an upstream says is hostile: bounded, parsed strictly, and nothing of it makes another
 * upstream wait. All callbacks come from the loop, never from inside a function of this header.
 * One thread.
 */

#ifndef UPSTREAM_UPSTREAM_H
#define UPSTREAM_UPSTREAM_H

#include "json/canon.h"
#include "loop/confine.h"
#include "loop/loop.h"
#include "mcp/behind.h"

struct upstreams; /* the set */
struct upstream;  /* one */
struct exchange;  /* one request to one */

/* What the configuration says of one. Strings and arrays are copied. Zero: the default. */
enum upstream_kind { UPSTREAM_STDIO, UPSTREAM_HTTP };

struct upstream_spec {
	struct str name; /* its key in the configuration */
	enum upstream_kind kind;

	/* stdio; the arrays are NULL-terminated */
	const char *const *argv; /* argv[0] is a path, or looked up in env's PATH */
	const char *const *env;  /* "K=V", all of it: nothing is inherited */
	const char *cwd;         /* NULL: env's HOME, or "/" */

	/* http */
	const char *url;
	const char *const *headers; /* NULL-terminated "Name: value" */

	unsigned start_ms;          /* until it must have answered the first time */
	unsigned timeout_ms;        /* one request without progress */
	unsigned max_ms;            /* one request, however much progress there is */
	unsigned idle_ms;           /* then a child that nobody uses is ended; UINT_MAX: never */
	unsigned concurrency;       /* requests at once; the others wait here, in order */
	const char *const *secrets; /* NULL-terminated values that are not told of it, whatever they
				       look like */
	const char *const *roots;   /* NULL-terminated directories: the answer to roots/list when no
				       client is there to ask */
	bool no_probe;              /* it is legacy: do not ask (some exit when asked) */
	struct confinement confinement; /* of a child; `shut` and `temporary` are its house's */
	struct confine_house *house;    /* private: of the set */

	/* Why it cannot be used though it is configured: "env.TOKEN: the variable X is not set".
	 * {NULL,0}: it can. */
	struct str problem;
};

enum upstream_state {
	UPSTREAM_CONFIGURED,  /* nothing is known of it yet */
	UPSTREAM_KNOWN,       /* it is not running; its lists are as they were */
	UPSTREAM_STARTED,     /* it is there */
	UPSTREAM_FAILED,      /* the last start failed, or it went away; tried again when needed */
	UPSTREAM_QUARANTINED, /* failed too often in a row, or disabled by its problem */
};
const char *upstream_state_name(enum upstream_state s); /* "started" */

/* Lists. */
enum upstream_list { LIST_TOOLS, LIST_PROMPTS, LIST_RESOURCES, LIST_TEMPLATES, LIST__COUNT };

/* One tool, as it was accepted (at first sight, or by a person). */
struct upstream_tool {
	struct str name;               /* as the upstream calls it */
	const struct json *definition; /* the accepted one; what is listed and called */
	const struct json *changed; /* what the upstream says now, if that is another; NULL: no */
	char pin[DIGEST_TEXT];      /* SHA-256 of the accepted one (JCS) */
	bool unfit;                 /* it is none that can be offered, and never was one */
};

/*
 * The set. `dir` is where what is known is kept (DIR/NAME.json, 0600; made when it is not there);
 * NULL: nowhere.
 */
struct upstreams_spec {
	struct loop *loop;
	const char *dir;
	struct confine_house *house; /* of its children; borrowed. NULL: all are open */
};
int upstreams_new(const struct upstreams_spec *spec, struct upstreams **ret, struct err *e);
/* Ends every child and connection, then `done`. Open exchanges end with E_STOPPING. */
void upstreams_stop(struct upstreams *us, void (*done)(void *arg), void *arg);
void upstreams_free(struct upstreams *us); /* after done; takes NULL */

/*
 * Exactly these from now on. One that is the same as before stays as it is, running or not; one
 * that is gone or has changed ends when its exchanges have, and its tools go at once; what was
 * known of it, who listens to its resources, and the exchanges that have not been sent, go to the
 * one that follows it. What is known of new ones is read from disk here; those of which nothing is
 * known are started to find out. E_NOMEM, E_LIMIT, E_STOPPING; E_EXISTS: two of one name.
 */
int upstreams_set(struct upstreams *us, const struct upstream_spec *specs, size_t count,
		  struct err *e);

size_t upstreams_count(const struct upstreams *us);
struct upstream *upstream_at(const struct upstreams *us, size_t i);          /* by name */
struct upstream *upstream_find(const struct upstreams *us, struct str name); /* NULL = none */
struct upstream *upstream_ref(struct upstream *u);
void upstream_unref(struct upstream *u); /* takes NULL */

/* Who wants to know. */
enum upstream_news {
	NEWS_STATE = 1,
	NEWS_TOOLS = 2,
	NEWS_PROMPTS = 4,
	NEWS_RESOURCES = 8, /* and templates */
	NEWS_GONE = 16,     /* it is no longer configured; the last one */
};
struct upstream_watch {
	void (*news)(struct upstream *u, unsigned news, void *arg);
	void (*updated)(struct upstream *u, struct str uri, void *arg); /* may be NULL */
	/* What a person was sent elsewhere for (elicitation by URL) is done; may be NULL. */
	void (*completed)(struct upstream *u, struct str elicitation, void *arg);
	/* notifications/message that belongs to no exchange; may be NULL. */
	void (*message)(struct upstream *u, const struct json *params, void *arg);
	/* The answer to an exchange that was given up that long ago; it is thrown away. May be
	 * NULL. */
	void (*late)(struct upstream *u, struct str about, uint64_t after_ms, void *arg);
	void *arg;
	struct node node; /* private */
};
void upstreams_watch(struct upstreams *us, struct upstream_watch *w);
void upstreams_unwatch(struct upstreams *us, struct upstream_watch *w);

/* Reading. Borrowed until the next NEWS of that kind. */
struct str upstream_name(const struct upstream *u);
enum upstream_kind upstream_kind(const struct upstream *u);
enum upstream_state upstream_state(const struct upstream *u);
const struct json *upstream_capabilities(
    const struct upstream *u);                              /* of the server; NULL: unknown */
struct str upstream_instructions(const struct upstream *u); /* {NULL,0}: none */
struct str upstream_problem(const struct upstream *u); /* why it cannot be used; {NULL,0}: it can */
bool upstream_known(const struct upstream *u); /* its lists have been read, now or in former days */
/* An array of what prompts/list... gave, all pages; never NULL; empty when unknown. LIST_TOOLS:
 * the accepted definitions, by name. */
const struct json *upstream_list(const struct upstream *u, enum upstream_list which);
/* How long that may be held by others. */
struct mcp_hint upstream_hint(const struct upstream *u, enum upstream_list which);
/* Somebody looks at its lists. Those that are old, and of which it does not tell when they change,
 * are read again; a server over HTTP that was not asked yet in our time is. Nobody waits for that:
 * what is new comes as news. */
void upstream_look(struct upstream *u);
void upstreams_look(struct upstreams *us); /* of all; takes NULL */
size_t upstream_tool_count(const struct upstream *u);
const struct upstream_tool *upstream_tool_at(const struct upstream *u, size_t i); /* by name */
/* How many of them can be used: whoever puts them into the catalog says so, for upstream_write. */
void upstream_tell_offered(struct upstream *u, size_t count);
/* What the definitions stand in; take a reference to keep them. */
struct json_doc *upstream_tools_doc(const struct upstream *u);
const struct upstream_tool *upstream_tool(struct upstream *u, struct str name);
/* {name, state, kind, era, version, server, tools, offered, changed, no_room, problem, last_words,
 * pid, confinement, started_at, restarts, latency_ms {p50, p99}, in_flight, waiting, calls,
 * failures, late}; what is not known is left out. last_words: of its stderr, for people who run it.
 * No secrets. */
void upstream_write(struct jw *w, const struct upstream *u);
void upstream_write_members(struct jw *w, const struct upstream *u); /* of an open object */

/* What was put on its child, now or when it last ran, for confine_text; 0: it has none. */
uint32_t upstream_layers(struct upstream *u);

/* A person takes the changed definition of a tool, or of all ({NULL,0}), as it is now. E_NOT_FOUND.
 * It counts from now on; it is on disk soon. */
int upstream_accept(struct upstream *u, struct str tool, struct err *e);
/* Try again now, also when quarantined: ends its child, forgets its failures and its era. */
void upstream_restart(struct upstream *u);
/* Somebody listens to a resource, or no longer: counted, and each is told to the server once. It
 * keeps the server running. E_VALIDATION, E_LIMIT, E_STOPPING, E_NOMEM. */
int upstream_subscribe(struct upstream *u, struct str uri, bool on, struct err *e);
/* The level of messages wanted of it from now on, for those that belong to no exchange. */
void upstream_log_level(struct upstream *u, int level);

/*
 * One request. It waits for the start if it must, then for its place. Tool calls and reads are
 * never made twice: an upstream that goes away with one in flight ends it with E_UNAVAILABLE.
 */
struct exchange_end {
	int code;          /* 0: answered: one of result and error is set */
	struct str server; /* its name; borrowed */
	bool sent;         /* it may have reached the upstream: what it does may be done */
	bool refused;      /* it says that it did not do it */
	bool broke;        /* it failed on the way there or back, or the upstream has no time for
			      it (HTTP 429, 503): another try may do better */
	unsigned retry_after_ms; /* then, as the upstream says; 0: it does not */
	struct json_doc *doc;    /* borrowed; take a reference to keep it */
	const struct json *result;
	const struct json *error; /* JSON-RPC's, as it came; never -32020 or -32022 */
	struct err err;           /* of the code */
};
struct exchange_spec {
	struct str method; /* copied */
	void (*params)(struct jw *w,
		       void *arg);             /* members of params but _meta; again for retries */
	struct str name;                       /* for Mcp-Name; copied; {NULL,0}: none */
	const struct json *schema, *arguments; /* for Mcp-Param-*; borrowed; may be NULL */
	const char *pin;       /* of the tool that is called, copied: sent only while that is what
				  counts, else E_CHANGED; NULL: whatever it is */
	struct behind *behind; /* borrowed until it is over; may be NULL */
	struct str group;      /* whose it is, the session: copied */
	struct str about;      /* what a late answer is told of, the call: copied; or {NULL,0} */
	unsigned timeout_ms, max_ms; /* 0: the upstream's own; UINT_MAX: none, the
					caller has a clock */
	void (*over)(struct exchange *x, const struct exchange_end *end, void *arg); /* once */
	void *arg;
};
/* E_UNAVAILABLE (with its problem), E_LIMIT (too many wait), E_STOPPING, E_NOMEM. */
int exchange_start(struct upstream *u, const struct exchange_spec *spec, struct exchange **ret,
		   struct err *e);
/* The upstream is told; `over` comes soon, with E_CANCELLED unless the answer was here before. The
 * exchange is gone after `over` has returned. Idempotent. An inquiry of it that is open is taken
 * back in here (unask). */
void exchange_cancel(struct exchange *x);
/* The same, because the caller's clock has run out: it counts against an upstream that says nothing
 * any more. */
void exchange_expire(struct exchange *x);

#endif
