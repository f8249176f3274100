/*
 * pack.h - many records as few bytes; for src/store and its tests only.
 *
 * Records say the same names and ids again and again: packed (LZ4) they take a tenth of the room,
 * and packing takes less time than the kernel needs to copy the rest about.
 */

#ifndef STORE_PACK_H
#define STORE_PACK_H

#include "base/buf.h"
#include "base/err.h"

/* Into *out, in place of what is there. False: it does not become shorter, there is no memory, or
 * no library that can. */
bool pack(struct str text, struct buf *out);
/* The text again, of at most `most` bytes, in *out. E_STORE: this was not packed, or there is no
 * library that can; E_NOMEM. */
int unpack(struct str packed, size_t most, struct buf *out, struct err *e);

#endif
