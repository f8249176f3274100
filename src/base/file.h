/* file.h - files that are whole, or not there. */

#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/str.h"

/*
 * The file gets this content: written beside it (PATH.new, 0600, never through a link), synced, and
 * renamed. Whoever reads it sees the old one or the new one. 0 or E_SYSTEM, with errno. May block.
 */
int file_replace(const char *path, struct str content);

#endif
