/*
 * progress.h - how far things are that take their time: one row for each call that says so, or
 * that runs for long.
 *
 *	progress_begin --> progress_tell ... --> progress_end
 *	      |                  |                   |
 *	progress.started   progress.updated    progress.ended      (seed 002 part 5)
 *
 * Whoever watches hears at most one update of a row in LIMIT_PROGRESS_GAP_MS, and always the last
 * one: what came too early is told when its time has come, or stands in progress.ended.
 *
 * Loop thread only. What begins here and why is decided in src/call.
 */

#ifndef EVENT_PROGRESS_H
#define EVENT_PROGRESS_H

#include "event/bus.h"

enum progress_kind {
	PROGRESS_INDETERMINATE, /* nobody knows how much there is to do */
	PROGRESS_DETERMINATE,   /* so much of so much */
	PROGRESS_STEPS,         /* the same in whole steps, few enough to be counted */
};
const char *progress_kind_name(enum progress_kind k);

struct progress;   /* one row */
struct progresses; /* all of them */

struct progresses_spec {
	struct loop *loop;
	struct bus *bus;
	uint64_t (*now_ms)(void); /* NULL: clock_mono_ms */
};
struct progresses *progresses_new(const struct progresses_spec *spec); /* NULL: out of memory */
void progresses_free(struct progresses *ps); /* none may be left; takes NULL */

/* Whose it is. The strings are borrowed to the end. */
struct progress_about {
	struct str id; /* of the call */
	struct str tool_use_id, tool, session, turn;
	struct str parent;  /* the event this follows from */
	int64_t started_us; /* wall */
	bool cancellable;
};
struct progress_news {
	struct str label; /* what it is doing; {NULL,0}: as before */
	double current;
	double total; /* not above 0: not known */
};
/* NULL: out of memory, and nobody will see it. All others take NULL. */
struct progress *progress_begin(struct progresses *ps, const struct progress_about *about,
				const struct progress_news *news);
void progress_tell(struct progresses *ps, struct progress *p, const struct progress_news *news);
void progress_end(struct progresses *ps, struct progress **p);

/* Tell what is due. The timer does this; tests with a clock of their own, too. */
void progresses_tick(struct progresses *ps);

size_t progresses_count(const struct progresses *ps);
void progress_write(struct jw *w, const struct progress *p);      /* an object; null for NULL */
void progresses_write(struct jw *w, const struct progresses *ps); /* an array, by start */

#endif
