/* crash_at.c - a death at a point of our choosing. */

#include "base/crash_at.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/str.h"

enum crash_point crash__at = CRASH_NEVER;
static atomic_ullong left = 1;

static const char *const words[] = {
    NULL,
#define CRASH(name, word, sentence) word,
#include "../../tbl/crash_points.def"
#undef CRASH
};

const char *
crash_point_word(enum crash_point p)
{
	return p > CRASH_NEVER && p < CRASH__END ? words[p] : NULL;
}

void
crash__pass(void)
{
	if (atomic_fetch_sub(&left, 1) == 1)
		(void)raise(SIGKILL);
}

int
crash_at_read(void)
{
	struct str rest = str_of(getenv("HOLDFAST_CRASH_AT")), word;
	uint64_t n = 1;

	if (!rest.len)
		return 0;
	if (!str_split(&rest, ':', &word) || (rest.ptr && rest.len && !str_to_u64(rest, &n)) || !n)
		return -1;
	for (int p = CRASH_NEVER + 1; p < CRASH__END; p++) {
		if (!str_is(word, words[p]))
			continue;
		atomic_store(&left, n);
		crash__at = (enum crash_point)p;
		return 0;
	}
	return -1;
}
