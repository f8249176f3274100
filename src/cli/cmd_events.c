/* cmd_events.c - what happened, and what happens. */

#include <poll.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/ulid.h"
#include "cli/args.h"
#include "cli/find.h"
#include "cli/show.h"
#include "cli/term.h"

#define LAST_EVENTS 100
#define AGAIN_MS 1000 /* between two attempts to reach a gateway that went away */

struct feed {
	const struct args *args;
	struct api *api;
	bool json;
	char session[64]; /* or "" for all */
	char since[64];   /* id of the last event shown, or "" */
};

static void
print_event(const struct feed *f, const struct json *event)
{
	if (f->json)
		show_json_value(event);
	else
		show_event(event);
}

static void
remember(struct feed *f, struct str id)
{
	if (id.len && id.len < sizeof(f->since))
		snprintf(f->since, sizeof(f->since), "%.*s", STR_ARG(id));
}

/* The path with what all requests have; `first` parameters come in front. */
static void
target_write(struct buf *out, const struct feed *f, const char *first)
{
	const char *types = args_value(f->args, "type");

	if (f->session[0]) {
		buf_addz(out, "/sessions/");
		url_add(out, str_of(f->session));
	}
	buf_addf(out, "/events?%s", first);
	if (f->since[0]) {
		buf_addz(out, "&since=");
		url_add(out, str_of(f->since));
	}
	if (types) {
		buf_addz(out, "&event_types=");
		url_add(out, str_of(types));
	}
}

/* The last ones; or all that came after --since, page by page. */
static int
print_past(struct feed *f)
{
	char first[64];
	bool more = true;

	if (f->since[0])
		snprintf(first, sizeof(first), "limit=%d", LIMIT_EVENT_PAGE);
	else
		snprintf(first, sizeof(first), "limit=%d&newest=1", LAST_EVENTS);
	while (more) {
		struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
		struct reply page = {0};
		target_write(&target, f, first);
		const char *z = buf_z(&target);
		int code = z ? api_get(f->api, &page, "%s", z) : refuse("the types are too long");
		buf_done(&target);
		if (code != EXIT_FINE)
			return code;
		for (struct json_iter it = json_iter(json_get(page.root, S("events")));
		     json_next(&it);)
			print_event(f, it.value);
		more = f->since[0] && json_bool(json_get(page.root, S("more")));
		remember(f, member(page.root, "last_id"));
		api_done(&page);
	}
	return EXIT_FINE;
}

static void
print_news(struct feed *f, const struct client_event *ev)
{
	struct json_doc *doc;

	if (json_parse(ev->text, &json_door, &doc, NULL) < 0)
		return;
	if (str_is(ev->type, "gap"))
		refuse("%lld events were missed", (long long)member_int(json_root(doc), "missed"));
	else
		print_event(f, json_root(doc));
	fflush(stdout);
	remember(f, ev->id);
	json_doc_unref(doc);
}

/* Until the stream ends. EXIT_NO_GATEWAY: worth another try. */
static int
print_stream(struct feed *f)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
	struct client *c = NULL;
	struct client_event ev;
	struct err e;

	target_write(&target, f, term_is(stdout) ? "watch=1" : "watch=0");
	const char *z = buf_z(&target);
	int code = z ? api_events(f->api, z, &c, &e) : refuse("the types are too long");
	if (code == EXIT_FINE) {
		for (int r; (r = client_event(c, -1, &ev, &e)) >= 0;)
			if (r > 0)
				print_news(f, &ev);
		code = EXIT_NO_GATEWAY;
	}
	client_free(c);
	buf_done(&target);
	return code;
}

static int
follow(struct feed *f)
{
	int code;

	if (!api_is_daemon(f->api)) {
		refuse("no gateway is running, so there is nothing to follow; `holdfast serve` "
		       "starts one");
		return EXIT_NO_GATEWAY;
	}
	for (bool told = false; (code = print_stream(f)) == EXIT_NO_GATEWAY; told = true) {
		if (!told)
			fputs("holdfast: the gateway went away; waiting for it to come back\n",
			      stderr);
		poll(NULL, 0, AGAIN_MS);
	}
	return code;
}

static int
find_place(struct feed *f)
{
	const char *session = args_value(f->args, "session"), *since = args_value(f->args, "since");

	if (since)
		remember(f, str_of(since));
	return session ? find_session(f->api, session, f->session, sizeof(f->session)) : EXIT_FINE;
}

int
cmd_events(const struct args *a)
{
	struct feed f = {.args = a, .json = args_given(a, "json")};
	const char *since = args_value(a, "since");
	int code;

	if (since && strcmp(since, "0") != 0 && !ulid_valid(str_of(since)))
		return usage_error(a,
				   "--since takes the id of an event, of 26 letters and digits, "
				   "or 0 for all; '%.100s' is none",
				   since);
	if ((code = api_enter(API_ANY, &f.api)) != EXIT_FINE)
		return code;
	code = find_place(&f);
	if (code == EXIT_FINE)
		code = args_given(a, "follow") ? follow(&f) : print_past(&f);
	api_close(f.api);
	return code;
}
