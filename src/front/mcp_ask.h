/* mcp_ask.h - what mcp_ask.c and mcp_park.c share of an inquiry; for these two alone. */

#ifndef FRONT_MCP_ASK_H
#define FRONT_MCP_ASK_H

#include "front/mcp.h"

/* One inquiry that a client has, or will have. */
struct mcp_ask {
	struct inquiry *inquiry;
	struct mcp_request *request;
	uint64_t first;   /* legacy: number of its first item */
	bool shown;       /* modern: in the round that the client has */
	struct node node; /* in client->asked (legacy) or request->asks (modern) */
};

/* ---- mcp_ask.c ---- */

/* In the words of the client's era. id: for an elicitation that has none, to a legacy client. */
void mcp_ask_write_params(struct jw *w, const struct mcp_request *q, const struct inquiry *inq,
			  const struct inquiry_item *item, struct str id);
int mcp_ask_check_answer(const struct inquiry_item *item, const struct json *answer, struct err *e);
/* With its last answer an inquiry is no longer ours, and may be gone. */
void mcp_ask_answer(struct mcp_ask *a, size_t i, struct json_doc *doc, const struct json *answer);
void mcp_ask_refuse_all(struct mcp_ask *a, const struct err *e);

/* ---- mcp_park.c ---- */

int mcp_ask_modern(struct mcp_request *q, struct mcp_ask *a, struct err *e);
void mcp_park_free(struct mcp_park *p);

#endif
