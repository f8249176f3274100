/*
 * args.h - a command line, read by the table.
 *
 *	--name value, --name=value, -n value, -nvalue; switches may share a dash: -ab
 *	"--" ends the options; "-" alone is an argument; options may stand anywhere
 *
 * Given twice, the last one counts; args_next gives all of them. A command whose usage shows "--"
 * gets the words behind it as they are, beside those it has before.
 */

#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "base/err.h"
#include "cli/table.h"

#define ARGS_MOST 4   /* words besides options; the table never asks for more */
#define ARGS_GIVEN 64 /* options with a value, counted with repetitions */

struct args {
	const struct command_row *command;
	const char *values[OPTION_COUNT]; /* by the table; "" for a switch, NULL = not given */
	const char *words[ARGS_MOST];
	size_t count;
	struct {
		const struct option_row *option;
		const char *value;
	} given[ARGS_GIVEN]; /* in the order they came */
	size_t given_count;
	char *const *rest; /* behind "--", NULL-terminated; NULL: there was none */
	bool help;         /* --help or -h was there */
};

/* argv without the program and the command. E_BAD_REQUEST with a sentence that helps. */
int args_parse(const struct command_row *command, char *const *argv, struct args *ret,
	       struct err *e);

/* The command must have an option of that name. */
const char *args_value(const struct args *a, const char *option); /* NULL = not given */
bool args_given(const struct args *a, const char *option);
/* Each value of an option that may be repeated: start with *at = 0; NULL at the end. */
const char *args_next(const struct args *a, const char *option, size_t *at);

/* What each command is given, and gives back: an exit code. */
enum exit_code {
	EXIT_FINE = 0,
	EXIT_REFUSED = 1, /* an error result, or what was asked for cannot be had */
	EXIT_USAGE = 2,
	EXIT_NO_GATEWAY = 3, /* cannot be reached or started */
	EXIT_NO_SCHEMA = 3,  /* it is refused, and so nothing can be said about a value */
	EXIT_SIGNAL = 128,   /* plus its number */
};

#define COMMAND(name, function, ...) int cmd_##function(const struct args *a);
#define OPTION(...)
#define NOTE(...)
#include "../../tbl/commands.def"
#undef COMMAND
#undef OPTION
#undef NOTE

/* "holdfast call: sentence" on standard error; they return EXIT_USAGE and EXIT_REFUSED. */
int usage_error(const struct args *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
int refuse(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Says that there is none of this name in the group, and what may be meant; EXIT_USAGE. */
int command_unknown(const char *group, const char *name);

void help_print(const struct command_row *command); /* NULL: the whole program */

#endif
