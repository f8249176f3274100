/*
 * ulid.h - identifiers that sort by time: 48 bits of milliseconds, 80 of chance.
 *
 * Monotonic in this process: each is greater than the one before, also within a
 * millisecond and when the clock goes back. Any thread may ask.
 */

#ifndef BASE_ULID_H
#define BASE_ULID_H

#include "base/str.h"

#define ULID_LEN 26

void ulid_new(char out[static ULID_LEN + 1]);
void ulid_now(int64_t wall_us,
	      char out[static ULID_LEN + 1]); /* the same, by whose clock is read */

/* "sess_" + ULID and the like; prefix of at most 8 characters. */
struct id {
	char text[40];
};
struct id id_new(const char *prefix);
static inline struct str
id_str(const struct id *id)
{
	return str_of(id->text);
}

/* The smallest id of that moment: ids made before it are smaller. */
void ulid_at(int64_t wall_us, char out[static ULID_LEN + 1]);

bool ulid_valid(struct str s);

/* Never again give an id at or below this one (the last one of an earlier run). */
void ulid_advance(struct str last);

void random_bytes(void *out, size_t len); /* from the kernel; aborts if it has none */

#endif
