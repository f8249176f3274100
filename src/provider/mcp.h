/*
 * mcp.h - tools of MCP servers: the catalog follows what src/upstream knows of them, and their jobs
 * become exchanges.
 *
 * A tool is called SERVER__TOOL unless the server's settings say otherwise. A name two claim goes
 * to neither: both get the long form. What a built-in tool or one of the gateway's own is called
 * nobody else is.
 */

#ifndef PROVIDER_MCP_H
#define PROVIDER_MCP_H

#include "catalog/catalog.h"
#include "provider/provider.h"
#include "upstream/upstream.h"

/* What the configuration says of a server's tools. Copied. */
struct mcp_settings {
	struct str server;
	struct str ns;     /* namespace of ids and paths; {NULL,0}: the server's name */
	struct str prefix; /* of names; {NULL,0}: the server's name; "" : none */
	bool trust;        /* its annotations count */
	bool repair_arguments;
	int confirm; /* enum policy_mode, or -1 */
	const char *const
	    *enabled; /* NULL-terminated; names, or their beginning and "*"; NULL: all */
	const char *const *disabled; /* the same; NULL: none */
	unsigned timeout_ms, max_ms; /* of a call; 0: the defaults */
};

struct mcp_provider;

/* Follows us from now on. `changed` is called after the catalog has; may be NULL. */
int mcp_provider_new(struct loop *l, struct catalog *c, struct upstreams *us,
		     void (*changed)(void *arg), void *arg, struct mcp_provider **ret,
		     struct err *e);
/* Before upstreams_set, with all of them. */
int mcp_provider_set(struct mcp_provider *p, const struct mcp_settings *settings, size_t count,
		     struct err *e);
void mcp_provider_free(struct mcp_provider *p); /* no job may be running; takes NULL */

/*
 * Whose a name is that no tool has, by its prefix or namespace; {NULL,0}: nobody's here. Where
 * there is a reason that the server has no such tool, *why is set: it cannot be reached, the tool
 * is disabled, or no client would take it.
 */
struct str mcp_why_missing(const struct mcp_provider *p, struct str name, struct err *why);

/* What could not be listed as it is called, one line each: "x: tool 'y': why". For people. */
size_t mcp_problem_count(const struct mcp_provider *p);
const char *mcp_problem_at(const struct mcp_provider *p, size_t i);

#endif
