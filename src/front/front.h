/*
 * front.h - the doors: REST, event streams, the status page, MCP.
 *
 * Fronts make calls and render results; they decide nothing about them. All of them are
 * served by one HTTP server and one table of routes (tbl/routes.def).
 *
 * Who may come in: over TCP the Host must be the address we listen on or a loopback name, an
 * Origin (if sent) the same, bodies application/json, and the bearer token right; the Unix socket
 * is mode 0600 and needs none. A process inside a tool call can come in by either, but is known by
 * its descent and may not approve anything (PERSON routes).
 */

#ifndef FRONT_FRONT_H
#define FRONT_FRONT_H

#include "call/gateway.h"
#include "catalog/definition.h"
#include "net/http.h"

struct front;
struct kernels;

/* A definition that is to be: a whole one, or without what is said beside it. */
struct definition_order {
	const struct json *object;
	struct str tenant; /* name or UUID; {NULL,0}: as the object says, or the default one */
	struct str name;   /* {NULL,0}: as the object says */
	bool fresh;        /* E_EXISTS where there is one of the name already */
};

/* Definitions, of whoever has them. What is given back is valid until the next change. A tenant is
 * named by its name here; {NULL,0}: any. */
struct definitions_ops {
	/* E_VALIDATION names the field; E_EXISTS, E_NO_TENANT, E_LIMIT, E_NOMEM. True in *created:
	 * there was none. */
	int (*put)(void *arg, const struct definition_order *o, const struct definition **ret,
		   bool *created, struct err *e);
	/* By name or id. E_NOT_FOUND, E_FORBIDDEN (of the configuration). */
	int (*drop)(void *arg, struct str tenant, struct str word, struct err *e);
	void (*tenant_changed)(void *arg, struct str tenant, bool gone); /* it came, or is gone */
	const struct definition *(*find)(void *arg, struct str tenant, struct str word);
	void (*write)(struct jw *w, struct str tenant, void *arg); /* elements of an open array */
};

struct front_spec {
	struct gateway *gw;
	struct kernels *kernels; /* of sessions that send envelopes; NULL: none can */
	const char *workspace;   /* of MCP clients over HTTP that name none; copied; NULL: none */
	void (*stop)(void *arg); /* somebody asked the gateway to end */
	/* Read the configuration again, soon; may be NULL. */
	void (*reload)(void *arg);
	/* Members of an open object: what is known of the configuration; may be NULL. */
	void (*about)(struct jw *w, void *arg);
	const struct definitions_ops *definitions; /* NULL: none can be made */
	void *arg;
};

int front_new(const struct front_spec *spec, struct front **ret, struct err *e);
struct http_server *front_server(struct front *f); /* to listen with */
/* Copied; NULL: no token is asked for. */
int front_set_token(struct front *f, const char *token);
/* A host listened on beside the loopback: it is taken in Host and Origin too. E_LIMIT. */
int front_allow_host(struct front *f, const char *host);
/* The status page can be opened here; the first address is the one that is told. */
void front_page_at(struct front *f, const char *host, uint16_t port);
/* Another default workspace from now on; copied. */
void front_set_workspace(struct front *f, const char *workspace);
/* MCP clients that listen are told, soon and once: their lists have changed. What changes at
 * servers behind is noticed without this. */
enum mcp_changed { CHANGED_TOOLS = 1, CHANGED_PROMPTS = 2, CHANGED_RESOURCES = 4 };
void mcp_changed(struct front *f, unsigned what);
void mcp_changed_for(struct front *f, const struct agent *a); /* all lists, of one agent's alone */
/* Ends streams and connections, lets answers out for at most grace_ms. */
void front_stop(struct front *f, unsigned grace_ms, void (*done)(void *arg), void *arg);
void front_free(struct front *f); /* after done; takes NULL */

#endif
