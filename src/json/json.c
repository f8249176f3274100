/* json.c - parsing under limits, and reading what was parsed. */

#include "json/inside.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/spare.h"

struct json_doc {
	atomic_uint refs;
	size_t bytes; /* of this block */
	yyjson_doc *doc;
	char *lent; /* owned: where long strings stand (long.c); mostly NULL */
	size_t lent_bytes;
	char text[]; /* the values' strings point in here, each where it stood */
};

const struct json_limits json_door = {LIMIT_JSON_BYTES, LIMIT_JSON_DOOR_DEPTH};

/* ---- parsing ---- */

static int
err_at(struct err *e, struct str text, size_t pos, const char *reason)
{
	unsigned line = 1, column = 1;

	for (size_t i = 0; i < pos && i < text.len; i++) {
		if (text.ptr[i] == '\n')
			line++, column = 1;
		else if (((unsigned char)text.ptr[i] & 0xc0) != 0x80)
			column++;
	}
	return err_set(e, E_BAD_JSON, "line %u, column %u: %s", line, column, reason);
}

#define SHORT_TEXT (SPARE_MAX / 4) /* most of what comes; its values fit into a spare block */

/* yyjson does not say how large a block was when it gives it back: that stands before it. */
struct row_block {
	_Alignas(max_align_t) size_t bytes;
	_Alignas(max_align_t) char row[];
};

static struct row_block *
row_block_of(void *row)
{
	return (struct row_block *)(void *)((char *)row - sizeof(struct row_block));
}

static void *
row_get(void *ctx, size_t size)
{
	size_t bytes = sizeof(struct row_block) + size;
	struct row_block *b = size <= SIZE_MAX / 2 ? spare_get(bytes) : NULL;

	(void)ctx;
	if (!b)
		return NULL;
	b->bytes = bytes;
	return b->row;
}

static void
row_put(void *ctx, void *row)
{
	struct row_block *b = row ? row_block_of(row) : NULL;

	(void)ctx;
	if (b)
		spare_put(b, b->bytes);
}

static void *
row_resize(void *ctx, void *row, size_t old_size, size_t size)
{
	void *moved = row_get(ctx, size);

	if (!moved)
		return NULL;
	memcpy(moved, row, old_size < size ? old_size : size);
	row_put(ctx, row);
	return moved;
}

static const yyjson_alc row_memory = {row_get, row_resize, row_put, NULL};

int
json__read(struct str text, struct json_doc **ret, struct err *e)
{
	if (text.len == 0)
		return err_set(e, E_BAD_JSON, "there is no JSON, the text is empty");

	size_t bytes = sizeof(struct json_doc) + text.len + YYJSON_PADDING_SIZE;
	struct json_doc *doc = spare_get(bytes);
	if (!doc)
		return err_plain(e, E_NOMEM);
	doc->bytes = bytes;
	memcpy(doc->text, text.ptr, text.len);
	memset(doc->text + text.len, 0, YYJSON_PADDING_SIZE);
	atomic_init(&doc->refs, 1);
	doc->lent = NULL;

	yyjson_read_err wrong;
	bool is_short = text.len <= SHORT_TEXT;
	doc->doc =
	    yyjson_read_opts(doc->text, text.len, YYJSON_READ_INSITU | YYJSON_READ_BIGNUM_AS_RAW,
			     is_short ? &row_memory : NULL, &wrong);
	if (!doc->doc) {
		spare_put(doc, bytes);
		return wrong.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
			   ? err_plain(e, E_NOMEM)
			   : err_at(e, text, wrong.pos, wrong.msg);
	}
	json__keep_exact(doc->doc->root, doc->doc->val_read, doc->text, text);
	*ret = doc;
	return 0;
}

/* 0, E_BAD_JSON or E_NOMEM. */
static int
check_keys(yyjson_val *obj, const struct json **ret_twice)
{
	struct members m;
	bool few = unsafe_yyjson_get_len(obj) <= ARRAY_LEN(m.few);

	if (json__members(&m, obj, few ? NULL : json__quick_order) < 0)
		return E_NOMEM;
	yyjson_val *twice = NULL;
	for (size_t i = 1; i < m.count && !twice; i++)
		for (size_t k = few ? 0 : i - 1; k < i && !twice; k++)
			if (str_eq(json__text(m.keys[k]), json__text(m.keys[i])))
				twice = m.keys[i] > m.keys[k] ? m.keys[i] : m.keys[k];
	json__members_done(&m);
	if (!twice)
		return 0;
	*ret_twice = json__of(twice);
	return E_BAD_JSON;
}

/*
 * yyjson keeps a document as one row of values in reading order. So the walk is a loop
 * over that row, and depth is the number of containers whose end is still ahead.
 */
int
json__check(const struct json_doc *doc, unsigned max_depth, const struct json **ret_twice)
{
	const yyjson_val *ends[LIMIT_JSON_DEPTH];
	yyjson_val *v = doc->doc->root, *end = v + doc->doc->val_read;
	unsigned depth = 0;

	CHECK(max_depth <= LIMIT_JSON_DEPTH);
	for (; v < end; v++) {
		while (depth > 0 && v >= ends[depth - 1])
			depth--;
		if (!unsafe_yyjson_is_ctn(v))
			continue;
		if (depth == max_depth)
			return E_TOO_LARGE;
		ends[depth++] = unsafe_yyjson_get_next(v);
		int rc = unsafe_yyjson_is_obj(v) ? check_keys(v, ret_twice) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Quoted, and escaped also where JSON need not: nothing in it may control a terminal. */
static void
add_quoted(struct buf *out, struct str text)
{
	uint32_t c;

	buf_addc(out, '"');
	for (size_t n; (n = str_utf8_char(text, &c)) > 0; text = str_from(text, n)) {
		if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			buf_addf(out, "\\u%04x", c);
		else if (c == '"' || c == '\\')
			buf_addf(out, "\\%c", (int)c);
		else
			buf_add(out, str_upto(text, n));
	}
	buf_addc(out, '"');
}

static int
err_twice(struct err *e, struct str text, const struct json_doc *doc, const struct json *key)
{
	struct buf reason = BUF_INIT(512);
	struct str name = json__text(json__val(key));

	buf_addz(&reason, "the key ");
	add_quoted(&reason, str_utf8_upto(name, 64));
	buf_addz(&reason, " is given twice");
	const char *z = buf_z(&reason);
	/* In place: the key still begins where it stood, one behind its quote. */
	int rc =
	    err_at(e, text, (size_t)(name.ptr - doc->text) - 1, z ? z : "a key is given twice");
	buf_done(&reason);
	return rc;
}

int
json_parse(struct str text, const struct json_limits *limits, struct json_doc **ret, struct err *e)
{
	struct json_doc *doc = NULL;
	const struct json *twice = NULL;

	if (text.len > limits->max_bytes)
		return err_set(e, E_TOO_LARGE, "%zu bytes of JSON, at most %zu are taken", text.len,
			       limits->max_bytes);
	int rc = json__read(text, &doc, e);
	if (rc < 0)
		return rc;
	CHECK(doc);
	rc = json__check(doc, limits->max_depth, &twice);
	if (rc == 0) {
		*ret = doc;
		return 0;
	}
	if (rc == E_TOO_LARGE)
		err_set(e, rc, "JSON nested more than %u levels deep", limits->max_depth);
	else if (rc == E_BAD_JSON)
		err_twice(e, text, doc, twice);
	else
		err_plain(e, rc);
	json_doc_unref(doc);
	return rc;
}

/* The rest of a text whose long strings were taken out; they come back before anybody looks. */
static int
parse_rest(struct buf *text, const struct long_strings *ls, const struct json_limits *limits,
	   struct json_doc **ret)
{
	const struct json *twice;
	struct json_doc *doc = NULL;
	int rc = json__read(buf_str(&ls->rest), &doc, NULL);

	if (rc < 0)
		return rc;
	CHECK(doc);
	json__long_put_back(ls, doc->doc->root, doc->doc->val_read);
	rc = json__check(doc, limits->max_depth, &twice);
	if (rc < 0) {
		json_doc_unref(doc);
		return rc;
	}
	doc->lent_bytes = text->cap;
	doc->lent = buf_take(text).ptr;
	*ret = doc;
	return 0;
}

bool
json_text_take(struct json_doc **at, const struct json *v, struct buf *ret)
{
	struct json_doc *doc = *at;
	const yyjson_val *s = json__val(v);

	if (!v || !doc->lent || atomic_load(&doc->refs) != 1 || !yyjson_is_str((yyjson_val *)s) ||
	    unsafe_yyjson_get_subtype((yyjson_val *)s) != YYJSON_SUBTYPE_NOESC)
		return false;
	struct str text = json__text(s);
	if (text.ptr < doc->lent || text.ptr >= doc->lent + doc->lent_bytes)
		return false;
	uint32_t before = (uint32_t)(text.ptr - doc->lent);
	*ret = (struct buf){.ptr = doc->lent + before,
			    .len = text.len,
			    .cap = doc->lent_bytes - before,
			    .max = ret->max,
			    .before = before};
	doc->lent = NULL;
	json_doc_unref(doc);
	*at = NULL;
	return true;
}

int
json_parse_buf(struct buf *text, const struct json_limits *limits, struct json_doc **ret,
	       struct err *e)
{
	struct long_strings ls;
	int rc = E_BAD_JSON;

	if (text->len >= LONG_TEXT && text->len <= limits->max_bytes && !text->before) {
		if (json__long_take_out(&ls, buf_str(text)))
			rc = parse_rest(text, &ls, limits, ret);
		buf_done(&ls.rest);
	}
	/* Whatever was wrong, the whole text says it better. */
	return rc == 0 ? 0 : json_parse(buf_str(text), limits, ret, e);
}

struct json_doc *
json_doc_ref(struct json_doc *doc)
{
	atomic_fetch_add_explicit(&doc->refs, 1, memory_order_relaxed);
	return doc;
}

void
json_doc_unref(struct json_doc *doc)
{
	if (!doc || atomic_fetch_sub_explicit(&doc->refs, 1, memory_order_acq_rel) != 1)
		return;
	yyjson_doc_free(doc->doc);
	spare_put(doc->lent, doc->lent_bytes);
	spare_put(doc, doc->bytes);
}

size_t
json_doc_bytes(const struct json_doc *doc)
{
	return doc ? doc->bytes + yyjson_doc_get_val_count(doc->doc) * sizeof(yyjson_val) : 0;
}

const struct json *
json_root(const struct json_doc *doc)
{
	return json__of(doc->doc->root);
}

size_t
json_order(const struct json_doc *doc, const struct json *v)
{
	size_t order = (size_t)(json__val(v) - doc->doc->root);

	CHECK(order < doc->doc->val_read);
	return order;
}

/* ---- the members of an object in some order ---- */

int
json__members(struct members *m, yyjson_val *obj, key_order *order)
{
	m->count = unsafe_yyjson_get_len(obj);
	m->keys = m->few;
	if (m->count > ARRAY_LEN(m->few))
		m->keys = malloc(m->count * sizeof(*m->keys));
	if (!m->keys)
		return E_NOMEM;
	yyjson_val *key = unsafe_yyjson_get_first(obj);
	for (size_t i = 0; i < m->count; i++, key = unsafe_yyjson_get_next(key + 1))
		m->keys[i] = key;
	if (order)
		qsort(m->keys, m->count, sizeof(*m->keys), order);
	return 0;
}

void
json__members_done(struct members *m)
{
	if (m->keys != m->few)
		free(m->keys);
}

int
json__quick_order(const void *a, const void *b)
{
	struct str x = json__text(*(yyjson_val *const *)a), y = json__text(*(yyjson_val *const *)b);

	if (x.len != y.len)
		return x.len < y.len ? -1 : 1;
	return memcmp(x.ptr, y.ptr, x.len);
}

/* ---- reading ---- */

enum json_type
json_type(const struct json *v)
{
	switch (yyjson_get_type(json__val(v))) {
	case YYJSON_TYPE_NULL: return JSON_NULL;
	case YYJSON_TYPE_BOOL: return JSON_BOOL;
	case YYJSON_TYPE_NUM:
	case YYJSON_TYPE_RAW: return JSON_NUMBER;
	case YYJSON_TYPE_STR: return JSON_STRING;
	case YYJSON_TYPE_ARR: return JSON_ARRAY;
	case YYJSON_TYPE_OBJ: return JSON_OBJECT;
	}
	BUG("a value of no type");
}

const char *
json_type_name(enum json_type t)
{
	static const char *const names[] = {
	    [JSON_NULL] = "null",     [JSON_BOOL] = "boolean", [JSON_NUMBER] = "number",
	    [JSON_STRING] = "string", [JSON_ARRAY] = "array",  [JSON_OBJECT] = "object",
	};

	CHECK((size_t)t < ARRAY_LEN(names));
	return names[t];
}

bool
json_is(const struct json *v, enum json_type t)
{
	return v && json_type(v) == t;
}

bool
json_bool(const struct json *v)
{
	return yyjson_is_true(json__val(v));
}

struct str
json_str(const struct json *v)
{
	return yyjson_is_str(json__val(v)) ? json__text(json__val(v)) : (struct str){NULL, 0};
}

struct str
json_big(const struct json *v)
{
	return yyjson_is_raw(json__val(v)) ? json__text(json__val(v)) : (struct str){NULL, 0};
}

bool
json_int(const struct json *v, int64_t *ret)
{
	yyjson_val *n = json__val(v);
	__int128 wide;

	if (yyjson_is_raw(n)) {
		if (!json__decimal_int(json__text(n), &wide) || wide < INT64_MIN ||
		    wide > INT64_MAX)
			return false;
		*ret = (int64_t)wide;
		return true;
	}
	if (yyjson_is_sint(n) || (yyjson_is_uint(n) && n->uni.u64 <= INT64_MAX)) {
		*ret = n->uni.i64;
		return true;
	}
	if (!yyjson_is_real(n) || n->uni.f64 != trunc(n->uni.f64) || fabs(n->uni.f64) >= 0x1p63)
		return false;
	*ret = (int64_t)n->uni.f64;
	return true;
}

bool
json_double(const struct json *v, double *ret)
{
	yyjson_val *n = json__val(v);

	if (!json_is(v, JSON_NUMBER))
		return false;
	/* The text of a number is followed by a NUL or by what cannot belong to it. */
	*ret = yyjson_is_raw(n) ? strtod(n->uni.str, NULL) : yyjson_get_num(n);
	return true;
}

size_t
json_len(const struct json *v)
{
	return yyjson_is_ctn(json__val(v)) ? unsafe_yyjson_get_len(json__val(v)) : 0;
}

const struct json *
json_get(const struct json *obj, struct str key)
{
	return json__of(yyjson_obj_getn(json__val(obj), key.ptr, key.len));
}

const struct json *
json_at(const struct json *arr, size_t i)
{
	return json__of(yyjson_arr_get(json__val(arr), i));
}

struct json_iter
json_iter(const struct json *v)
{
	yyjson_val *ctn = json__val(v);

	if (!yyjson_is_ctn(ctn))
		return (struct json_iter){0};
	return (struct json_iter){.at = json__of(unsafe_yyjson_get_first(ctn)),
				  .left = unsafe_yyjson_get_len(ctn),
				  .object = unsafe_yyjson_is_obj(ctn)};
}

bool
json_next(struct json_iter *it)
{
	if (it->left == 0)
		return false;
	it->left--;
	yyjson_val *at = json__val(it->at);
	if (it->object)
		it->key = json__text(at++);
	it->value = json__of(at);
	it->at = json__of(unsafe_yyjson_get_next(at));
	return true;
}
