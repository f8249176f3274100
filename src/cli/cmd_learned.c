/* cmd_learned.c - what use has taught the search: looked at, forgotten, switched off. */

#include <stdio.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/find.h"
#include "cli/show.h"
#include "cli/term.h"

#define WORDS_SHOWN 8

/* "weather, forecast, ..." - the words are the heaviest first. */
static void
print_words(const struct json *words)
{
	struct buf line = BUF_INIT(4 * KIB);
	size_t i = 0;

	for (struct json_iter it = json_iter(words); i < WORDS_SHOWN && json_next(&it); i++) {
		buf_addz(&line, i ? ", " : "");
		buf_add(&line, json_str(json_get(it.value, S("word"))));
	}
	if (json_len(words) > i)
		buf_addf(&line, " and %zu more", json_len(words) - i);
	text_print(stdout, buf_str(&line));
	buf_done(&line);
}

static void
print(const struct json *learned)
{
	const struct json *tools = json_get(learned, S("tools"));

	if (!json_bool(json_get(learned, S("on"))))
		printf("learning is switched off\n");
	if (json_len(tools) == 0)
		printf("nothing has been learned\n");
	for (struct json_iter it = json_iter(tools); json_next(&it);) {
		int64_t uses = 0;
		json_int(json_get(it.value, S("uses")), &uses);
		text_print(stdout, json_str(json_get(it.value, S("id"))));
		printf("  run %lld time%s after: ", (long long)uses, uses == 1 ? "" : "s");
		print_words(json_get(it.value, S("words")));
		putchar('\n');
	}
}

/* What is to be done to it, or NULL; the body or {NULL,0}. */
static const char *
wish(const struct args *a, struct buf *target, struct str *body)
{
	*body = (struct str){NULL, 0};
	buf_addz(target, "/learned");
	if (args_given(a, "on") || args_given(a, "off")) {
		*body = args_given(a, "on") ? S("{\"on\":true}") : S("{\"on\":false}");
		return "POST";
	}
	if (args_value(a, "forget")) {
		buf_addz(target, "?tool=");
		url_add(target, str_of(args_value(a, "forget")));
	}
	return args_value(a, "forget") || args_given(a, "clear") ? "DELETE" : "GET";
}

int
cmd_learned(const struct args *a)
{
	int wishes = args_given(a, "on") + args_given(a, "off") + args_given(a, "clear") +
		     (args_value(a, "forget") != NULL);
	struct buf target = BUF_INIT(KIB);
	struct reply learned;
	struct str body;
	struct api *api;

	if (wishes > 1)
		return usage_error(a, "give one of --on, --off, --clear and --forget");
	const char *method = wish(a, &target, &body);
	if (!buf_z(&target))
		return usage_error(a, "no tool has an id this long");
	int code = api_enter(API_ANY, &api);
	if (code == EXIT_FINE) {
		code = api_ask(api, method, target.ptr, body, &learned);
		if (code == EXIT_FINE) {
			if (args_given(a, "json"))
				show_json(&learned);
			else
				print(learned.root);
			api_done(&learned);
		}
		api_close(api);
	}
	buf_done(&target);
	return code;
}
