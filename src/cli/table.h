/* table.h - tbl/commands.def as values: the commands there are, and their options. */

#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct command_row {
	const char *name;
	const char *arguments;
	size_t least;
	size_t most;
	const char *sentence;
};

struct option_row {
	const char *command;
	char letter; /* or 0 */
	const char *name;
	const char *value; /* NULL: a switch */
	const char *sentence;
};

struct note_row {
	const char *command;
	const char *line;
};

extern const struct command_row command_rows[];
extern const size_t command_count;
extern const struct option_row option_rows[];
extern const struct note_row note_rows[];
extern const size_t note_count;

#define COMMAND(...)
#define OPTION(...) +1
#define NOTE(...)
enum {
	OPTION_COUNT = 0
#include "../../tbl/commands.def"
};
#undef COMMAND
#undef OPTION
#undef NOTE

const struct command_row *command_find(const char *name); /* NULL = none */
/* The command that the words begin with, and how many of them name it; NULL = none. */
const struct command_row *command_of(const char *const *words, size_t *ret_used);

/* A group's commands have its name and a blank before theirs. */
bool command_is_group(const struct command_row *command);
/* Its name without the group's; NULL = not in the group. "" is the program itself. */
const char *command_within(const struct command_row *command, const char *group);

/* The nearest name, for "did you mean"; NULL when none is near. */
const char *command_near(const char *group, const char *name);
const char *option_near(const char *command, const char *name);

#endif
