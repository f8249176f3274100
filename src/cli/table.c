/* table.c - finding commands and options, and guessing at misspelt ones. */

#include "cli/table.h"

#include <string.h>

#include "base/bug.h"

#define SHOWN false
#define HIDDEN true

const struct command_row command_rows[] = {
#define COMMAND(name, function, arguments, least, most, hidden, sentence)                          \
	{name, arguments, least, most, hidden, sentence},
#define OPTION(...)
#include "../../tbl/commands.def"
#undef COMMAND
#undef OPTION
};
const size_t command_count = ARRAY_LEN(command_rows);

const struct option_row option_rows[] = {
#define COMMAND(...)
#define OPTION(command, letter, name, value, sentence) {command, letter, name, value, sentence},
#include "../../tbl/commands.def"
#undef COMMAND
#undef OPTION
};

const struct command_row *
command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (strcmp(command_rows[i].name, name) == 0)
			return &command_rows[i];
	return NULL;
}

#define NAME_BYTES 32 /* names longer than this are nobody's misspelling */

/* How many letters must be put in, left out, changed or swapped with their neighbour. */
static unsigned
distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned d[NAME_BYTES + 1][NAME_BYTES + 1];

	if (n > NAME_BYTES || m > NAME_BYTES)
		return NAME_BYTES;
	for (size_t i = 0; i <= n; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	return d[n][m];
}

/* Near enough: a beginning of it, or at most a third of its letters wrong. */
static bool
nearer(const char *name, const char *candidate, unsigned *best)
{
	size_t len = strlen(name);
	bool begins = len >= 2 && strncmp(name, candidate, len) == 0;
	unsigned far = begins ? 1 : distance(name, candidate);

	if (far > (strlen(candidate) + 2) / 3 || far >= *best)
		return false;
	*best = far;
	return true;
}

const char *
command_near(const char *name)
{
	const char *near = NULL;
	unsigned best = NAME_BYTES;

	for (size_t i = 0; i < command_count; i++)
		if (!command_rows[i].hidden && nearer(name, command_rows[i].name, &best))
			near = command_rows[i].name;
	return near;
}

const char *
option_near(const char *command, const char *name)
{
	const char *near = NULL;
	unsigned best = NAME_BYTES;

	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strcmp(option_rows[i].command, command) == 0 &&
		    nearer(name, option_rows[i].name, &best))
			near = option_rows[i].name;
	return near;
}
