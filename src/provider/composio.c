/* composio.c - an action of Composio is a request made over HTTP, and its answer read once more. */

#include "provider/composio.h"

#include "base/limits.h"
#include "catalog/refusal.h"
#include "net/url.h"

struct composio_config {
	struct str composio_action, entity_id, connected_account_id, version;
	const struct json *idempotency_key_fields, *timeout;
};

static const struct json_field fields[] = {
    FIELD(struct composio_config, composio_action, WANT_STR),
    FIELD(struct composio_config, entity_id, WANT_STR),
    FIELD(struct composio_config, connected_account_id, WANT_STR),
    FIELD(struct composio_config, version, WANT_STR),
    FIELD(struct composio_config, idempotency_key_fields, WANT_ARRAY),
    FIELD(struct composio_config, timeout, WANT_ANY),
};

/* ---- the answer: {"data": ..., "successful": true, "error": null, "log_id": "..."} ---- */

static struct str
error_text(const struct json *body)
{
	struct str said = json_str(json_pointer(body, S("/error/message")));

	return said.ptr ? said : json_str(json_get(body, S("error")));
}

/* The action was not carried out, or what it calls has refused: Composio does not tell which. */
static void
take_failure(struct job *j, const struct json *body)
{
	struct buf said = BUF_INIT(8 * REFUSAL_CHARS);
	struct str why = error_text(body);
	struct str log = json_str(json_get(body, S("log_id")));

	refusal_text(&said, why.ptr ? why : S("no reason is given"));
	err_set(&j->out.err, E_EXECUTION, "Composio: %.*s", STR_ARG(buf_str(&said)));
	if (log.ptr)
		err_inside(&j->out.err, "log_id %.*s", STR_ARG(str_utf8_upto(log, 64)));
	buf_done(&said);
}

static void
take_data(struct job *j, const struct json *data)
{
	struct output *o = &j->out;
	struct buf text = BUF_INIT(LIMIT_RESULT_BYTES);
	struct jw w = jw(&text), extra = jw(&o->extra);
	bool object = json_is(data, JSON_OBJECT);

	jw_value(&w, data);
	output_text(o, buf_str(&text));
	buf_addz(&o->extra,
		 object ? "\"structuredContent\":" : "\"structuredContent\":{\"result\":");
	jw_value(&extra, data);
	if (!object)
		buf_addc(&o->extra, '}');
	if (buf_failed(&o->extra))
		buf_reset(&o->extra);
	buf_done(&text);
}

static void
read_answer(struct job *j, const struct http_answer *a)
{
	struct json_doc *doc = NULL;

	if (a->status / 100 != 2) {
		http_read(j, a);
		return;
	}
	if (!http_judge(j, a))
		return;
	if (a->cut || json_parse(a->body, &json_door, &doc, NULL) < 0) {
		err_set(&j->out.err, E_EXECUTION,
			"Composio answered with something else than JSON%s",
			j->reversibility > REV_IDEMPOTENT ? " (it may have been done)" : "");
		j->out.unknown = true;
		return;
	}
	const struct json *root = json_root(doc), *good = json_get(root, S("successful"));
	if (json_is(good, JSON_BOOL) && json_bool(good))
		take_data(j, json_get(root, S("data")));
	else
		take_failure(j, root);
	json_doc_unref(doc);
}

/* ---- fitting ---- */

static void
add_action(struct buf *out, const struct composio_config *c, struct str name)
{
	if (c->composio_action.ptr) {
		buf_add(out, c->composio_action);
		return;
	}
	for (size_t i = 0; i < name.len; i++) {
		char n = name.ptr[i];
		buf_addc(out, n >= 'a' && n <= 'z' ? (char)(n & ~0x20) : n == '-' ? '_' : n);
	}
}

static bool
is_slug(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '-')
			return false;
	}
	return s.len > 0 && s.len <= 200;
}

/* Literal: a brace in it is no argument. */
static void
member_literal(struct jw *w, const char *key, struct str value)
{
	struct buf text = BUF_INIT(8 * KIB);

	for (size_t i = 0; i < value.len; i++) {
		buf_addc(&text, value.ptr[i]);
		if (value.ptr[i] == '{' || value.ptr[i] == '}')
			buf_addc(&text, value.ptr[i]);
	}
	jw_member(w, key, buf_str(&text));
	if (buf_failed(&text)) /* the part that fits is somebody else */
		w->out->failed = true;
	buf_done(&text);
}

/* The plan of an ordinary request. The arguments are a member of its body, which http_fill.c has a
 * name for that no argument can have. */
static void
write_plan(struct buf *out, const struct composio_config *c, struct str slug, const char *base)
{
	struct jw w = jw(out);
	struct buf url = BUF_INIT(LIMIT_HTTP_TOOL_URL);

	buf_addf(&url, "%s/tools/execute/%.*s", base, STR_ARG(slug));
	jw_object(&w);
	jw_member_z(&w, "method", "POST");
	jw_member(&w, "url", buf_str(&url));
	if (c->timeout)
		jw_key(&w, "timeout"), jw_value(&w, c->timeout);
	jw_key(&w, "headers");
	jw_object(&w);
	jw_member_z(&w, "x-api-key", "${key}");
	jw_end(&w);
	jw_key(&w, "body");
	jw_object(&w);
	member_literal(&w, "user_id", c->entity_id.ptr ? c->entity_id : S("default"));
	if (c->connected_account_id.ptr)
		member_literal(&w, "connected_account_id", c->connected_account_id);
	if (c->version.ptr)
		member_literal(&w, "version", c->version);
	jw_member_z(&w, "arguments", HTTP_ALL_ARGUMENTS);
	jw_end(&w);
	jw_end(&w);
	buf_done(&url);
}

static bool
fill_key(void *arg, struct str reference, struct buf *out, struct buf *problem)
{
	const struct kinds_settings *s = arg;

	(void)reference;
	if (!s->composio_key.len) {
		buf_addf(problem, "the variable %s is not set",
			 s->composio_env ? s->composio_env : "COMPOSIO_API_KEY");
		return false;
	}
	buf_add(out, s->composio_key);
	return true;
}

/* Where the configuration itself sends it, it may go. */
static int
guard_for(const char *base, struct guard **ret, struct err *e)
{
	struct buf host = BUF_INIT(LIMIT_DIAL_HOST + 16);
	struct url url;
	int code = url_split(str_of(base), &url, e);

	if (code < 0 || (code = guard_new(ret, e)) < 0)
		return code;
	bool v6 = str_index(url.host, ':') >= 0;
	buf_addf(&host, "%s%.*s%s:%u", v6 ? "[" : "", STR_ARG(url.host), v6 ? "]" : "", url.port);
	code = guard_allow(*ret, buf_str(&host), e);
	if (code < 0)
		guard_unref(*ret);
	buf_done(&host);
	return code;
}

static int
fit_plan(struct http_provider *p, struct tool *t, struct str plan, const char *base,
	 const struct kinds_settings *settings, struct err *e)
{
	const struct variables vars = {fill_key, (void *)settings};
	struct http_settings http = settings->http;
	struct json_doc *doc = NULL;
	int code = guard_for(base, &http.guard, e);

	if (code < 0)
		return code;
	code = json_parse(plan, &json_door, &doc, e);
	if (code == 0)
		code = http_fit(p, t, doc, json_root(doc), &http, &vars, e);
	if (code == 0)
		http_read_by(t, read_answer);
	json_doc_unref(doc);
	guard_unref(http.guard);
	return code;
}

int
composio_fit(struct http_provider *p, struct tool *t, const struct definition *d,
	     const struct kinds_settings *settings, struct err *e)
{
	const char *base = settings->composio_url ? settings->composio_url : COMPOSIO_URL;
	struct buf slug = BUF_INIT(KIB), plan = BUF_INIT(64 * KIB);
	struct composio_config c = {.entity_id = {NULL, 0}};
	int code = d->gateway_config ? json_fields(d->gateway_config, fields, ARRAY_LEN(fields),
						   "gateway_config", &c, e)
				     : 0;

	if (code < 0) {
		if (e)
			e->code = E_VALIDATION;
		return E_VALIDATION;
	}
	add_action(&slug, &c, d->name);
	if (!is_slug(buf_str(&slug)))
		code = err_set(e, E_VALIDATION,
			       "gateway_config.composio_action: must be of A-Z a-z 0-9 _ -");
	if (code == 0) {
		write_plan(&plan, &c, buf_str(&slug), base);
		code = buf_failed(&plan) ? err_plain(e, E_TOO_LARGE)
					 : fit_plan(p, t, buf_str(&plan), base, settings, e);
	}
	buf_done(&slug);
	buf_done(&plan);
	return code;
}
