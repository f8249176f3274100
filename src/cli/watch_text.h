/*
 * watch_text.h - foreign text as cells of a screen: made harmless, measured, wrapped.
 *
 * Nothing reaches the screen of `holdfast watch` but through here. What text_safe leaves can be
 * printed; what the C library cannot measure is shown as its number, so that a line is as long as
 * we think.
 */

#ifndef CLI_WATCH_TEXT_H
#define CLI_WATCH_TEXT_H

#include "base/buf.h"
#include "cli/term.h"

enum ink {
	INK_PLAIN,
	INK_BOLD,
	INK_DIM,
	INK_RED,
	INK_GREEN,
	INK_YELLOW,
	INK_CYAN,
	INK_BAR, /* a line of ours that stands out */
};

/* Added to out, printable; SAFE_LINE or SAFE_LINES. */
void cells_safe(struct buf *out, struct str text, enum safe how);
unsigned cells_count(struct str safe); /* columns it takes */
/* The longest beginning that takes at most so many. */
struct str cells_upto(struct str safe, unsigned cells);

/* Text in lines of a width, to be looked at in parts. Zeroed memory is an empty one. */
struct page_line {
	size_t at, len; /* in text */
	enum ink ink;
	bool more; /* it goes on from the line before */
};
struct page {
	struct buf text;
	struct page_line *lines; /* own */
	size_t count, room;
	unsigned width;
	bool cut; /* not all of it is here: too long, or no memory */
};
void page_begin(struct page *p, unsigned width); /* empty again */
void page_add(struct page *p, enum ink ink, struct str text);
void page_add_diff(struct page *p, struct str diff);
void page_done(struct page *p);

#endif
