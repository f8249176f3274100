/* yaml.c - libyaml's events turned into JSON text, with the line of each value. */

#include "json/yaml.h"
#include "json/inside.h"
#include "json/write.h"

#include <stdlib.h>
#include <yaml.h>

struct reading {
	struct buf json;
	struct jw w;
	struct buf lines; /* unsigned each, in reading order */
	bool documents;   /* one was there already */
	struct err *e;
};

static int
refuse(struct reading *r, size_t line, const char *reason)
{
	return err_set(r->e, E_CONFIG, "line %zu: %s", line, reason);
}

static void
line_add(struct buf *lines, size_t line)
{
	unsigned n = (unsigned)line;

	buf_add(lines, (struct str){(const char *)&n, sizeof(n)});
}

/* ---- plain scalars: YAML 1.2, section 10.3 (the core schema) ---- */

static size_t
digits(struct str s)
{
	size_t n = 0;

	while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
		n++;
	return n;
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?  as JSON would have it */
static bool
decimal(struct str s, struct buf *out)
{
	if (str_starts(s, S("-")))
		buf_addc(out, '-');
	if (str_starts(s, S("-")) || str_starts(s, S("+")))
		s = str_from(s, 1);

	struct str whole = str_upto(s, digits(s)), part = {NULL, 0};
	s = str_from(s, whole.len);
	if (str_starts(s, S("."))) {
		s = str_from(s, 1);
		part = str_upto(s, digits(s));
		s = str_from(s, part.len);
	}
	if (whole.len + part.len == 0)
		return false;
	while (whole.len > 1 && whole.ptr[0] == '0')
		whole = str_from(whole, 1);
	buf_add(out, whole.len ? whole : S("0"));
	if (part.ptr) /* "1." is a float, too */
		buf_addc(out, '.'), buf_add(out, part.len ? part : S("0"));
	if (s.len == 0)
		return true;

	size_t sign = s.len > 1 && (s.ptr[1] == '-' || s.ptr[1] == '+');
	struct str exponent = str_from(s, 1 + sign);
	buf_add(out, s);
	return (s.ptr[0] == 'e' || s.ptr[0] == 'E') && exponent.len &&
	       digits(exponent) == exponent.len;
}

/* 0o17, 0xff */
static bool
based(struct str s, struct buf *out)
{
	unsigned base = str_starts(s, S("0o")) ? 8 : str_starts(s, S("0x")) ? 16 : 0;
	uint64_t n = 0;

	if (!base || s.len < 3 || s.len > 2 + 16)
		return false;
	for (size_t i = 2; i < s.len; i++) {
		char c = s.ptr[i];
		unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
			     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
			     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
						    : 16;
		if (d >= base)
			return false;
		n = n * base + d;
	}
	buf_add_u64(out, n);
	return true;
}

static const struct {
	const char *plain;
	const char *json; /* NULL: JSON has no such number */
} words[] = {
    {"", "null"},       {"~", "null"},    {"null", "null"}, {"Null", "null"},   {"NULL", "null"},
    {"true", "true"},   {"True", "true"}, {"TRUE", "true"}, {"false", "false"}, {"False", "false"},
    {"FALSE", "false"}, {".inf", NULL},   {".Inf", NULL},   {".INF", NULL},     {"+.inf", NULL},
    {"-.inf", NULL},    {".nan", NULL},   {".NaN", NULL},   {".NAN", NULL},
};

static int
plain_value(struct reading *r, struct str s, size_t line)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!str_is(s, words[i].plain))
			continue;
		if (!words[i].json)
			return refuse(r, line, "infinite numbers and .nan cannot be used here");
		jw_raw(&r->w, str_of(words[i].json));
		return 0;
	}
	struct buf number = BUF_INIT(s.len + 32);
	if (based(s, &number) || (buf_reset(&number), decimal(s, &number)))
		jw_raw(&r->w, buf_str(&number));
	else
		jw_str(&r->w, s);
	r->json.failed |= buf_failed(&number);
	buf_done(&number);
	return 0;
}

/* ---- events ---- */

static bool
at_key(const struct jw *w)
{
	return w->depth && (w->object >> (w->depth - 1) & 1) && !w->after_key;
}

static int
on_scalar(struct reading *r, const yaml_event_t *ev)
{
	struct str s = {(const char *)ev->data.scalar.value, ev->data.scalar.length};
	size_t line = ev->start_mark.line + 1;

	line_add(&r->lines, line);
	if (at_key(&r->w))
		jw_key_str(&r->w, s);
	else if (ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return plain_value(r, s, line);
	else
		jw_str(&r->w, s);
	return 0;
}

static int
on_open(struct reading *r, const yaml_event_t *ev)
{
	size_t line = ev->start_mark.line + 1;

	if (at_key(&r->w))
		return refuse(r, line, "a key must be plain text");
	if (r->w.depth == LIMIT_JSON_DEPTH)
		return refuse(r, line, "nested too deep");
	line_add(&r->lines, line);
	if (ev->type == YAML_MAPPING_START_EVENT)
		jw_object(&r->w);
	else
		jw_array(&r->w);
	return 0;
}

static int
on_document(struct reading *r, const yaml_event_t *ev)
{
	if (r->documents)
		return refuse(r, ev->start_mark.line + 1, "there may be only one document");
	r->documents = true;
	return 0;
}

/* What our files have no use for, and strangers could build bombs of. */
static int
on_extras(struct reading *r, const yaml_event_t *ev, const void *anchor, const void *tag)
{
	size_t line = ev->start_mark.line + 1;

	if (anchor)
		return refuse(r, line, "anchors and aliases are not supported");
	if (tag)
		return refuse(r, line, "tags are not supported");
	return ev->type == YAML_SCALAR_EVENT ? on_scalar(r, ev) : on_open(r, ev);
}

static int
on_event(struct reading *r, const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT: return on_document(r, ev);
	case YAML_ALIAS_EVENT: return on_extras(r, ev, ev, NULL);
	case YAML_SCALAR_EVENT:
		return on_extras(r, ev, ev->data.scalar.anchor, ev->data.scalar.tag);
	case YAML_SEQUENCE_START_EVENT:
		return on_extras(r, ev, ev->data.sequence_start.anchor,
				 ev->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return on_extras(r, ev, ev->data.mapping_start.anchor, ev->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT: jw_end(&r->w); return 0;
	default: return 0;
	}
}

static size_t
line_of(struct str text, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; text.ptr && i < offset && i < text.len; i++)
		line += text.ptr[i] == '\n';
	return line;
}

/* Is a line indented with a tab? YAML takes none, and its parser has no good word for it. */
static bool
is_tabbed(struct str text, size_t line)
{
	struct str this;

	do
		if (!str_split(&text, '\n', &this))
			return false;
	while (--line > 0);
	for (size_t i = 0; i < this.len && (this.ptr[i] == ' ' || this.ptr[i] == '\t'); i++)
		if (this.ptr[i] == '\t')
			return true;
	return false;
}

static int
err_of_parser(struct reading *r, const yaml_parser_t *p, struct str text)
{
	/* What cannot even be read has an offset, the rest has a line. */
	size_t line = p->error == YAML_READER_ERROR ? line_of(text, p->problem_offset)
						    : p->problem_mark.line + 1;

	if (p->error == YAML_MEMORY_ERROR)
		return err_plain(r->e, E_NOMEM);
	if (p->error == YAML_SCANNER_ERROR && is_tabbed(text, line))
		return err_set(r->e, E_CONFIG,
			       "line %zu: is indented with a tab; YAML takes spaces only", line);
	return err_set(r->e, E_CONFIG, "line %zu: %s%s%s", line,
		       p->problem ? p->problem : "this is not YAML", p->context ? " " : "",
		       p->context ? p->context : "");
}

static int
read_events(struct reading *r, struct str text)
{
	yaml_parser_t p;
	bool more = true;
	int rc = 0;

	if (!yaml_parser_initialize(&p))
		return err_plain(r->e, E_NOMEM);
	yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&p, (const unsigned char *)(text.ptr ? text.ptr : ""),
				     text.len);
	while (more && rc == 0) {
		yaml_event_t ev;
		if (!yaml_parser_parse(&p, &ev)) {
			rc = err_of_parser(r, &p, text);
			break;
		}
		more = ev.type != YAML_STREAM_END_EVENT;
		rc = on_event(r, &ev);
		yaml_event_delete(&ev);
	}
	yaml_parser_delete(&p);
	if (rc == 0 && r->json.len == 0) {
		line_add(&r->lines, 1);
		jw_null(&r->w);
	}
	return rc;
}

/* ---- both ways in ---- */

/* Every token of valid JSON begins a value or a key; what is between them is punctuation. */
static void
json_lines(struct str text, struct buf *lines)
{
	size_t line = 1;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		line += c == '\n';
		if (!c || strchr(" \t\r\n,:]}", c))
			continue;
		line_add(lines, line);
		if (c == '"')
			while (text.ptr[++i] != '"')
				i += text.ptr[i] == '\\';
		else if (c != '{' && c != '[')
			while (i + 1 < text.len && !strchr(" \t\r\n,:]}", text.ptr[i + 1]))
				i++;
	}
}

/*
 * JSON is YAML, but for escaped surrogate pairs and a few characters: a file that is
 * strict JSON goes its own way. One that only looks like it is tried as YAML, which
 * allows comments and has its own words for what is wrong.
 */
static bool
read_json(struct reading *r, struct str text, struct json_doc **ret)
{
	struct str start = str_trim(text);
	const struct json_limits limits = {text.len, LIMIT_JSON_DEPTH};

	if (!str_starts(start, S("{")) && !str_starts(start, S("[")))
		return false;
	if (json_parse(text, &limits, ret, NULL) < 0)
		return false;
	json_lines(text, &r->lines);
	return true;
}

static int
err_twice(struct reading *r, const struct json_doc *doc, const struct json *key)
{
	struct buf reason = BUF_INIT(512);
	const unsigned *lines = (const unsigned *)(const void *)r->lines.ptr;

	buf_addz(&reason, "the key ");
	json__quote(&reason, str_utf8_upto(json_str(key), 64), false);
	buf_addz(&reason, " is given twice");
	const char *z = buf_z(&reason);
	int rc = refuse(r, lines[json_order(doc, key)], z ? z : "a key is given twice");
	buf_done(&reason);
	return rc;
}

static int
read_yaml(struct reading *r, struct str text, struct json_doc **ret)
{
	const struct json *twice = NULL;
	struct json_doc *doc;
	int rc = read_events(r, text);

	if (rc < 0)
		return rc;
	if (buf_failed(&r->json) || buf_failed(&r->lines))
		return err_plain(r->e, E_NOMEM);
	rc = json__read(buf_str(&r->json), &doc, r->e);
	if (rc < 0)
		return rc;
	rc = json__check(doc, LIMIT_JSON_DEPTH, &twice);
	if (rc == 0) {
		*ret = doc;
		return 0;
	}
	rc = twice ? err_twice(r, doc, twice) : err_plain(r->e, rc);
	json_doc_unref(doc);
	return rc;
}

int
yaml_parse(struct str text, size_t max_bytes, struct yaml *ret, struct err *e)
{
	if (text.len > max_bytes)
		return err_set(e, E_TOO_LARGE, "%zu bytes, at most %zu are taken", text.len,
			       max_bytes);

	/* Two bytes of YAML can be a null, and one byte an escape. */
	struct reading r = {.json = BUF_INIT(8 * text.len + 64),
			    .lines = BUF_INIT((2 * text.len + 2) * sizeof(unsigned)),
			    .e = e};
	struct json_doc *doc;
	int rc = 0;
	r.w = jw(&r.json);
	if (!read_json(&r, text, &doc)) {
		buf_reset(&r.lines);
		rc = read_yaml(&r, text, &doc);
	} else if (buf_failed(&r.lines)) {
		json_doc_unref(doc);
		rc = err_plain(e, E_NOMEM);
	}
	if (rc == 0) {
		size_t count = r.lines.len / sizeof(unsigned);
		*ret = (struct yaml){doc, (unsigned *)(void *)buf_take(&r.lines).ptr, count};
	}
	buf_done(&r.json);
	buf_done(&r.lines);
	return rc;
}

void
yaml_done(struct yaml *y)
{
	json_doc_unref(y->doc);
	free(y->lines);
	*y = (struct yaml){0};
}

unsigned
yaml_line(const struct yaml *y, const struct json *v)
{
	size_t order = json_order(y->doc, v);

	CHECK(order < y->count);
	return y->lines[order];
}
