/* The program's pages: out of the process, and there again when they are read. */

#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/pages.h"

#define KIB_HERE 1024
static const char much[KIB_HERE * 1024] = {[0] = 'h', [sizeof(much) - 1] = 'f'};
static char written[64] = "as it was";

/* In KiB: what this process has of files. */
static long
resident(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kib = -1;

	assert_non_null(f);
	while (kib < 0 && fgets(line, sizeof(line), f))
		(void)sscanf(line, "RssFile: %ld", &kib);
	(void)fclose(f);
	assert_true(kib >= 0);
	return kib;
}

static unsigned
sum(void)
{
	unsigned n = 0;

	for (const volatile char *p = much; p < much + sizeof(much); p++)
		n += (unsigned char)*p;
	return n;
}

static void
what_was_only_read_goes_and_comes_back(void **state)
{
	(void)state;
	assert_int_equal(sum(), 'h' + 'f');
	long before = resident();
	memcpy(written, "changed", 8);
	pages_release();
	assert_true(resident() <= before - KIB_HERE / 2);
	assert_int_equal(sum(), 'h' + 'f');
	assert_string_equal(written, "changed");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_only_read_goes_and_comes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
