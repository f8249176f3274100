/* mcp.c - names, revisions and capabilities of the protocol. */

#include "mcp/mcp.h"

const char *
mcp_era_name(enum mcp_era era)
{
	return era == ERA_MODERN ? "modern" : "legacy";
}
