/* toast.c - notes made of events by a table, shown for a while. */

#include "event/toast.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"

#define COMMAND_BYTES 120

struct toast {
	char id[ULID_LEN + 1];
	enum toast_level level;
	char title[LIMIT_TOAST_TITLE + 1];
	char message[LIMIT_TOAST_TEXT + 1];
	char key[LIMIT_TOAST_KEY + 1];
	char label[32];
	char command[COMMAND_BYTES + 1];
	uint64_t duration_ms, ends_ms; /* 0: no end of its own */
	int64_t created_us;
	unsigned count; /* how often it was said */
};

struct toasts {
	struct loop *loop;
	struct bus *bus;
	uint64_t (*now_ms)(void);
	struct bus_reader reader;
	struct timer timer;
	struct toast shown[LIMIT_TOASTS]; /* the oldest first */
	size_t len;
};

static const struct row {
	enum event_type event;
	const char *member, *value; /* NULL: every event of the type */
	enum toast_level level;
	unsigned seconds;
	const char *title, *message;
	const char *key;
	const char *label, *command;
	bool settles;
} rows[] = {
#define TOAST(event, member, value, level, seconds, title, message, key, label, command)           \
	{EVENT_##event, member, value, TOAST_##level, seconds, title,                              \
	 message,       key,    label, command,       false},
#define SETTLED(event, member, value, key)                                                         \
	{EVENT_##event, member, value, TOAST_INFO, 0, NULL, NULL, key, NULL, NULL, true},
#include "../../tbl/toasts.def"
#undef TOAST
#undef SETTLED
};

static const char *const levels[] = {
    [TOAST_INFO] = "info",
    [TOAST_SUCCESS] = "success",
    [TOAST_WARNING] = "warning",
    [TOAST_ERROR] = "error",
};

const char *
toast_level_name(enum toast_level l)
{
	return levels[l];
}

static void
write_toast(struct jw *w, const struct toast *t)
{
	char when[CLOCK_TEXT];

	clock_text(t->created_us, when);
	jw_member_z(w, "id", t->id);
	jw_member_z(w, "level", toast_level_name(t->level));
	jw_member_z(w, "title", t->title);
	jw_member_z(w, "message", t->message);
	jw_key(w, "duration_ms");
	if (t->duration_ms)
		jw_int(w, (int64_t)t->duration_ms);
	else
		jw_null(w);
	jw_member_z(w, "created_at", when);
	jw_member_int(w, "count", t->count);
	jw_key(w, "action");
	if (!t->command[0]) {
		jw_null(w);
		return;
	}
	jw_object(w);
	jw_member_z(w, "label", t->label);
	jw_member_z(w, "command", t->command);
	jw_end(w);
}

void
toasts_write(struct jw *w, const struct toasts *ts)
{
	jw_array(w);
	for (size_t i = 0; ts && i < ts->len; i++) {
		jw_object(w);
		write_toast(w, &ts->shown[i]);
		jw_end(w);
	}
	jw_end(w);
}

/* Ending */

static void
tick(void *arg)
{
	toasts_tick(arg);
}

/* For the one that ends first. Without it (no memory) they go when others come. */
static void
arm(struct toasts *ts)
{
	uint64_t first = UINT64_MAX, now = ts->now_ms();

	for (size_t i = 0; i < ts->len; i++)
		if (ts->shown[i].ends_ms && ts->shown[i].ends_ms < first)
			first = ts->shown[i].ends_ms;
	timer_stop(ts->loop, &ts->timer);
	if (first != UINT64_MAX)
		(void)timer_start(ts->loop, &ts->timer, first > now ? first - now : 0, tick, ts);
}

static void
drop(struct toasts *ts, size_t i, const char *why)
{
	struct jw *w = bus_begin(ts->bus, &(struct event_draft){.type = EVENT_TOAST_DISMISSED});

	jw_member_z(w, "id", ts->shown[i].id);
	jw_member_z(w, "title", ts->shown[i].title);
	jw_member_z(w, "reason", why);
	bus_end(ts->bus, NULL);
	memmove(&ts->shown[i], &ts->shown[i + 1], (--ts->len - i) * sizeof(ts->shown[0]));
}

void
toasts_tick(struct toasts *ts)
{
	uint64_t now = ts->now_ms();

	for (size_t i = ts->len; i-- > 0;)
		if (ts->shown[i].ends_ms && ts->shown[i].ends_ms <= now)
			drop(ts, i, "expired");
	arm(ts);
}

void
toast_settle(struct toasts *ts, struct str key)
{
	for (size_t i = ts->len; i-- > 0;)
		if (key.len && str_is(key, ts->shown[i].key))
			drop(ts, i, "settled");
	arm(ts);
}

int
toast_dismiss(struct toasts *ts, struct str id)
{
	for (size_t i = 0; ts && i < ts->len; i++)
		if (str_is(id, ts->shown[i].id)) {
			drop(ts, i, "dismissed");
			arm(ts);
			return 0;
		}
	return E_NO_TOAST;
}

/* Showing */

static void
copy(char *out, size_t size, struct str text)
{
	text = str_utf8_upto(text, size - 1);
	if (text.len)
		memcpy(out, text.ptr, text.len);
	out[text.len] = '\0';
}

static void
announce(struct toasts *ts, const struct toast *t)
{
	struct jw *w = bus_begin(ts->bus, &(struct event_draft){.type = EVENT_TOAST_SHOWN});

	write_toast(w, t);
	bus_end(ts->bus, NULL);
}

void
toast_show(struct toasts *ts, const struct toast_spec *spec)
{
	struct toast t = {.level = spec->level, .duration_ms = spec->duration_ms, .count = 1};

	copy(t.title, sizeof(t.title), spec->title);
	copy(t.message, sizeof(t.message), spec->message);
	copy(t.key, sizeof(t.key), spec->key);
	copy(t.label, sizeof(t.label), spec->label);
	copy(t.command, sizeof(t.command), spec->command);
	for (size_t i = 0; i < ts->len; i++)
		if (strcmp(ts->shown[i].title, t.title) == 0 &&
		    strcmp(ts->shown[i].message, t.message) == 0 &&
		    strcmp(ts->shown[i].key, t.key) == 0) {
			ts->shown[i].count++;
			return;
		}
	if (ts->len == LIMIT_TOASTS)
		drop(ts, 0, "dropped");
	ulid_new(t.id);
	t.created_us = clock_wall_us();
	t.ends_ms = t.duration_ms ? ts->now_ms() + t.duration_ms : 0;
	ts->shown[ts->len++] = t;
	announce(ts, &t);
	arm(ts);
}

/* Events */

/* {name} is a member of the payload; what is no text is nothing. */
static struct str
fill(struct buf *out, const char *pattern, const struct json *payload)
{
	struct str rest = str_of(pattern), part;

	buf_reset(out);
	for (bool inside = false; str_split(&rest, inside ? '}' : '{', &part); inside = !inside)
		buf_add(out, inside ? json_str(json_get(payload, part)) : part);
	return buf_str(out);
}

static void
act(struct toasts *ts, const struct row *r, const struct json *payload)
{
	struct buf title = BUF_INIT(LIMIT_EVENT_BYTES), message = BUF_INIT(LIMIT_EVENT_BYTES),
		   key = BUF_INIT(LIMIT_EVENT_BYTES), command = BUF_INIT(KIB);

	fill(&key, r->key, payload);
	if (r->settles)
		toast_settle(ts, str_utf8_upto(buf_str(&key), LIMIT_TOAST_KEY));
	else
		toast_show(ts, &(struct toast_spec){
				   .level = r->level,
				   .duration_ms = r->seconds * UINT64_C(1000),
				   .title = fill(&title, r->title, payload),
				   .message = fill(&message, r->message, payload),
				   .key = buf_str(&key),
				   .label = str_of(r->label),
				   .command = fill(&command, r->command, payload),
			       });
	buf_done(&title);
	buf_done(&message);
	buf_done(&key);
	buf_done(&command);
}

static bool
applies(const struct row *r, const struct json *payload)
{
	return !r->member || str_is(json_str(json_get(payload, str_of(r->member))), r->value);
}

/* A bit for each type the table has: most events are none of them. */
static const uint64_t wanted = 0
#define TOAST(event, ...) | UINT64_C(1) << EVENT_##event
#define SETTLED(event, ...) | UINT64_C(1) << EVENT_##event
#include "../../tbl/toasts.def"
#undef TOAST
#undef SETTLED
    ;
_Static_assert(EVENT__COUNT <= 64, "a bit for each event type");

static void
happened(struct toasts *ts, const struct event *ev)
{
	static const struct json_limits limits = {LIMIT_EVENT_BYTES, LIMIT_JSON_DEPTH};
	enum event_type type = ev->type;
	struct json_doc *doc = NULL;

	if (!(wanted >> type & 1) || json_parse(ev->json, &limits, &doc, NULL) < 0)
		return;
	const struct json *payload = json_get(json_root(doc), S("payload"));
	for (size_t pass = 0; pass < 2; pass++) /* what is settled makes room for what is new */
		for (size_t i = 0; i < ARRAY_LEN(rows); i++)
			if (rows[i].event == type && rows[i].settles == (pass == 0) &&
			    applies(&rows[i], payload))
				act(ts, &rows[i], payload);
	json_doc_unref(doc);
}

static bool
has_open(const struct toasts *ts)
{
	for (size_t i = 0; i < ts->len; i++)
		if (!ts->shown[i].ends_ms)
			return true;
	return false;
}

/* A note of what was missed would come too late; but nobody knows any more what is settled. */
static void
drop_open(struct toasts *ts)
{
	for (size_t i = ts->len; i-- > 0;)
		if (!ts->shown[i].ends_ms)
			drop(ts, i, "settled");
}

static void
news(void *arg)
{
	struct toasts *ts = arg;
	const struct event *ev;
	uint64_t missed;

	while ((ev = bus_next(ts->bus, &ts->reader, &missed))) {
		if (missed && has_open(ts)) {
			ts->reader.next--; /* again, then: telling of these moves the ring */
			drop_open(ts);
			continue;
		}
		happened(ts, ev);
	}
}

struct toasts *
toasts_new(const struct toasts_spec *spec)
{
	struct toasts *ts = calloc(1, sizeof(*ts));

	if (!ts)
		return NULL;
	ts->loop = spec->loop;
	ts->bus = spec->bus;
	ts->now_ms = spec->now_ms ? spec->now_ms : clock_mono_ms;
	ts->reader = (struct bus_reader){.news = news, .arg = ts, .types = wanted};
	bus_attach(ts->bus, &ts->reader);
	return ts;
}

void
toasts_free(struct toasts *ts)
{
	if (!ts)
		return;
	bus_detach(ts->bus, &ts->reader);
	timer_stop(ts->loop, &ts->timer);
	free(ts);
}
