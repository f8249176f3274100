/* cmd_status.c - does a gateway run, and how do things stand in it. */

#include <stdio.h>

#include "cli/args.h"
#include "cli/show.h"
#include "cli/term.h"
#include "json/write.h"

static void
print_counts(const char *title, const struct json *counts)
{
	const char *comma = "";
	struct buf text = BUF_INIT(4 * 1024);

	for (struct json_iter it = json_iter(counts); json_next(&it); comma = ", ") {
		buf_addz(&text, comma);
		value_text(&text, it.value);
		buf_addf(&text, " %.*s", STR_ARG(it.key));
	}
	printf("  %-10s %.*s\n", title, STR_ARG(buf_str(&text)));
	buf_done(&text);
}

static void
print(const struct reply *status, const struct reply *version, const char *socket)
{
	printf("%sholdfast %.*s is running%s\n", paint(stdout, BOLD),
	       STR_ARG(member(version->root, "version")), paint(stdout, PLAIN));
	printf("  %-10s %s\n", "socket", socket);
	for (struct json_iter it = json_iter(status->root); json_next(&it);) {
		struct buf text = BUF_INIT(4 * 1024);
		char title[32];
		snprintf(title, sizeof(title), "%.*s", STR_ARG(it.key));
		value_text(&text, it.value);
		if (json_is(it.value, JSON_OBJECT))
			print_counts(title, it.value);
		else
			printf("  %-10s %.*s\n", title, STR_ARG(buf_str(&text)));
		buf_done(&text);
	}
}

static int
not_running(bool json)
{
	if (json)
		printf("{\"running\":false}\n");
	else
		printf("no gateway is running; `holdfast serve` starts one\n");
	return EXIT_NO_GATEWAY;
}

int
cmd_status(const struct args *a)
{
	struct reply status = {0}, version = {0};
	struct path socket;
	struct api *api;
	struct err e;
	int code;

	if (api_open(API_DAEMON, NULL, &api, &e) < 0)
		return not_running(args_given(a, "json"));
	code = api_get(api, &status, "/status");
	if (code == EXIT_FINE)
		code = api_get(api, &version, "/server/version");
	if (code == EXIT_FINE && args_given(a, "json"))
		show_json(&status);
	else if (code == EXIT_FINE && api_socket(&socket, false, &e) == 0)
		print(&status, &version, socket.text);
	api_done(&status);
	api_done(&version);
	api_close(api);
	return code;
}
