/* cmd_pins.c - tools that are no longer what was accepted: the difference, and a person's yes. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/servers.h"
#include "cli/show.h"
#include "cli/term.h"
#include "json/write.h"

static void
print_pin(FILE *f, const struct json *pin)
{
	struct buf text = BUF_INIT(16 * KIB);

	text_safe(&text, member(pin, "server"), SAFE_LINE);
	buf_addz(&text, ": ");
	text_safe(&text, member(pin, "tool"), SAFE_LINE);
	fprintf(f, "%s%.*s%s has changed\n", paint(f, BOLD), STR_ARG(buf_str(&text)),
		paint(f, PLAIN));
	show_diff(f, "  ", member(pin, "diff"));
	if (json_bool(json_get(pin, S("diff_truncated"))))
		fputs("  the difference does not show all; `holdfast pins --json` does\n", f);
	buf_done(&text);
}

int
cmd_pins(const struct args *a)
{
	struct reply pins;
	struct api *api;
	int code = api_enter(API_ANY | API_SERVERS, &api);

	if (code != EXIT_FINE)
		return code;
	code = api_get(api, &pins, "/pins");
	api_close(api);
	if (code != EXIT_FINE)
		return code;
	const struct json *rows = json_get(pins.root, S("pins"));
	if (args_given(a, "json"))
		show_json(&pins);
	else if (json_len(rows) == 0)
		printf("no tool has changed\n");
	else
		for (struct json_iter it = json_iter(rows); json_next(&it);)
			print_pin(stdout, it.value);
	api_done(&pins);
	return EXIT_FINE;
}

/* Accepting */

/* A line of the person's, without what is behind the limit. */
static bool
said_yes(FILE *person)
{
	char line[64];
	ssize_t n;

	fprintf(person, "Accept it? [y/N] ");
	fflush(person);
	n = read(fileno(person), line, sizeof(line));
	struct str typed = str_trim((struct str){line, n > 0 ? (size_t)n : 0});
	return str_eq_nocase(typed, S("y")) || str_eq_nocase(typed, S("yes"));
}

static int
send_yes(struct api *api, const struct json *pin)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD), body = BUF_INIT(4 * KIB);
	struct jw w = jw(&body);
	struct reply done;
	int code;

	buf_addz(&target, "/pins/");
	segment_add(&target, member(pin, "server"));
	buf_addc(&target, '/');
	segment_add(&target, member(pin, "tool"));
	buf_addz(&target, "/accept");
	jw_object(&w);
	jw_member(&w, "now", member(pin, "now_digest")); /* what was shown, and nothing newer */
	jw_end(&w);
	if (!buf_z(&target))
		code = refuse("the tool's name is too long");
	else if ((code = api_ask(api, "POST", target.ptr, buf_str(&body), &done)) == EXIT_FINE)
		api_done(&done);
	buf_done(&target);
	buf_done(&body);
	return code;
}

static int
accept_one(struct api *api, const struct json *pin, FILE *person, bool yes)
{
	struct buf name = BUF_INIT(16 * KIB);
	int code = EXIT_FINE;

	text_safe(&name, member(pin, "tool"), SAFE_LINE);
	print_pin(yes ? stdout : person, pin);
	if (!yes && !said_yes(person))
		printf("%.*s stays as it is\n", STR_ARG(buf_str(&name)));
	else if ((code = send_yes(api, pin)) == EXIT_FINE)
		printf("%.*s is accepted\n", STR_ARG(buf_str(&name)));
	buf_done(&name);
	return code;
}

static bool
is_meant(const struct json *pin, const struct args *a)
{
	return str_is(member(pin, "server"), a->words[0]) &&
	       (a->count < 2 || str_is(member(pin, "tool"), a->words[1]));
}

static int
accept_all(struct api *api, const struct args *a, FILE *person)
{
	struct reply servers, pins;
	size_t count = 0;
	int code = api_get(api, &servers, "/servers");

	if (code != EXIT_FINE)
		return code;
	if (!server_in(&servers, str_of(a->words[0])))
		code = server_refuse(&servers, a->words[0]);
	api_done(&servers);
	if (code != EXIT_FINE || (code = api_get(api, &pins, "/pins")) != EXIT_FINE)
		return code;
	for (struct json_iter it = json_iter(json_get(pins.root, S("pins")));
	     code == EXIT_FINE && json_next(&it);)
		if (is_meant(it.value, a)) {
			count++;
			if (person || args_given(a, "yes"))
				code = accept_one(api, it.value, person, args_given(a, "yes"));
			else
				code = refuse("nobody can be asked here; --yes accepts without "
					      "asking");
		}
	if (count == 0)
		code = refuse("%s has no changed tool%s%s; `holdfast pins` lists them", a->words[0],
			      a->count > 1 ? " " : "", a->count > 1 ? a->words[1] : "");
	api_done(&pins);
	return code;
}

int
cmd_pins_accept(const struct args *a)
{
	FILE *person = args_given(a, "yes") ? NULL : term_person();
	struct api *api;
	int code;

	if ((code = api_enter(API_ANY | API_SERVERS, &api)) == EXIT_FINE) {
		code = accept_all(api, a, person);
		api_close(api);
	}
	if (person)
		fclose(person);
	return code;
}
