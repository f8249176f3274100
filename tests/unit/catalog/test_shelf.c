/* test_shelf.c - shelves never change, and what stays is shared. */

#include "unit.h"

#include <stdio.h>

#include "catalog/browse.h"
#include "tools.h"
#include "vectors.h"

static struct json_doc *
parsed(const char *text)
{
	struct json_doc *doc = NULL;

	assert_int_equal(json_parse(str_of(text), &json_door, &doc, NULL), 0);
	return doc;
}

/* All a shelf answers: its list, each tool hydrated, the tree and a query. */
static struct buf
everything(const struct shelf *s)
{
	static const struct browse_args asked[] = {{.path = {"/", 1}},
						   {.path = {"/github", 7}},
						   {.query = {"issue", 5}}};
	struct buf out = BUF_INIT(16 * MIB);
	struct browse_reply r;

	for (size_t i = 0; i < shelf_count(s); i++) {
		struct jw w = jw(&out);
		assert_int_equal(shelf_hydrate(s, shelf_at(s, i)->leaf.id, &w, NULL), 0);
		card_render(&out, &shelf_at(s, i)->card, i, 1);
	}
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		if (browse(s, &asked[i], NULL, &r, NULL) == 0) {
			struct jw w = jw(&out);
			browse_write(&w, &r);
			browse_done(&r);
		}
	return out;
}

static void
check_same(const struct shelf *a, const struct shelf *b)
{
	struct buf x = everything(a), y = everything(b);

	assert_string_equal(buf_z(&x), buf_z(&y));
	buf_done(&x);
	buf_done(&y);
}

static void
tools_stand_by_id_and_are_found(void **state)
{
	struct shelf *s = shelf_of(issue_tools, ARRAY_LEN(issue_tools));

	(void)state;
	assert_int_equal(shelf_count(s), 5);
	for (size_t i = 0; i < 5; i++) {
		struct str id = shelf_at(s, i)->leaf.id;
		assert_ptr_equal(shelf_find(s, id), shelf_at(s, i));
		assert_true(i == 0 || str_cmp(shelf_at(s, i - 1)->leaf.id, id) < 0);
	}
	assert_null(shelf_find(s, S("github:create_issue")));
	assert_null(shelf_find(s, S("zzz")));
	shelf_unref(s);
}

static void
two_tools_of_one_id_are_refused_aloud(void **state)
{
	const struct shelf_tool twins[] = {issue_tools[0], issue_tools[1], issue_tools[0]};
	struct shelf *s = NULL;
	struct err e = ERR_NONE;

	(void)state;
	assert_int_equal(shelf_new(twins, 3, &s, &e), E_EXISTS);
	assert_non_null(strstr(e.text, "github:list_issues@1"));
	assert_null(s);
}

static void
an_empty_shelf_answers(void **state)
{
	struct shelf *s = shelf_of(NULL, 0);
	struct browse_reply r;
	struct browse_args args = {.query = S("x")};

	(void)state;
	assert_int_equal(browse(s, &args, NULL, &r, NULL), 0);
	assert_int_equal(r.count, 0);
	browse_done(&r);
	args = (struct browse_args){.path = S("/")};
	assert_int_equal(browse(s, &args, NULL, &r, NULL), 0);
	assert_int_equal(r.count, 0);
	browse_done(&r);
	shelf_unref(s);
}

static void
hydration_gives_what_cards_must_not(void **state)
{
	struct json_doc *schema =
	    parsed("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}");
	struct json_doc *examples = parsed("[{\"a\":\"b\"}]");
	struct shelf_tool t = issue_tools[0];
	struct buf out = BUF_INIT(4096);
	struct jw w = jw(&out);
	struct err e = ERR_NONE;

	(void)state;
	t.input_schema = json_root(schema);
	t.examples = json_root(examples);
	struct shelf *s = shelf_of(&t, 1);
	json_doc_unref(schema);
	json_doc_unref(examples);
	assert_true(shelf_at(s, 0)->card.has_schema);
	assert_int_equal(shelf_hydrate(s, t.id, &w, &e), 0);
	assert_string_equal(
	    buf_z(&out),
	    "{\"tool_id\":\"github:list_issues@1\",\"args_schema\":{\"type\":\"object\","
	    "\"properties\":{\"a\":{\"type\":\"string\"}}},\"examples\":[{\"a\":\"b\"}],"
	    "\"constraints\":{}}");
	assert_int_equal(shelf_hydrate(s, S("github:no@1"), &w, &e), E_NOT_FOUND);
	assert_string_equal(err_row(e.code)->gateway, "HYDRATE_FAILED");
	buf_done(&out);
	shelf_unref(s);
}

static void
the_same_tools_give_the_same_bytes_in_any_order(void **state)
{
	struct shelf_tool turned[ARRAY_LEN(issue_tools)];
	struct shelf *a = shelf_of(issue_tools, ARRAY_LEN(issue_tools)), *b;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(turned); i++)
		turned[i] = issue_tools[ARRAY_LEN(turned) - 1 - i];
	b = shelf_of(turned, ARRAY_LEN(turned));
	check_same(a, b);
	assert_true(shelf_generation(a) != shelf_generation(b));
	shelf_unref(a);
	shelf_unref(b);
}

static struct shelf *
next_of(struct shelf *old, const struct shelf_tool *tools, size_t count, const struct str *gone,
	size_t gone_count)
{
	struct shelf *s = NULL;
	struct err e = ERR_NONE;

	if (shelf_next(old, tools, count, gone, gone_count, &s, &e) < 0)
		fail_msg("%s", e.text);
	return s;
}

static void
a_later_shelf_is_as_if_made_at_once(void **state)
{
	struct shelf_tool changed = issue_tools[1];
	const struct str gone[] = {S("github:get_pull_request@1"), S("never:there@1")};
	struct shelf *first = shelf_of(issue_tools, 4);

	(void)state;
	changed.description = S("Send a message about an issue.");
	const struct shelf_tool news[] = {changed, issue_tools[4]};
	struct shelf *second = next_of(first, news, 2, gone, 2);
	const struct shelf_tool all[] = {issue_tools[0], changed, issue_tools[2], issue_tools[4]};
	struct shelf *whole = shelf_of(all, 4);
	check_same(second, whole);
	assert_ptr_equal(shelf_find(first, issue_tools[0].id),
			 shelf_find(second, issue_tools[0].id));
	assert_ptr_not_equal(shelf_find(first, changed.id), shelf_find(second, changed.id));
	shelf_unref(first);
	shelf_unref(second);
	shelf_unref(whole);
}

/* A call pins the shelf it began with. */
static void
an_older_shelf_stays_as_it_was(void **state)
{
	struct shelf *first = shelf_of(issue_tools, 4), *second;
	const struct str gone[] = {S("github:create_issue@1")};
	const struct browse_args issues = {.query = S("issue")};
	struct browse_reply r;

	(void)state;
	second = next_of(first, &issue_tools[4], 1, gone, 1);
	assert_int_equal(shelf_count(first), 4);
	assert_non_null(shelf_find(first, gone[0]));
	assert_null(shelf_find(first, issue_tools[4].id));
	assert_null(shelf_find(second, gone[0]));
	assert_int_equal(browse(first, &issues, NULL, &r, NULL), 0);
	assert_true(r.count > 0);
	for (size_t i = 0; i < r.count; i++)
		assert_false(str_eq(r.cards[i].id, issue_tools[4].id));
	browse_done(&r);
	shelf_unref(second); /* the newest goes first: what it shared must not */
	assert_int_equal(browse(first, &issues, NULL, &r, NULL), 0);
	browse_done(&r);
	shelf_unref(first);
}

static void
tools_that_went_away_stay_listed(void **state)
{
	struct shelf_tool t = issue_tools[0];
	struct shelf *here = shelf_of(&t, 1), *away;

	(void)state;
	t.unavailable = true;
	away = shelf_of(&t, 1);
	check_same(here, away);
	assert_true(shelf_at(away, 0)->unavailable);
	shelf_unref(here);
	shelf_unref(away);
}

static void
a_tool_whose_card_is_too_large_is_kept_but_not_shown(void **state)
{
	struct shelf_tool tools[] = {issue_tools[0], issue_tools[2]};
	struct browse_reply r;
	const struct browse_args asked[] = {{.path = S("/github")},
					    {.query = S("issue repository")}};

	(void)state;
	tools[1].id =
	    S("zqxj:Zq0Xj1Kv2Wp3Bf4Hg5Lm6Rt7Yc8Nd9Zq0Xj1Kv2Wp3Bf4Hg5Lm6Rt7Yc8Nd9Zq0Xj1Kv2Wp3Bf4Hg"
	      "5Lm6Rt7Yc8Nd9Zq0Xj1Kv2Wp3Bf4Hg5@1");
	struct shelf *s = shelf_of(tools, 2);
	assert_non_null(shelf_find(s, tools[1].id)->problem.ptr);
	assert_null(shelf_find(s, tools[0].id)->problem.ptr);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		assert_int_equal(browse(s, &asked[i], NULL, &r, NULL), 0);
		assert_int_equal(r.count, 1);
		assert_true(str_eq(r.cards[0].id, tools[0].id));
		browse_done(&r);
	}
	shelf_unref(s);
}

/* Random comings and goings, held against a shelf made at once. */
static void
many_changes_later_all_is_as_if_made_at_once(void **state)
{
	enum { MOST = 60 };
	char ids[MOST][32], texts[MOST][48];
	struct shelf_tool now[MOST];
	bool there[MOST] = {false};
	uint64_t seed = 7;
	struct shelf *s = shelf_of(NULL, 0);

	(void)state;
	for (int round = 0; round < 60; round++) {
		struct shelf_tool come[MOST];
		struct str gone[MOST];
		size_t coming = 0, going = 0, count = 0;
		for (size_t i = 0; i < MOST; i++) {
			uint32_t dice = next_random(&seed) % 8;
			if (dice == 0 && there[i]) {
				gone[going++] = str_of(ids[i]);
				there[i] = false;
			} else if (dice == 1) {
				snprintf(ids[i], sizeof(ids[i]), "n%zu:tool_%zu@1", i % 3, i);
				snprintf(texts[i], sizeof(texts[i]), "issue %u",
					 next_random(&seed));
				now[i] = (struct shelf_tool){.id = str_of(ids[i]),
							     .name = str_of(ids[i]),
							     .description = str_of(texts[i]),
							     .ns = S("n")};
				there[i] = true;
				come[coming++] = now[i];
			}
		}
		struct shelf *next = next_of(s, come, coming, gone, going);
		shelf_unref(s);
		s = next;
		for (size_t i = 0; i < MOST; i++)
			if (there[i])
				come[count++] = now[i];
		struct shelf *whole = shelf_of(come, count);
		check_same(s, whole);
		shelf_unref(whole);
	}
	shelf_unref(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tools_stand_by_id_and_are_found),
	    cmocka_unit_test(two_tools_of_one_id_are_refused_aloud),
	    cmocka_unit_test(an_empty_shelf_answers),
	    cmocka_unit_test(hydration_gives_what_cards_must_not),
	    cmocka_unit_test(the_same_tools_give_the_same_bytes_in_any_order),
	    cmocka_unit_test(a_later_shelf_is_as_if_made_at_once),
	    cmocka_unit_test(an_older_shelf_stays_as_it_was),
	    cmocka_unit_test(tools_that_went_away_stay_listed),
	    cmocka_unit_test(a_tool_whose_card_is_too_large_is_kept_but_not_shown),
	    cmocka_unit_test(many_changes_later_all_is_as_if_made_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
