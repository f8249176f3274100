/*
 * mcp_guest.h - clients over HTTP: a legacy session, or the commons; for mcp_guest.c and mcp_http.c
 * alone.
 *
 * The commons of a workspace and surface is the one session that all modern requests for these
 * share; it is opened by the first and ends when nobody has come for a while.
 */

#ifndef FRONT_MCP_GUEST_H
#define FRONT_MCP_GUEST_H

#include "front/mcp_flow.h"

#define SESSION_ID 32 /* hex digits: 128 bits of chance */

struct opening;

struct guest {
	struct mcp_client client; /* once it is open */
	struct front *front;
	struct mcp_surface surface;
	bool commons;
	bool open;
	char *workspace;         /* own; as it was asked for */
	struct agent *owner;     /* a reference; NULL: nobody but one is known */
	struct opening *opening; /* mcp_guest.c's; NULL: it is open */
	struct list waiting;     /* struct flow: until it is */
	struct flow_home home;   /* of a legacy one */
	uint64_t used_ms;
	char greeting[sizeof("Mcp-Session-Id: \r\n") + SESSION_ID];
	struct str id;    /* in it */
	struct node node; /* in front->mcp.guests */
};

/* What somebody comes for, and who it is. */
struct coming {
	const struct mcp_surface *surface;
	struct str workspace;
	struct agent *owner;
};

/* It is opened soon; requests can come at once. E_LIMIT, E_NOMEM, E_SYSTEM, E_BAD_REQUEST. */
int mcp_guest_new(struct front *f, const struct coming *as, bool commons, struct guest **ret,
		  struct err *e);
void mcp_guest_end(struct guest *g); /* open requests are answered; it may be gone */
/* NULL = none. One whose session was ended from elsewhere is none any more. */
struct guest *mcp_commons_find(struct front *f, const struct coming *as);
bool mcp_guest_is_on(const struct guest *g, const struct mcp_surface *surface);
void mcp_guest_touch(struct guest *g); /* it is in use */
/* A request of this guest, now or once it is open. */
void mcp_guest_take(struct guest *g, struct flow *f, const struct mcp_message *m);

/* As tbl/errors.def says it. Gives back the code. */
int mcp_fault_from(struct mcp_fault *f, const struct err *e);

#endif
