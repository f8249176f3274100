/*
 * glob.h - file names by pattern.
 *
 *	*       any characters of one part of a path
 *	?       one character of a part
 *	[a-z]   one of these; [!a-z] none of these
 *	**      as a whole part: any number of parts, also none ("**" + "/.env" is ".env", too)
 *	\x      x itself
 *
 * Letters are compared as they are. A name that starts with a dot is a name as any other.
 */

#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include "base/str.h"

/* Is the whole path meant? */
bool glob_path(struct str pattern, struct str path);

/*
 * As people ask for files: "" and "*" are all of them, a pattern without a "/" means the file's
 * name wherever it lies, any other the whole path.
 */
bool glob_file(struct str pattern, struct str path);

#endif
