/*
 * mcp.h - MCP as a server, of both eras, whatever carries its messages; for src/front alone.
 *
 *   mcp.c         messages: which era, which method (tbl/mcp_methods.def); requests and their ends
 *   mcp_http.c    /mcp: POST, GET, DELETE; headers, whose request it is
 *   mcp_guest.c   its clients: legacy sessions, workspaces that modern requests share
 *   mcp_flow.c    the answer to a POST or GET: JSON, or a stream that can be taken up again
 *   mcp_stdio.c   a message on each line
 *   mcp_batch.c   several messages in one
 *   mcp_ask.c     progress, messages and inquiries to clients; requests of ours (legacy)
 *   mcp_park.c    the same of modern clients: input_required, retries
 *   mcp_listen.c  what clients hear unasked: list_changed, resource updates, messages
 *   topics.h      what of which server a client is to hear of
 *   mcp_offer.h   what the four surfaces offer: tools, resources, prompts, completion
 *
 * A legacy client is a session of the gateway, from `initialize` to its end. Modern requests have
 * nothing but themselves; over stdio they share the line's session, over HTTP one session for each
 * workspace.
 *
 * The agent's own channel can ask for calls and cancel them. It answers questions only where the
 * client has declared that it shows forms to a person, and never from inside a tool call.
 */

#ifndef FRONT_MCP_H
#define FRONT_MCP_H

#include "call/gateway.h"
#include "front/topics.h"
#include "front/visit.h"
#include "mcp/era.h"
#include "mcp/rpc.h"
#include "upstream/upstream.h"

enum surface { SURFACE_GATEWAY, SURFACE_PROXY, SURFACE_ALL, SURFACE_SERVER };
struct mcp_surface {
	enum surface kind;
	char server[LIMIT_NAME_BYTES]; /* of SURFACE_SERVER; "builtin" is one */
};
/* "gateway", "proxy", "all" or the name of a server. E_NO_ROUTE names those there are. */
int mcp_surface_parse(const struct front *f, struct str text, struct mcp_surface *ret,
		      struct err *e);

#define RPC_NO_SESSION (-32001) /* as other servers of the older era say it */

struct mcp_request;

/* A message, as far as it can be understood without knowing whose it is. */
struct mcp_message {
	struct json_doc *doc;            /* borrowed */
	struct rpc rpc;                  /* in it */
	enum mcp_era era;                /* by the body alone (mcp.md 5.1) */
	const struct http_request *http; /* it came with; NULL: on a line */
};

/* Why a message goes no further. */
struct mcp_fault {
	int64_t code; /* of JSON-RPC */
	int status;   /* of HTTP */
	struct err err;
	struct str requested; /* the version that is not spoken here; {NULL,0}: none */
	unsigned needs;       /* enum mcp_can, that was not declared; 0: none */
};
#define MCP_FAULT(f, rpc_code, http_status, ...)                                                   \
	((f)->code = (rpc_code), (f)->status = (http_status),                                      \
	 (f)->requested = (struct str){NULL, 0}, (f)->needs = 0,                                   \
	 err_set(&(f)->err, E_BAD_REQUEST, __VA_ARGS__))

/* How the messages of a request get to its client. */
struct mcp_channel;
struct mcp_channel_ops {
	/* Something before the answer. False: there is no way, or no room; nothing was sent. */
	bool (*note)(struct mcp_channel *ch, struct str message);
	/* The answer; status is HTTP's; the message is taken. The channel is gone afterwards. */
	void (*answer)(struct mcp_channel *ch, int status, struct buf *message);
	/* There will be no answer. The channel is gone afterwards. */
	void (*drop)(struct mcp_channel *ch);
	/* The peer is inside a tool call, or cannot be told from one. */
	bool (*from_tool)(const struct mcp_channel *ch);
	/* `answer` with a long part that belongs into it, `at` bytes from the front; both are
	 * taken. NULL: it has no use for two. */
	void (*answer_around)(struct mcp_channel *ch, int status, struct buf *message, size_t at,
			      struct buf *part);
};
struct mcp_channel {
	const struct mcp_channel_ops *ops;
	struct mcp_request
	    *request; /* of a channel that carries one alone; NULL: not yet, or over */
};

/* One client: a legacy session, a line, or all modern requests of a workspace. */
struct mcp_client {
	struct front *front;
	struct session *session; /* a reference */
	struct mcp_surface surface;
	enum mcp_revision revision;      /* negotiated; MCP_UNKNOWN before, and for modern ones */
	struct json_doc *hello;          /* of initialize; NULL before */
	const struct json *capabilities; /* in it; NULL: none */
	int log_level;                   /* legacy: by logging/setLevel; MCP_LOG_NONE before */
	bool shared;           /* by several who do not know of each other: ids say nothing */
	bool may_answer;       /* its forms count as a person's answer */
	bool gone;             /* mcp_client_done was called */
	struct list requests;  /* struct mcp_request, unanswered */
	struct list asked;     /* struct mcp_ask: requests of ours, unanswered (legacy) */
	uint64_t next_id;      /* of those */
	struct topics uris;    /* legacy: subscribed resources */
	struct topics errands; /* the same: elicitations by URL that are not known to be complete */
	unsigned changed;      /* enum mcp_changed it is still to be told */
	/* What it hears unasked (legacy; NULL: it has no way to). False: there is no room. */
	bool (*tell)(struct mcp_client *c, struct str message);
	bool (*listens)(const struct mcp_client *c); /* somebody reads it now; NULL: always */
	void (*freed)(struct mcp_client *c); /* after mcp_client_done, when nothing needs it */
	struct node node;                    /* in front->mcp.clients */
};
void mcp_client_init(struct mcp_client *c, struct front *f, struct session *s,
		     const struct mcp_surface *surface);
/* Its session has ended, or the gateway does: whoever waits for an answer gets this one. */
void mcp_client_refuse(struct mcp_client *c);
/* It is gone: its requests are cancelled, its session ends. Nothing is sent any more. `freed` is
 * called soon or at once. */
void mcp_client_done(struct mcp_client *c);

/* One request, until it is answered. */
struct mcp_request {
	struct behind behind; /* what jobs and exchanges see; ops are mcp_ask.c's */
	struct mcp_client *client;
	struct mcp_channel *channel; /* NULL while it is parked (a modern client was asked), and
					when nobody listens any more */
	enum mcp_era era;
	enum mcp_revision revision;
	struct json_doc *doc;              /* a reference */
	struct json_doc *again;            /* the same: of the retry that carries it on; or NULL */
	struct rpc rpc;                    /* method, params, meta: in doc; id: in the newest */
	struct json_doc *declared;         /* a reference: the capabilities of `behind` are in it */
	const struct json *progress_token; /* the same */
	struct mcp_hint hint;              /* of a result that others may hold */
	const struct method *method;
	/* What it waits for; one of them, or none: */
	struct turn *turn;
	struct exchange *exchange;
	void *own;                               /* the handler's */
	void (*own_free)(struct mcp_request *q); /* with the request; may be NULL */
	void (*cancel)(struct mcp_request *q);   /* instead of turn and exchange; may be NULL */
	bool mute;                               /* the client no longer wants an answer */
	bool sent_elsewhere;                     /* by an elicitation with a URL */
	/* mcp_park.c's */
	struct list asks;          /* struct mcp_ask: what a modern client is asked, or will be */
	const struct json *inputs; /* inputResponses nobody has looked at; NULL: none */
	bool inputs_asked_for;     /* they answer what was asked, not what might be */
	struct mcp_park *park;     /* what a retry finds it by; NULL: it was never parked */
	struct deferred round;
	struct node node; /* in client->requests */
};

/*
 * A handler of tbl/mcp_methods.def. It answers, now or later, by one of the functions below; or
 * fails, and then is answered for. A later answer needs nothing but q.
 */
typedef int mcp_handler(struct mcp_request *q, struct err *e);

/*
 * {"jsonrpc":"2.0","id":...,"result":{ with resultType, ttlMs and cacheScope where the era and the
 * method want them. The caller writes members and calls mcp_end, which sends; q is gone then.
 */
struct jw mcp_begin(struct mcp_request *q, struct buf *b);
/* _meta: what an upstream said there (may be NULL), `more` (whole members, comma-separated, or
 * {NULL,0}) and serverInfo for a modern client. Writes nothing where there is nothing. */
void mcp_write_meta(struct mcp_request *q, struct jw *w, const struct json *upstream,
		    struct str more);
void mcp_end(struct mcp_request *q, struct jw *w, struct buf *b);
/* The same with a long part (taken) that belongs into b, `at` bytes from its front. */
void mcp_end_around(struct mcp_request *q, struct jw *w, struct buf *b, size_t at,
		    struct buf *part);
/* For a channel's answer: one message of both. The part is consumed. */
void mcp_join(struct buf *message, size_t at, struct buf *part);
/* A result of an upstream as it is, but for what belongs to its hop. */
void mcp_relay(struct mcp_request *q, const struct json *result);
/* An error; data is JSON or {NULL,0}. q is gone then. HTTP status by code and era. */
void mcp_fail(struct mcp_request *q, int64_t code, struct str message, struct str data);
void mcp_fail_err(struct mcp_request *q, const struct err *e); /* code by tbl/errors.def */
/* What an exchange ended with other than a result: -32021 said anew, -32002/-32602 by era. */
void mcp_fail_exchange(struct mcp_request *q, const struct exchange_end *end);

/* ---- mcp.c, for the carriers ---- */

/* What the body says. *ret is filled as far as it can be also when it fails. */
int mcp_read(struct json_doc *doc, struct mcp_message *ret, struct mcp_fault *f);
int mcp_read_value(struct json_doc *doc, const struct json *value, struct mcp_message *ret,
		   struct mcp_fault *f); /* the same of a value in it */
/* A modern request has what each must have; then: in a version that is spoken here. */
int mcp_check_envelope(const struct mcp_message *m, struct mcp_fault *f);
int mcp_check_version(const struct mcp_message *m, struct mcp_fault *f);
/* A whole error for what was not taken. m may be NULL: it could not be read. */
void mcp_write_fault(struct buf *out, const struct mcp_message *m, const struct mcp_fault *f);
/* One message of this client: dispatched, answered through ch, now or later. Takes ch over. For
 * notes and answers of the client ch may be NULL. */
void mcp_take(struct mcp_client *c, struct mcp_channel *ch, const struct mcp_message *m);
/* The client has hung up on one request: modern ones are cancelled by that. */
void mcp_hang_up(struct mcp_request *q);

/* ---- mcp.c, for mcp_park.c and mcp_listen.c ---- */

/* What it waits for is told to end; the answer is not sent. q may be gone. */
void mcp_cancel(struct mcp_request *q);
/* It ends without an answer. q is gone. */
void mcp_drop(struct mcp_request *q);
/* q goes on under this message: new id, new token, new channel. */
void mcp_rebind(struct mcp_request *q, struct mcp_channel *ch, const struct mcp_message *m);

/* ---- mcp_ask.c ---- */

extern const struct behind_ops mcp_behind_ops;
/* An answer of a legacy client to a request of ours. */
void mcp_answered(struct mcp_client *c, const struct mcp_message *m);
/* Error -32042 goes to a legacy client: its data sends it elsewhere, too. */
void mcp_errands_note(struct mcp_client *c, struct str server, const struct json *data);
/* A server says that what this client was sent elsewhere for is done. */
void mcp_errand_done(struct mcp_client *c, struct str server, struct str elicitation);
/* The request ends: what was still asked is refused, its park is forgotten. */
void mcp_ask_done(struct mcp_request *q);

/* ---- mcp_park.c ---- */

bool mcp_is_retry(const struct mcp_message *m); /* it carries a requestState */
/* A retry finds its request and goes on with it, or fails; ch is taken over if it does not. */
int mcp_retry(struct mcp_client *c, struct mcp_channel *ch, const struct mcp_message *m,
	      struct mcp_fault *f);
/* The answer of a request that is parked: kept for the retry. Takes the message. */
void mcp_park_keep(struct mcp_request *q, int status, struct buf *message);
bool mcp_parked_is_over(const struct mcp_request *q); /* only its answer waits */
/* Gateway start: a key that nobody else has. */
void mcp_park_init(struct front *f);

/* ---- mcp_batch.c ---- */

/* An array that this client may send: it has something in it, and not too much. */
bool mcp_batch_fits(const struct mcp_client *c, const struct json *batch);
/* Each of its messages is taken, and `to` gets the answers together; it outlives the client's
 * requests. E_NOMEM: nothing was taken. */
int mcp_batch_take(struct mcp_client *c, struct mcp_channel *to, struct json_doc *doc);

/* ---- mcp_guest.c ---- */

void guests_end(struct front *f);

/* ---- mcp_surface.c: members `capabilities` and `instructions` of this surface ---- */

void mcp_write_capabilities(struct jw *w, const struct mcp_client *c, enum mcp_era era);
void mcp_write_instructions(struct jw *w, const struct mcp_client *c);
/* What a hint of a server is worth here: what depends on who asks is not for everybody. */
struct mcp_hint mcp_hint_here(const struct mcp_client *c, struct mcp_hint said);

/* ---- mcp_listen.c ---- */

void mcp_listen_init(struct front *f);
void mcp_listen_done(struct front *f);
void listeners_end(struct front *f); /* each gets its answer */
/* It listens now: what has changed meanwhile is told. */
void mcp_tell_changes(struct mcp_client *c);
/* What this client wanted to hear is wanted no more. */
void mcp_listen_forget(struct mcp_client *c);

#define METHOD(name, handler, kind, eras, sentence) mcp_handler mcp_##handler;
#include "../../tbl/mcp_methods.def"
#undef METHOD

#endif
