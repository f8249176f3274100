/*
 * mcp.h - facts of the Model Context Protocol that both of our sides share: as a server to clients
 * (src/front) and as a client of servers (src/upstream).
 *
 * There are two eras. LEGACY, up to 2025-11-25, begins with `initialize`, has sessions, and both
 * sides send requests. MODERN, from 2026-07-28, has neither: every request carries who asks and
 * what that one can do in `_meta`, and a server that needs input answers `input_required`.
 */

#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "base/err.h"
#include "json/json.h"
#include "json/write.h"

enum mcp_era { ERA_LEGACY, ERA_MODERN };
const char *mcp_era_name(enum mcp_era era); /* "legacy", "modern" */

/* Revisions, oldest first. Comparing them asks what a peer can understand. */
enum mcp_revision {
	MCP_UNKNOWN,
	MCP_2024_10_07,
	MCP_2024_11_05,
	MCP_2025_03_26,
	MCP_2025_06_18,
	MCP_2025_11_25,
	MCP_2026_07_28,
};
#define MCP_MODERN "2026-07-28"
#define MCP_LEGACY "2025-11-25" /* the newest of that era: what we ask for, and offer */
enum mcp_revision mcp_revision(struct str text); /* MCP_UNKNOWN: none of ours */
const char *mcp_revision_name(enum mcp_revision r);
/* What a client gets that asks for this in `initialize`: the same, or MCP_LEGACY. */
enum mcp_revision mcp_negotiate(struct str asked);

/* JSON-RPC error codes. */
enum {
	RPC_PARSE = -32700,
	RPC_INVALID = -32600,
	RPC_NO_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_LEGACY_NO_RESOURCE = -32002,
	RPC_LEGACY_URL_NEEDED = -32042,
	RPC_HEADER = -32020,     /* a header does not say what the body says */
	RPC_CAPABILITY = -32021, /* the client has not declared what this needs */
	RPC_VERSION = -32022,    /* a protocol version that is not spoken here */
};

/* Keys of _meta. */
#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"
#define META_SERVER "io.modelcontextprotocol/serverInfo"
#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
#define META_PROGRESS "progressToken"

/* True for keys that belong to one hop and are never passed on: the ones above. */
bool mcp_meta_is_hop(struct str key);

/* What the gateway's own tools are called, on whichever surface: nobody else's are. */
bool mcp_is_own_tool(struct str name);
/* Between a client and its gateway: no server gets it, and none may say it. */
bool mcp_meta_is_ours(struct str key);

/* How long a result may be held, and whether for everybody (2026-07-28). Zero: not at all. */
struct mcp_hint {
	uint64_t ttl_ms;
	bool everybody;
};
struct mcp_hint mcp_hint(const struct json *result); /* zero where it says nothing that counts */
struct mcp_hint mcp_hint_both(struct mcp_hint a, struct mcp_hint b); /* the stricter of each */

/* Levels of logging, from debug to emergency. -1: no such level. */
int mcp_log_level(struct str name);
#define MCP_LOG_NONE 8 /* above all of them: nothing is wanted */

/* What ClientCapabilities allow to be asked for. */
enum mcp_can {
	CAN_ELICIT_FORM = 1,
	CAN_ELICIT_URL = 2,
	CAN_SAMPLE = 4,
	CAN_SAMPLE_TOOLS = 8,
	CAN_ROOTS = 16,
};
unsigned mcp_can(const struct json *capabilities); /* NULL: nothing; elicitation:{} is form */
/* What this request ({method, params}) needs of them; 0 for one that is not known. */
unsigned mcp_needs(struct str method, const struct json *params);
/* {"sampling":{}}: as -32021 names what is missing. */
void mcp_write_can(struct jw *w, unsigned can);

#endif
