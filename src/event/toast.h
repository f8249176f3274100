/*
 * toast.h - short notes for a person who may be looking: approvals needed, failures, servers.
 *
 * They come from events, by tbl/toasts.def; an event that deserves one needs a row there and
 * nothing else. At most LIMIT_TOASTS are shown, the oldest goes first. One that says the same, of
 * the same, as one that is shown only counts it up. Nothing depends on them: what matters is an
 * event of its own, and is kept.
 *
 * Loop thread only.
 */

#ifndef EVENT_TOAST_H
#define EVENT_TOAST_H

#include "event/bus.h"

enum toast_level { TOAST_INFO, TOAST_SUCCESS, TOAST_WARNING, TOAST_ERROR };
const char *toast_level_name(enum toast_level l);

struct toasts;

struct toasts_spec {
	struct loop *loop;
	struct bus *bus;
	uint64_t (*now_ms)(void); /* NULL: clock_mono_ms */
};
struct toasts *toasts_new(const struct toasts_spec *spec); /* NULL: out of memory */
void toasts_free(struct toasts *ts);                       /* takes NULL */

/* Everything is copied, and cut where it is too long. */
struct toast_spec {
	enum toast_level level;
	uint64_t duration_ms; /* 0: until it is settled or put away */
	struct str title, message;
	struct str key;            /* what it is about; {NULL,0}: nothing settles it */
	struct str label, command; /* of its action; {NULL,0}: it has none */
};
void toast_show(struct toasts *ts, const struct toast_spec *spec);
void toast_settle(struct toasts *ts, struct str key); /* all with that key */
int toast_dismiss(struct toasts *ts, struct str id);  /* E_NO_TOAST */

/* Ends those whose time is over. The timer does this; tests with a clock of their own, too. */
void toasts_tick(struct toasts *ts);

void toasts_write(struct jw *w, const struct toasts *ts); /* an array, the oldest first */

#endif
