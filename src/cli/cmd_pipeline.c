/* cmd_pipeline.c - the way of a call as it is put together now, and what each stage has cost. */

#include <stdio.h>

#include "cli/args.h"
#include "cli/find.h"
#include "cli/show.h"
#include "cli/term.h"

static int64_t
number(const struct json *row, const char *key)
{
	int64_t n = 0;

	json_int(json_get(row, str_of(key)), &n);
	return n;
}

/* "12.3 ms": three digits that count, in what suits them. */
static void
print_time(int64_t us)
{
	if (us < 1000)
		printf("  %5lld us", (long long)us);
	else if (us < 1000000)
		printf("  %5.1f ms", (double)us / 1e3);
	else
		printf("  %5.1f s ", (double)us / 1e6);
}

static void
print_stage(const struct json *s)
{
	struct str name = json_str(json_get(s, S("name"))), by = json_str(json_get(s, S("by")));
	int64_t entries = number(s, "entries"), most = number(s, "max_us");
	int64_t each = entries ? number(s, "total_us") / entries : 0;

	printf("%-10.*s %8lld", STR_ARG(name), (long long)entries);
	print_time(each);
	print_time(most < each ? each : most); /* it is of one stretch; a call may have several */
	printf("  ");
	text_print(stdout, json_str(json_get(s, S("sentence"))));
	if (!str_is(by, "holdfast"))
		printf(" (added by the %.*s)", STR_ARG(by));
	putchar('\n');
}

static void
print_hook(const struct json *h)
{
	printf("%-12.*s ", STR_ARG(json_str(json_get(h, S("event")))));
	text_print(stdout, json_str(json_get(h, S("matcher"))));
	printf(": ");
	text_print(stdout, json_str(json_get(h, S("name"))));
	printf(" (%.*s)\n", STR_ARG(json_str(json_get(h, S("by")))));
}

static void
print(const struct json *pipeline)
{
	const struct json *hooks = json_get(pipeline, S("hooks"));

	printf("%-10s %8s  %8s  %8s\n", "stage", "calls", "each", "most");
	for (struct json_iter it = json_iter(json_get(pipeline, S("stages"))); json_next(&it);)
		print_stage(it.value);
	if (json_len(hooks))
		printf("\nhooks, in the order they run\n");
	for (struct json_iter it = json_iter(hooks); json_next(&it);)
		print_hook(it.value);
}

int
cmd_pipeline(const struct args *a)
{
	struct reply pipeline;
	struct api *api;
	int code = api_enter(API_ANY, &api);

	if (code != EXIT_FINE)
		return code;
	code = api_ask(api, "GET", "/pipeline", (struct str){NULL, 0}, &pipeline);
	if (code == EXIT_FINE) {
		if (args_given(a, "json"))
			show_json(&pipeline);
		else
			print(pipeline.root);
		api_done(&pipeline);
	}
	api_close(api);
	return code;
}
