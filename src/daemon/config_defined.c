/*
 * config_defined.c - definitions, tool_gateway and openapi: tools that stand in the file, or in
 * documents it names.
 *
 * What is wrong with one definition or one document disables that alone. Documents are read here,
 * with the file; those of the network from the copy `holdfast add` made.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/glob.h"
#include "catalog/openapi.h"
#include "daemon/config_inside.h"

/* ---- variables ---- */

static bool
fill_own(void *arg, struct str reference, struct buf *out, struct buf *problem)
{
	const struct config *c = arg;
	const struct vars vars = {.workspace = c->workspace, .home = c->home};

	return vars_fill(&vars, reference, out, problem);
}

/* ${NAME}, ${env:NAME} or ${NAME:-otherwise}: the name. */
static struct str
name_of(struct str reference)
{
	struct str name = str_from(reference, 2);

	name = str_upto(name, name.len ? name.len - 1 : 0);
	if (str_starts(name, S("env:")))
		name = str_from(name, 4);
	ptrdiff_t end = str_index(name, ':');
	return end < 0 ? name : str_upto(name, (size_t)end);
}

/* What came from elsewhere than the file must not read the environment of this process. */
static bool
fill_foreign(void *arg, struct str reference, struct buf *out, struct buf *problem)
{
	const struct config *c = arg;
	struct str name = name_of(reference);

	for (const char *const *p = c->variables; p && *p; p++)
		if (glob_path(str_of(*p), name))
			return fill_own(arg, reference, out, problem);
	buf_addf(problem,
		 "the variable %.*s may not be used: tool_gateway.variables does not name it",
		 STR_ARG(str_utf8_upto(name, 80)));
	return false;
}

struct variables
config_variables(const struct config *c)
{
	return (struct variables){fill_own, (void *)c};
}

struct variables
config_variables_foreign(const struct config *c)
{
	return (struct variables){fill_foreign, (void *)c};
}

/* ---- tool_gateway ---- */

static int
nomem(struct config_reading *r)
{
	return err_plain(r->err, E_NOMEM);
}

static int
read_http(struct config_reading *r, const struct json *v)
{
	struct http_settings *s = &r->config->gateways.http;
	double seconds = 0;
	int64_t retries = -1;
	struct err why;
	int code = guard_new(&s->guard, r->err);

	json_double(json_get(v, S("default_timeout")), &seconds);
	json_int(json_get(v, S("max_retries")), &retries);
	s->timeout_ms = seconds > 0 && seconds < .001 ? 1 : (unsigned)(seconds * 1000);
	s->attempts = (unsigned)(retries + 1);
	for (struct json_iter it = json_iter(json_get(v, S("allow"))); code == 0 && json_next(&it);)
		if (guard_allow(s->guard, json_str(it.value), &why) < 0)
			code = err_set(r->err, E_CONFIG,
				       "line %u: tool_gateway.providers.http.allow: %s",
				       yaml_line(r->yaml, it.value), err_text(&why));
	return code;
}

static int
read_composio(struct config_reading *r, const struct json *v)
{
	struct kinds_settings *s = &r->config->gateways;
	struct str name = json_str(json_get(v, S("api_key_env")));
	struct str url = json_str(json_get(v, S("base_url")));

	s->composio_env = arena_strz(r->config->arena, name.ptr ? name : S("COMPOSIO_API_KEY"));
	if (!s->composio_env)
		return nomem(r);
	const char *key = getenv(s->composio_env);
	if (key)
		s->composio_key = arena_str(r->config->arena, str_of(key));
	while (url.len && url.ptr[url.len - 1] == '/')
		url.len--;
	if (url.ptr && !(s->composio_url = arena_strz(r->config->arena, url)))
		return nomem(r);
	return key && !s->composio_key.ptr ? nomem(r) : 0;
}

static int
read_variables(struct config_reading *r, const struct json *v)
{
	const char **list = arena_alloc(r->config->arena, (json_len(v) + 1) * sizeof(*list));
	size_t n = 0;

	for (struct json_iter it = json_iter(v); list && json_next(&it);)
		if (!(list[n++] = arena_strz(r->config->arena, json_str(it.value))))
			return nomem(r);
	r->config->variables = list;
	return list ? 0 : nomem(r);
}

static int
read_gateway(struct config_reading *r, const struct json *v)
{
	const struct json *providers = json_get(v, S("providers"));
	int code = read_http(r, json_get(providers, S("http")));

	if (code == 0)
		code = read_composio(r, json_get(providers, S("composio")));
	return code < 0 ? code : read_variables(r, json_get(v, S("variables")));
}

/* ---- definitions ---- */

static int
read_definition(struct config_reading *r, const struct json *v, size_t i)
{
	struct config *c = r->config;
	struct config_definition *d = &c->definitions[c->definition_count++];
	struct err why;
	int code = definition_parse(r->yaml->doc, v, &d->definition, &why);

	d->line = yaml_line(r->yaml, v);
	if (code == 0 && !kinds_know(d->definition->gateway)) {
		err_set(&why, E_VALIDATION, "%.*s: Unknown gateway: %.*s",
			STR_ARG(d->definition->name),
			STR_ARG(str_utf8_upto(d->definition->gateway, 64)));
		definition_unref(d->definition);
		d->definition = NULL;
		code = E_VALIDATION;
	}
	if (code == 0)
		return 0;
	if (code == E_NOMEM)
		return nomem(r);
	d->problem =
	    arena_printf(c->arena, "definitions[%zu] (line %u): %s", i, d->line, err_text(&why));
	return d->problem ? 0 : nomem(r);
}

/* Of two with one id or one name of one tenant the second is left out, aloud. */
static int
refuse_twins(struct config_reading *r)
{
	struct config *c = r->config;

	for (size_t i = 1; i < c->definition_count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct definition *a = c->definitions[i].definition;
			const struct definition *b = c->definitions[k].definition;
			if (!a || !b || !str_eq(a->tenant, b->tenant) ||
			    (!str_eq(a->name, b->name) && strcmp(a->id, b->id) != 0))
				continue;
			c->definitions[i].problem = arena_printf(
			    c->arena,
			    "definitions[%zu] (line %u): %.*s: name: there is one of this name or "
			    "id in line %u",
			    i, c->definitions[i].line, STR_ARG(a->name), c->definitions[k].line);
			definition_unref(c->definitions[i].definition);
			c->definitions[i].definition = NULL;
			if (!c->definitions[i].problem)
				return nomem(r);
			break;
		}
	return 0;
}

static int
read_definitions(struct config_reading *r, const struct json *list)
{
	struct config *c = r->config;
	size_t i = 0;
	int code = 0;

	c->definitions = arena_alloc(c->arena, (json_len(list) + 1) * sizeof(*c->definitions));
	if (!c->definitions)
		return nomem(r);
	for (struct json_iter it = json_iter(list); code == 0 && json_next(&it);)
		code = read_definition(r, it.value, i++);
	return code < 0 ? code : refuse_twins(r);
}

/* ---- openapi ---- */

/* The document's bytes. False: why is in the import's problem. */
static bool
document_read(struct config_reading *r, struct config_import *im, const char *path, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool good = fd >= 0 && file_slurp(fd, out);
	int errnum = errno;

	if (fd >= 0)
		close(fd);
	if (good)
		return true;
	if (im->is_url && fd < 0)
		im->problem = arena_printf(r->config->arena,
					   "url: there is no copy of this document here; `holdfast "
					   "add %.*s --openapi URL --force` fetches one",
					   STR_ARG(im->name));
	else if (fd < 0)
		im->problem =
		    arena_printf(r->config->arena, "file: %s: %s", im->from, strerror(errnum));
	else
		im->problem = arena_printf(r->config->arena, "file: %s: larger than %zu bytes",
					   im->from, LIMIT_IMPORT_BYTES);
	return false;
}

static bool
path_of(struct config_reading *r, struct config_import *im, const struct json *v, struct buf *out)
{
	struct str file = json_str(json_get(v, S("file"))), url = json_str(json_get(v, S("url")));
	bool good = true;

	im->is_url = !file.ptr;
	im->from = arena_strz(r->config->arena, file.ptr ? file : url.ptr ? url : S(""));
	if (!file.ptr && !url.ptr)
		im->problem = "needs a file or a url";
	else if (file.ptr && url.ptr)
		im->problem = "has a file and a url; which one counts?";
	else if (url.ptr && !r->state)
		im->problem = "url: nothing is kept here";
	else if (url.ptr)
		good = openapi_copy_path(r->state, url, out);
	else if (str_starts(file, S("~/")) && r->home)
		buf_addf(out, "%s%.*s", r->home, STR_ARG(str_from(file, 1)));
	else if (!str_starts(file, S("/")))
		im->problem = "file: must begin with '/' or '~/'";
	else
		buf_add(out, file);
	return good && !im->problem && buf_z(out);
}

/* What of the entry is every tool's own. */
static int
extras_of(const struct json *v, struct json_doc **ret, struct err *e)
{
	static const char *const names[] = {"timeout", "max_bytes", "allow_private", "allow"};
	struct buf text = BUF_INIT(64 * KIB);
	struct jw w = jw(&text);

	jw_object(&w);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct json *one = json_get(v, str_of(names[i]));
		if (one)
			jw_key_str(&w, str_of(names[i])), jw_value(&w, one);
	}
	jw_end(&w);
	int code = json_parse(buf_str(&text), &json_door, ret, e);
	buf_done(&text);
	return code;
}

static int
import_take(struct config_reading *r, struct config_import *im, struct openapi *from, int code,
	    const struct err *why)
{
	struct config *c = r->config;

	if (code == E_NOMEM)
		return nomem(r);
	if (code < 0) {
		im->problem = arena_printf(c->arena, "%s: %s", im->from, err_text(why));
		return im->problem ? 0 : nomem(r);
	}
	im->definitions = from->definitions;
	im->count = from->count;
	from->definitions = NULL;
	from->count = 0;
	im->left_out = from->problem_count;
	if (from->problems.len && !(im->notes = arena_strz(c->arena, buf_str(&from->problems))))
		return nomem(r);
	return 0;
}

static int
mode_of(struct str name)
{
	for (int m = MODE_AUTO; m <= MODE_DENY; m++)
		if (str_is(name, policy_mode_name((enum policy_mode)m)))
			return m;
	return -1;
}

static int
read_import(struct config_reading *r, const struct json_iter *it)
{
	struct config *c = r->config;
	struct config_import *im = &c->imports[c->import_count++];
	struct buf path = BUF_INIT(LIMIT_PATH), text = BUF_INIT(LIMIT_IMPORT_BYTES);
	struct json_doc *extras = NULL;
	struct openapi found = {0};
	struct err why = ERR_NONE;
	int code = 0;

	im->name = arena_str(c->arena, it->key);
	im->confirm = mode_of(json_str(json_get(it->value, S("confirm"))));
	struct openapi_options options = {
	    .name = im->name,
	    .base_url = json_str(json_get(it->value, S("base_url"))),
	    .origin = json_str(json_get(it->value, S("url"))),
	    .policy = json_str(json_get(it->value, S("side_effect_policy"))),
	    .headers = json_get(it->value, S("headers")),
	    .only = json_get(it->value, S("only")),
	    .never = json_get(it->value, S("never")),
	};
	if (path_of(r, im, it->value, &path) && document_read(r, im, path.ptr, &text)) {
		code = extras_of(it->value, &extras, r->err);
		options.extras = code == 0 ? json_root(extras) : NULL;
		if (code == 0)
			code = import_take(r, im, &found,
					   openapi_import(buf_str(&text), &options, &found, &why),
					   &why);
	} else if (!im->problem) {
		code = nomem(r);
	}
	json_doc_unref(extras);
	openapi_done(&found);
	buf_done(&path);
	buf_done(&text);
	return im->name.ptr ? code : nomem(r);
}

static bool
is_enabled(const struct json *v)
{
	const struct json *enabled = json_get(v, S("enabled"));

	return !json_bool(json_get(v, S("disabled"))) && (!enabled || json_bool(enabled));
}

static int
read_imports(struct config_reading *r, const struct json *section)
{
	struct config *c = r->config;
	int code = 0;

	c->imports = arena_alloc(c->arena, (json_len(section) + 1) * sizeof(*c->imports));
	if (!c->imports)
		return nomem(r);
	for (struct json_iter it = json_iter(section); code == 0 && json_next(&it);) {
		for (size_t i = 0; i < c->server_count; i++)
			if (str_eq(c->servers[i].name, it.key))
				return err_set(r->err, E_CONFIG,
					       "line %u: openapi.%.*s: there is a server of this "
					       "name",
					       config__line(r, it.value),
					       STR_ARG(str_utf8_upto(it.key, 64)));
		if (is_enabled(it.value))
			code = read_import(r, &it);
	}
	return code;
}

int
config__defined(struct config_reading *r, const struct json *root)
{
	struct config *c = r->config;
	int code;

	c->home = r->home ? arena_strz(c->arena, str_of(r->home)) : NULL;
	if ((code = read_gateway(r, json_get(root, S("tool_gateway")))) < 0 ||
	    (code = read_definitions(r, json_get(root, S("definitions")))) < 0)
		return code;
	return read_imports(r, json_get(root, S("openapi")));
}

void
config__defined_done(struct config *c)
{
	guard_unref(c->gateways.http.guard);
	for (size_t i = 0; i < c->definition_count; i++)
		definition_unref(c->definitions[i].definition);
	for (size_t i = 0; i < c->import_count; i++) {
		for (size_t k = 0; k < c->imports[i].count; k++)
			definition_unref(c->imports[i].definitions[k]);
		free(c->imports[i].definitions);
	}
}
