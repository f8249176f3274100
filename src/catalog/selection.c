/* selection.c - what an agent wrote, held against the candidates in ever looser ways. */

#include "catalog/selection.h"

#include "base/bug.h"

static bool
is_same(struct str candidate, struct str selected)
{
	return str_eq(candidate, selected);
}

static bool
is_same_folded(struct str candidate, struct str selected)
{
	return str_eq_nocase(candidate, selected);
}

static bool
is_prefixed(struct str candidate, struct str selected)
{
	return str_starts(candidate, selected);
}

static const struct {
	bool (*fits)(struct str candidate, struct str selected);
	const char *repair;
	const char *ambiguous;
} ways[] = {
    {is_same, "strip", NULL}, /* the blanks are off already */
    {is_same_folded, "case_fold", "ambiguous_case_fold"},
    {is_prefixed, "prefix", "ambiguous_prefix"},
};

static struct selection
rejected(const char *reason)
{
	return (struct selection){.status = SELECTION_REJECTED, .reason = reason};
}

struct selection
selection_of(struct str selected, const struct str *candidates, size_t count)
{
	struct str stripped = str_trim(selected);

	if (stripped.len == 0)
		return rejected("empty_selection");
	for (size_t way = 0; way < ARRAY_LEN(ways); way++) {
		size_t found = 0, at = 0;
		for (size_t i = 0; i < count; i++)
			if (ways[way].fits(candidates[i], stripped) && found++ == 0)
				at = i;
		if (found > 1 && ways[way].ambiguous)
			return rejected(ways[way].ambiguous);
		if (found > 0 && way == 0 && stripped.len == selected.len)
			return (struct selection){SELECTION_ACCEPTED, at, NULL, NULL};
		if (found > 0)
			return (struct selection){SELECTION_REPAIRED, at, ways[way].repair, NULL};
	}
	return rejected("not_a_candidate");
}

const char *
selection_status_name(enum selection_status status)
{
	static const char *const names[] = {"accepted", "repaired", "rejected"};

	CHECK((size_t)status < ARRAY_LEN(names));
	return names[status];
}
