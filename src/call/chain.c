/* chain.c - the stages of one gateway: the table, what a program puts between, and how it is shown.
 */

#include <stdlib.h>

#include "call/hooks.h"
#include "call/stage.h"

void
chain_init(struct gateway *gw)
{
	CHECK(call_stage_count <= LIMIT_STAGES);
	gw->chain_len = call_stage_count;
	for (size_t i = 0; i < call_stage_count; i++)
		gw->chain[i] = (struct link){.stage = &call_stages[i]};
}

void
chain_done(struct gateway *gw)
{
	for (size_t i = 0; i < gw->chain_len; i++)
		guest_free(gw->chain[i].guest);
	gw->chain_len = 0;
	hooks_unref(gw->hooks);
	gw->hooks = NULL;
}

size_t
chain_find(const struct gateway *gw, struct str name)
{
	size_t i = 0;

	while (i < gw->chain_len && !str_is(name, gw->chain[i].stage->name))
		i++;
	return i;
}

static bool
is_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_-", name.ptr[i]))
			return false;
	return name.len > 0 && name.len <= LIMIT_STAGE_NAME;
}

static int
check_stage(const struct gateway *gw, const struct guest_stage *s, struct err *e)
{
	if (!s->name || !is_name(str_of(s->name)))
		return err_set(e, E_VALIDATION,
			       "a stage's name has small letters, digits, - and _, at most %d",
			       LIMIT_STAGE_NAME);
	if (!s->sentence || !s->sentence[0] || strlen(s->sentence) > LIMIT_STAGE_SENTENCE)
		return err_set(e, E_VALIDATION,
			       "%s: a stage has a sentence that says what it does, of at most %d "
			       "bytes",
			       s->name, LIMIT_STAGE_SENTENCE);
	if (chain_find(gw, str_of(s->name)) < gw->chain_len)
		return err_set(e, E_EXISTS, "there is a stage '%s' already", s->name);
	if (gw->calls.len > 0)
		return err_set(e, E_FORBIDDEN,
			       "%s: stages are added while no call is alive, and %zu are", s->name,
			       gw->calls.len);
	if (gw->chain_len == LIMIT_STAGES)
		return err_set(e, E_LIMIT, "there are %d stages already", LIMIT_STAGES);
	return 0;
}

/* Before record there is no journal entry; before result a tool's output has its secrets. */
static int
check_place(const struct gateway *gw, size_t at, struct err *e)
{
	if (at == 0)
		return err_set(e, E_FORBIDDEN,
			       "nothing comes before record: it would not be in the journal");
	if (at == chain_find(gw, S("result")))
		return err_set(e, E_FORBIDDEN,
			       "nothing comes between dispatch and result: what a tool gave back "
			       "has its secrets there still");
	return 0;
}

int
gateway_use(struct gateway *gw, const struct guest_stage *s, bool after, struct str neighbour,
	    struct err *e)
{
	size_t at = chain_find(gw, neighbour);
	int code;

	if ((code = check_stage(gw, s, e)) < 0)
		return code;
	if (at == gw->chain_len)
		return err_set(e, E_NOT_FOUND, "%s: there is no stage '%.*s' to put it %s", s->name,
			       STR_ARG(str_utf8_upto(neighbour, 100)), after ? "after" : "before");
	if ((code = check_place(gw, at += after, e)) < 0)
		return code;
	struct guest *g = guest_new(s);
	if (!g)
		return err_plain(e, E_NOMEM);
	memmove(&gw->chain[at + 1], &gw->chain[at], (gw->chain_len - at) * sizeof(gw->chain[0]));
	gw->chain[at] = (struct link){.stage = guest_stage(g), .guest = g};
	gw->chain_len++;
	return 0;
}

void
gateway_wake_guests(struct gateway *gw)
{
	LIST_EACH (&gw->at[PLACE_STAYING], at)
		call_wake(CONTAINER_OF(at, struct call, in_place));
}

void
gateway_wake_call(struct gateway *gw, struct str id)
{
	struct call *c = map_find(&gw->calls, id);

	if (c && c->place == PLACE_STAYING)
		call_wake(c);
}

const char *
gateway_stage_name(const struct gateway *gw, size_t i)
{
	return gw->chain[i].stage->name;
}

static void
write_link(struct jw *w, const struct link *l)
{
	jw_object(w);
	jw_member_z(w, "name", l->stage->name);
	jw_member_z(w, "sentence", l->stage->sentence);
	jw_member_z(w, "by", l->guest ? "library" : "holdfast");
	jw_member_int(w, "entries", (int64_t)l->entries);
	jw_member_int(w, "total_us", (int64_t)l->total_us);
	jw_member_int(w, "max_us", (int64_t)l->max_us);
	jw_end(w);
}

void
gateway_write_pipeline(struct jw *w, const struct gateway *gw)
{
	jw_object(w);
	jw_key(w, "stages");
	jw_array(w);
	for (size_t i = 0; i < gw->chain_len; i++)
		write_link(w, &gw->chain[i]);
	jw_end(w);
	jw_key(w, "hooks");
	hooks_write(w, gw->hooks);
	jw_end(w);
}
