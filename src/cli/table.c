/* table.c - finding commands and options, and guessing at misspelt ones. */

#include "cli/table.h"

#include <stdio.h>
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

const struct command_row *
command_of(const char *const *words, size_t *ret_used)
{
	char two[64];
	const struct command_row *found = NULL;

	*ret_used = 2;
	if (words[0] && words[1] &&
	    snprintf(two, sizeof(two), "%s %s", words[0], words[1]) < (int)sizeof(two))
		found = command_find(two);
	if (found)
		return found;
	*ret_used = 1;
	return words[0] ? command_find(words[0]) : NULL;
}

const char *
command_within(const struct command_row *command, const char *group)
{
	const char *blank = strchr(command->name, ' ');
	size_t len = blank ? (size_t)(blank - command->name) : 0;

	if (strlen(group) != len || strncmp(command->name, group, len) != 0)
		return NULL;
	return blank ? blank + 1 : command->name;
}

bool
command_is_group(const struct command_row *command)
{
	for (size_t i = 0; i < command_count; i++)
		if (command_within(&command_rows[i], command->name))
			return true;
	return false;
}

const char *
command_near(const char *group, const char *name)
{
	const char *near = NULL;
	unsigned best = NEAR_NONE;

	for (size_t i = 0; i < command_count; i++) {
		const char *within = command_within(&command_rows[i], group);
		if (within && near_better(str_of(name), str_of(within), &best))
			near = command_rows[i].name;
	}
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
