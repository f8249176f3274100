/* rest_servers.c - the MCP servers behind, what they have changed about their tools, and the
 * configuration they come from. */

#include <stdlib.h>

#include "front/visit.h"
#include "mcp/shape.h"
#include "text/diff.h"

#define LEFT_OUT_TOLD 20 /* of one server */

void
front_set_workspace(struct front *f, const char *workspace)
{
	char *copy = workspace ? strdup(workspace) : NULL;

	if (workspace && !copy)
		return; /* the old one is better than none */
	free(f->workspace);
	f->workspace = copy;
}

/* Which one */

/* In a path a '/' of a name is written ~1, and a '~' ~0, as in JSON pointers. */
static struct str
name_read(struct str given, struct buf *out)
{
	for (size_t i = 0; i < given.len; i++) {
		char next = i + 1 < given.len ? given.ptr[i + 1] : '\0';
		bool escaped = given.ptr[i] == '~' && (next == '0' || next == '1');
		buf_addc(out, escaped ? (next == '1' ? '/' : '~') : given.ptr[i]);
		i += escaped;
	}
	return buf_str(out);
}

/* The one the path names; NULL: it has been answered that there is none. */
static struct upstream *
server_named(const struct visit *v, const char *param)
{
	struct str given = visit_param(v, param);
	struct buf name = BUF_INIT(LIMIT_HTTP_FIELD);
	const struct upstreams *us = v->front->gw->upstreams;
	struct upstream *u = us ? upstream_find(us, given) : NULL;
	struct err e;

	if (!u && us)
		u = upstream_find(us, name_read(given, &name));
	if (!u) {
		err_set(&e, E_NO_SERVER, "there is no server '%.*s'",
			STR_ARG(str_utf8_upto(given, 100)));
		reply_err(v->http, &e);
	}
	buf_done(&name);
	return u;
}

/* What it lists and clients would refuse (shape.h): how many, and why not the first of them. */
static void
left_out_write(struct jw *w, const struct upstream *u)
{
	static const struct {
		enum upstream_list list;
		enum shape shape;
		const char *word, *named;
	} kinds[] = {
	    {LIST_TOOLS, SHAPE_TOOL, "tool", "name"},
	    {LIST_PROMPTS, SHAPE_PROMPT, "prompt", "name"},
	    {LIST_RESOURCES, SHAPE_RESOURCE, "resource", "uri"},
	    {LIST_TEMPLATES, SHAPE_TEMPLATE, "template", "uriTemplate"},
	};
	struct buf list = BUF_INIT(LIMIT_PROBLEM_BYTES), line = BUF_INIT(512);
	struct jw lines = jw(&list);
	struct err why = ERR_NONE;
	size_t count = 0;

	jw_array(&lines);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		for (struct json_iter it = json_iter(upstream_list(u, kinds[i].list));
		     json_next(&it);) {
			if (shape_check(kinds[i].shape, it.value, &why) == 0 ||
			    count++ >= LEFT_OUT_TOLD)
				continue;
			struct str name = json_str(json_get(it.value, str_of(kinds[i].named)));
			buf_reset(&line);
			buf_addf(&line, "%s '%.*s': %s", kinds[i].word,
				 STR_ARG(str_utf8_upto(name, 100)), why.text);
			jw_str(&lines, buf_str(&line));
		}
	}
	jw_end(&lines);
	if (count > 0) {
		jw_member_int(w, "left_out", (int64_t)count);
		jw_key(w, "problems"), jw_raw(w, buf_str(&list));
	}
	buf_done(&list);
	buf_done(&line);
}

static void
server_write(struct jw *w, const struct front *f, const struct upstream *u)
{
	jw_object(w);
	upstream_write_members(w, u);
	left_out_write(w, u);
	gateway_write_breaker(w, f->gw, upstream_name(u));
	jw_end(w);
}

static void
reply_server(const struct visit *v, const struct upstream *u, int status)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	server_write(&w, v->front, u);
	reply_json(v->http, status, &b);
}

void
route_servers_list(const struct visit *v)
{
	const struct front *f = v->front;
	const struct upstreams *us = f->gw->upstreams;
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_key(&w, "servers");
	jw_array(&w);
	for (size_t i = 0; us && i < upstreams_count(us); i++)
		server_write(&w, f, upstream_at(us, i));
	jw_end(&w);
	if (f->spec.about)
		f->spec.about(&w, f->spec.arg);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

void
route_server_show(const struct visit *v)
{
	const struct upstream *u = server_named(v, "name");

	if (u)
		reply_server(v, u, 200);
}

void
route_server_restart(const struct visit *v)
{
	struct upstream *u = server_named(v, "name");

	if (!u)
		return;
	upstream_restart(u);
	reply_server(v, u, 202);
}

/* Pins */

static void
indent(struct buf *out, unsigned depth)
{
	buf_addc(out, '\n');
	while (depth-- > 0)
		buf_addz(out, "  ");
}

/* A value on many lines, so that two can be compared line by line. Its depth is bounded by whoever
 * parsed it. */
static void
pretty(struct buf *out, const struct json *v, unsigned depth)
{
	bool object = json_is(v, JSON_OBJECT);
	const char *comma = "";
	struct jw w = jw(out);

	if ((!object && !json_is(v, JSON_ARRAY)) || json_len(v) == 0 || depth >= LIMIT_JSON_DEPTH) {
		jw_value(&w, v);
		return;
	}
	buf_addc(out, object ? '{' : '[');
	for (struct json_iter it = json_iter(v); json_next(&it); comma = ",") {
		buf_addz(out, comma);
		indent(out, depth + 1);
		if (object) {
			struct jw key = jw(out);
			jw_str(&key, it.key);
			buf_addz(out, ": ");
		}
		pretty(out, it.value, depth + 1);
	}
	indent(out, depth);
	buf_addc(out, object ? '}' : ']');
}

static void
diff_write(struct jw *w, const struct upstream_tool *t)
{
	struct buf before = BUF_INIT(LIMIT_JSON_BYTES), after = BUF_INIT(LIMIT_JSON_BYTES),
		   diff = BUF_INIT(LIMIT_DIFF_BYTES);

	pretty(&before, t->definition, 0);
	pretty(&after, t->changed, 0);
	buf_addc(&before, '\n');
	buf_addc(&after, '\n');
	bool whole = diff_unified(&diff, t->name, buf_str(&before), buf_str(&after));
	jw_member(w, "diff", diff.len ? buf_str(&diff) : S(""));
	jw_member_bool(w, "diff_truncated", !whole || buf_failed(&before) || buf_failed(&after));
	buf_done(&before);
	buf_done(&after);
	buf_done(&diff);
}

static void
digest_write(struct jw *w, const struct json *v)
{
	char digest[DIGEST_TEXT];

	if (digest_value(v, CANON_JCS, digest, NULL) == 0)
		jw_member_z(w, "now_digest", digest);
}

static void
pins_write(struct jw *w, const struct upstream *u)
{
	for (size_t i = 0; i < upstream_tool_count(u); i++) {
		const struct upstream_tool *t = upstream_tool_at(u, i);
		if (!t->changed)
			continue;
		jw_object(w);
		jw_member(w, "server", upstream_name(u));
		jw_member(w, "tool", t->name);
		jw_member_z(w, "pin", t->pin);
		jw_key(w, "accepted"), jw_value(w, t->definition);
		jw_key(w, "now"), jw_value(w, t->changed);
		digest_write(w, t->changed);
		diff_write(w, t);
		jw_end(w);
	}
}

void
route_pins_list(const struct visit *v)
{
	const struct upstreams *us = v->front->gw->upstreams;
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_key(&w, "pins");
	jw_array(&w);
	for (size_t i = 0; us && i < upstreams_count(us); i++)
		pins_write(&w, upstream_at(us, i));
	jw_end(&w);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

/* What the caller was shown must be what is accepted: {"now": now_digest} says what that was. */
static int
check_shown(const struct visit *v, struct upstream *u, struct str tool, struct err *e)
{
	const struct upstream_tool *t = upstream_tool(u, tool);
	struct json_doc *doc = NULL;
	char now[DIGEST_TEXT];

	if (v->http->body.len == 0 || !t || !t->changed)
		return 0;
	int code = body_parse(v->http, &doc, e);
	struct str shown = json_str(json_get(json_root(doc), S("now")));
	if (code == 0 && shown.ptr && (code = digest_value(t->changed, CANON_JCS, now, e)) == 0 &&
	    !str_is(shown, now))
		code = err_set(e, E_EXISTS, "%.*s has changed again: look at it once more",
			       STR_ARG(str_utf8_upto(tool, 100)));
	json_doc_unref(doc);
	return code;
}

static void
accept_tools(const struct visit *v, struct upstream *u, struct str tool)
{
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);
	struct err e;

	if ((tool.ptr && check_shown(v, u, tool, &e) < 0) || upstream_accept(u, tool, &e) < 0) {
		reply_err(v->http, &e);
		return;
	}
	jw_object(&w);
	jw_member(&w, "server", upstream_name(u));
	jw_member(&w, "tool", tool);
	jw_member_bool(&w, "accepted", true);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

void
route_pins_accept(const struct visit *v)
{
	struct upstream *u = server_named(v, "server");

	if (u)
		accept_tools(v, u, (struct str){NULL, 0});
}

void
route_pin_accept(const struct visit *v)
{
	struct upstream *u = server_named(v, "server");
	struct buf name = BUF_INIT(LIMIT_HTTP_FIELD);

	if (u) {
		struct str tool = visit_param(v, "tool");
		accept_tools(v, u, upstream_tool(u, tool) ? tool : name_read(tool, &name));
	}
	buf_done(&name);
}

/* The configuration */

void
route_reload(const struct visit *v)
{
	const struct front *f = v->front;
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_member_bool(&w, "reloading", f->spec.reload != NULL);
	jw_end(&w);
	reply_json(v->http, 202, &b);
	if (f->spec.reload)
		f->spec.reload(f->spec.arg);
}
