/*
 * term.h - the terminal, if there is one: colours, a progress line, asking a person.
 *
 * Colours only on a terminal that is not dumb, and not with NO_COLOR. What programs and
 * agents wrote reaches a terminal only through text_safe: it cannot move the cursor, change
 * what was printed before, or look like something else (control characters, C1, bidirectional
 * and invisible characters are shown as what they are).
 */

#ifndef CLI_TERM_H
#define CLI_TERM_H

#include <signal.h>
#include <stdio.h>

#include "base/buf.h"

void term_init(void);             /* first of all */
void term_signals(sigset_t *set); /* those by which a person or the system asks us to end */

enum paint { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, CYAN };
/* The escape sequence, or "" where there are no colours. */
const char *paint(FILE *f, enum paint p);

bool term_is(FILE *f);      /* a terminal */
unsigned term_width(void);  /* columns */
bool term_can_redraw(void); /* standard error is a terminal that can erase a line */

/* Text from elsewhere. */
enum safe {
	SAFE_LINE,  /* newline and tab escaped too */
	SAFE_LINES, /* those two kept */
	SAFE_JSON,  /* of JSON text: the escapes are JSON's, so it means the same */
};
void text_safe(struct buf *out, struct str text, enum safe how);
/* To a terminal safe, to anything else byte by byte. */
void text_print(FILE *f, struct str text);
void text_print_json(FILE *f, struct str json); /* and a newline, if it has none */
/* Columns it takes on a screen; safe text of one line. */
unsigned text_columns(struct str text);
/* The longest beginning that takes at most so many columns. */
struct str text_upto(struct str text, unsigned columns);
/* Every line, also a wrapped one, begins with margin: nothing inside can look like a line of ours.
 */
void text_block(FILE *f, const char *margin, struct str text);

/* A line on standard error for what takes longer than a second; zeroed memory has not begun. */
struct progress {
	uint64_t started_ms;
	unsigned frame;
	bool shown;
};
void progress_draw(struct progress *p, const char *what,
		   struct str detail); /* some times a second */
void progress_erase(struct progress *p);

/* The person's terminal, whatever the standard streams are; NULL when nobody sits there.
 * Written as a FILE, read with its descriptor. */
FILE *term_person(void);

#endif
