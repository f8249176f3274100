/*
 * record.h - a row as text: the JSON that REST shows, written once and kept as it is.
 *
 * An event is the same bytes on the bus and in the store.
 */

#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include "store/store.h"

/* An event is written around its payload: begin, a JSON value, end. */
void record_event_begin(struct buf *b, const struct store_event *row);
void record_event_end(struct buf *b, const struct store_event *row);

void record_event(struct buf *b, const struct store_event *row); /* all of it */
void record_call(struct buf *b, const struct store_call *row);

#endif
