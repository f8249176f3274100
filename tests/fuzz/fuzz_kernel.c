/*
 * fuzz_kernel.c - any bytes as an envelope: always one emission, always one that fits, the same
 * again from a kernel in the same state.
 */

#include <stdlib.h>

#include "fuzz.h"
#include "kernel/router.h"

static struct kernel_index *
index_of_all(void)
{
	static struct kernel_index *index;
	struct json_doc *bundle;

	if (!index) {
		CHECK(bundle_standard(&bundle, NULL) == 0);
		CHECK(kernel_index_new(bundle, NULL, &index, NULL) == 0);
		json_doc_unref(bundle);
	}
	return index;
}

static struct kernel *
kernel_of(struct kernel_index *index)
{
	struct json_doc *state = fuzz_parse(S("{\"meta_locus\":{\"accepted\":true},"
					      "\"clock\":\"2026-01-01T00:00:00Z\"}"));
	struct kernel *k = NULL;

	CHECK(kernel_new(&(struct kernel_spec){.index = index, .state = json_root(state)}, &k,
			 NULL) == 0);
	json_doc_unref(state);
	return k;
}

static void
check_emission(const struct kernel_index *index, const struct emission *out)
{
	struct json_doc *doc = fuzz_parse(out->text);

	CHECK(doc && schema_fits(index->emission, json_root(doc)));
	CHECK(out->ok == (json_get(json_root(doc), S("tool.emit")) != NULL));
	CHECK(str_index(out->text, '\n') < 0);
	json_doc_unref(doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct kernel_index *index = index_of_all();
	struct kernel *one = kernel_of(index), *two = kernel_of(index);
	struct str text = {(const char *)bytes, size};
	struct kernel_order order;
	struct emission a, b;

	CHECK(kernel_take(one, text, &a, &order));
	CHECK(kernel_take(two, text, &b, &order));
	check_emission(index, &a);
	CHECK(str_eq(a.text, b.text));
	kernel_free(one);
	kernel_free(two);
	return 0;
}
