/*
 * testdata.h - vectors and batteries that are not part of this repository.
 *
 * They are looked for in $HOLDFAST_TESTDATA, then in ../shared/data. A test that needs
 * them begins with TESTDATA_OR_SKIP(): without them it says so in one line and is skipped.
 */

#ifndef TESTS_TESTDATA_H
#define TESTS_TESTDATA_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"

/* The path of a file or folder of the test data in *out; false when it is not there. */
static inline bool
testdata_find(const char *name, char *out, size_t size)
{
	const char *folder = getenv("HOLDFAST_TESTDATA");

	snprintf(out, size, "%s/%s", folder ? folder : "../shared/data", name);
	return access(out, R_OK) == 0;
}

#define TESTDATA_OR_SKIP(name, path)                                                               \
	do {                                                                                       \
		if (!testdata_find(name, path, sizeof(path))) {                                    \
			print_message("no test data: %s (set HOLDFAST_TESTDATA)\n", name);         \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

/* The whole file in memory to be freed, with a NUL behind; {NULL,0} when it cannot be read. */
static inline struct str
testdata_read(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	size_t len = 0, n;

	if (!f)
		return (struct str){NULL, 0};
	do {
		text = realloc(text, len + 65536 + 1);
		n = text ? fread(text + len, 1, 65536, f) : 0;
		len += n;
	} while (n > 0);
	fclose(f);
	if (text)
		text[len] = '\0';
	return (struct str){text, len};
}

#endif
