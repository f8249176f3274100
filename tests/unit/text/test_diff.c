/* test_diff.c - diffs say what changed, and applying one gives the new text. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "text/diff.h"

static void
expect(struct str before, struct str after, const char *diff)
{
	struct buf b = BUF_INIT(LIMIT_DIFF_BYTES);

	assert_true(diff_unified(&b, S("f"), before, after));
	assert_false(buf_failed(&b));
	assert_string_equal(buf_z(&b), diff);
	buf_done(&b);
}

static void
equal_texts_give_nothing(void **state)
{
	(void)state;
	expect(S(""), S(""), "");
	expect(S("a\nb"), S("a\nb"), "");
}

static void
a_change_is_shown_with_three_lines_around_it(void **state)
{
	(void)state;
	expect(S("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), S("1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
	       "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

static void
an_absent_side_is_dev_null(void **state)
{
	const struct str none = {NULL, 0};

	(void)state;
	expect(none, S("a\nb\n"), "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
	expect(S("a\n"), none, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
	expect(none, S(""), "--- /dev/null\n+++ b/f\n");
}

static void
a_missing_last_newline_is_said(void **state)
{
	(void)state;
	expect(S("a\nb"), S("a\nb\n"),
	       "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
	expect(S("x"), S("y"),
	       "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n"
	       "+y\n\\ No newline at end of file\n");
}

static void
changes_far_apart_are_hunks_of_their_own(void **state)
{
	(void)state;
	expect(S("a\n1\n2\n3\n4\n5\n6\n7\nb\n"), S("A\n1\n2\n3\n4\n5\n6\n7\nB\n"),
	       "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
	       "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
	expect(S("a\n1\n2\n3\n4\n5\n6\nb\n"), S("A\n1\n2\n3\n4\n5\n6\nB\n"),
	       "--- a/f\n+++ b/f\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
}

static void
an_insertion_at_the_end_has_only_context_above(void **state)
{
	(void)state;
	expect(S("1\n2\n3\n4\n"), S("1\n2\n3\n4\n5\n"),
	       "--- a/f\n+++ b/f\n@@ -2,3 +2,4 @@\n 2\n 3\n 4\n+5\n");
}

static void
a_name_cannot_forge_lines(void **state)
{
	struct buf b = BUF_INIT(1000);

	(void)state;
	diff_unified(&b, S("x\n+forged"), S("a\n"), S("b\n"));
	assert_string_equal(buf_z(&b), "--- \"a/x\\012+forged\"\n+++ \"b/x\\012+forged\"\n"
				       "@@ -1 +1 @@\n-a\n+b\n");
	buf_done(&b);
}

static void
the_buffers_maximum_is_kept_and_the_rest_is_counted(void **state)
{
	struct buf b = BUF_INIT(400), after = BUF_INIT(MIB);

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_addf(&after, "line %d\n", i);
	assert_false(diff_unified(&b, S("f"), (struct str){NULL, 0}, buf_str(&after)));
	assert_false(buf_failed(&b));
	assert_true(str_ends(buf_str(&b), S(" more lines of this diff are not shown]\n")));
	struct diff_size size = diff_size(buf_str(&b));
	char note[80];
	snprintf(note, sizeof(note), "[%zu more lines", 1000 - size.added);
	assert_non_null(strstr(buf_z(&b), note));
	buf_done(&b);
	buf_done(&after);
}

static void
a_line_too_long_is_shown_in_part_and_those_behind_it_whole(void **state)
{
	struct buf b = BUF_INIT(8 * KIB), after = BUF_INIT(MIB);

	(void)state;
	buf_addz(&after, "first\n");
	for (int i = 0; i < 5000; i++)
		buf_addz(&after, "\xc3\xa9");
	buf_addz(&after, "\nlast\n");
	assert_false(diff_unified(&b, S("f"), (struct str){NULL, 0}, buf_str(&after)));
	assert_false(buf_failed(&b));
	assert_true(str_is_utf8(buf_str(&b)));
	assert_true(str_ends(buf_str(&b), S(" more bytes of this line are not shown]\n+last\n")));
	assert_true(b.len > 3 * KIB);
	assert_int_equal(diff_size(buf_str(&b)).added, 3);
	buf_done(&b);
	buf_done(&after);
}

static void
too_many_lines_become_one_hunk(void **state)
{
	struct buf b = BUF_INIT(4 * MIB), before = BUF_INIT(MIB), after = BUF_INIT(MIB);

	(void)state;
	for (int i = 0; i < LIMIT_DIFF_LINES; i++) {
		buf_addf(&before, "%d\n", i);
		buf_addf(&after, "%d\n", i % 2 ? i : -i - 1);
	}
	diff_unified(&b, S("f"), buf_str(&before), buf_str(&after));
	assert_false(buf_failed(&b));
	struct diff_size size = diff_size(buf_str(&b));
	assert_int_equal(size.added, LIMIT_DIFF_LINES - 1); /* the last one is equal */
	assert_int_equal(size.removed, LIMIT_DIFF_LINES - 1);
	buf_done(&b);
	buf_done(&before);
	buf_done(&after);
}

static void
sizes_do_not_count_the_names(void **state)
{
	struct buf b = BUF_INIT(1000);

	(void)state;
	diff_unified(&b, S("f"), S("-- a\nx\n"), S("++ b\n++ c\nx\n"));
	struct diff_size size = diff_size(buf_str(&b));
	assert_int_equal(size.added, 2);
	assert_int_equal(size.removed, 1);
	buf_done(&b);
}

/* A small applier, strict: every context and removed line must be there. */
static struct str
line_of(struct str *rest)
{
	ptrdiff_t at = str_index(*rest, '\n');
	struct str line = at < 0 ? *rest : str_upto(*rest, (size_t)at + 1);

	*rest = str_from(*rest, line.len);
	return line;
}

static void
apply(struct str diff, struct str before, struct buf *out)
{
	size_t at = 0;

	line_of(&diff), line_of(&diff);
	while (diff.len) {
		struct str line = line_of(&diff);
		if (line.ptr[0] == '@') {
			size_t start = 0, count = 1;
			sscanf(line.ptr, "@@ -%zu,%zu", &start, &count);
			for (size_t upto = count ? start - 1 : start; at < upto; at++)
				buf_add(out, line_of(&before));
			continue;
		}
		struct str text = str_from(line, 1);
		if (str_starts(diff, S("\\ No newline"))) {
			text.len--;
			line_of(&diff);
		}
		if (line.ptr[0] != '+') {
			assert_true(str_eq(text, line_of(&before)));
			at++;
		}
		if (line.ptr[0] != '-')
			buf_add(out, text);
	}
	buf_add(out, before);
}

static unsigned
chance(unsigned *seed, unsigned below)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 16) % below;
}

static void
text_make(struct buf *b, unsigned *seed)
{
	unsigned lines = chance(seed, 30), letters = 1 + chance(seed, 6);

	for (unsigned i = 0; i < lines; i++)
		buf_addf(b, "%c\n", 'a' + (int)chance(seed, letters));
	if (b->len && chance(seed, 4) == 0)
		b->len--; /* no newline at the end */
}

static void
applying_the_diff_of_random_texts_gives_the_new_one(void **state)
{
	struct buf before = BUF_INIT(1000), after = BUF_INIT(1000), diff = BUF_INIT(MIB),
		   result = BUF_INIT(1000);
	unsigned seed = 7;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		buf_reset(&before), buf_reset(&after), buf_reset(&diff), buf_reset(&result);
		text_make(&before, &seed);
		text_make(&after, &seed);
		diff_unified(&diff, S("f"), buf_str(&before), buf_str(&after));
		if (diff.len)
			apply(buf_str(&diff), buf_str(&before), &result);
		else
			buf_add(&result, buf_str(&before));
		assert_true(str_eq(buf_str(&result), buf_str(&after)));
	}
	buf_done(&before), buf_done(&after), buf_done(&diff), buf_done(&result);
}

/* Length of the longest common subsequence, the plain way. */
static size_t
common(struct str a, struct str b)
{
	static unsigned char table[40][40];
	struct str la[40], lb[40];
	size_t n = 0, m = 0;

	while (a.len)
		la[n++] = line_of(&a);
	while (b.len)
		lb[m++] = line_of(&b);
	for (size_t i = n + 1; i-- > 0;)
		for (size_t k = m + 1; k-- > 0;) {
			unsigned char best = 0;
			if (i < n && k < m && str_eq(la[i], lb[k]))
				best = (unsigned char)(table[i + 1][k + 1] + 1);
			else if (i < n && k < m)
				best = table[i + 1][k] > table[i][k + 1] ? table[i + 1][k]
									 : table[i][k + 1];
			table[i][k] = best;
		}
	return table[0][0];
}

static void
small_diffs_are_the_shortest(void **state)
{
	struct buf before = BUF_INIT(1000), after = BUF_INIT(1000), diff = BUF_INIT(MIB);
	unsigned seed = 99;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		buf_reset(&before), buf_reset(&after), buf_reset(&diff);
		text_make(&before, &seed);
		text_make(&after, &seed);
		diff_unified(&diff, S("f"), buf_str(&before), buf_str(&after));
		struct diff_size size = diff_size(buf_str(&diff));
		size_t lines = 0;
		for (struct str rest = buf_str(&before); rest.len; lines++)
			line_of(&rest);
		assert_int_equal(size.removed, lines - common(buf_str(&before), buf_str(&after)));
	}
	buf_done(&before), buf_done(&after), buf_done(&diff);
}

/* Nothing in common, as many lines as are compared: the work is bounded, the diff is true. */
static void
hopeless_texts_cost_bounded_work(void **state)
{
	struct buf b = BUF_INIT(4 * MIB), before = BUF_INIT(MIB), after = BUF_INIT(MIB),
		   result = BUF_INIT(MIB);

	(void)state;
	for (int i = 0; i < LIMIT_DIFF_LINES / 2; i++) {
		buf_addf(&before, "a%d\n", i);
		buf_addf(&after, "b%d\n", i);
	}
	diff_unified(&b, S("f"), buf_str(&before), buf_str(&after));
	apply(buf_str(&b), buf_str(&before), &result);
	assert_true(str_eq(buf_str(&result), buf_str(&after)));
	buf_done(&b), buf_done(&before), buf_done(&after), buf_done(&result);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_texts_give_nothing),
	    cmocka_unit_test(a_change_is_shown_with_three_lines_around_it),
	    cmocka_unit_test(an_absent_side_is_dev_null),
	    cmocka_unit_test(a_missing_last_newline_is_said),
	    cmocka_unit_test(changes_far_apart_are_hunks_of_their_own),
	    cmocka_unit_test(an_insertion_at_the_end_has_only_context_above),
	    cmocka_unit_test(a_name_cannot_forge_lines),
	    cmocka_unit_test(the_buffers_maximum_is_kept_and_the_rest_is_counted),
	    cmocka_unit_test(a_line_too_long_is_shown_in_part_and_those_behind_it_whole),
	    cmocka_unit_test(too_many_lines_become_one_hunk),
	    cmocka_unit_test(sizes_do_not_count_the_names),
	    cmocka_unit_test(applying_the_diff_of_random_texts_gives_the_new_one),
	    cmocka_unit_test(small_diffs_are_the_shortest),
	    cmocka_unit_test(hopeless_texts_cost_bounded_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
