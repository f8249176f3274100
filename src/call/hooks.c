/* hooks.c - which hooks there are, for which tools, and in which order. */

#include "call/hooks.h"

#include <stdlib.h>

#include "base/glob.h"
#include "base/limits.h"

const char *
hook_event_name(enum hook_event event)
{
	return event == HOOK_PRE ? "PreToolUse" : "PostToolUse";
}

struct hook *
hook_new(enum hook_event event, struct str matcher, struct str name)
{
	struct arena *arena = arena_new(LIMIT_HOOK_ARENA);
	struct hook *h = arena ? ARENA_NEW(arena, struct hook) : NULL;

	if (h) {
		h->refs = 1;
		h->arena = arena;
		h->event = event;
		h->matcher = arena_str(arena, matcher.len ? matcher : S("*"));
		h->every = h->matcher.ptr && str_is(h->matcher, "*");
		h->name = arena_str(arena, name);
		if (h->matcher.ptr)
			h->plain = strcspn(h->matcher.ptr, "|*?[\\ ") == h->matcher.len;
	}
	if (h && h->matcher.ptr && h->name.ptr)
		return h;
	arena_free(arena);
	return NULL;
}

struct hook *
hook_ref(struct hook *h)
{
	h->refs++;
	return h;
}

void
hook_unref(struct hook *h)
{
	if (h && --h->refs == 0)
		arena_free(h->arena);
}

bool
hook_fits(const struct hook *h, struct str tool)
{
	struct str rest = h->matcher, part;

	if (h->every || h->plain)
		return h->every || str_eq(h->matcher, tool);
	while (str_split(&rest, '|', &part))
		if (glob_path(str_trim(part), tool))
			return true;
	return false;
}

struct hooks *
hooks_ref(struct hooks *list)
{
	list->refs++;
	return list;
}

void
hooks_unref(struct hooks *list)
{
	if (!list || --list->refs > 0)
		return;
	for (size_t k = 0; k < HOOK__COUNT; k++)
		for (size_t i = 0; i < list->count[k]; i++)
			hook_unref(list->at[k][i]);
	free(list);
}

/* Behind those that come before it: whoever means all tools comes before whoever means some. */
static int
put(struct hooks *list, struct hook *h)
{
	struct hook **at = list->at[h->event];
	size_t n = list->count[h->event], i = n;

	if (n == LIMIT_HOOKS)
		return E_LIMIT;
	while (h->every && i > 0 && !at[i - 1]->every)
		i--;
	memmove(&at[i + 1], &at[i], (n - i) * sizeof(*at));
	at[i] = hook_ref(h);
	list->count[h->event]++;
	return 0;
}

static int
put_old(struct hooks *list, const struct hooks *from, bool programs)
{
	int code = 0;

	for (size_t k = 0; from && k < HOOK__COUNT; k++)
		for (size_t i = 0; code == 0 && i < from->count[k]; i++)
			if (programs == (from->at[k][i]->argv != NULL))
				code = put(list, from->at[k][i]);
	return code;
}

/* The new list is used from now on, if nothing went wrong while it was made. */
static int
take(struct gateway *gw, struct hooks *list, int code, struct err *e)
{
	if (code < 0) {
		hooks_unref(list);
		return err_set(e, code, "there are more hooks than %d", LIMIT_HOOKS);
	}
	hooks_unref(gw->hooks);
	gw->hooks = list;
	if (list->count[HOOK_PRE] + list->count[HOOK_POST] == 0) {
		hooks_unref(list);
		gw->hooks = NULL;
	}
	return 0;
}

int
gateway_hook(struct gateway *gw, struct hook *h, struct err *e)
{
	struct hooks *list = calloc(1, sizeof(*list));
	int code;

	if (!list)
		return err_plain(e, E_NOMEM);
	list->refs = 1;
	if ((code = put_old(list, gw->hooks, true)) == 0 &&
	    (code = put_old(list, gw->hooks, false)) == 0)
		code = put(list, h);
	return take(gw, list, code, e);
}

int
gateway_set_programs(struct gateway *gw, struct hook *const *programs, size_t count, struct err *e)
{
	struct hooks *list = calloc(1, sizeof(*list));
	int code = 0;

	if (!list)
		return err_plain(e, E_NOMEM);
	list->refs = 1;
	for (size_t i = 0; code == 0 && i < count; i++)
		code = put(list, programs[i]);
	if (code == 0)
		code = put_old(list, gw->hooks, false);
	return take(gw, list, code, e);
}

static void
write_hook(struct jw *w, const struct hook *h)
{
	jw_object(w);
	jw_member_z(w, "event", hook_event_name(h->event));
	jw_member(w, "matcher", h->matcher);
	jw_member_z(w, "by", h->argv ? "config" : "library");
	jw_member(w, "name", str_utf8_upto(h->name, 200));
	if (h->argv) {
		jw_member_int(w, "timeout_seconds", h->timeout_ms / 1000);
		jw_member_z(w, "on_error", h->lenient ? "continue" : "block");
	}
	jw_end(w);
}

/* In the order they run. */
void
hooks_write(struct jw *w, const struct hooks *list)
{
	jw_array(w);
	for (size_t i = 0; list && i < list->count[HOOK_PRE]; i++)
		write_hook(w, list->at[HOOK_PRE][i]);
	for (size_t i = list ? list->count[HOOK_POST] : 0; i > 0; i--)
		write_hook(w, list->at[HOOK_POST][i - 1]);
	jw_end(w);
}
