/* args.c - reading options by the table. */

#include "cli/args.h"

#include <string.h>

struct reader {
	struct args *args;
	char *const *next; /* words not looked at yet */
	struct err *err;
};

static bool
of_command(const struct option_row *o, const struct command_row *command)
{
	return strcmp(o->command, command->name) == 0;
}

static const struct option_row *
find_long(const struct command_row *command, struct str name)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (of_command(&option_rows[i], command) && str_is(name, option_rows[i].name))
			return &option_rows[i];
	return NULL;
}

static const struct option_row *
find_letter(const struct command_row *command, char letter)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (of_command(&option_rows[i], command) && option_rows[i].letter == letter)
			return &option_rows[i];
	return NULL;
}

/* `joined` is what stood in the same word, NULL when nothing did. */
static int
take_value(struct reader *r, const struct option_row *o, const char *joined)
{
	const char *value = joined ? joined : *r->next;

	if (!value)
		return err_set(r->err, E_BAD_REQUEST, "--%s needs %s", o->name, o->value);
	if (!joined)
		r->next++;
	if (r->args->given_count == ARGS_GIVEN)
		return err_set(r->err, E_BAD_REQUEST, "there are more than %d options", ARGS_GIVEN);
	r->args->given[r->args->given_count].option = o;
	r->args->given[r->args->given_count++].value = value;
	r->args->values[o - option_rows] = value;
	return 0;
}

static int
unknown_long(struct reader *r, struct str name)
{
	char text[64];
	size_t n = name.len < sizeof(text) ? name.len : sizeof(text) - 1;

	memcpy(text, name.ptr, n);
	text[n] = '\0';
	const char *near = option_near(r->args->command->name, text);
	return err_set(r->err, E_BAD_REQUEST, "there is no option --%s%s%s%s", text,
		       near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

static int
read_long(struct reader *r, const char *word)
{
	const char *equals = strchr(word, '=');
	struct str name = {word, equals ? (size_t)(equals - word) : strlen(word)};
	const struct option_row *o = find_long(r->args->command, name);

	if (str_is(name, "help") && !equals) {
		r->args->help = true;
		return 0;
	}
	if (!o)
		return unknown_long(r, name);
	if (o->value)
		return take_value(r, o, equals ? equals + 1 : NULL);
	if (equals)
		return err_set(r->err, E_BAD_REQUEST, "--%s takes no value", o->name);
	r->args->values[o - option_rows] = "";
	return 0;
}

static int
read_letters(struct reader *r, const char *letters)
{
	for (; *letters; letters++) {
		const struct option_row *o = find_letter(r->args->command, *letters);
		if (!o && *letters == 'h') {
			r->args->help = true;
			continue;
		}
		if (!o)
			return err_set(r->err, E_BAD_REQUEST, "there is no option -%c", *letters);
		if (o->value)
			return take_value(r, o, letters[1] ? letters + 1 : NULL);
		r->args->values[o - option_rows] = "";
	}
	return 0;
}

static int
read_word(struct reader *r, const char *word)
{
	struct args *a = r->args;

	if (a->count == a->command->most)
		return err_set(r->err, E_BAD_REQUEST, "'%.100s' is one argument too many%s", word,
			       strstr(a->command->arguments, "[-- ")
				   ? "; a command and its arguments stand behind --"
				   : "");
	a->words[a->count++] = word;
	return 0;
}

/* What stands behind "--": arguments, or what the command is to run. */
static void
read_rest(struct reader *r, bool *options)
{
	*options = false;
	if (!strstr(r->args->command->arguments, "--"))
		return;
	r->args->rest = r->next;
	while (*r->next)
		r->next++;
}

int
args_parse(const struct command_row *command, char *const *argv, struct args *ret, struct err *e)
{
	struct reader r = {.args = ret, .next = argv, .err = e};
	bool options = true;
	int code = 0;

	CHECK(command->most <= ARGS_MOST);
	*ret = (struct args){.command = command};
	while (*r.next && code == 0) {
		const char *word = *r.next++;
		if (options && strcmp(word, "--") == 0)
			read_rest(&r, &options);
		else if (options && strncmp(word, "--", 2) == 0)
			code = read_long(&r, word + 2);
		else if (options && word[0] == '-' && word[1])
			code = read_letters(&r, word + 1);
		else
			code = read_word(&r, word);
	}
	if (code == 0 && !ret->help && ret->count < command->least)
		code = err_set(e, E_BAD_REQUEST, "it needs %s", command->arguments);
	return code;
}

const char *
args_value(const struct args *a, const char *option)
{
	const struct option_row *o = find_long(a->command, str_of(option));

	CHECK(o);
	return a->values[o - option_rows];
}

bool
args_given(const struct args *a, const char *option)
{
	return args_value(a, option) != NULL;
}

const char *
args_next(const struct args *a, const char *option, size_t *at)
{
	const struct option_row *o = find_long(a->command, str_of(option));

	CHECK(o);
	while (*at < a->given_count)
		if (a->given[(*at)++].option == o)
			return a->given[*at - 1].value;
	return NULL;
}
