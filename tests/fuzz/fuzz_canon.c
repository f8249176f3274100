/*
 * fuzz_canon.c - any value in its canonical forms: each is JSON of the same value, is its own
 * canonical form, and two values of one array share it exactly when they are equal; but for
 * fractions of more digits than a double has, which the forms round.
 */

#include "fuzz.h"
#include "json/canon.h"

static const enum canon_form forms[] = {CANON_JCS, CANON_SPACED, CANON_COMPACT};

static struct buf
canon(const struct json *v, enum canon_form form)
{
	struct buf out = BUF_INIT(LIMIT_JSON_BYTES);

	canon_write(&out, v, form);
	CHECK(!buf_failed(&out));
	return out;
}

static bool
is_ascii(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] >= 0x7f)
			return false;
	return true;
}

static bool
is_rounded(const struct json *v)
{
	struct str kept = json_big(v);
	bool rounded = kept.ptr && (str_index(kept, '.') >= 0 || str_index(kept, 'e') >= 0 ||
				    str_index(kept, 'E') >= 0);

	for (struct json_iter it = json_iter(v); json_next(&it) && !rounded;)
		rounded = is_rounded(it.value);
	return rounded;
}

static void
check_form(const struct json *v, enum canon_form form)
{
	char digest[DIGEST_TEXT], of_value[DIGEST_TEXT];
	struct buf text = canon(v, form);
	struct json_doc *doc = fuzz_parse(buf_str(&text));

	CHECK(doc && (json_equal(json_root(doc), v) || is_rounded(v)));
	CHECK(form == CANON_JCS || is_ascii(buf_str(&text)));
	struct buf again = canon(json_root(doc), form);
	CHECK(str_eq(buf_str(&again), buf_str(&text)));
	digest_bytes(buf_str(&text), digest);
	CHECK(digest_value(v, form, of_value, NULL) == 0);
	CHECK(strcmp(digest, of_value) == 0);
	buf_done(&text);
	buf_done(&again);
	json_doc_unref(doc);
}

/* JCS alone: Python tells 1 from 1.0. */
static void
check_pair(const struct json *a, const struct json *b)
{
	struct buf x = canon(a, CANON_JCS), y = canon(b, CANON_JCS);
	bool equal = json_equal(a, b), same = str_eq(buf_str(&x), buf_str(&y));

	CHECK(equal == json_equal(b, a));
	CHECK(!equal || same);
	CHECK(!same || equal || is_rounded(a) || is_rounded(b));
	CHECK(!equal || json_hash(a) == json_hash(b));
	buf_done(&x);
	buf_done(&y);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = {(const char *)bytes, size};
	struct json_doc *doc = size > 64 * KIB ? NULL : fuzz_parse(text);

	if (!doc)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		check_form(json_root(doc), forms[i]);
	if (json_len(json_root(doc)) >= 2 && json_is(json_root(doc), JSON_ARRAY))
		check_pair(json_at(json_root(doc), 0), json_at(json_root(doc), 1));
	json_doc_unref(doc);
	return 0;
}
