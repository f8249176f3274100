/*
 * watch.h - `holdfast watch`: what is known of the gateway, on a screen.
 *
 *	events --> watch_model.c: which parts are stale; they are fetched again
 *	keys   --> watch_keys.c:  one table
 *	           watch_draw.c:  the screen, from what is known
 *	           watch_screen.c: the terminal, and that it is itself again afterwards
 *
 * One thread and one poll (watch.c). An answer is for what a person has seen: `drawn` is the
 * question that stands on the screen, since `drawn_ms`, and no other can be answered. What was
 *typed before it stood there is thrown away.
 */

#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/api.h"
#include "cli/watch_text.h"

#define WATCH_SEEN_MS 300 /* a question must have stood there so long */
#define WATCH_ID 64

enum watch_part { PART_CALLS, PART_QUESTIONS, PART_TOASTS, PART_SERVERS, PART_RECENT, PART__COUNT };

struct watch {
	struct api *api;
	struct client *stream; /* NULL: the gateway is gone */
	uint64_t again_ms;     /* then it is looked for again */

	struct reply parts[PART__COUNT]; /* the last answers; root is NULL where there is none */
	unsigned stale;                  /* a bit for each */
	uint64_t fetched_ms;

	char question[WATCH_ID]; /* the one that is looked at, "" = none */
	char drawn[WATCH_ID];    /* the one on the screen, "" = none that could be answered */
	uint64_t drawn_ms;
	char answered[WATCH_ID]; /* by us; it goes away soon */
	struct page page;        /* its text */
	char page_of[WATCH_ID];
	size_t scroll, rows; /* of page: the first line shown, and how many are */

	char call[WATCH_ID]; /* that is selected, "" = none */
	char note[256];      /* the last line, for a while */
	uint64_t note_until;
	bool help;
	bool dirty; /* the screen is not what is known */
	bool quit;
};

/* watch_model.c. None of these prints. */
void watch_connect(struct watch *w);          /* or again_ms is set */
void watch_events(struct watch *w);           /* all that have come */
void watch_fetch(struct watch *w);            /* what is stale, not too often */
int watch_patience_ms(const struct watch *w); /* how long to wait for news; -1: for ever */
void watch_done(struct watch *w);
const struct json *watch_rows(const struct watch *w, enum watch_part part); /* an array, or NULL */
/* Calls that are alive; one that waits for an answer stands there as its question. */
size_t watch_call_count(const struct watch *w);
const struct json *watch_call_at(const struct watch *w, size_t at); /* NULL = none */
size_t watch_call_find(const struct watch *w, const char *id); /* the count: it is none of them */
/* The question looked at, and its place among `count`; NULL = none is open. */
const struct json *watch_question(struct watch *w, size_t *ret_at, size_t *ret_count);
void watch_next_question(struct watch *w);
void watch_next_call(struct watch *w, int step); /* selects one; 1 or -1 */
void watch_say(struct watch *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A POST; its outcome becomes the note: `done`, or why not. True when it was taken. */
bool watch_post(struct watch *w, const char *target, struct str body, const char *done);

/* watch_keys.c */
void watch_key(struct watch *w, int key);
bool watch_may_answer(const struct watch *w, uint64_t now_ms); /* has it been seen? */

/* watch_draw.c */
void watch_draw(struct watch *w);

/* watch_screen.c. EXIT_USAGE: there is no terminal that could show it, and that was said. */
int screen_check(void); /* before anything is drawn */
int screen_open(void);
void screen_close(void); /* the terminal is as it was */
bool screen_coloured(void);
int screen_news_fd(void);                          /* readable when a signal has come */
int screen_news(bool *resized, bool *shown_again); /* the signal that ends us, or 0 */
/* While the gateway is being asked, a signal ends us at once: it might never answer. */
void screen_busy(bool busy);

#endif
