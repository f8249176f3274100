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

#endif
