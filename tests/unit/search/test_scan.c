/* test_scan.c - the best by their words are the best: against sums made one tool at a time. */

#include "made.h"

#include "search/scan.h"

#define TOOLS (BLOCK + 3000)

static struct search *
many_tools(void)
{
	struct search *s = search_new();

	srand(7);
	for (unsigned i = 0; i < TOOLS; i++) {
		struct made m = made_tool(i);
		made_add(s, &m);
	}
	return s;
}

static int32_t
plain_sum(const struct scan *s, uint32_t tool)
{
	const struct tool *t = &s->search->tools[tool];
	int32_t sum = 0;

	for (uint16_t i = 0; i < t->count; i++)
		for (size_t j = 0; j < s->use_count; j++)
			if (s->uses[j].word->term == TERM_OF(t->terms[i]))
				sum += scan_product(IMPACT_OF(t->terms[i]), s->uses[j].weight);
	return sum;
}

struct ranked {
	uint32_t tool;
	int32_t sum;
	struct str id;
};

static int
ranked_cmp(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	return str_cmp(x->id, y->id);
}

static bool
has(const struct best *b, const struct ranked *r)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->list[i].tool == r->tool)
			return b->list[i].sum == r->sum;
	return false;
}

static bool
odd(uint32_t tool, void *arg)
{
	(void)arg;
	return tool % 2 == 1;
}

static void
check_query(const struct search *s, struct str text, const struct search_options *options)
{
	static struct ranked all[TOOLS];
	static struct scan scan;
	struct query q;
	size_t found = 0;

	query_read(&q, s, NULL, text);
	scan = (struct scan){.search = s, .options = options, .query = &q};
	scan_prepare(&scan);
	scan_words(&scan);
	for (uint32_t tool = 0; tool < TOOLS; tool++) {
		int32_t sum = plain_sum(&scan, tool);
		assert_true(sum <= INT16_MAX);
		if (sum > 0 && scan_sees(&scan, tool))
			all[found++] = (struct ranked){tool, sum, names_text(&s->ids, tool)};
	}
	qsort(all, found, sizeof(*all), ranked_cmp);
	assert_int_equal(scan.by_words.count, found < SCAN_BEST ? found : SCAN_BEST);
	for (size_t i = 0; i < scan.by_words.count; i++)
		if (!has(&scan.by_words, &all[i]))
			fail_msg("%.*s: not %.*s", STR_ARG(text), STR_ARG(all[i].id));
}

static void
finds_the_same_as_one_tool_at_a_time(void **state)
{
	const struct search_options half = {.visible = odd};
	struct search *s = many_tools();
	char text[MADE_TEXT];

	(void)state;
	for (int i = 0; i < 12; i++) {
		made_words(text, 1 + rand() % 12);
		check_query(s, str_of(text), NULL);
		check_query(s, str_of(text), &half);
	}
	check_query(s, S("list"), NULL); /* hundreds of equals */
	check_query(s, S("list user item data report value"), NULL);
	check_query(s, S("nothing of that"), NULL);
	search_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds_the_same_as_one_tool_at_a_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
