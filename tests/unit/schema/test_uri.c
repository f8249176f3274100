/* test_uri.c - references resolved against all kinds of bases. */

#include "unit.h"

#include "base/limits.h"
#include "schema/parts.h"

struct resolution {
	const char *base, *reference, *result;
};

static void
check_all(const struct resolution *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct buf out = BUF_INIT(KIB);
		schema__uri_resolve(&out, str_of(cases[i].base), str_of(cases[i].reference));
		if (!str_is(buf_str(&out), cases[i].result))
			fail_msg("%s from %s: %s, not %s", cases[i].reference, cases[i].base,
				 buf_z(&out), cases[i].result);
		buf_done(&out);
	}
}

static void
resolves_the_examples_of_the_rfc(void **state)
{
#define RFC "http://a/b/c/d;p?q"
	static const struct resolution cases[] = {
	    /* 5.4.1 normal */
	    {RFC, "g:h", "g:h"},
	    {RFC, "g", "http://a/b/c/g"},
	    {RFC, "./g", "http://a/b/c/g"},
	    {RFC, "g/", "http://a/b/c/g/"},
	    {RFC, "/g", "http://a/g"},
	    {RFC, "//g", "http://g"},
	    {RFC, "?y", "http://a/b/c/d;p?y"},
	    {RFC, "g?y", "http://a/b/c/g?y"},
	    {RFC, "#s", "http://a/b/c/d;p?q#s"},
	    {RFC, "g#s", "http://a/b/c/g#s"},
	    {RFC, "g?y#s", "http://a/b/c/g?y#s"},
	    {RFC, ";x", "http://a/b/c/;x"},
	    {RFC, "g;x", "http://a/b/c/g;x"},
	    {RFC, "g;x?y#s", "http://a/b/c/g;x?y#s"},
	    {RFC, "", "http://a/b/c/d;p?q"},
	    {RFC, ".", "http://a/b/c/"},
	    {RFC, "./", "http://a/b/c/"},
	    {RFC, "..", "http://a/b/"},
	    {RFC, "../", "http://a/b/"},
	    {RFC, "../g", "http://a/b/g"},
	    {RFC, "../..", "http://a/"},
	    {RFC, "../../", "http://a/"},
	    {RFC, "../../g", "http://a/g"},
	    /* 5.4.2 abnormal */
	    {RFC, "../../../g", "http://a/g"},
	    {RFC, "../../../../g", "http://a/g"},
	    {RFC, "/./g", "http://a/g"},
	    {RFC, "/../g", "http://a/g"},
	    {RFC, "g.", "http://a/b/c/g."},
	    {RFC, ".g", "http://a/b/c/.g"},
	    {RFC, "g..", "http://a/b/c/g.."},
	    {RFC, "..g", "http://a/b/c/..g"},
	    {RFC, "./../g", "http://a/b/g"},
	    {RFC, "./g/.", "http://a/b/c/g/"},
	    {RFC, "g/./h", "http://a/b/c/g/h"},
	    {RFC, "g/../h", "http://a/b/c/h"},
	    {RFC, "g;x=1/./y", "http://a/b/c/g;x=1/y"},
	    {RFC, "g;x=1/../y", "http://a/b/c/y"},
	    {RFC, "g?y/./x", "http://a/b/c/g?y/./x"},
	    {RFC, "g?y/../x", "http://a/b/c/g?y/../x"},
	    {RFC, "g#s/./x", "http://a/b/c/g#s/./x"},
	    {RFC, "g#s/../x", "http://a/b/c/g#s/../x"},
	    {RFC, "http:g", "http:g"},
	};

	(void)state;
	check_all(cases, ARRAY_LEN(cases));
}

static void
takes_the_bases_that_schemas_have(void **state)
{
	static const struct resolution cases[] = {
	    {"", "", ""},
	    {"", "#/$defs/a", "#/$defs/a"},
	    {"", "other.json", "other.json"},
	    {"", "../other.json#a", "other.json#a"},
	    {"", "http://x/y", "http://x/y"},
	    {"schema.json", "#", "schema.json#"},
	    {"schema.json", "other.json", "other.json"},
	    {"a/b/schema.json", "../other.json", "a/other.json"},
	    {"a/schema.json", "../../other.json", "other.json"},
	    {"/base/x.json", "y.json", "/base/y.json"},
	    {"/base/x.json", "/y.json", "/y.json"},
	    {"/base/x.json#old", "#new", "/base/x.json#new"},
	    {"http://localhost:1234/x.json", "y/z.json#/a", "http://localhost:1234/y/z.json#/a"},
	    {"http://localhost:1234", "y.json", "http://localhost:1234/y.json"},
	    {"http://localhost:1234/x.json#/a", "", "http://localhost:1234/x.json"},
	    {"urn:uuid:deadbeef-1234-ffff-ffff-4321feebdaed", "#/$defs/b",
	     "urn:uuid:deadbeef-1234-ffff-ffff-4321feebdaed#/$defs/b"},
	    {"urn:example:a?+r?=q", "#x", "urn:example:a?+r?=q#x"},
	    {"urn:a:b", "urn:c:d", "urn:c:d"},
	    {"urn:a:b", "c", "urn:c"},
	    {"tag:example.com,2020:x", "#y", "tag:example.com,2020:x#y"},
	    {"tag:example.com,2020:a/b", "c", "tag:example.com,2020:a/c"},
	    {"file:///a/b.json", "c.json", "file:///a/c.json"},
	};

	(void)state;
	check_all(cases, ARRAY_LEN(cases));
}

static void
lowers_scheme_and_host_and_nothing_else(void **state)
{
	static const struct resolution cases[] = {
	    {"", "HTTP://User:Pass@EXAMPLE.com:80/Path?Query#Frag",
	     "http://User:Pass@example.com:80/Path?Query#Frag"},
	    {"HTTP://EXAMPLE.com/X", "Y", "http://example.com/Y"},
	    {"", "URN:Example:A", "urn:Example:A"},
	};

	(void)state;
	check_all(cases, ARRAY_LEN(cases));
}

/* Without its dots such a path would be another host's, or another scheme's. */
static void
a_path_is_never_read_as_something_else(void **state)
{
	static const struct resolution cases[] = {
	    {"s:/x", "/.//evil/y", "s:/.//evil/y"},
	    {"/x", "..//evil", "/.//evil"},
	    {"", "./a:b", "./a:b"},
	    {"", "x/../a:b", "./a:b"},
	    {"http://h/", ".//a", "http://h//a"},
	    {"http://h/", "./a:b", "http://h/a:b"},
	};

	(void)state;
	check_all(cases, ARRAY_LEN(cases));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) { /* and once more is the same */
		const struct resolution again = {"", cases[i].result, cases[i].result};
		check_all(&again, 1);
	}
}

static void
a_result_over_the_maximum_fails_the_buffer(void **state)
{
	struct buf out = BUF_INIT(8);

	(void)state;
	schema__uri_resolve(&out, S("http://a/b/c"), S("../dddd"));
	assert_true(buf_failed(&out));
	buf_done(&out);
}

static void
splits_at_the_first_hash(void **state)
{
	(void)state;
	assert_true(str_is(schema__uri_whole(S("a#b#c")), "a"));
	assert_true(str_is(schema__uri_fragment(S("a#b#c")), "b#c"));
	assert_true(str_is(schema__uri_whole(S("a")), "a"));
	assert_null(schema__uri_fragment(S("a")).ptr);
	assert_non_null(schema__uri_fragment(S("a#")).ptr);
	assert_int_equal(schema__uri_fragment(S("a#")).len, 0);
}

static void
decodes_percents_to_utf8_or_refuses(void **state)
{
	static const struct {
		const char *text, *result; /* NULL: refused */
	} cases[] = {
	    {"", ""},         {"/a~1b", "/a~1b"}, {"%41%7e%25", "A~%"}, {"%C3%bc", "\xc3\xbc"},
	    {"x%2Fy", "x/y"}, {"%", NULL},        {"%4", NULL},         {"a%4", NULL},
	    {"%4g", NULL},    {"%g4", NULL},      {"%ff", NULL},        {"%c3x", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = BUF_INIT(KIB);
		bool fine = schema__uri_decode(&out, str_of(cases[i].text));
		assert_int_equal(fine, cases[i].result != NULL);
		if (fine)
			assert_true(str_is(buf_str(&out), cases[i].result));
		buf_done(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(resolves_the_examples_of_the_rfc),
	    cmocka_unit_test(takes_the_bases_that_schemas_have),
	    cmocka_unit_test(lowers_scheme_and_host_and_nothing_else),
	    cmocka_unit_test(a_path_is_never_read_as_something_else),
	    cmocka_unit_test(a_result_over_the_maximum_fails_the_buffer),
	    cmocka_unit_test(splits_at_the_first_hash),
	    cmocka_unit_test(decodes_percents_to_utf8_or_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
