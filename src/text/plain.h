/*
 * plain.h - text of strangers made one line of plain text.
 *
 * Descriptions, tags and errors of upstreams end up in prompts and on screens. Here they lose what
 * could begin a line of its own, move a cursor or hide from the person who reads along.
 */

#ifndef TEXT_PLAIN_H
#define TEXT_PLAIN_H

#include "base/buf.h"

/*
 * Control characters and blanks of every kind become one blank, and none at the ends; invisible
 * and direction-changing characters go, joiners where they join nothing; a bad byte becomes U+FFFD.
 * At most max_chars characters are written: true when there were more.
 */
bool plain_line(struct buf *out, struct str text, size_t max_chars);

bool plain_is_blank(uint32_t c); /* Unicode's white space */

/* Without blanks at the end. */
struct str plain_trim_end(struct str text);

#endif
