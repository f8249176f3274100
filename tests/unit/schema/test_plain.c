/* test_plain.c - what is matched without an engine is matched as PCRE2 does. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "schema/program.h"

/* What both say of it: in a group that does nothing it is no longer plain. */
static void
expect_the_same(const char *pattern, const struct plain *p, struct str text)
{
	char grouped[300];
	struct matcher m = {0};
	struct regex regex;
	struct err e;
	int64_t work = INT64_MAX / 2;

	snprintf(grouped, sizeof(grouped), "(?:%s)(?:)", pattern);
	assert_int_equal(schema__regex_new(&regex, str_of(grouped), false, &e), 0);
	assert_null(regex.plain);
	bool matched = schema__match(&regex, text, &m, &work) == MATCH_YES;
	if (schema__plain_match(p, text) != matched)
		fail_msg("/%s/ and \"%.*s\": %d", pattern, STR_ARG(text), matched);
	schema__matcher_done(&m);
	schema__regex_done(&regex);
}

static const char *const plain[] = {
    "^",
    "^$",
    "^a",
    "^abc$",
    "^https?://",
    "^[a-z][a-z0-9_]*$",
    "^[A-Za-z0-9][A-Za-z0-9_.-]{0,3}$",
    "^[^\\u0000-\\u001f\\u007f]*$",
    "^[^/]+/[^/]+$",
    "^(/|~/|[a-z][a-z0-9_-]*$)",
    "^(?:a|bc|)$",
    "^\\d{2}-\\d{2}$",
    "^\\w+\\.\\w+$",
    "^[\\]\\-a]{1,2}$",
    "^[-a]b{2,}$",
    "^[ab-]$",
    "^x*y*z*$",
    "^a{0}b$",
    "^a{3}$",
};

static const char *const texts[] = {
    "",     "a",     "ab",    "abc", "abcd", "http://x", "https://",  "httpss://", "a_1",
    "1a",   "A.-_",  "A1234", "a/b", "a/",   "/",        "~/x",       "~x",        "-",
    "a-b_", "bc",    "12-34", "1-2", "a.b",  "a.",       "]-",        "]",         "-bb",
    "abb",  "xxyz",  "xzy",   "zzz", "b",    "aaa",      "aaaa",      "\n",        "a\n",
    "\x7f", "a\x01", "é",     "é/é", "aé",   "日本",     "x\xc2\x80", "-b",        "-bbb",
};

static void
known_patterns_are_plain_and_match_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		struct plain *p = schema__plain_new(str_of(plain[i]));
		if (!p)
			fail_msg("not plain: %s", plain[i]);
		for (size_t k = 0; k < ARRAY_LEN(texts); k++)
			expect_the_same(plain[i], p, str_of(texts[k]));
		expect_the_same(plain[i], p, (struct str){"a\0b", 3});
		free(p);
	}
}

static void
what_an_engine_is_needed_for_is_left_to_it(void **state)
{
	static const char *const others[] = {
	    "",         "a",        "[a-z]+$",   "^a|b$",      "^.*$",        "^a+?$",
	    "^[a-z]*z", "^a?ab",    "^(a|b)+$",  "^(a)(b)$",   "^((a))$",     "^(?=a)",
	    "^a\\b",    "^\\s$",    "^[^a]$",    "^[^a]{2}$",  "^é$",         "^[é]$",
	    "^[]$",     "^[a",      "^a{2,1}$",  "^a{70000}$", "^a{,2}$",     "^a**",
	    "^\\-$",    "^\\u00e9", "^\\u12",    "^a$b",       "^(a|b",       "^a)",
	    "^[b-a]$",  "^[\\d-z]", "^(a*|b)*$", "^\\",        "^[a-z]?[a]$", "^[a-\\d]$",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (schema__plain_new(str_of(others[i])))
			fail_msg("plain: %s", others[i]);
}

static void
random_patterns_match_the_same(void **state)
{
	static const char *const parts[] = {"a",     "b",     "[ab]", "[^a]", "[b-c]", "\\d",
					    "[^bc]", "c",     "1",    "?",    "*",     "+",
					    "{2}",   "{1,2}", "$",    "|",    "(",     ")"};
	char pattern[80], text[9];
	unsigned found = 0;

	(void)state;
	srand(5);
	for (int round = 0; round < 200000 && found < 3000; round++) {
		strcpy(pattern, "^");
		for (int i = rand() % 7; i >= 0; i--)
			strcat(pattern, parts[(size_t)rand() % ARRAY_LEN(parts)]);
		struct plain *p = schema__plain_new(str_of(pattern));
		if (!p)
			continue;
		found++;
		for (int k = 0; k < 12; k++) {
			size_t len = (size_t)rand() % 8;
			for (size_t i = 0; i < len; i++)
				text[i] = "abc1ab"[rand() % 6];
			expect_the_same(pattern, p, (struct str){text, len});
		}
		free(p);
	}
	assert_int_equal(found, 3000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_patterns_are_plain_and_match_the_same),
	    cmocka_unit_test(what_an_engine_is_needed_for_is_left_to_it),
	    cmocka_unit_test(random_patterns_match_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
