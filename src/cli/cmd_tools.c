/* cmd_tools.c - which tools there are, and what one of them takes. */

#include <stdio.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/servers.h"
#include "cli/show.h"
#include "cli/term.h"
#include "json/write.h"

static const struct column columns[] = {
    {"TOOL", "name", SHOW_TEXT},
    {"MAY", "side_effects", SHOW_TEXT},
    {"EFFECT", "reversibility", SHOW_TEXT},
    {"WHAT IT DOES", "description", SHOW_TOOL},
};

/* Text of a card as a paragraph: indented, on a terminal broken between words. */
static void
print_paragraph(const char *indent, struct str text)
{
	struct buf safe = BUF_INIT(2 * LIMIT_CARD_BYTES);
	unsigned width = term_is(stdout) ? term_width() : 100, column = 0;
	struct str rest, word;

	text_safe(&safe, text, SAFE_LINE);
	for (rest = buf_str(&safe); str_split(&rest, ' ', &word);) {
		unsigned takes = text_columns(word) + 1;
		if (column > 0 && column + takes > width)
			putchar('\n'), column = 0;
		if (column == 0)
			column = (unsigned)printf("%s", indent) - 1;
		else
			putchar(' ');
		printf("%.*s", STR_ARG(word));
		column += takes;
	}
	putchar('\n');
	buf_done(&safe);
}

static bool
is_required(const struct json *schema, struct str name)
{
	for (struct json_iter it = json_iter(json_get(schema, S("required"))); json_next(&it);)
		if (str_eq(json_str(it.value), name))
			return true;
	return false;
}

/* "path  string, required", and what it means below it. */
static void
print_argument(const struct json *schema, struct str name, const struct json *argument)
{
	const struct json *usual = json_get(argument, S("default"));
	struct buf line = BUF_INIT(LIMIT_CARD_BYTES);

	buf_addf(&line, "  %s", paint(stdout, BOLD));
	text_safe(&line, name, SAFE_LINE);
	buf_addf(&line, "%s  ", paint(stdout, PLAIN));
	value_text(&line, json_get(argument, S("type")));
	buf_addz(&line, is_required(schema, name) ? ", required" : "");
	if (usual) {
		struct buf json = BUF_INIT(LIMIT_CARD_BYTES);
		struct jw w = jw(&json);
		jw_value(&w, usual);
		buf_addz(&line, ", by default ");
		text_safe(&line, buf_str(&json), SAFE_LINE);
		buf_done(&json);
	}
	printf("%.*s\n", STR_ARG(buf_str(&line)));
	if (member(argument, "description").len)
		print_paragraph("      ", member(argument, "description"));
	buf_done(&line);
}

/* As it would be typed. */
static void
print_example(struct str tool, const struct json *example)
{
	struct buf input = BUF_INIT(LIMIT_CARD_BYTES), line = BUF_INIT(4 * LIMIT_CARD_BYTES);
	struct jw w = jw(&input);
	struct str rest, part;
	const char *quote = "";

	jw_value(&w, json_get(example, S("input")));
	buf_add(&line, tool);
	buf_addz(&line, " '");
	for (rest = buf_str(&input); str_split(&rest, '\'', &part); quote = "'\\''") {
		buf_addz(&line, quote);
		buf_add(&line, part);
	}
	buf_addc(&line, '\'');
	fputs("  holdfast call ", stdout);
	text_print(stdout, buf_str(&line));
	putchar('\n');
	if (member(example, "note").len)
		print_paragraph("      ", member(example, "note"));
	buf_done(&input);
	buf_done(&line);
}

static void
print_tool(const struct json *tool)
{
	static const struct column fields[] = {
	    {"tool", "name", SHOW_TEXT},
	    {"title", "title", SHOW_TEXT},
	    {"server", "server", SHOW_TEXT},
	    {"may", "side_effects", SHOW_TEXT},
	    {"effect", "reversibility", SHOW_TEXT},
	    {"ends within", "timeout_ms", SHOW_MS},
	};
	const struct json *schema = json_get(tool, S("input_schema"));
	const struct json *arguments = json_get(schema, S("properties"));
	const struct json *examples = json_get(tool, S("examples"));

	show_fields(tool, fields, ARRAY_LEN(fields));
	if (json_bool(json_get(tool, S("changed"))))
		printf("\n%sIt has changed since it was accepted, and is not called: see `holdfast "
		       "pins`.%s\n",
		       paint(stdout, YELLOW), paint(stdout, PLAIN));
	putchar('\n');
	print_paragraph("", member(tool, "description"));
	printf("\n%s\n", json_len(arguments) ? "Arguments:" : "It takes no arguments.");
	for (struct json_iter it = json_iter(arguments); json_next(&it);)
		print_argument(schema, it.key, it.value);
	if (json_len(examples))
		printf("\n%s\n", json_len(examples) > 1 ? "Examples:" : "Example:");
	for (struct json_iter it = json_iter(examples); json_next(&it);)
		print_example(member(tool, "name"), it.value);
}

static int
no_such_tool(const struct json *tools, const char *name)
{
	struct str near = tool_near(tools, name);

	return refuse("there is no tool '%.100s'%s%.*s%s", name, near.len ? "; did you mean " : "",
		      STR_ARG(near), near.len ? "?" : "; `holdfast tools` lists them");
}

static int
show_one(const struct json *tools, const char *name, bool json)
{
	const struct json *tool = NULL;

	for (struct json_iter it = json_iter(tools); !tool && json_next(&it);)
		if (str_is(member(it.value, "name"), name))
			tool = it.value;
	if (!tool)
		return no_such_tool(tools, name);
	if (json)
		show_json_value(tool);
	else
		print_tool(tool);
	return EXIT_FINE;
}

/* All of them, or as an agent sees them. */
static int
get_tools(struct api *api, const struct args *a, struct reply *ret)
{
	static const char *const owners[] = {"tenant", "agent"};
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
	const char *sep = "?";

	buf_addz(&target, "/tools");
	for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
		if (!args_value(a, owners[i]))
			continue;
		buf_addf(&target, "%s%s=", sep, owners[i]);
		url_add(&target, str_of(args_value(a, owners[i])));
		sep = "&";
	}
	if (args_given(a, "unavailable"))
		buf_addf(&target, "%sunavailable=1", sep);
	int code = buf_z(&target) ? api_ask(api, "GET", target.ptr, (struct str){NULL, 0}, ret)
				  : refuse("no name is this long");
	buf_done(&target);
	return code;
}

int
cmd_tools(const struct args *a)
{
	bool json = args_given(a, "json");
	struct reply tools = {0};
	struct api *api = NULL;
	bool owned = args_value(a, "tenant") || args_value(a, "agent") ||
		     args_given(a, "unavailable"); /* the store knows whose */
	int code = api_enter((owned ? API_ANY : API_DRY) | API_SERVERS, &api);

	if (code != EXIT_FINE)
		return code;
	if (!api_is_daemon(api))
		servers_settle(api, COME_UP_MS);
	code = get_tools(api, a, &tools);
	api_close(api);
	if (code != EXIT_FINE)
		return code;
	const struct json *rows = json_get(tools.root, S("tools"));
	if (a->count)
		code = show_one(rows, a->words[0], json);
	else if (json)
		show_json(&tools);
	else if (json_len(rows) == 0 && args_given(a, "unavailable"))
		printf("every tool is enabled\n");
	else
		show_table(rows, columns, ARRAY_LEN(columns));
	api_done(&tools);
	return code;
}
