/*
 * known.c - what is remembered of one upstream: its lists, its era, and the pins of its tools.
 *
 * A tool is accepted as it is first seen. Its pin is the digest of its whole definition. When the
 * upstream defines it otherwise later, what was accepted still counts, and the other is shown
 * beside it until a person takes it. One that has never been fit to be listed (shape.h) was never
 * offered: nobody has accepted it, and it is new until it is. A tool that goes keeps its pin, or it
 * could come back as another unnoticed. Where there is no room for all of it, definitions of what
 * has gone are forgotten first, and then nothing new is taken; pins never are.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "mcp/shape.h"
#include "upstream/inside.h"

#define FILE_VERSION 1
#define FILE_NAME_BYTES 200 /* file systems take 255, and there is a suffix */

/* What is written can be read again: the shelf, the other lists, what the server says of itself,
 * and the words around them. */
_Static_assert(LIMIT_UPSTREAM_SHELF + (LIST__COUNT - 1) * LIMIT_UPSTREAM_LIST_BYTES +
		       LIMIT_JSON_BYTES + 64 * KIB <=
		   LIMIT_UPSTREAM_KNOWN,
	       "what is known of a server may not fit into its file");

static const char *const list_keys[LIST__COUNT] = {"tools", "prompts", "resources", "templates"};

/* ---- pieces ---- */

/* What was replaced and may still be read. */
struct trash {
	struct trash *next;
	struct json_doc *doc;
	struct upstream_tool *tools;
};

/* Consumes both. Out of memory it is never given back: better than too early. */
static void
throw_away(struct known *k, struct json_doc *doc, struct upstream_tool *tools)
{
	struct trash *t = doc || tools ? calloc(1, sizeof(*t)) : NULL;

	if (!t)
		return;
	*t = (struct trash){k->trash, doc, tools};
	k->trash = t;
}

void
known__sweep(struct known *k)
{
	while (k->trash) {
		struct trash *t = k->trash;
		k->trash = t->next;
		json_doc_unref(t->doc);
		free(t->tools);
		free(t);
	}
}

/* doc: a reference, consumed. */
static void
piece_set(struct known *k, struct piece *p, struct json_doc *doc, const struct json *value)
{
	throw_away(k, p->doc, NULL);
	*p = (struct piece){doc, value};
}

static int
piece_parse(struct known *k, struct piece *p, struct buf *text, struct err *e)
{
	const struct json_limits limits = {LIMIT_UPSTREAM_KNOWN, LIMIT_JSON_DEPTH};
	struct json_doc *doc;
	int rc = buf_failed(text) ? err_plain(e, E_TOO_LARGE)
				  : json_parse(buf_str(text), &limits, &doc, e);

	if (rc == 0)
		piece_set(k, p, doc, json_root(doc));
	return rc;
}

void
known__done(struct known *k)
{
	known__sweep(k);
	json_doc_unref(k->about.doc);
	json_doc_unref(k->shelf.doc);
	for (int i = 0; i < LIST__COUNT; i++)
		json_doc_unref(k->lists[i].doc);
	free(k->tools);
	*k = (struct known){0};
}

void
known__inherit(struct known *k, struct known *from)
{
	known__done(k);
	*k = *from;
	k->trash = NULL;
	k->tools = NULL;
	/* The other may still be read: it keeps its own references. */
	if (k->about.doc)
		json_doc_ref(k->about.doc);
	if (k->shelf.doc)
		json_doc_ref(k->shelf.doc);
	for (int i = 0; i < LIST__COUNT; i++)
		if (k->lists[i].doc)
			json_doc_ref(k->lists[i].doc);
	k->tools = from->count ? calloc(from->count, sizeof(*k->tools)) : NULL;
	k->count = k->tools ? from->count : 0;
	if (k->tools)
		memcpy(k->tools, from->tools, k->count * sizeof(*k->tools));
}

/* ---- the shelf ---- */

/* A tool while shelves are exchanged. */
struct row {
	struct str name;
	char pin[DIGEST_TEXT];       /* of what is accepted; "": never seen before */
	const struct json *accepted; /* NULL: it is not kept */
	const struct json *now;      /* what the upstream says; NULL: it has none of that name */
	bool is_new;                 /* its pin is of now */
	bool unfit;                  /* so was all that was ever accepted of it */
};

struct rows {
	struct row *at;
	size_t count, cap;
};

static int
row_order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = str_cmp(x->name, y->name);

	if (order == 0)
		order = (y->pin[0] != '\0') - (x->pin[0] != '\0');
	return order ? order : (x->now > y->now) - (x->now < y->now);
}

static bool
is_unfit(const struct json *definition)
{
	struct err why;

	return shape_check(SHAPE_TOOL, definition, &why) < 0;
}

/* `offered`: as it is now; else what it is now is added by the caller. */
static void
rows_add_old(struct rows *rs, const struct known *k, bool offered)
{
	for (size_t i = 0; i < k->count; i++) {
		const struct upstream_tool *t = &k->tools[i];
		/* A mark alone does not count: what is fit has been offered by now. */
		bool unfit = t->unfit && is_unfit(t->definition);

		if (unfit && !offered)
			continue; /* it is as if it had not been seen */
		struct row *r = &rs->at[rs->count++];
		r->unfit = unfit;
		r->name = t->name;
		r->accepted = t->definition;
		memcpy(r->pin, t->pin, sizeof(r->pin));
		if (offered)
			r->now = t->changed ? t->changed : t->definition;
	}
	const struct json *gone = json_get(k->shelf.value, S("gone"));
	for (struct json_iter it = json_iter(gone); json_next(&it);) {
		struct row *r = &rs->at[rs->count++];

		r->name = json_str(json_get(it.value, S("name")));
		r->accepted = json_get(it.value, S("definition"));
		snprintf(r->pin, sizeof(r->pin), "%.*s",
			 STR_ARG(json_str(json_get(it.value, S("pin")))));
	}
}

/* Those of one name become one; of two that are offered the first counts. */
static void
rows_join(struct rows *rs)
{
	size_t kept = 0;

	if (rs->count > 0)
		qsort(rs->at, rs->count, sizeof(*rs->at), row_order);
	for (size_t i = 0; i < rs->count; i++) {
		struct row *last = kept ? &rs->at[kept - 1] : NULL;

		if (last && str_eq(last->name, rs->at[i].name)) {
			if (!last->now)
				last->now = rs->at[i].now;
			continue;
		}
		rs->at[kept++] = rs->at[i];
	}
	rs->count = kept;
}

/* First sight is acceptance, as long as there is room for its pin. What is again as it was is what
 * was accepted, whether that was kept or not. */
static int
rows_settle(struct rows *rs, struct err *e)
{
	size_t pins = 0;

	for (size_t i = 0; i < rs->count; i++)
		pins += rs->at[i].pin[0] != '\0';
	for (size_t i = 0; i < rs->count; i++) {
		struct row *r = &rs->at[i];
		char pin[DIGEST_TEXT];

		if (!r->now || (!r->pin[0] && pins >= LIMIT_UPSTREAM_PINS))
			continue;
		int rc = digest_value(r->now, CANON_JCS, pin, e);
		if (rc < 0)
			return rc;
		r->is_new = !r->pin[0];
		pins += r->is_new;
		if (r->is_new) {
			memcpy(r->pin, pin, sizeof(pin));
			r->unfit = is_unfit(r->now);
		}
		if (memcmp(r->pin, pin, sizeof(pin)) == 0)
			r->accepted = r->now;
	}
	return 0;
}

/* How much of it there is room for: each leaves out more than the one before. */
enum keeping {
	KEEP_ALL,
	KEEP_PINS, /* of what has gone */
	KEEP_OLD,  /* and nothing is new */
	KEEP__COUNT
};

static bool
is_listed(const struct row *r, enum keeping keep)
{
	return r->now && r->pin[0] && !(r->is_new && keep == KEEP_OLD);
}

/* What was accepted, or what stands for it: it is called only when a person has taken another. */
static void
row_write_tool(struct jw *w, const struct row *r)
{
	if (r->accepted) {
		jw_value(w, r->accepted);
		return;
	}
	jw_object(w);
	jw_member(w, "name", r->name);
	jw_member_z(w, "description", "(what was accepted is no longer kept)");
	jw_key(w, "inputSchema"), jw_raw(w, S("{\"type\":\"object\"}"));
	jw_end(w);
}

static void
row_write_pin(struct jw *w, const struct row *r)
{
	jw_object(w);
	jw_member(w, "name", r->name);
	jw_member_z(w, "pin", r->pin);
	if (r->unfit)
		jw_member_bool(w, "unfit", true);
	if (r->now != r->accepted)
		jw_key(w, "changed"), jw_value(w, r->now);
	jw_end(w);
}

static void
row_write_gone(struct jw *w, const struct row *r, enum keeping keep)
{
	jw_object(w);
	jw_member(w, "name", r->name);
	jw_member_z(w, "pin", r->pin);
	if (r->accepted && keep == KEEP_ALL)
		jw_key(w, "definition"), jw_value(w, r->accepted);
	jw_end(w);
}

static void
rows_write(const struct rows *rs, enum keeping keep, struct buf *out)
{
	struct jw w = jw(out);

	jw_object(&w);
	jw_key(&w, "tools"), jw_array(&w);
	for (size_t i = 0; i < rs->count; i++)
		if (is_listed(&rs->at[i], keep))
			row_write_tool(&w, &rs->at[i]);
	jw_end(&w);
	jw_key(&w, "pins"), jw_array(&w);
	for (size_t i = 0; i < rs->count; i++)
		if (is_listed(&rs->at[i], keep))
			row_write_pin(&w, &rs->at[i]);
	jw_end(&w);
	jw_key(&w, "gone"), jw_array(&w);
	for (size_t i = 0; i < rs->count; i++)
		if (!rs->at[i].now)
			row_write_gone(&w, &rs->at[i], keep);
	jw_end(&w);
	jw_end(&w);
}

static bool
pin_is_good(struct str pin)
{
	return pin.len == DIGEST_TEXT - 1 && strspn(pin.ptr, "0123456789abcdef") >= pin.len;
}

static int
tool_read(struct upstream_tool *t, const struct json *definition, const struct json *pin)
{
	struct str digest = json_str(json_get(pin, S("pin")));

	t->name = json_str(json_get(definition, S("name")));
	t->definition = definition;
	t->changed = json_get(pin, S("changed"));
	t->unfit = json_bool(json_get(pin, S("unfit")));
	if (!t->name.ptr || !str_eq(t->name, json_str(json_get(pin, S("name")))) ||
	    !pin_is_good(digest) || (t->changed && !json_is(t->changed, JSON_OBJECT)))
		return E_BAD_REQUEST;
	memcpy(t->pin, digest.ptr, digest.len);
	return 0;
}

static bool
gone_is_good(const struct json *gone)
{
	const struct json *definition = json_get(gone, S("definition"));

	return pin_is_good(json_str(json_get(gone, S("pin")))) &&
	       json_str(json_get(gone, S("name"))).ptr &&
	       (!definition || json_is(definition, JSON_OBJECT));
}

/* The tools of a shelf, which may come from a file that somebody has touched. */
static int
shelf_read(const struct json *shelf, struct upstream_tool **ret, size_t *ret_count, struct err *e)
{
	const struct json *tools = json_get(shelf, S("tools")), *pins = json_get(shelf, S("pins"));
	size_t count = json_len(tools), i = 0;
	struct upstream_tool *at = calloc(count + 1, sizeof(*at));
	int rc = at ? 0 : err_plain(e, E_NOMEM);

	struct json_iter t = json_iter(tools), p = json_iter(pins);
	if (rc == 0 && (!json_is(tools, JSON_ARRAY) || count != json_len(pins)))
		rc = E_BAD_REQUEST;
	for (; rc == 0 && json_next(&t) && json_next(&p); i++) {
		rc = tool_read(&at[i], t.value, p.value);
		if (i > 0 && str_cmp(at[i - 1].name, at[i].name) >= 0)
			rc = E_BAD_REQUEST;
	}
	for (struct json_iter g = json_iter(json_get(shelf, S("gone"))); rc == 0 && json_next(&g);)
		if (!gone_is_good(g.value))
			rc = E_BAD_REQUEST;
	if (rc < 0) {
		free(at);
		return rc == E_BAD_REQUEST ? err_set(e, rc, "the tools in it make no sense") : rc;
	}
	*ret = at;
	*ret_count = count;
	return 0;
}

static void
shelf_take(struct known *k, struct upstream_tool *tools, size_t count)
{
	throw_away(k, NULL, k->tools);
	k->tools = tools;
	k->count = count;
	k->changed = 0;
	for (size_t i = 0; i < count; i++)
		k->changed += tools[i].changed != NULL;
}

/* As much of it as there is room for. */
static int
shelf_parse(const struct rows *rs, struct json_doc **ret, struct err *e)
{
	const struct json_limits limits = {LIMIT_UPSTREAM_SHELF, LIMIT_JSON_DEPTH};
	int rc = err_plain(e, E_TOO_LARGE);

	for (int keep = KEEP_ALL; rc == E_TOO_LARGE && keep < KEEP__COUNT; keep++) {
		struct buf text = BUF_INIT(LIMIT_UPSTREAM_SHELF);

		rows_write(rs, (enum keeping)keep, &text);
		if (!buf_failed(&text))
			rc = json_parse(buf_str(&text), &limits, ret, e);
		buf_done(&text);
		if (rc == 0 && json_doc_bytes(*ret) > LIMIT_UPSTREAM_SHELF_RAM) {
			json_doc_unref(*ret);
			*ret = NULL;
			rc = err_plain(e, E_TOO_LARGE);
		}
	}
	return rc;
}

/* rows: joined and settled. */
static int
shelf_build(struct known *k, const struct rows *rs, bool *ret_new, struct err *e)
{
	struct json_doc *doc = NULL;
	struct upstream_tool *tools = NULL;
	size_t count = 0;
	int rc = shelf_parse(rs, &doc, e);

	*ret_new = rc == 0 && (!k->shelf.value || !json_equal(k->shelf.value, json_root(doc)));
	if (rc == 0 && *ret_new)
		rc = shelf_read(json_root(doc), &tools, &count, e);
	if (rc < 0 || !*ret_new) {
		json_doc_unref(doc);
		return rc;
	}
	piece_set(k, &k->shelf, doc, json_root(doc));
	shelf_take(k, tools, count);
	return 0;
}

static int
rows_init(struct rows *rs, const struct known *k, size_t more, struct err *e)
{
	rs->count = 0;
	rs->cap = k->count + json_len(json_get(k->shelf.value, S("gone"))) + more;
	rs->at = calloc(rs->cap + 1, sizeof(*rs->at));
	return rs->at ? 0 : err_plain(e, E_NOMEM);
}

static int
tools_take(struct known *k, const struct json *array, bool *ret_new, struct err *e)
{
	struct rows rs;
	size_t offered = 0;
	int rc = rows_init(&rs, k, json_len(array), e);

	if (rc < 0)
		return rc;
	rows_add_old(&rs, k, false);
	for (struct json_iter it = json_iter(array); json_next(&it);)
		rs.at[rs.count++] =
		    (struct row){.name = json_str(json_get(it.value, S("name"))), .now = it.value};
	rows_join(&rs);
	rc = rows_settle(&rs, e);
	if (rc == 0)
		rc = shelf_build(k, &rs, ret_new, e);
	for (size_t i = 0; i < rs.count; i++)
		offered += rs.at[i].now != NULL;
	if (rc == 0 || rc == E_TOO_LARGE)
		k->left_out = offered - (rc == 0 ? k->count : 0);
	free(rs.at);
	return rc;
}

int
known__take(struct known *k, enum upstream_list which, struct str array, bool *ret_new,
	    struct err *e)
{
	const struct json_limits limits = {LIMIT_UPSTREAM_KNOWN, LIMIT_JSON_DEPTH};
	struct json_doc *doc;
	int rc = json_parse(array, &limits, &doc, e);

	if (rc < 0)
		return rc;
	if (which == LIST_TOOLS) {
		rc = tools_take(k, json_root(doc), ret_new, e);
		*ret_new |= rc == 0 && !k->seen;
		k->seen |= rc == 0;
		json_doc_unref(doc);
		return rc;
	}
	const struct json *old = k->lists[which].value;
	*ret_new = old ? !json_equal(old, json_root(doc)) : json_len(json_root(doc)) > 0;
	if (*ret_new)
		piece_set(k, &k->lists[which], doc, json_root(doc));
	else
		json_doc_unref(doc);
	return 0;
}

int
known__accept(struct known *k, struct str tool, struct err *e)
{
	struct rows rs;
	bool new, any = false;
	int rc = rows_init(&rs, k, 0, e);

	if (rc < 0)
		return rc;
	rows_add_old(&rs, k, true);
	rows_join(&rs);
	for (size_t i = 0; i < rs.count && rc == 0; i++) {
		struct row *r = &rs.at[i];
		if (!r->now || r->now == r->accepted || (tool.ptr && !str_eq(tool, r->name)))
			continue;
		r->accepted = r->now;
		rc = digest_value(r->now, CANON_JCS, r->pin, e);
		any = true;
	}
	if (rc == 0 && !any && tool.ptr)
		rc = err_set(e, E_NOT_FOUND, "there is no changed tool \"%.*s\"",
			     STR_ARG(str_utf8_upto(tool, 100)));
	if (rc == 0 && any)
		rc = shelf_build(k, &rs, &new, e);
	free(rs.at);
	return rc;
}

const struct upstream_tool *
known__tool(struct known *k, struct str name)
{
	size_t low = 0, high = k->count;

	if (k->found < k->count && str_eq(k->tools[k->found].name, name))
		return &k->tools[k->found];
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = str_cmp(k->tools[mid].name, name);
		if (order == 0)
			return &k->tools[k->found = mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

int
known__about(struct known *k, const char *protocol, const struct json *server,
	     const struct json *capabilities, struct str instructions, struct err *e)
{
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES);
	struct jw w = jw(&text);

	jw_object(&w);
	jw_member_z(&w, "protocol", protocol);
	if (json_is(server, JSON_OBJECT))
		jw_key(&w, "server"), jw_value(&w, server);
	jw_key(&w, "capabilities");
	if (json_is(capabilities, JSON_OBJECT))
		jw_value(&w, capabilities);
	else
		jw_raw(&w, S("{}"));
	if (instructions.ptr)
		jw_member(&w, "instructions", instructions);
	jw_end(&w);
	int rc = piece_parse(k, &k->about, &text, e);
	buf_done(&text);
	return rc;
}

/* ---- the file ---- */

/* Letters, digits, '_' and '-' stand for themselves, and '.' but at the beginning; the rest is
 * %XX. A long name ends in its digest. */
int
known__path(const char *dir, struct str name, char out[static LIMIT_PATH], struct err *e)
{
	struct buf file = BUF_INIT(4 * KIB);

	for (size_t i = 0; i < name.len && file.len < FILE_NAME_BYTES; i++) {
		unsigned char c = (unsigned char)name.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '_' || c == '-' || (c == '.' && i > 0);
		if (plain)
			buf_addc(&file, (char)c);
		else
			buf_addf(&file, "%%%02X", c);
	}
	if (file.len >= FILE_NAME_BYTES || file.len == 0) {
		char digest[DIGEST_TEXT];
		digest_bytes(name, digest);
		file.len = file.len < 100 ? file.len : 100;
		buf_addf(&file, "~%s", digest);
	}
	int n = snprintf(out, LIMIT_PATH, "%s/%s.json", dir, buf_failed(&file) ? "" : buf_z(&file));
	buf_done(&file);
	if (n < 0 || n >= LIMIT_PATH)
		return err_set(e, E_CONFIG, "the path of the state directory is too long");
	return 0;
}

void
known__write(const struct known *k, struct str name, struct str of, struct buf *out)
{
	struct jw w = jw(out);

	jw_object(&w);
	jw_member_int(&w, "version", FILE_VERSION);
	jw_member(&w, "name", name);
	jw_member(&w, "of", of);
	jw_member_bool(&w, "seen", k->seen);
	if (k->has_era) {
		jw_member_z(&w, "era", mcp_era_name(k->era));
		jw_member_int(&w, "era_at", k->era_at);
	}
	if (k->about.value)
		jw_key(&w, "about"), jw_value(&w, k->about.value);
	if (k->shelf.value)
		jw_key(&w, "shelf"), jw_value(&w, k->shelf.value);
	for (int i = LIST_PROMPTS; i < LIST__COUNT; i++)
		if (k->lists[i].value)
			jw_key(&w, list_keys[i]), jw_value(&w, k->lists[i].value);
	jw_end(&w);
	buf_addc(out, '\n');
}

static int
file_read(const char *path, struct buf *out, struct err *e)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(e, E_SYSTEM, errno, "open");
	bool whole = file_slurp(fd, out);
	int errnum = errno;
	close(fd);
	if (whole)
		return 0;
	return buf_failed(out) ? err_plain(e, E_TOO_LARGE) : err_errno(e, E_SYSTEM, errnum, "read");
}

static void
era_read(struct known *k, const struct json *root, struct str of)
{
	struct str era = json_str(json_get(root, S("era"))),
		   said = json_str(json_get(root, S("of")));

	k->has_era = era.ptr && said.ptr && str_eq(said, of) &&
		     json_int(json_get(root, S("era_at")), &k->era_at);
	k->era = era.ptr && str_is(era, mcp_era_name(ERA_MODERN)) ? ERA_MODERN : ERA_LEGACY;
}

static void
piece_share(struct piece *p, struct json_doc *doc, const struct json *value, enum json_type t)
{
	if (json_is(value, t))
		*p = (struct piece){json_doc_ref(doc), value};
}

static int
root_read(struct known *k, struct json_doc *doc, struct str of, struct err *e)
{
	const struct json *root = json_root(doc), *shelf = json_get(root, S("shelf"));
	int64_t version = 0;
	int rc;

	if (!json_int(json_get(root, S("version")), &version) || version != FILE_VERSION)
		return err_set(e, E_BAD_REQUEST, "it is of another version");
	if (shelf) {
		struct upstream_tool *tools;
		size_t count;
		if ((rc = shelf_read(shelf, &tools, &count, e)) < 0)
			return rc;
		piece_share(&k->shelf, doc, shelf, JSON_OBJECT);
		shelf_take(k, tools, count);
	}
	k->seen = json_bool(json_get(root, S("seen"))) && shelf;
	era_read(k, root, of);
	piece_share(&k->about, doc, json_get(root, S("about")), JSON_OBJECT);
	for (int i = LIST_PROMPTS; i < LIST__COUNT; i++)
		piece_share(&k->lists[i], doc, json_get(root, str_of(list_keys[i])), JSON_ARRAY);
	return 0;
}

int
known__load(struct known *k, const char *path, struct str of, struct err *e)
{
	const struct json_limits limits = {LIMIT_UPSTREAM_KNOWN, LIMIT_JSON_DEPTH};
	struct buf text = BUF_INIT(LIMIT_UPSTREAM_KNOWN);
	struct json_doc *doc = NULL;
	int rc = file_read(path, &text, e);

	if (rc == 0 && text.len > 0)
		rc = json_parse(buf_str(&text), &limits, &doc, e);
	buf_done(&text);
	if (rc < 0 || !doc)
		return rc;
	rc = root_read(k, doc, of, e);
	json_doc_unref(doc);
	return rc;
}
