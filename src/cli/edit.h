/*
 * edit.h - a server put into the text of a configuration file, or taken out of it.
 *
 * YAML in blocks is changed in place: everything else, comments too, stays as it is. What is
 * written as JSON, the file or the section, is written anew as JSON. What came out is read again
 * and must be the old file with that one difference; otherwise nothing is done and the person is
 * told.
 */

#ifndef CLI_EDIT_H
#define CLI_EDIT_H

#include "base/buf.h"
#include "base/err.h"

/* `section` NULL: that of the servers; or "openapi". `entry` is the server as a JSON object.
 * E_EXISTS unless `force`; E_CONFIG: the file is wrong, or cannot be changed so. */
int edit_add(struct str text, const char *section, struct str name, struct str entry, bool force,
	     struct buf *out, struct err *e);
/* E_NO_SERVER names those there are. */
int edit_remove(struct str text, struct str name, struct buf *out, struct err *e);

#endif
