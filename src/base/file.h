/* file.h - files that are whole, or not there. */

#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"

/*
 * The file gets this content: written beside it (PATH.new, 0600, never through a link), synced, and
 * renamed. Whoever reads it sees the old one or the new one. 0 or E_SYSTEM, with errno. May block.
 */
int file_replace(const char *path, struct str content);

/* All of an open file, from its beginning; the place it is read at stays. False: it cannot be read,
 * or is more than the buffer takes. May block. */
bool file_slurp(int fd, struct buf *out);

#endif
