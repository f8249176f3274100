/* test_search.c - tools come, are found in a good order, and go without a trace. */

#include "made.h"

#include "base/buf.h"
#include "base/limits.h"
#include "json/parsed.h"
#include "search/inside.h"

static void
add(struct search *s, const char *id, const char *name, const char *description)
{
	struct search_tool t = {.id = str_of(id),
				.name = str_of(name),
				.description = str_of(description)};

	assert_int_equal(search_add(s, &t, 1, NULL), 0);
}

static void
finds(const struct search *s, const char *query, const char *first)
{
	struct search_hit hits[5];
	size_t count = search_query(s, str_of(query), 5, NULL, hits);

	if (count == 0 || !str_is(hits[0].id, first))
		fail_msg("%s: %.*s, not %s", query, STR_ARG(count ? hits[0].id : S("nothing")),
			 first);
	for (size_t i = 1; i < count; i++)
		assert_true(hits[i].score <= hits[i - 1].score);
	assert_true(search_shown_score(hits[0].score) > 0);
	assert_true(search_shown_score(hits[0].score) <= 1);
}

static struct search *
small_catalog(void)
{
	struct search *s = search_new();

	add(s, "github:create_issue", "create_issue", "Open a new issue in a repository");
	add(s, "github:list_issues", "list_issues", "List the issues of a repository");
	add(s, "github:delete_branch", "delete_branch", "Delete a branch of a repository");
	add(s, "mail:send", "sendMail", "Send a message to somebody");
	add(s, "weather:forecast", "get_forecast", "The weather of the next days");
	add(s, "files:remove", "remove_file", "Take a file off the disk");
	add(s, "files:read", "read_file", "Read a file");
	add(s, "math:factorial", "factorial", "The factorial of a number");
	return s;
}

static void
finds_tools_by_what_they_say(void **state)
{
	struct search *s = small_catalog();

	(void)state;
	finds(s, "create an issue", "github:create_issue");
	finds(s, "listing all open issues of my repo", "github:list_issues");
	finds(s, "sendMail", "mail:send");
	finds(s, "forecasts", "weather:forecast");
	search_free(s);
}

static void
finds_tools_by_what_is_meant(void **state)
{
	struct search *s = small_catalog();

	(void)state;
	finds(s, "temperature and rain tomorrow", "weather:forecast"); /* which says none of it */
	finds(s, "make a new issue", "github:create_issue");
	search_free(s);
}

static void
verbs_of_one_kind_stand_for_each_other(void **state)
{
	struct search *s = search_new();

	(void)state;
	add(s, "r:fetch", "fetch_record", "A record");
	add(s, "r:insert", "insert_record", "A record");
	add(s, "r:purge", "purge_record", "A record");
	finds(s, "erasing a record", "r:purge");
	finds(s, "browse this record", "r:fetch");
	finds(s, "register a record", "r:insert");
	search_free(s);
}

static void
finds_tools_by_parameters_tags_and_namespace(void **state)
{
	struct search *s = search_new();
	struct json_doc *schema =
	    parsed("{\"properties\":{\"latitude\":{\"description\":\"degrees north\"},"
		   "\"where\":{\"properties\":{\"planet\":{\"items\":{\"properties\":{\"crater\":{}"
		   "}}}}}}}");
	const struct str tags[] = {S("astronomy"), S("maps")};
	const struct search_tool tools[] = {
	    {.id = S("a"), .name = S("place"), .input_schema = json_root(schema)},
	    {.id = S("b"), .name = S("place"), .tags = tags, .tag_count = 2},
	    {.id = S("c"), .name = S("place"), .ns = S("atlas"), .ns_description = S("old charts")},
	    {.id = S("d"), .name = S("place")},
	};

	(void)state;
	assert_int_equal(search_add(s, tools, ARRAY_LEN(tools), NULL), 0);
	finds(s, "place latitude", "a");
	finds(s, "place degrees", "a");
	finds(s, "place crater", "a");
	finds(s, "place astronomy", "b");
	finds(s, "place atlas", "c");
	finds(s, "place chart", "c");
	json_doc_unref(schema);
	search_free(s);
}

static void
orders_equals_by_id(void **state)
{
	struct search *s = search_new();
	struct search_hit hits[SEARCH_MOST];
	char id[16];

	(void)state;
	for (unsigned i = 0; i < 500; i++) {
		snprintf(id, sizeof(id), "t%03u", i * 7 % 500);
		add(s, id, "twin", "every twin says this");
	}
	assert_int_equal(search_query(s, S("twin"), SEARCH_MOST, NULL, hits), SEARCH_MOST);
	for (unsigned i = 0; i < SEARCH_MOST; i++) {
		snprintf(id, sizeof(id), "t%03u", i);
		assert_true(str_is(hits[i].id, id));
		assert_int_equal(hits[i].score, hits[0].score);
	}
	search_free(s);
}

static void
each_clause_of_a_long_query_is_heard(void **state)
{
	struct search *s = small_catalog();
	struct search_hit hits[2];

	(void)state;
	assert_int_equal(
	    search_query(s,
			 S("Create an issue that tells what is wrong with the repository and its "
			   "branch. Then compute the factorial of nine."),
			 2, NULL, hits),
	    2);
	assert_true(str_is(hits[0].id, "github:create_issue"));
	assert_true(str_is(hits[1].id, "math:factorial"));
	search_free(s);
}

/* ---- the order depends on the tools alone ---- */

#define TOOLS 400
#define EXTRAS 100

static const char *const queries[] = {
    "list",
    "rareab rareac user",
    "data report of the user. Then list rareaa rareba; also rarecc item value",
    "nobody says this",
    "raregd",
    "share send weather",
    "value value item",
};

static void
assert_same_answers(const struct search *a, const struct search *b)
{
	struct search_hit x[SEARCH_MOST], y[SEARCH_MOST];

	assert_int_equal(search_count(a), search_count(b));
	for (size_t q = 0; q < ARRAY_LEN(queries); q++) {
		size_t count = search_query(a, str_of(queries[q]), SEARCH_MOST, NULL, x);
		assert_int_equal(search_query(b, str_of(queries[q]), SEARCH_MOST, NULL, y), count);
		for (size_t i = 0; i < count; i++) {
			assert_true(str_eq(x[i].id, y[i].id));
			assert_int_equal(x[i].score, y[i].score);
		}
	}
}

static void
answers_the_same_however_the_tools_came(void **state)
{
	static struct made made[TOOLS + EXTRAS];
	struct search_tool rows[TOOLS];
	struct search *at_once = search_new(), *mixed = search_new();

	(void)state;
	srand(3);
	for (unsigned i = 0; i < TOOLS + EXTRAS; i++)
		made[i] = made_tool(i);
	for (unsigned i = 0; i < TOOLS; i++)
		rows[i] = made_row(&made[i]);
	assert_int_equal(search_add(at_once, rows, TOOLS, NULL), 0);
	/* Backwards, one by one, some of them twice, with others between that go again. */
	for (unsigned i = TOOLS; i-- > 0;) {
		made_add(mixed, &made[i]);
		if (i % 4 == 0)
			made_add(mixed, &made[TOOLS + i / 4]);
		if (i % 5 == 0)
			assert_int_equal(search_remove(mixed, str_of(made[i].id)), 0);
	}
	for (unsigned i = 0; i < TOOLS; i += 5)
		made_add(mixed, &made[i]);
	for (unsigned i = TOOLS; i < TOOLS + EXTRAS; i++)
		assert_int_equal(search_remove(mixed, str_of(made[i].id)), 0);
	assert_same_answers(at_once, mixed);
	assert_int_equal(at_once->stems.count, mixed->stems.count);
	search_free(at_once);
	search_free(mixed);
}

static void
nothing_stays_of_tools_that_went(void **state)
{
	struct search *s = search_new();
	struct made m[50];

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(m); i++) {
		m[i] = made_tool(i);
		made_add(s, &m[i]);
	}
	for (unsigned i = 0; i < ARRAY_LEN(m); i++)
		assert_int_equal(search_remove(s, str_of(m[i].id)), 0);
	assert_int_equal(search_remove(s, str_of(m[0].id)), E_NOT_FOUND);
	assert_int_equal(search_count(s), 0);
	assert_int_equal(s->stems.count, 0);
	search_free(s);
}

static void
adds_all_or_none(void **state)
{
	struct search *s = search_new();
	const struct search_tool tools[] = {{.id = S("a"), .name = S("first")},
					    {.id = S("b"), .name = S("second")},
					    {.id = S("a"), .name = S("third")}};
	struct err e;

	(void)state;
	assert_int_equal(search_add(s, tools, 3, &e), E_EXISTS);
	assert_non_null(strstr(e.text, "a"));
	assert_int_equal(search_count(s), 0);
	assert_int_equal(s->stems.count, 0);
	assert_int_equal(search_add(s, tools, 2, &e), 0);
	assert_int_equal(search_add(s, tools + 2, 1, &e), E_EXISTS);
	assert_int_equal(search_count(s), 2);
	assert_int_equal(s->stems.count, 2);
	search_free(s);
}

/* ---- what is asked ---- */

static bool
not_this(uint32_t tool, void *arg)
{
	return tool != *(uint32_t *)arg;
}

static void
never_shows_what_is_not_visible(void **state)
{
	struct search *s = small_catalog();
	uint32_t hidden = search_find(s, S("github:create_issue"));
	const struct search_options options = {.visible = not_this, .arg = &hidden};
	struct search_hit hits[SEARCH_MOST];
	const char *const asked[] = {"create an issue", "produce ticket"};

	(void)state;
	for (size_t q = 0; q < ARRAY_LEN(asked); q++) {
		size_t count = search_query(s, str_of(asked[q]), SEARCH_MOST, &options, hits);
		assert_true(count > 0);
		for (size_t i = 0; i < count; i++)
			assert_int_not_equal(hits[i].tool, hidden);
	}
	search_free(s);
}

static void
answers_odd_queries(void **state)
{
	static char long_query[200000];
	struct search *s = small_catalog(), *empty = search_new();
	struct search_hit hits[SEARCH_MOST];

	(void)state;
	assert_int_equal(search_query(empty, S("anything"), 10, NULL, hits), 0);
	assert_int_equal(search_query(s, S(""), 10, NULL, hits), 0);
	assert_int_equal(search_query(s, (struct str){NULL, 0}, 10, NULL, hits), 0);
	assert_int_equal(search_query(s, S("the of and"), 10, NULL, hits), 0);
	assert_int_equal(search_query(s, S("issue"), 0, NULL, hits), 0);
	assert_int_equal(search_query(s, S("issue"), 1, NULL, hits), 1);
	for (size_t i = 0; i < sizeof(long_query); i++)
		long_query[i] = "issue. a b; "[i % 12];
	assert_true(search_query(s, (struct str){long_query, sizeof(long_query)}, 10, NULL, hits) >
		    0);
	search_free(s);
	search_free(empty);
}

static void
a_tool_that_never_ends_is_cut(void **state)
{
	struct search *s = search_new();
	struct buf text = BUF_INIT(4 * MIB);

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		buf_addf(&text, "word%c%c%c ", 'a' + (int)(i % 26), 'a' + (int)(i / 26 % 26),
			 'a' + (int)(i / 676 % 26));
	add(s, "big", "big", buf_z(&text));
	assert_true(s->stems.count < WORDS_PER_TOOL);
	finds(s, "big", "big");
	buf_done(&text);
	search_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds_tools_by_what_they_say),
	    cmocka_unit_test(finds_tools_by_what_is_meant),
	    cmocka_unit_test(verbs_of_one_kind_stand_for_each_other),
	    cmocka_unit_test(finds_tools_by_parameters_tags_and_namespace),
	    cmocka_unit_test(orders_equals_by_id),
	    cmocka_unit_test(each_clause_of_a_long_query_is_heard),
	    cmocka_unit_test(answers_the_same_however_the_tools_came),
	    cmocka_unit_test(nothing_stays_of_tools_that_went),
	    cmocka_unit_test(adds_all_or_none),
	    cmocka_unit_test(never_shows_what_is_not_visible),
	    cmocka_unit_test(answers_odd_queries),
	    cmocka_unit_test(a_tool_that_never_ends_is_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
