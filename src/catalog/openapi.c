/* openapi.c - operations of a document, each written down as a definition and read like any other.
 */

#include "catalog/openapi.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/glob.h"
#include "base/map.h"
#include "catalog/openapi_inside.h"
#include "json/yaml.h"
#include "net/url.h"

#define DESCRIPTION_BYTES 1024
#define PROBLEM_BYTES (64 * KIB)
#define PROPERTIES_MOST 512 /* parameters of one operation */
#define OPERATION_BYTES (4 * LIMIT_IMPORT_SCHEMA)
#define WRITTEN_BYTES (2 * (size_t)LIMIT_IMPORT_BYTES) /* of all operations */

static const struct method {
	const char *key, *name, *policy;
} methods[] = {
    {"get", "GET", "pure"},           {"head", "HEAD", "pure"},
    {"put", "PUT", "idempotent"},     {"delete", "DELETE", "idempotent"},
    {"post", "POST", "irreversible"}, {"patch", "PATCH", "irreversible"},
};

/* One import. */
struct import {
	const struct openapi_options *options;
	struct openapi *out;
	const struct json *root;
	struct arena *arena; /* names */
	struct map names;    /* short name -> struct named */
	size_t written;      /* bytes of definitions: each has its own copy of all it refers to */
	struct err *err;
};

/* How often a name is wanted. */
struct named {
	struct str name;
	unsigned count;
};

/* One operation being read. */
struct operation {
	struct import *import;
	const struct method *method;
	struct str path;
	const struct json *item, *object; /* the path's, and its own */
	struct str name;                  /* as people call it: operationId, or method and path */
};

/* A parameter, and the property it becomes. */
struct parameter {
	struct str name, in;
	char property[96];
	const struct json *object, *schema;
	bool required;
	struct str style;
	bool explode;
};

struct parameters {
	struct parameter *at;
	size_t count;
};

/* ---- problems ---- */

static void PRINTF_LIKE(2, 3) leave_out(const struct operation *op, const char *fmt, ...)
{
	struct openapi *out = op->import->out;
	va_list ap;

	out->problem_count++;
	if (out->problems.len > PROBLEM_BYTES / 2)
		return;
	buf_addz(&out->problems, "/paths/");
	for (size_t i = 0; i < op->path.len && i < 200; i++)
		buf_addz(&out->problems, op->path.ptr[i] == '/'   ? "~1"
					 : op->path.ptr[i] == '~' ? "~0"
								  : (char[]){op->path.ptr[i], 0});
	buf_addf(&out->problems, "/%s: ", op->method->key);
	va_start(ap, fmt);
	buf_vaddf(&out->problems, fmt, ap);
	va_end(ap);
	buf_addc(&out->problems, '\n');
}

/* ---- names ---- */

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* "/orders/{id}" of GET: get_orders_id */
static void
path_name(struct buf *out, const struct operation *op)
{
	bool gap = true;

	buf_addz(out, op->method->key);
	for (size_t i = 0; i < op->path.len; i++) {
		char c = op->path.ptr[i];
		if (is_word(c) || c == '-') {
			buf_addz(out, gap ? "_" : "");
			buf_addc(out, c);
		}
		gap = !is_word(c) && c != '-';
	}
}

static int
operation_name(struct operation *op)
{
	struct arena *a = op->import->arena;
	struct buf name = BUF_INIT(4 * KIB);

	op->name = json_str(json_get(op->object, S("operationId")));
	if (str_trim(op->name).len)
		return 0;
	path_name(&name, op);
	op->name = arena_str(a, str_upto(buf_str(&name), 200));
	buf_done(&name);
	return op->name.ptr ? 0 : E_NOMEM;
}

static int
name_count(struct operation *op)
{
	struct import *im = op->import;
	struct buf alias = BUF_INIT(ALIAS_MAX);
	int code = 0;

	toolid_alias(&alias, im->options->name, op->name, (struct str){NULL, 0});
	struct named *n = map_find(&im->names, buf_str(&alias));
	if (n) {
		n->count++;
	} else {
		n = ARENA_NEW(im->arena, struct named);
		struct str copy = arena_str(im->arena, buf_str(&alias));
		code = n && copy.ptr ? map_put(&im->names, copy, n) : E_NOMEM;
		if (code == 0)
			*n = (struct named){copy, 1};
	}
	buf_done(&alias);
	return code;
}

/* What is wanted twice goes to neither: both end in a hash of method and path, which stays whatever
 * comes and goes. */
static void
alias_make(struct buf *out, const struct operation *op)
{
	struct import *im = op->import;
	struct str none = {NULL, 0};
	struct buf longer = BUF_INIT(8 * KIB);
	char digest[DIGEST_TEXT];

	toolid_alias(out, im->options->name, op->name, none);
	const struct named *n = map_find(&im->names, buf_str(out));
	if (!n || n->count < 2)
		return;
	buf_addf(&longer, "%s %.*s", op->method->name, STR_ARG(op->path));
	digest_bytes(buf_str(&longer), digest);
	buf_reset(&longer);
	buf_addf(&longer, "%.*s-%.8s", STR_ARG(str_utf8_upto(op->name, 40)), digest);
	buf_reset(out);
	toolid_alias(out, im->options->name, buf_str(&longer), none);
	buf_done(&longer);
}

/* ---- which ---- */

static bool
among(const struct json *patterns, const struct operation *op, struct str alias)
{
	struct buf line = BUF_INIT(8 * KIB);
	bool found = false;

	buf_addf(&line, "%s %.*s", op->method->name, STR_ARG(op->path));
	for (struct json_iter it = json_iter(patterns); !found && json_next(&it);) {
		struct str p = json_str(it.value);
		found = glob_path(p, op->name) || glob_path(p, alias) ||
			glob_file(p, buf_str(&line)) || glob_file(p, op->path);
	}
	buf_done(&line);
	return found;
}

static bool
is_wanted(const struct operation *op, struct str alias)
{
	const struct openapi_options *o = op->import->options;

	return (!o->only || among(o->only, op, alias)) && !(o->never && among(o->never, op, alias));
}

/* ---- parameters ---- */

/* Section 4.8.12; and cookies, which have a place of their own. */
static const char *const ignored[] = {"Accept", "Content-Type", "Authorization", "Cookie"};

/* Also what whoever imports it gives himself: that is not the caller's to say. */
static bool
is_ignored(const struct operation *op, const struct parameter *p)
{
	if (!str_is(p->in, "header"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		if (str_eq_nocase(p->name, str_of(ignored[i])))
			return true;
	for (struct json_iter it = json_iter(op->import->options->headers); json_next(&it);)
		if (str_eq_nocase(p->name, it.key))
			return true;
	return false;
}

static const struct json *
content_schema(const struct json *root, const struct json *content, const char *type)
{
	const struct json *media = openapi__resolve(root, json_get(content, str_of(type)));

	return json_get(media, S("schema"));
}

static bool
parameter_read(const struct operation *op, const struct json *v, struct parameter *p)
{
	const struct json *root = op->import->root, *o = openapi__resolve(root, v);
	const struct json *explode = json_get(o, S("explode"));

	*p = (struct parameter){
	    .name = json_str(json_get(o, S("name"))),
	    .in = json_str(json_get(o, S("in"))),
	    .object = o,
	    .schema = json_get(o, S("schema")),
	    .required = json_bool(json_get(o, S("required"))),
	    .style = json_str(json_get(o, S("style"))),
	};
	if (!p->schema)
		p->schema = content_schema(root, json_get(o, S("content")), "application/json");
	p->explode = explode ? json_bool(explode) : !p->style.ptr || str_is(p->style, "form");
	p->required = p->required || str_is(p->in, "path");
	return p->name.len && p->in.len;
}

static bool
is_there(const struct parameters *ps, const struct parameter *p)
{
	for (size_t i = 0; i < ps->count; i++)
		if (str_eq(ps->at[i].name, p->name) && str_eq(ps->at[i].in, p->in))
			return true;
	return false;
}

/* False: one of them is none, and where. The operation's own come before those of its path. */
static bool
parameters_read(const struct operation *op, const struct json *list, const char *where,
		struct parameters *ps)
{
	size_t i = 0;

	if (json_len(list) > PROPERTIES_MOST) {
		leave_out(op, "has more than %d parameters", PROPERTIES_MOST);
		return false;
	}
	for (struct json_iter it = json_iter(list); json_next(&it); i++) {
		struct parameter p;
		if (!parameter_read(op, it.value, &p)) {
			leave_out(op, "%sparameters/%zu: has no name or no place", where, i);
			return false;
		}
		if (is_ignored(op, &p) || is_there(ps, &p))
			continue;
		if (ps->count == PROPERTIES_MOST) {
			leave_out(op, "has more than %d parameters", PROPERTIES_MOST);
			return false;
		}
		ps->at[ps->count++] = p;
	}
	return true;
}

static bool
property_is_taken(const struct parameters *ps, size_t upto, const char *property)
{
	for (size_t i = 0; i < upto; i++)
		if (strcmp(ps->at[i].property, property) == 0)
			return true;
	return false;
}

static int
path_first(const void *a, const void *b)
{
	const struct parameter *x = a, *y = b;
	int order = str_is(y->in, "path") - str_is(x->in, "path");

	if (order)
		return order;
	order = str_cmp(x->in, y->in);
	return order ? order : str_cmp(x->name, y->name);
}

/* Those of the path are called as they are, for so they stand in it; of others that are called the
 * same the place is part of the name. */
static void
properties_name(struct parameters *ps)
{
	qsort(ps->at, ps->count, sizeof(*ps->at), path_first);
	for (size_t i = 0; i < ps->count; i++) {
		struct parameter *p = &ps->at[i];
		struct str name = str_utf8_upto(p->name, 64);
		snprintf(p->property, sizeof(p->property), "%.*s", STR_ARG(name));
		for (size_t k = 0; k < 8 && property_is_taken(ps, i, p->property); k++)
			snprintf(p->property, sizeof(p->property), "%.*s_%.*s%.*s", STR_ARG(name),
				 STR_ARG(str_upto(p->in, 8)), (int)k, "________");
	}
}

/* ---- the body ---- */

struct body {
	const struct json *schema; /* NULL: there is none */
	bool given, required, form;
	struct str description;
	char property[96];
};

/* False: it has one that cannot be sent. */
static bool
body_read(const struct operation *op, const struct parameters *ps, struct body *b)
{
	const struct json *root = op->import->root;
	const struct json *v = openapi__resolve(root, json_get(op->object, S("requestBody")));
	const struct json *content = json_get(v, S("content"));
	struct str first = {NULL, 0};

	*b = (struct body){.required = json_bool(json_get(v, S("required"))),
			   .description = json_str(json_get(v, S("description")))};
	snprintf(b->property, sizeof(b->property), "%s",
		 property_is_taken(ps, ps->count, "body") ? "request_body" : "body");
	if (strcmp(op->method->policy, "pure") == 0) /* section 4.8.10: it has no meaning there */
		return true;
	for (struct json_iter it = json_iter(content); json_next(&it);) {
		ptrdiff_t end = str_index(it.key, ';');
		struct str type = str_trim(end < 0 ? it.key : str_upto(it.key, (size_t)end));
		bool json = str_eq_nocase(type, S("application/json")) ||
			    str_ends(type, S("+json")) || str_is(type, "*/*") ||
			    str_is(type, "application/*");
		bool form = str_eq_nocase(type, S("application/x-www-form-urlencoded"));
		first = first.ptr ? first : it.key;
		if ((!json && !form) || (b->given && (!json || !b->form)))
			continue;
		b->given = true;
		b->form = !json;
		b->schema = json_get(openapi__resolve(root, it.value), S("schema"));
	}
	if (b->given || !first.ptr)
		return true;
	if (b->required)
		leave_out(op, "requestBody/content: %.*s cannot be sent",
			  STR_ARG(str_utf8_upto(first, 80)));
	return !b->required;
}

/* ---- where it goes ---- */

/* With its variables' defaults in it. */
static void
add_server(struct buf *out, const struct json *server)
{
	struct str url = json_str(json_get(server, S("url")));

	while (url.len) {
		ptrdiff_t open = str_index(url, '{');
		if (open < 0)
			break;
		buf_add(out, str_upto(url, (size_t)open));
		ptrdiff_t end = str_index(url, '}');
		if (end < open)
			break;
		struct str name = {url.ptr + open + 1, (size_t)(end - open - 1)};
		const struct json *variable = json_get(json_get(server, S("variables")), name);
		buf_add(out, json_str(json_get(variable, S("default"))));
		url = str_from(url, (size_t)end + 1);
	}
	buf_add(out, url);
}

static bool
is_absolute(struct str s)
{
	return str_starts(s, S("http://")) || str_starts(s, S("https://"));
}

/* A relative one is meant from where the document came from; none is "/" (section 4.8.5). */
static void
make_whole(struct buf *out, struct str origin)
{
	struct buf relative = buf_take(out);
	struct url base;

	if (url_split(origin, &base, NULL) < 0 ||
	    url_resolve(&base, relative.len ? buf_str(&relative) : S("/"), out, NULL) < 0)
		buf_reset(out);
	out->failed = out->failed || buf_failed(&relative);
	buf_done(&relative);
}

static bool
add_base(struct buf *out, const struct operation *op)
{
	const struct openapi_options *o = op->import->options;
	const struct json *all[] = {op->object, op->item, op->import->root};
	const struct json *server = NULL;

	if (o->base_url.ptr) {
		buf_add(out, o->base_url);
	} else {
		for (size_t i = 0; i < ARRAY_LEN(all) && !server; i++)
			server = json_at(json_get(all[i], S("servers")), 0);
		add_server(out, server);
		if (!is_absolute(buf_str(out)) && o->origin.ptr)
			make_whole(out, o->origin);
	}
	while (out->len && out->ptr[out->len - 1] == '/')
		out->len--;
	return o->base_url.ptr || is_absolute(buf_str(out));
}

/* What the document says of an address is a stranger's: only what the options say may name
 * variables of ours. False: it is left out. */
static bool
add_address(struct buf *out, const struct operation *op)
{
	bool ours = op->import->options->base_url.ptr;

	if (!add_base(out, op)) {
		leave_out(op, "no server is named with a whole address; give a base_url");
		return false;
	}
	size_t theirs = ours ? out->len : 0;
	if (op->path.len && op->path.ptr[0] != '/')
		buf_addc(out, '/');
	buf_add(out, op->path);
	struct str said = str_from(buf_str(out), theirs);
	if (said.len && memmem(said.ptr, said.len, "${", 2)) {
		leave_out(op, "has ${ in its address");
		return false;
	}
	return true;
}

/* ---- writing ---- */

static bool
is_harmless(struct str property)
{
	return str_index(property, '{') < 0 && str_index(property, '}') < 0 && property.len > 0 &&
	       property.ptr[0] != '+' && !str_is(property, "*");
}

static void
write_argument(struct jw *w, struct str key, const char *property)
{
	char text[112];

	snprintf(text, sizeof(text), "{%s}", property);
	jw_key_str(w, key);
	jw_z(w, text);
}

static void
write_places(struct jw *w, const struct parameters *ps, const char *in, const char *key,
	     const struct json *more)
{
	jw_key(w, key);
	jw_object(w);
	for (struct json_iter it = json_iter(more); json_next(&it);)
		jw_key_str(w, it.key), jw_value(w, it.value);
	for (size_t i = 0; i < ps->count; i++) {
		const struct parameter *p = &ps->at[i];
		if (!str_is(p->in, in))
			continue;
		if (strcmp(in, "query") != 0) {
			write_argument(w, p->name, p->property);
			continue;
		}
		jw_key_str(w, p->name);
		jw_object(w);
		jw_member_z(w, "argument", p->property);
		if (p->style.ptr)
			jw_member(w, "style", p->style);
		jw_member_bool(w, "explode", p->explode);
		jw_end(w);
	}
	jw_end(w);
}

static void
write_config(struct jw *w, const struct operation *op, struct str url, const struct parameters *ps,
	     const struct body *b)
{
	const struct openapi_options *o = op->import->options;

	jw_key(w, "gateway_config");
	jw_object(w);
	jw_member_z(w, "method", op->method->name);
	jw_member(w, "url", url);
	write_places(w, ps, "query", "query", NULL);
	write_places(w, ps, "header", "headers", o->headers);
	write_places(w, ps, "cookie", "cookies", NULL);
	if (b->given)
		write_argument(w, S("body"), b->property);
	else
		jw_key(w, "body"), jw_null(w);
	if (b->form)
		jw_member_z(w, "body_type", "form");
	for (struct json_iter it = json_iter(o->extras); json_next(&it);)
		jw_key_str(w, it.key), jw_value(w, it.value);
	jw_end(w);
}

/* The schema, and what is said of the parameter itself where the schema says nothing. */
static void
write_property(struct jw *w, const struct json *root, const char *property,
	       const struct json *schema, struct str description, struct openapi_refs *refs)
{
	bool also =
	    description.ptr && !json_get(schema, S("description")) && !json_is(schema, JSON_BOOL);

	jw_key_str(w, str_of(property));
	if (!also) {
		openapi__schema(w, root, schema, refs);
		return;
	}
	jw_object(w);
	jw_member(w, "description", str_utf8_upto(description, DESCRIPTION_BYTES));
	jw_key(w, "allOf");
	jw_array(w);
	openapi__schema(w, root, schema, refs);
	jw_end(w);
	jw_end(w);
}

static void
write_schema(struct jw *w, const struct operation *op, const struct parameters *ps,
	     const struct body *b, struct openapi_refs *refs)
{
	const struct json *root = op->import->root;

	jw_key(w, "parameter_schema");
	jw_object(w);
	jw_member_z(w, "type", "object");
	jw_key(w, "properties");
	jw_object(w);
	for (size_t i = 0; i < ps->count; i++)
		write_property(w, root, ps->at[i].property, ps->at[i].schema,
			       json_str(json_get(ps->at[i].object, S("description"))), refs);
	if (b->given)
		write_property(w, root, b->property, b->schema, b->description, refs);
	jw_end(w);
	jw_key(w, "required");
	jw_array(w);
	for (size_t i = 0; i < ps->count; i++)
		if (ps->at[i].required)
			jw_z(w, ps->at[i].property);
	if (b->given && b->required)
		jw_z(w, b->property);
	jw_end(w);
	jw_member_bool(w, "additionalProperties", false);
	openapi__defs(w, root, refs);
	jw_end(w);
}

static void
write_description(struct jw *w, const struct operation *op)
{
	struct buf text = BUF_INIT(8 * KIB);
	struct str summary = str_trim(json_str(json_get(op->object, S("summary"))));
	struct str more = str_trim(json_str(json_get(op->object, S("description"))));

	if (json_bool(json_get(op->object, S("deprecated"))))
		buf_addz(&text, "Deprecated. ");
	buf_add(&text, str_utf8_upto(summary, DESCRIPTION_BYTES));
	if (more.len && !str_eq(more, summary)) {
		bool ended = !summary.len || strchr(".!?", summary.ptr[summary.len - 1]);
		buf_addz(&text, !summary.len ? "" : ended ? " " : ". ");
		buf_add(&text, str_utf8_upto(more, DESCRIPTION_BYTES));
	}
	if (text.len == 0)
		buf_addf(&text, "%s %.*s", op->method->name, STR_ARG(str_utf8_upto(op->path, 500)));
	jw_member(w, "description", str_utf8_upto(buf_str(&text), 2 * DESCRIPTION_BYTES));
	buf_done(&text);
}

static void
write_tags(struct jw *w, const struct operation *op)
{
	size_t n = 0;

	jw_key(w, "categories");
	jw_array(w);
	for (struct json_iter it = json_iter(json_get(op->object, S("tags"))); json_next(&it);)
		if (json_str(it.value).len && n++ < 16)
			jw_str(w, json_str(it.value));
	jw_end(w);
}

/* ---- one operation ---- */

/* Every {name} of the path has to be a parameter, or nobody could fill it in. */
static bool
path_is_filled(const struct operation *op, const struct parameters *ps)
{
	struct str rest = op->path;
	ptrdiff_t open, end;

	while ((open = str_index(rest, '{')) >= 0) {
		rest = str_from(rest, (size_t)open + 1);
		if ((end = str_index(rest, '}')) < 0)
			break;
		struct parameter wanted = {.name = str_upto(rest, (size_t)end), .in = S("path")};
		if (!is_there(ps, &wanted)) {
			leave_out(op, "{%.*s} of the path is no parameter",
				  STR_ARG(str_utf8_upto(wanted.name, 64)));
			return false;
		}
		rest = str_from(rest, (size_t)end + 1);
	}
	for (size_t i = 0; i < ps->count; i++)
		if (!is_harmless(str_of(ps->at[i].property)) || ps->at[i].name.len > 64) {
			leave_out(op, "a parameter's name cannot be used");
			return false;
		}
	return true;
}

static int
keep(const struct operation *op, struct str text)
{
	static const struct json_limits limits = {OPERATION_BYTES, LIMIT_JSON_DEPTH};
	struct openapi *out = op->import->out;
	struct json_doc *doc = NULL;
	struct definition *d = NULL;
	struct err why = ERR_NONE;
	int code = json_parse(text, &limits, &doc, &why);

	if (code == 0)
		code = definition_parse(doc, json_root(doc), &d, &why);
	json_doc_unref(doc);
	if (code == E_NOMEM)
		return err_plain(op->import->err, E_NOMEM);
	if (code < 0)
		leave_out(op, "%s", err_text(&why));
	else
		out->definitions[out->count++] = d;
	return 0;
}

static int
too_much(const struct import *im, const char *what)
{
	return err_set(im->err, E_LIMIT, "/paths: %s; name some with `only`", what);
}

/* Those that are left out count as well: they are read, too. */
static int
check_count(const struct import *im)
{
	char what[80];

	if (im->out->count < LIMIT_IMPORT_TOOLS && im->out->problem_count < LIMIT_IMPORT_TOOLS)
		return 0;
	snprintf(what, sizeof(what), "there are more than %d operations", LIMIT_IMPORT_TOOLS);
	return too_much(im, what);
}

static int
write_operation(const struct operation *op, struct str alias, const struct parameters *ps)
{
	struct buf text = BUF_INIT(OPERATION_BYTES), url = BUF_INIT(16 * KIB);
	struct str policy = op->import->options->policy;
	struct openapi_refs refs = {0};
	struct jw w = jw(&text);
	struct body body;
	int code = 0;

	if (!body_read(op, ps, &body) || !path_is_filled(op, ps))
		return 0;
	if (!add_address(&url, op)) {
		buf_done(&url);
		return 0;
	}
	jw_object(&w);
	jw_member(&w, "name", alias);
	write_description(&w, op);
	jw_member_z(&w, "gateway", "http");
	write_schema(&w, op, ps, &body, &refs);
	write_config(&w, op, buf_str(&url), ps, &body);
	jw_member(&w, "side_effect_policy", policy.ptr ? policy : str_of(op->method->policy));
	write_tags(&w, op);
	jw_end(&w);
	op->import->written += text.len;
	if (refs.nomem)
		code = err_plain(op->import->err, E_NOMEM);
	else if (op->import->written > WRITTEN_BYTES)
		code = too_much(op->import, "what the operations take is more than 64 MiB");
	else if (buf_failed(&text) || buf_failed(&url))
		leave_out(op, "is too large");
	else
		code = keep(op, buf_str(&text));
	openapi__refs_done(&refs);
	buf_done(&text);
	buf_done(&url);
	return code;
}

static int
operation_add(struct operation *op)
{
	struct buf alias = BUF_INIT(ALIAS_MAX);
	struct parameters ps = {calloc(PROPERTIES_MOST + 1, sizeof(*ps.at)), 0};
	int code = ps.at ? 0 : err_plain(op->import->err, E_NOMEM);

	alias_make(&alias, op);
	if (code == 0)
		code = check_count(op->import);
	if (code == 0 && is_wanted(op, buf_str(&alias)) &&
	    parameters_read(op, json_get(op->object, S("parameters")), "", &ps) &&
	    parameters_read(op, json_get(op->item, S("parameters")), "../", &ps)) {
		properties_name(&ps);
		code = write_operation(op, buf_str(&alias), &ps);
	}
	free(ps.at);
	buf_done(&alias);
	return code;
}

/* ---- all of them ---- */

static int
each_operation(struct import *im, int (*do_it)(struct operation *op), size_t *ret_count)
{
	const struct json *paths = json_get(im->root, S("paths"));
	int code = 0;

	for (struct json_iter it = json_iter(paths); code == 0 && json_next(&it);) {
		const struct json *item = openapi__resolve(im->root, it.value);
		for (size_t i = 0; code == 0 && i < ARRAY_LEN(methods); i++) {
			struct operation op = {
			    .import = im,
			    .method = &methods[i],
			    .path = it.key,
			    .item = item,
			    .object = json_get(item, str_of(methods[i].key)),
			};
			if (!json_is(op.object, JSON_OBJECT))
				continue;
			*ret_count += 1;
			code = operation_name(&op);
			if (code == 0)
				code = do_it(&op);
			if (code == E_NOMEM)
				err_plain(im->err, E_NOMEM);
		}
	}
	return code;
}

static int
check_document(const struct import *im)
{
	struct str version = json_str(json_get(im->root, S("openapi")));

	if (json_get(im->root, S("swagger")))
		return err_set(im->err, E_VALIDATION,
			       "/swagger: this is OpenAPI 2.0; 3.0 and 3.1 can be read");
	if (!version.ptr)
		return err_set(im->err, E_VALIDATION,
			       "/openapi: is missing: this is no document of OpenAPI");
	if (!str_starts(version, S("3.")))
		return err_set(im->err, E_VALIDATION, "/openapi: %.*s is not known; 3.x is",
			       STR_ARG(str_utf8_upto(version, 20)));
	if (!json_is(json_get(im->root, S("paths")), JSON_OBJECT))
		return err_set(im->err, E_VALIDATION, "/paths: is missing");
	return 0;
}

static int
import_all(struct import *im)
{
	size_t count = 0, again = 0;
	int code = check_document(im);

	im->out->title = json_str(json_pointer(im->root, S("/info/title")));
	if (code < 0 || (code = each_operation(im, name_count, &count)) < 0)
		return code;
	im->out->definitions = calloc(count + 1, sizeof(struct definition *));
	if (!im->out->definitions)
		return err_plain(im->err, E_NOMEM);
	return each_operation(im, operation_add, &again);
}

/* JSON is YAML, and much faster as what it is. */
static int
document_parse(struct str text, struct json_doc **ret, struct err *e)
{
	static const struct json_limits limits = {LIMIT_IMPORT_BYTES, LIMIT_JSON_DOOR_DEPTH};
	struct str start = str_trim(str_upto(text, 4 * KIB));
	struct yaml y = {0};

	if (str_starts(start, S("{")))
		return json_parse(text, &limits, ret, e);
	int code = yaml_parse(text, LIMIT_IMPORT_BYTES, &y, e);
	if (code == 0)
		*ret = json_doc_ref(y.doc);
	yaml_done(&y);
	return code == E_CONFIG ? E_VALIDATION : code;
}

int
openapi_import(struct str text, const struct openapi_options *options, struct openapi *ret,
	       struct err *e)
{
	struct import im = {.options = options, .out = ret, .err = e};

	*ret = (struct openapi){.problems = BUF_INIT(PROBLEM_BYTES)};
	int code = document_parse(text, &ret->doc, e);
	if (code < 0) {
		if (e)
			e->code = code;
		return code;
	}
	im.root = json_root(ret->doc);
	im.arena = arena_new(16 * MIB);
	map_init(&im.names, 10 * LIMIT_IMPORT_TOOLS);
	code = im.arena ? import_all(&im) : err_plain(e, E_NOMEM);
	map_done(&im.names);
	arena_free(im.arena);
	return code;
}

void
openapi_done(struct openapi *o)
{
	for (size_t i = 0; i < o->count; i++)
		definition_unref(o->definitions[i]);
	free(o->definitions);
	buf_done(&o->problems);
	json_doc_unref(o->doc);
	*o = (struct openapi){0};
}

bool
openapi_copy_path(const char *state, struct str url, struct buf *out)
{
	char digest[DIGEST_TEXT];

	digest_bytes(url, digest);
	buf_addf(out, "%s/openapi/%.32s", state, digest);
	return !buf_failed(out);
}
