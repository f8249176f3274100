/* test_library.c - libraries that are loaded when they are needed: all of them, or nothing. */

#include "unit.h"

#include <dlfcn.h>

#include "base/library.h"

struct maths {
	double (*cosine)(double);
	double (*other)(double);
};

static void
the_first_that_is_there_is_taken(void **state)
{
	static const char *const names[] = {"libnowhere.so.9", "libm.so.6", NULL};
	static const struct library_function functions[] = {{"cos", offsetof(struct maths, cosine)},
							    {"sin", offsetof(struct maths, other)}};
	struct maths m = {NULL, NULL};
	struct err e;

	(void)state;
	void *library = library_load(names, functions, ARRAY_LEN(functions), &m, &e);
	assert_non_null(library);
	assert_true(m.cosine(0) == 1 && m.other(0) == 0);
	dlclose(library);
}

static void
what_is_missing_is_named_and_nothing_is_left(void **state)
{
	static const char *const names[] = {"libm.so.6", NULL}, *const nowhere[] = {"libno.so",
										    NULL};
	static const struct library_function functions[] = {{"cos", offsetof(struct maths, cosine)},
							    {"no_such",
							     offsetof(struct maths, other)}};
	struct maths m = {NULL, NULL};
	struct err e;

	(void)state;
	assert_null(library_load(names, functions, ARRAY_LEN(functions), &m, &e));
	assert_int_equal(e.code, E_UNAVAILABLE);
	assert_string_equal(err_text(&e), "libm.so.6 is too old: it has no no_such");
	assert_true(!m.cosine && !m.other);
	assert_null(library_load(nowhere, functions, ARRAY_LEN(functions), &m, &e));
	assert_non_null(strstr(err_text(&e), "libno.so"));
	assert_true(!m.cosine && !m.other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_that_is_there_is_taken),
	    cmocka_unit_test(what_is_missing_is_named_and_nothing_is_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
