/* test_toolid.c - every name becomes an id that can be taken apart and put together again. */

#include "unit.h"

#include <stdio.h>

#include "catalog/toolid.h"
#include "vectors.h"

static const struct str none = {NULL, 0};

static struct buf
derived(struct str name, struct str server, struct str version, const struct json *schema)
{
	struct buf id = BUF_INIT(TOOLID_MAX);

	toolid_derive(&id, name, server, version, schema);
	assert_false(buf_failed(&id));
	return id;
}

static struct json_doc *
parsed_schema(void)
{
	struct str text = S("{\"properties\": {\"path\": {}}, \"required\": [\"path\"]}");
	struct json_doc *doc = NULL;

	assert_int_equal(json_parse(text, &json_door, &doc, NULL), 0);
	return doc;
}

static void
check_derived(struct str name, struct str server, struct str version, const char *expected)
{
	struct json_doc *schema = parsed_schema();
	struct buf id = derived(name, server, version, json_root(schema));

	assert_string_equal(buf_z(&id), expected);
	buf_done(&id);
	json_doc_unref(schema);
}

/* The id parses, and its parts written again are the id. */
static void
check_round_trip(struct str id)
{
	struct buf again = BUF_INIT(TOOLID_MAX);
	struct toolid parts;
	struct err e = ERR_NONE;

	if (toolid_parse(id, &parts, &e) < 0)
		fail_msg("%.*s: %s", STR_ARG(id), e.text);
	toolid_format(&again, &parts);
	assert_true(str_eq(buf_str(&again), id));
	buf_done(&again);
}

/*
 * The rows with an error are the origin's: it drops the tool. Here none is dropped (decision 4 of
 * the design), so of those only that there is an id, with the version, is asked for.
 */
static void
derives_the_gateways_ids(void **state)
{
	char path[512];
	size_t dropped = 0;

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_tool_id_derivation.json", path);
	struct json_doc *doc = vectors(path), *schema = parsed_schema();
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		struct str version = text_of(it.value, "version");
		struct buf id =
		    derived(text_of(it.value, "upstream_name"), none, version, json_root(schema));
		struct toolid parts;
		check_round_trip(buf_str(&id));
		assert_int_equal(toolid_parse(buf_str(&id), &parts, NULL), 0);
		assert_true(str_eq(parts.version, version));
		assert_true((version.ptr == NULL) == (parts.hash8.ptr != NULL));
		if (text_of(it.value, "error").ptr)
			dropped++;
		else
			assert_true(str_eq(buf_str(&id), text_of(it.value, "tool_id")));
		buf_done(&id);
	}
	assert_int_equal(dropped, 20);
	json_doc_unref(doc);
	json_doc_unref(schema);
}

static void
names_outside_the_grammar_are_mapped_into_it(void **state)
{
	(void)state;
	check_derived(S("GitHub.CreateIssue"), none, S("1.4.0"), "github:CreateIssue@1.4.0");
	check_derived(S("UPPER_CASE_NAME"), none, S("1"), "upper:UPPER_CASE_NAME@1");
	check_derived(S("1pass_get_item"), none, S("1"), "ns-1pass:_1pass_get_item@1");
	check_derived(S("fs/sub/read"), none, S("1"), "fs:sub.read@1");
	check_derived(S("a/b.c"), none, S("1"), "a_b:c@1");
	check_derived(S("tool name"), none, S("1"), "mcp:tool_name@1");
	check_derived(S(".hidden"), none, S("1"), "mcp:_.hidden@1");
	check_derived(S("x.1y"), none, S("1"), "x:_1y@1");
	check_derived(S("b/"), none, S("1"), "b:b.@1");
	check_derived(S(""), none, S("1"), "mcp:_@1");
	check_derived(S("a\0b"), none, S("1"), "mcp:a_b@1");
	check_derived(S("get"), none, S("2.0+build 7"), "mcp:get@2.0_build_7");
}

static void
what_was_lost_is_told_apart_by_a_hash(void **state)
{
	struct buf a = derived(S("データ"), none, S("1"), NULL);
	struct buf b = derived(S("ゲート"), none, S("1"), NULL);
	char long_name[2][200];

	(void)state;
	assert_false(str_eq(buf_str(&a), buf_str(&b)));
	assert_true(str_starts(buf_str(&a), S("mcp:___-")));
	buf_done(&a);
	buf_done(&b);
	for (size_t i = 0; i < 2; i++) {
		memset(long_name[i], 'n', sizeof(long_name[i]));
		long_name[i][199] = (char)('0' + i);
	}
	a = derived((struct str){long_name[0], 200}, none, S("1"), NULL);
	b = derived((struct str){long_name[1], 200}, none, S("1"), NULL);
	assert_int_equal(a.len, strlen("mcp:") + 128 + strlen("@1"));
	assert_false(str_eq(buf_str(&a), buf_str(&b)));
	buf_done(&a);
	buf_done(&b);
}

static void
a_server_is_the_namespace(void **state)
{
	(void)state;
	check_derived(S("create_issue"), S("GitHub"), S("1"), "github:create_issue@1");
	check_derived(S("github.create_issue"), S("GitHub"), S("1"), "github:create_issue@1");
	check_derived(S("gitlab.create_issue"), S("github"), S("1"),
		      "github:gitlab.create_issue@1");
	check_derived(S("slack_send_message"), S("slack"), S("1"), "slack:slack_send_message@1");
	check_derived(S("read_file"), S("My Files"), none, "my_files:read_file#85b56782");
	check_derived(S("read_file"), S(""), none, "mcp:read_file#85b56782");
}

/*
 * One row the origin gets wrong: "a:b@1" and a newline parses there, because in Python "$" also
 * matches before a newline at the end. It is no version in the grammar.
 */
static void
parses_as_the_gateway_does(void **state)
{
	char path[512];
	size_t newlines = 0;

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_tool_id_parse.json", path);
	struct json_doc *doc = vectors(path);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		struct str id = text_of(it.value, "tool_id");
		bool bug = str_index(id, '\n') >= 0;
		bool fine = json_bool(json_get(it.value, S("ok"))) && !bug;
		struct toolid parts = {none, none, none, none};
		struct err e = ERR_NONE;
		newlines += bug;
		assert_int_equal(toolid_parse(id, &parts, &e), fine ? 0 : E_VALIDATION);
		assert_true(fine == (e.text[0] == '\0'));
		if (!fine)
			continue;
		assert_true(str_eq(parts.ns, text_of(it.value, "namespace")));
		assert_true(str_eq(parts.name, text_of(it.value, "name")));
		assert_true(str_eq(parts.version, text_of(it.value, "version")));
		assert_true(str_eq(parts.hash8, text_of(it.value, "hash8")));
		check_round_trip(id);
	}
	assert_int_equal(newlines, 1);
	json_doc_unref(doc);
}

static void
refuses_what_is_nearly_an_id(void **state)
{
	static const char *const bad[] = {"",
					  ":",
					  "a",
					  "A:b",
					  "a:b@",
					  "a:b#",
					  "a:b#0123ABCD",
					  "a:b@1 ",
					  " a:b",
					  "a:b#0123abc",
					  "a:b\n",
					  "a:b#0123abcd\n",
					  "a-:b:c",
					  "a:b@1#0123abcd@2"};
	struct toolid parts;
	char long_id[300] = "a:";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(toolid_parse(str_of(bad[i]), &parts, NULL), E_VALIDATION);
	assert_int_equal(toolid_parse(S("a:b\0"), &parts, NULL), E_VALIDATION);
	assert_int_equal(toolid_parse(none, &parts, NULL), E_VALIDATION);
	memset(long_id + 2, 'b', 250);
	assert_int_equal(toolid_parse(str_of(long_id), &parts, NULL), E_VALIDATION);
	assert_int_equal(toolid_parse(S("a:b@1#0123abcd"), &parts, NULL), 0);
}

static void
hashes_the_shape_of_a_schema(void **state)
{
	char path[512], hash[TOOLID_HASH8];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_hash8.json", path);
	struct json_doc *doc = vectors(path);
	assert_true(json_len(json_root(doc)) > 0);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		const struct json *schema = json_get(it.value, S("input_schema"));
		assert_int_equal(toolid_hash8(hash, text_of(it.value, "upstream_name"), schema), 0);
		assert_true(str_is(text_of(it.value, "hash8"), hash));
	}
	json_doc_unref(doc);
}

/* Expected by Python's json.dumps and hashlib: escapes of control characters, DEL and surrogates.
 */
static void
hashes_property_names_in_ascii_by_code_point(void **state)
{
	struct str text =
	    S("{\"properties\": {\"\\ud83d\\ude00\": 1, \"\\uff5e\": 1, \"\\u007f\\n\": 1, "
	      "\"\\u0001\": 1, \"\\\"\": 1}, \"required\": [\"z\", 1, \"\\u00e9\"]}");
	struct json_doc *doc = NULL;
	char hash[TOOLID_HASH8];

	(void)state;
	assert_int_equal(json_parse(text, &json_door, &doc, NULL), 0);
	assert_int_equal(toolid_hash8(hash, S("n"), json_root(doc)), 0);
	assert_string_equal(hash, "0baba66a");
	json_doc_unref(doc);
}

static void
schemas_of_strange_types_have_no_shape(void **state)
{
	static const char *const texts[] = {"[]", "true", "{\"properties\": [], \"required\": {}}",
					    "{\"properties\": null, \"required\": \"x\"}"};
	char plain[TOOLID_HASH8], hash[TOOLID_HASH8];

	(void)state;
	assert_int_equal(toolid_hash8(plain, S("n"), NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct json_doc *doc = NULL;
		assert_int_equal(json_parse(str_of(texts[i]), &json_door, &doc, NULL), 0);
		assert_int_equal(toolid_hash8(hash, S("n"), json_root(doc)), 0);
		assert_string_equal(hash, plain);
		json_doc_unref(doc);
	}
}

static void
check_alias(struct str server, struct str name, const char *expected)
{
	struct buf alias = BUF_INIT(ALIAS_MAX);

	toolid_alias(&alias, server, name, S("ns:name@1"));
	assert_string_equal(buf_z(&alias), expected);
	buf_done(&alias);
}

static void
aliases_are_server_and_tool(void **state)
{
	(void)state;
	check_alias(S("github"), S("create_issue"), "github__create_issue");
	check_alias(none, S("create_issue"), "ns__create_issue");
	check_alias(S("a"), S("b__c"), "a__b__c");
	check_alias(S("a"), S("_b"), "a___b");
}

/* Pairs that a plain "server__tool" would give one name. */
static void
no_server_can_take_the_alias_of_anothers_tool(void **state)
{
	static const char *const pairs[][2][2] = {
	    {{"a", "b__c"}, {"a__b", "c"}}, {{"a", "_b"}, {"a_", "b"}},
	    {{"a b", "c"}, {"a_b", "c"}},   {{"a", "b.c"}, {"a", "b_c"}},
	    {{"é", "c"}, {"è", "c"}},       {{"a", "b/c"}, {"a", "b.c"}},
	    {{"A", "b"}, {"a", "b"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		struct buf alias[2] = {BUF_INIT(ALIAS_MAX), BUF_INIT(ALIAS_MAX)};
		for (size_t j = 0; j < 2; j++)
			toolid_alias(&alias[j], str_of(pairs[i][j][0]), str_of(pairs[i][j][1]),
				     S("ns:name@1"));
		if (str_eq(buf_str(&alias[0]), buf_str(&alias[1])))
			fail_msg("both are %s", buf_z(&alias[0]));
		buf_done(&alias[0]);
		buf_done(&alias[1]);
	}
}

/* The mark of one server's alias, copied into the name of another's tool. */
static void
no_tool_can_be_called_like_a_marked_alias(void **state)
{
	struct buf marked = BUF_INIT(ALIAS_MAX), copied = BUF_INIT(ALIAS_MAX);

	(void)state;
	toolid_alias(&marked, S("a b"), S("c"), S("ns:name@1"));
	assert_true(str_starts(buf_str(&marked), S("a_b__c-")));
	toolid_alias(&copied, S("a_b"), str_from(buf_str(&marked), strlen("a_b__")),
		     S("ns:name@1"));
	assert_false(str_eq(buf_str(&marked), buf_str(&copied)));
	buf_done(&marked);
	buf_done(&copied);
}

static void
check_alias_grammar(struct str alias)
{
	assert_in_range(alias.len, 1, ALIAS_MAX);
	for (size_t i = 0; i < alias.len; i++)
		assert_non_null(
		    strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
			   alias.ptr[i]));
}

/* Bytes of all kinds: ASCII with separators, whole characters, and anything. */
static size_t
random_name(uint64_t *seed, char *out, size_t max)
{
	static const char *const pieces[] = {".",   "/",  "_",    "-",    "@",       "#", ":",
					     " ",   "é",  "日",   "😀",    "a",       "Z", "0",
					     "get", "\n", "\x01", "\xff", "\xe2\x80"};
	size_t len = 0, want = next_random(seed) % max;

	while (len < want) {
		const char *piece = pieces[next_random(seed) % ARRAY_LEN(pieces)];
		size_t n = strlen(piece);
		if (next_random(seed) % 4 == 0)
			out[len++] = (char)next_random(seed);
		else if (len + n <= max)
			memcpy(out + len, piece, n), len += n;
		else
			break;
	}
	return len;
}

static void
any_name_gives_an_id_and_an_alias(void **state)
{
	uint64_t seed = 4;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char name[300], server[100], version[60];
		struct str n = {name, random_name(&seed, name, i % 8 ? 40 : 290)};
		struct str s = {server, random_name(&seed, server, i % 5 ? 10 : 90)};
		struct str v = {version, i % 3 ? 0 : random_name(&seed, version, 50)};
		struct buf id = derived(n, i % 2 ? s : none, v, NULL);
		struct buf again = derived(n, i % 2 ? s : none, v, NULL);
		struct buf alias = BUF_INIT(ALIAS_MAX);
		check_round_trip(buf_str(&id));
		assert_true(str_eq(buf_str(&id), buf_str(&again)));
		toolid_alias(&alias, i % 2 ? s : none, n, buf_str(&id));
		assert_false(buf_failed(&alias));
		check_alias_grammar(buf_str(&alias));
		buf_done(&id);
		buf_done(&again);
		buf_done(&alias);
	}
}

/* Issue 5 */
static void
a_name_says_whose_it_is(void **state)
{
	static const struct {
		const char *name, *server;
		size_t said;
	} rows[] = {
	    {"late__echo", "late", 6}, {"late__", "late", 6},
	    {"late_echo", "late", 0},  {"later__echo", "late", 0},
	    {"a__b__c", "a", 3},       {"a__b__c", "a__b", 0},
	    {"late:echo", "late", 4},  {"late:echo#01234567", "late", 4},
	    {"later:echo", "late", 0}, {"", "late", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(toolid_names(str_of(rows[i].name), str_of(rows[i].server)),
				 rows[i].said);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(derives_the_gateways_ids),
	    cmocka_unit_test(names_outside_the_grammar_are_mapped_into_it),
	    cmocka_unit_test(what_was_lost_is_told_apart_by_a_hash),
	    cmocka_unit_test(a_server_is_the_namespace),
	    cmocka_unit_test(parses_as_the_gateway_does),
	    cmocka_unit_test(refuses_what_is_nearly_an_id),
	    cmocka_unit_test(hashes_the_shape_of_a_schema),
	    cmocka_unit_test(hashes_property_names_in_ascii_by_code_point),
	    cmocka_unit_test(schemas_of_strange_types_have_no_shape),
	    cmocka_unit_test(aliases_are_server_and_tool),
	    cmocka_unit_test(no_server_can_take_the_alias_of_anothers_tool),
	    cmocka_unit_test(no_tool_can_be_called_like_a_marked_alias),
	    cmocka_unit_test(any_name_gives_an_id_and_an_alias),
	    cmocka_unit_test(a_name_says_whose_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
