/*
 * follow.h - staying with one turn until it is over: its events, its question, Ctrl-C.
 *
 *	events ----.
 *	terminal --+--> follow_turn --> answers, cancel
 *	signals ---'
 */

#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli/ask.h"
#include "cli/term.h"

struct follow {
	/* from the caller */
	struct api *api;
	const char *session; /* id */
	const char *tool;    /* for the progress line */
	FILE *person;        /* who can be asked, or NULL */
	bool yes;            /* the answer is known */
	bool owned;          /* the session is only for this: it ends when we go, in whatever way */

	/* after follow_turn */
	int signal;     /* that made us cancel, or 0 */
	struct buf why; /* "class: message" of the call, where it failed */

	/* private */
	char turn[64];
	char last_event[64];
	struct client *stream;
	struct reply question; /* being asked while it has a root */
	struct buf output;     /* the last line the tool printed */
	struct progress progress;
	int signals;   /* descriptor, -1 once the next signal ends us */
	bool stopping; /* it was cancelled from here */
	bool over;
};

/* Before the turn is made, so that nothing of it is missed. EXIT_FINE or what it says. */
int follow_begin(struct follow *f);
/* Until it is over, or cannot be followed any more. */
int follow_turn(struct follow *f, struct str turn);
void follow_end(struct follow *f); /* also after a begin that failed */

#endif
