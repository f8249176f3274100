/* test_learned.c - what use teaches, how little of it one can force, and how it is forgotten. */

#include "made.h"

#include "base/limits.h"
#include "json/parsed.h"
#include "search/learned.h"

#define DAY 20000

static struct search *
catalog(void)
{
	static const struct search_tool tools[] = {
	    {.id = S("a:mail"), .name = S("send_mail"), .description = S("Send a message")},
	    {.id = S("b:ticket"), .name = S("open_ticket"), .description = S("Write a ticket")},
	    {.id = S("c:chat"), .name = S("post_chat"), .description = S("Post in a channel")},
	};
	struct search *s = search_new();

	assert_int_equal(search_add(s, tools, ARRAY_LEN(tools), NULL), 0);
	return s;
}

/* The score of a tool for a query, 0 when it is not found. */
static uint32_t
score(const struct search *s, const struct learned *l, const char *query, const char *tool)
{
	const struct search_options options = {.learned = l};
	struct search_hit hits[SEARCH_MOST];
	size_t count = search_query(s, str_of(query), SEARCH_MOST, &options, hits);

	for (size_t i = 0; i < count; i++)
		if (str_is(hits[i].id, tool))
			return hits[i].score;
	return 0;
}

static void
a_use_is_found_again_by_its_words(void **state)
{
	struct search *s = catalog();
	struct learned *l = learned_new();
	uint32_t before = score(s, l, "zorkify the customer", "b:ticket");

	(void)state;
	learned_note(l, s, S("zorkify this customer"), S("b:ticket"), DAY);
	uint32_t once = score(s, l, "zorkify the customer", "b:ticket");
	learned_note(l, s, S("zorkify another customer"), S("b:ticket"), DAY + 1);
	uint32_t twice = score(s, l, "zorkify the customer", "b:ticket");
	assert_true(once > before);
	assert_true(twice > once);
	assert_int_equal(score(s, l, "unrelated words", "b:ticket"),
			 score(s, NULL, "unrelated words", "b:ticket"));
	assert_int_equal(learned_tools(l), 1);
	learned_free(l);
	search_free(s);
}

static void
words_the_tool_says_itself_are_no_news(void **state)
{
	struct search *s = catalog();
	struct learned *l = learned_new();

	(void)state;
	learned_note(l, s, S("sending a mail message"), S("a:mail"), DAY);
	assert_int_equal(learned_pieces(l), 0);
	learned_note(l, s, S("send it"), S("c:chat"), DAY);
	assert_int_equal(learned_pieces(l), 1);
	learned_free(l);
	search_free(s);
}

static void
tools_that_are_not_there_teach_nothing(void **state)
{
	struct search *s = catalog();
	struct learned *l = learned_new();

	(void)state;
	learned_note(l, s, S("zorkify"), S("x:unknown"), DAY);
	assert_int_equal(learned_tools(l), 0);
	learned_note(l, s, S("zorkify"), S("b:ticket"), DAY);
	search_remove(s, S("b:ticket"));
	assert_int_equal(score(s, l, "zorkify", "b:ticket"), 0);
	learned_free(l);
	search_free(s);
}

static void
one_day_convinces_only_so_much(void **state)
{
	struct search *s = catalog();
	struct learned *l = learned_new(), *patient = learned_new();

	(void)state;
	for (int i = 0; i < 1000; i++)
		learned_note(l, s, S("zorkify"), S("b:ticket"), DAY);
	for (int i = 0; i < 4; i++)
		learned_note(patient, s, S("zorkify"), S("b:ticket"), DAY);
	assert_int_equal(score(s, l, "zorkify", "b:ticket"),
			 score(s, patient, "zorkify", "b:ticket"));
	/* And never more than all there is for it. */
	for (uint32_t day = DAY; day < DAY + 1000; day++)
		learned_note(l, s, S("zorkify"), S("b:ticket"), day);
	assert_true(score(s, l, "zorkify", "b:ticket") <= 65536);
	learned_free(l);
	learned_free(patient);
	search_free(s);
}

static void
what_is_old_fades(void **state)
{
	struct search *s = catalog();
	struct learned *l = learned_new();

	(void)state;
	learned_note(l, s, S("zorkify"), S("b:ticket"), DAY);
	uint32_t fresh = score(s, l, "zorkify", "b:ticket");
	learned_note(l, s, S("something else"), S("c:chat"), DAY + 100);
	uint32_t later = score(s, l, "zorkify", "b:ticket");
	learned_note(l, s, S("something else"), S("c:chat"), DAY + 2000);
	assert_true(later < fresh && later > 0);
	assert_int_equal(score(s, l, "zorkify", "b:ticket"), 0);
	learned_free(l);
	search_free(s);
}

static void
it_can_be_forgotten_and_switched_off(void **state)
{
	struct search *s = catalog();
	struct learned *l = learned_new();

	(void)state;
	learned_note(l, s, S("zorkify"), S("b:ticket"), DAY);
	learned_note(l, s, S("zorkify"), S("c:chat"), DAY);
	learned_switch(l, false);
	assert_false(learned_is_on(l));
	assert_int_equal(score(s, l, "zorkify", "b:ticket"), 0);
	learned_note(l, s, S("frobnicate"), S("b:ticket"), DAY);
	learned_switch(l, true);
	assert_int_equal(learned_pieces(l), 2);
	assert_true(score(s, l, "zorkify", "b:ticket") > 0);
	assert_true(learned_forget(l, S("b:ticket")));
	assert_false(learned_forget(l, S("b:ticket")));
	assert_int_equal(score(s, l, "zorkify", "b:ticket"), 0);
	assert_true(score(s, l, "zorkify", "c:chat") > 0);
	assert_true(learned_forget(l, (struct str){NULL, 0}));
	assert_int_equal(learned_tools(l) + learned_pieces(l), 0);
	learned_note(l, s, S("zorkify"), S("c:chat"), DAY);
	assert_int_equal(learned_tools(l), 1);
	learned_free(l);
	search_free(s);
}

static struct buf
written(const struct learned *l)
{
	struct buf out = BUF_INIT(16 * MIB);
	struct jw w = jw(&out);

	learned_write(l, &w);
	assert_false(buf_failed(&out));
	return out;
}

static void
what_is_written_reads_back_the_same(void **state)
{
	struct search *s = catalog();
	struct learned *l = learned_new(), *copy = learned_new();

	(void)state;
	for (uint32_t i = 0; i < 9; i++)
		learned_note(l, s, i % 2 ? S("zorkify the customer") : S("frobnicate \"things\""),
			     i % 3 ? S("b:ticket") : S("c:chat"), DAY + i / 2);
	learned_switch(l, false);
	struct buf first = written(l);
	struct json_doc *doc = parsed(buf_z(&first));
	struct err e;
	if (learned_read(copy, json_root(doc), &e) < 0)
		fail_msg("%s", err_text(&e));
	struct buf second = written(copy);
	assert_string_equal(buf_z(&first), buf_z(&second));
	assert_false(learned_is_on(copy));
	learned_switch(l, true), learned_switch(copy, true);
	assert_int_equal(score(s, l, "zorkify", "b:ticket"), score(s, copy, "zorkify", "b:ticket"));
	json_doc_unref(doc);
	buf_done(&first);
	buf_done(&second);
	learned_free(l);
	learned_free(copy);
	search_free(s);
}

static void
bad_json_changes_nothing(void **state)
{
	static const char *const bad[] = {
	    "[]",
	    "{}",
	    "{\"tools\":[],\"more\":1}",
	    "{\"tools\":[{\"id\":\"x\"}]}",
	    "{\"tools\":[{\"id\":\"x\",\"uses\":-1,\"day\":1,\"words\":[]}]}",
	    "{\"tools\":[{\"id\":\"x\",\"uses\":1,\"day\":70000,\"words\":[]}]}",
	    "{\"tools\":[{\"id\":\"x\",\"uses\":1,\"day\":1,\"words\":[{\"word\":\"w\",\"weight\":"
	    "999,\"day\":1}]}]}",
	    "{\"tools\":[{\"id\":\"x\",\"uses\":1,\"day\":1,\"words\":[1]}]}",
	    "{\"tools\":[{\"id\":\"x\",\"uses\":1,\"day\":1,\"words\":[]},{\"id\":\"x\",\"uses\":1,"
	    "\"day\":1,\"words\":[]}]}",
	};
	struct search *s = catalog();
	struct learned *l = learned_new();
	struct err e;

	(void)state;
	learned_note(l, s, S("zorkify"), S("b:ticket"), DAY);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct json_doc *doc = parsed(bad[i]);
		if (learned_read(l, json_root(doc), &e) != E_BAD_REQUEST)
			fail_msg("%s", bad[i]);
		json_doc_unref(doc);
		assert_int_equal(learned_pieces(l), 1);
	}
	learned_free(l);
	search_free(s);
}

static void
it_is_bounded(void **state)
{
	struct search *s = search_new();
	struct learned *l = learned_new();
	char text[512];

	(void)state;
	srand(5);
	for (unsigned i = 0; i < LIMIT_LEARNED_TOOLS + 50; i++) {
		struct made m = made_tool(i);
		made_add(s, &m);
		size_t len = 0;
		for (int j = 0; j < 20; j++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "q%c%c%c%c ",
						'a' + rand() % 26, 'a' + rand() % 26,
						'a' + rand() % 26, 'a' + rand() % 26);
		learned_note(l, s, str_of(text), str_of(m.id), DAY + i / 100);
	}
	assert_true(learned_tools(l) <= LIMIT_LEARNED_TOOLS);
	assert_true(learned_pieces(l) <= LIMIT_LEARNED_PIECES);
	/* The last one is there, and the first one made room for it. */
	assert_true(learned_forget(l, S("s1:t4145")));
	assert_false(learned_forget(l, S("s0:t0")));
	for (uint32_t day = DAY; day < DAY + 30; day++) {
		snprintf(text, sizeof(text), "u%c v%c w%c x%c y%c", 'a' + (int)day % 26,
			 'a' + (int)day % 26, 'a' + (int)day % 26, 'a' + (int)day % 26,
			 'a' + (int)day % 26);
		learned_note(l, s, str_of(text), S("s1:t1"), day + 1000);
	}
	struct buf out = written(l);
	struct json_doc *doc = parsed(buf_z(&out));
	for (struct json_iter it = json_iter(json_get(json_root(doc), S("tools"))); json_next(&it);)
		assert_true(json_len(json_get(it.value, S("words"))) <= LIMIT_LEARNED_WORDS);
	json_doc_unref(doc);
	buf_done(&out);
	learned_free(l);
	search_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_use_is_found_again_by_its_words),
	    cmocka_unit_test(words_the_tool_says_itself_are_no_news),
	    cmocka_unit_test(tools_that_are_not_there_teach_nothing),
	    cmocka_unit_test(one_day_convinces_only_so_much),
	    cmocka_unit_test(what_is_old_fades),
	    cmocka_unit_test(it_can_be_forgotten_and_switched_off),
	    cmocka_unit_test(what_is_written_reads_back_the_same),
	    cmocka_unit_test(bad_json_changes_nothing),
	    cmocka_unit_test(it_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
