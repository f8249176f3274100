/* http_plan.c - gateway_config of a tool over HTTP, read strictly and once. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "provider/http_inside.h"

#define SECRET_LEAST 6 /* characters: a shorter value would be found everywhere */
#define PLAN_ARENA (4 * MIB)

/* One being read. */
struct reading {
	struct http_plan *plan;
	const struct json *properties; /* of the schema; NULL: it tells none */
	bool closed;                   /* and there are no others */
	const struct variables *vars;
	const struct http_settings *settings;
	struct err *err;
};

/* As it is written. */
struct written {
	struct str method, url, body_type;
	const struct json *query, *headers, *cookies, *body, *timeout, *max_bytes, *status, *allow;
	const struct json *idempotency_key_fields, *idempotency_header;
	bool follow_redirects, allow_private;
};

static const struct json_field fields[] = {
    FIELD_REQUIRED(struct written, url, WANT_STR),
    FIELD(struct written, method, WANT_STR),
    FIELD(struct written, query, WANT_OBJECT),
    FIELD(struct written, headers, WANT_OBJECT),
    FIELD(struct written, cookies, WANT_OBJECT),
    FIELD(struct written, body, WANT_ANY),
    FIELD(struct written, body_type, WANT_STR),
    FIELD(struct written, timeout, WANT_ANY),
    FIELD(struct written, max_bytes, WANT_ANY),
    FIELD(struct written, status, WANT_OBJECT),
    FIELD(struct written, follow_redirects, WANT_BOOL),
    FIELD(struct written, allow_private, WANT_BOOL),
    FIELD(struct written, allow, WANT_ARRAY),
    FIELD(struct written, idempotency_key_fields, WANT_ARRAY),
    FIELD(struct written, idempotency_header, WANT_ANY),
};

static int PRINTF_LIKE(3, 4) refuse(struct reading *r, const char *field, const char *fmt, ...)
{
	char why[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return err_set(r->err, E_VALIDATION, "gateway_config.%s: %s", field, why);
}

static int
nomem(struct reading *r)
{
	return err_plain(r->err, E_NOMEM);
}

/* ---- variables ---- */

static bool
is_secret(const struct http_plan *p, struct str value)
{
	for (size_t i = 0; i < p->secret_count; i++)
		if (str_eq(p->secrets[i], value))
			return true;
	return false;
}

/* There is room for a power of two of them. The longest come first: of one that begins with another
 * the rest would stay. */
static int
secret_add(struct reading *r, struct str value)
{
	struct http_plan *p = r->plan;
	size_t count = p->secret_count;

	if (is_secret(p, value))
		return 0;
	if ((count & (count - 1)) == 0) {
		struct str *more = arena_alloc(p->arena, (count ? 2 * count : 1) * sizeof(*more));
		if (!more)
			return nomem(r);
		if (count)
			memcpy(more, p->secrets, count * sizeof(*more));
		p->secrets = more;
	}
	struct str copy = arena_str(p->arena, value);
	if (!copy.ptr)
		return nomem(r);
	for (; count && p->secrets[count - 1].len < copy.len; count--)
		p->secrets[count] = p->secrets[count - 1];
	p->secrets[count] = copy;
	p->secret_count++;
	return 0;
}

/* As it is, as it stands in an address, and as JSON has it. What cannot be kept could not be taken
 * out of an answer: E_NOMEM. */
static int
secret_keep(struct reading *r, struct str value)
{
	struct buf other = BUF_INIT(8 * LIMIT_VARIABLES_BYTES);
	int code;

	/* The beginning of an address is none. */
	if (value.len < SECRET_LEAST || str_starts(value, S("http://")) ||
	    str_starts(value, S("https://")))
		return 0;
	code = secret_add(r, value);
	url_encode(&other, value, "");
	if (code == 0 && other.len != value.len)
		code = buf_failed(&other) ? nomem(r) : secret_add(r, buf_str(&other));
	buf_reset(&other);
	json_quote(&other, value);
	if (code == 0 && other.len != value.len + 2)
		code = buf_failed(&other)
			   ? nomem(r)
			   : secret_add(r, (struct str){other.ptr + 1, other.len - 2});
	buf_done(&other);
	return code;
}

/* A brace in a value is one, and not the beginning of an argument. */
static void
add_literal(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		buf_addc(out, text.ptr[i]);
		if (text.ptr[i] == '{' || text.ptr[i] == '}')
			buf_addc(out, text.ptr[i]);
	}
}

static int
fill_reference(struct reading *r, const char *field, struct str reference, struct buf *out)
{
	struct buf value = BUF_INIT(LIMIT_VARIABLES_BYTES), why = BUF_INIT(256);
	int code = 0;

	if (!r->vars)
		code = refuse(r, field, "variables cannot be used here");
	else if (!r->vars->fill(r->vars->arg, reference, &value, &why))
		code = refuse(r, field, "%.*s", STR_ARG(buf_str(&why)));
	else if (buf_failed(&value))
		code = refuse(r, field, "the value of a variable is too long");
	else if (str_index(buf_str(&value), '\0') >= 0)
		code = refuse(r, field, "the value of a variable has a NUL in it");
	if (code == 0)
		code = secret_keep(r, buf_str(&value));
	if (code == 0) {
		sha256_add(&r->plan->seal, buf_str(&value));
		sha256_add(&r->plan->seal, (struct str){"", 1});
		add_literal(out, buf_str(&value));
	}
	buf_done(&value);
	buf_done(&why);
	return code;
}

/* With every ${...} filled in. */
static int
fill_text(struct reading *r, const char *field, struct str text, struct buf *out)
{
	int code = 0;

	while (code == 0 && text.len) {
		const char *at = memmem(text.ptr, text.len, "${", 2);
		size_t before = at ? (size_t)(at - text.ptr) : text.len;
		buf_add(out, str_upto(text, before));
		text = str_from(text, before);
		if (!text.len)
			break;
		ptrdiff_t end = str_index(text, '}');
		if (end < 0)
			return refuse(r, field, "a ${ is not closed");
		code = fill_reference(r, field, str_upto(text, (size_t)end + 1), out);
		text = str_from(text, (size_t)end + 1);
	}
	return code;
}

/* ---- templates ---- */

static bool
is_known(const struct reading *r, struct str argument)
{
	return !r->properties || !r->closed || json_get(r->properties, argument);
}

static int
part_add(struct reading *r, struct http_template *t, const char *field, struct http_part part)
{
	if (t->count == LIMIT_HTTP_TOOL_PARTS)
		return refuse(r, field, "has more than %d parts", LIMIT_HTTP_TOOL_PARTS);
	t->parts[t->count++] = part;
	return 0;
}

/* The name between braces; at is behind the '{'. */
static int
argument_read(struct reading *r, struct http_template *t, const char *field, struct str inside)
{
	struct http_part part = {.slashes = str_starts(inside, S("+"))};

	part.argument = part.slashes ? str_from(inside, 1) : inside;
	if (part.argument.len == 0)
		return refuse(r, field, "has {} with no argument in it");
	bool all = str_is(part.argument, "*") && strcmp(field, "body") == 0;
	if (!all && !is_known(r, part.argument))
		return refuse(r, field, "parameter_schema has no property '%.*s'",
			      STR_ARG(str_utf8_upto(part.argument, 64)));
	return part_add(r, t, field, part);
}

/* text stays where it is, and is in the arena. Braces twice are one. */
static int
template_read(struct reading *r, const char *field, struct str text, struct http_template *t)
{
	int code = 0;
	size_t from = 0, i = 0;

	t->parts = arena_alloc(r->plan->arena,
			       (text.len + 1 < LIMIT_HTTP_TOOL_PARTS ? text.len + 1
								     : LIMIT_HTTP_TOOL_PARTS) *
				   sizeof(*t->parts));
	if (!t->parts)
		return nomem(r);
	while (code == 0 && i < text.len) {
		char c = text.ptr[i];
		bool twice = i + 1 < text.len && text.ptr[i + 1] == c;
		if (c != '{' && c != '}') {
			i++;
			continue;
		}
		if (c == '}' && !twice)
			return refuse(r, field, "has a } that closes nothing");
		/* With the first of two braces, or without the one that opens. */
		struct str before = {text.ptr + from, i - from + (twice ? 1 : 0)};
		if (before.len)
			code = part_add(r, t, field, (struct http_part){.text = before});
		if (twice) {
			from = i += 2;
			continue;
		}
		ptrdiff_t end = str_index(str_from(text, i), '}');
		if (end < 0)
			return refuse(r, field, "has a { that is not closed");
		if (code == 0)
			code = argument_read(r, t, field,
					     (struct str){text.ptr + i + 1, (size_t)end - 1});
		from = i += (size_t)end + 1;
	}
	if (code == 0 && from < text.len)
		code = part_add(r, t, field, (struct http_part){.text = str_from(text, from)});
	return code;
}

static int
filled_template(struct reading *r, const char *field, struct str text, struct http_template *t)
{
	struct buf out = BUF_INIT(2 * LIMIT_VARIABLES_BYTES);
	int code = fill_text(r, field, text, &out);

	if (code == 0 && buf_failed(&out))
		code = refuse(r, field, "is too long");
	if (code == 0) {
		struct str copy = arena_str(r->plan->arena, buf_str(&out));
		code = copy.ptr ? template_read(r, field, copy, t) : nomem(r);
	}
	buf_done(&out);
	return code;
}

/* ---- method and address ---- */

static const struct {
	const char *name;
	bool looks, carries;
} methods[] = {
    {"GET", true, false}, {"HEAD", true, false},  {"POST", false, true},
    {"PUT", false, true}, {"PATCH", false, true}, {"DELETE", false, false},
};

static int
read_method(struct reading *r, const struct written *w)
{
	struct http_plan *p = r->plan;
	struct str method = w->method.ptr ? w->method : S("POST");

	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (str_eq_nocase(method, str_of(methods[i].name))) {
			snprintf(p->method, sizeof(p->method), "%s", methods[i].name);
			p->looks = methods[i].looks;
			p->carries = methods[i].carries;
			return 0;
		}
	return refuse(r, "method", "must be one of GET, POST, PUT, PATCH, DELETE, HEAD");
}

static bool
has_dots(struct str path)
{
	struct str segment;

	while (str_split(&path, '/', &segment))
		if (str_is(segment, ".") || str_is(segment, "..") ||
		    str_eq_nocase(segment, S("%2e")) || str_eq_nocase(segment, S("%2e%2e")))
			return true;
	return false;
}

/* As it would be with one letter for each argument: it has to be an address, and the arguments have
 * to stand behind its host. */
static int
check_url(struct reading *r)
{
	struct http_plan *p = r->plan;
	struct buf sample = BUF_INIT(LIMIT_HTTP_TOOL_URL);
	struct err why = ERR_NONE;
	struct url url;
	size_t first = SIZE_MAX;
	int code = 0;

	for (size_t i = 0; i < p->url.count; i++) {
		const struct http_part *part = &p->url.parts[i];
		if (part->argument.ptr && first == SIZE_MAX)
			first = sample.len;
		buf_add(&sample, part->argument.ptr ? S("x") : part->text);
	}
	if (buf_failed(&sample))
		code = refuse(r, "url", "is too long");
	else if (url_split(buf_str(&sample), &url, &why) < 0)
		code = refuse(r, "url", "%s", err_text(&why));
	else if (first != SIZE_MAX &&
		 buf_str(&sample).ptr + first < url.authority.ptr + url.authority.len + 1)
		code = refuse(r, "url", "an argument cannot stand in the scheme or the host");
	else if (has_dots(url.path))
		code = refuse(r, "url", "has . or .. in its path");
	else if (!(p->host = arena_str(p->arena, url.authority)).ptr)
		code = nomem(r);
	buf_done(&sample);
	return code;
}

static int
read_url(struct reading *r, const struct written *w)
{
	int code = filled_template(r, "url", w->url, &r->plan->url);

	sha256_add(&r->plan->seal, w->url);
	return code < 0 ? code : check_url(r);
}

/* ---- query, headers, cookies ---- */

static bool
is_token(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		bool fine = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			    (c >= 'a' && c <= 'z') || (c && strchr("!#$%&'*+-.^_`|~", c));
		if (!fine)
			return false;
	}
	return s.len > 0;
}

/* They say where a request goes and how it is framed; that is ours. */
static const char *const reserved[] = {
    "Host",
    "Connection",
    "Content-Length",
    "Transfer-Encoding",
    "Expect",
    "TE",
    "Trailer",
    "Upgrade",
    "Cookie2",
    "Proxy-Connection",
    "Keep-Alive",
    "Proxy-Authorization",
    "Via",
    "X-Forwarded-Host",
    "Accept-Encoding",
};

static int
check_header(struct reading *r, const char *field, struct str name)
{
	if (!is_token(name))
		return refuse(r, field, "is no name of a header");
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (str_eq_nocase(name, str_of(reserved[i])))
			return refuse(r, field, "cannot be given");
	return 0;
}

/* A control character in a value ends it here, and not when it is first called. */
static int
check_values(struct reading *r, const char *field, const struct http_template *t)
{
	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->parts[i].text.len; k++) {
			unsigned char c = (unsigned char)t->parts[i].text.ptr[k];
			if ((c < ' ' && c != '\t') || c == 0x7f)
				return refuse(r, field, "has a control character in it");
		}
	return 0;
}

/* One argument in it could be several cookies; those of `cookies` are encoded. */
static int
check_cookie_header(struct reading *r)
{
	const struct http_fields *h = &r->plan->headers;

	for (size_t i = 0; i < h->count; i++)
		for (size_t k = 0; k < h->at[i].value.count; k++)
			if (h->at[i].value.parts[k].argument.ptr &&
			    str_eq_nocase(h->at[i].name, S("Cookie")))
				return refuse(r, "headers.Cookie",
					      "has an argument in it; use cookies");
	return 0;
}

static const char *const styles[] = {
    [STYLE_FORM] = "form",
    [STYLE_SPACE] = "spaceDelimited",
    [STYLE_PIPE] = "pipeDelimited",
    [STYLE_DEEP] = "deepObject",
};

struct styled {
	struct str argument, style;
	bool explode;
};

static const struct json_field styled_fields[] = {
    FIELD_REQUIRED(struct styled, argument, WANT_STR),
    FIELD(struct styled, style, WANT_STR),
    FIELD(struct styled, explode, WANT_BOOL),
};

/* {"argument": "tags", "style": "form", "explode": false} */
static int
read_styled(struct reading *r, const char *field, const struct json *v, struct http_field *f)
{
	struct styled s = {.style = S("form")};
	struct err why;

	s.explode = !json_get(v, S("style")) || str_is(json_str(json_get(v, S("style"))), "form");
	if (json_fields(v, styled_fields, ARRAY_LEN(styled_fields), "", &s, &why) < 0)
		return refuse(r, field, "%s", err_text(&why));
	size_t i = 0;
	while (i < ARRAY_LEN(styles) && !str_is(s.style, styles[i]))
		i++;
	if (i == ARRAY_LEN(styles))
		return refuse(r, field,
			      "style must be one of form, spaceDelimited, pipeDelimited, "
			      "deepObject");
	f->style = (enum http_style)i;
	f->explode = s.explode;
	if (!(f->value.parts = ARENA_NEW(r->plan->arena, struct http_part)))
		return nomem(r);
	return argument_read(r, &f->value, field, s.argument);
}

static int
read_field(struct reading *r, const char *section, const struct json_iter *it, struct http_field *f)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct jw w = jw(&text);
	char field[128];
	int code;

	snprintf(field, sizeof(field), "%s.%.*s", section, STR_ARG(str_utf8_upto(it->key, 64)));
	*f = (struct http_field){.name = it->key, .explode = true};
	if (json_is(it->value, JSON_OBJECT))
		return read_styled(r, field, it->value, f);
	if (json_is(it->value, JSON_STRING))
		buf_add(&text, json_str(it->value));
	else if (json_is(it->value, JSON_NUMBER) || json_is(it->value, JSON_BOOL))
		jw_value(&w, it->value);
	else
		return refuse(r, field, "must be a string, a number, true or false");
	code = filled_template(r, field, buf_str(&text), &f->value);
	if (code == 0)
		code = check_values(r, field, &f->value);
	buf_done(&text);
	return code;
}

static int
read_fields(struct reading *r, const char *section, const struct json *v, struct http_fields *ret,
	    int (*check)(struct reading *r, const char *field, struct str name))
{
	char field[128];
	int code = 0;

	if (json_len(v) > LIMIT_HTTP_HEADERS / 2)
		return refuse(r, section, "has more than %d entries", LIMIT_HTTP_HEADERS / 2);
	if (!(ret->at = arena_alloc(r->plan->arena, (json_len(v) + 1) * sizeof(*ret->at))))
		return nomem(r);
	for (struct json_iter it = json_iter(v); code == 0 && json_next(&it);) {
		struct http_field *f = &ret->at[ret->count];
		snprintf(field, sizeof(field), "%s.%.*s", section,
			 STR_ARG(str_utf8_upto(it.key, 64)));
		code = check ? check(r, field, it.key) : 0;
		if (code == 0)
			code = read_field(r, section, &it, f);
		f->whole = f->value.count == 1 && f->value.parts[0].argument.ptr;
		ret->count += code == 0;
	}
	return code;
}

/* A cookie's name is a word as a header's is. */
static int
check_cookie(struct reading *r, const char *field, struct str name)
{
	return is_token(name) ? 0 : refuse(r, field, "is no name of a cookie");
}

/* ---- the body ---- */

static int
body_copy(struct reading *r, struct jw *w, const struct json *v)
{
	struct buf text = BUF_INIT(2 * LIMIT_VARIABLES_BYTES);
	struct http_template t = {0};
	int code = 0;

	if (json_is(v, JSON_STRING)) {
		code = fill_text(r, "body", json_str(v), &text);
		if (code == 0 && buf_failed(&text))
			code = refuse(r, "body", "is too long");
		struct str copy = arena_str(r->plan->arena, buf_str(&text));
		if (code == 0) /* only to see whether it is one */
			code = copy.ptr ? template_read(r, "body", copy, &t) : nomem(r);
		jw_str(w, buf_str(&text));
		buf_done(&text);
		return code;
	}
	if (!json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY)) {
		jw_value(w, v);
		return 0;
	}
	json_is(v, JSON_OBJECT) ? jw_object(w) : jw_array(w);
	for (struct json_iter it = json_iter(v); code == 0 && json_next(&it);) {
		if (json_is(v, JSON_OBJECT))
			jw_key_str(w, it.key);
		code = body_copy(r, w, it.value);
	}
	jw_end(w);
	return code;
}

static int
read_body(struct reading *r, const struct written *w)
{
	struct http_plan *p = r->plan;
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES);
	struct jw out = jw(&text);
	int code;

	p->form = str_is(w->body_type, "form");
	if (w->body_type.ptr && !p->form && !str_is(w->body_type, "json"))
		return refuse(r, "body_type", "must be json or form");
	p->bodyless = json_is(w->body, JSON_NULL);
	if (!w->body || p->bodyless)
		return 0;
	if (p->looks)
		return refuse(r, "body", "%s has none", p->method);
	code = body_copy(r, &out, w->body);
	if (code == 0)
		code = json_parse(buf_str(&text), &json_door, &p->filled, r->err);
	if (code == 0)
		p->body = json_root(p->filled);
	buf_done(&text);
	return code;
}

/* ---- the rest ---- */

static const struct {
	const char *word;
	enum http_meaning meaning;
} meanings[] = {
    {"success", MEANS_SUCCESS},
    {"failed", MEANS_FAILED},
    {"retry", MEANS_RETRY},
    {"unknown", MEANS_UNKNOWN},
};

/* "404", or "4xx" */
static bool
range_read(struct str text, struct http_rule *rule)
{
	uint64_t n;

	if (text.len == 3 && str_to_u64(text, &n) && n >= 100 && n < 600) {
		rule->from = rule->to = (int)n;
		return true;
	}
	if (text.len != 3 || text.ptr[0] < '1' || text.ptr[0] > '5' ||
	    !str_eq_nocase(str_from(text, 1), S("xx")))
		return false;
	rule->from = (text.ptr[0] - '0') * 100;
	rule->to = rule->from + 99;
	return true;
}

static int
read_status(struct reading *r, const struct json *v)
{
	struct http_plan *p = r->plan;

	if (!(p->rules = arena_alloc(p->arena, (json_len(v) + 1) * sizeof(*p->rules))))
		return nomem(r);
	for (struct json_iter it = json_iter(v); json_next(&it);) {
		struct http_rule *rule = &p->rules[p->rule_count];
		size_t i = 0;
		if (!range_read(it.key, rule))
			return refuse(r, "status",
				      "'%.*s' is neither a status (404) nor a class "
				      "of them (4xx)",
				      STR_ARG(str_utf8_upto(it.key, 20)));
		while (i < ARRAY_LEN(meanings) && !str_is(json_str(it.value), meanings[i].word))
			i++;
		if (i == ARRAY_LEN(meanings))
			return refuse(r, "status",
				      "%.*s must be one of success, failed, retry, unknown",
				      STR_ARG(it.key));
		rule->meaning = meanings[i].meaning;
		p->rule_count++;
	}
	return 0;
}

static int
read_number(struct reading *r, const char *field, const struct json *v, double least, double most,
	    double *ret)
{
	if (!v)
		return 0;
	if (!json_double(v, ret) || *ret < least || *ret > most)
		return refuse(r, field, "must be a number from %g to %g", least, most);
	return 0;
}

static int
read_guard(struct reading *r, const struct written *w)
{
	struct http_plan *p = r->plan;
	struct err why;
	int code = guard_new(&p->guard, r->err);

	if (code == 0 && r->settings->guard)
		code = guard_allow_same(p->guard, r->settings->guard, r->err);
	if (code == 0 && w->allow_private)
		guard_allow_private(p->guard);
	for (struct json_iter it = json_iter(w->allow); code == 0 && json_next(&it);) {
		if (!json_is(it.value, JSON_STRING))
			code = refuse(r, "allow", "must hold strings");
		else if (guard_allow(p->guard, json_str(it.value), &why) < 0)
			code = refuse(r, "allow", "%s", err_text(&why));
	}
	return code;
}

static int
read_key_header(struct reading *r, const struct json *v)
{
	struct http_plan *p = r->plan;

	p->key_header = "Idempotency-Key";
	if (!v)
		return 0;
	if (json_is(v, JSON_BOOL) && !json_bool(v)) {
		p->key_header = NULL;
		return 0;
	}
	if (!is_token(json_str(v)))
		return refuse(r, "idempotency_header", "must be the name of a header, or false");
	p->key_header = arena_strz(p->arena, json_str(v));
	return p->key_header ? check_header(r, "idempotency_header", json_str(v)) : nomem(r);
}

/* Which arguments are spoken for. */
static void
use(struct http_plan *p, const struct http_template *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->parts[i].argument.ptr)
			p->used[p->used_count++] = t->parts[i].argument;
}

static int
collect_used(struct reading *r)
{
	struct http_plan *p = r->plan;
	const struct http_fields *all[] = {&p->query, &p->headers, &p->cookies};
	size_t count = p->url.count;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		for (size_t k = 0; k < all[i]->count; k++)
			count += all[i]->at[k].value.count;
	if (!(p->used = arena_alloc(p->arena, (count + 1) * sizeof(*p->used))))
		return nomem(r);
	use(p, &p->url);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		for (size_t k = 0; k < all[i]->count; k++)
			use(p, &all[i]->at[k].value);
	return 0;
}

/* People read it: values of variables are not for them. */
static int
shade_host(struct reading *r)
{
	struct http_plan *p = r->plan;
	struct buf host = BUF_INIT(LIMIT_HTTP_TOOL_URL);

	buf_add(&host, p->host);
	http__redact(p, &host);
	p->host = arena_str(p->arena, buf_str(&host));
	buf_done(&host);
	return p->host.ptr ? 0 : nomem(r);
}

static int
read_written(struct reading *r, const struct written *w, unsigned *timeout_ms)
{
	struct http_plan *p = r->plan;
	double seconds = 0, bytes = LIMIT_HTTP_TOOL_ANSWER;
	int code;

	if ((code = read_method(r, w)) < 0 || (code = read_url(r, w)) < 0 ||
	    (code = read_fields(r, "query", w->query, &p->query, NULL)) < 0 ||
	    (code = read_fields(r, "headers", w->headers, &p->headers, check_header)) < 0 ||
	    (code = check_cookie_header(r)) < 0 ||
	    (code = read_fields(r, "cookies", w->cookies, &p->cookies, check_cookie)) < 0 ||
	    (code = read_body(r, w)) < 0 || (code = read_status(r, w->status)) < 0 ||
	    (code = read_number(r, "timeout", w->timeout, 0.001, 86400, &seconds)) < 0 ||
	    (code = read_number(r, "max_bytes", w->max_bytes, 1, LIMIT_HTTP_TOOL_MOST, &bytes)) <
		0 ||
	    (code = read_guard(r, w)) < 0 || (code = read_key_header(r, w->idempotency_header)) < 0)
		return code;
	p->follows = w->follow_redirects;
	p->max_bytes = (size_t)bytes;
	*timeout_ms = (unsigned)(seconds * 1000);
	return (code = shade_host(r)) < 0 ? code : collect_used(r);
}

static int
read_config(struct reading *r, const struct json *config, unsigned *timeout_ms)
{
	struct written w = {.follow_redirects = true};
	int code = json_fields(config, fields, ARRAY_LEN(fields), "gateway_config", &w, r->err);

	if (code < 0) {
		if (r->err)
			r->err->code = E_VALIDATION;
		return E_VALIDATION;
	}
	return read_written(r, &w, timeout_ms);
}

int
http__plan_new(struct json_doc *doc, const struct json *config, const struct json *schema,
	       const struct http_settings *settings, const struct variables *vars,
	       struct http_plan **ret, unsigned *timeout_ms, struct err *e)
{
	const struct json *others = json_get(schema, S("additionalProperties"));
	struct http_plan *p = calloc(1, sizeof(*p));
	struct reading r = {
	    .plan = p,
	    .properties = json_get(schema, S("properties")),
	    .closed = !others || (json_is(others, JSON_BOOL) && !json_bool(others)),
	    .vars = vars,
	    .settings = settings,
	    .err = e,
	};

	if (!p || !(p->arena = arena_new(PLAN_ARENA))) {
		free(p);
		return err_plain(e, E_NOMEM);
	}
	p->doc = json_doc_ref(doc);
	sha256_begin(&p->seal);
	int code = read_config(&r, config, timeout_ms);
	if (code < 0)
		http__plan_free(p);
	else
		*ret = p;
	return code;
}

void
http__plan_free(void *plan)
{
	struct http_plan *p = plan;

	if (!p)
		return;
	guard_unref(p->guard);
	json_doc_unref(p->doc);
	json_doc_unref(p->filled);
	arena_free(p->arena);
	free(p);
}
