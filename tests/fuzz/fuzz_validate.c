/*
 * fuzz_validate.c - a schema and a value, with a NUL or else a newline between: yes and no are
 * the same however one asks, and what is said can be shown and is bounded.
 */

#include "fuzz.h"
#include "schema/schema.h"

static size_t
count_lines(struct str text)
{
	struct str line;
	size_t count = 0;

	while (str_split(&text, '\n', &line))
		count++;
	return count;
}

static void
check_lines(struct str errors)
{
	check_harmless(errors);
	CHECK(count_lines(errors) <=
	      LIMIT_SCHEMA_ERRORS + 1); /* and one that says there are more */
}

static void
check_json(struct str errors)
{
	struct json_doc *doc = fuzz_parse(errors);

	CHECK(doc && json_is(json_root(doc), JSON_ARRAY));
	CHECK(json_len(json_root(doc)) > 0 && json_len(json_root(doc)) <= LIMIT_SCHEMA_ERRORS + 1);
	CHECK(str_index(errors, '\n') < 0);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		CHECK(json_str(json_get(it.value, S("path"))).ptr);
		const struct json *keyword = json_get(it.value, S("keyword"));
		CHECK(json_is(keyword, JSON_STRING) || json_is(keyword, JSON_NULL));
		CHECK(json_str(json_get(it.value, S("message"))).len > 0);
		check_harmless(json_str(json_get(it.value, S("message"))));
	}
	json_doc_unref(doc);
}

static const struct {
	enum schema_form form;
	void (*check)(struct str errors);
} forms[] = {
    {SCHEMA_LINES, check_lines},
    {SCHEMA_JSON, check_json},
    {SCHEMA_DISPATCHER, check_lines},
};

static void
validate(const struct schema *s, const struct json *value)
{
	bool fits = schema_fits(s, value);

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct buf errors = BUF_INIT(4 * MIB);
		int rc = schema_validate(s, value, forms[i].form, &errors);

		CHECK(!buf_failed(&errors));
		CHECK(rc == (fits ? 0 : E_VALIDATION));
		CHECK((errors.len == 0) == fits);
		if (!fits)
			forms[i].check(buf_str(&errors));
		buf_done(&errors);
	}
}

static void
run(struct json_doc *schema, struct json_doc *value, bool formats)
{
	struct schema_options options = {.assert_formats = formats};
	struct schema *s = NULL;

	if (schema_compile(schema, json_root(schema), &options, &s, NULL) == 0)
		validate(s, json_root(value));
	schema_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = {(const char *)bytes, size};
	ptrdiff_t cut = str_index(text, '\0');

	if (cut < 0)
		cut = str_index(text, '\n');
	if (cut < 0 || size > LIMIT_SCHEMA_BYTES)
		return 0;
	struct json_doc *schema = fuzz_parse(str_upto(text, (size_t)cut));
	struct json_doc *value = fuzz_parse(str_from(text, (size_t)cut + 1));
	if (schema && value) {
		run(schema, value, false);
		run(schema, value, true);
	}
	json_doc_unref(schema);
	json_doc_unref(value);
	return 0;
}
