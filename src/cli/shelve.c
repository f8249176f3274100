/* shelve.c - tools read, given ids, and put on a shelf. */

#include "cli/shelve.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>

#include "base/limits.h"
#include "catalog/toolid.h"
#include "cli/api.h"
#include "cli/args.h"
#include "cli/input.h"
#include "cli/servers.h"
#include "search/learned.h"
#include "text/plain.h"

/* Tools on their way: texts are in their documents and in the arena. */
struct load {
	struct arena *arena;
	struct json_doc **docs;
	struct shelf_tool *tools;
	size_t count, cap;
};

#define LOAD_BYTES (256 * MIB)

static void
load_done(struct load *l)
{
	for (size_t i = 0; i < l->count; i++)
		json_doc_unref(l->docs[i]);
	free(l->docs);
	free(l->tools);
	arena_free(l->arena);
}

static int
load_grow(struct load *l)
{
	if (!l->arena && !(l->arena = arena_new(LOAD_BYTES)))
		return E_NOMEM;
	if (l->count < l->cap)
		return 0;
	size_t cap = l->cap ? l->cap * 2 : 64;
	struct json_doc **docs = realloc(l->docs, cap * sizeof(struct json_doc *));
	if (docs)
		l->docs = docs;
	struct shelf_tool *tools = docs ? realloc(l->tools, cap * sizeof(*tools)) : NULL;
	if (!tools)
		return E_NOMEM;
	l->tools = tools;
	l->cap = cap;
	return 0;
}

static int
read_tags(struct arena *a, const struct json *list, struct shelf_tool *t, struct err *e)
{
	struct str *tags = arena_alloc(a, (json_len(list) + 1) * sizeof(*tags));

	if (!tags)
		return err_plain(e, E_NOMEM);
	for (struct json_iter it = json_iter(json_is(list, JSON_ARRAY) ? list : NULL);
	     json_next(&it);)
		if (json_is(it.value, JSON_STRING))
			tags[t->tag_count++] = json_str(it.value);
	t->tags = tags;
	return 0;
}

/* Catalogs have ids of many forms; what could not stand in a line of cards is none. */
static bool
is_plain_id(struct str id)
{
	struct buf line = BUF_INIT(TOOLID_MAX);
	bool same;

	if (id.len > TOOLID_MAX)
		return false;
	plain_line(&line, id, TOOLID_MAX);
	same = str_eq(buf_str(&line), id);
	buf_done(&line);
	return same;
}

/* The id it has or is given, and the namespace it says or its id has. */
static int
read_id(struct arena *a, const struct json *from, struct str server, struct shelf_tool *t,
	struct err *e)
{
	struct str version = member(json_get(from, S("_meta")), "version");
	struct str said = member(from, "namespace"), ns = said.len ? said : server;
	struct buf derived = BUF_INIT(TOOLID_MAX);
	struct toolid parts;

	t->id = member(from, "id");
	if (t->id.len > 0 && !is_plain_id(t->id))
		return err_set(e, E_BAD_REQUEST,
			       "an id is one line of at most %d bytes of plain text", TOOLID_MAX);
	if (t->id.len == 0) {
		toolid_derive(&derived, t->name, ns, version, t->input_schema);
		t->id = arena_str(a, buf_str(&derived));
	} else if (ns.len == 0 && toolid_parse(t->id, &parts, NULL) < 0) {
		toolid_derive(&derived, t->name, ns, version, NULL);
	}
	if (toolid_parse(derived.len ? buf_str(&derived) : t->id, &parts, NULL) == 0)
		t->ns = arena_str(a, parts.ns);
	if (said.len > 0)
		t->ns = said;
	bool failed = buf_failed(&derived) || !t->id.ptr;
	buf_done(&derived);
	return failed ? err_plain(e, E_NOMEM) : 0;
}

/* What the gateway says of its own tools, and what MCP servers say of theirs. */
static bool
is_read_only(const struct json *from)
{
	struct str capability = member(from, "capability");

	if (capability.ptr)
		return str_is(capability, "none") || str_is(capability, "read");
	return json_bool(json_get(json_get(from, S("annotations")), S("readOnlyHint")));
}

static bool
is_destructive(const struct json *from)
{
	return str_is(member(from, "reversibility"), "irreversible") ||
	       json_bool(json_get(json_get(from, S("annotations")), S("destructiveHint")));
}

/* The document is the load's from now on, also on failure. */
static int
load_add(struct load *l, struct json_doc *doc, const struct json *from, struct str server,
	 struct err *e)
{
	struct shelf_tool t = {
	    .name = member(from, "name"),
	    .description = member(from, "description"),
	    .ns_description = member(from, "namespace_description"),
	    .input_schema = json_get(from, S("input_schema")),
	    .examples = json_get(from, S("examples")),
	    .read_only = is_read_only(from),
	    .destructive = is_destructive(from),
	};

	if (load_grow(l) < 0) {
		json_doc_unref(doc);
		return err_plain(e, E_NOMEM);
	}
	l->docs[l->count] = doc;
	if (!t.input_schema)
		t.input_schema = json_get(from, S("inputSchema"));
	json_double(json_get(from, S("cost_hint")), &t.cost_hint);
	int rc = t.name.len > 0 ? 0 : err_set(e, E_BAD_REQUEST, "a tool is an object with a name");
	if (rc == 0)
		rc = read_tags(l->arena, json_get(from, S("tags")), &t, e);
	if (rc == 0)
		rc = read_id(l->arena, from, server, &t, e);
	l->tools[l->count++] = t;
	return rc;
}

static int
load_shelf(struct load *l, const char *name, struct shelf **ret)
{
	struct err e;

	if (shelf_new(l->tools, l->count, ret, &e) == 0)
		return EXIT_FINE;
	refuse("%s: %s", name, err_text(&e));
	return EXIT_USAGE;
}

static int
load_text(struct load *l, struct str text, struct err *e)
{
	struct json_doc *doc = NULL;
	int rc = json_parse(text, &json_door, &doc, e);

	return rc < 0 ? rc : load_add(l, doc, json_root(doc), (struct str){NULL, 0}, e);
}

static int
load_lines(struct load *l, FILE *f, const char *path)
{
	char *line = NULL;
	size_t room = 0, number = 0;
	ssize_t len;
	struct err e;
	int rc = 0;

	while (rc == 0 && (len = getline(&line, &room, f)) >= 0) {
		struct str text = str_trim((struct str){line, (size_t)len});
		number++;
		if (text.len > 0)
			rc = load_text(l, text, &e);
	}
	free(line);
	if (rc < 0)
		refuse("%s: line %zu: %s", input_name(path), number, err_text(&e));
	else if (ferror(f))
		refuse("%s: %s", input_name(path), strerror(errno));
	return rc < 0 || ferror(f) ? EXIT_USAGE : EXIT_FINE;
}

int
shelve_lines(const char *path, struct shelf **ret)
{
	bool standard = strcmp(path, "-") == 0;
	FILE *f = standard ? stdin : fopen(path, "re");
	struct load l = {0};

	if (!f) {
		refuse("%s: %s", path, strerror(errno));
		return EXIT_USAGE;
	}
	int code = load_lines(&l, f, path);
	if (code == EXIT_FINE)
		code = load_shelf(&l, input_name(path), ret);
	if (!standard)
		fclose(f);
	load_done(&l);
	return code;
}

int
shelve_file(const char *path, struct shelf **ret)
{
	struct load l = {0};
	struct json_doc *doc = NULL;
	struct err e;
	int code = input_json(path, &doc);

	if (code != EXIT_FINE)
		return code;
	if (load_add(&l, doc, json_root(doc), (struct str){NULL, 0}, &e) < 0) {
		refuse("%s: %s", input_name(path), err_text(&e));
		code = EXIT_USAGE;
	} else {
		code = load_shelf(&l, input_name(path), ret);
	}
	load_done(&l);
	return code;
}

int
shelve_gateway(struct shelf **ret)
{
	struct load l = {0};
	struct reply tools;
	struct api *api;
	struct err e;
	int code = api_enter(API_DRY | API_SERVERS, &api);

	if (code != EXIT_FINE)
		return code;
	if (!api_is_daemon(api))
		servers_settle(api, COME_UP_MS);
	code = api_get(api, &tools, "/tools");
	api_close(api);
	if (code != EXIT_FINE)
		return code;
	for (struct json_iter it = json_iter(json_get(tools.root, S("tools")));
	     code == EXIT_FINE && json_next(&it);)
		if (load_add(&l, json_doc_ref(tools.doc), it.value, S("builtin"), &e) < 0)
			code = refuse("%s", err_text(&e));
	if (code == EXIT_FINE)
		code = load_shelf(&l, "the gateway", ret);
	load_done(&l);
	api_done(&tools);
	return code;
}

struct learned *
shelve_learned(void)
{
	struct learned *l = NULL;
	struct api *api = NULL;
	struct reply told = {0};
	struct err e;

	if (api_open(API_ANY, NULL, &api, &e) == 0 &&
	    api_request(api, "GET", "/learned", (struct str){NULL, 0}, &told, &e) == 0 &&
	    told.status == 200 && (l = learned_new()) && learned_read(l, told.root, &e) < 0) {
		learned_free(l);
		l = NULL;
	}
	api_done(&told);
	api_close(api);
	return l;
}

int
shelve(const char *catalog, struct shelf **ret)
{
	return catalog ? shelve_lines(catalog, ret) : shelve_gateway(ret);
}
