/* envelope.c - reading a tool.call. */

#include "kernel/envelope.h"

#include <stdlib.h>

#include "json/yaml.h"

static const char *const meta_names[] = {"request_id", "trace", "origin"};

static bool
is_meta(struct str key)
{
	for (size_t i = 0; i < ARRAY_LEN(meta_names); i++)
		if (str_is(key, meta_names[i]))
			return true;
	return false;
}

/* A namespace, a point, a name: what the schema's pattern says. */
static bool
split_id(struct str id, struct str *ret_ns)
{
	bool first = true;
	size_t dot = 0;

	for (size_t i = 0; i < id.len; i++) {
		char c = id.ptr[i];
		bool letter = c >= 'a' && c <= 'z';
		if (c == '.' && !first && !dot) {
			dot = i;
			first = true;
			continue;
		}
		if (!letter && (first || !(c == '_' || (c >= '0' && c <= '9'))))
			return false;
		first = false;
	}
	*ret_ns = str_upto(id, dot);
	return dot && !first;
}

/* ---- text to value ---- */

static int
parse(struct str text, struct json_doc **ret, struct err *e)
{
	static const struct json_limits limits = {LIMIT_KERNEL_ENVELOPE, LIMIT_JSON_DOOR_DEPTH};
	struct str start = str_trim(text);
	struct yaml y = {0};
	struct err json;
	int code;

	if (text.len > LIMIT_KERNEL_ENVELOPE)
		return err_set(e, E_VALIDATION, "caps: %zu bytes, at most %zu are taken", text.len,
			       LIMIT_KERNEL_ENVELOPE);
	if (str_starts(start, S("{")) && json_parse(text, &limits, ret, &json) == 0)
		return 0;
	if ((code = yaml_parse(text, LIMIT_KERNEL_ENVELOPE, &y, e)) == 0)
		*ret = json_doc_ref(y.doc);
	yaml_done(&y);
	if (code == 0 || code == E_NOMEM)
		return code;
	/* What looks like JSON was meant to be. */
	struct err yaml = *e;
	return err_set(e, E_VALIDATION, "%s",
		       str_starts(start, S("{")) ? err_text(&json) : err_text(&yaml));
}

/* ---- meta ---- */

static bool
has_strange_meta(const struct json *call)
{
	const struct json *meta = json_get(call, S("meta"));

	for (struct json_iter it = json_iter(meta); json_next(&it);)
		if (json_is(meta, JSON_OBJECT) && !is_meta(it.key))
			return true;
	return false;
}

static void
write_meta(struct jw *w, const struct json *meta)
{
	jw_object(w);
	for (struct json_iter it = json_iter(meta); json_next(&it);)
		if (is_meta(it.key))
			jw_key_str(w, it.key), jw_value(w, it.value);
	jw_end(w);
}

static void
write_call(struct jw *w, const struct json *call)
{
	jw_object(w);
	for (struct json_iter it = json_iter(call); json_next(&it);) {
		jw_key_str(w, it.key);
		if (str_is(it.key, "meta"))
			write_meta(w, it.value);
		else
			jw_value(w, it.value);
	}
	jw_end(w);
}

/* The same envelope without what is strange in its meta. */
static int
strip_meta(struct json_doc **doc, struct err *e)
{
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES);
	struct jw w = jw(&text);
	struct json_doc *stripped = NULL;

	jw_object(&w);
	for (struct json_iter it = json_iter(json_root(*doc)); json_next(&it);) {
		jw_key_str(&w, it.key);
		if (str_is(it.key, "tool.call"))
			write_call(&w, it.value);
		else
			jw_value(&w, it.value);
	}
	jw_end(&w);
	int code = buf_failed(&text) ? err_plain(e, E_NOMEM)
				     : json_parse(buf_str(&text), &json_door, &stripped, e);
	buf_done(&text);
	if (code < 0)
		return code;
	json_doc_unref(*doc);
	*doc = stripped;
	return 0;
}

/* ---- all of it ---- */

static int
misfit(const struct kernel_index *x, const struct json *root, struct err *e)
{
	struct buf lines = BUF_INIT(LIMIT_SCHEMA_TEXT);
	struct str first = S("does not fit"), rest;

	(void)schema_validate(x->envelope, root, SCHEMA_LINES, &lines);
	rest = buf_str(&lines);
	(void)str_split(&rest, '\n', &first);
	int code = err_set(e, E_VALIDATION, "envelope: %.*s", STR_ARG(str_utf8_upto(first, 400)));
	buf_done(&lines);
	return code;
}

int
envelope_read(const struct kernel_index *x, struct str text, struct envelope *ret, struct err *e)
{
	int code;

	*ret = (struct envelope){.id = S("")};
	if ((code = parse(text, &ret->doc, e)) < 0)
		return code;
	const struct json *call = json_get(json_root(ret->doc), S("tool.call"));
	if (has_strange_meta(call)) {
		if ((code = strip_meta(&ret->doc, e)) < 0)
			return code;
		call = json_get(json_root(ret->doc), S("tool.call"));
	}
	const struct json *meta = json_get(call, S("meta"));
	struct str id = json_str(json_get(call, S("id")));
	if (split_id(id, &ret->ns))
		ret->id = id;
	if (!schema_fits(x->envelope, json_root(ret->doc)))
		return misfit(x, json_root(ret->doc), e);
	CHECK(ret->id.len);
	ret->payload = json_get(call, S("payload"));
	ret->request_id = json_str(json_get(meta, S("request_id")));
	ret->trace = json_bool(json_get(meta, S("trace")));
	return 0;
}

void
envelope_done(struct envelope *v)
{
	json_doc_unref(v->doc);
	*v = (struct envelope){0};
}

int
envelope_digest(const struct envelope *v, struct buf *scratch,
		unsigned char out[static SHA256_BYTES], struct err *e)
{
	struct sha256 s;

	buf_reset(scratch);
	buf_addf(scratch, "{\"id\":\"%.*s\",\"payload\":", STR_ARG(v->id));
	canon_write(scratch, v->payload, CANON_JCS);
	buf_addc(scratch, '}');
	if (buf_failed(scratch))
		return err_plain(e, E_NOMEM);
	sha256_begin(&s);
	sha256_add(&s, buf_str(scratch));
	sha256_end(&s, out);
	return 0;
}
