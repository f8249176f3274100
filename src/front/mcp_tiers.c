/*
 * mcp_tiers.c - what a tenant has and an agent may use, as resources (seed 004 section 5):
 *
 *	focal://tools/tenant/{tenant_id}/available
 *	focal://tools/agent/{agent_id}/enabled
 *	focal://tools/agent/{agent_id}/unavailable
 *
 * Each client sees its own; those of others are not there. They are not listed where there is
 * nobody but one person, who can read them all the same.
 */

#include "front/mcp_offer.h"

struct tier_row {
	const char *kind, *tail; /* of the address */
	const char *name, *title, *template, *description;
	void (*write)(struct jw *w, const struct gateway *gw, struct agent *a);
};

#define SCHEME "focal://tools/"

static void
write_available(struct jw *w, const struct gateway *gw, struct agent *a)
{
	toolbox_write_available(w, gw, a->tenant);
}

static const struct tier_row rows[] = {
    {"agent", "enabled", "tools_enabled", "Tools this agent may use",
     SCHEME "agent/{agent_id}/enabled", "Tools that are enabled for this agent.",
     toolbox_write_enabled},
    {"agent", "unavailable", "tools_unavailable", "Tools this agent could have",
     SCHEME "agent/{agent_id}/unavailable",
     "Tools that could be enabled for this agent, and why they are not.",
     toolbox_write_unavailable},
    {"tenant", "available", "tools_available", "Tools there are here",
     SCHEME "tenant/{tenant_id}/available", "All tools that are available to this agent's tenant.",
     write_available},
};

static struct agent *
owner_of(const struct mcp_client *c)
{
	return c->session->owner;
}

static const char *
id_of(const struct tier_row *row, const struct agent *a)
{
	return strcmp(row->kind, "agent") == 0 ? a->id.text : a->tenant->id.text;
}

static bool
names(const struct tier_row *row, const struct agent *a, struct str id)
{
	bool agent = strcmp(row->kind, "agent") == 0;

	return str_is(id, id_of(row, a)) || str_is(id, agent ? a->name : a->tenant->name);
}

/* NULL: it is none of these, or somebody else's. */
static const struct tier_row *
row_of(const struct mcp_client *c, struct str uri)
{
	const struct agent *a = owner_of(c);
	struct str rest = str_from(uri, sizeof(SCHEME) - 1), kind, id, tail;

	if (!a || a->gone || !mcp_tiers_own(uri) || c->surface.kind == SURFACE_SERVER ||
	    !str_split(&rest, '/', &kind) || !str_split(&rest, '/', &id) ||
	    !str_split(&rest, '/', &tail) || rest.len)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (str_is(kind, rows[i].kind) && str_is(tail, rows[i].tail) &&
		    names(&rows[i], a, id))
			return &rows[i];
	return NULL;
}

bool
mcp_tiers_own(struct str uri)
{
	return str_starts(uri, S(SCHEME));
}

bool
mcp_tiers_read(struct mcp_request *q, struct str uri)
{
	const struct tier_row *row = row_of(q->client, uri);
	struct buf text = BUF_INIT(LIMIT_ANSWER_BYTES), b;
	struct jw inner = jw(&text);

	if (!row)
		return false;
	row->write(&inner, q->client->front->gw, owner_of(q->client));
	struct jw w = mcp_begin(q, &b);
	jw_key(&w, "contents");
	jw_array(&w);
	jw_object(&w);
	jw_member(&w, "uri", uri);
	jw_member_z(&w, "mimeType", "application/json");
	jw_member(&w, "text", buf_str(&text));
	jw_end(&w);
	jw_end(&w);
	w.out->failed |= buf_failed(&text);
	buf_done(&text);
	mcp_write_meta(q, &w, NULL, (struct str){NULL, 0});
	mcp_end(q, &w, &b);
	return true;
}

static bool
are_listed(const struct mcp_client *c)
{
	const struct agent *a = owner_of(c);

	return a && !a->gone && c->surface.kind != SURFACE_SERVER &&
	       !tenants_plain(c->front->gw->tenants);
}

/* Before those of the servers: they are on the first page alone. */
void
mcp_tiers_list(struct jw *w, const struct mcp_client *c, bool templates)
{
	for (size_t i = 0; are_listed(c) && i < ARRAY_LEN(rows); i++) {
		const struct tier_row *row = &rows[i];
		struct buf uri = BUF_INIT(256);

		buf_addf(&uri, SCHEME "%s/%s/%s", row->kind, id_of(row, owner_of(c)), row->tail);
		jw_object(w);
		if (templates)
			jw_member_z(w, "uriTemplate", row->template);
		else
			jw_member(w, "uri", buf_str(&uri));
		jw_member_z(w, "name", row->name);
		jw_member_z(w, "title", row->title);
		jw_member_z(w, "description", row->description);
		jw_member_z(w, "mimeType", "application/json");
		jw_end(w);
		buf_done(&uri);
	}
}
