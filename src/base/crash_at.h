/*
 * crash_at.h - ends the process at a point of its choosing, to see what is left: HOLDFAST_CRASH_AT.
 *
 * Read once, at the start (crash_at_read). Without it a point costs one comparison.
 */

#ifndef BASE_CRASH_AT_H
#define BASE_CRASH_AT_H

enum crash_point {
	CRASH_NEVER,
#define CRASH(name, word, sentence) CRASH_##name,
#include "../../tbl/crash_points.def"
#undef CRASH
	CRASH__END
};

extern enum crash_point crash__at;
void crash__pass(void); /* it is this one: the n-th time is the last */

/* From the environment; what is no point there is an error: 0, or -1. */
int crash_at_read(void);
/* The words of all points, in order; NULL behind the last. */
const char *crash_point_word(enum crash_point p);

static inline void
crash_at(enum crash_point p)
{
	if (__builtin_expect(crash__at == p, 0))
		crash__pass();
}

#endif
