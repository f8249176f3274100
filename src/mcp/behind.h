/*
 * behind.h - whoever stands behind a request while it runs: hears of progress and messages, and can
 * be asked.
 *
 * The same for both eras and both directions. An upstream that wants something (a form filled in, a
 * model asked, the roots) makes an inquiry; it travels with the request, upwards:
 *
 *	upstream --> job --> call --> front --> the client
 *
 * and the answers come back by inquiry_answer. So an upstream of one era meets a client of the
 * other without either side knowing. The gateway's own questions to a person go the same way.
 *
 * One thread. An inquiry belongs to whoever made it, until `settled` or until it takes it back.
 */

#ifndef MCP_BEHIND_H
#define MCP_BEHIND_H

#include "mcp/mcp.h"

struct behind;

/* One thing that is asked. */
struct inquiry_item {
	struct str key;    /* unique in its inquiry */
	struct str method; /* "elicitation/create", "sampling/createMessage", "roots/list" */
	const struct json *params; /* or NULL */
	bool settled;
	struct json_doc *answer_doc; /* a reference */
	const struct json *answer;   /* a result; NULL: it was refused, err says why */
	struct err err;
};

struct inquiry {
	struct inquiry_item *items;
	size_t count;
	/* Every item is settled. Called once, never inside `ask`. */
	void (*settled)(struct inquiry *q);
	void *owner;
	struct str from;   /* the server that asks; {NULL,0}: the gateway itself */
	struct behind *at; /* who has it now; NULL: nobody */
	void *held;        /* for whoever has it */
};

struct behind_ops {
	/* params as the upstream sent them, without the token. */
	void (*progress)(struct behind *b, const struct json *params);
	void (*message)(struct behind *b, const struct json *params); /* of notifications/message */
	/* Takes it on (q->at is set) or says why not: RPC codes in err are E_UNAVAILABLE. */
	int (*ask)(struct behind *b, struct inquiry *q, struct err *e);
	/* It is no longer wanted: forget it. Not called after `settled`. */
	void (*unask)(struct behind *b, struct inquiry *q);
	/* For those on the way: who is next, NULL when that one is gone. NULL: it is the client. */
	struct behind *(*next)(const struct behind *b);
	/* It is sent now: all before was waiting, for a start or a place. May be NULL. */
	void (*begun)(struct behind *b);
};

struct behind {
	const struct behind_ops *ops;
	const struct json *meta;    /* of the request, to be passed on; NULL: none */
	enum mcp_revision revision; /* that the client speaks; MCP_UNKNOWN: no MCP client */
	struct json_doc *meta_doc;  /* it stands in; a reference, or NULL */
	const struct json *params;  /* the same: of a tool's call, what it has beside name and
				       arguments is passed on, too; NULL: nothing is */
	/* The client's own, who may say something else while its request runs: */
	const struct json *capabilities; /* ClientCapabilities as declared; NULL: none. Borrowed */
	int log_level;                   /* messages below are not wanted; MCP_LOG_NONE: none is */
};

/* The same one, seen through other ops: for those on the way, who outlive the client. They have its
 * meta; what it can do and wants to hear they ask it each time (`next`). from may be NULL: nobody.
 * behind_done lets go of the references. */
void behind_copy(struct behind *to, const struct behind *from, const struct behind_ops *ops);
void behind_done(struct behind *b); /* zeroed memory too */

/* All of these take b == NULL: nobody is there. */
void behind_begun(struct behind *b);
void behind_progress(struct behind *b, const struct json *params);
void behind_message(struct behind *b, const struct json *params); /* heeds the level */
/* Of the client, as it says now. */
int behind_log_level(const struct behind *b);
const struct json *behind_capabilities(const struct behind *b); /* NULL: none */
unsigned behind_can(const struct behind *b);                    /* enum mcp_can */
/* E_UNAVAILABLE when it cannot do what one of the items needs. Items that are settled already, by
 * who made the inquiry, need nothing; one at least is not. */
int behind_ask(struct behind *b, struct inquiry *q, struct err *e);

/* Makes one item's answer known; doc is borrowed. The last one calls settled. A second answer to
 * an item is passed over. */
void inquiry_answer(struct inquiry *q, size_t i, struct json_doc *doc, const struct json *answer);
void inquiry_refuse(struct inquiry *q, size_t i, const struct err *e);
/* NULL = none of that key. */
struct inquiry_item *inquiry_find(const struct inquiry *q, struct str key);
/* Take it back from whoever has it, and let go of the answers: when it is no longer wanted, and
 * when `settled` has been and the answers are used. Again does nothing. */
void inquiry_withdraw(struct inquiry *q);

#endif
