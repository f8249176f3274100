/*
 * inside.h - how the parts of src/upstream hold together; for src/upstream alone.
 *
 *   upstreams.c  the set, its configuration, watchers
 *   spec.c       what the configuration says of one
 *   upstream.c   one: states, start, back-off, idle, queue
 *   show.c       what can be read of one
 *   wire.c       requests and their answers; what an upstream says by itself
 *   ladder.c     which era: server/discover, else initialize
 *   list.c       its lists, page by page
 *   subscribe.c  what it tells us by itself: list changes, resources that somebody listens to
 *   exchange.c   one request: progress, messages, retries of the modern era, clocks
 *   plea.c       what an upstream asks while it works for us
 *   known.c      what is remembered of one, on disk; pins
 *   link_stdio.c, link_http.c   how messages travel
 *
 * A link carries whole JSON messages and knows nothing of what they mean. It is made for one start
 * and dies with it.
 */

#ifndef UPSTREAM_INSIDE_H
#define UPSTREAM_INSIDE_H

#include "base/buf.h"
#include "base/limits.h"
#include "mcp/rpc.h"
#include "base/arena.h"
#include "upstream/upstream.h"

struct link;

/* One message to send, and what the transport needs to know of it. */
struct link_message {
	struct str text;                       /* JSON without a line break; copied */
	uint64_t id;                           /* of a request, 0 for notes and answers */
	struct str method;                     /* of a request or a note; {NULL,0} for answers */
	struct str name;                       /* Mcp-Name, or {NULL,0} */
	enum mcp_era era;                      /* whose headers it gets */
	enum mcp_revision revision;            /* for MCP-Protocol-Version; MCP_UNKNOWN: none yet */
	const struct json *schema, *arguments; /* Mcp-Param-*, or NULL */
	bool listens; /* its answer is a stream that stays open: no deadline of the transport */
};

struct link_events {
	/* A message came. of: the request on whose stream it came (http), or 0. doc is borrowed. */
	void (*message)(void *arg, struct json_doc *doc, uint64_t of);
	/* That request will get no answer: the transport says why. HTTP statuses as E_ codes;
	 * status is the HTTP status or 0 (what it says of trying again is in e); body: what came
	 * instead of a message, JSON or not. E_UNAVAILABLE with status 0: nothing of it was sent;
	 * otherwise it may have arrived. id 0 from http: a note, an answer or the listening
	 * stream met this; from stdio: which request it was cannot be told. */
	void (*failed)(void *arg, uint64_t id, int status, struct str body, const struct err *e);
	/* Something came, whether it becomes a message or not: it lives. */
	void (*alive)(void *arg);
	/* The end of it, once, whoever wanted it; then the link is gone. how: for people. */
	void (*closed)(void *arg, const struct err *how);
	void *arg;
	/* Legacy http: the listening stream was open, and is refused now, with this status. May be
	 * NULL. */
	void (*unheard)(void *arg, int status);
};

struct link_ops {
	/* Never calls back inside. E_LIMIT: too much is waiting to be sent. */
	int (*send)(struct link *l, const struct link_message *m, struct err *e);
	/* The request is given up: http closes its stream, stdio does nothing. */
	void (*drop)(struct link *l, uint64_t id);
	/* Legacy http: open the stream of what belongs to no request, if the server has one. */
	void (*listen)(struct link *l, enum mcp_revision revision);
	void (*close)(struct link *l);            /* `closed` comes; idempotent */
	int (*pid)(const struct link *l);         /* of a child, or 0 */
	uint32_t (*layers)(const struct link *l); /* that were put on it; may be NULL */
};
struct link {
	const struct link_ops *ops;
};

int link_stdio(struct loop *l, const struct upstream_spec *spec, const struct link_events *ev,
	       struct link **ret, struct err *e);
int link_http(struct loop *l, const struct upstream_spec *spec, const struct link_events *ev,
	      struct link **ret, struct err *e);

/*
 * known.c - what is remembered of one upstream. Documents that are replaced stay until
 * known__sweep: somebody may still read them.
 *
 * The tools are one document:
 *	{"tools": [definitions that count, by name],
 *	 "pins": [{"name", "pin", "changed"?}, ... of the same order],
 *	 "gone": [{"name", "pin", "definition"?}, ...]}
 */
struct piece {
	struct json_doc *doc; /* a reference, or NULL */
	const struct json *value;
};
struct known {
	bool seen;    /* its tools have been read */
	bool has_era; /* and era_at, in seconds of the wall clock */
	enum mcp_era era;
	int64_t era_at;
	struct piece about; /* {"protocol", "server", "capabilities", "instructions"?} */
	struct piece shelf; /* the tools */
	struct piece lists[LIST__COUNT]; /* arrays; LIST_TOOLS: in the shelf */
	struct upstream_tool *tools;
	size_t count, changed;
	size_t left_out; /* that the server offers, and there is no room for */
	size_t found;    /* which tool was looked for last: mostly it is the next one, too */
	struct trash *trash;
};
void known__done(struct known *k);
void known__sweep(struct known *k); /* nobody reads what was replaced any more */
/* The name of its file, whatever the server is called. E_CONFIG. */
int known__path(const char *dir, struct str name, char out[static LIMIT_PATH], struct err *e);
/* What the file says. `of` tells one configuration of a server from another: what era it spoke is
 * only taken when it is the same. A file that is not there is no failure. */
int known__load(struct known *k, const char *path, struct str of, struct err *e);
void known__write(const struct known *k, struct str name, struct str of, struct buf *out);
/* What server/discover or initialize told. */
int known__about(struct known *k, const char *protocol, const struct json *server,
		 const struct json *capabilities, struct str instructions, struct err *e);
/* One list, all of it, as an array. *ret_new: it is another than before. Tools are held against
 * their pins. */
int known__take(struct known *k, enum upstream_list which, struct str array, bool *ret_new,
		struct err *e);
int known__accept(struct known *k, struct str tool, struct err *e); /* E_NOT_FOUND */
const struct upstream_tool *known__tool(struct known *k, struct str name);
/* Takes everything of another. */
void known__inherit(struct known *k, struct known *from);

/*
 * wire.c - requests of ours and their answers; what an upstream says by itself is sorted here.
 */
struct reply {
	int code; /* 0: result or error is set */
	const struct err *err;
	int status;              /* of HTTP, or 0 */
	unsigned retry_after_ms; /* as HTTP said it; 0: it did not */
	struct json_doc *doc;
	const struct json *result, *error;
};

struct ask {
	uint64_t id; /* 0: not on its way */
	struct upstream *u;
	struct exchange *x; /* whose it is; NULL: our own */
	/* Once; it is not on its way any more. */
	void (*answer)(struct ask *a, const struct reply *r);
	struct timer timer; /* of our own */
};

struct ask_spec {
	struct str method;
	void (*params)(struct jw *w, void *arg); /* may be NULL */
	void *arg;
	struct str name;
	const struct json *schema, *arguments;
	struct behind *behind;
	bool tracked; /* progress is wanted */
	bool listens;
	bool bare;           /* initialize: without _meta */
	enum mcp_era era;    /* whose envelope it gets */
	unsigned timeout_ms; /* 0: somebody else has the clock */
};
int ask__send(struct upstream *u, struct ask *a, const struct ask_spec *s, struct err *e);
void ask__forget(struct ask *a); /* its answer is not wanted: no-op if none is due */
void ask__cancel(struct ask *a, const char *reason); /* the same, and the upstream is told */
/* A note without an answer; what cannot be sent is lost. */
void wire__note(struct upstream *u, const char *method, void (*params)(struct jw *w, void *arg),
		void *arg);
void wire__answer(struct upstream *u, const struct json *id,
		  void (*result)(struct jw *w, void *arg), void *arg);
void wire__refuse(struct upstream *u, const struct json *id, int64_t code, const char *text);
const char *wire__level(int level);           /* of messages: "debug"; NULL: none */
extern const struct link_events wire__events; /* arg: struct upstream */

/*
 * list.c - reading one list of an upstream, page by page, and again when it has changed.
 */
struct listing {
	struct upstream *u;
	enum upstream_list which;
	struct ask ask;
	struct buf items, cursor, mark; /* mark: a former cursor, to notice circles */
	size_t count;
	unsigned pages, marked_at;
	bool again;         /* it has changed while it was read */
	bool whole;         /* it is read, and waits to be taken */
	bool read;          /* once at least since the start */
	struct timer pause; /* between two readings */
	uint64_t begun_at, read_at;
	unsigned fails;       /* readings in a row */
	uint64_t cost_us;     /* to take the last one */
	struct mcp_hint hint; /* of its pages so far */
	struct mcp_hint held; /* of the last that was taken */
};
void listing__start(struct listing *ls);
void listing__changed(struct listing *ls); /* the upstream says so */
void listing__look(struct listing *ls);    /* somebody reads it: is it old? */
void listing__stop(struct listing *ls);

/* Some of a thing per second, the rest is passed over. */
struct faucet {
	uint64_t second;
	unsigned used;
	unsigned lost;
};
bool faucet__takes(struct faucet *f, struct loop *l, unsigned per_second);

/* A resource somebody listens to. */
struct subscription {
	struct node node;
	struct buf uri;
	unsigned users;
};

enum phase {
	PHASE_DOWN,    /* no link */
	PHASE_LADDER,  /* which era? */
	PHASE_LISTING, /* the tools are read for the first time */
	PHASE_READY,
	PHASE_CLOSING, /* the link is told to end */
};

#define ASK_SLOTS 1024 /* requests on their way at once; a power of two */
#define LATENCIES 128
#define GIVEN_UP 64 /* of these it is known whose a late answer is */

struct upstream {
	unsigned refs;
	struct upstreams *set;
	struct arena *arena; /* of the spec */
	struct upstream_spec spec;
	char of[DIGEST_TEXT]; /* of what it is: known__load */
	bool begun;           /* its watchers know of it */
	bool retired;         /* no longer configured */
	bool replaced;        /* by one of the same name, which has what was known */
	bool unread;          /* what is known of it is on disk, and could not be read */
	struct node node;     /* in the set's `leaving` */

	enum upstream_state state;
	enum phase phase;
	struct link *link;
	enum mcp_era era;
	enum mcp_revision revision;
	struct known known;
	struct json_doc *nothing; /* [] */
	unsigned news;            /* to be told */
	struct timer hold;        /* of resources that are read, until templates are, or of those */
	uint64_t news_cost_us;    /* of telling the last of its lists */
	struct deferred tell, begin, pump;

	/* ladder.c */
	struct ask climb;
	bool probing, probed_twice, skip_probe;
	bool silent;              /* to the probe */
	bool doubted;             /* that it is legacy: it was asked again */
	bool probe_cleared;       /* it ended in the probe before, and that was not all */
	bool wait_probe, patient; /* the next probe, or this one, has all the time of a start */
	bool patience_spent;      /* a start was made at once for that */
	bool sure_legacy;         /* worth to be remembered */

	/* how it goes */
	unsigned fails;    /* starts in a row */
	unsigned unlucky;  /* the same, and falls soon after a start */
	unsigned deaf;     /* deadlines without any word in between */
	struct ask ping;   /* is it there at all? */
	uint64_t retry_at; /* not before */
	uint64_t tried_at; /* the last failure */
	bool away;         /* it was that nobody is at home: it is not quarantined for that */
	uint64_t ready_at; /* of the loop; and of the wall: */
	int64_t started_us;
	unsigned sessions;   /* how many there were, of this link and those before */
	struct ask knock;    /* is ours still there? */
	unsigned knocked_at; /* which it was */
	struct timer retry, idle;
	struct err problem;
	char last_words[256]; /* of its stderr */
	unsigned restarts;    /* starts after the first */
	bool was_started;
	uint32_t layers; /* of the child that runs, or ran last */
	bool again;      /* when it has ended: a start at once */

	struct ask *asks[ASK_SLOTS]; /* by id */
	size_t asked;
	uint64_t last_id;
	struct buf out; /* a message being written */

	struct list waiting, flying, asking, ending; /* exchanges */
	struct listing listings[LIST__COUNT];

	/* subscriptions */
	struct list subscriptions;
	struct ask listen;
	bool listen_stale, listened;
	unsigned listen_fails;
	uint64_t listen_at;
	struct timer relisten;
	struct deferred resubscribe;
	int log_level;      /* wanted by the watchers */
	int log_level_told; /* to a legacy server */

	struct faucet messages, updates, complaints;
	uint32_t latency_us[LATENCIES];
	size_t latencies;
	uint64_t calls, failures, late, strays;
	size_t offered; /* of its tools: those that can be used */
	struct given_up {
		uint64_t id, since_us;
		char about[40];
	} given_up[GIVEN_UP]; /* a ring */
	size_t given_up_count;

	bool dirty, saving; /* what is known is newer than the file */
	struct timer save;
};

struct upstreams {
	struct loop *loop;
	struct confine_house *house; /* or NULL */
	char *dir;                   /* or NULL */
	struct upstream **items;     /* by name; a reference each */
	size_t count;
	struct list leaving; /* no longer configured, not yet ended; a reference each */
	struct list watches;
	bool stopping;
	void (*done)(void *arg);
	void *done_arg;
	struct deferred settle;
	struct json_doc *nothing; /* [], for all of them */

	/* one file is written at a time */
	struct work work;
	struct upstream *writing; /* whose; a reference */
	bool write_failed;
	struct buf text;
	char path[LIMIT_PATH];
};

/* spec.c */
struct arena;
int spec__copy(struct arena *a, const struct upstream_spec *from, struct upstream_spec *s,
	       struct err *e);
void spec__digest(const struct upstream_spec *s, char out[static DIGEST_TEXT]);
bool spec__equal(const struct upstream_spec *a, const struct upstream_spec *b);

/* upstreams.c */
void upstreams__settle(struct upstreams *us); /* perhaps that was the last thing waited for */
void upstreams__save(struct upstream *u);     /* soon */

/* upstream.c */
int upstream__new(struct upstreams *us, const struct upstream_spec *spec, struct upstream **ret,
		  struct err *e);
void upstream__news(struct upstream *u, unsigned news);
void upstream__need(struct upstream *u);   /* somebody waits for it */
void upstream__retire(struct upstream *u); /* it ends when its exchanges have */
void upstream__stop(struct upstream *u);   /* it ends now */
bool upstream__is_over(const struct upstream *u);
void upstream__pump(struct upstream *u);                         /* send what can be sent, soon */
void upstream__close(struct upstream *u, const struct err *why); /* NULL: nothing is wrong */
void upstream__closed(struct upstream *u, const struct err *how);
void upstream__climbed(struct upstream *u);                     /* the era is known */
void upstream__failed(struct upstream *u, const struct err *e); /* this start */
void upstream__listed(struct upstream *u, enum upstream_list which);
void upstream__reladder(struct upstream *u);
/*
 * That a session is lost is said by 404. Many servers say 400 instead, also to everybody after they
 * were started again; but that can be about the request, and some say it when they have done a part
 * of that. So whether the session is there is asked by a ping, which does nothing.
 */
bool upstream__lost_session(const struct upstream *u, const struct reply *r);
bool upstream__doubts_session(const struct upstream *u, const struct reply *r);
bool upstream__knock(struct upstream *u); /* true: exchange__knocked comes */
void upstream__timed_out(struct upstream *u);
void upstream__busy(struct upstream *u); /* the idle clock begins anew */
void upstream__complain(struct upstream *u, const char *text, const char *detail);
bool upstream__has(const struct upstream *u, const char *capability, const char *flag);
int upstream__takes(const struct upstream *u, struct err *e); /* one more request */
bool upstream__has_place(const struct upstream *u);
void upstream__detach(struct upstream *u); /* from its set: nothing runs any more */

/* subscribe.c */
void upstream__tell_level(struct upstream *u, const struct behind *b);
void subscriptions__begin(struct upstream *u); /* it is ready */
void subscriptions__end(struct upstream *u);   /* the link is gone */
void subscriptions__done(struct upstream *u);
/* Who listened to another listens to this one now, which has not been started yet. */
void subscriptions__inherit(struct upstream *u, struct upstream *from);
bool subscriptions__has(const struct upstream *u, struct str uri);
void subscriptions__acknowledged(struct upstream *u);

/* ladder.c */
void ladder__climb(struct upstream *u);
void ladder__forget(struct upstream *u); /* the next start finds out which era it is of */
/* The link is gone while it climbed. True: it is worth another start at once. */
bool ladder__lost(struct upstream *u);

/*
 * exchange.c - one request. It is in one of its upstream's lists: waiting for its place, flying,
 * asking (those behind it have something to answer; it holds no place), or ending (`over` is due).
 */
struct exchange {
	struct upstream *u; /* a reference */
	struct node node;
	struct ask ask;
	struct exchange_spec spec; /* its texts are in the arena, */
	struct arena *arena;       /* and so is all of this */
	char pin[DIGEST_TEXT];     /* "": none */
	struct json_doc *shelf;    /* its schema may be in there */
	struct timer quiet;        /* timeout_ms, or the time to answer */
	struct timer limit;        /* max_ms */
	uint64_t limit_left_ms;    /* while it asks */
	uint64_t sent_us;
	bool sent;
	bool in_doubt;        /* its answer may be about the session: a ping tells */
	struct reply doubted; /* that answer; its error is in `end` */
	bool relisting;       /* the tools are read again before it is sent again */
	bool relisted, reladdered, resessioned; /* each once */
	unsigned rounds;                        /* of questions */
	struct list pleas;
	struct plea *answers;       /* what the next request answers, or NULL */
	struct json_doc *state_doc; /* a reference */
	const struct json *state;   /* requestState for the next request, or NULL */
	struct faucet progress;
	struct deferred over;
	struct exchange_end end; /* its error is the last */
};
struct exchange *exchange__of(struct node *n);
void exchange__send(struct exchange *x); /* for the first time, or again */
/* From the loop: `over` at once. */
void exchange__fail(struct exchange *x, const struct err *e);
void exchange__broke(struct exchange *x, const struct err *e); /* the same: the way did */
void exchange__fail_soon(struct exchange *x, int code, const char *text);
void exchange__progress(struct exchange *x, const struct json *params);
void exchange__message(struct exchange *x, const struct json *params);
void exchange__knocked(struct upstream *u, bool lost);
void exchange__asking(struct exchange *x);   /* its clocks stand still */
void exchange__answered(struct exchange *x); /* and go on, when it asks nothing more */
void exchange__relisted(struct upstream *u); /* those that wait for that are sent again */
/* Those of another that wait are this one's now. */
void exchange__inherit(struct upstream *u, struct upstream *from);

/* plea.c */
struct plea {
	struct node node; /* of the exchange's */
	struct exchange *x;
	struct inquiry inquiry;
	struct json_doc *doc;  /* a reference: what was asked */
	const struct json *id; /* legacy: of the server's request; NULL: modern */
	struct deferred gone;
	struct inquiry_item items[];
};
/* x: on whose stream it came; NULL: on none of an exchange. any: it was not said on whose. */
void plea__legacy(struct upstream *u, struct exchange *x, bool any, struct json_doc *doc,
		  const struct rpc *r);
void plea__forget(struct upstream *u, const struct json *id); /* the server takes it back */
/* True: who is behind is sent to the addresses that this error (-32042) names, and it is sent again
 * after that. */
bool plea__elsewhere(struct exchange *x, struct json_doc *doc, const struct json *error);
/* The result says input_required. When all is answered, or there is nothing to ask, it is sent
 * again. */
int plea__modern(struct exchange *x, struct json_doc *doc, const struct json *result,
		 struct err *e);
void plea__write_responses(struct jw *w, const struct plea *p); /* an object */
void plea__free(struct plea *p);                                /* soon; takes NULL */
void plea__end(struct exchange *x);                             /* all of them */

#endif
