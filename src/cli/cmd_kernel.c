/* cmd_kernel.c - envelopes from standard input, emissions to standard output. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/input.h"
#include "cli/own.h"
#include "cli/servers.h"
#include "cli/term.h"
#include "holdfast.h"
#include "json/write.h"
#include "json/yaml.h"

#define READ_BYTES (64 * KIB)
#define KEPT_BYTES (LIMIT_KERNEL_ENVELOPE + 1) /* enough to see that it is too much */

struct feed {
	struct api *api;
	const struct own *own;
	struct buf target; /* where envelopes go */
	struct buf line;   /* the one that is being read */
	struct buf doc;    /* lines of a YAML document so far */
	bool refused;      /* an emission was an error */
	int code;          /* not EXIT_FINE: it is over */
};

/* ---- one envelope ---- */

static void
send_envelope(struct feed *f, struct str envelope)
{
	struct reply reply;

	f->code = api_ask(f->api, "POST", buf_z(&f->target), envelope, &reply);
	if (f->code != EXIT_FINE)
		return;
	fwrite(reply.body.ptr, 1, reply.body.len, stdout);
	if (fflush(stdout) != 0)
		f->code = EXIT_REFUSED;
	f->refused |= !json_get(reply.root, S("tool.emit"));
	api_done(&reply);
}

static void
send_document(struct feed *f)
{
	if (f->doc.len)
		send_envelope(f, buf_str(&f->doc));
	buf_reset(&f->doc);
}

/* ---- lines ---- */

static void
keep(struct buf *to, struct str text)
{
	buf_add(to, str_upto(text, KEPT_BYTES - to->len));
}

static bool
is_mark(struct str line)
{
	return str_is(line, "---") || str_is(line, "...");
}

/* Nothing of a YAML document stands at its very left but keys: a brace there begins another one. */
static void
take_line(struct feed *f, struct str line)
{
	struct str text = str_trim(line);

	if (is_mark(text) || str_starts(line, S("{")))
		send_document(f);
	if (f->code != EXIT_FINE || is_mark(text))
		return;
	if (f->doc.len == 0 && str_starts(text, S("{"))) {
		send_envelope(f, line);
		return;
	}
	if (f->doc.len == 0 && (text.len == 0 || text.ptr[0] == '#'))
		return;
	keep(&f->doc, line);
	keep(&f->doc, S("\n"));
}

static void
take_piece(struct feed *f, struct str piece)
{
	while (f->code == EXIT_FINE && piece.len > 0) {
		ptrdiff_t end = str_index(piece, '\n');
		keep(&f->line, str_upto(piece, end < 0 ? piece.len : (size_t)end));
		if (end < 0)
			return;
		take_line(f, buf_str(&f->line));
		buf_reset(&f->line);
		piece = str_from(piece, (size_t)end + 1);
	}
}

static void
take_all(struct feed *f)
{
	static char piece[READ_BYTES];

	while (f->code == EXIT_FINE) {
		ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			refuse("standard input: %s", strerror(errno));
			f->code = EXIT_USAGE;
		}
		if (n <= 0)
			break;
		take_piece(f, (struct str){piece, (size_t)n});
	}
	if (f->code == EXIT_FINE && f->line.len)
		take_line(f, buf_str(&f->line));
	if (f->code == EXIT_FINE)
		send_document(f);
}

/* ---- before and behind ---- */

struct begin {
	char *bundle; /* JSON; NULL: none was named */
	struct json_doc *index;
	struct buf state; /* JSON; empty: none was named */
};

static int
read_state(const char *path, struct buf *out)
{
	struct buf text = BUF_INIT(INPUT_BYTES);
	struct jw w = jw(out);
	struct yaml y = {0};
	struct err e;
	int code = input_read(path, &text);

	if (code == EXIT_FINE && yaml_parse(buf_str(&text), LIMIT_KERNEL_STATE, &y, &e) < 0) {
		refuse("%s: %s", path, err_text(&e));
		code = EXIT_USAGE;
	}
	if (code == EXIT_FINE)
		jw_value(&w, json_root(y.doc));
	yaml_done(&y);
	buf_done(&text);
	return code;
}

static int
read_begin(const struct args *a, struct begin *b)
{
	const char *index = args_value(a, "index"), *state = args_value(a, "state");
	struct err e;

	if (index && !(b->bundle = hf_kernel_bundle(index))) {
		refuse("%s", hf_error(NULL));
		return EXIT_USAGE;
	}
	if (b->bundle && json_parse(str_of(b->bundle), &json_door, &b->index, &e) < 0)
		return refuse("%s", err_text(&e));
	return state ? read_state(state, &b->state) : EXIT_FINE;
}

static bool
has_catalog_tools(const struct begin *b)
{
	const struct json *list = b->index ? json_get(json_root(b->index), S("tool.index")) : NULL;

	for (struct json_iter it = json_iter(list); json_next(&it);)
		if (json_get(it.value, S("tool")))
			return true;
	return false;
}

/* A gateway in this process has only just begun to start its servers. */
static void
await_tools(struct api *api, const struct begin *b)
{
	const struct json *list = b->index ? json_get(json_root(b->index), S("tool.index")) : NULL;

	for (struct json_iter it = json_iter(list); json_next(&it);) {
		char *tool = str_dup(member(it.value, "tool"));
		if (tool && tool[0])
			tool_await(api, tool, COME_UP_MS);
		free(tool);
	}
}

static int
put_begin(struct feed *f, const struct begin *b)
{
	struct buf body = BUF_INIT(LIMIT_JSON_BYTES), target = BUF_INIT(KIB);
	struct jw w = jw(&body);
	struct reply reply;
	int code = EXIT_FINE;

	if (b->bundle || b->state.len) {
		jw_object(&w);
		if (b->bundle)
			jw_key(&w, "index"), jw_raw(&w, str_of(b->bundle));
		if (b->state.len)
			jw_key(&w, "state"), jw_raw(&w, buf_str(&b->state));
		jw_end(&w);
		buf_addf(&target, "/kernel/%s", f->own->id);
		code = api_ask(f->api, "PUT", buf_z(&target), buf_str(&body), &reply);
		if (code == EXIT_FINE)
			api_done(&reply);
		else if (code == EXIT_REFUSED)
			code = EXIT_USAGE;
	}
	buf_done(&body);
	buf_done(&target);
	return code;
}

/* What took longer than it should stands in the ledger; an emission has no room for it. */
static void
tell_latency(const struct feed *f, int64_t before)
{
	struct reply reply;
	int64_t at = 0;

	if (api_get(f->api, &reply, "/kernel/%s", f->own->id) != EXIT_FINE)
		return;
	const struct json *state = json_get(reply.root, S("state"));
	for (struct json_iter it = json_iter(json_get(state, S("ledger"))); json_next(&it);) {
		const struct json *meta = json_get(it.value, S("meta"));
		double took = 0;
		if (at++ < before || !str_is(member(it.value, "type"), "latency_breach"))
			continue;
		json_double(json_get(meta, S("observed_latency")), &took);
		fprintf(stderr, "[LATENCY WARNING] %.*s: %.1f s, ceiling %lld s\n",
			STR_ARG(member(meta, "mode")), took,
			(long long)member_int(meta, "ceiling"));
	}
	api_done(&reply);
}

/* Entries of the ledger there are already. */
static int64_t
ledger_length(const struct feed *f)
{
	struct buf target = BUF_INIT(KIB);
	struct reply reply = {0};
	int64_t len = 0;

	buf_addf(&target, "/kernel/%s", f->own->id);
	if (api_request(f->api, "GET", buf_z(&target), (struct str){NULL, 0}, &reply, NULL) == 0)
		len = (int64_t)json_len(json_get(json_get(reply.root, S("state")), S("ledger")));
	api_done(&reply);
	buf_done(&target);
	return len;
}

static int
run(const struct args *a, struct feed *f, struct own *own, const struct begin *b)
{
	int code = own_open(f->api, a, "holdfast kernel", own);

	if (code == EXIT_FINE)
		code = put_begin(f, b);
	if (code != EXIT_FINE)
		return code;
	int64_t before = ledger_length(f);
	buf_addf(&f->target, "/kernel/%s?unattended=1", own->id);
	take_all(f);
	if (f->code == EXIT_FINE && ledger_length(f) > before)
		tell_latency(f, before);
	return f->code != EXIT_FINE ? f->code : f->refused ? EXIT_REFUSED : EXIT_FINE;
}

int
cmd_kernel(const struct args *a)
{
	struct own own = {0};
	struct begin b = {.state = BUF_INIT(LIMIT_JSON_BYTES)};
	struct feed f = {.own = &own,
			 .target = BUF_INIT(KIB),
			 .line = BUF_INIT(KEPT_BYTES + 1),
			 .doc = BUF_INIT(KEPT_BYTES + 1)};
	int code = read_begin(a, &b);
	bool catalog = has_catalog_tools(&b);

	/* What only the kernel's own tools do leaves nothing to journal. */
	if (code == EXIT_FINE)
		code = api_enter(catalog ? API_ANY | API_SERVERS : API_DRY, &f.api);
	if (code == EXIT_FINE && catalog && !api_is_daemon(f.api))
		await_tools(f.api, &b);
	if (code == EXIT_FINE) {
		code = run(a, &f, &own, &b);
		own_end(f.api, &own);
	}
	api_close(f.api);
	buf_done(&f.target);
	buf_done(&f.line);
	buf_done(&f.doc);
	buf_done(&b.state);
	json_doc_unref(b.index);
	free(b.bundle);
	return code;
}
