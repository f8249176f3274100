/* cmd_help.c - help, all of it from the table. */

#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/term.h"

/* What the commands of the program are for, from this one on. */
static const struct {
	const char *first, *title;
} parts[] = {
    {"tools", "Tools, calls, and what came of them"},
    {"watch", "While agents are at work"},
    {"serve", "The gateway"},
    {"add", "What is behind it"},
    {"tenants", "Where several share it"},
    {"kernel", "For those who build on it"},
    {"version", "About the program"},
};

static void
print_title(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (strcmp(parts[i].first, name) == 0)
			printf("%s%s:\n", i ? "\n" : "", parts[i].title);
}

static void
print_commands(const char *group)
{
	printf("\n%s", *group ? "Commands:\n" : "");
	for (size_t i = 0; i < command_count; i++) {
		const char *name = command_within(&command_rows[i], group);
		if (name && !*group)
			print_title(name);
		if (name)
			printf("  %s%-11s%s %s\n", paint(stdout, BOLD), name, paint(stdout, PLAIN),
			       command_rows[i].sentence);
	}
}

static void
print_program(void)
{
	printf("Usage: holdfast COMMAND [ARGUMENTS]\n\n"
	       "Stands between agents and their tools: shows what they do, asks before it has "
	       "effects,\n"
	       "and keeps a journal.\n");
	print_commands("");
	printf("\n`holdfast help COMMAND` tells more. Commands use the running gateway where there "
	       "is\n"
	       "one, and otherwise do the work in their own process.\n");
}

static void
print_group(const struct command_row *group)
{
	printf("Usage: holdfast %s %s [ARGUMENTS]\n\n%s\n", group->name, group->arguments,
	       group->sentence);
	print_commands(group->name);
	printf("\n`holdfast help %s COMMAND` tells more.\n", group->name);
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

/* A command, which may have others below it. */
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
	if (command_is_group(command))
		print_commands(command->name);
	print_notes(command);
}

void
help_print(const struct command_row *command)
{
	if (!command)
		print_program();
	else if (command_is_group(command) && strcmp(command->arguments, "COMMAND") == 0)
		print_group(command);
	else
		print_command(command);
}

/* By the words that other programs of this kind have. */
static const char *
command_elsewhere(const char *group, const char *name)
{
	static const struct {
		const char *name, *here;
	} words[] = {
	    {"ls", "tools or servers"},
	    {"list", "tools or servers"},
	    {"rm", "remove"},
	    {"delete", "remove"},
	    {"start", "serve"},
	    {"run", "serve or call"},
	    {"up", "serve"},
	    {"down", "stop"},
	    {"kill", "stop"},
	    {"history", "log"},
	    {"search", "browse"},
	    {"find", "browse"},
	    {"validate", "config check"},
	    {"import", "add"},
	    {"install", "add"},
	    {"approvals", "approve --list"},
	    {"questions", "approve --list"},
	};

	for (size_t i = 0; !group[0] && i < ARRAY_LEN(words); i++)
		if (strcmp(name, words[i].name) == 0)
			return words[i].here;
	return NULL;
}

int
command_unknown(const char *group, const char *name)
{
	const char *near = command_elsewhere(group, name), *blank = group[0] ? " " : "";

	if (!near)
		near = command_near(group, name);
	refuse("there is no command '%s%s%.100s'%s%s%s", group, blank, name,
	       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	fprintf(stderr, "Try: holdfast %s%s--help\n", group, blank);
	return EXIT_USAGE;
}

int
cmd_help(const struct args *a)
{
	size_t used = 0;
	const struct command_row *command = a->count > 0 ? command_of(a->words, &used) : NULL;

	if (a->count > 0 && !command)
		return command_unknown("", a->words[0]);
	if (used < a->count)
		return command_is_group(command)
			   ? command_unknown(command->name, a->words[used])
			   : usage_error(a, "'%.100s' is one argument too many", a->words[used]);
	help_print(command);
	return EXIT_FINE;
}

/* A group alone does nothing. */
int
cmd_group(const struct args *a)
{
	help_print(a->command);
	return EXIT_USAGE;
}
