/* http_fill.c - a request made after a plan: every argument in its place, and nowhere else. */

#include <stdlib.h>

#include "provider/http_inside.h"

/* One being made. */
struct filling {
	const struct http_plan *plan;
	const struct json *args;
	struct http_request *request;
	struct err *err;
	bool questioned; /* the address has a '?' already */
};

void
http__request_init(struct http_request *r)
{
	*r = (struct http_request){
	    .url = BUF_INIT(LIMIT_HTTP_TOOL_URL),
	    .lines = BUF_INIT(LIMIT_HTTP_TOOL_HEADERS),
	    .body = BUF_INIT(LIMIT_JSON_BYTES * 6),
	};
}

void
http__request_done(struct http_request *r)
{
	buf_done(&r->url);
	buf_done(&r->lines);
	buf_done(&r->body);
}

/* Its value; NULL also where it is null: that is as good as not given. */
static const struct json *
argument(const struct filling *f, struct str name)
{
	const struct json *v = json_get(f->args, name);

	return json_is(v, JSON_NULL) ? NULL : v;
}

static void
add_scalar(struct buf *out, const struct json *v)
{
	struct jw w = jw(out);

	if (json_is(v, JSON_STRING))
		buf_add(out, json_str(v));
	else
		jw_value(&w, v);
}

/* A list with commas between; what is deeper as JSON. */
static void
add_value(struct buf *out, const struct json *v, const char *between)
{
	const char *before = "";

	if (!json_is(v, JSON_ARRAY)) {
		add_scalar(out, v);
		return;
	}
	for (struct json_iter it = json_iter(v); json_next(&it); before = between) {
		buf_addz(out, before);
		add_scalar(out, it.value);
	}
}

static int
refuse(const struct filling *f, struct str name, const char *why)
{
	return err_set(f->err, E_VALIDATION, "/%.*s: %s", STR_ARG(str_utf8_upto(name, 64)), why);
}

/* ---- the address ---- */

static bool
is_dots(struct str s)
{
	return str_is(s, ".") || str_is(s, "..");
}

/* In a path: one segment that is there, or with {+x} several, none of which leads up. */
static int
check_segments(const struct filling *f, const struct http_part *part, struct str value)
{
	struct str rest = value, segment;

	if (value.len == 0)
		return refuse(f, part->argument, "must not be empty here");
	if (!part->slashes)
		return 0;
	while (str_split(&rest, '/', &segment))
		if (segment.len == 0 || is_dots(segment))
			return refuse(f, part->argument,
				      "must be a path without empty parts, . and ..");
	return value.ptr[value.len - 1] == '/' ? refuse(f, part->argument, "must not end with /")
					       : 0;
}

static int
add_url_part(struct filling *f, const struct http_part *part)
{
	struct buf value = BUF_INIT(LIMIT_HTTP_TOOL_URL);
	const struct json *v = argument(f, part->argument);
	int code = 0;

	if (!v)
		return refuse(f, part->argument, "is needed");
	add_value(&value, v, ",");
	if (buf_failed(&value))
		code = refuse(f, part->argument, "is too long");
	else if (str_index(buf_str(&value), '\0') >= 0)
		code = refuse(f, part->argument, "has a NUL character in it");
	else if (!f->questioned)
		code = check_segments(f, part, buf_str(&value));
	if (code == 0)
		url_encode(&f->request->url, buf_str(&value),
			   part->slashes && !f->questioned ? "/" : "");
	buf_done(&value);
	return code;
}

/* What an argument and the text around it are together must not lead up either. */
static int
check_path(const struct filling *f)
{
	struct url url;
	struct str segment;
	int code = url_split(buf_str(&f->request->url), &url, f->err);

	if (code < 0)
		return code;
	while (str_split(&url.path, '/', &segment))
		if (is_dots(segment))
			return err_set(f->err, E_VALIDATION,
				       "the arguments would lead to another path");
	return 0;
}

static int
fill_address(struct filling *f)
{
	const struct http_template *t = &f->plan->url;
	int code = 0;

	for (size_t i = 0; code == 0 && i < t->count; i++) {
		if (t->parts[i].argument.ptr) {
			code = add_url_part(f, &t->parts[i]);
			continue;
		}
		buf_add(&f->request->url, t->parts[i].text);
		f->questioned = f->questioned || str_index(t->parts[i].text, '?') >= 0;
	}
	return code < 0 ? code : check_path(f);
}

/* ---- templates ---- */

/* False: an argument of it is not given. */
static bool
add_template(const struct filling *f, const struct http_template *t, struct buf *out)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct http_part *part = &t->parts[i];
		const struct json *v = part->argument.ptr ? argument(f, part->argument) : NULL;
		if (part->argument.ptr && !v)
			return false;
		if (v)
			add_value(out, v, ",");
		else
			buf_add(out, part->text);
	}
	return true;
}

/* ---- name=value, of queries and forms ---- */

struct pairs {
	struct buf *out;
	const char *before; /* the next */
};

static void
pair_begin(struct pairs *p, struct str name)
{
	buf_addz(p->out, p->before);
	p->before = "&";
	url_encode(p->out, name, "[]");
	buf_addc(p->out, '=');
}

static void
pair_add(struct pairs *p, struct str name, const struct json *v, const char *between)
{
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES * 6);
	struct json_iter it = json_iter(json_is(v, JSON_ARRAY) ? v : NULL);
	const char *before = "";

	pair_begin(p, name);
	if (!json_is(v, JSON_ARRAY)) {
		add_scalar(&text, v);
		url_encode(p->out, buf_str(&text), "");
	}
	/* What stands between is no part of a value, and not encoded like one. */
	for (; json_next(&it); before = between) {
		buf_reset(&text);
		add_scalar(&text, it.value);
		buf_addz(p->out, before);
		url_encode(p->out, buf_str(&text), "");
		p->out->failed = p->out->failed || buf_failed(&text);
	}
	if (buf_failed(&text))
		p->out->failed = true;
	buf_done(&text);
}

static void
pair_add_deep(struct pairs *p, struct str name, const struct json *v)
{
	struct buf key = BUF_INIT(4 * KIB);

	for (struct json_iter it = json_iter(v); json_next(&it);) {
		buf_reset(&key);
		buf_add(&key, name);
		buf_addc(&key, '[');
		buf_add(&key, it.key);
		buf_addc(&key, ']');
		pair_add(p, buf_str(&key), it.value, ",");
		p->out->failed = p->out->failed || buf_failed(&key);
	}
	buf_done(&key);
}

static const char *const betweens[] = {
    [STYLE_FORM] = ",", [STYLE_SPACE] = "%20", [STYLE_PIPE] = "%7C", [STYLE_DEEP] = ","};

static void
pair_add_styled(struct pairs *p, const struct http_field *f, const struct json *v)
{
	if (f->style == STYLE_DEEP && json_is(v, JSON_OBJECT)) {
		pair_add_deep(p, f->name, v);
	} else if (f->explode && json_is(v, JSON_ARRAY)) {
		for (struct json_iter it = json_iter(v); json_next(&it);)
			pair_add(p, f->name, it.value, ",");
	} else {
		pair_add(p, f->name, v, betweens[f->style]);
	}
}

static bool
is_used(const struct http_plan *p, struct str name)
{
	for (size_t i = 0; i < p->used_count; i++)
		if (str_eq(p->used[i], name))
			return true;
	return false;
}

static bool
rest_is_query(const struct http_plan *p)
{
	return !p->carries && !p->body && !p->bodyless;
}

/* Has the definition a value of its own for it? There are servers to whom A is a, too. */
static bool
is_fixed(const struct filling *f, struct str query, struct str name)
{
	struct buf encoded = BUF_INIT(LIMIT_HTTP_TOOL_URL);
	struct str pair;
	bool found = false;

	for (size_t i = 0; i < f->plan->query.count; i++)
		found = found || str_eq_nocase(f->plan->query.at[i].name, name);
	url_encode(&encoded, name, "[]");
	while (!found && str_split(&query, '&', &pair)) {
		ptrdiff_t end = str_index(pair, '=');
		struct str given = end < 0 ? pair : str_upto(pair, (size_t)end);
		found = str_eq_nocase(given, buf_str(&encoded)) || str_eq_nocase(given, name);
	}
	buf_done(&encoded);
	return found;
}

/* role[] is role to many who read it. */
static struct str
stem_of(struct str name)
{
	ptrdiff_t end = str_index(name, '[');

	return end < 0 ? name : str_upto(name, (size_t)end);
}

/* Whoever calls must not say again, and otherwise, what the definition says. */
static int
check_rest(const struct filling *f)
{
	struct url url;
	int code = rest_is_query(f->plan) ? url_split(buf_str(&f->request->url), &url, f->err) : 0;

	if (code < 0 || !rest_is_query(f->plan))
		return code;
	for (struct json_iter it = json_iter(f->args); json_next(&it);)
		if (!is_used(f->plan, it.key) && !json_is(it.value, JSON_NULL) &&
		    (is_fixed(f, url.query, it.key) || is_fixed(f, url.query, stem_of(it.key))))
			return refuse(f, it.key, "is in the query already, by the definition");
	return 0;
}

/* Arguments that stand nowhere else, under their own names. */
static void
pairs_add_rest(const struct filling *f, struct pairs *p)
{
	for (struct json_iter it = json_iter(f->args); json_next(&it);) {
		struct http_field plain = {.name = it.key, .explode = true};
		if (!is_used(f->plan, it.key) && !json_is(it.value, JSON_NULL))
			pair_add_styled(p, &plain, it.value);
	}
}

static void
fill_query(struct filling *f)
{
	const struct http_fields *q = &f->plan->query;
	struct pairs pairs = {&f->request->url, f->questioned ? "&" : "?"};
	struct buf text = BUF_INIT(LIMIT_HTTP_TOOL_URL);

	for (size_t i = 0; i < q->count; i++) {
		const struct http_field *field = &q->at[i];
		if (field->whole) {
			const struct json *v = argument(f, field->value.parts[0].argument);
			if (v)
				pair_add_styled(&pairs, field, v);
			continue;
		}
		buf_reset(&text);
		if (!add_template(f, &field->value, &text))
			continue;
		pair_begin(&pairs, field->name);
		url_encode(&f->request->url, buf_str(&text), "");
		if (buf_failed(&text)) /* what fitted means something else */
			f->request->url.failed = true;
	}
	buf_done(&text);
	if (rest_is_query(f->plan))
		pairs_add_rest(f, &pairs);
}

/* ---- headers ---- */

static void
line_add(struct http_request *r, struct str name, struct str value)
{
	buf_add(&r->lines, name);
	buf_add(&r->lines, S(": "));
	buf_add(&r->lines, value);
	buf_addc(&r->lines, '\0');
	r->line_count++;
}

static bool
has_control(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return true;
	}
	return false;
}

static bool
is_named(const struct http_plan *p, const char *header)
{
	for (size_t i = 0; i < p->headers.count; i++)
		if (str_eq_nocase(p->headers.at[i].name, str_of(header)))
			return true;
	return false;
}

static int
fill_headers(struct filling *f)
{
	const struct http_plan *p = f->plan;
	struct buf text = BUF_INIT(LIMIT_HTTP_FIELD);
	int code = 0;

	for (size_t i = 0; code == 0 && i < p->headers.count; i++) {
		buf_reset(&text);
		if (!add_template(f, &p->headers.at[i].value, &text))
			continue;
		if (buf_failed(&text))
			code = refuse(f, p->headers.at[i].name, "is too long for a header");
		else if (has_control(buf_str(&text)))
			code = refuse(f, p->headers.at[i].name,
				      "has a control character in it, and goes into a header");
		else
			line_add(f->request, p->headers.at[i].name, buf_str(&text));
	}
	buf_done(&text);
	return code;
}

/* Arguments are encoded: a semicolon or a comma of theirs would be another cookie. */
static void
fill_cookies(struct filling *f)
{
	const struct http_fields *c = &f->plan->cookies;
	struct buf line = BUF_INIT(LIMIT_HTTP_FIELD), text = BUF_INIT(LIMIT_HTTP_FIELD);

	for (size_t i = 0; i < c->count; i++) {
		bool fixed = c->at[i].value.count == 1 && !c->at[i].whole;
		buf_reset(&text);
		if (!add_template(f, &c->at[i].value, &text))
			continue;
		buf_addf(&line, "%s%.*s=", line.len ? "; " : "", STR_ARG(c->at[i].name));
		if (fixed)
			buf_add(&line, buf_str(&text));
		else
			url_encode(&line, buf_str(&text), "");
		if (buf_failed(&text))
			line.failed = true;
	}
	if (line.len)
		line_add(f->request, S("Cookie"), buf_str(&line));
	if (buf_failed(&line))
		f->request->lines.failed = true;
	buf_done(&line);
	buf_done(&text);
}

static void
fill_manners(struct filling *f, struct str key)
{
	const struct http_plan *p = f->plan;

	if (!is_named(p, "Accept"))
		line_add(f->request, S("Accept"), S("application/json, text/*;q=0.9, */*;q=0.5"));
	if (!is_named(p, "User-Agent"))
		line_add(f->request, S("User-Agent"), S("holdfast/" HOLDFAST_VERSION));
	if (f->request->has_body && !is_named(p, "Content-Type"))
		line_add(f->request, S("Content-Type"),
			 p->form ? S("application/x-www-form-urlencoded") : S("application/json"));
	if (key.len && p->key_header && !is_named(p, p->key_header)) {
		char digest[DIGEST_TEXT];
		/* Arguments are in it; as a header it has to be plain and not too long. */
		bool plain = key.len <= 200;
		for (size_t i = 0; plain && i < key.len; i++)
			plain = key.ptr[i] > ' ' && key.ptr[i] < 0x7f;
		digest_bytes(key, digest);
		line_add(f->request, str_of(p->key_header), plain ? key : str_of(digest));
	}
}

/* ---- the body ---- */

/* "{name}" and nothing else: the argument as it is. */
static bool
whole_argument(struct str text, struct str *ret)
{
	if (text.len < 3 || text.ptr[0] != '{' || text.ptr[1] == '{' ||
	    text.ptr[text.len - 1] != '}')
		return false;
	*ret = (struct str){text.ptr + 1, text.len - 2};
	if (ret->ptr[0] == '+')
		*ret = str_from(*ret, 1);
	return str_index(*ret, '{') < 0 && str_index(*ret, '}') < 0;
}

/* With the arguments in it; those that are not given leave nothing. The plan has seen to it that
 * the braces fit. */
static void
add_text(const struct filling *f, struct str text, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c != '{' && c != '}') {
			buf_addc(out, c);
			continue;
		}
		if (i + 1 < text.len && text.ptr[i + 1] == c) {
			buf_addc(out, c);
			i++;
			continue;
		}
		ptrdiff_t end = str_index(str_from(text, i), '}');
		CHECK(c == '{' && end > 0);
		struct str name = {text.ptr + i + 1, (size_t)end - 1};
		const struct json *v = argument(f, name.ptr[0] == '+' ? str_from(name, 1) : name);
		if (v)
			add_value(out, v, ",");
		i += (size_t)end;
	}
}

/* Is there anything to write for it? */
static bool
is_there(const struct filling *f, const struct json *v)
{
	struct str name;

	return !json_is(v, JSON_STRING) || !whole_argument(json_str(v), &name) ||
	       str_is(name, "*") || json_get(f->args, name);
}

static void
write_rest(const struct filling *f, struct jw *w)
{
	jw_object(w);
	for (struct json_iter it = json_iter(f->args); json_next(&it);) {
		if (is_used(f->plan, it.key))
			continue;
		jw_key_str(w, it.key);
		jw_value(w, it.value);
	}
	jw_end(w);
}

static void
write_mapped(const struct filling *f, struct jw *w, const struct json *v)
{
	struct str name;

	if (json_is(v, JSON_STRING) && whole_argument(json_str(v), &name)) {
		if (str_is(name, "*"))
			write_rest(f, w);
		else
			jw_value(w, json_get(f->args, name));
	} else if (json_is(v, JSON_STRING)) {
		struct buf text = BUF_INIT(LIMIT_JSON_BYTES);
		add_text(f, json_str(v), &text);
		jw_str(w, buf_str(&text));
		if (buf_failed(&text))
			w->out->failed = true;
		buf_done(&text);
	} else if (json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY)) {
		bool object = json_is(v, JSON_OBJECT);
		object ? jw_object(w) : jw_array(w);
		for (struct json_iter it = json_iter(v); json_next(&it);) {
			if (!is_there(f, it.value))
				continue;
			if (object)
				jw_key_str(w, it.key);
			write_mapped(f, w, it.value);
		}
		jw_end(w);
	} else {
		jw_value(w, v);
	}
}

/* A mapped body is JSON first, whatever it becomes. */
static int
fill_form(struct filling *f)
{
	struct pairs pairs = {&f->request->body, ""};
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES);
	struct json_doc *doc = NULL;
	struct jw w = jw(&text);
	int code = 0;

	if (!f->plan->body) {
		pairs_add_rest(f, &pairs);
		return 0;
	}
	write_mapped(f, &w, f->plan->body);
	code = buf_failed(&text) ? err_plain(f->err, E_TOO_LARGE)
				 : json_parse(buf_str(&text), &json_door, &doc, f->err);
	for (struct json_iter it = json_iter(code == 0 ? json_root(doc) : NULL); json_next(&it);) {
		struct http_field plain = {.name = it.key, .explode = true};
		if (!json_is(it.value, JSON_NULL))
			pair_add_styled(&pairs, &plain, it.value);
	}
	json_doc_unref(doc);
	buf_done(&text);
	return code;
}

static int
fill_body(struct filling *f)
{
	const struct http_plan *p = f->plan;
	struct jw w = jw(&f->request->body);

	f->request->has_body = !p->bodyless && (p->body ? is_there(f, p->body) : p->carries);
	if (!f->request->has_body)
		return 0;
	if (p->form)
		return fill_form(f);
	if (p->body)
		write_mapped(f, &w, p->body);
	else
		write_rest(f, &w);
	return 0;
}

int
http__request_fill(const struct http_plan *p, const struct json *args, struct str key,
		   struct http_request *r, struct err *e)
{
	struct filling f = {.plan = p, .args = args, .request = r, .err = e};
	int code;

	if ((code = fill_address(&f)) < 0 || (code = check_rest(&f)) < 0 ||
	    (code = fill_body(&f)) < 0 || (code = fill_headers(&f)) < 0)
		return code;
	fill_query(&f);
	fill_cookies(&f);
	fill_manners(&f, key);
	if (r->line_count > LIMIT_HTTP_HEADERS - 4)
		return err_set(e, E_TOO_LARGE, "the request has too many headers");
	if (buf_failed(&r->url) || buf_failed(&r->lines) || buf_failed(&r->body) || !buf_z(&r->url))
		return err_set(e, E_TOO_LARGE, "the arguments are too long for a request");
	return 0;
}

void
http__request_lines(const struct http_request *r, const char **to)
{
	const char *at = r->lines.ptr;

	for (size_t i = 0; i < r->line_count; i++, at += strlen(at) + 1)
		*to++ = at;
	*to = NULL;
}

/* ---- secrets ---- */

static void
redact_one(struct buf *text, struct str secret)
{
	static const struct str instead = S("[redacted]");
	struct buf out = BUF_INIT(text->max);
	struct str rest = buf_str(text);
	const char *at = memmem(rest.ptr, rest.len, secret.ptr, secret.len);

	if (!at)
		return;
	for (; at; at = memmem(rest.ptr, rest.len, secret.ptr, secret.len)) {
		size_t before = (size_t)(at - rest.ptr);
		buf_add(&out, str_upto(rest, before));
		buf_add(&out, instead);
		rest = str_from(rest, before + secret.len);
	}
	buf_add(&out, rest);
	/* Rather nothing than a secret. */
	buf_reset(text);
	buf_add(text, buf_failed(&out) ? instead : buf_str(&out));
	buf_done(&out);
}

void
http__redact(const struct http_plan *p, struct buf *text)
{
	for (size_t i = 0; i < p->secret_count; i++)
		redact_one(text, p->secrets[i]);
}
