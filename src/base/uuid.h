/*
 * uuid.h - UUIDs (RFC 9562): by chance (version 4), or always the same for the same names
 * (version 8, of a SHA-256).
 */

#ifndef BASE_UUID_H
#define BASE_UUID_H

#include "base/str.h"

#define UUID_LEN 36

struct uuid {
	char text[UUID_LEN + 1]; /* lower case */
};

struct uuid uuid_new(void);
/* Of up to three parts, none of which runs into the next; {NULL,0}: there are fewer. */
struct uuid uuid_of(struct str kind, struct str a, struct str b);
/* One of any version, letters of either case; *ret in lower case. */
bool uuid_read(struct str text, struct uuid *ret);

static inline struct str
uuid_str(const struct uuid *u)
{
	return (struct str){u->text, UUID_LEN};
}

#endif
