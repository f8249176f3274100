/*
 * mcp_offer.h - what the surfaces offer, and how it is shown; for src/front/mcp_*.c alone.
 *
 *   mcp_surface.c   which surface, and what it says of itself
 *   mcp_tools.c     tools/list and tools/call
 *   mcp_meta.c      the tools of the gateway's own: tool_browse, tool_execute...
 *   mcp_result.c    what came of a call, as the surface shows it
 *   mcp_page.c      cursors
 *   mcp_offer.c     resources and prompts: lists, and whose each is
 *   mcp_fetch.c     the servers are asked for them
 */

#ifndef FRONT_MCP_OFFER_H
#define FRONT_MCP_OFFER_H

#include "front/mcp.h"

/* ---- mcp_surface.c ---- */

/* The tool that tools/call runs by this name, whole schema and all. NULL: none, or the surface has
 * no such tools: on the gateway and the proxy they are run by tool_execute. */
struct tool *mcp_tool_of(const struct mcp_client *c, struct str name);
/* What a tool is called on SURFACE_SERVER: as its server calls it. */
struct str mcp_plain_name(const struct tool *t);
bool mcp_tool_is_of(const struct tool *t, const char *server);

/* The servers whose resources and prompts this surface has, by name. */
size_t mcp_server_count(const struct mcp_client *c);
struct upstream *mcp_server_at(const struct mcp_client *c, size_t i);
/* Has it said that it has this ("prompts")? One that has said nothing yet may. Not for an agent
 * that may not use all of its tools. */
bool mcp_server_has(const struct mcp_client *c, const struct upstream *u, const char *capability);

/* What may be held of a list of this surface: as long as each of its servers says. */
struct mcp_hint mcp_list_hint(const struct mcp_client *c, enum upstream_list which);
/* Somebody reads a list: what servers do not tell by themselves is looked for, for the next. */
void mcp_look(const struct mcp_client *c);

/* Does it tell when a resource changes? One that has said nothing yet may. */
bool mcp_server_tells(const struct upstream *u);
/* enum mcp_changed: the lists of this surface that can change. */
unsigned mcp_changing(const struct mcp_client *c);

/* Of these changes those that can be seen: the gateway surface has the same tools, come what may.
 */
static inline unsigned
mcp_seen_on(enum surface s, unsigned changes)
{
	return s == SURFACE_GATEWAY ? changes & ~(unsigned)CHANGED_TOOLS : changes;
}

/* ---- mcp_page.c ---- */

/*
 * A page begins behind a name, not at a number: it survives what comes and goes meanwhile. `list`
 * is a letter that tells cursors of different lists apart.
 */
struct mcp_page {
	char list;
	bool first;         /* no cursor, or an empty one */
	struct str after;   /* names up to this one were on pages before */
	size_t left;        /* that still fit */
	struct str last;    /* the last that was taken */
	bool more;          /* there are some that did not fit */
	struct jw mark;     /* private: before the last, in case that is too long */
	size_t mark_len;    /* the same */
	struct buf decoded; /* the same: of `after` */
};
/* E_VALIDATION: this cursor is none of ours. */
int mcp_page_begin(struct mcp_page *p, char list, const struct json *params, struct err *e);
/* Does the next one, in order, fit? If so it is written now. */
bool mcp_page_take(struct mcp_page *p, struct jw *w, struct str name);
/* It is written. One that is too long is taken back: it would leave no room for the others. */
void mcp_page_taken(struct mcp_page *p, struct jw *w);
/* Writes nextCursor if there are more, and lets go of what it holds. */
void mcp_page_end(struct mcp_page *p, struct jw *w);

/* ---- mcp_meta.c ---- */

struct mcp_meta;
const struct mcp_meta *mcp_meta_find(enum surface s, struct str name); /* NULL = none */
void mcp_meta_list(struct jw *w, enum surface s); /* items of an open array, by name */
int mcp_meta_call(struct mcp_request *q, const struct mcp_meta *m, const struct json *arguments,
		  struct err *e);

/* ---- mcp_result.c ---- */

#define META_TOOL_ID "holdfast/tool_id" /* keys of ours in _meta */
#define META_CHANGED "holdfast/changed"
#define META_PROVENANCE "holdfast/provenance"
#define META_ARTIFACTS "holdfast/artifacts"
#define META_RETRY_AFTER "holdfast/retry_after_ms"
#define META_CACHED "holdfast/cached"
#define META_EFFECT "holdfast/effect_id"
#define META_KEY "holdfast/idempotency_key" /* of a request */
#define META_GROUP "holdfast/turn_group_id" /* the same */

/* One call through the pipeline; answers when it is over. input NULL: no arguments were given. */
int mcp_submit(struct mcp_request *q, struct str tool, const struct json *input,
	       enum showing showing, struct err *e);
/* A result that is an error, as seed 001 section 3.4 has it. Answers. */
void mcp_refuse(struct mcp_request *q, const struct err *why, struct str path);

/* ---- mcp_tiers.c: resources of the gateway's own ---- */

bool mcp_tiers_own(struct str uri); /* no server is asked for it */
/* True: it was answered. False: for this client there is none. */
bool mcp_tiers_read(struct mcp_request *q, struct str uri);
void mcp_tiers_list(struct jw *w, const struct mcp_client *c, bool templates); /* items */

/* ---- mcp_offer.c ---- */

/* Who is asked for this resource: the one that lists it, then the template that says most of it,
 * then the server of SURFACE_SERVER. NULL = nobody. */
struct upstream *mcp_upstream_of_uri(const struct mcp_client *c, struct str uri);
/* Who lists this very template. NULL = nobody. */
struct upstream *mcp_upstream_of_template(const struct mcp_client *c, struct str tmpl);
/* Whose prompt it is, and what it is called there: borrowed from name or from the list. */
struct upstream *mcp_upstream_of_prompt(const struct mcp_client *c, struct str name,
					struct str *ret_plain);

#endif
