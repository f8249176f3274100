/* table.c - finding commands and options, and guessing at misspelt ones. */

#include "cli/table.h"

#include <string.h>

#include "base/bug.h"
#include "base/near.h"

const struct command_row command_rows[] = {
#define COMMAND(name, function, arguments, least, most, sentence)                                  \
	{name, arguments, least, most, sentence},
#define OPTION(...)
#define NOTE(...)
#include "../../tbl/commands.def"
#undef COMMAND
#undef OPTION
#undef NOTE
};
const size_t command_count = ARRAY_LEN(command_rows);

const struct option_row option_rows[] = {
#define COMMAND(...)
#define OPTION(command, letter, name, value, sentence) {command, letter, name, value, sentence},
#define NOTE(...)
#include "../../tbl/commands.def"
#undef COMMAND
#undef OPTION
#undef NOTE
};

const struct note_row note_rows[] = {
#define COMMAND(...)
#define OPTION(...)
#define NOTE(command, line) {command, line},
#include "../../tbl/commands.def"
#undef COMMAND
#undef OPTION
#undef NOTE
};
const size_t note_count = ARRAY_LEN(note_rows);

const struct command_row *
command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (strcmp(command_rows[i].name, name) == 0)
			return &command_rows[i];
	return NULL;
}

const char *
command_near(const char *name)
{
	const char *near = NULL;
	unsigned best = NEAR_NONE;

	for (size_t i = 0; i < command_count; i++)
		if (near_better(str_of(name), str_of(command_rows[i].name), &best))
			near = command_rows[i].name;
	return near;
}

const char *
option_near(const char *command, const char *name)
{
	const char *near = NULL;
	unsigned best = NEAR_NONE;

	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strcmp(option_rows[i].command, command) == 0 &&
		    near_better(str_of(name), str_of(option_rows[i].name), &best))
			near = option_rows[i].name;
	return near;
}
