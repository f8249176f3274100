/* cmd_call.c - make one call: a session for it, the turn, its question if there is one, the result.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/find.h"
#include "cli/follow.h"
#include "cli/input.h"
#include "cli/own.h"
#include "cli/servers.h"
#include "cli/show.h"
#include "json/write.h"

struct one_call {
	const struct args *args;
	struct buf input; /* JSON text */
	struct own own;
	struct follow follow;
	struct reply turn; /* with the result */
};

/* What is no JSON object is a slip of the person who typed it, not a call that failed. */
static int
read_input(struct one_call *c)
{
	const char *given = c->args->count > 1 ? c->args->words[1] : "{}";
	struct json_doc *doc;
	struct err e;
	int code;

	if (strcmp(given, "-") != 0)
		buf_addz(&c->input, given);
	else if ((code = input_read(given, &c->input)) != EXIT_FINE)
		return code;
	if (buf_failed(&c->input))
		return usage_error(c->args, "the input is longer than %zu bytes", LIMIT_JSON_BYTES);
	if (json_parse(buf_str(&c->input), &json_door, &doc, &e) < 0)
		return usage_error(c->args, "the input is not JSON: %s", err_text(&e));
	bool object = json_is(json_root(doc), JSON_OBJECT);
	json_doc_unref(doc);
	return object ? EXIT_FINE
		      : usage_error(c->args, "the input must be an object: '{\"name\": value}'");
}

static int
submit(struct one_call *c, struct reply *ret)
{
	struct buf body = BUF_INIT(LIMIT_JSON_BYTES + 64 * KIB), target = BUF_INIT(KIB);
	struct jw w = jw(&body);

	jw_object(&w);
	jw_member_z(&w, "name", c->args->words[0]);
	jw_key(&w, "input"), jw_raw(&w, buf_str(&c->input));
	if (args_value(c->args, "idempotency-key"))
		jw_member_z(&w, "idempotency_key", args_value(c->args, "idempotency-key"));
	if (args_value(c->args, "turn-group"))
		jw_member_z(&w, "turn_group_id", args_value(c->args, "turn-group"));
	jw_member_bool(&w, "wait", false);
	jw_member_bool(&w, "attended", c->follow.person || c->follow.yes);
	jw_end(&w);
	buf_addf(&target, "/sessions/%s/turns", c->own.id);
	int code = api_ask(c->follow.api, "POST", buf_z(&target), buf_str(&body), ret);
	buf_done(&body);
	buf_done(&target);
	return code;
}

/* A gateway that is stopped ends its calls and says so; it may be gone before the result is asked
 * for. */
static int
fetch_result(struct one_call *c)
{
	struct buf target = BUF_INIT(KIB);
	int code = EXIT_FINE;
	struct err e;

	buf_addf(&target, "/sessions/%s/turns/%s", c->own.id, c->follow.turn);
	if (api_request(c->follow.api, "GET", buf_z(&target), (struct str){NULL, 0}, &c->turn, &e) <
	    0) {
		if (c->follow.why.len)
			refuse("%.*s", STR_ARG(buf_str(&c->follow.why)));
		refuse("the gateway was stopped; `holdfast log` has what is known of the call");
		code = EXIT_NO_GATEWAY;
	} else if (c->turn.status != 200) {
		code = api_refuse(&c->turn);
	}
	buf_done(&target);
	return code;
}

static int
make_call(struct one_call *c)
{
	struct reply made;
	int code;

	c->own.tenant = args_value(c->args, "tenant");
	c->own.agent = args_value(c->args, "agent");
	if ((code = own_open(c->follow.api, c->args, "holdfast call", &c->own)) != EXIT_FINE)
		return code;
	c->follow.owned = c->own.made;
	if ((code = follow_begin(&c->follow)) != EXIT_FINE ||
	    (code = submit(c, &made)) != EXIT_FINE)
		return code;
	code = follow_turn(&c->follow, member(made.root, "turn_id"));
	api_done(&made);
	return code == EXIT_FINE ? fetch_result(c) : code;
}

/* How somebody could be asked the next time. */
static void
print_ways(void)
{
	struct reply status = {0};
	struct api *api = NULL;
	struct err e;

	fputs("Use --yes, or run it in a terminal, or let somebody watch and answer:\n", stderr);
	if (api_open(API_DAEMON, NULL, &api, &e) < 0)
		fputs("  holdfast serve              and then its status page, or\n", stderr);
	else if (api_request(api, "GET", "/status", (struct str){NULL, 0}, &status, &e) == 0 &&
		 member(status.root, "page").len)
		fprintf(stderr, "  %-26.*s  (`holdfast status` shows it with its token), or\n",
			STR_ARG(member(status.root, "page")));
	fputs("  holdfast events --follow    in a terminal\n", stderr);
	api_done(&status);
	api_close(api);
}

/* "$" is the schema's name for the whole; each line of a refusal begins with a place. */
static void
place_text(struct buf *out, struct str refusal)
{
	struct str line;
	const char *newline = "";

	for (; str_split(&refusal, '\n', &line); newline = "\n") {
		bool whole = str_starts(line, S("$: "));
		buf_addf(out, "%s%s", newline, whole ? "the input: " : "");
		buf_add(out, str_from(line, whole ? 3 : 0));
	}
}

/* A failure of the call is its first block; what follows is what the tool had given by then. */
static void
print_failure(const struct one_call *c, struct str class, const struct json *content)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct str reason = member(json_at(content, 0), "text");

	if (term_is(stderr) && str_is(class, "validation_error"))
		place_text(&text, reason);
	else
		buf_add(&text, reason);
	fputs(paint(stderr, RED), stderr);
	refuse("%.*s: %.*s", STR_ARG(class), STR_ARG(buf_str(&text)));
	fputs(paint(stderr, PLAIN), stderr);
	if (str_is(class, "confirmation_timeout") && !c->follow.person && !c->follow.yes)
		print_ways();
	buf_done(&text);
}

static int
print_result(struct one_call *c)
{
	const struct json *outcome = json_at(json_get(c->turn.root, S("calls")), 0);
	const struct json *result = json_at(json_get(c->turn.root, S("content")), 0);
	const struct json *content = json_get(result, S("content"));
	struct str class = member(outcome, "error_class");

	if (!result)
		return refuse("the call has no result");
	if (args_given(c->args, "json"))
		show_json_value(result);
	else if (class.len)
		print_failure(c, class, content);
	if (!args_given(c->args, "json"))
		show_content(content, class.len > 0);
	if (c->follow.signal)
		return EXIT_SIGNAL + c->follow.signal;
	return json_bool(json_get(result, S("is_error"))) ? EXIT_REFUSED : EXIT_FINE;
}

int
cmd_call(const struct args *a)
{
	struct one_call c = {
	    .args = a,
	    .input = BUF_INIT(INPUT_BYTES),
	    .follow = {.session = c.own.id,
		       .tool = a->words[0],
		       .yes = args_given(a, "yes"),
		       .signals = -1},
	};
	int code = read_input(&c);

	if (code == EXIT_FINE)
		code = api_enter(API_ANY | API_SERVERS, &c.follow.api);
	if (code == EXIT_FINE && !api_is_daemon(c.follow.api))
		tool_await(c.follow.api, a->words[0], COME_UP_MS);
	if (code == EXIT_FINE) {
		c.follow.person = c.follow.yes ? NULL : term_person();
		code = make_call(&c);
		own_end(c.follow.api, &c.own);
	}
	follow_end(&c.follow);
	api_close(c.follow.api);
	/* Only now: a reader that goes away must not leave anything unfinished behind. */
	if (code == EXIT_FINE)
		code = print_result(&c);
	if (c.follow.person)
		fclose(c.follow.person);
	api_done(&c.turn);
	buf_done(&c.input);
	return code;
}
