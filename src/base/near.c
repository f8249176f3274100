/* near.c - how many slips of the pen lie between two names. */

#include "base/near.h"

#define NEAR_BYTES 64

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool
same(struct str a, size_t i, struct str b, size_t k)
{
	return lower(a.ptr[i]) == lower(b.ptr[k]);
}

static unsigned
lesser(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Letters put in, left out, changed, or swapped with their neighbour. */
static unsigned
distance(struct str a, struct str b)
{
	unsigned rows[3][NEAR_BYTES + 1]; /* the one before the last, the last, this */

	for (unsigned k = 0; k <= b.len; k++)
		rows[1][k] = k;
	for (size_t i = 0; i < a.len; i++) {
		unsigned *before = rows[i % 3], *last = rows[(i + 1) % 3], *now = rows[(i + 2) % 3];
		now[0] = (unsigned)i + 1;
		for (size_t k = 0; k < b.len; k++) {
			now[k + 1] =
			    lesser(lesser(last[k + 1], now[k]) + 1, last[k] + !same(a, i, b, k));
			if (i > 0 && k > 0 && same(a, i, b, k - 1) && same(a, i - 1, b, k))
				now[k + 1] = lesser(now[k + 1], before[k - 1] + 1);
		}
	}
	return rows[(a.len + 1) % 3][b.len];
}

/* SERVER__NAME, as tools of servers are called where there are several. */
static bool
is_behind_prefix(struct str name, struct str candidate)
{
	size_t before = candidate.len - name.len;

	return candidate.len > name.len + 2 && candidate.ptr[before - 1] == '_' &&
	       candidate.ptr[before - 2] == '_' && str_eq_nocase(name, str_from(candidate, before));
}

bool
near_better(struct str name, struct str candidate, unsigned *best)
{
	size_t longer = name.len > candidate.len ? name.len : candidate.len;

	if (name.len == 0 || longer > NEAR_BYTES)
		return false;
	/* So many letters more can only be put in one by one. */
	size_t apart = longer - (name.len < candidate.len ? name.len : candidate.len);
	bool begins = name.len >= 2 && (str_eq_nocase(name, str_upto(candidate, name.len)) ||
					is_behind_prefix(name, candidate));
	if (!begins && (3 * apart > longer || apart >= *best))
		return false;
	unsigned d = begins ? 1 : distance(name, candidate);
	if (d >= *best || (!begins && 3 * (size_t)d > longer))
		return false;
	*best = d;
	return true;
}
