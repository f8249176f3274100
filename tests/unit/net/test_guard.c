/* test_guard.c - closed addresses in every wrapping, and what lets them through. */

#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "net/guard.h"
#include "net/url.h"

static struct sockaddr_storage
address(const char *text, uint16_t port)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in *v4 = (void *)&ss;
	struct sockaddr_in6 *v6 = (void *)&ss;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return ss;
	}
	assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	return ss;
}

static bool
lets(const struct guard *g, const char *host, const char *text, uint16_t port)
{
	struct sockaddr_storage ss = address(text, port);

	return guard_lets(g, str_of(host), (struct sockaddr *)&ss);
}

static bool
is_public(const char *text)
{
	struct sockaddr_storage ss = address(text, 80);

	return guard_is_public((struct sockaddr *)&ss);
}

static void
closed_networks_are_closed_to_their_edges(void **state)
{
	static const char *const closed[] = {
	    "0.0.0.0",
	    "0.255.255.255",
	    "10.0.0.0",
	    "10.255.255.255",
	    "100.64.0.0",
	    "100.127.255.255",
	    "127.0.0.1",
	    "127.255.255.255",
	    "169.254.169.254",
	    "172.16.0.0",
	    "172.31.255.255",
	    "192.0.0.1",
	    "192.0.2.1",
	    "192.88.99.1",
	    "192.168.255.255",
	    "198.18.0.0",
	    "198.19.255.255",
	    "198.51.100.1",
	    "203.0.113.1",
	    "224.0.0.1",
	    "239.255.255.255",
	    "240.0.0.0",
	    "255.255.255.255",
	    "::",
	    "::1",
	    "::127.0.0.1",
	    "::8.8.8.8",
	    "::ffff:10.0.0.1",
	    "::ffff:0:7f00:1",
	    "64:ff9b::7f00:1",
	    "64:ff9b:1::808:808",
	    "2002:7f00:1::",
	    "2002:a00:1::1",
	    "2001::1",
	    "2001:db8::1",
	    "2001:10::1",
	    "2001:20::1",
	    "3fff::1",
	    "5f00::1",
	    "100::1",
	    "fc00::1",
	    "fdff::1",
	    "fe80::1",
	    "febf::1",
	    "fec0::1",
	    "ff02::1",
	    "4000::1",
	};
	static const char *const open[] = {
	    "1.1.1.1",          "9.255.255.255",   "11.0.0.0",        "100.63.255.255",
	    "100.128.0.0",      "126.255.255.255", "128.0.0.0",       "169.253.255.255",
	    "172.15.255.255",   "172.32.0.0",      "192.167.255.255", "198.17.255.255",
	    "198.20.0.0",       "223.255.255.255", "2606:4700::1111", "::ffff:8.8.8.8",
	    "64:ff9b::808:808", "2002:808:808::1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(closed); i++)
		if (is_public(closed[i]))
			fail_msg("%s is open", closed[i]);
	for (size_t i = 0; i < ARRAY_LEN(open); i++)
		if (!is_public(open[i]))
			fail_msg("%s is closed", open[i]);
}

static void
what_is_let_through_is_that_and_no_more(void **state)
{
	struct guard *g = NULL, *same = NULL;
	struct err e;

	(void)state;
	assert_int_equal(guard_new(&g, &e), 0);
	assert_false(lets(g, "x", "10.1.2.3", 80));
	assert_true(lets(g, "x", "1.1.1.1", 80));
	assert_int_equal(guard_allow(g, S("10.1.0.0/16"), &e), 0);
	assert_int_equal(guard_allow(g, S("db.internal:8080"), &e), 0);
	assert_int_equal(guard_allow(g, S("*.corp.example"), &e), 0);
	assert_int_equal(guard_allow(g, S("[fd00::1]:90"), &e), 0);
	assert_int_equal(guard_allow(g, S("fe80::/10"), &e), 0);
	assert_true(lets(g, "x", "10.1.2.3", 80));
	assert_true(lets(g, "x", "::ffff:10.1.2.3", 80));
	assert_false(lets(g, "x", "64:ff9b::a01:203", 80)); /* a tunnel is another place */
	assert_false(lets(g, "x", "10.2.0.1", 80));
	assert_true(lets(g, "DB.internal", "127.0.0.1", 8080));
	assert_true(lets(g, "db.internal.", "127.0.0.1", 8080));
	assert_false(lets(g, "db.internal", "127.0.0.1", 8081));
	assert_false(lets(g, "xdb.internal", "127.0.0.1", 8080));
	assert_true(lets(g, "a.corp.example", "192.168.0.1", 1));
	assert_false(lets(g, "corp.example", "192.168.0.1", 1));
	assert_false(lets(g, "evilcorp.example", "192.168.0.1", 1));
	assert_true(lets(g, "x", "fd00::1", 90));
	assert_false(lets(g, "x", "fd00::1", 91));
	assert_true(lets(g, "x", "fe80::5", 1));
	assert_int_equal(guard_new(&same, &e), 0);
	assert_false(guard_same(g, same));
	assert_int_equal(guard_allow_same(same, g, &e), 0);
	assert_true(guard_same(g, same));
	guard_allow_private(same);
	assert_true(lets(same, "x", "127.0.0.1", 1));
	guard_unref(g);
	guard_unref(same);
}

static void
what_is_neither_network_nor_host_is_refused(void **state)
{
	static const char *const bad[] = {"",           "10.0.0.0/33", "a b", "a:b",
					  "a:0",        "a:70000",     "*",   "http://a",
					  "10.0.0.0/x", "[::1",        "a/b"};
	struct guard *g = NULL;
	struct err e;

	(void)state;
	assert_int_equal(guard_new(&g, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (guard_allow(g, str_of(bad[i]), &e) != E_VALIDATION)
			fail_msg("'%s' was taken", bad[i]);
	guard_unref(g);
}

static void
addresses_are_read_in_one_way(void **state)
{
	static const char *const bad[] = {
	    "ftp://a/",         "//a/",          "http:///x",       "http://a b/",
	    "http://a@b/",      "http://a:b@c/", "http://a#x",      "http://a\\@b/",
	    "http://[::1/",     "http://a:0/",   "http://a:99999/", "http://a:/x",
	    "http://\xc3\xbc/", "http://a/\n",   "http://a/<",      "javascript:x",
	    "http://[a%25b]/",
	};
	struct url u;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (url_split(str_of(bad[i]), &u, &e) != E_VALIDATION)
			fail_msg("'%s' was taken", bad[i]);
	assert_int_equal(url_split(S("HTTPS://a.b:8443/c/d?e=f?g"), &u, &e), 0);
	assert_true(u.secure && u.port == 8443 && str_is(u.host, "a.b") && str_is(u.path, "/c/d") &&
		    str_is(u.query, "e=f?g") && str_is(u.authority, "a.b:8443"));
	assert_int_equal(url_split(S("http://[::1]?x"), &u, &e), 0);
	assert_true(u.port == 80 && str_is(u.host, "::1") && u.path.len == 0);
}

static void
references_are_resolved(void **state)
{
	static const struct {
		const char *reference, *is;
	} cases[] = {
	    {"/x", "https://a.b:1/x"},
	    {"x?y", "https://a.b:1/c/x?y"},
	    {"?z", "https://a.b:1/c/d?z"},
	    {"//q/r", "https://q/r"},
	    {"http://o/p#f", "http://o/p"},
	    {"", "https://a.b:1/c/d?e"},
	    {" /blank ", "https://a.b:1/blank"},
	    {"file:///etc", NULL},
	    {"//u@h/", NULL},
	    {"http://a\\b", NULL},
	};
	struct buf out = BUF_INIT(1024);
	struct url base;
	struct err e;

	(void)state;
	assert_int_equal(url_split(S("https://a.b:1/c/d?e"), &base, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int code = url_resolve(&base, str_of(cases[i].reference), &out, &e);
		assert_int_equal(code, cases[i].is ? 0 : E_VALIDATION);
		if (cases[i].is)
			assert_string_equal(buf_z(&out), cases[i].is);
	}
	buf_done(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(closed_networks_are_closed_to_their_edges),
	    cmocka_unit_test(what_is_let_through_is_that_and_no_more),
	    cmocka_unit_test(what_is_neither_network_nor_host_is_refused),
	    cmocka_unit_test(addresses_are_read_in_one_way),
	    cmocka_unit_test(references_are_resolved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
