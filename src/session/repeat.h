/*
 * repeat.h - an agent that goes in circles: the same call with the same result, again and again.
 *
 * A call and its result are numbers that stand for them (base/hash.h). What has not ended is not
 * counted, so calls of one message that are alike are no circle; and something that is looked at
 * until it changes is none either, once it has.
 */

#ifndef SESSION_REPEAT_H
#define SESSION_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

struct repeat {
	uint64_t call, result;
	unsigned count; /* of these, in a row */
};

/* How often this was the last that happened, with the same result each time. */
static inline unsigned
repeat_count(const struct repeat *r, uint64_t call)
{
	return r->call == call ? r->count : 0;
}

/* This has happened. afresh: a person has looked, and counting begins anew. */
static inline void
repeat_note(struct repeat *r, uint64_t call, uint64_t result, bool afresh)
{
	bool same = !afresh && r->call == call && r->result == result;

	*r = (struct repeat){call, result, same ? r->count + 1 : 1};
}

#endif
