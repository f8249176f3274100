/* cmd_help.c - help, all of it from the table. */

#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/term.h"

static void
print_program(void)
{
	printf("Usage: holdfast COMMAND [ARGUMENTS]\n\n"
	       "Stands between agents and their tools: shows what they do, asks before it has "
	       "effects,\n"
	       "and keeps a journal.\n\nCommands:\n");
	for (size_t i = 0; i < command_count; i++)
		printf("  %s%-10s%s %s\n", paint(stdout, BOLD), command_rows[i].name,
		       paint(stdout, PLAIN), command_rows[i].sentence);
	printf("\n`holdfast help COMMAND` tells more. Commands use the running gateway where there "
	       "is\n"
	       "one, and otherwise do the work in their own process.\n");
}

static bool
has_options(const struct command_row *command)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strcmp(option_rows[i].command, command->name) == 0)
			return true;
	return false;
}

static void
print_option(const struct option_row *o)
{
	char left[64];

	snprintf(left, sizeof(left), "%s%c%s--%s%s%s", o->letter ? "-" : " ",
		 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name, o->value ? " " : "",
		 o->value ? o->value : "");
	printf("  %-24s %s\n", left, o->sentence);
}

static void
print_notes(const struct command_row *command)
{
	const char *before = "\n";

	for (size_t i = 0; i < note_count; i++)
		if (strcmp(note_rows[i].command, command->name) == 0) {
			printf("%s%s\n", before, note_rows[i].line);
			before = "";
		}
}

static void
print_command(const struct command_row *command)
{
	printf("Usage: holdfast %s%s%s%s\n\n%s\n", command->name, command->arguments[0] ? " " : "",
	       command->arguments, has_options(command) ? " [OPTIONS]" : "", command->sentence);
	if (has_options(command))
		printf("\nOptions:\n");
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strcmp(option_rows[i].command, command->name) == 0)
			print_option(&option_rows[i]);
	print_notes(command);
}

void
help_print(const struct command_row *command)
{
	if (command)
		print_command(command);
	else
		print_program();
}

int
command_unknown(const char *name)
{
	const char *near = command_near(name);

	refuse("there is no command '%.100s'%s%s%s", name, near ? "; did you mean " : "",
	       near ? near : "", near ? "?" : "");
	fputs("Try: holdfast --help\n", stderr);
	return EXIT_USAGE;
}

int
cmd_help(const struct args *a)
{
	const struct command_row *command = NULL;

	if (a->count > 0 && !(command = command_find(a->words[0])))
		return command_unknown(a->words[0]);
	help_print(command);
	return EXIT_FINE;
}
