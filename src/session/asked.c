/* asked.c - a ring of queries with the hashes of what they were answered with. */

#include "session/asked.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"

struct question {
	char query[LIMIT_ASKED_BYTES];
	size_t len;
	size_t shown;
	uint64_t tools[ASKED_SHOWN]; /* 0: taken */
};

struct asked {
	struct question ring[ASKED_LATELY];
	size_t next; /* where the next one goes; the last one stands before it */
};

struct asked *
asked_new(void)
{
	return calloc(1, sizeof(struct asked));
}

void
asked_free(struct asked *a)
{
	free(a);
}

static struct question *
back(struct asked *a, size_t steps) /* 0: the last one */
{
	return &a->ring[(a->next + ASKED_LATELY - 1 - steps) % ASKED_LATELY];
}

static uint64_t
hash(struct str tool)
{
	return str_hash_keyed(tool) | 1; /* never 0 */
}

void
asked_begin(struct asked *a, struct str query)
{
	struct question *q = &a->ring[a->next++ % ASKED_LATELY];

	a->next %= ASKED_LATELY;
	query = str_utf8_upto(query, sizeof(q->query));
	memcpy(q->query, query.ptr, query.len);
	q->len = query.len;
	q->shown = 0;
}

void
asked_shown(struct asked *a, struct str tool)
{
	struct question *q = back(a, 0);

	if (q->shown < ASKED_SHOWN)
		q->tools[q->shown++] = hash(tool);
}

struct str
asked_take(struct asked *a, struct str tool)
{
	uint64_t wanted = hash(tool);

	for (size_t steps = 0; steps < ASKED_LATELY; steps++) {
		struct question *q = back(a, steps);
		for (size_t i = 0; i < q->shown; i++)
			if (q->tools[i] == wanted) {
				q->tools[i] = 0;
				return (struct str){q->query, q->len};
			}
	}
	return (struct str){NULL, 0};
}
