/* test_condition.c - the three sentences, and nothing else. */

#include "kernel_unit.h"

#include "kernel/condition.h"

static void
holds_what_it_says(void **state)
{
	static const struct {
		const char *text;
		bool accepted, queue;
	} cases[] = {
	    {"meta_locus.accepted == true", true, false},
	    {"len(meta_locus.review_queue) == 0", false, false},
	    {"len(meta_locus.review_queue) > 0", false, true},
	    {"meta_locus.accepted==true", true, false},
	    {"  len( meta_locus.review_queue )  >  0 ", false, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kernel_state yes = {.accepted = cases[i].accepted,
					   .review_count = cases[i].queue};
		struct kernel_state no = {.accepted = !cases[i].accepted,
					  .review_count = !cases[i].queue};
		struct condition c;
		struct err e;
		if (condition_parse(str_of(cases[i].text), &c, &e) < 0)
			fail_msg("%s", err_text(&e));
		assert_true(condition_holds(&c, &yes));
		assert_false(condition_holds(&c, &no));
	}
}

static void
is_written_as_it_is_everywhere(void **state)
{
	struct buf b = BUF_INIT(256);
	struct condition c;

	(void)state;
	assert_int_equal(condition_parse(S("len(meta_locus.review_queue)>0"), &c, NULL), 0);
	condition_write(&b, &c);
	assert_str(buf_str(&b), "len(meta_locus.review_queue) > 0");
	buf_done(&b);
}

static void
refuses_everything_else(void **state)
{
	static const char *const texts[] = {
	    "",
	    "true",
	    "meta_locus.accepted",
	    "meta_locus.accepted == false",
	    "meta_locus.accepted != true",
	    "meta_locus.accepted == true and true",
	    "not meta_locus.accepted == true",
	    "agreement.accepted == true",
	    "len(meta_locus.accepted) == 0",
	    "meta_locus.review_queue == true",
	    "len(meta_locus.review_queue) == 1",
	    "len(meta_locus.review_queue) >= 0",
	    "len(ledger) == 0",
	    "meta_locus.fracture_active == true",
	    "meta_locus . accepted == true x",
	    "meta_locus.acc epted == true",
	    "Meta_locus.accepted == true",
	    "len()==0",
	    "len(==0",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct condition c;
		struct err e = ERR_NONE;
		if (condition_parse(str_of(texts[i]), &c, &e) != E_VALIDATION)
			fail_msg("taken: %s", texts[i]);
		assert_true(e.text[0]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(holds_what_it_says),
	    cmocka_unit_test(is_written_as_it_is_everywhere),
	    cmocka_unit_test(refuses_everything_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
