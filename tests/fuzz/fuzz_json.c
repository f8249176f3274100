/*
 * fuzz_json.c - any bytes as JSON: what is taken is written and read again without a change, and
 * the limits hold to the byte and to the level.
 */

#include "fuzz.h"
#include "json/peek.h"
#include "json/write.h"

/* The quick way of reading says what the other says. Answers how deep it goes. */
static unsigned
walk(const struct json *v)
{
	unsigned below = 0;
	const struct json *at = peek_first(v);

	CHECK(peek_type(v) == json_type(v));
	CHECK(json_equal(v, v));
	if (json_is(v, JSON_STRING))
		CHECK(str_eq(peek_str(v), json_str(v)) && str_is_utf8(json_str(v)));
	for (struct json_iter it = json_iter(v); json_next(&it);) {
		if (json_is(v, JSON_OBJECT)) {
			CHECK(str_eq(peek_str(at), it.key));
			CHECK(json_get(v, it.key) == it.value); /* no key twice */
			at = peek_value(at);
		}
		CHECK(at == it.value);
		unsigned depth = walk(it.value);
		below = depth > below ? depth : below;
		at = peek_next(at);
	}
	return json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT) ? below + 1 : below;
}

static void
check_limits(struct str text, unsigned depth)
{
	const struct {
		struct json_limits limits;
		int rc;
	} rows[] = {
	    {{text.len, depth}, 0},
	    {{text.len - 1, depth}, E_TOO_LARGE},
	    {{text.len, depth - 1}, E_TOO_LARGE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows) - (depth == 0); i++) {
		struct json_doc *doc = NULL;
		CHECK(json_parse(text, &rows[i].limits, &doc, NULL) == rows[i].rc);
		json_doc_unref(doc);
	}
}

static struct buf
written(const struct json *v)
{
	struct buf out = BUF_INIT(LIMIT_JSON_BYTES);
	struct jw w = jw(&out);

	jw_value(&w, v);
	CHECK(!buf_failed(&out));
	return out;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = {(const char *)bytes, size};
	struct json_doc *doc = size > 64 * KIB ? NULL : fuzz_parse(text);

	if (!doc)
		return 0;
	check_limits(text, walk(json_root(doc)));
	struct buf once = written(json_root(doc));
	struct json_doc *again = fuzz_parse(buf_str(&once));
	CHECK(again && json_equal(json_root(doc), json_root(again)));
	CHECK(json_hash(json_root(doc)) == json_hash(json_root(again)));
	struct buf twice = written(json_root(again));
	CHECK(str_eq(buf_str(&once), buf_str(&twice)));
	buf_done(&once);
	buf_done(&twice);
	json_doc_unref(again);
	json_doc_unref(doc);
	return 0;
}
