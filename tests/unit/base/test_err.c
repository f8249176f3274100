/* test_err.c - errors carry a code, a sentence for everybody and details for the log. */

#include "unit.h"

#include <errno.h>

#include "base/err.h"

static void
every_code_has_a_complete_row(void **state)
{
	(void)state;
	for (int code = E__FIRST + 1; code < E__END; code++) {
		const struct err_row *row = err_row(code);
		assert_true(code < 0 && row->word[0] && row->sentence[0]);
		assert_true(row->gateway[0] && row->kernel[0]);
		assert_true(row->http >= 400 && row->http < 600);
		assert_true(row->rpc <= -32600 && row->rpc >= -32768);
		assert_true(err_class_name(row->class)[0]);
	}
	assert_string_equal(err_row(E_NOT_FOUND)->word, "tool_not_found");
	assert_string_equal(err_row(E_CONFIG)->word, "invalid_config");
	assert_ptr_equal(err_row(0), err_row(E_SYSTEM));
	assert_ptr_equal(err_row(-5000), err_row(E_SYSTEM));
	assert_ptr_equal(err_row(12), err_row(E_SYSTEM));
}

static void
setting_returns_the_code(void **state)
{
	struct err e = {.inside = "old"};

	(void)state;
	assert_int_equal(err_set(&e, E_NOT_FOUND, "no tool %s", "x"), E_NOT_FOUND);
	assert_int_equal(e.code, E_NOT_FOUND);
	assert_string_equal(err_text(&e), "no tool x");
	assert_string_equal(e.inside, "");
	assert_int_equal(err_plain(&e, E_NOMEM), E_NOMEM);
	assert_string_equal(err_text(&e), "out of memory");
	assert_int_equal(err_set(NULL, E_LIMIT, "nobody listens"), E_LIMIT);
	assert_int_equal(err_plain(NULL, E_LIMIT), E_LIMIT);
	assert_int_equal(err_errno(NULL, E_LIMIT, EIO, "x"), E_LIMIT);
	e = ERR_NONE;
	assert_true(err_text(&e)[0]);
}

static void
details_stay_inside(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(err_errno(&e, E_SYSTEM, ENOENT, "open"), E_SYSTEM);
	assert_string_equal(e.text, "the system refused an operation");
	assert_string_equal(e.inside, "open: No such file or directory");
	err_inside(&e, "try %d", 2);
	assert_string_equal(e.inside, "open: No such file or directory; try 2");
	for (int i = 0; i < 100; i++)
		err_inside(&e, "and so on, and so on");
	assert_true(strlen(e.inside) < sizeof(e.inside));
	err_inside(NULL, "nobody listens");
}

static void
long_text_is_cut_between_characters(void **state)
{
	struct err e;

	(void)state;
	for (int shift = 0; shift < 4; shift++) {
		char text[4096] = "";
		memset(text, 'x', (size_t)shift);
		while (strlen(text) < 2000)
			strcat(text, "\xf0\x9f\x98\x80");
		err_set(&e, E_SYSTEM, "%s", text);
		assert_true(str_is_utf8(str_of(e.text)));
		assert_true(strlen(e.text) > sizeof(e.text) - 6);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_code_has_a_complete_row),
	    cmocka_unit_test(setting_returns_the_code),
	    cmocka_unit_test(details_stay_inside),
	    cmocka_unit_test(long_text_is_cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
