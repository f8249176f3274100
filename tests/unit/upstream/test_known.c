/* test_known.c - what is remembered: files, pins, what has gone and comes back. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "upstream/inside.h"

static bool
take(struct known *k, const char *list)
{
	struct err e;
	bool new;

	if (known__take(k, LIST_TOOLS, str_of(list), &new, &e) < 0)
		fail_msg("%s", e.text);
	return new;
}

#define A1 "{\"name\":\"a\",\"inputSchema\":{},\"x\":1}"
#define A1_OTHERWISE "{\"x\":1.0,\"inputSchema\":{},\"name\":\"a\"}"
#define A2 "{\"name\":\"a\",\"inputSchema\":{},\"x\":2}"
#define B "{\"name\":\"b\",\"inputSchema\":{}}"

static void
names_become_files(void **state)
{
	static const struct {
		const char *name, *file;
	} rows[] = {
	    {"fs", "/d/fs.json"},           {"a.b-c_D9", "/d/a.b-c_D9.json"},
	    {"..", "/d/%2E..json"},         {"../x", "/d/%2E.%2Fx.json"},
	    {"a/b", "/d/a%2Fb.json"},       {"a%2Fb", "/d/a%252Fb.json"},
	    {"\xc3\xa9", "/d/%C3%A9.json"},
	};
	char path[LIMIT_PATH], other[LIMIT_PATH], name[401] = "";
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(known__path("/d", str_of(rows[i].name), path, &e), 0);
		assert_string_equal(path, rows[i].file);
	}
	memset(name, 'n', sizeof(name) - 1);
	assert_int_equal(known__path("/d", str_of(name), path, &e), 0);
	assert_true(strlen(path) < 255);
	name[sizeof(name) - 2] = 'm';
	assert_int_equal(known__path("/d", str_of(name), other, &e), 0);
	assert_string_not_equal(path, other);
}

static void
the_same_in_other_words_is_the_same(void **state)
{
	struct known k = {0};

	(void)state;
	assert_true(take(&k, "[" B "," A1 "," A1 "]")); /* in no order, and one twice */
	assert_int_equal(k.count, 2);
	assert_true(str_is(k.tools[0].name, "a"));
	assert_false(take(&k, "[" A1_OTHERWISE "," B "]"));
	assert_int_equal(k.changed, 0);
	known__done(&k);
}

static void
what_was_seen_first_counts(void **state)
{
	struct known k = {0};
	struct err e;
	char pin[DIGEST_TEXT];

	(void)state;
	take(&k, "[" A1 "," B "]");
	memcpy(pin, known__tool(&k, S("a"))->pin, sizeof(pin));
	assert_true(take(&k, "[" A2 "," B "]"));
	assert_int_equal(k.changed, 1);
	assert_string_equal(known__tool(&k, S("a"))->pin, pin);
	assert_int_equal(known__accept(&k, S("b"), &e), E_NOT_FOUND);
	assert_int_equal(known__accept(&k, S("nothing"), &e), E_NOT_FOUND);
	/* Gone, and back in its old form: nothing has happened. */
	assert_true(take(&k, "[" B "]"));
	assert_null(known__tool(&k, S("a")));
	assert_int_equal(known__accept(&k, S("a"), &e), E_NOT_FOUND);
	assert_true(take(&k, "[" A1 "," B "]"));
	assert_null(known__tool(&k, S("a"))->changed);
	/* Gone, and back as another. */
	take(&k, "[]");
	assert_int_equal(k.count, 0);
	take(&k, "[" A2 "]");
	assert_non_null(known__tool(&k, S("a"))->changed);
	assert_int_equal(known__accept(&k, (struct str){NULL, 0}, &e), 0);
	assert_null(known__tool(&k, S("a"))->changed);
	assert_string_not_equal(known__tool(&k, S("a"))->pin, pin);
	assert_int_equal(known__accept(&k, (struct str){NULL, 0}, &e), 0); /* there is nothing */
	known__done(&k);
}

#define A_UNFIT "{\"name\":\"a\",\"inputSchema\":{\"type\":\"string\"}}"
#define A_UNFIT_TOO "{\"name\":\"a\",\"inputSchema\":[]}"

/* Nobody was offered it, so nobody has accepted it. */
static void
test_5_a_tool_is_pinned_when_it_is_first_fit(void **state)
{
	struct known k = {0}, back = {0};
	struct buf text = BUF_INIT(MIB);
	char path[] = "/tmp/holdfast-known-XXXXXX";
	struct err e;

	(void)state;
	take(&k, "[" A_UNFIT "," B "]");
	take(&k, "[" A_UNFIT_TOO "," B "]");
	assert_false(take(&k, "[" A_UNFIT_TOO "," B "]"));
	assert_int_equal(k.changed, 0);
	take(&k, "[" B "]"); /* it is not remembered either */
	take(&k, "[" A_UNFIT "," B "]");
	/* Also when another is accepted meanwhile, and by the file. */
	take(&k, "[" A_UNFIT ",{\"name\":\"b\",\"inputSchema\":{},\"x\":1}]");
	assert_int_equal(known__accept(&k, S("b"), &e), 0);
	known__write(&k, S("n"), S("digest"), &text);
	int fd = mkstemp(path);
	assert_true(write(fd, text.ptr, text.len) == (ssize_t)text.len);
	close(fd);
	assert_int_equal(known__load(&back, path, S("digest"), &e), 0);
	take(&back, "[" A1 "]");
	assert_null(known__tool(&back, S("a"))->changed);
	assert_false(known__tool(&back, S("a"))->unfit);
	/* From now on it is as every other. */
	take(&back, "[" A2 "]");
	assert_non_null(known__tool(&back, S("a"))->changed);
	unlink(path);
	known__done(&k);
	known__done(&back);
	buf_done(&text);
}

/* What was offered once does not become new by what it is in between. */
static void
test_5_what_was_fit_once_stays_pinned(void **state)
{
	struct known k = {0};
	struct err e;

	(void)state;
	take(&k, "[" A1 "]");
	take(&k, "[" A_UNFIT "]");
	assert_non_null(known__tool(&k, S("a"))->changed);
	take(&k, "[" A2 "]");
	assert_non_null(known__tool(&k, S("a"))->changed);
	take(&k, "[]");
	take(&k, "[" A_UNFIT "]");
	assert_non_null(known__tool(&k, S("a"))->changed);
	/* Not even when a person has taken that. */
	assert_int_equal(known__accept(&k, S("a"), &e), 0);
	assert_null(known__tool(&k, S("a"))->changed);
	take(&k, "[" A2 "]");
	assert_non_null(known__tool(&k, S("a"))->changed);
	known__done(&k);
}

static void
a_file_says_what_was_written(void **state)
{
	struct known k = {0}, back = {0}, other = {0};
	struct buf text = BUF_INIT(MIB), again = BUF_INIT(MIB);
	char path[] = "/tmp/holdfast-known-XXXXXX";
	struct err e;
	bool new;

	(void)state;
	take(&k, "[" A1 "," B "]");
	take(&k, "[" A2 "]");
	assert_int_equal(known__take(&k, LIST_PROMPTS, S("[{\"name\":\"p\"}]"), &new, &e), 0);
	assert_int_equal(known__about(&k, "2025-11-25", NULL, NULL, S("be kind"), &e), 0);
	k.has_era = true;
	k.era = ERA_LEGACY;
	k.era_at = 1234;
	known__write(&k, S("n"), S("digest"), &text);
	int fd = mkstemp(path);
	assert_true(write(fd, text.ptr, text.len) == (ssize_t)text.len);
	close(fd);
	assert_int_equal(known__load(&back, path, S("digest"), &e), 0);
	known__write(&back, S("n"), S("digest"), &again);
	assert_string_equal(buf_z(&again), buf_z(&text));
	assert_int_equal(back.changed, 1);
	assert_int_equal(known__load(&other, path, S("another"), &e), 0);
	assert_false(other.has_era); /* another program: it is asked anew */
	take(&back, "[" B "]");      /* the pin of what had gone is still there */
	assert_null(known__tool(&back, S("b"))->changed);
	unlink(path);
	known__done(&k);
	known__done(&back);
	known__done(&other);
	buf_done(&text);
	buf_done(&again);
}

/* A server that calls its tools otherwise each time does not fill the disk. */
static void
pins_are_bounded(void **state)
{
	struct known k = {0};
	struct buf list = BUF_INIT(16 * MIB);

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		buf_reset(&list);
		for (unsigned i = 0; i < LIMIT_UPSTREAM_ITEMS; i++)
			buf_addf(&list, "%c{\"name\":\"%u-%u\",\"inputSchema\":{}}", i ? ',' : '[',
				 round, i);
		buf_addc(&list, ']');
		take(&k, buf_z(&list));
	}
	assert_int_equal(k.count, 0); /* the third time there was no room */
	known__done(&k);
	buf_done(&list);
}

/* `count` tools NAME-0... of so many bytes each. */
static void
take_large(struct known *k, struct buf *list, const char *name, unsigned count, size_t bytes)
{
	buf_reset(list);
	for (unsigned i = 0; i < count; i++) {
		buf_addf(list, "%c{\"name\":\"%s-%u\",\"inputSchema\":{},\"x\":\"", i ? ',' : '[',
			 name, i);
		for (size_t n = 0; n < bytes; n++)
			buf_addc(list, 'x');
		buf_addz(list, "\"}");
	}
	buf_addc(list, ']');
	assert_false(buf_failed(list));
	take(k, buf_z(list));
}

static size_t
written_bytes(const struct known *k)
{
	struct buf text = BUF_INIT(LIMIT_UPSTREAM_KNOWN);

	known__write(k, S("n"), S("digest"), &text);
	assert_false(buf_failed(&text));
	size_t bytes = text.len;
	buf_done(&text);
	return bytes;
}

/* Issue 5: definitions that vanish are forgotten when they are too many; their pins never. */
static void
test_5_what_has_gone_takes_little_room(void **state)
{
	struct known k = {0};
	struct buf list = BUF_INIT(LIMIT_UPSTREAM_LIST_BYTES);
	struct err e;
	char name[16];

	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		snprintf(name, sizeof(name), "r%u", round);
		take_large(&k, &list, name, 7, MIB);
		assert_int_equal(k.count, 7);
		assert_int_equal(k.left_out, 0);
		assert_true(written_bytes(&k) <= LIMIT_UPSTREAM_SHELF + KIB);
	}
	/* Back as it was: the pin proves it, and it is listed as it is. */
	take_large(&k, &list, "r0", 7, MIB);
	assert_int_equal(k.count, 7);
	assert_int_equal(k.changed, 0);
	assert_int_equal(json_str(json_get(k.tools[0].definition, S("x"))).len, MIB);
	/* Back as another: shown, and not taken; nor is it when it stays so. */
	for (int i = 0; i < 2; i++) {
		take_large(&k, &list, "r1", 7, 1);
		assert_int_equal(k.count, 7);
		assert_int_equal(k.changed, 7);
		assert_null(json_get(k.tools[0].definition, S("x")));
		assert_true(str_is(json_str(json_get(k.tools[0].changed, S("x"))), "x"));
	}
	/* And what it was is known again when it comes back. */
	take_large(&k, &list, "r1", 7, MIB);
	assert_int_equal(k.changed, 0);
	assert_int_equal(json_str(json_get(k.tools[0].definition, S("x"))).len, MIB);
	take_large(&k, &list, "r2", 7, 1);
	assert_int_equal(known__accept(&k, (struct str){NULL, 0}, &e), 0);
	assert_int_equal(k.changed, 0);
	known__done(&k);
	buf_done(&list);
}

/* Issue 5: short values take more room in memory than they do as text. */
static void
test_5_memory_counts_and_not_text_alone(void **state)
{
	struct known k = {0};
	struct buf list = BUF_INIT(LIMIT_UPSTREAM_LIST_BYTES);
	struct err e;
	bool new;

	(void)state;
	buf_addz(&list, "[" B ",{\"name\":\"a\",\"inputSchema\":{},\"x\":[0");
	while (list.len < LIMIT_UPSTREAM_LIST_BYTES - 8)
		buf_addz(&list, ",0");
	buf_addz(&list, "]}]");
	take(&k, "[" A1 "]");
	assert_int_equal(known__take(&k, LIST_TOOLS, buf_str(&list), &new, &e), E_TOO_LARGE);
	assert_int_equal(k.count, 1); /* as it was */
	assert_int_equal(k.left_out, 2);
	assert_true(json_doc_bytes(k.shelf.doc) < KIB);
	known__done(&k);
	buf_done(&list);
}

/* Issue 5: nor does what a server shrinks again when it was accepted; what is new is left out. */
static void
test_5_a_shelf_that_is_full_takes_nothing_new(void **state)
{
	struct known k = {0}, back = {0};
	struct buf list = BUF_INIT(LIMIT_UPSTREAM_LIST_BYTES),
		   text = BUF_INIT(LIMIT_UPSTREAM_KNOWN);
	char path[] = "/tmp/holdfast-known-XXXXXX";
	struct err e;
	bool new;

	(void)state;
	for (unsigned round = 0; round < 6; round++) {
		buf_reset(&list);
		for (unsigned i = 0; i <= round; i++) {
			buf_addf(&list, "%c{\"name\":\"%u\",\"inputSchema\":{},\"x\":\"",
				 i ? ',' : '[', i);
			for (size_t n = 0; i == round && n < 7 * MIB; n++)
				buf_addc(&list, 'x');
			buf_addz(&list, "\"}");
		}
		buf_addc(&list, ']');
		take(&k, buf_z(&list));
		assert_int_equal(k.count + k.left_out, round + 1);
	}
	assert_int_equal(k.count, 3); /* 24 MiB */
	assert_int_equal(k.changed, 3);
	/* The largest that there is can be read again. */
	buf_reset(&list);
	buf_addz(&list, "[\"");
	while (list.len < LIMIT_UPSTREAM_LIST_BYTES - 2)
		buf_addc(&list, 'x');
	buf_addz(&list, "\"]");
	for (int i = LIST_PROMPTS; i < LIST__COUNT; i++)
		assert_int_equal(known__take(&k, (enum upstream_list)i, buf_str(&list), &new, &e),
				 0);
	known__write(&k, S("n"), S("digest"), &text);
	assert_false(buf_failed(&text));
	int fd = mkstemp(path);
	assert_true(write(fd, text.ptr, text.len) == (ssize_t)text.len);
	close(fd);
	assert_int_equal(known__load(&back, path, S("digest"), &e), 0);
	assert_int_equal(back.count, 3);
	unlink(path);
	known__done(&k);
	known__done(&back);
	buf_done(&list);
	buf_done(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_become_files),
	    cmocka_unit_test(the_same_in_other_words_is_the_same),
	    cmocka_unit_test(what_was_seen_first_counts),
	    cmocka_unit_test(a_file_says_what_was_written),
	    cmocka_unit_test(test_5_a_tool_is_pinned_when_it_is_first_fit),
	    cmocka_unit_test(test_5_what_was_fit_once_stays_pinned),
	    cmocka_unit_test(pins_are_bounded),
	    cmocka_unit_test(test_5_what_has_gone_takes_little_room),
	    cmocka_unit_test(test_5_memory_counts_and_not_text_alone),
	    cmocka_unit_test(test_5_a_shelf_that_is_full_takes_nothing_new),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
