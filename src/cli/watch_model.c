/* watch_model.c - what is known of the gateway: fetched when an event says it is no longer so. */

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/watch.h"

#define FETCH_GAP_MS 100 /* between two rounds, however much happens */
#define AGAIN_MS 500     /* between two attempts to reach a gateway that went away */
#define SPIN_MS 200      /* while calls run */
#define SECOND_MS 1000   /* while the time of a question runs */
#define NOTE_MS 4000
#define ALL_PARTS ((1u << PART__COUNT) - 1)

#define CALLS (1u << PART_CALLS)
#define QUESTIONS (1u << PART_QUESTIONS)
#define TOASTS (1u << PART_TOASTS)
#define SERVERS (1u << PART_SERVERS)
#define RECENT (1u << PART_RECENT)

static const struct {
	const char *target;
	const char *key;
} parts[PART__COUNT] = {
    [PART_CALLS] = {"/calls", "calls"},
    [PART_QUESTIONS] = {"/confirmations", "confirmations"},
    [PART_TOASTS] = {"/toasts", "toasts"},
    [PART_SERVERS] = {"/servers", "servers"},
    [PART_RECENT] = {"/calls?all=1&newest=1&limit=60", "calls"},
};

static const struct {
	const char *type;
	unsigned stale;
} kinds[] = {
    {"turn.started", CALLS},
    {"turn.completed", CALLS | QUESTIONS},
    {"turn.cancelled", CALLS | QUESTIONS},
    {"session.ended", CALLS | QUESTIONS},
    {"tool.called", CALLS},
    {"tool.retrying", CALLS},
    {"tool.completed", CALLS | RECENT | QUESTIONS},
    {"tool.failed", CALLS | RECENT | QUESTIONS},
    {"tool.input_invalid", CALLS | RECENT},
    {"tool.confirmation_requested", CALLS | QUESTIONS},
    {"tool.confirmation_resolved", CALLS | QUESTIONS},
    {"progress.started", CALLS},
    {"progress.updated", CALLS},
    {"progress.ended", CALLS},
    {"toast.shown", TOASTS},
    {"toast.dismissed", TOASTS},
    {"server.state_changed", SERVERS},
    {"server.tools_changed", SERVERS},
    {"config.reloaded", SERVERS},
};

const struct json *
watch_rows(const struct watch *w, enum watch_part part)
{
	return json_get(w->parts[part].root, str_of(parts[part].key));
}

void
watch_say(struct watch *w, const char *fmt, ...)
{
	char text[sizeof(w->note)];
	struct buf safe = BUF_INIT(sizeof(w->note) - 1);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cells_safe(&safe, str_utf8_upto(str_of(text), sizeof(text) / 2), SAFE_LINE);
	snprintf(w->note, sizeof(w->note), "%.*s", STR_ARG(buf_str(&safe)));
	w->note_until = clock_mono_ms() + NOTE_MS;
	w->dirty = true;
	buf_done(&safe);
}

/* ---- the gateway ---- */

static void
lost(struct watch *w)
{
	client_free(w->stream);
	w->stream = NULL;
	for (size_t i = 0; i < PART__COUNT; i++)
		api_done(&w->parts[i]);
	w->again_ms = clock_mono_ms() + AGAIN_MS;
	w->dirty = true;
}

/* Only of what is shown here: the output of tools, for one, is not. */
static const char *
stream_target(struct buf *out)
{
	buf_addz(out, "/events?watch=1&event_types=");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		buf_addf(out, "%s%s", i ? "," : "", kinds[i].type);
	return buf_z(out);
}

/* The stream comes first: what happens while we look is heard of. */
void
watch_connect(struct watch *w)
{
	struct buf target = BUF_INIT(4 * KIB), problem = BUF_INIT(64 * KIB);
	struct client *c = NULL;
	struct err e;
	int status = 0;

	screen_busy(true);
	bool fine = api_connect(w->api, &c, &e) == 0 &&
		    client_events(c, stream_target(&target), &status, &problem, &e) == 0 &&
		    status == 200;
	screen_busy(false);
	if (fine) {
		w->stream = c;
		w->stale = ALL_PARTS;
		w->dirty = true;
	} else {
		client_free(c);
		lost(w);
	}
	buf_done(&target);
	buf_done(&problem);
}

void
watch_events(struct watch *w)
{
	struct client_event ev;
	struct err e;
	int r = 0;

	while (w->stream && (r = client_event(w->stream, 0, &ev, &e)) > 0) {
		if (str_is(ev.type, "gap"))
			w->stale = ALL_PARTS;
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			if (str_is(ev.type, kinds[i].type))
				w->stale |= kinds[i].stale;
	}
	if (w->stream && r < 0)
		lost(w);
}

static void
fetch_part(struct watch *w, enum watch_part part)
{
	struct reply r = {0};
	struct err e;

	screen_busy(true);
	int code = api_request(w->api, "GET", parts[part].target, (struct str){NULL, 0}, &r, &e);
	screen_busy(false);
	w->stale &= ~(1u << part);
	if (code == 0 && r.status == 200 && r.root) {
		api_done(&w->parts[part]);
		w->parts[part] = r;
		w->dirty = true;
		return;
	}
	/* A gateway that keeps no journal has no recent calls, and that is all. */
	if (code < 0)
		watch_say(w, "%s: %s", parts[part].target, err_text(&e));
	api_done(&r);
}

void
watch_fetch(struct watch *w)
{
	uint64_t now = clock_mono_ms();

	if (!w->stream && now >= w->again_ms)
		watch_connect(w);
	if (!w->stream || !w->stale || now < w->fetched_ms + FETCH_GAP_MS)
		return;
	for (size_t i = 0; i < PART__COUNT; i++)
		if (w->stale >> i & 1)
			fetch_part(w, (enum watch_part)i);
	w->fetched_ms = clock_mono_ms();
}

static void
sooner(int *ms, uint64_t until, uint64_t now)
{
	int left = until > now ? (int)(until - now) : 0;

	if (*ms < 0 || left < *ms)
		*ms = left;
}

int
watch_patience_ms(const struct watch *w)
{
	uint64_t now = clock_mono_ms();
	int ms = -1;

	if (!w->stream)
		sooner(&ms, w->again_ms, now);
	else if (w->stale)
		sooner(&ms, w->fetched_ms + FETCH_GAP_MS, now);
	if (watch_call_count(w) > 0)
		sooner(&ms, now + SPIN_MS, now);
	if (json_len(watch_rows(w, PART_QUESTIONS)) > 0)
		sooner(&ms, now + SECOND_MS, now);
	if (w->note[0])
		sooner(&ms, w->note_until, now);
	return ms;
}

bool
watch_post(struct watch *w, const char *target, struct str body, const char *done)
{
	struct reply r = {0};
	struct err e;

	if (!target)
		return false;
	screen_busy(true);
	int code = api_request(w->api, "POST", target, body, &r, &e);
	screen_busy(false);
	struct str why = member(json_get(r.root, S("error")), "message");
	bool fine = code == 0 && r.status >= 200 && r.status <= 299;

	if (fine)
		watch_say(w, "%s", done);
	else if (code < 0)
		watch_say(w, "%s", err_text(&e));
	else
		watch_say(w, "%.*s", STR_ARG(why.len ? why : S("the gateway refused that")));
	api_done(&r);
	return fine;
}

void
watch_done(struct watch *w)
{
	client_free(w->stream);
	for (size_t i = 0; i < PART__COUNT; i++)
		api_done(&w->parts[i]);
	page_done(&w->page);
	api_close(w->api);
}

/* ---- what is looked at ---- */

static void
keep_id(char out[WATCH_ID], struct str id)
{
	snprintf(out, WATCH_ID, "%.*s", STR_ARG(id));
}

const struct json *
watch_question(struct watch *w, size_t *ret_at, size_t *ret_count)
{
	const struct json *rows = watch_rows(w, PART_QUESTIONS), *q = NULL;
	size_t count = json_len(rows), at = 0;

	for (size_t i = 0; i < count && !q; i++)
		if (str_is(member(json_at(rows, i), "confirmation_request_id"), w->question))
			q = json_at(rows, i), at = i;
	if (!q && (q = json_at(rows, 0)))
		keep_id(w->question, member(q, "confirmation_request_id"));
	if (ret_at)
		*ret_at = at;
	if (ret_count)
		*ret_count = count;
	return q;
}

void
watch_next_question(struct watch *w)
{
	size_t at, count;

	if (watch_question(w, &at, &count) && count > 1)
		keep_id(w->question,
			member(json_at(watch_rows(w, PART_QUESTIONS), (at + 1) % count),
			       "confirmation_request_id"));
}

const struct json *
watch_call_at(const struct watch *w, size_t at)
{
	for (struct json_iter it = json_iter(watch_rows(w, PART_CALLS)); json_next(&it);)
		if (!str_is(member(it.value, "state"), "asking") && at-- == 0)
			return it.value;
	return NULL;
}

size_t
watch_call_count(const struct watch *w)
{
	size_t n = 0;

	for (struct json_iter it = json_iter(watch_rows(w, PART_CALLS)); json_next(&it);)
		n += !str_is(member(it.value, "state"), "asking");
	return n;
}

size_t
watch_call_find(const struct watch *w, const char *id)
{
	size_t at = 0;

	for (struct json_iter it = json_iter(watch_rows(w, PART_CALLS)); json_next(&it);) {
		if (str_is(member(it.value, "state"), "asking"))
			continue;
		if (str_is(member(it.value, "call_id"), id))
			break;
		at++;
	}
	return at;
}

void
watch_next_call(struct watch *w, int step)
{
	size_t count = watch_call_count(w), at = watch_call_find(w, w->call);

	if (count == 0) {
		w->call[0] = '\0';
		return;
	}
	if (at == count)
		at = step > 0 ? count - 1 : 0;
	at = (at + (step > 0 ? 1 : count - 1)) % count;
	keep_id(w->call, member(watch_call_at(w, at), "call_id"));
}
