/*
 * topics.h - what of which server a client is to hear of; for src/front/mcp_*.c alone.
 *
 * A topic keeps the name of the server it was found at: lists change, and what is no longer in any
 * of them must still be given back to the one that was asked for it.
 */

#ifndef FRONT_TOPICS_H
#define FRONT_TOPICS_H

#include "base/err.h"
#include "base/limits.h"
#include "base/list.h"

struct topic {
	struct node node;
	struct str server;
	struct str name; /* the address of a resource, the id of an elicitation */
	char text[];     /* of both */
};

struct topics {
	struct list list; /* struct topic, oldest first */
	size_t bytes;     /* of them, up to LIMIT_MCP_URIS */
};

void topics_init(struct topics *ts);
int topics_add(struct topics *ts, struct str server, struct str name, struct err *e); /* E_LIMIT */
void topics_remove(struct topics *ts, struct topic *t);
/* NULL: none. server {NULL,0}: whosever it is. */
struct topic *topics_find(const struct topics *ts, struct str server, struct str name);
void topics_done(struct topics *ts);

static inline struct topic *
topic_of(struct node *n)
{
	return n ? CONTAINER_OF(n, struct topic, node) : NULL;
}

#endif
