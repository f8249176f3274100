/*
 * mcp.h - MCP as a server, whatever carries its messages; for src/front alone.
 *
 * A client is one session of the gateway. It hands in messages, answers come through `send`, one
 * JSON text each without a line break; calls are answered when they are over, in any order.
 */

#ifndef FRONT_MCP_H
#define FRONT_MCP_H

#include "call/gateway.h"

struct mcp {
	struct gateway *gw;
	struct session *session; /* a reference */
	void (*send)(struct mcp *m, struct str message);
	struct list calls; /* private: unanswered ones */
};

void mcp_init(struct mcp *m, struct gateway *gw, struct session *s,
	      void (*send)(struct mcp *m, struct str message));
/* The client is gone: its session ends, and its calls with it. Nothing is sent any more. */
void mcp_done(struct mcp *m);

/* One message. Whatever is wrong with it, the client lives on. */
void mcp_take(struct mcp *m, struct str message);
/* An error that belongs to no request. */
void mcp_complain(struct mcp *m, const struct err *e);

#endif
