/* test_serve.c - where to listen, and a token that only we can read. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/serve.h"

static void
addresses_are_read_in_every_usual_form(void **state)
{
	static const struct {
		const char *text, *host;
		unsigned port;
	} rows[] = {
	    {NULL, "127.0.0.1", 8421},       {"", "127.0.0.1", 8421},
	    {"9000", "127.0.0.1", 9000},     {":9000", "127.0.0.1", 9000},
	    {"127.0.0.1:0", "127.0.0.1", 0}, {"localhost:9000", "127.0.0.1", 9000},
	    {"0.0.0.0:80", "0.0.0.0", 80},   {"10.0.0.1", "10.0.0.1", 8421},
	    {"[::1]:9000", "::1", 9000},     {"[::]", "::", 8421},
	};
	struct listen l;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(listen_parse(rows[i].text, &l, &e), 0);
		assert_true(l.tcp && !l.yields);
		assert_string_equal(l.host, rows[i].host);
		assert_int_equal(l.port, rows[i].port);
	}
	assert_int_equal(listen_parse("none", &l, &e), 0);
	assert_false(l.tcp);
	assert_int_equal(listen_parse("auto", &l, &e), 0);
	assert_true(l.tcp && l.yields);
	assert_string_equal(l.host, SERVE_HOST);
	assert_int_equal(l.port, SERVE_PORT);
}

static void
what_is_no_address_is_refused(void **state)
{
	static const char *const bad[] = {"example.org:80", "127.0.0.1:", "127.0.0.1:70000",
					  "127.0.0.1:x",    "::1",        "127.0.0.1.evil:80"};
	struct listen l;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(listen_parse(bad[i], &l, &e), E_VALIDATION);
}

static void
the_token_is_made_once_and_kept_private(void **state)
{
	char dir[] = "/tmp/holdfast-test-XXXXXX", path[64], first[TOKEN_TEXT], again[TOKEN_TEXT];
	struct stat st;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/token", dir);
	assert_int_equal(token_load(path, first, &e), 0);
	assert_int_equal(strlen(first), 64);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(token_load(path, again, &e), 0);
	assert_string_equal(first, again);

	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(token_load(path, again, &e), E_CONFIG);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(token_load(path, again, &e), E_CONFIG);
	unlink(path);
	assert_int_equal(rmdir(dir), 0); /* nothing else was left there */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(addresses_are_read_in_every_usual_form),
	    cmocka_unit_test(what_is_no_address_is_refused),
	    cmocka_unit_test(the_token_is_made_once_and_kept_private),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
