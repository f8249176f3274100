/* import.c - documents of OpenAPI, from a file or an address, on their way into the configuration.
 */

#include "cli/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/paths.h"
#include "catalog/openapi.h"
#include "cli/term.h"
#include "json/write.h"
#include "net/fetch.h"
#include "net/guard.h"
#include "net/url.h"

#define FETCH_MS 60000
#define SHOWN 10 /* operations that were left out */

/* ---- from elsewhere ---- */

/* One document being fetched, by a loop of its own. */
struct getting {
	struct loop *loop;
	struct fetcher *fetcher;
	struct fetch *fetch;
	struct guard *guard;
	struct buf url, onward, *body;
	struct url at;
	int status;
	unsigned hops;
	struct err err;
	bool over;
};

static bool
allows(const struct sockaddr *to, void *arg)
{
	const struct getting *g = arg;

	return guard_lets(g->guard, g->at.host, to);
}

static void
on_head(struct fetch *f, int status, void *arg)
{
	struct getting *g = arg;

	g->status = status;
	buf_reset(g->body);
	buf_reset(&g->onward);
	buf_add(&g->onward, fetch_header(f, "Location"));
}

static void
on_piece(struct fetch *f, struct str bytes, void *arg)
{
	(void)f;
	buf_add(((struct getting *)arg)->body, bytes);
}

static int hop(struct getting *g, struct err *e);

static void
on_over(struct fetch *f, int status, const struct err *e, void *arg)
{
	struct getting *g = arg;
	struct buf next = BUF_INIT(LIMIT_HTTP_TOOL_URL);

	(void)f;
	g->fetch = NULL;
	g->err = *e;
	bool led = e->code == 0 && status / 100 == 3 && g->onward.len;
	if (led && g->hops++ < LIMIT_HTTP_TOOL_HOPS &&
	    url_resolve(&g->at, buf_str(&g->onward), &next, &g->err) == 0) {
		buf_done(&g->url);
		g->url = buf_take(&next);
		if (hop(g, &g->err) == 0)
			return;
	}
	buf_done(&next);
	g->over = true;
	loop_stop(g->loop);
}

static int
hop(struct getting *g, struct err *e)
{
	static const char *const lines[] = {
	    "Accept: application/json, application/yaml, text/yaml, */*;q=0.5", NULL};
	const char *url = buf_z(&g->url);
	int code = url ? url_split(buf_str(&g->url), &g->at, e) : err_plain(e, E_NOMEM);
	struct fetch_spec spec = {
	    .method = "GET",
	    .url = url,
	    .headers = lines,
	    .stall_ms = FETCH_MS,
	    .max_bytes = LIMIT_IMPORT_BYTES,
	    .allows = allows,
	    .head = on_head,
	    .piece = on_piece,
	    .over = on_over,
	    .arg = g,
	};

	return code < 0 ? code : fetch_start(g->fetcher, &spec, &g->fetch, e);
}

/* The address a person gave may be anywhere; where it leads to may not. */
static int
let_through(struct getting *g, struct err *e)
{
	struct buf host = BUF_INIT(LIMIT_DIAL_HOST + 16);
	int code = url_split(buf_str(&g->url), &g->at, e);

	if (code == 0) {
		bool v6 = str_index(g->at.host, ':') >= 0;
		buf_addf(&host, "%s%.*s%s:%u", v6 ? "[" : "", STR_ARG(g->at.host), v6 ? "]" : "",
			 g->at.port);
		code = guard_allow(g->guard, buf_str(&host), e);
	}
	buf_done(&host);
	return code;
}

static int
get(struct getting *g, struct err *e)
{
	int code;

	if ((code = loop_new(&g->loop, e)) < 0 ||
	    (code = fetcher_new(g->loop, &g->fetcher, e)) < 0 ||
	    (code = guard_new(&g->guard, e)) < 0 || (code = let_through(g, e)) < 0 ||
	    (code = hop(g, e)) < 0)
		return code;
	while (!g->over)
		loop_run(g->loop);
	if (g->err.code < 0) {
		*e = g->err;
		return e->code;
	}
	if (g->status != 200)
		return err_set(e, E_UNAVAILABLE, "the answer was HTTP %d", g->status);
	return buf_failed(g->body) ? err_plain(e, E_TOO_LARGE) : 0;
}

static int
document_fetch(const char *url, struct buf *out, struct err *e)
{
	struct getting g = {.url = BUF_INIT(LIMIT_HTTP_TOOL_URL),
			    .onward = BUF_INIT(LIMIT_HTTP_FIELD),
			    .body = out};

	buf_addz(&g.url, url);
	int code = get(&g, e);
	fetcher_free(g.fetcher);
	if (g.loop)
		loop_free(g.loop);
	guard_unref(g.guard);
	buf_done(&g.url);
	buf_done(&g.onward);
	return code;
}

/* ---- from here ---- */

static int
document_read(const char *path, struct buf *out, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(e, E_CONFIG, "%s", strerror(errno));
	bool good = file_slurp(fd, out);
	close(fd);
	return good ? 0 : err_set(e, E_CONFIG, "cannot be read, or is too large");
}

static int
keep_copy(const char *url, struct str text, struct err *e)
{
	struct buf file = BUF_INIT(LIMIT_PATH);
	struct path state;
	char dir[sizeof(state.text) + 16];
	int code = path_state(&state, e);

	if (code == 0)
		code = path_make_dir(state.text, e);
	snprintf(dir, sizeof(dir), "%s/openapi", code == 0 ? state.text : "");
	if (code == 0)
		code = path_make_dir(dir, e);
	if (code == 0 && (!openapi_copy_path(state.text, str_of(url), &file) || !buf_z(&file)))
		code = err_plain(e, E_NOMEM);
	if (code == 0 && file_replace(buf_z(&file), text) < 0)
		code = err_set(e, E_SYSTEM, "%s: %s", buf_z(&file), strerror(errno));
	buf_done(&file);
	return code;
}

/* ---- the entry ---- */

static bool
is_url(const char *what)
{
	return strncmp(what, "http://", 7) == 0 || strncmp(what, "https://", 8) == 0;
}

static int
write_headers(const struct args *a, struct jw *w)
{
	const char *text;
	size_t at = 0;

	if (!args_given(a, "header"))
		return EXIT_FINE;
	jw_key(w, "headers");
	jw_object(w);
	while ((text = args_next(a, "header", &at))) {
		struct str value = str_of(text), name;
		if (!strchr(text, ':') || !str_split(&value, ':', &name) || !name.len)
			return usage_error(a, "--header: '%.40s' is not NAME:VALUE", text);
		jw_key_str(w, str_trim(name));
		jw_str(w, str_trim(value));
	}
	jw_end(w);
	return EXIT_FINE;
}

static int
write_entry(const struct args *a, const char *what, struct buf *out)
{
	struct jw w = jw(out);
	const char *text;
	size_t at = 0;

	jw_object(&w);
	jw_member_z(&w, is_url(what) ? "url" : "file", what);
	if (args_given(a, "base-url"))
		jw_member_z(&w, "base_url", args_value(a, "base-url"));
	int code = write_headers(a, &w);
	if (code == EXIT_FINE && args_given(a, "only")) {
		jw_key(&w, "only");
		jw_array(&w);
		while ((text = args_next(a, "only", &at)))
			jw_z(&w, text);
		jw_end(&w);
	}
	jw_end(&w);
	return code;
}

/* ---- is it one? ---- */

static void
tell(const struct openapi *found)
{
	struct str rest = buf_str(&found->problems), line;
	struct buf safe = BUF_INIT(64 * KIB);

	printf("%zu operation%s", found->count, found->count == 1 ? "" : "s");
	if (found->problem_count)
		printf(", %zu left out", found->problem_count);
	printf("\n");
	for (int i = 0; i < SHOWN && str_split(&rest, '\n', &line) && line.len; i++) {
		buf_reset(&safe);
		text_safe(&safe, line, SAFE_LINE);
		printf("  %.*s\n", STR_ARG(buf_str(&safe)));
	}
	buf_done(&safe);
}

/* As the gateway will read it, so that what is wrong is told now. */
static int
check(const struct args *a, const char *what, struct str text, struct str entry)
{
	struct json_doc *doc = NULL;
	struct openapi found = {0};
	struct err e = ERR_NONE;
	int code = json_parse(entry, &json_door, &doc, &e);
	const struct json *v = code == 0 ? json_root(doc) : NULL;
	struct openapi_options options = {
	    .name = str_of(a->words[0]),
	    .origin = json_str(json_get(v, S("url"))),
	    .base_url = json_str(json_get(v, S("base_url"))),
	    .headers = json_get(v, S("headers")),
	    .only = json_get(v, S("only")),
	};

	if (code == 0)
		code = openapi_import(text, &options, &found, &e);
	if (code < 0) {
		code = refuse("%s: %s", what, err_text(&e));
	} else if (found.count == 0) {
		tell(&found);
		code = refuse("%s: no operation can be used", what);
	} else {
		tell(&found);
	}
	openapi_done(&found);
	json_doc_unref(doc);
	return code;
}

int
import_entry(const struct args *a, struct buf *out)
{
	const char *given = args_value(a, "openapi");
	char *whole = is_url(given) ? strdup(given) : realpath(given, NULL);
	struct buf text = BUF_INIT(LIMIT_IMPORT_BYTES);
	struct err e = ERR_NONE;
	int code = EXIT_FINE;

	if (!whole)
		return refuse("%s: %s", given, strerror(errno));
	if ((is_url(whole) ? document_fetch : document_read)(whole, &text, &e) < 0)
		code = refuse("%s: %s", whole, err_text(&e));
	if (code == EXIT_FINE)
		code = write_entry(a, whole, out);
	if (code == EXIT_FINE)
		code = check(a, whole, buf_str(&text), buf_str(out));
	if (code == EXIT_FINE && is_url(whole) && keep_copy(whole, buf_str(&text), &e) < 0)
		code = refuse("%s", err_text(&e));
	buf_done(&text);
	free(whole);
	return code;
}
