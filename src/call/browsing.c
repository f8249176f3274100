/* browsing.c - a session looks for tools, and what it then runs is remembered. */

#include "base/clock.h"
#include "call/stage.h"

#define DAY_US (INT64_C(86400) * 1000000)

struct seer {
	const struct gateway *gw;
	const struct session *session;
};

static bool
may_see(const struct shelf_item *item, void *arg)
{
	const struct seer *seer = arg;
	const struct tool *t = catalog_find(seer->gw->catalog, item->card.id);

	return t && (!seer->session || tool_visible(t, seer->session));
}

/* The tenant has it, the agent may not use it. */
static bool
may_be_enabled(const struct shelf_item *item, void *arg)
{
	const struct seer *seer = arg;
	const struct tool *t = catalog_find(seer->gw->catalog, item->card.id);

	return t && tool_disabled(t, seer->session);
}

/* What would have been found before all that was: seed 004 section 3.1. */
static int
find_disabled(const struct shelf *shelf, struct seer *seer, struct str query,
	      struct browse_reply *r, struct err *e)
{
	struct shelf_hit hits[BROWSE_DISABLED];
	size_t count = shelf_search(shelf, query, BROWSE_DISABLED, seer->gw->learned,
				    may_be_enabled, seer, hits);

	r->disabled = arena_alloc(r->arena, (count + 1) * sizeof(*r->disabled));
	if (!r->disabled)
		return err_plain(e, E_NOMEM);
	for (size_t i = 0; i < count; i++)
		if (r->count == 0 || hits[i].score > r->best)
			r->disabled[r->disabled_count++] = hits[i].item->card;
	return 0;
}

static void
remember(struct session *s, struct str query, const struct browse_reply *r)
{
	if (!query.ptr || (!s->asked && !(s->asked = asked_new())))
		return;
	asked_begin(s->asked, query);
	for (size_t i = 0; i < r->count; i++)
		asked_shown(s->asked, r->cards[i].id);
}

int
gateway_browse(struct gateway *gw, struct session *s, const struct browse_args *args, bool stable,
	       struct browse_reply *ret, struct err *e)
{
	struct seer seer = {gw, s};
	struct browse_options options = {.learned = gw->learned, .visible = may_see, .arg = &seer};
	struct shelf *shelf;
	int rc = catalog_shelf(gw->catalog, &shelf, e);

	if (rc < 0)
		return rc;
	upstreams_look(gw->upstreams); /* for the next time */
	if (stable && !s)
		return err_set(e, E_VALIDATION, "cache_stable: needs a session");
	if (stable && !s->seen && !(s->seen = browse_seen_new()))
		return err_plain(e, E_NOMEM);
	options.seen = stable ? s->seen : NULL;
	rc = browse(shelf, args, &options, ret, e);
	if (rc == 0 && s && args->query.ptr && agent_lacks(s->owner) &&
	    (rc = find_disabled(shelf, &seer, args->query, ret, e)) < 0)
		browse_done(ret);
	if (rc == 0 && s)
		remember(s, args->query, ret);
	return rc;
}

static void
note_seen(struct gateway *gw, struct session *s, struct str id)
{
	struct shelf *shelf;

	if (s->seen && catalog_shelf(gw->catalog, &shelf, NULL) == 0)
		browse_seen_note(s->seen, shelf, id);
}

int
gateway_hydrate(struct gateway *gw, struct session *s, struct str tool, struct jw *w, struct err *e)
{
	const struct tool *t = catalog_find(gw->catalog, tool);
	struct shelf *shelf;
	int rc = catalog_shelf(gw->catalog, &shelf, e);

	if (rc < 0)
		return rc;
	if (t && s && tool_disabled(t, s))
		return tool_say_disabled(t, s, e);
	if (!t || (s && !tool_visible(t, s)))
		return tool_say_unknown(gw, s, tool, e);
	rc = shelf_hydrate(shelf, t->id, w, e);
	if (rc == 0 && s)
		note_seen(gw, s, t->id);
	return rc;
}

void
browsing_ran(struct call *c)
{
	struct gateway *gw = c->gw;
	struct session *s = c->session;
	struct shelf *shelf;

	note_seen(gw, s, c->tool->id);
	if (!s->asked || !gw->learned || !learned_is_on(gw->learned))
		return;
	struct str query = asked_take(s->asked, c->tool->id);
	if (!query.ptr || catalog_shelf(gw->catalog, &shelf, NULL) < 0)
		return;
	learned_note(gw->learned, shelf_words(shelf), query, c->tool->id,
		     (uint32_t)(clock_wall_us() / DAY_US));
	if (gw->taught)
		gw->taught(gw->taught_arg);
}
