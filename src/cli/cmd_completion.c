/*
 * cmd_completion.c - completion scripts for shells, printed from the table.
 *
 * share/completions holds what a shell loads; each of those files only asks this command, so
 * completion is always that of the program that is installed.
 */

#include <stdio.h>
#include <string.h>

#include "cli/api.h"
#include "cli/args.h"

static bool
takes_option(const char *command, const struct option_row *o)
{
	return strcmp(o->command, command) == 0;
}

static bool
names_file(const struct option_row *o)
{
	static const char *const values[] = {"DIR", "FILE", "PATH"};

	for (size_t i = 0; o->value && i < ARRAY_LEN(values); i++)
		if (strcmp(o->value, values[i]) == 0)
			return true;
	return false;
}

static bool
takes_files(const struct command_row *command)
{
	return strstr(command->arguments, "FILE") || strstr(command->arguments, "SCHEMA");
}

/* Options whose values are words. */
static const struct {
	const char *option, *words;
} choices[] = {
    {"log-level", "debug info warn error"},
    {"draft", "7 2020"},
    {"form", "jcs contextweaver metis focal"},
    {"surface", "gateway proxy all"},
};

static const char *
choices_of(const struct option_row *o) /* NULL = none */
{
	for (size_t i = 0; i < ARRAY_LEN(choices); i++)
		if (strcmp(choices[i].option, o->name) == 0)
			return choices[i].words;
	return NULL;
}

/* For single quotes in a shell: the sentences of the table have no other quote. */
static void
print_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	putchar('\'');
}

static void
print_commands(const char *group)
{
	const char *between = "";

	for (size_t i = 0; i < command_count; i++) {
		const char *name = command_within(&command_rows[i], group);
		if (!name)
			continue;
		printf("%s%s", between, name);
		between = " ";
	}
}

static void
bash_options(const struct command_row *command)
{
	printf("--help");
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (takes_option(command->name, &option_rows[i]))
			printf(" --%s", option_rows[i].name);
}

/* In a group the words of the command are two, unless the group is a command by itself. */
static void
bash_groups(void)
{
	printf("\tcase $command in\n");
	for (size_t i = 0; i < command_count; i++) {
		if (!command_is_group(&command_rows[i]))
			continue;
		printf("\t%s)\n"
		       "\t\tif [ \"$COMP_CWORD\" -eq 2 ]; then\n"
		       "\t\t\tCOMPREPLY=($(compgen -W '",
		       command_rows[i].name);
		print_commands(command_rows[i].name);
		putchar(' ');
		bash_options(&command_rows[i]);
		printf("' -- \"$word\"))\n\t\t\treturn\n\t\tfi\n"
		       "\t\tcase ' ");
		print_commands(command_rows[i].name);
		printf(" ' in *\" ${COMP_WORDS[2]} \"*) command=\"$command ${COMP_WORDS[2]}\" ;; "
		       "esac ;;\n");
	}
	printf("\tesac\n");
}

static void
bash_command(const struct command_row *command)
{
	printf("\t'%s') options='", command->name);
	bash_options(command);
	printf("'%s ;;\n", takes_files(command) ? " files=1" : "");
}

static void
bash(void)
{
	printf("_holdfast() {\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	       "\tlocal command=${COMP_WORDS[1]} options= files=\n"
	       "\tCOMPREPLY=()\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W '");
	print_commands("");
	printf(" --help --version' -- \"$word\"))\n\t\treturn\n\tfi\n"
	       "\tcase $before in\n"
	       "\t-w|--workspace|--cwd) COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n"
	       "\t-c|--config|--socket) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n");
	for (size_t i = 0; i < ARRAY_LEN(choices); i++)
		printf("\t--%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n",
		       choices[i].option, choices[i].words);
	printf("\tesac\n");
	bash_groups();
	printf("\tcase $command in\n");
	for (size_t i = 0; i < command_count; i++)
		bash_command(&command_rows[i]);
	printf("\tesac\n"
	       "\tcase $word:$before in\n"
	       "\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")); return ;;\n"
	       "\t*:call|*:tools) COMPREPLY=($(compgen -W \"$(holdfast completion tools "
	       "2>/dev/null)\" -- "
	       "\"$word\")) ;;\n"
	       "\t*:help) COMPREPLY=($(compgen -W '");
	print_commands("");
	printf("' -- \"$word\")) ;;\n"
	       "\tesac\n"
	       "\t[ -z \"$files\" ] || COMPREPLY=($(compgen -f -- \"$word\"))\n}\n"
	       "complete -F _holdfast holdfast\n");
}

static void
zsh_option(const struct option_row *o)
{
	const char *words = choices_of(o);
	char what[512];

	/* Brackets and colons would end the description. */
	snprintf(what, sizeof(what), "--%s%s[%s]%s%s%s%s%s%s", o->name, o->value ? "=" : "",
		 o->sentence, o->value ? ":" : "", o->value ? o->value : "",
		 names_file(o) ? ":_files" : (o->value ? ":" : ""), words ? "(" : "",
		 words ? words : "", words ? ")" : "");
	for (char *at = strchr(what, '[') + 1; *at && *at != ']'; at++)
		if (*at == ':')
			*at = ';';
	fputs(" \\\n\t\t\t", stdout);
	print_quoted(what);
}

/* The commands of a group as an array of name:sentence. */
static void
zsh_commands(const char *group)
{
	printf("\tcommands=(\n");
	for (size_t i = 0; i < command_count; i++) {
		const char *name = command_within(&command_rows[i], group);
		char row[512];
		if (!name)
			continue;
		snprintf(row, sizeof(row), "%s:%s", name, command_rows[i].sentence);
		fputs("\t\t", stdout);
		print_quoted(row);
		putchar('\n');
	}
	printf("\t)\n");
}

static void
zsh_groups(void)
{
	for (size_t i = 0; i < command_count; i++) {
		if (!command_is_group(&command_rows[i]))
			continue;
		printf("\tif [[ $command == %s ]]; then\n", command_rows[i].name);
		zsh_commands(command_rows[i].name);
		printf("\t\tif (( CURRENT == 2 )); then\n"
		       "\t\t\t_describe command commands\n"
		       "\t\t\treturn\n"
		       "\t\tfi\n"
		       "\t\tif [[ ' ");
		print_commands(command_rows[i].name);
		printf(" ' == *\" $words[2] \"* ]]; then\n"
		       "\t\t\tcommand=\"$command $words[2]\"\n"
		       "\t\t\tshift words\n"
		       "\t\t\t(( CURRENT-- ))\n"
		       "\t\tfi\n"
		       "\tfi\n");
	}
}

static void
zsh_command(const struct command_row *command)
{
	printf("\t'%s') _arguments '--help[explain the command]'", command->name);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (takes_option(command->name, &option_rows[i]))
			zsh_option(&option_rows[i]);
	printf("%s ;;\n", takes_files(command) ? " '*:file:_files'" : "");
}

static void
zsh(void)
{
	printf("_holdfast() {\n"
	       "\tlocal -a commands tools\n");
	zsh_commands("");
	printf("\tif (( CURRENT == 2 )); then\n"
	       "\t\t_describe command commands\n"
	       "\t\treturn\n"
	       "\tfi\n"
	       "\tif [[ $words[2] == (call|tools) && CURRENT -eq 3 && $words[3] != -* ]]; then\n"
	       "\t\ttools=(${(f)\"$(holdfast completion tools 2>/dev/null)\"})\n"
	       "\t\t_describe tool tools\n"
	       "\t\treturn\n"
	       "\tfi\n"
	       "\tlocal command=$words[2]\n"
	       "\tshift words\n"
	       "\t(( CURRENT-- ))\n");
	zsh_groups();
	printf("\tcase $command in\n"
	       "\thelp) _describe command commands ;;\n");
	for (size_t i = 0; i < command_count; i++)
		if (strcmp(command_rows[i].name, "help") != 0)
			zsh_command(&command_rows[i]);
	printf("\tesac\n}\ncompdef _holdfast holdfast\n");
}

/* When a command was typed: one word, or both of a group's. */
static void
fish_when(const char *command)
{
	const char *blank = strchr(command, ' ');

	if (blank)
		printf("complete -c holdfast -n '__fish_seen_subcommand_from %.*s; and "
		       "__fish_seen_subcommand_from %s'",
		       (int)(blank - command), command, blank + 1);
	else
		printf("complete -c holdfast -n '__fish_seen_subcommand_from %s'", command);
}

static void
fish_command(const struct command_row *command)
{
	const char *blank = strchr(command->name, ' ');

	if (blank) {
		char group[32];
		snprintf(group, sizeof(group), "%.*s", (int)(blank - command->name), command->name);
		printf("complete -c holdfast -n '__fish_seen_subcommand_from %s; and not "
		       "__fish_seen_subcommand_from ",
		       group);
		print_commands(group);
		printf("' -a %s -d ", blank + 1);
	} else {
		printf("complete -c holdfast -n __fish_use_subcommand -a %s -d ", command->name);
	}
	print_quoted(command->sentence);
	putchar('\n');
	if (takes_files(command)) {
		fish_when(command->name);
		printf(" -F\n");
	}
}

static void
fish_option(const struct option_row *o)
{
	const char *words = choices_of(o);

	fish_when(o->command);
	printf(" -l %s", o->name);
	if (o->letter)
		printf(" -s %c", o->letter);
	printf("%s%s", o->value ? " -r" : "", names_file(o) ? " -F" : "");
	if (words)
		printf(" -a '%s'", words);
	printf(" -d ");
	print_quoted(o->sentence);
	putchar('\n');
}

static void
fish(void)
{
	printf("complete -c holdfast -f\n");
	for (size_t i = 0; i < command_count; i++)
		fish_command(&command_rows[i]);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		fish_option(&option_rows[i]);
	printf("complete -c holdfast -n '__fish_seen_subcommand_from call tools' "
	       "-a '(holdfast completion tools 2>/dev/null)'\n"
	       "complete -c holdfast -n '__fish_seen_subcommand_from help' -a '");
	print_commands("");
	printf("'\n");
}

static void
tools(void)
{
	struct reply reply;
	struct api *api;

	if (api_enter(API_DRY, &api) != EXIT_FINE)
		return;
	if (api_get(api, &reply, "/tools") == EXIT_FINE) {
		for (struct json_iter it = json_iter(json_get(reply.root, S("tools")));
		     json_next(&it);)
			printf("%.*s\n", STR_ARG(member(it.value, "name")));
		api_done(&reply);
	}
	api_close(api);
}

static const struct {
	const char *name;
	void (*print)(void);
} scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}, {"tools", tools}};

int
cmd_completion(const struct args *a)
{
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		if (strcmp(a->words[0], scripts[i].name) == 0) {
			scripts[i].print();
			return EXIT_FINE;
		}
	return usage_error(a, "there is completion for bash, zsh and fish");
}
