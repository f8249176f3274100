/* test_sse.c - events are written so that nothing inside can forge another, and read by the
 * standard. */

#include "unit.h"

#include "base/err.h"
#include "base/limits.h"
#include "net/sse.h"

struct seen {
	unsigned count;
	struct buf all; /* id|type|text; for each */
};

/* Feed in pieces of a size, collecting events. */
static void
read_all(struct str bytes, size_t piece, struct seen *ret)
{
	struct sse_reader r;

	sse_reader_init(&r, 64 * KIB);
	*ret = (struct seen){.all = BUF_INIT(MIB)};
	while (bytes.len) {
		struct str part = str_upto(bytes, piece);
		size_t used;
		bool event;

		assert_int_equal(sse_reader_feed(&r, part, &used, &event), 0);
		assert_true(used > 0);
		if (event) {
			ret->count++;
			buf_addf(&ret->all, "%.*s|%.*s|", STR_ARG(buf_str(&r.id)),
				 STR_ARG(buf_str(&r.type)));
			buf_add(&ret->all, buf_str(&r.text));
			buf_addc(&ret->all, ';');
		}
		bytes = str_from(bytes, used);
	}
	sse_reader_done(&r);
}

static void
expect_events(struct str bytes, unsigned count, struct str all)
{
	for (size_t piece = 1; piece <= bytes.len; piece++) {
		struct seen s;

		read_all(bytes, piece, &s);
		assert_int_equal(s.count, count);
		assert_true(str_eq(buf_str(&s.all), all));
		buf_done(&s.all);
	}
}

static void
one_event_goes_in_and_comes_out(void **state)
{
	struct buf b = BUF_INIT(4096);

	(void)state;
	sse_write(&b, S("7"), S("tool.started"), S("{\"a\":1}"));
	assert_string_equal(buf_z(&b), "id: 7\nevent: tool.started\ndata: {\"a\":1}\n\n");
	expect_events(buf_str(&b), 1, S("7|tool.started|{\"a\":1};"));
	buf_reset(&b);
	sse_write(&b, (struct str){0}, (struct str){0}, S(""));
	assert_string_equal(buf_z(&b), "data: \n\n");
	expect_events(buf_str(&b), 1, S("||;"));
	buf_done(&b);
}

static const struct hostile {
	struct str id, type, text;
	struct str read; /* what a reader must make of it */
} hostiles[] = {
    {S("1"), S("t"), S("x\n\nevent: forged\ndata: {}\n\n"),
     S("1|t|x\n\nevent: forged\ndata: {}\n\n;")},
    {S("1"), S("t"), S("x\r\revent: forged\rdata: y"), S("1|t|x\n\nevent: forged\ndata: y;")},
    {S("1"), S("t"), S("x\r\n\r\nevent: forged\r\n"), S("1|t|x\n\nevent: forged\n;")},
    {S("1"), S("t"), S("\n"), S("1|t|\n;")},
    {S("1"), S("t"), S("\r\n\n\r"), S("1|t|\n\n\n;")},
    {S("1"), S("t"), S(" : leading blank"), S("1|t| : leading blank;")},
    {S("1"), S("t"), S("a\0b"), S("1|t|a\0b;")},
    {S("1"), S("t"), S("\xE2\x80\xA8\xC2\x85\v\f"), S("1|t|\xE2\x80\xA8\xC2\x85\v\f;")},
    {S("1\n\ndata: forged"), S("t"), S("x"), S("1data: forged|t|x;")},
    {S("1\0"), S("t"), S("x"), S("1|t|x;")},
    {S("1"), S("t\r\ndata: forged\n\n"), S("x"), S("1|tdata: forged|x;")},
};

static void
nothing_inside_an_event_can_forge_another(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hostiles); i++) {
		const struct hostile *x = &hostiles[i];
		struct buf b = BUF_INIT(4096);

		sse_write(&b, x->id, x->type, x->text);
		assert_false(buf_failed(&b));
		expect_events(buf_str(&b), 1, x->read);
		buf_done(&b);
	}
}

static void
streams_are_read_as_the_standard_says(void **state)
{
	(void)state;
	expect_events(S("\xEF\xBB\xBF"
			"data: a\n\n"),
		      1, S("||a;"));
	expect_events(S(": comment\n\ndata: a\n\n"), 1, S("||a;"));
	expect_events(S("data\n\ndata\ndata\n\ndata:"), 2, S("||;||\n;"));
	expect_events(S("data:a\n\ndata:  b\n\n"), 2, S("||a;|| b;"));
	expect_events(S("data: a\r\ndata: b\r\n\r\ndata: c\r\r"), 2, S("||a\nb;||c;"));
	expect_events(S("event: x\n\ndata: a\n\n"), 1, S("||a;")); /* no data: forgotten */
	expect_events(S("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"), 3,
		      S("1||a;1||b;||c;")); /* the id stays */
	expect_events(S("id: 1\n\nevent: x\nid: 2\n\n: 3\n\nid: 4"), 2,
		      S("1||;2|x|;")); /* issue 5: it counts without data, too */
	expect_events(S("id: 1\0\ndata: a\n\n"), 1, S("||a;"));
	expect_events(S("retry: 5\nunknown: x\ndata: a\n\n"), 1, S("||a;"));
	expect_events(S("data: cut off\n"), 0, S(""));
}

static void
the_time_to_come_again_is_read(void **state)
{
	static const struct {
		struct str bytes;
		uint64_t retry_ms;
	} cases[] = {
	    {S("data: x\n\n"), 0},
	    {S("retry: 500\n"), 500},
	    {S("retry:500\nid: 1\ndata:\n\ndata: y\n\n"), 500},
	    {S("retry: 500\nretry: 5s\nretry: -1\nretry\n"), 500},
	    {S("retry: 99999999999999999999999\n"), 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str rest = cases[i].bytes;
		struct sse_reader r;

		sse_reader_init(&r, KIB);
		while (rest.len) {
			size_t used;
			bool event;

			assert_int_equal(sse_reader_feed(&r, rest, &used, &event), 0);
			rest = str_from(rest, used);
		}
		assert_int_equal(r.retry_ms, cases[i].retry_ms);
		sse_reader_done(&r);
	}
}

static void
events_have_a_maximum(void **state)
{
	struct sse_reader r;
	size_t used;
	bool event;
	int rc = 0;

	(void)state;
	sse_reader_init(&r, 100);
	for (int i = 0; i < 20 && rc == 0; i++)
		rc = sse_reader_feed(&r, S("0123456789"), &used, &event);
	assert_int_equal(rc, E_TOO_LARGE);
	sse_reader_done(&r);
	sse_reader_init(&r, 100);
	rc = 0;
	for (int i = 0; i < 20 && rc == 0; i++)
		rc = sse_reader_feed(&r, S("data: 0123456789\n"), &used, &event);
	assert_int_equal(rc, E_TOO_LARGE);
	sse_reader_done(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_event_goes_in_and_comes_out),
	    cmocka_unit_test(nothing_inside_an_event_can_forge_another),
	    cmocka_unit_test(streams_are_read_as_the_standard_says),
	    cmocka_unit_test(the_time_to_come_again_is_read),
	    cmocka_unit_test(events_have_a_maximum),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
