/* test_image.c - whether a file is still the same. */

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/limits.h"
#include "provider/image.h"

static int
temporary(const char *text)
{
	int fd = memfd_create("image", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	return fd;
}

static void
an_image_is_of_the_bytes(void **state)
{
	char a[DIGEST_TEXT], b[DIGEST_TEXT], c[DIGEST_TEXT];
	int one = temporary("text"), two = temporary("text"), other = temporary("Text");

	(void)state;
	image_of(one, a);
	image_of(two, b);
	image_of(other, c);
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
	image_of_bytes(S("text"), b);
	assert_string_equal(a, b);
	/* where it is read from does not matter, and stays */
	assert_int_equal(lseek(one, 2, SEEK_SET), 2);
	image_of(one, b);
	assert_string_equal(a, b);
	assert_int_equal(lseek(one, 0, SEEK_CUR), 2);
	close(one);
	close(two);
	close(other);
}

static void
nothing_and_empty_are_two_things(void **state)
{
	char a[DIGEST_TEXT], b[DIGEST_TEXT];
	int empty = temporary("");

	(void)state;
	image_of(-1, a);
	assert_string_equal(a, IMAGE_ABSENT);
	image_of_bytes((struct str){NULL, 0}, b);
	assert_string_equal(b, IMAGE_ABSENT);
	image_of(empty, a);
	assert_string_not_equal(a, b);
	image_of_bytes(S(""), b);
	assert_string_equal(a, b);
	close(empty);
}

static void
a_file_that_cannot_be_read_whole_is_told_by_its_numbers(void **state)
{
	char name[] = "/tmp/holdfast-image-XXXXXX", a[DIGEST_TEXT], b[DIGEST_TEXT];
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)LIMIT_FILE_READ), 0);
	image_of(fd, a);
	assert_int_equal(ftruncate(fd, (off_t)LIMIT_FILE_READ + 1), 0);
	image_of(fd, b);
	assert_string_not_equal(a, b);
	image_of(fd, a);
	assert_string_equal(a, b);
	assert_int_equal(ftruncate(fd, (off_t)LIMIT_FILE_READ + 2), 0);
	image_of(fd, b);
	assert_string_not_equal(a, b);
	int blind = open(name, O_WRONLY);
	image_of(blind, a);
	image_of(blind, b);
	assert_string_equal(a, b);
	assert_string_not_equal(a, IMAGE_ABSENT);
	close(blind);
	close(fd);
	unlink(name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_image_is_of_the_bytes),
	    cmocka_unit_test(nothing_and_empty_are_two_things),
	    cmocka_unit_test(a_file_that_cannot_be_read_whole_is_told_by_its_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
