/* mcp.c - names, revisions and capabilities of the protocol. */

#include "mcp/mcp.h"

#include "base/limits.h"

/* Where a text stands in a table, or -1. */
static int
place_of(const char *const *table, size_t count, struct str text)
{
	for (size_t i = 0; i < count; i++) {
		if (table[i] && str_is(text, table[i]))
			return (int)i;
	}
	return -1;
}

/* ---- eras and revisions ---- */

static const char *const revisions[] = {
    [MCP_2024_10_07] = "2024-10-07", [MCP_2024_11_05] = "2024-11-05",
    [MCP_2025_03_26] = "2025-03-26", [MCP_2025_06_18] = "2025-06-18",
    [MCP_2025_11_25] = MCP_LEGACY,   [MCP_2026_07_28] = MCP_MODERN,
};

const char *
mcp_era_name(enum mcp_era era)
{
	return era == ERA_MODERN ? "modern" : "legacy";
}

enum mcp_revision
mcp_revision(struct str text)
{
	int at = place_of(revisions, ARRAY_LEN(revisions), text);

	return at < 0 ? MCP_UNKNOWN : (enum mcp_revision)at;
}

const char *
mcp_revision_name(enum mcp_revision r)
{
	return r == MCP_UNKNOWN ? "unknown" : revisions[r];
}

enum mcp_revision
mcp_negotiate(struct str asked)
{
	enum mcp_revision r = mcp_revision(asked);

	/* The modern one cannot be had by a handshake: who asks so gets the newest that can. */
	return r == MCP_UNKNOWN || r > MCP_2025_11_25 ? MCP_2025_11_25 : r;
}

/* ---- _meta and logging ---- */

bool
mcp_meta_is_ours(struct str key)
{
	return str_starts(key, S("holdfast/"));
}

bool
mcp_meta_is_hop(struct str key)
{
	static const char *const hop[] = {
	    META_PROGRESS, META_VERSION,   META_CAPABILITIES, META_CLIENT,
	    META_SERVER,   META_LOG_LEVEL, META_SUBSCRIPTION,
	};

	return place_of(hop, ARRAY_LEN(hop), key) >= 0;
}

bool
mcp_is_own_tool(struct str name)
{
	static const char *const own[] = {"tool_browse", "tool_execute", "tool_hydrate",
					  "tool_view"};

	return place_of(own, ARRAY_LEN(own), name) >= 0;
}

struct mcp_hint
mcp_hint(const struct json *result)
{
	int64_t ttl = 0;

	if (!json_int(json_get(result, S("ttlMs")), &ttl) || ttl < 0)
		return (struct mcp_hint){0};
	return (struct mcp_hint){
	    .ttl_ms = ttl < LIMIT_MCP_TTL_MS ? (uint64_t)ttl : LIMIT_MCP_TTL_MS,
	    .everybody = str_is(json_str(json_get(result, S("cacheScope"))), "public"),
	};
}

struct mcp_hint
mcp_hint_both(struct mcp_hint a, struct mcp_hint b)
{
	return (struct mcp_hint){
	    .ttl_ms = a.ttl_ms < b.ttl_ms ? a.ttl_ms : b.ttl_ms,
	    .everybody = a.everybody && b.everybody,
	};
}

int
mcp_log_level(struct str name)
{
	static const char *const levels[MCP_LOG_NONE] = {
	    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
	};

	return place_of(levels, ARRAY_LEN(levels), name);
}

/* ---- capabilities ---- */

static const struct json *
member(const struct json *obj, const char *key)
{
	const struct json *v = json_get(obj, str_of(key));

	return json_is(v, JSON_OBJECT) ? v : NULL;
}

static unsigned
can_elicit(const struct json *elicitation)
{
	unsigned can = (member(elicitation, "form") ? CAN_ELICIT_FORM : 0) |
		       (member(elicitation, "url") ? CAN_ELICIT_URL : 0);

	/* Before there were modes, elicitation was forms. */
	return elicitation && !can ? CAN_ELICIT_FORM : can;
}

unsigned
mcp_can(const struct json *capabilities)
{
	const struct json *sampling = member(capabilities, "sampling");

	return can_elicit(member(capabilities, "elicitation")) | (sampling ? CAN_SAMPLE : 0) |
	       (member(sampling, "tools") ? CAN_SAMPLE_TOOLS : 0) |
	       (member(capabilities, "roots") ? CAN_ROOTS : 0);
}

static unsigned
elicitation_needs(const struct json *params)
{
	return str_is(json_str(json_get(params, S("mode"))), "url") ? CAN_ELICIT_URL
								    : CAN_ELICIT_FORM;
}

static unsigned
sampling_needs(const struct json *params)
{
	bool tools = json_get(params, S("tools")) || json_get(params, S("toolChoice"));

	return CAN_SAMPLE | (tools ? CAN_SAMPLE_TOOLS : 0);
}

static unsigned
roots_needs(const struct json *params)
{
	(void)params;
	return CAN_ROOTS;
}

unsigned
mcp_needs(struct str method, const struct json *params)
{
	static const struct {
		const char *method;
		unsigned (*needs)(const struct json *params);
	} rows[] = {
	    {"elicitation/create", elicitation_needs},
	    {"sampling/createMessage", sampling_needs},
	    {"roots/list", roots_needs},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (str_is(method, rows[i].method))
			return rows[i].needs(params);
	}
	return 0;
}

static void
write_empty(struct jw *w, const char *key)
{
	jw_key(w, key), jw_object(w), jw_end(w);
}

void
mcp_write_can(struct jw *w, unsigned can)
{
	static const struct {
		const char *capability;
		unsigned any; /* of these make it present */
		struct {
			const char *key;
			unsigned can;
		} parts[2];
	} rows[] = {
	    {"roots", CAN_ROOTS, {{NULL, 0}}},
	    {"sampling", CAN_SAMPLE | CAN_SAMPLE_TOOLS, {{"tools", CAN_SAMPLE_TOOLS}}},
	    {"elicitation",
	     CAN_ELICIT_FORM | CAN_ELICIT_URL,
	     {{"form", CAN_ELICIT_FORM}, {"url", CAN_ELICIT_URL}}},
	};

	jw_object(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!(can & rows[i].any))
			continue;
		jw_key(w, rows[i].capability), jw_object(w);
		for (size_t p = 0; p < ARRAY_LEN(rows[i].parts); p++) {
			if (can & rows[i].parts[p].can)
				write_empty(w, rows[i].parts[p].key);
		}
		jw_end(w);
	}
	jw_end(w);
}
