/* test_selection.c - which id was meant. */

#include "unit.h"

#include "catalog/selection.h"
#include "vectors.h"

static void
agrees_with_the_gateways_vectors(void **state)
{
	char path[512];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_selection.json", path);
	struct json_doc *doc = vectors(path);
	assert_true(json_len(json_root(doc)) > 0);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		const struct json *expected = json_get(it.value, S("result"));
		const struct json *list = json_get(it.value, S("candidates"));
		struct str candidates[8];
		for (size_t i = 0; i < json_len(list); i++)
			candidates[i] = json_str(json_at(list, i));
		struct selection s =
		    selection_of(text_of(it.value, "selected"), candidates, json_len(list));
		struct str chosen = s.status == SELECTION_REJECTED ? (struct str){NULL, 0}
								   : candidates[s.candidate];
		assert_true(str_is(text_of(expected, "status"), selection_status_name(s.status)));
		assert_true(str_eq(text_of(expected, "selected_id"), chosen));
		assert_true(str_eq(text_of(expected, "repair"), str_of(s.repair)));
		assert_true(str_eq(text_of(expected, "reason"), str_of(s.reason)));
	}
	json_doc_unref(doc);
}

static void
what_could_mean_two_is_refused(void **state)
{
	const struct str ids[] = {S("a:bc@1"), S("a:bd@1"), S("a:B@1")};
	struct selection s;

	(void)state;
	s = selection_of(S("a:b"), ids, 3);
	assert_string_equal(s.reason, "ambiguous_prefix");
	s = selection_of(S("A:b@1"), ids, 3);
	assert_string_equal(s.repair, "case_fold");
	assert_int_equal(s.candidate, 2);
	s = selection_of(S("a:bc@1"), ids, 0);
	assert_string_equal(s.reason, "not_a_candidate");
	s = selection_of(S(" \t"), ids, 3);
	assert_string_equal(s.reason, "empty_selection");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(agrees_with_the_gateways_vectors),
	    cmocka_unit_test(what_could_mean_two_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
