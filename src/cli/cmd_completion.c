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
print_commands(const char *separator)
{
	const char *between = "";

	for (size_t i = 0; i < command_count; i++) {
		printf("%s%s", between, command_rows[i].name);
		between = separator;
	}
}

static void
bash(void)
{
	printf(
	    "_holdfast() {\n"
	    "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=\n"
	    "\tCOMPREPLY=()\n"
	    "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	    "\t\tCOMPREPLY=($(compgen -W '");
	print_commands(" ");
	printf(" --help --version' -- \"$word\"))\n\t\treturn\n\tfi\n"
	       "\tcase $before in\n"
	       "\t-w|--workspace) COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n"
	       "\t-c|--config|--socket) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
	       "\t--log-level) COMPREPLY=($(compgen -W 'debug info warn error' -- \"$word\")); "
	       "return ;;\n"
	       "\tesac\n\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < command_count; i++) {
		printf("\t%s) options='--help", command_rows[i].name);
		for (size_t k = 0; k < OPTION_COUNT; k++)
			if (takes_option(command_rows[i].name, &option_rows[k]))
				printf(" --%s", option_rows[k].name);
		printf("' ;;\n");
	}
	printf("\tesac\n"
	       "\tcase $word:$before in\n"
	       "\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
	       "\t*:call|*:tools) COMPREPLY=($(compgen -W \"$(holdfast completion tools "
	       "2>/dev/null)\" -- "
	       "\"$word\")) ;;\n"
	       "\t*:help) COMPREPLY=($(compgen -W '");
	print_commands(" ");
	printf("' -- \"$word\")) ;;\n"
	       "\tesac\n}\n"
	       "complete -F _holdfast holdfast\n");
}

static void
zsh_option(const struct option_row *o)
{
	char what[512];

	/* Brackets and colons would end the description. */
	snprintf(what, sizeof(what), "--%s%s[%s]%s%s%s", o->name, o->value ? "=" : "", o->sentence,
		 o->value ? ":" : "", o->value ? o->value : "",
		 names_file(o) ? ":_files" : (o->value ? ":" : ""));
	for (char *at = strchr(what, '[') + 1; *at && *at != ']'; at++)
		if (*at == ':')
			*at = ';';
	fputs(" \\\n\t\t\t", stdout);
	print_quoted(what);
}

static void
zsh(void)
{
	printf("_holdfast() {\n"
	       "\tlocal -a commands tools\n"
	       "\tcommands=(\n");
	for (size_t i = 0; i < command_count; i++) {
		char row[512];
		snprintf(row, sizeof(row), "%s:%s", command_rows[i].name, command_rows[i].sentence);
		fputs("\t\t", stdout);
		print_quoted(row);
		putchar('\n');
	}
	printf("\t)\n"
	       "\tif (( CURRENT == 2 )); then\n"
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
	       "\t(( CURRENT-- ))\n"
	       "\tcase $command in\n"
	       "\thelp) _describe command commands ;;\n");
	for (size_t i = 0; i < command_count; i++) {
		if (strcmp(command_rows[i].name, "help") == 0)
			continue;
		printf("\t%s) _arguments '--help[explain the command]'", command_rows[i].name);
		for (size_t k = 0; k < OPTION_COUNT; k++)
			if (takes_option(command_rows[i].name, &option_rows[k]))
				zsh_option(&option_rows[k]);
		printf(" ;;\n");
	}
	printf("\tesac\n}\ncompdef _holdfast holdfast\n");
}

static void
fish(void)
{
	printf("complete -c holdfast -f\n");
	for (size_t i = 0; i < command_count; i++) {
		printf("complete -c holdfast -n __fish_use_subcommand -a %s -d ",
		       command_rows[i].name);
		print_quoted(command_rows[i].sentence);
		putchar('\n');
	}
	for (size_t k = 0; k < OPTION_COUNT; k++) {
		const struct option_row *o = &option_rows[k];
		printf("complete -c holdfast -n '__fish_seen_subcommand_from %s' -l %s", o->command,
		       o->name);
		if (o->letter)
			printf(" -s %c", o->letter);
		printf("%s%s -d ", o->value ? " -r" : "", names_file(o) ? " -F" : "");
		print_quoted(o->sentence);
		putchar('\n');
	}
	printf("complete -c holdfast -n '__fish_seen_subcommand_from call tools' "
	       "-a '(holdfast completion tools 2>/dev/null)'\n"
	       "complete -c holdfast -n '__fish_seen_subcommand_from help' -a '");
	print_commands(" ");
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
