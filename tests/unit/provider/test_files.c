/* test_files.c - the four tools on files, alone. */

#include "bench.h"

static void
read_file_gives_the_whole_file_as_it_is(void **state)
{
	struct bench *b = *state;

	put(b->sandbox, "ws/a", "one\ntwo\nthree");
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"a\"}");
	says(b, "one\ntwo\nthree");
	assert_string_equal(buf_z(&b->job->out.metadata),
			    "\"first_line\":1,\"last_line\":3,\"total_lines\":3");
	put(b->sandbox, "ws/empty", "");
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"empty\"}");
	says(b, "");
}

static void
read_file_takes_lines_from_offset_and_says_how_to_go_on(void **state)
{
	struct bench *b = *state;

	put(b->sandbox, "ws/a", "1\n2\n3\n4\n5\n");
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"a\",\"offset\":2,\"limit\":2}");
	says(b, "2\n3\n[lines 2-3 of 5; continue with offset=4]");
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"a\",\"offset\":4}");
	says(b, "4\n5\n");
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"a\",\"limit\":99}");
	says(b, "1\n2\n3\n4\n5\n");
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"a\",\"offset\":6}");
	fails(b, E_EXECUTION, "offset 6 is past the end: a has 5 lines");
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"a\",\"offset\":9223372036854775807}");
	assert_int_equal(b->job->out.err.code, E_EXECUTION);
}

static void
read_file_cuts_a_large_file_at_a_line(void **state)
{
	struct bench *b = *state;
	FILE *f = fopen(sandbox_path(b->sandbox, "ws/a"), "w");

	for (int i = 0; i < 12000; i++) /* 64 bytes a line: 4096 of them make 256 KiB */
		fprintf(f, "%063d\n", i);
	fclose(f);
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"a\"}");
	assert_true(str_ends(buf_str(&b->text),
			     S("4095\n[lines 1-4096 of 12000; continue with offset=4097]")));
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"a\",\"offset\":4097,\"limit\":1}");
	assert_true(str_ends(buf_str(&b->text),
			     S("4096\n[lines 4097-4097 of 12000; continue with offset=4098]")));
}

static void
read_file_cuts_a_line_that_is_too_long_between_characters(void **state)
{
	struct bench *b = *state;
	FILE *f = fopen(sandbox_path(b->sandbox, "ws/a"), "w");

	fputc('x', f);
	for (size_t i = 0; i < LIMIT_READ_TEXT / 2; i++)
		fputs("\xc3\xa9", f);
	fputs("\nnext\n", f);
	fclose(f);
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"a\"}");
	assert_non_null(strstr(buf_z(&b->text),
			       "\xc3\xa9[line 1 is cut: 262143 of its 262146 bytes are shown]"
			       "[lines 1-1 of 2; continue with offset=2]"));
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"a\",\"offset\":2}");
	says(b, "next\n");
}

static void
read_file_explains_what_it_cannot_read(void **state)
{
	struct bench *b = *state;

	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"notes.txt\"}");
	fails(b, E_EXECUTION, "no such file: notes.txt");
	bench_run(b, JOB_RUN, "read_file", "{\"path\":\"../secret\"}");
	fails(b, E_PERMISSION, "Path '../secret' escapes workspace boundary");
	assert_int_equal(b->job->out.content.len, 0);
}

static void
write_file_counts_bytes_and_records_the_path(void **state)
{
	struct bench *b = *state;

	bench_run(b, JOB_RUN, "write_file",
		  "{\"path\":\"./d//a\",\"content\":\"gr\u00fc\u00dfe\"}");
	says(b, "Wrote 7 bytes to ./d//a");
	assert_string_equal(buf_z(&b->job->out.modified), "\"d/a\"");
	assert_string_equal(got(b->sandbox, "ws/d/a"), "gr\u00fc\u00dfe");
	bench_run(b, JOB_RUN, "write_file", "{\"path\":\"d\",\"content\":\"\"}");
	fails(b, E_EXECUTION, "is a directory: d");
	assert_int_equal(b->job->out.modified.len, 0);
}

static void
write_file_previews_with_a_diff_and_without_an_effect(void **state)
{
	struct bench *b = *state;

	bench_run(b, JOB_PREVIEW, "write_file", "{\"path\":\"new/a\",\"content\":\"x\\n\"}");
	says(b, "");
	assert_string_equal(buf_z(&b->job->out.diff),
			    "--- /dev/null\n+++ b/new/a\n@@ -0,0 +1 @@\n+x\n");
	assert_string_equal(buf_z(&b->job->out.modified), "\"new/a\"");
	assert_int_equal(entries(b->sandbox), 0);
	put(b->sandbox, "ws/a", "x\n");
	bench_run(b, JOB_PREVIEW, "write_file", "{\"path\":\"a\",\"content\":\"y\\n\"}");
	assert_string_equal(buf_z(&b->job->out.diff), "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n");
	bench_run(b, JOB_PREVIEW, "write_file", "{\"path\":\"a\",\"content\":\"x\\n\"}");
	assert_int_equal(b->job->out.diff.len, 0);
	assert_string_equal(buf_z(&b->job->out.modified), "\"a\"");
	bench_run(b, JOB_PREVIEW, "write_file", "{\"path\":\"../x\",\"content\":\"x\\n\"}");
	fails(b, E_PERMISSION, "Path '../x' escapes workspace boundary");
	put(b->sandbox, "ws/bin", "\xff");
	bench_run(b, JOB_PREVIEW, "write_file", "{\"path\":\"bin\",\"content\":\"x\\n\"}");
	assert_string_equal(buf_z(&b->job->out.diff),
			    "[what is there now is not text; 2 bytes take its place]\n"
			    "--- a/bin\n+++ b/bin\n@@ -0,0 +1 @@\n+x\n");
	assert_false(b->job->out.diff_cut);
	assert_string_equal(got(b->sandbox, "ws/bin"), "\xff");
}

static void
write_file_says_that_its_diff_is_cut(void **state)
{
	struct bench *b = *state;
	struct buf input = BUF_INIT(MIB);

	buf_addz(&input, "{\"path\":\"a\",\"content\":\"");
	for (size_t i = 0; i < LIMIT_DIFF_BYTES; i++)
		buf_addc(&input, 'x');
	buf_addz(&input, "\\nthe end\\n\"}");
	bench_run(b, JOB_PREVIEW, "write_file", buf_z(&input));
	assert_true(b->job->out.diff_cut);
	assert_true(str_ends(buf_str(&b->job->out.diff), S("]\n+the end\n")));
	buf_done(&input);
}

static void
the_path_shown_is_the_place_that_is_written(void **state)
{
	struct bench *b = *state;

	mkdir(sandbox_path(b->sandbox, "ws/sub"), 0755);
	mkdir(sandbox_path(b->sandbox, "ws/sub/deep"), 0755);
	put(b->sandbox, "ws/x", "of the root\n");
	assert_int_equal(symlink("sub/deep", sandbox_path(b->sandbox, "ws/link")), 0);
	const char *input = "{\"path\":\"link/../x\",\"content\":\"y\\n\"}";
	bench_run(b, JOB_PREVIEW, "write_file", input);
	assert_string_equal(buf_z(&b->job->out.diff),
			    "--- /dev/null\n+++ b/sub/x\n@@ -0,0 +1 @@\n+y\n");
	assert_string_equal(buf_z(&b->job->out.modified), "\"sub/x\"");
	bench_run(b, JOB_RUN, "write_file", input);
	says(b, "Wrote 2 bytes to link/../x");
	assert_string_equal(buf_z(&b->job->out.modified), "\"sub/x\"");
	assert_string_equal(got(b->sandbox, "ws/sub/x"), "y\n");
	assert_string_equal(got(b->sandbox, "ws/x"), "of the root\n");
}

static void
patch_file_replaces_the_one_place(void **state)
{
	struct bench *b = *state;

	put(b->sandbox, "ws/f", "one two two\n");
	bench_run(b, JOB_RUN, "patch_file", "{\"path\":\"f\",\"old\":\"one\",\"new\":\"1\"}");
	says(b, "Patched f");
	assert_string_equal(buf_z(&b->job->out.modified), "\"f\"");
	assert_string_equal(got(b->sandbox, "ws/f"), "1 two two\n");
	bench_run(b, JOB_RUN, "patch_file", "{\"path\":\"f\",\"old\":\"one\",\"new\":\"1\"}");
	fails(b, E_EXECUTION, "patch source not found in 'f'");
	bench_run(b, JOB_RUN, "patch_file", "{\"path\":\"f\",\"old\":\"two\",\"new\":\"1\"}");
	fails(b, E_EXECUTION, "patch source appears 2 times in 'f'; must be unique");
	assert_string_equal(got(b->sandbox, "ws/f"), "1 two two\n");
}

static void
patch_file_previews_with_a_diff_and_without_an_effect(void **state)
{
	struct bench *b = *state;

	put(b->sandbox, "ws/f", "a\nb\n");
	bench_run(b, JOB_PREVIEW, "patch_file", "{\"path\":\"f\",\"old\":\"b\",\"new\":\"B\"}");
	assert_string_equal(buf_z(&b->job->out.diff),
			    "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
	assert_string_equal(buf_z(&b->job->out.modified), "\"f\"");
	assert_string_equal(got(b->sandbox, "ws/f"), "a\nb\n");
	bench_run(b, JOB_PREVIEW, "patch_file", "{\"path\":\"f\",\"old\":\"x\",\"new\":\"B\"}");
	fails(b, E_EXECUTION, "patch source not found in 'f'");
}

static void
list_dir_lists_the_workspace_or_a_directory_of_it(void **state)
{
	struct bench *b = *state;

	bench_run(b, JOB_RUN, "list_dir", "{}");
	says(b, "(empty)");
	mkdir(sandbox_path(b->sandbox, "ws/src"), 0755);
	put(b->sandbox, "ws/b", "");
	put(b->sandbox, "ws/src/x", "");
	bench_run(b, JOB_RUN, "list_dir", "{}");
	says(b, "b\nsrc/");
	assert_string_equal(buf_z(&b->job->out.metadata), "\"entries\":2");
	bench_run(b, JOB_RUN, "list_dir", "{\"path\":\"src\"}");
	says(b, "x");
	bench_run(b, JOB_RUN, "list_dir", "{\"path\":\"..\"}");
	fails(b, E_PERMISSION, "Path '..' escapes workspace boundary");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    ON_BENCH(read_file_gives_the_whole_file_as_it_is),
	    ON_BENCH(read_file_takes_lines_from_offset_and_says_how_to_go_on),
	    ON_BENCH(read_file_cuts_a_large_file_at_a_line),
	    ON_BENCH(read_file_cuts_a_line_that_is_too_long_between_characters),
	    ON_BENCH(read_file_explains_what_it_cannot_read),
	    ON_BENCH(write_file_counts_bytes_and_records_the_path),
	    ON_BENCH(write_file_previews_with_a_diff_and_without_an_effect),
	    ON_BENCH(write_file_says_that_its_diff_is_cut),
	    ON_BENCH(the_path_shown_is_the_place_that_is_written),
	    ON_BENCH(patch_file_replaces_the_one_place),
	    ON_BENCH(patch_file_previews_with_a_diff_and_without_an_effect),
	    ON_BENCH(list_dir_lists_the_workspace_or_a_directory_of_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
