/* test_metrics.c - figures of calls: counted apart up to a limit, and then together. */

#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "call/metrics.h"

static struct tool_figures *
get(struct metrics *m, const char *tenant, const char *agent, const char *tool)
{
	return metrics_get(m, &(struct metric_labels){str_of(tenant), str_of(agent), str_of(tool),
						      S("builtin")});
}

static void
test_7_the_same_labels_are_the_same_figures(void **state)
{
	struct metrics m;

	(void)state;
	metrics_init(&m);
	struct tool_figures *f = get(&m, "t", "a", "read_file");
	assert_ptr_equal(f, get(&m, "t", "a", "read_file"));
	assert_ptr_not_equal(f, get(&m, "t", "b", "read_file"));
	/* "a" + "bc" is not "ab" + "c" */
	assert_ptr_not_equal(get(&m, "t", "a", "bc"), get(&m, "t", "ab", "c"));
	assert_string_equal(f->tenant, "t");
	assert_string_equal(f->agent, "a");
	assert_string_equal(f->tool, "read_file");
	assert_string_equal(f->gateway, "builtin");
	assert_ptr_equal(f->owner, get(&m, "t", "a", "write_file")->owner);
	assert_ptr_equal(f->shared, get(&m, "t", "b", "read_file")->shared);
	metrics_done(&m);
}

static void
test_7_beyond_the_limit_there_is_one_more_series(void **state)
{
	struct metrics m;
	char name[32];
	size_t at = 0, seen = 0;
	const struct tool_figures *f, *last = NULL;

	(void)state;
	metrics_init(&m);
	for (int i = 0; i < LIMIT_METRIC_SERIES + 500; i++) {
		snprintf(name, sizeof(name), "tool_%d", i);
		struct tool_figures *one = get(&m, "t", "a", name);
		one->ended[0]++;
		one->shared->hits++;
		one->owner->effects[3]++;
	}
	assert_int_equal(m.overflowed, 500);
	for (; (f = metrics_each_tool(&m, &at)); seen++)
		last = f;
	assert_int_equal(seen, LIMIT_METRIC_SERIES + 1);
	assert_string_equal(last->tool, "other");
	assert_int_equal(last->ended[0], 500);
	assert_int_equal(m.other_shared.hits, 500);
	/* Those who came first are still counted apart. */
	assert_int_equal(get(&m, "t", "a", "tool_7")->ended[0], 1);
	metrics_done(&m);
}

static void
test_7_who_is_called_other_is_counted_there(void **state)
{
	struct metrics m;
	size_t at = 0, seen = 0;

	(void)state;
	metrics_init(&m);
	get(&m, "other", "other", "other")->ended[0]++;
	get(&m, "other", "other", "mine")->owner->effects[1]++;
	get(&m, "other", "me", "other")->shared->hits++;
	assert_int_equal(m.other.ended[0], 1);
	assert_int_equal(m.other_owner.effects[1], 1);
	assert_int_equal(m.other_shared.hits, 1);
	for (const struct owner_figures *o; (o = metrics_each_owner(&m, &at));)
		seen += strcmp(o->tenant, "other") == 0 && strcmp(o->agent, "other") == 0;
	assert_int_equal(seen, 1);
	metrics_done(&m);
}

static void
test_7_labels_that_cannot_be_told_apart_are_other(void **state)
{
	struct metrics m;
	char longer[LIMIT_NAME_BYTES + 2];

	(void)state;
	metrics_init(&m);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_ptr_equal(get(&m, "t", "a", longer), &m.other);
	assert_ptr_equal(metrics_get(&m, &(struct metric_labels){S("t"), S("a"),
								 (struct str){"a\0b", 3}, S("x")}),
			 &m.other);
	metrics_done(&m);
}

static void
test_7_times_fall_into_their_bucket(void **state)
{
	struct tool_figures f = {0};
	uint64_t n = 0;

	(void)state;
	tool_figures_time(&f, 0);
	tool_figures_time(&f, 500);
	tool_figures_time(&f, 501);
	tool_figures_time(&f, 300000000);
	tool_figures_time(&f, 300000001);
	assert_int_equal(f.within[0], 2);
	assert_int_equal(f.within[1], 1);
	assert_int_equal(f.within[METRIC_BUCKETS - 1], 1);
	assert_int_equal(f.within[METRIC_BUCKETS], 1);
	assert_int_equal(f.timed, 5);
	assert_int_equal(f.total_us, 600001002);
	for (size_t i = 1; i < METRIC_BUCKETS; i++)
		assert_true(metric_buckets[i - 1].most_us < metric_buckets[i].most_us);
	for (size_t i = 0; i <= METRIC_BUCKETS; i++)
		n += f.within[i];
	assert_int_equal(n, f.timed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_7_the_same_labels_are_the_same_figures),
	    cmocka_unit_test(test_7_beyond_the_limit_there_is_one_more_series),
	    cmocka_unit_test(test_7_who_is_called_other_is_counted_there),
	    cmocka_unit_test(test_7_labels_that_cannot_be_told_apart_are_other),
	    cmocka_unit_test(test_7_times_fall_into_their_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
