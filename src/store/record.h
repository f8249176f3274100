/*
 * record.h - a row as text: the JSON that REST shows, written once.
 *
 * As it is kept, a key is a mark: one byte that stands in no JSON text (below space, but no white
 * space and not RS), or such a byte and a letter. Of a call nothing is written for null: a mark
 * that another follows, or the end, has none. record_show puts keys and nulls back; a record
 * without marks, or with nulls, as older files have them, is shown as it is. An event is the same
 * bytes on the bus and in the store.
 */

#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include "store/store.h"

enum log { LOG_EVENTS, LOG_CALLS, LOG__COUNT };

#define RECORD_KEYS                                                                                \
	256 /* a record becomes at most so much longer when it is shown, without calls */

/* The text of the mark that this begins with; {NULL,0}: it is none. A record begins with marks 1,
 * 2, 3, ..., each before a string, null or nothing. */
struct str record_key(enum log log, struct str mark);
void record_show(struct buf *b, enum log log, struct str kept);

/* An event is written around its payload: begin, a JSON value, end. */
void record_event_begin(struct buf *b, const struct store_event *row);
void record_event_end(struct buf *b, const struct store_event *row);

void record_event(struct buf *b, const struct store_event *row); /* all of it */
void record_call(struct buf *b, const struct store_call *row);

#endif
