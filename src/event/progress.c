/* progress.c - rows of progress in the order of their start, told about with restraint. */

#include "event/progress.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"

#define STEPS_MOST 100 /* from here on they are parts of a whole: percent, bytes */

struct progress {
	struct progress_about about;
	enum progress_kind kind;
	double current, total;
	char label[LIMIT_PROGRESS_LABEL + 1];
	uint64_t told_ms;  /* when it was told last */
	struct node node;  /* in rows */
	struct node owing; /* in owed: something newer than what was told */
};

struct progresses {
	struct loop *loop;
	struct bus *bus;
	uint64_t (*now_ms)(void);
	struct list rows; /* by about.started_us */
	struct list owed; /* those with news that were told too short a time ago */
	struct timer timer;
};

static const char *const kinds[] = {
    [PROGRESS_INDETERMINATE] = "indeterminate",
    [PROGRESS_DETERMINATE] = "determinate",
    [PROGRESS_STEPS] = "steps",
};

const char *
progress_kind_name(enum progress_kind k)
{
	return kinds[k];
}

struct progresses *
progresses_new(const struct progresses_spec *spec)
{
	struct progresses *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return NULL;
	ps->loop = spec->loop;
	ps->bus = spec->bus;
	ps->now_ms = spec->now_ms ? spec->now_ms : clock_mono_ms;
	list_init(&ps->rows);
	list_init(&ps->owed);
	return ps;
}

void
progresses_free(struct progresses *ps)
{
	if (!ps)
		return;
	CHECK(ps->rows.len == 0);
	timer_stop(ps->loop, &ps->timer);
	free(ps);
}

static enum progress_kind
kind_of(double current, double total)
{
	if (total <= 0)
		return PROGRESS_INDETERMINATE;
	if (total >= 2 && total < STEPS_MOST && floor(total) == total && floor(current) == current)
		return PROGRESS_STEPS;
	return PROGRESS_DETERMINATE;
}

/* Numbers of a peer: whatever they are, what is kept can be drawn. */
static void
take_news(struct progress *p, const struct progress_news *news)
{
	p->current = isfinite(news->current) && news->current > 0 ? news->current : 0;
	p->total = isfinite(news->total) && news->total > 0 ? news->total : 0;
	p->kind = kind_of(p->current, p->total);
	if (!news->label.ptr)
		return;
	struct str label = str_utf8_upto(news->label, LIMIT_PROGRESS_LABEL);
	memcpy(p->label, label.ptr, label.len);
	p->label[label.len] = '\0';
}

static void
write_number(struct jw *w, const char *key, double value, bool known)
{
	jw_key(w, key);
	if (known)
		jw_double(w, value);
	else
		jw_null(w);
}

static void
write_members(struct jw *w, const struct progress *p)
{
	char when[CLOCK_TEXT];
	bool known = p->total > 0;

	clock_text(p->about.started_us, when);
	jw_member(w, "call_id", p->about.id);
	jw_member(w, "tool_use_id", p->about.tool_use_id);
	jw_member(w, "tool_name", p->about.tool);
	jw_member_z(w, "kind", progress_kind_name(p->kind));
	jw_member_z(w, "label", p->label[0] ? p->label : NULL);
	write_number(w, "current", p->current, true);
	write_number(w, "total", p->total, known);
	write_number(w, "percent", known ? fmin(p->current / p->total, 1) : 0, known);
	jw_member_bool(w, "cancellable", p->about.cancellable);
	jw_member_z(w, "started_at", when);
}

static void
announce(struct progresses *ps, struct progress *p, enum event_type type)
{
	struct jw *w = bus_begin(ps->bus, &(struct event_draft){
					      .type = type,
					      .session = p->about.session,
					      .turn = p->about.turn,
					      .parent = p->about.parent,
					  });

	write_members(w, p);
	bus_end(ps->bus, NULL);
	list_remove(&p->owing);
	p->told_ms = ps->now_ms();
}

/* By start: those that started later go behind it again, in their order. */
static void
insert(struct list *rows, struct progress *p)
{
	list_push(rows, &p->node);
	LIST_EACH (rows, at) {
		const struct progress *other = CONTAINER_OF(at, struct progress, node);
		if (other == p)
			return;
		if (other->about.started_us > p->about.started_us) {
			list_remove(at);
			list_push(rows, at);
		}
	}
}

struct progress *
progress_begin(struct progresses *ps, const struct progress_about *about,
	       const struct progress_news *news)
{
	struct progress *p = ps ? calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return NULL;
	p->about = *about;
	take_news(p, news);
	insert(&ps->rows, p);
	announce(ps, p, EVENT_PROGRESS_STARTED);
	return p;
}

static void
tick(void *arg)
{
	progresses_tick(arg);
}

/* Without the timer (no memory) it is told with later news, or in the end. */
static void
arm(struct progresses *ps)
{
	if (ps->owed.len && !timer_running(&ps->timer))
		(void)timer_start(ps->loop, &ps->timer, LIMIT_PROGRESS_GAP_MS, tick, ps);
}

void
progress_tell(struct progresses *ps, struct progress *p, const struct progress_news *news)
{
	if (!p)
		return;
	take_news(p, news);
	if (p->owing.list)
		return;
	if (ps->now_ms() >= p->told_ms + LIMIT_PROGRESS_GAP_MS) {
		announce(ps, p, EVENT_PROGRESS_UPDATED);
		return;
	}
	list_push(&ps->owed, &p->owing);
	arm(ps);
}

void
progresses_tick(struct progresses *ps)
{
	LIST_EACH (&ps->owed, at) {
		struct progress *p = CONTAINER_OF(at, struct progress, owing);
		if (ps->now_ms() >= p->told_ms + LIMIT_PROGRESS_GAP_MS)
			announce(ps, p, EVENT_PROGRESS_UPDATED);
	}
	timer_stop(ps->loop, &ps->timer);
	arm(ps);
}

void
progress_end(struct progresses *ps, struct progress **at)
{
	struct progress *p = *at;

	*at = NULL;
	if (!p)
		return;
	announce(ps, p, EVENT_PROGRESS_ENDED);
	list_remove(&p->node);
	free(p);
}

size_t
progresses_count(const struct progresses *ps)
{
	return ps->rows.len;
}

void
progress_write(struct jw *w, const struct progress *p)
{
	if (!p) {
		jw_null(w);
		return;
	}
	jw_object(w);
	write_members(w, p);
	jw_end(w);
}

void
progresses_write(struct jw *w, const struct progresses *ps)
{
	jw_array(w);
	for (const struct node *n = ps ? list_first(&ps->rows) : NULL; n; n = list_next(n))
		progress_write(w, CONTAINER_OF(n, const struct progress, node));
	jw_end(w);
}
