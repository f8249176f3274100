/* test_url.c - references mean at an address what RFC 3986 says they mean. */

#include "unit.h"

#include "net/url.h"

/* Of section 5.4, those that lead to http; and what is without a path. */
static void
test_7_references_are_resolved_as_the_rfc_has_it(void **state)
{
	static const struct {
		const char *base, *reference, *whole;
	} cases[] = {
	    {"http://a/b/c/d;p?q", "g", "http://a/b/c/g"},
	    {"http://a/b/c/d;p?q", "./g", "http://a/b/c/g"},
	    {"http://a/b/c/d;p?q", "g/", "http://a/b/c/g/"},
	    {"http://a/b/c/d;p?q", "/g", "http://a/g"},
	    {"http://a/b/c/d;p?q", "//g", "http://g"},
	    {"http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"},
	    {"http://a/b/c/d;p?q", "g?y", "http://a/b/c/g?y"},
	    {"http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p?q"},
	    {"http://a/b/c/d;p?q", "g?y#s", "http://a/b/c/g?y"},
	    {"http://a/b/c/d;p?q", ";x", "http://a/b/c/;x"},
	    {"http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q"},
	    {"http://a/b/c/d;p?q", ".", "http://a/b/c/"},
	    {"http://a/b/c/d;p?q", "./", "http://a/b/c/"},
	    {"http://a/b/c/d;p?q", "..", "http://a/b/"},
	    {"http://a/b/c/d;p?q", "../g", "http://a/b/g"},
	    {"http://a/b/c/d;p?q", "../..", "http://a/"},
	    {"http://a/b/c/d;p?q", "../../g", "http://a/g"},
	    {"http://a/b/c/d;p?q", "../../../g", "http://a/g"},
	    {"http://a/b/c/d;p?q", "/./g", "http://a/g"},
	    {"http://a/b/c/d;p?q", "/../g", "http://a/g"},
	    {"http://a/b/c/d;p?q", "g.", "http://a/b/c/g."},
	    {"http://a/b/c/d;p?q", "..g", "http://a/b/c/..g"},
	    {"http://a/b/c/d;p?q", "./g/.", "http://a/b/c/g/"},
	    {"http://a/b/c/d;p?q", "g/../h", "http://a/b/c/h"},
	    {"http://a/b/c/d;p?q", "g;x=1/../y", "http://a/b/c/y"},
	    {"http://a/b/c/d;p?q", "g?y/../x", "http://a/b/c/g?y/../x"},
	    {"http://a/b/c/d;p?q", "https://h/x/../y?", "https://h/y?"},
	    {"https://a:8443", "g", "https://a:8443/g"},
	    {"https://a:8443", "..", "https://a:8443/"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = BUF_INIT(1024);
		struct err e = ERR_NONE;
		struct url base;
		assert_int_equal(url_split(str_of(cases[i].base), &base, &e), 0);
		assert_int_equal(url_resolve(&base, str_of(cases[i].reference), &out, &e), 0);
		assert_string_equal(buf_z(&out), cases[i].whole);
		buf_done(&out);
	}
}

static void
what_is_no_address_of_http_is_refused(void **state)
{
	static const char *const cases[] = {"g:h", "file:///etc/passwd", "//", "//u@h/", "a b"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = BUF_INIT(1024);
		struct err e = ERR_NONE;
		struct url base;
		assert_int_equal(url_split(S("http://a/b"), &base, &e), 0);
		assert_int_equal(url_resolve(&base, str_of(cases[i]), &out, &e), E_VALIDATION);
		buf_done(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_7_references_are_resolved_as_the_rfc_has_it),
	    cmocka_unit_test(what_is_no_address_of_http_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
