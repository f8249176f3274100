/* toolid.c - names that strangers chose made into ids, and ids taken apart. */

#include "catalog/toolid.h"

#include <stdlib.h>

#include "base/limits.h"
#include "json/canon.h"
#include "json/write.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

/* The grammar, and what to do about a text that is not in it. */
struct part {
	const char *what;
	const char *first; /* characters it may begin with, */
	const char *rest;  /* and go on with */
	size_t least, most;
	const char *lead; /* comes first where the first character may not */
	bool lower;
};

static const struct part part_ns = {"namespace", LOWER, LOWER DIGIT "_-", 1,
				    64,          "ns-", .lower = true};
static const struct part part_name = {"name", LOWER UPPER "_", LOWER UPPER DIGIT "_.-", 1, 128,
				      "_"};
static const struct part part_version = {
    "version", LOWER UPPER DIGIT "._-", LOWER UPPER DIGIT "._-", 1, 32, ""};
static const struct part part_hash8 = {"hash", DIGIT "abcdef", DIGIT "abcdef", 8, 8, ""};
static const struct part part_alias = {
    "alias", LOWER UPPER DIGIT "_-", LOWER UPPER DIGIT "_-", 1, ALIAS_MAX, ""};

#define PART_MOST 128

static bool
is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c);
}

static bool
part_fits(const struct part *p, struct str s)
{
	if (s.len < p->least || s.len > p->most || !is_one_of(s.ptr[0], p->first))
		return false;
	for (size_t i = 1; i < s.len; i++)
		if (!is_one_of(s.ptr[i], p->rest))
			return false;
	return true;
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The character of the grammar that stands for the one that text begins with. */
static char
part_char(const struct part *p, struct str text, bool *vague)
{
	char c = p->lower ? lower(text.ptr[0]) : text.ptr[0];

	if (is_one_of(c, p->rest))
		return c;
	if ((unsigned char)c >= 0x80)
		*vague = true;
	return c == '/' && is_one_of('.', p->rest) ? '.' : '_';
}

/* The first eight hex digits of the SHA-256 of two texts with a newline between. */
static int
hash_two(char out[static TOOLID_HASH8], struct str a, struct str b)
{
	struct buf both = BUF_INIT(a.len + b.len + 1);
	char digest[DIGEST_TEXT];
	int rc = 0;

	buf_add(&both, a);
	buf_addc(&both, '\n');
	buf_add(&both, b);
	digest_bytes(buf_str(&both), digest);
	memcpy(out, digest, TOOLID_HASH8 - 1);
	out[TOOLID_HASH8 - 1] = '\0';
	if (buf_failed(&both))
		rc = E_NOMEM;
	buf_done(&both);
	return rc;
}

/* "text-0123abcd": the text cut so that it fits, and the hash of both. */
static void
add_marked(struct buf *out, const struct part *p, struct str text, struct str a, struct str b)
{
	char hash[TOOLID_HASH8];

	if (hash_two(hash, a, b) < 0)
		out->failed = true;
	buf_add(out, str_upto(text, p->most - TOOLID_HASH8));
	buf_addc(out, '-');
	buf_addz(out, hash);
}

/* What the next character takes; a bad byte is one by itself. */
static size_t
char_len(struct str text)
{
	uint32_t c;
	size_t n = str_utf8_char(text, &c);

	return n ? n : 1;
}

static void
add_part(struct buf *out, const struct part *p, struct str text)
{
	char fitted[PART_MOST + 1];
	size_t len = 0;
	bool vague = false;

	CHECK(p->most <= PART_MOST);
	if (text.len == 0 || !is_one_of(part_char(p, text, &vague), p->first))
		for (const char *c = p->lead; *c; c++)
			fitted[len++] = *c;
	for (struct str at = text; at.len > 0 && len <= p->most; at = str_from(at, char_len(at)))
		fitted[len++] = part_char(p, at, &vague);
	if (len <= p->most && !vague)
		buf_add(out, (struct str){fitted, len});
	else
		add_marked(out, p, (struct str){fitted, len}, str_of(p->what), text);
}

/* Parsing and writing. */

static int
check_part(const struct part *p, struct str s, struct err *e)
{
	if (part_fits(p, s))
		return 0;
	struct str shown = str_utf8_upto(s, 80);
	return err_set(e, E_VALIDATION, "this is no tool id: its %s is '%.*s'%s", p->what,
		       STR_ARG(shown), shown.len < s.len ? "..." : "");
}

/* Take what follows the last `mark` off the end of *s; {NULL,0} when there is none. */
static struct str
take_behind(struct str *s, char mark)
{
	const char *at = s->len ? memrchr(s->ptr, mark, s->len) : NULL;
	struct str behind = {NULL, 0};

	if (at) {
		behind = str_from(*s, (size_t)(at + 1 - s->ptr));
		s->len = (size_t)(at - s->ptr);
	}
	return behind;
}

int
toolid_parse(struct str id, struct toolid *ret, struct err *e)
{
	ptrdiff_t colon = str_index(id, ':');
	int rc;

	if (id.len > TOOLID_MAX)
		return err_set(e, E_VALIDATION, "a tool id has at most %d characters", TOOLID_MAX);
	if (colon < 0)
		return err_set(e, E_VALIDATION, "this is no tool id: it has no ':'");
	struct toolid parts = {.ns = str_upto(id, (size_t)colon),
			       .name = str_from(id, (size_t)colon + 1)};
	parts.hash8 = take_behind(&parts.name, '#');
	parts.version = take_behind(&parts.name, '@');
	if ((rc = check_part(&part_ns, parts.ns, e)) < 0 ||
	    (rc = check_part(&part_name, parts.name, e)) < 0 ||
	    (parts.version.ptr && (rc = check_part(&part_version, parts.version, e)) < 0) ||
	    (parts.hash8.ptr && (rc = check_part(&part_hash8, parts.hash8, e)) < 0))
		return rc;
	*ret = parts;
	return 0;
}

void
toolid_format(struct buf *out, const struct toolid *parts)
{
	buf_add(out, parts->ns);
	buf_addc(out, ':');
	buf_add(out, parts->name);
	if (parts->version.ptr) {
		buf_addc(out, '@');
		buf_add(out, parts->version);
	}
	if (parts->hash8.ptr) {
		buf_addc(out, '#');
		buf_add(out, parts->hash8);
	}
}

/* Deriving. */

/* What stands before the first mark; with it, when something stands behind too, the rest. */
static bool
split_at(struct str name, char mark, struct str *ns, struct str *rest)
{
	ptrdiff_t at = str_index(name, mark);

	if (at <= 0)
		return false;
	*ns = str_upto(name, (size_t)at);
	if ((size_t)at + 1 < name.len)
		*rest = str_from(name, (size_t)at + 1);
	return true;
}

/* The first of at least three parts between "_", if it is not empty. */
static bool
first_of_three(struct str name, struct str *ns)
{
	ptrdiff_t first = str_index(name, '_');

	if (first <= 0 || str_index(str_from(name, (size_t)first + 1), '_') < 0)
		return false;
	*ns = str_upto(name, (size_t)first);
	return true;
}

/* Section 1.4: a dot or slash is dropped with what stands before it, a "_" is not. */
static void
infer(struct str upstream_name, struct str *ns, struct str *name)
{
	*name = upstream_name;
	if (!split_at(upstream_name, '.', ns, name) && !split_at(upstream_name, '/', ns, name) &&
	    !first_of_three(upstream_name, ns))
		*ns = S("mcp");
}

void
toolid_derive(struct buf *out, struct str upstream_name, struct str server, struct str version,
	      const struct json *schema)
{
	struct str ns, name;
	char hash[TOOLID_HASH8];

	infer(upstream_name, &ns, &name);
	if (server.len > 0) {
		/* "github.create_issue" of the server "github" says it twice. */
		if (!str_eq_nocase(ns, server))
			name = upstream_name;
		ns = server;
	}
	add_part(out, &part_ns, ns);
	buf_addc(out, ':');
	add_part(out, &part_name, name);
	if (version.len > 0) {
		buf_addc(out, '@');
		add_part(out, &part_version, version);
	} else if (toolid_hash8(hash, upstream_name, schema) == 0) {
		buf_addc(out, '#');
		buf_addz(out, hash);
	} else {
		out->failed = true;
	}
}

void
toolid_namespace(struct buf *out, struct str text)
{
	add_part(out, &part_ns, text);
}

static int
compare_strs(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* "key":[...] with the texts in order, which for UTF-8 is that of the code points. */
static int
write_sorted(struct jw *w, const char *key, const struct json *from, enum json_type type)
{
	size_t count = 0, all = json_is(from, type) ? json_len(from) : 0;
	struct str *texts = calloc(all + 1, sizeof(*texts));

	if (!texts)
		return E_NOMEM;
	for (struct json_iter it = json_iter(all ? from : NULL); json_next(&it);) {
		struct str text = type == JSON_OBJECT ? it.key : json_str(it.value);
		if (text.ptr)
			texts[count++] = text;
	}
	qsort(texts, count, sizeof(*texts), compare_strs);
	jw_key(w, key);
	jw_array(w);
	for (size_t i = 0; i < count; i++)
		jw_str(w, texts[i]);
	jw_end(w);
	free(texts);
	return 0;
}

#define SHAPE_BYTES (8 * LIMIT_JSON_BYTES) /* escapes make a text six times as long at most */

static int
write_shape(struct buf *out, const struct json *schema)
{
	struct jw w = jw(out);

	jw_object(&w);
	int rc = write_sorted(&w, "properties", json_get(schema, S("properties")), JSON_OBJECT);
	if (rc == 0)
		rc = write_sorted(&w, "required", json_get(schema, S("required")), JSON_ARRAY);
	jw_end(&w);
	return rc;
}

int
toolid_hash8(char out[static TOOLID_HASH8], struct str upstream_name, const struct json *schema)
{
	struct buf shape = BUF_INIT(SHAPE_BYTES), canonical = BUF_INIT(SHAPE_BYTES);
	struct json_doc *doc = NULL;
	int rc = write_shape(&shape, schema);

	if (rc == 0)
		rc = json_parse(buf_str(&shape), &(struct json_limits){SHAPE_BYTES, 8}, &doc, NULL);
	if (rc == 0) {
		canon_write(&canonical, json_root(doc), CANON_COMPACT);
		rc = hash_two(out, upstream_name, buf_str(&canonical));
	}
	json_doc_unref(doc);
	buf_done(&shape);
	buf_done(&canonical);
	return rc < 0 ? E_NOMEM : 0;
}

/* Aliases. */

/* "text-0123abcd" */
static bool
is_marked(struct str text)
{
	size_t kept = text.len > TOOLID_HASH8 ? text.len - TOOLID_HASH8 : 0;
	struct str mark = str_from(text, kept);

	return kept > 0 && mark.ptr[0] == '-' && part_fits(&part_hash8, str_from(mark, 1));
}

/*
 * In "a__b__c" the server ends at the first "__": it may hold none, nor end in "_". And what looks
 * like marked gets a mark of its own. Anything else would let one server take the name of
 * another's tool.
 */
static bool
is_clear(struct str server, struct str name)
{
	return part_fits(&part_alias, server) && part_fits(&part_alias, name) && !is_marked(name) &&
	       !memmem(server.ptr, server.len, "__", 2) && server.ptr[server.len - 1] != '_' &&
	       server.len + 2 + name.len <= ALIAS_MAX;
}

static void
add_alias_chars(struct buf *out, struct str text)
{
	bool vague;

	for (struct str at = text; at.len > 0; at = str_from(at, char_len(at)))
		buf_addc(out, part_char(&part_alias, at, &vague));
}

void
toolid_alias(struct buf *out, struct str server, struct str upstream_name, struct str id)
{
	struct buf plain = BUF_INIT(2 * ALIAS_MAX + 2);

	if (server.len == 0)
		server = str_upto(id, str_index(id, ':') > 0 ? (size_t)str_index(id, ':') : id.len);
	add_alias_chars(&plain, str_upto(server, ALIAS_MAX));
	buf_addz(&plain, "__");
	add_alias_chars(&plain, str_upto(upstream_name, ALIAS_MAX));
	if (is_clear(server, upstream_name))
		buf_add(out, buf_str(&plain));
	else
		add_marked(out, &part_alias, buf_str(&plain), server, upstream_name);
	out->failed = out->failed || buf_failed(&plain);
	buf_done(&plain);
}

size_t
toolid_names(struct str name, struct str server)
{
	struct buf any = BUF_INIT(2 * ALIAS_MAX);
	struct toolid id;
	size_t said = 0;

	if (toolid_parse(name, &id, NULL) == 0)
		return str_eq(id.ns, server) ? server.len : 0;
	toolid_alias(&any, server, S("x"), (struct str){NULL, 0});
	struct str alias = buf_str(&any);
	/* One that is marked ends otherwise: of such a name nothing can be said. */
	if (!buf_failed(&any) && str_ends(alias, S("__x")) &&
	    str_starts(name, str_upto(alias, alias.len - 1)))
		said = alias.len - 1;
	buf_done(&any);
	return said;
}
