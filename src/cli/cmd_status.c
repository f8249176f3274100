/* cmd_status.c - does a gateway run, and how do things stand in it. */

#include <stdio.h>
#include <unistd.h>

#include "cli/api.h"
#include "cli/args.h"
#include "cli/serve.h"
#include "cli/show.h"
#include "cli/term.h"

static void
print_line(const char *title, struct str text)
{
	printf("  %-12s %.*s\n", title, STR_ARG(text));
}

/* Of many figures those that say something. */
static void
counts_text(struct buf *out, const struct json *counts)
{
	const char *comma = "";
	int64_t n;

	for (struct json_iter it = json_iter(counts); json_next(&it);)
		if (json_int(it.value, &n) && n != 0) {
			buf_addf(out, "%s%lld ", comma, (long long)n);
			text_safe(out, it.key, SAFE_LINE);
			comma = ", ";
		}
	if (!out->len)
		buf_addz(out, "none");
}

/* The address a browser can be given; the token is in our own file, if one is asked for. */
static void
print_page(struct str page)
{
	struct buf text = BUF_INIT(64 * KIB);
	char token[TOKEN_TEXT];
	struct path file;
	struct err e;

	text_safe(&text, page, SAFE_LINE);
	bool known = path_in_state(&file, TOKEN_FILE, &e) == 0 && access(file.text, R_OK) == 0 &&
		     token_load(file.text, token, &e) == 0;
	if (known)
		buf_addf(&text, "#token=%s", token);
	print_line("status page", buf_str(&text));
	if (known)
		print_line("token", str_of(file.text));
	buf_done(&text);
}

/* Where its settings are, and whether it could not take what is there now. */
static void
print_config(const struct json *status)
{
	struct buf text = BUF_INIT(16 * KIB);
	struct str wrong = member(status, "config_error");

	text_safe(&text, member(json_get(status, S("config")), "file"), SAFE_LINE);
	print_line("settings", buf_str(&text));
	if (wrong.len) {
		buf_reset(&text);
		text_safe(&text, wrong, SAFE_LINE);
		fputs(paint(stdout, RED), stdout);
		print_line("not taken", buf_str(&text));
		fputs(paint(stdout, PLAIN), stdout);
	}
	buf_done(&text);
}

static void
print(const struct json *status, const char *socket)
{
	static const char *const figures[] = {"tools", "sessions", "questions", "watchers"};
	static const char *const counts[] = {"calls", "totals"};
	struct buf text = BUF_INIT(4 * KIB);

	text_safe(&text, member(status, "version"), SAFE_LINE);
	printf("%sholdfast %.*s is running%s\n", paint(stdout, BOLD), STR_ARG(buf_str(&text)),
	       paint(stdout, PLAIN));
	if (member(status, "page").len)
		print_page(member(status, "page"));
	print_line("socket", str_of(socket));
	printf("  %-12s %lld\n", "process", (long long)member_int(status, "pid"));
	print_config(status);
	for (size_t i = 0; i < ARRAY_LEN(figures); i++)
		printf("  %-12s %lld\n", figures[i], (long long)member_int(status, figures[i]));
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		buf_reset(&text);
		counts_text(&text, json_get(status, str_of(counts[i])));
		print_line(counts[i], buf_str(&text));
	}
	buf_done(&text);
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
	struct reply status = {0};
	struct path socket;
	struct api *api;
	struct err e;
	int code;

	if (api_open(API_DAEMON, NULL, &api, &e) < 0)
		return not_running(args_given(a, "json"));
	code = api_get(api, &status, "/status");
	if (code == EXIT_FINE && args_given(a, "json"))
		show_json(&status);
	else if (code == EXIT_FINE && api_socket(&socket, false, &e) == 0)
		print(status.root, socket.text);
	api_done(&status);
	api_close(api);
	return code;
}
