/* mcp_tool.h - what mcp.c and mcp_job.c share: the provider's own of a tool. */

#ifndef PROVIDER_MCP_TOOL_H
#define PROVIDER_MCP_TOOL_H

#include "provider/mcp.h"

struct mcp_tool {
	struct upstream *upstream; /* a reference */
	char pin[DIGEST_TEXT];
	struct schema *output; /* of its results; compiled when it is first needed */
	bool output_unfit;     /* it cannot be */
};

extern const struct provider mcp__ops; /* copied into each provider */

/* Who does the work of a tool now: while its call waited for a person, a reload may have replaced
 * the server it was made with. That the tool is still the same, its pin says. Borrowed. */
struct upstream *mcp__upstream(struct provider *p, const struct tool *t);

#endif
