/*
 * era.h - what a result of one era becomes in the other.
 *
 * Unknown members and _meta stay as they are. Writers write whole values, straight from what was
 * parsed.
 */

#ifndef MCP_ERA_H
#define MCP_ERA_H

#include "mcp/mcp.h"

/*
 * Members of a result that are not shown to a client of that revision, or differ for it:
 *  - legacy: resultType, ttlMs, cacheScope go; _meta loses serverInfo
 *  - modern: resultType, ttlMs, cacheScope, serverInfo are ours to write, so the upstream's go too
 */
bool era_drops_member(struct str key);

/*
 * The members of a result as an open object's, for a client of that revision: everything but what
 * era_drops_member names. Content blocks (`content`, and those of `messages`) and structuredContent
 * become what that revision has. _meta loses what belongs to the other hop; for modern clients it
 * is left out altogether, because the caller has more to write there: see era_write_meta.
 * MCP_UNKNOWN, somebody who does not speak MCP, gets blocks and structuredContent as they came.
 */
void era_write_result(struct jw *w, const struct json *result, enum mcp_revision to);
/* The members of a result's _meta (NULL: none) that may be passed on, as an open object's. */
void era_write_meta(struct jw *w, const struct json *meta);

/*
 * A tool's definition as a client of that revision lists it, under that name: legacy ones get no
 * outputSchema that is not of an object; modern ones no `execution`.
 */
void era_write_tool(struct jw *w, const struct json *definition, struct str name,
		    enum mcp_revision to);
bool era_tool_differs(const struct json *definition, enum mcp_revision to); /* then, by that */

/* One content block: what an older client does not know (audio before 2025-03-26, resource_link
 * before 2025-06-18) becomes text that says what it was. */
void era_write_block(struct jw *w, const struct json *block, enum mcp_revision to);

/* structuredContent that a client of that revision may get: legacy only objects. */
bool era_takes_structured(const struct json *value, enum mcp_revision to);

#endif
