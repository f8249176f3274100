/*
 * image.h - a file's content in one short text, to tell whether it is still what a person was
 * shown.
 */

#ifndef PROVIDER_IMAGE_H
#define PROVIDER_IMAGE_H

#include "json/canon.h"

#define IMAGE_ABSENT "absent" /* there is no file */

/*
 * fd -1: IMAGE_ABSENT. The digest of its bytes; of a file beyond LIMIT_FILE_READ, or that cannot be
 * read, what the file system says of it (inode, size, time of change). Blocks. Never fails: two
 * images are equal only if nothing can be told apart.
 */
void image_of(int fd, char out[static DIGEST_TEXT]);
/* The same of a file whose bytes, at most LIMIT_FILE_READ, are here; ptr NULL: there is none. */
void image_of_bytes(struct str bytes, char out[static DIGEST_TEXT]);

#endif
