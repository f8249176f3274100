/* edit.c - configuration files changed line by line. */

#include "cli/edit.h"

#include "base/limits.h"
#include "json/write.h"
#include "json/yaml.h"

#define SECTION "mcpServers"
#define STEP 2 /* blanks */

/* A file while it is being changed. */
struct file {
	struct str text;
	struct yaml yaml;
	const struct json *root;
	const char *key;            /* of the section that is changed */
	const struct json *section; /* NULL: there is none */
	bool flow;                  /* the whole file is JSON, or like it */
	struct err *err;
};

/* Reading */

/* What is written anew would be without them. */
static bool
has_comments(struct str text)
{
	struct buf plain = BUF_INIT(LIMIT_CONFIG_BYTES + 1);
	bool has = json_blank_comments(text, &plain);

	buf_done(&plain);
	return has;
}

static int
file_read(struct file *f, struct str text, const char *section, struct err *e)
{
	struct str start = str_trim(text);

	*f = (struct file){.text = text, .err = e, .key = section ? section : SECTION};
	if (has_comments(text))
		return err_set(e, E_CONFIG,
			       "it is JSON with comments, which would be lost; change it by hand");
	int code = yaml_parse(text, LIMIT_CONFIG_BYTES, &f->yaml, e);
	if (code < 0)
		return code;
	f->root = json_root(f->yaml.doc);
	if (!json_is(f->root, JSON_OBJECT) && !json_is(f->root, JSON_NULL))
		return err_set(e, E_CONFIG, "the file is no mapping of settings");
	f->flow = str_starts(start, S("{"));
	if (!section && !json_is(json_get(f->root, S(SECTION)), JSON_OBJECT) &&
	    json_is(json_get(f->root, S("servers")), JSON_OBJECT))
		f->key = "servers";
	f->section = json_get(f->root, str_of(f->key));
	if (f->section && !json_is(f->section, JSON_OBJECT) && !json_is(f->section, JSON_NULL))
		return err_set(e, E_CONFIG, "line %u: %s: must be a mapping",
			       yaml_line(&f->yaml, f->section), f->key);
	return 0;
}

static const char *const sections[] = {SECTION, "servers", "openapi"};

/* The section it is in; NULL: in none. */
static const char *
server_find(const struct file *f, struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		if (json_get(json_get(f->root, str_of(sections[i])), name))
			return sections[i];
	return NULL;
}

static unsigned
key_line(const struct file *f, const struct json *value)
{
	return f->yaml.lines[json_order(f->yaml.doc, value) - 1];
}

/* Lines */

/* Where line n begins, from 1; one past the last is the end of the text. */
static size_t
line_at(struct str text, unsigned n)
{
	size_t at = 0;

	for (; n > 1 && at < text.len; n--) {
		ptrdiff_t end = str_index(str_from(text, at), '\n');
		at = end < 0 ? text.len : at + (size_t)end + 1;
	}
	return at;
}

static struct str
line_text(struct str text, size_t at)
{
	struct str rest = str_from(text, at), line;

	return str_split(&rest, '\n', &line) ? line : S("");
}

static size_t
indent_of(struct str line)
{
	size_t n = 0;

	while (n < line.len && line.ptr[n] == ' ')
		n++;
	return n;
}

static bool
is_blank(struct str line)
{
	return str_trim(line).len == 0;
}

/* From a line on: behind the last of those that follow and are further in than `indent`. */
static size_t
block_end(struct str text, size_t at, size_t indent)
{
	size_t end = at;

	while (at < text.len) {
		struct str line = line_text(text, at);
		size_t next = at + line.len + (at + line.len < text.len);
		bool blank = is_blank(line);
		if (!blank && indent_of(line) <= indent)
			break;
		at = next;
		if (!blank)
			end = at;
	}
	return end;
}

static size_t
next_line(struct str text, size_t at)
{
	size_t end = at + line_text(text, at).len;

	return end + (end < text.len);
}

/* Writing */

/* Words that mean the same without quotes, and look better so. */
static bool
is_plain(struct str s)
{
	static const char *const words[] = {"null", "true", "false", "yes", "no", "on", "off"};
	char first = s.len ? s.ptr[0] : '\0';

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_eq_nocase(s, str_of(words[i])))
			return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		bool letter =
		    (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
		if (!letter && (!c || !strchr("/._-", c)))
			return false;
	}
	return (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z') || first == '/';
}

static void
blanks(struct buf *out, size_t n)
{
	while (n-- > 0)
		buf_addc(out, ' ');
}

static void
scalar(struct buf *out, const struct json *v)
{
	struct jw w = jw(out);

	if (is_plain(json_str(v)))
		buf_add(out, json_str(v));
	else
		jw_value(&w, v);
}

static void
key_text(struct buf *out, struct str key)
{
	struct jw w = jw(out);

	if (is_plain(key))
		buf_add(out, key);
	else
		jw_str(&w, key);
	buf_addc(out, ':');
}

/* Arrays on one line, objects as blocks. */
static void
block(struct buf *out, struct str key, const struct json *v, size_t indent)
{
	blanks(out, indent);
	key_text(out, key);
	if (!json_is(v, JSON_OBJECT) || json_len(v) == 0) {
		buf_addc(out, ' ');
		scalar(out, v);
		buf_addc(out, '\n');
		return;
	}
	buf_addc(out, '\n');
	for (struct json_iter it = json_iter(v); json_next(&it);)
		block(out, it.key, it.value, indent + STEP);
}

static void
pretty(struct buf *out, const struct json *v, size_t indent)
{
	const char *comma = "";
	struct jw w = jw(out);

	if (!json_is(v, JSON_OBJECT) || json_len(v) == 0) {
		jw_value(&w, v);
		return;
	}
	buf_addc(out, '{');
	for (struct json_iter it = json_iter(v); json_next(&it); comma = ",") {
		struct jw key = jw(out);
		buf_addf(out, "%s\n", comma);
		blanks(out, indent + STEP);
		jw_str(&key, it.key);
		buf_addz(out, ": ");
		pretty(out, it.value, indent + STEP);
	}
	buf_addc(out, '\n');
	blanks(out, indent);
	buf_addc(out, '}');
}

/* The section, with one server set to `entry` or (NULL) left out, as JSON. */
static void
section_write(struct jw *w, const struct json *section, struct str name, const struct json *entry)
{
	jw_object(w);
	for (struct json_iter it = json_iter(section); json_next(&it);)
		if (!str_eq(it.key, name))
			jw_key_str(w, it.key), jw_value(w, it.value);
	if (entry)
		jw_key_str(w, name), jw_value(w, entry);
	jw_end(w);
}

/* The whole file as a value, changed. */
static void
root_write(struct jw *w, const struct file *f, struct str name, const struct json *entry)
{
	bool there = false;

	jw_object(w);
	for (struct json_iter it = json_iter(f->root); json_next(&it);) {
		jw_key_str(w, it.key);
		if (str_is(it.key, f->key)) {
			section_write(w, it.value, name, entry);
			there = true;
		} else
			jw_value(w, it.value);
	}
	if (!there)
		jw_key(w, f->key), section_write(w, NULL, name, entry);
	jw_end(w);
}

/* Is `out` what was to come out? Sections without a server may be null as well. */
static bool
is_right(const struct file *f, struct str out, struct str name, const struct json *entry)
{
	struct buf want = BUF_INIT(8 * LIMIT_CONFIG_BYTES);
	struct json_doc *doc = NULL;
	struct yaml y = {0};
	struct jw w = jw(&want);
	bool right = false;
	const struct json_limits limits = {8 * LIMIT_CONFIG_BYTES, LIMIT_JSON_DEPTH};

	root_write(&w, f, name, entry);
	if (json_parse(buf_str(&want), &limits, &doc, NULL) == 0 &&
	    yaml_parse(out, LIMIT_CONFIG_BYTES, &y, NULL) == 0) {
		const struct json *a = json_root(doc), *b = json_root(y.doc);
		right = json_len(a) == json_len(b);
		for (struct json_iter it = json_iter(a); right && json_next(&it);) {
			const struct json *other = json_get(b, it.key);
			bool empty = json_is(it.value, JSON_OBJECT) && json_len(it.value) == 0 &&
				     json_is(other, JSON_NULL);
			right = other && (empty || json_equal(it.value, other));
		}
	}
	yaml_done(&y);
	json_doc_unref(doc);
	buf_done(&want);
	return right;
}

/* Changing */

static void
whole_json(const struct file *f, struct str name, const struct json *entry, struct buf *out)
{
	struct buf text = BUF_INIT(8 * LIMIT_CONFIG_BYTES);
	const struct json_limits limits = {8 * LIMIT_CONFIG_BYTES, LIMIT_JSON_DEPTH};
	struct json_doc *doc;
	struct jw w = jw(&text);

	root_write(&w, f, name, entry);
	if (json_parse(buf_str(&text), &limits, &doc, NULL) == 0) {
		pretty(out, json_root(doc), 0);
		buf_addc(out, '\n');
		json_doc_unref(doc);
	}
	buf_done(&text);
}

/* Behind the bracket that closes the one at `at`. */
static size_t
flow_end(struct str text, size_t at)
{
	unsigned depth = 0;
	char quote = '\0';

	for (; at < text.len; at++) {
		char c = text.ptr[at];
		if (quote) {
			at += quote == '"' && c == '\\';
			quote = c == quote ? '\0' : quote;
		} else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return at + 1;
	}
	return at;
}

/* The section is {...} in a file that is not: it is written anew. */
static void
flow_section(const struct file *f, size_t at, struct str name, const struct json *entry,
	     struct buf *out)
{
	struct jw w = jw(out);

	buf_add(out, str_upto(f->text, at));
	section_write(&w, f->section, name, entry);
	buf_add(out, str_from(f->text, flow_end(f->text, at)));
}

/* Where the section's '{' is; false: it is a block. */
static bool
flow_at(const struct file *f, size_t *ret)
{
	size_t line = line_at(f->text, yaml_line(&f->yaml, f->section));
	struct str text = line_text(f->text, line);
	ptrdiff_t open = str_index(text, '{'), comment = str_index(text, '#');
	struct json_iter first = json_iter(f->section);

	if (open < 0 || (comment >= 0 && comment < open))
		return false;
	/* Of a block, its first key stands where it begins. */
	if (json_next(&first) && key_line(f, f->section) != yaml_line(&f->yaml, f->section))
		return indent_of(text) == (size_t)open && (*ret = line + (size_t)open, true);
	*ret = line + (size_t)open;
	return true;
}

/* "mcpServers:" with nothing, or null, behind it. */
static void
empty_section(const struct file *f, struct str name, const struct json *entry, struct buf *out)
{
	size_t at = line_at(f->text, key_line(f, f->section));
	struct str line = line_text(f->text, at), rest = str_from(f->text, next_line(f->text, at));
	ptrdiff_t colon = str_index(line, ':'), comment = str_index(line, '#');

	buf_add(out, str_upto(f->text, at));
	buf_add(out, str_upto(line, (size_t)colon + 1));
	if (comment > colon)
		buf_addc(out, ' '), buf_add(out, str_from(line, (size_t)comment));
	buf_addc(out, '\n');
	block(out, name, entry, indent_of(line) + STEP);
	buf_add(out, rest);
}

static void
new_section(const struct file *f, struct str name, const struct json *entry, struct buf *out)
{
	buf_add(out, f->text);
	if (f->text.len && !str_ends(f->text, S("\n")))
		buf_addc(out, '\n');
	buf_addf(out, "%s%s:\n", f->text.len ? "\n" : "", f->key);
	block(out, name, entry, STEP);
}

/* Behind the last one there. */
static void
add_block(const struct file *f, struct str name, const struct json *entry, struct buf *out)
{
	struct json_iter first = json_iter(f->section);

	json_next(&first);
	size_t section = line_at(f->text, key_line(f, f->section));
	size_t child = line_at(f->text, key_line(f, first.value));
	size_t end =
	    block_end(f->text, next_line(f->text, section), indent_of(line_text(f->text, section)));
	buf_add(out, str_upto(f->text, end));
	if (end && f->text.ptr[end - 1] != '\n')
		buf_addc(out, '\n');
	block(out, name, entry, indent_of(line_text(f->text, child)));
	buf_add(out, str_from(f->text, end));
}

/* A server's own lines; what is above it and behind it stays. */
static void
remove_block(const struct file *f, const struct json *server, struct buf *out)
{
	size_t at = line_at(f->text, key_line(f, server));
	size_t end = block_end(f->text, next_line(f->text, at), indent_of(line_text(f->text, at)));

	if (end < next_line(f->text, at))
		end = next_line(f->text, at);
	buf_add(out, str_upto(f->text, at));
	buf_add(out, str_from(f->text, end));
}

static void
change(const struct file *f, struct str name, const struct json *entry, struct buf *out)
{
	const struct json *old = json_get(f->section, name);
	size_t at;

	if (f->flow)
		whole_json(f, name, entry, out);
	else if (!f->section)
		new_section(f, name, entry, out);
	else if (json_is(f->section, JSON_NULL))
		empty_section(f, name, entry, out);
	else if (flow_at(f, &at))
		flow_section(f, at, name, entry, out);
	else if (entry)
		add_block(f, name, entry, out);
	else
		remove_block(f, old, out);
}

static int
finish(const struct file *f, struct str name, const struct json *entry, struct buf *out)
{
	if (buf_failed(out))
		return err_set(f->err, E_TOO_LARGE, "the file would be larger than %zu bytes",
			       LIMIT_CONFIG_BYTES);
	if (is_right(f, buf_str(out), name, entry))
		return 0;
	return err_set(f->err, E_CONFIG,
		       "the file is written in a way that cannot be changed safely; do it by hand");
}

/* One step: `entry` NULL takes it out. */
static int
step(struct str text, const char *section, struct str name, const struct json *entry,
     struct buf *out, struct err *e)
{
	struct file f;
	int code = file_read(&f, text, section, e);

	if (code == 0) {
		change(&f, name, entry, out);
		code = finish(&f, name, entry, out);
	}
	yaml_done(&f.yaml);
	return code;
}

static int
no_such(const struct file *f, struct str name)
{
	struct buf names = BUF_INIT(512);

	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		for (struct json_iter it = json_iter(json_get(f->root, str_of(sections[i])));
		     json_next(&it);)
			buf_addf(&names, "%s%.*s", names.len ? ", " : "", STR_ARG(it.key));
	err_set(f->err, E_NO_SERVER, "there is no server '%.*s' in the file%s%.*s%s",
		STR_ARG(str_utf8_upto(name, 100)), names.len ? " (there are: " : "",
		STR_ARG(buf_str(&names)), names.len ? ")" : "");
	buf_done(&names);
	return E_NO_SERVER;
}

int
edit_remove(struct str text, struct str name, struct buf *out, struct err *e)
{
	struct file f;
	int code = file_read(&f, text, NULL, e);

	if (code == 0 && !server_find(&f, name))
		code = no_such(&f, name);
	if (code == 0 && !json_get(f.section, name)) { /* in another section */
		f.key = server_find(&f, name);
		f.section = json_get(f.root, str_of(f.key));
	}
	if (code == 0) {
		change(&f, name, NULL, out);
		code = finish(&f, name, NULL, out);
	}
	yaml_done(&f.yaml);
	return code;
}

int
edit_add(struct str text, const char *section, struct str name, struct str entry, bool force,
	 struct buf *out, struct err *e)
{
	struct buf without = BUF_INIT(LIMIT_CONFIG_BYTES);
	struct json_doc *doc = NULL;
	struct file f;
	int code = file_read(&f, text, section, e);

	bool there = code == 0 && server_find(&f, name);
	yaml_done(&f.yaml);
	if (there && !force)
		code = err_set(e, E_EXISTS, "there is a server '%.*s' already; --force replaces it",
			       STR_ARG(str_utf8_upto(name, 100)));
	if (code == 0 && there && (code = edit_remove(text, name, &without, e)) == 0)
		text = buf_str(&without);
	if (code == 0 && (code = json_parse(entry, &json_door, &doc, e)) == 0)
		code = step(text, section, name, json_root(doc), out, e);
	json_doc_unref(doc);
	buf_done(&without);
	return code;
}
