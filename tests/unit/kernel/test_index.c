/* test_index.c - an index whole, or refused; and bundles from files. */

#include "kernel_unit.h"

#include <sys/stat.h>
#include <unistd.h>

#define FORM "{\"type\":\"object\",\"additionalProperties\":false}"
#define REFS "\"payload_schema_ref\":\"f\",\"result_schema_ref\":\"f\""
#define BUNDLE(entries, more) "{\"tool.index\":[" entries "]" more ",\"schemas\":{\"f\":" FORM "}}"

static int
try_bundle(const char *text, const struct index_rules *rules, struct kernel_index **ret,
	   struct err *e)
{
	struct json_doc *doc = parsed(text);
	int code = kernel_index_new(doc, rules, ret, e);

	json_doc_unref(doc);
	return code;
}

static void
the_pack_has_the_nine_tools_of_the_document(void **state)
{
	static const char *const ids[] = {
	    "lens.edge",       "move.align_scan",      "closure.spiral",
	    "closure.archive", "closure.waiting_with", "policy.query",
	    "policy.enforce",  "policy.report",        "recap.spec"};
	struct kernel_index *x = standard_index();

	(void)state;
	assert_int_equal(x->count, ARRAY_LEN(ids));
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		assert_non_null(index_find(x, str_of(ids[i])));
	assert_true(index_find(x, S("recap.spec"))->validated);
	assert_true(index_find(x, S("policy.enforce"))->quota);
	assert_int_equal(index_find(x, S("closure.archive"))->condition_count, 2);
	assert_true(index_allows(x, S("lens")));
	assert_false(index_allows(x, S("menu")));
	kernel_index_unref(x);
}

static void
refuses_what_is_wrong_and_names_it(void **state)
{
	static const struct {
		const char *bundle, *why;
	} cases[] = {
	    {"{}", "tool.index"},
	    {BUNDLE("", ""), "1 to 256"},
	    {BUNDLE("{\"id\":\"policy.query\"," REFS "}", ",\"more\":1"), "more"},
	    {BUNDLE("{\"id\":\"policy.query\"," REFS ",\"more\":1}", ""), "more"},
	    {BUNDLE("{\"id\":\"Policy.query\"," REFS "}", ""), "id: must be two words"},
	    {BUNDLE("{\"id\":\"policy.unknown\"," REFS "}", ""), "is no tool of the kernel"},
	    {BUNDLE("{\"id\":\"policy.query\"," REFS "},{\"id\":\"policy.query\"," REFS "}", ""),
	     "tool.index[1] policy.query"},
	    {BUNDLE("{\"id\":\"policy.x\",\"tool\":\"files:read_file\"," REFS "}", ""),
	     "a whole id"},
	    {BUNDLE("{\"id\":\"policy.x\",\"tool\":\"no id\"," REFS "}", ""), "tool: "},
	    {BUNDLE("{\"id\":\"policy.query\",\"payload_schema_ref\":\"g\",\"result_schema_ref\":"
		    "\"f\"}",
		    ""),
	     "there is no schema 'g'"},
	    {BUNDLE("{\"id\":\"policy.query\"," REFS ",\"payload_schema_sha256\":\"00\"}", ""),
	     "is not what was pinned"},
	    {BUNDLE("{\"id\":\"policy.query\"," REFS ",\"preconditions\":[\"true\"]}", ""),
	     "is no precondition"},
	    {BUNDLE("{\"id\":\"policy.query\"," REFS ",\"preconditions\":[1]}", ""),
	     "is no precondition"},
	    {BUNDLE("{\"id\":\"policy.query\"," REFS ",\"quota\":{\"calls\":\"x\"}}", ""), "quota"},
	    {BUNDLE("{\"id\":\"policy.query\"," REFS ",\"quota\":{\"ledger_append\":\"9\"}}", ""),
	     "must be policy.cap.ledger_max"},
	    {BUNDLE("{\"id\":\"policy.enforce\"," REFS "}", ""), "needs the quota"},
	    {BUNDLE("{\"id\":\"recap.spec\"," REFS ",\"validator\":{" REFS ",\"mode\":\"open\"}}",
		    ""),
	     "must be fail_closed"},
	    {BUNDLE("{\"id\":\"policy.query\"," REFS ",\"validator\":{" REFS
		    ",\"mode\":\"fail_closed\"}}",
		    ""),
	     "this tool has none"},
	    {BUNDLE("{\"id\":\"policy.query\"," REFS "}", ",\"namespaces\":[\"Bad\"]"),
	     "is no word"},
	    {"{\"tool.index\":[{\"id\":\"policy.query\"," REFS "}],\"schemas\":{\"f\":{\"type\":"
	     "\"object\"}}}",
	     "additionalProperties: false"},
	    {"{\"tool.index\":[{\"id\":\"policy.query\"," REFS "}],\"schemas\":{\"f\":{\"type\":"
	     "\"object\",\"additionalProperties\":false,\"properties\":{\"a\":{\"type\":\"string\","
	     "\"maxLength\":-1}}}}}",
	     "maxLength"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kernel_index *x = NULL;
		struct err e = ERR_NONE;
		if (try_bundle(cases[i].bundle, NULL, &x, &e) == 0)
			fail_msg("taken: %s", cases[i].bundle);
		if (!strstr(e.text, cases[i].why))
			fail_msg("'%s' is not in '%s'", cases[i].why, e.text);
		assert_null(x);
	}
}

static void
keeps_to_the_namespaces_that_are_allowed(void **state)
{
	static const char *const names[] = {"policy", "files"};
	struct index_rules rules = {names, 2};
	struct kernel_index *x = NULL;
	struct err e;

	(void)state;
	assert_int_equal(try_bundle(BUNDLE("{\"id\":\"policy.query\"," REFS "}",
					   ",\"namespaces\":[\"lens\"]"),
				    &rules, &x, &e),
			 E_VALIDATION);
	assert_string_equal(e.text, "namespace 'lens' not allowed");
	assert_int_equal(try_bundle(BUNDLE("{\"id\":\"lens.edge\"," REFS "}", ""), &rules, &x, &e),
			 0);
	assert_true(index_allows(x, S("files")));
	assert_false(index_allows(x, S("lens"))); /* it is there, and cannot be called */
	kernel_index_unref(x);
}

/* Sessions keep their index when the configuration is read again, and the old one goes. */
static void
test_8_an_index_outlives_the_rules_it_was_made_with(void **state)
{
	char *names[] = {str_dup(S("policy")), str_dup(S("files"))};
	struct index_rules rules = {(const char *const *)names, 2};
	struct kernel_index *x = NULL;
	struct buf b = BUF_INIT(64 * KIB);
	struct jw w = jw(&b);
	struct err e;

	(void)state;
	assert_int_equal(try_bundle(BUNDLE("{\"id\":\"policy.query\"," REFS "}", ""), &rules, &x,
				    &e),
			 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		memset(names[i], 'x', strlen(names[i]));
		free(names[i]);
	}
	assert_true(index_allows(x, S("policy")) && index_allows(x, S("files")));
	assert_false(index_allows(x, S("lens")));
	jw_object(&w);
	index_write(&w, x);
	jw_end(&w);
	assert_non_null(strstr(buf_z(&b), "\"namespaces\":[\"policy\",\"files\"]"));
	buf_done(&b);
	kernel_index_unref(x);
}

static void
a_pin_that_is_right_is_taken(void **state)
{
	struct kernel_index *x = NULL;
	char text[1024];
	struct err e;

	(void)state;
	assert_int_equal(try_bundle(BUNDLE("{\"id\":\"policy.query\"," REFS "}", ""), NULL, &x, &e),
			 0);
	snprintf(text, sizeof(text),
		 BUNDLE("{\"id\":\"policy.query\"," REFS ",\"result_schema_sha256\":\"%s\"}", ""),
		 x->entries[0].result->digest);
	kernel_index_unref(x);
	assert_int_equal(try_bundle(text, NULL, &x, &e), 0);
	kernel_index_unref(x);
}

/* Or a bundle of a few kilobytes would cost hundreds of times what its schemas do. */
static void
test_8_a_schema_is_compiled_once_for_all_that_share_it(void **state)
{
	struct kernel_index *x = NULL;
	struct err e;

	(void)state;
	assert_int_equal(try_bundle(BUNDLE("{\"id\":\"policy.query\"," REFS
					   "},{\"id\":\"lens.edge\"," REFS "}",
					   ""),
				    NULL, &x, &e),
			 0);
	assert_ptr_equal(x->entries[0].payload, x->entries[0].result);
	assert_ptr_equal(x->entries[0].payload, x->entries[1].payload);
	assert_int_equal(x->forms.len, 1);
	kernel_index_unref(x);
	/* A pin is still compared at each use. */
	assert_int_equal(try_bundle(BUNDLE("{\"id\":\"policy.query\"," REFS
					   "},{\"id\":\"lens.edge\"," REFS
					   ",\"payload_schema_sha256\":\"00\"}",
					   ""),
				    NULL, &x, &e),
			 E_VALIDATION);
}

/* ---- files ---- */

static void
put(const char *dir, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
a_file_is_read_with_what_lies_beside_it(void **state)
{
	char dir[] = "/tmp/holdfast-unit-XXXXXX", path[64], command[64];
	struct json_doc *doc = NULL;
	struct kernel_index *x = NULL;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/index.yaml", dir);
	put(dir, "f.json", FORM);
	put(dir, "index.yaml",
	    "tool.index:\n  - {id: policy.query, payload_schema_ref: f.json, "
	    "result_schema_ref: f.json}\n");
	if (bundle_read(path, &doc, &e) < 0 || kernel_index_new(doc, NULL, &x, &e) < 0)
		fail_msg("%s", err_text(&e));
	kernel_index_unref(x);
	json_doc_unref(doc);

	static const struct {
		const char *index, *why;
	} cases[] = {
	    {"tool.index:\n  - {payload_schema_ref: ../f.json}\n", "beside the index"},
	    {"tool.index:\n  - {payload_schema_ref: /etc/passwd}\n", "beside the index"},
	    {"tool.index:\n  - {payload_schema_ref: g.json}\n", "g.json: No such file"},
	    {"tool.index:\n  - {payload_schema_ref: index.yaml}\n", "index.yaml: "},
	    {"tool.index: [\n", "line 2"},
	    {"- a\n", "must be a mapping"},
	    {"schemas: {}\n", "must be a mapping"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put(dir, "index.yaml", cases[i].index);
		assert_true(bundle_read(path, &doc, &e) < 0);
		if (!strstr(e.text, cases[i].why))
			fail_msg("'%s' is not in '%s'", cases[i].why, e.text);
	}
	assert_true(bundle_read("/nowhere/index.yaml", &doc, &e) < 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
}

static void
the_pack_in_the_program_is_the_one_on_the_disk(void **state)
{
	struct json_doc *in = NULL, *on = NULL;
	struct err e;

	(void)state;
	assert_int_equal(bundle_standard(&in, &e), 0);
	if (bundle_read("packs/potm/index.yaml", &on, &e) < 0)
		fail_msg("%s", err_text(&e));
	assert_true(json_equal(json_root(in), json_root(on)));
	json_doc_unref(in);
	json_doc_unref(on);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_pack_has_the_nine_tools_of_the_document),
	    cmocka_unit_test(refuses_what_is_wrong_and_names_it),
	    cmocka_unit_test(keeps_to_the_namespaces_that_are_allowed),
	    cmocka_unit_test(test_8_an_index_outlives_the_rules_it_was_made_with),
	    cmocka_unit_test(a_pin_that_is_right_is_taken),
	    cmocka_unit_test(test_8_a_schema_is_compiled_once_for_all_that_share_it),
	    cmocka_unit_test(a_file_is_read_with_what_lies_beside_it),
	    cmocka_unit_test(the_pack_in_the_program_is_the_one_on_the_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
