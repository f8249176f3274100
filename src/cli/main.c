/* main.c - the `holdfast` program: which command, then that command. */

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/crash_at.h"
#include "cli/args.h"
#include "cli/term.h"

#define COMMAND(name, function, ...) cmd_##function,
#define OPTION(...)
#define NOTE(...)
static int (*const functions[])(const struct args *a) = {
#include "../../tbl/commands.def"
};
#undef COMMAND
#undef OPTION
#undef NOTE

/* Before a command only these two are options. */
static const char *
command_word(const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return "help";
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return "version";
	return word;
}

/* Says that there is no such command. */
static int
unknown(const char *word)
{
	if (word[0] != '-')
		return command_unknown("", word);
	refuse("there is no option %.100s before a command", word);
	fputs("Try: holdfast --help\n", stderr);
	return EXIT_USAGE;
}

/* What was printed may still be on its way to a full disk. */
static int
flush(int code)
{
	bool failed = ferror(stdout) != 0;

	if (fflush(stdout) == EOF || failed) {
		refuse("standard output cannot be written");
		return code == EXIT_FINE ? EXIT_REFUSED : code;
	}
	return code;
}

int
main(int argc, char **argv)
{
	struct args args;
	struct err e;

	term_init();
	if (crash_at_read() < 0)
		return refuse("HOLDFAST_CRASH_AT: there is no such point (tbl/crash_points.def)");
	if (argc < 2) {
		help_print(NULL);
		return flush(EXIT_USAGE);
	}
	const char *words[] = {command_word(argv[1]), argv[2], NULL}; /* argv ends with NULL */
	size_t used;
	const struct command_row *command = command_of(words, &used);
	if (!command)
		return unknown(words[0]);
	if (command_is_group(command) && command->most == 0 && words[1] && words[1][0] != '-')
		return command_unknown(command->name, words[1]);
	if (args_parse(command, argv + 1 + used, &args, &e) < 0)
		return usage_error(&args, "%s", err_text(&e));
	if (args.help) {
		help_print(command);
		return flush(EXIT_FINE);
	}
	return flush(functions[command - command_rows](&args));
}
