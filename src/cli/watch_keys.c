/* watch_keys.c - what each key does. */

#include "base/clock.h"
#include "base/limits.h"
#include "cli/ask.h"
#include "cli/watch.h"

#include <curses.h>

/* ---- the question ---- */

bool
watch_may_answer(const struct watch *w, uint64_t now_ms)
{
	return w->drawn[0] && now_ms >= w->drawn_ms + WATCH_SEEN_MS;
}

static void
answer(struct watch *w, bool allow, const char *scope, const char *done)
{
	struct buf target = BUF_INIT(KIB), body = BUF_INIT(KIB);
	const struct json *q = watch_question(w, NULL, NULL);

	if (!q || strcmp(w->drawn, w->answered) == 0)
		return; /* there is none, or it is on its way out */
	if (!watch_may_answer(w, clock_mono_ms()) ||
	    !str_is(member(q, "confirmation_request_id"), w->drawn)) {
		watch_say(w, "this question has just appeared: look at it, then answer");
		return;
	}
	if (strcmp(scope, "once") != 0 && json_bool(json_get(q, S("once_only")))) {
		watch_say(w, "this is asked each time: it can be allowed once (a) or denied (d)");
		return;
	}
	buf_addz(&target, "/confirmations/");
	url_add(&target, str_of(w->drawn));
	ask_write(&body, &(struct ask_answer){allow, scope, NULL, "holdfast watch"});
	if (watch_post(w, buf_z(&target), buf_str(&body), done))
		memcpy(w->answered, w->drawn, sizeof(w->answered));
	w->stale |= 1u << PART_QUESTIONS;
	buf_done(&target);
	buf_done(&body);
}

static void
key_allow(struct watch *w)
{
	answer(w, true, "once", "allowed");
}

static void
key_session(struct watch *w)
{
	answer(w, true, "session", "allowed for the rest of the session");
}

static void
key_workspace(struct watch *w)
{
	answer(w, true, "workspace", "allowed in this workspace from now on");
}

static void
key_deny(struct watch *w)
{
	answer(w, false, "once", "denied");
}

static void
scroll_by(struct watch *w, long lines)
{
	long most = w->page.count > w->rows ? (long)(w->page.count - w->rows) : 0;
	long to = (long)w->scroll + lines;

	w->scroll = (size_t)(to < 0 ? 0 : to > most ? most : to);
}

static void
key_down(struct watch *w)
{
	scroll_by(w, 1);
}

static void
key_up(struct watch *w)
{
	scroll_by(w, -1);
}

static void
key_page_down(struct watch *w)
{
	scroll_by(w, w->rows > 1 ? (long)w->rows - 1 : 1);
}

static void
key_page_up(struct watch *w)
{
	scroll_by(w, w->rows > 1 ? 1 - (long)w->rows : -1);
}

static void
key_top(struct watch *w)
{
	w->scroll = 0;
}

static void
key_bottom(struct watch *w)
{
	scroll_by(w, (long)w->page.count);
}

/* ---- calls and notes ---- */

static void
key_call_before(struct watch *w)
{
	watch_next_call(w, -1);
}

static void
key_call_after(struct watch *w)
{
	watch_next_call(w, 1);
}

/* Never one that nobody chose. */
static void
key_cancel(struct watch *w)
{
	struct buf target = BUF_INIT(KIB);

	if (watch_call_find(w, w->call) == watch_call_count(w)) {
		watch_next_call(w, 1);
		if (w->call[0])
			watch_say(w, "x again cancels the call that is marked");
		else
			watch_say(w, "no call is running");
		return;
	}
	buf_addz(&target, "/calls/");
	url_add(&target, str_of(w->call));
	buf_addz(&target, "/cancel");
	watch_post(w, buf_z(&target), S("{}"), "cancelled");
	w->stale |= 1u << PART_CALLS;
	buf_done(&target);
}

static void
key_dismiss(struct watch *w)
{
	struct buf target = BUF_INIT(KIB);
	const struct json *oldest = json_at(watch_rows(w, PART_TOASTS), 0);

	if (!oldest)
		return;
	buf_addz(&target, "/toasts/");
	url_add(&target, member(oldest, "id"));
	buf_addz(&target, "/dismiss");
	watch_post(w, buf_z(&target), S("{}"), "");
	w->stale |= 1u << PART_TOASTS;
	buf_done(&target);
}

static void
key_help(struct watch *w)
{
	w->help = !w->help;
}

static void
key_quit(struct watch *w)
{
	w->quit = true;
}

static const struct {
	int key;
	void (*act)(struct watch *w);
} keys[] = {
    {'a', key_allow},
    {'s', key_session},
    {'W', key_workspace},
    {'d', key_deny},
    {'\t', watch_next_question},
    {'j', key_down},
    {'k', key_up},
    {KEY_NPAGE, key_page_down},
    {' ', key_page_down},
    {KEY_PPAGE, key_page_up},
    {'b', key_page_up},
    {'g', key_top},
    {KEY_HOME, key_top},
    {'G', key_bottom},
    {KEY_END, key_bottom},
    {KEY_UP, key_call_before},
    {KEY_DOWN, key_call_after},
    {'x', key_cancel},
    {'t', key_dismiss},
    {'?', key_help},
    {'q', key_quit},
};

/* Over the help only its own key and q mean something: what is below it is not seen. */
void
watch_key(struct watch *w, int key)
{
	w->dirty = true;
	if (w->help && key != 'q') {
		w->help = false;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].key == key)
			keys[i].act(w);
}
