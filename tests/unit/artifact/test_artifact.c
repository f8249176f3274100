/* test_artifact.c - what is stored comes back, to its tenant alone, until its time is over. */

#include "stock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "json/canon.h"

#define T S("default")

static const bool both[] = {true, false};

static void
expect_bytes(struct stock *s, const char *handle, struct str expected)
{
	struct artifact_reader *r = stock_reader(s, T, handle);
	char *all = malloc(expected.len + 1);
	size_t len = 0;
	ptrdiff_t n;

	assert_non_null(r);
	assert_int_equal(artifact_about(r)->bytes, expected.len);
	while ((n = artifact_read(r, len, all + len, 777)) > 0) {
		len += (size_t)n;
		assert_true(len <= expected.len);
	}
	assert_int_equal(n, 0);
	assert_int_equal(len, expected.len);
	assert_memory_equal(all, expected.ptr, len);
	free(all);
	artifact_close(r);
}

static void
what_is_stored_comes_back_byte_by_byte(void **state)
{
	struct buf text = BUF_INIT(MIB);

	(void)state;
	for (size_t i = 0; i < 300000; i++)
		buf_addc(&text, (char)(i * 7 + i / 251)); /* every byte there is */
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct stock s = stock_new(both[i], &(struct artifacts_spec){0});
		struct artifact a = stock_put(&s, T, buf_str(&text), 4099);
		char digest[DIGEST_TEXT];
		digest_bytes(buf_str(&text), digest);
		assert_string_equal(a.sha256, digest);
		assert_memory_equal(a.handle, "art_", 4);
		assert_memory_equal(a.handle + 4, digest, 32);
		assert_int_equal(strlen(a.handle), 36);
		assert_int_equal(a.redacted, 0);
		expect_bytes(&s, a.handle, buf_str(&text));
		stock_free(&s);
	}
	buf_done(&text);
}

static void
what_is_known_of_it_comes_back_too(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct stock s = stock_new(both[i], &(struct artifacts_spec){.keep_us = HOUR});
		struct artifact_note note = {T, S("git:log\n"), S("text/x-log"), S("\"a\" \\ b")};
		struct artifact_writer *w;
		struct artifact a;
		struct err e;
		assert_int_equal(artifact_begin(s.set, &note, &w, &e), 0);
		assert_int_equal(artifact_feed(w, S("hello"), &e), 0);
		assert_int_equal(artifact_finish(&w, &a, &e), 0);
		struct artifact_reader *r = stock_reader(&s, T, a.handle);
		const struct artifact *about = artifact_about(r);
		assert_string_equal(about->handle, a.handle);
		assert_string_equal(about->sha256, a.sha256);
		assert_string_equal(about->tool, "git:log ");
		assert_string_equal(about->media_type, "text/x-log");
		assert_string_equal(about->label, "\"a\" \\ b");
		assert_int_equal(about->created_us, stock_now);
		assert_int_equal(about->expires_us, stock_now + HOUR);
		artifact_close(r);
		stock_free(&s);
	}
}

static void
equal_bytes_have_one_handle_and_others_another(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct stock s = stock_new(both[i], &(struct artifacts_spec){0});
		struct artifact a = stock_put(&s, T, S("same"), 1),
				b = stock_put(&s, T, S("same"), 4),
				c = stock_put(&s, T, S("other"), 4);
		struct artifacts_left left;
		struct err e;
		assert_string_equal(a.handle, b.handle);
		assert_string_not_equal(a.handle, c.handle);
		assert_int_equal(artifacts_expire(s.set, stock_now, &left, &e), 0);
		assert_int_equal(left.count, 2);
		assert_int_equal(left.bytes, 9);
		stock_free(&s);
	}
}

static void
another_tenant_does_not_find_it(void **state)
{
	static const char *const others[] = {"",        "other",     "../default",
					     "Default", "default\n", "a/b"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct stock s = stock_new(both[i], &(struct artifacts_spec){0});
		struct artifact a = stock_put(&s, T, S("mine"), 4);
		assert_true(stock_has(&s, T, a.handle));
		for (size_t k = 0; k < ARRAY_LEN(others); k++) {
			assert_false(stock_has(&s, str_of(others[k]), a.handle));
			stock_put(&s, str_of(others[k]), S("theirs"), 4);
		}
		struct artifact b = stock_put(&s, S("a/b"), S("theirs"), 4);
		assert_false(stock_has(&s, T, b.handle));
		assert_true(stock_has(&s, S("a/b"), b.handle));
		stock_free(&s);
	}
}

static void
what_is_no_handle_is_not_there(void **state)
{
	static const char *const no[] = {"",
					 "art_",
					 "art_0123456789abcdef0123456789abcde",
					 "art_0123456789abcdef0123456789abcdef",
					 "art_0123456789ABCDEF0123456789ABCDEF",
					 "art_../../../../../../etc/passwd/././././.",
					 "text:default:0123456789abcdef"};
	struct stock s = stock_new(true, &(struct artifacts_spec){0});

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		assert_false(stock_has(&s, T, no[i]));
	stock_free(&s);
}

static void
secrets_are_not_stored_however_the_pieces_are_cut(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 30; piece++) {
		struct stock s = stock_new(piece % 2, &(struct artifacts_spec){0});
		struct artifact a = stock_put(&s, T, S("key AKIAIOSFODNN7EXAMPLE and more"), piece);
		assert_int_equal(a.redacted, 1);
		expect_bytes(&s, a.handle, S("key [REDACTED-SECRET] and more"));
		stock_free(&s);
	}
	struct stock s = stock_new(true, &(struct artifacts_spec){.keep_secrets = true});
	struct artifact a = stock_put(&s, T, S("key AKIAIOSFODNN7EXAMPLE"), 5);
	expect_bytes(&s, a.handle, S("key AKIAIOSFODNN7EXAMPLE"));
	stock_free(&s);
}

static void
labels_have_no_secrets_either(void **state)
{
	char label[LIMIT_ARTIFACT_TEXT + 64];
	struct artifact_note note = {T, S("t"), S("text/plain"),
				     S("https://a.example/b?access_token=abc12345&n=1")};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct stock s = stock_new(true, &(struct artifacts_spec){0});
		struct artifact_writer *w = NULL;
		struct artifact a;
		struct err e = ERR_NONE;
		assert_int_equal(artifact_begin(s.set, &note, &w, &e), 0);
		assert_int_equal(artifact_finish(&w, &a, &e), 0);
		assert_null(strstr(a.label, "abc12345"));
		assert_null(strstr(a.label, "AKIA"));
		stock_free(&s);
		/* Where it is cut, a secret would be half there. */
		memset(label, ' ', sizeof(label));
		memcpy(label + LIMIT_ARTIFACT_TEXT - 10, "AKIAIOSFODNN7EXAMPLE", 20);
		note.label = (struct str){label, sizeof(label)};
	}
}

static void
many_short_secrets_have_room(void **state)
{
	struct stock s = stock_new(true, &(struct artifacts_spec){0});
	struct buf text = BUF_INIT(MIB);

	(void)state;
	while (text.len < 700000)
		buf_addz(&text, "a://:b@");
	struct artifact a = stock_put(&s, T, buf_str(&text), text.len);
	assert_int_equal(a.redacted, 100000);
	assert_int_equal(a.bytes, 100000 * strlen("a://:@" SECRET_MARK));
	stock_free(&s);
	buf_done(&text);
}

static void
it_is_forgotten_after_its_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct stock s = stock_new(both[i], &(struct artifacts_spec){.keep_us = 2 * HOUR});
		struct artifact old = stock_put(&s, T, S("old"), 4),
				again = stock_put(&s, T, S("again"), 4);
		struct artifacts_left left;
		struct err e;
		stock_now += HOUR;
		struct artifact young = stock_put(&s, T, S("young"), 4);
		stock_put(&s, T, S("again"), 4);
		stock_now += HOUR;
		/* Not there any more, also while nobody has swept. */
		assert_false(stock_has(&s, T, old.handle));
		assert_true(stock_has(&s, T, young.handle));
		assert_true(stock_has(&s, T, again.handle));
		assert_int_equal(artifacts_expire(s.set, stock_now, &left, &e), 0);
		assert_int_equal(left.count, 2);
		assert_int_equal(left.bytes, 10);
		stock_now += HOUR;
		assert_int_equal(artifacts_expire(s.set, stock_now, &left, &e), 0);
		assert_int_equal(left.count, 0);
		stock_free(&s);
	}
}

static void
the_oldest_go_where_there_is_no_room(void **state)
{
	char text[400], first[ARTIFACT_HANDLE] = "", last[ARTIFACT_HANDLE] = "";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct stock s = stock_new(both[i], &(struct artifacts_spec){.max_bytes = 1000});
		struct artifacts_left left;
		struct err e;
		for (int k = 0; k < 6; k++) {
			memset(text, 'a' + k, sizeof(text));
			struct artifact a = stock_put(&s, T, (struct str){text, 300}, 300);
			strcpy(k == 0 ? first : last, a.handle);
			stock_now += 1000000;
		}
		assert_false(stock_has(&s, T, first));
		assert_true(stock_has(&s, T, last));
		assert_int_equal(artifacts_expire(s.set, stock_now, &left, &e), 0);
		assert_int_equal(left.count, 3);
		stock_free(&s);
	}
}

static void
one_that_is_too_large_is_cut_and_says_so(void **state)
{
	struct stock s = stock_new(true, &(struct artifacts_spec){.max_bytes = 10});

	(void)state;
	struct artifact a = stock_put(&s, T, S("0123456789abcdef"), 3);
	assert_int_equal(a.bytes, 10);
	assert_int_equal(a.lost, 6);
	expect_bytes(&s, a.handle, S("0123456789"));
	stock_free(&s);
}

static void
what_is_being_read_stays_readable(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct stock s = stock_new(both[i], &(struct artifacts_spec){.keep_us = HOUR});
		struct artifact a = stock_put(&s, T, S("still here"), 4);
		struct artifact_reader *r = stock_reader(&s, T, a.handle);
		char text[32] = "";
		struct err e;
		stock_now += 2 * HOUR;
		assert_int_equal(artifacts_expire(s.set, stock_now, NULL, &e), 0);
		assert_false(stock_has(&s, T, a.handle));
		assert_int_equal(artifact_read(r, 0, text, sizeof(text)), 10);
		assert_string_equal(text, "still here");
		artifact_close(r);
		stock_free(&s);
	}
}

/* The only file below dir, in path. */
static void
find_file(const char *dir, char *path, size_t size)
{
	char command[160];

	snprintf(command, sizeof(command), "find '%s' -type f", dir);
	FILE *f = popen(command, "r");
	assert_non_null(fgets(path, (int)size, f));
	path[strcspn(path, "\n")] = '\0';
	pclose(f);
}

static void
on_disk_it_outlives_the_set_and_is_ours_alone(void **state)
{
	struct stock s = stock_new(true, &(struct artifacts_spec){0});
	char path[256];
	struct stat st;

	(void)state;
	struct artifact a = stock_put(&s, T, S("durable"), 4);
	artifacts_free(s.set);
	stock_open(&s, &(struct artifacts_spec){0});
	expect_bytes(&s, a.handle, S("durable"));
	find_file(s.dir, path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	for (int up = 0; up < 3; up++) {
		*strrchr(path, '/') = '\0';
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0700);
	}
	assert_string_equal(path, s.dir);
	stock_free(&s);
}

static void
links_are_not_followed(void **state)
{
	struct stock s = stock_new(true, &(struct artifacts_spec){0});
	char path[256], aside[300], dir[256];

	(void)state;
	struct artifact a = stock_put(&s, T, S("linked"), 4);
	find_file(s.dir, path, sizeof(path));
	snprintf(aside, sizeof(aside), "%s.aside", path);
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(symlink(aside, path), 0);
	assert_false(stock_has(&s, T, a.handle));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(aside, path), 0);
	assert_true(stock_has(&s, T, a.handle));

	snprintf(dir, sizeof(dir), "%s/default", s.dir);
	snprintf(aside, sizeof(aside), "%s/elsewhere", s.dir);
	assert_int_equal(rename(dir, aside), 0);
	assert_int_equal(symlink("elsewhere", dir), 0);
	assert_false(stock_has(&s, T, a.handle));
	stock_free(&s);
}

static void
a_damaged_file_is_not_there_and_can_be_stored_again(void **state)
{
	struct stock s = stock_new(true, &(struct artifacts_spec){0});
	char path[256];

	(void)state;
	struct artifact a = stock_put(&s, T, S("whole"), 5);
	find_file(s.dir, path, sizeof(path));
	assert_int_equal(truncate(path, 4097), 0);
	assert_false(stock_has(&s, T, a.handle));
	assert_int_equal(truncate(path, 3), 0);
	assert_false(stock_has(&s, T, a.handle));
	stock_put(&s, T, S("whole"), 5);
	expect_bytes(&s, a.handle, S("whole"));
	stock_free(&s);
}

/* Half a digest can be made to collide with enough work; the handle keeps its first meaning. */
static void
a_handle_is_never_given_other_bytes(void **state)
{
	struct stock s = stock_new(true, &(struct artifacts_spec){0});
	struct artifact_note note = {T, S("t"), S("text/plain"), S("l")};
	struct artifact_writer *w;
	char path[256], digest[DIGEST_TEXT];
	struct artifact a = stock_put(&s, T, S("first"), 5), b;
	struct err e;

	(void)state;
	find_file(s.dir, path, sizeof(path));
	/* As if bytes with another digest had had the same beginning of it. */
	FILE *f = fopen(path, "r+");
	digest_bytes(S("second"), digest);
	assert_int_equal(fseek(f, (long)strlen("{\"artifact\":1,\"sha256\":\""), SEEK_SET), 0);
	assert_int_equal(fwrite(digest, 1, 64, f), 64);
	fclose(f);
	assert_int_equal(artifact_begin(s.set, &note, &w, &e), 0);
	assert_int_equal(artifact_feed(w, S("first"), &e), 0);
	assert_int_equal(artifact_finish(&w, &b, &e), E_EXISTS);
	struct artifact_reader *r = stock_reader(&s, T, a.handle);
	assert_string_equal(artifact_about(r)->sha256, digest);
	artifact_close(r);
	stock_free(&s);
}

static void
nothing_is_left_of_one_that_was_dropped(void **state)
{
	struct stock s = stock_new(true, &(struct artifacts_spec){0});
	struct artifact_note note = {T, S("t"), S("text/plain"), S("l")};
	struct artifact_writer *w;
	char command[160];
	struct err e;

	(void)state;
	assert_int_equal(artifact_begin(s.set, &note, &w, &e), 0);
	assert_int_equal(artifact_feed(w, S("half"), &e), 0);
	artifact_drop(&w);
	assert_null(w);
	snprintf(command, sizeof(command), "test -z \"$(find '%s' -type f)\"", s.dir);
	assert_int_equal(system(command), 0);
	/* What a crash left goes with the next sweep, a day later. */
	snprintf(command, sizeof(command), "touch '%s/.new/left'", s.dir);
	assert_int_equal(system(command), 0);
	int64_t now = (int64_t)time(NULL) * 1000000;
	snprintf(command, sizeof(command), "test -e '%s/.new/left'", s.dir);
	assert_int_equal(artifacts_expire(s.set, now, NULL, &e), 0);
	assert_int_equal(system(command), 0);
	assert_int_equal(artifacts_expire(s.set, now + 25 * HOUR, NULL, &e), 0);
	assert_int_not_equal(system(command), 0);
	stock_free(&s);
}

static void
a_directory_that_others_can_enter_is_refused(void **state)
{
	struct stock s = stock_new(true, &(struct artifacts_spec){0});
	struct artifacts *set = NULL;
	struct err e;

	(void)state;
	assert_int_equal(chmod(s.dir, 0755), 0);
	assert_int_equal(artifacts_open(&(struct artifacts_spec){.dir = s.dir}, &set, &e),
			 E_CONFIG);
	assert_null(set);
	stock_free(&s);
}

static void
a_spool_writes_only_what_is_long(void **state)
{
	struct stock s = stock_new(true, &(struct artifacts_spec){.shown = 10});
	struct artifact_note note = {T, S("t"), S("text/plain"), S("l")};
	struct spool spool;
	struct artifact a;

	(void)state;
	spool_init(&spool, s.set, &note);
	spool_feed(&spool, S("01234"));
	spool_feed(&spool, S("56789"));
	assert_null(spool.writer);
	spool_feed(&spool, S("ab"));
	assert_non_null(spool.writer);
	spool_feed(&spool, S("cdef"));
	assert_int_equal(artifact_finish(&spool.writer, &a, &spool.err), 0);
	expect_bytes(&s, a.handle, S("0123456789abcdef"));
	spool_done(&spool);
	stock_free(&s);
}

/* A tool shows no more of its output, so what is behind would be lost. */
static void
a_spool_writes_long_output_even_if_much_is_shown(void **state)
{
	struct stock s = stock_new(true, &(struct artifacts_spec){.shown = MIB});
	struct artifact_note note = {T, S("t"), S("text/plain"), S("l")};
	struct spool spool;

	(void)state;
	spool_init(&spool, s.set, &note);
	for (size_t n = 0; n < LIMIT_SHELL_OUTPUT; n += 4)
		spool_feed(&spool, S("0123"));
	assert_null(spool.writer);
	spool_feed(&spool, S("4"));
	assert_non_null(spool.writer);
	spool_done(&spool);
	stock_free(&s);
}

/* The configuration may change while something is being written: one that has begun ends as it
 * began (issue 5). */
static void
other_numbers_count_for_what_begins_later(void **state)
{
	struct stock s = stock_new(false, &(struct artifacts_spec){.keep_secrets = true});
	const struct artifact_note note = {ARTIFACT_TENANT, S("t"), S("text/plain"), S("x")};
	struct artifact_writer *w;
	struct artifact about;
	struct err e;

	(void)state;
	assert_int_equal(artifact_begin(s.set, &note, &w, &e), 0);
	assert_int_equal(artifact_feed(w, S("0123456789"), &e), 0);
	artifacts_tune(s.set, &(struct artifacts_spec){.shown = 77, .max_bytes = 4});
	assert_int_equal(artifacts_shown(s.set), 77);
	assert_true(artifacts_redact(s.set));
	assert_int_equal(artifact_feed(w, S("0123456789"), &e), 0);
	assert_int_equal(artifact_finish(&w, &about, &e), 0);
	assert_int_equal(about.bytes, 20);
	assert_int_equal(artifact_begin(s.set, &note, &w, &e), 0);
	assert_int_equal(artifact_feed(w, S("0123456789"), &e), 0);
	assert_int_equal(artifact_finish(&w, &about, &e), 0);
	assert_int_equal(about.bytes, 4);
	assert_int_equal(about.lost, 6);
	stock_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_stored_comes_back_byte_by_byte),
	    cmocka_unit_test(what_is_known_of_it_comes_back_too),
	    cmocka_unit_test(equal_bytes_have_one_handle_and_others_another),
	    cmocka_unit_test(another_tenant_does_not_find_it),
	    cmocka_unit_test(what_is_no_handle_is_not_there),
	    cmocka_unit_test(secrets_are_not_stored_however_the_pieces_are_cut),
	    cmocka_unit_test(labels_have_no_secrets_either),
	    cmocka_unit_test(many_short_secrets_have_room),
	    cmocka_unit_test(it_is_forgotten_after_its_time),
	    cmocka_unit_test(the_oldest_go_where_there_is_no_room),
	    cmocka_unit_test(one_that_is_too_large_is_cut_and_says_so),
	    cmocka_unit_test(what_is_being_read_stays_readable),
	    cmocka_unit_test(on_disk_it_outlives_the_set_and_is_ours_alone),
	    cmocka_unit_test(links_are_not_followed),
	    cmocka_unit_test(a_damaged_file_is_not_there_and_can_be_stored_again),
	    cmocka_unit_test(a_handle_is_never_given_other_bytes),
	    cmocka_unit_test(nothing_is_left_of_one_that_was_dropped),
	    cmocka_unit_test(a_directory_that_others_can_enter_is_refused),
	    cmocka_unit_test(a_spool_writes_only_what_is_long),
	    cmocka_unit_test(a_spool_writes_long_output_even_if_much_is_shown),
	    cmocka_unit_test(other_numbers_count_for_what_begins_later),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
