/* test_uri_template.c - which URIs can have come from a template. */

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/limits.h"
#include "front/uri_template.h"

static void
what_fits(void **state)
{
	static const char *const rows[][2] = {
	    {"test://template/{id}/data", "test://template/123/data"},
	    {"test://template/{id}/data", "test://template/a%20b:c/data"},
	    {"test://{a}/{b}", "test://x/y"},
	    {"test://{a}-{b}", "test://x-y-z"},
	    {"file:///{+path}", "file:///a/b/c.txt"},
	    {"file:///{path*}", "file:///c.txt"},
	    {"db://t{?q,limit}", "db://t"},
	    {"db://t{?q,limit}", "db://t?q=1&limit=2"},
	    {"db://t{#part}", "db://t#a/b"},
	    {"x://y{/dir*}", "x://y/a/b"},
	    {"x://y{.ext}", "x://y.json"},
	    {"x://plain", "x://plain"},
	    {"{+all}", "anything://at/all?x#y"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!uri_template_fits(str_of(rows[i][0]), str_of(rows[i][1])))
			fail_msg("%s should fit %s", rows[i][1], rows[i][0]);
}

static void
what_does_not(void **state)
{
	static const char *const rows[][2] = {
	    {"test://template/{id}/data", "test://template/1/2/data"},
	    {"test://template/{id}/data", "test://template/1/data/more"},
	    {"test://template/{id}/data", "test://other/1/data"},
	    {"test://{a}", "test://x/y"},
	    {"db://t{?q}", "db://t/q"},
	    {"db://t{?q}", "db://tq"},
	    {"x://plain", "x://plain/more"},
	    {"x://plain/more", "x://plain"},
	    {"x://{open", "x://{open"},
	    {"x://{}", "x://"},
	    {"", "x"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (uri_template_fits(str_of(rows[i][0]), str_of(rows[i][1])))
			fail_msg("%s should not fit %s", rows[i][1], rows[i][0]);
}

/* Followed one by one, the ways through this one would be more than anybody can count. */
static void
a_hostile_template_takes_no_time(void **state)
{
	char tmpl[30 * 5 + 2] = "", uri[4096];

	(void)state;
	for (int i = 0; i < 30; i++)
		strcat(tmpl, "{+a}a");
	strcat(tmpl, "b");
	memset(uri, 'a', sizeof(uri));
	assert_false(uri_template_fits(str_of(tmpl), (struct str){uri, sizeof(uri)}));
	uri[sizeof(uri) - 1] = 'b';
	assert_true(uri_template_fits(str_of(tmpl), (struct str){uri, sizeof(uri)}));
}

static void
what_is_too_long_fits_nothing(void **state)
{
	char *uri = malloc(LIMIT_MCP_URI + 1);
	char tmpl[LIMIT_URI_PARTS * 3 + 4] = "";

	(void)state;
	memset(uri, 'a', LIMIT_MCP_URI + 1);
	assert_true(uri_template_fits(S("{+a}"), (struct str){uri, LIMIT_MCP_URI}));
	assert_false(uri_template_fits(S("{+a}"), (struct str){uri, LIMIT_MCP_URI + 1}));
	for (int i = 0; i < LIMIT_URI_PARTS; i++)
		strcat(tmpl, "{a}");
	assert_true(uri_template_fits(str_of(tmpl), S("x")));
	strcat(tmpl, "{a}");
	assert_false(uri_template_fits(str_of(tmpl), S("x")));
	free(uri);
}

static void
what_stands_before_the_first_expression(void **state)
{
	(void)state;
	assert_int_equal(uri_template_prefix(S("a://b/{c}/{d}")).len, 6);
	assert_int_equal(uri_template_prefix(S("{c}")).len, 0);
	assert_int_equal(uri_template_prefix(S("a://b")).len, 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_fits),
	    cmocka_unit_test(what_does_not),
	    cmocka_unit_test(a_hostile_template_takes_no_time),
	    cmocka_unit_test(what_is_too_long_fits_nothing),
	    cmocka_unit_test(what_stands_before_the_first_expression),
	};
	return cmocka_run_group_tests_name("uri_template", tests, NULL, NULL);
}
