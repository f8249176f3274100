/* test_watch.c - the screen's text, and which key answers which question. */

#include "unit.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/watch.h"

/* ---- keys: what the model would do is noted here ---- */

static struct {
	struct json_doc *question;
	unsigned posts;
	bool call_over;
	char target[256], body[256], note[256];
} seen;

const struct json *
watch_question(struct watch *w, size_t *at, size_t *count)
{
	(void)w;
	(void)at;
	(void)count;
	return seen.question ? json_root(seen.question) : NULL;
}

const struct json *
watch_rows(const struct watch *w, enum watch_part part)
{
	(void)w;
	(void)part;
	return NULL;
}

void
watch_say(struct watch *w, const char *fmt, ...)
{
	va_list ap;

	(void)w;
	va_start(ap, fmt);
	vsnprintf(seen.note, sizeof(seen.note), fmt, ap);
	va_end(ap);
}

bool
watch_post(struct watch *w, const char *target, struct str body, const char *done)
{
	(void)w;
	(void)done;
	seen.posts++;
	snprintf(seen.target, sizeof(seen.target), "%s", target);
	snprintf(seen.body, sizeof(seen.body), "%.*s", STR_ARG(body));
	return true;
}

void
watch_next_question(struct watch *w)
{
	(void)w;
}

size_t
watch_call_find(const struct watch *w, const char *id)
{
	(void)w;
	return id[0] && !seen.call_over ? 0 : 1;
}

size_t
watch_call_count(const struct watch *w)
{
	(void)w;
	return 1;
}

void
watch_next_call(struct watch *w, int step)
{
	(void)step;
	strcpy(w->call, seen.call_over ? "call_2" : "call_1");
}

static void
ask(struct watch *w, const char *question, uint64_t seen_ms)
{
	json_doc_unref(seen.question);
	memset(&seen, 0, sizeof(seen));
	*w = (struct watch){0};
	if (question)
		assert_int_equal(json_parse(str_of(question), &json_door, &seen.question, NULL), 0);
	if (question)
		strcpy(w->drawn, "Q1");
	w->drawn_ms = clock_mono_ms() - seen_ms;
}

#define QUESTION "{\"confirmation_request_id\":\"Q1\",\"once_only\":false}"
#define OTHER "{\"confirmation_request_id\":\"Q2\",\"once_only\":false}"
#define ALONE "{\"confirmation_request_id\":\"Q1\",\"once_only\":true}"
#define LONG_AGO 100000

static void
a_key_answers_the_question_that_was_seen(void **state)
{
	static const struct {
		int key;
		const char *decision, *scope;
	} keys[] = {{'a', "allow", "once"},
		    {'s', "allow", "session"},
		    {'W', "allow", "workspace"},
		    {'d', "deny", "once"}};
	struct watch w;
	char expected[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		ask(&w, QUESTION, LONG_AGO);
		watch_key(&w, keys[i].key);
		assert_int_equal(seen.posts, 1);
		assert_string_equal(seen.target, "/confirmations/Q1");
		snprintf(expected, sizeof(expected),
			 "{\"decision\":\"%s\",\"scope\":\"%s\",\"by\":\"holdfast watch\"}",
			 keys[i].decision, keys[i].scope);
		assert_string_equal(seen.body, expected);
		watch_key(&w, keys[i].key); /* it is on its way out */
		assert_int_equal(seen.posts, 1);
	}
	ask(&w, NULL, LONG_AGO);
}

static void
no_key_answers_what_was_not_seen(void **state)
{
	struct watch w;

	(void)state;
	for (const char *k = "asWd"; *k; k++) {
		ask(&w, QUESTION, 0); /* just drawn */
		watch_key(&w, *k);
		assert_int_equal(seen.posts, 0);
		assert_non_null(strstr(seen.note, "just appeared"));
		ask(&w, OTHER, LONG_AGO); /* another is drawn than is known */
		watch_key(&w, *k);
		assert_int_equal(seen.posts, 0);
		ask(&w, QUESTION, LONG_AGO); /* nothing is drawn of it */
		w.drawn[0] = '\0';
		watch_key(&w, *k);
		assert_int_equal(seen.posts, 0);
		ask(&w, QUESTION, LONG_AGO); /* it is below the help */
		w.help = true;
		watch_key(&w, *k);
		assert_int_equal(seen.posts, 0);
		ask(&w, NULL, LONG_AGO);
		watch_key(&w, *k);
		assert_int_equal(seen.posts, 0);
	}
	w = (struct watch){.drawn = "Q1", .drawn_ms = 1000};
	assert_false(watch_may_answer(&w, 1000 + WATCH_SEEN_MS - 1));
	assert_true(watch_may_answer(&w, 1000 + WATCH_SEEN_MS));
}

static void
what_is_asked_each_time_is_allowed_once(void **state)
{
	struct watch w;

	(void)state;
	ask(&w, ALONE, LONG_AGO);
	watch_key(&w, 's');
	watch_key(&w, 'W');
	assert_int_equal(seen.posts, 0);
	watch_key(&w, 'a');
	assert_int_equal(seen.posts, 1);
	ask(&w, NULL, 0);
}

static void
a_call_is_marked_before_it_is_cancelled(void **state)
{
	struct watch w;

	(void)state;
	ask(&w, NULL, 0);
	watch_key(&w, 'x');
	assert_int_equal(seen.posts, 0);
	watch_key(&w, 'x');
	assert_int_equal(seen.posts, 1);
	assert_string_equal(seen.target, "/calls/call_1/cancel");
	/* Issue 6: one that is over is marked no more. */
	seen.call_over = true;
	watch_key(&w, 'x');
	assert_int_equal(seen.posts, 1);
	assert_string_equal(w.call, "call_2");
}

/* ---- text ---- */

static const char *
line_of(const struct page *p, size_t i)
{
	static char text[512];

	assert_true(i < p->count);
	snprintf(text, sizeof(text), "%.*s", (int)p->lines[i].len, p->text.ptr + p->lines[i].at);
	return text;
}

static void
hostile_text_becomes_visible(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
	    {"plain ä 字", "plain ä 字"},
	    {"\033[2J\033]0;x\007", "\\e[2J\\e]0;x\\x07"},
	    {"a\u202eb\u2066c\u200bd", "a\\u{202e}b\\u{2066}c\\u{200b}d"},
	    {"\xc2\x9b"
	     "31m \xff \r\b\x7f",
	     "\\u{9b}31m \\xff \\r\\x08\\x7f"},
	    {"\n\t", "\\n\\t"},
	    {"\ue000 \U000f0000",
	     NULL}, /* of nobody's use: printed or told, but as long as we think */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = BUF_INIT(4096);
		cells_safe(&out, str_of(cases[i].text), SAFE_LINE);
		if (cases[i].shown)
			assert_string_equal(buf_z(&out), cases[i].shown);
		for (size_t k = 0; k < out.len; k++)
			assert_true((unsigned char)out.ptr[k] >= 0x20 && out.ptr[k] != 0x7f);
		buf_done(&out);
	}
}

static void
lines_are_wrapped_to_the_width(void **state)
{
	struct page p = {0};

	(void)state;
	page_begin(&p, 10);
	page_add(&p, INK_PLAIN, S("0123456789abc\n\na\tb\n字字字字字字\n"));
	assert_int_equal(p.count, 6);
	assert_string_equal(line_of(&p, 0), "0123456789");
	assert_string_equal(line_of(&p, 1), "abc");
	assert_true(!p.lines[0].more && p.lines[1].more);
	assert_string_equal(line_of(&p, 2), "");
	assert_string_equal(line_of(&p, 3), "a       b");
	assert_string_equal(line_of(&p, 4), "字字字字字");
	assert_string_equal(line_of(&p, 5), "字");
	page_begin(&p, 0); /* however narrow, it ends */
	page_add(&p, INK_PLAIN, S("字字字"));
	assert_int_equal(p.count, 2);
	assert_false(p.cut);
	page_done(&p);
}

static void
a_diff_is_coloured_by_its_lines(void **state)
{
	static const enum ink inks[] = {INK_BOLD, INK_BOLD,  INK_CYAN, INK_PLAIN,
					INK_RED,  INK_GREEN, INK_RED,  INK_GREEN};
	struct page p = {0};

	(void)state;
	page_begin(&p, 80);
	/* The last two are lines of the file, though they look like names. */
	page_add_diff(&p,
		      S("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n-old\n+new\n--- a\n+++ b\n"));
	assert_int_equal(p.count, ARRAY_LEN(inks));
	for (size_t i = 0; i < p.count; i++)
		assert_int_equal(p.lines[i].ink, inks[i]);
	page_done(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_key_answers_the_question_that_was_seen),
	    cmocka_unit_test(no_key_answers_what_was_not_seen),
	    cmocka_unit_test(what_is_asked_each_time_is_allowed_once),
	    cmocka_unit_test(a_call_is_marked_before_it_is_cancelled),
	    cmocka_unit_test(hostile_text_becomes_visible),
	    cmocka_unit_test(lines_are_wrapped_to_the_width),
	    cmocka_unit_test(a_diff_is_coloured_by_its_lines),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
