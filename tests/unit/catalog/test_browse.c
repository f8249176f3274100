/* test_browse.c - what tool_browse answers, and in which order, also when it must stay the same. */

#include "unit.h"

#include <stdio.h>

#include "catalog/browse.h"
#include "catalog/refusal.h"
#include "schema/schema.h"
#include "text/tokens.h"
#include "tools.h"
#include "vectors.h"

/* The ids of a reply with blanks between. */
static struct buf
ids_of(const struct browse_reply *r)
{
	struct buf out = BUF_INIT(64 * KIB);

	for (size_t i = 0; i < r->count; i++) {
		buf_addz(&out, i ? " " : "");
		buf_add(&out, r->cards[i].id);
	}
	return out;
}

static void
check_ids(const struct shelf *s, const struct browse_args *args, const struct browse_options *o,
	  const char *expected)
{
	struct browse_reply r;
	struct err e = ERR_NONE;

	if (browse(s, args, o, &r, &e) < 0)
		fail_msg("%s", e.text);
	struct buf ids = ids_of(&r);
	assert_string_equal(buf_z(&ids), expected);
	buf_done(&ids);
	browse_done(&r);
}

#define PATH(text) (&(struct browse_args){.path = S(text)})
#define QUERY(text, k) (&(struct browse_args){.query = S(text), .top_k = (k)})

/* Arguments. */

static int
read_args(const char *text, struct browse_args *args, struct err *e)
{
	struct json_doc *doc = NULL;

	assert_int_equal(json_parse(str_of(text), &json_door, &doc, NULL), 0);
	int rc = browse_args_read(json_root(doc), args, e);
	json_doc_unref(doc);
	return rc;
}

static void
exactly_one_of_query_and_path_is_taken(void **state)
{
	static const char *const bad[] = {
	    "{}",
	    "{\"query\":\"a\",\"path\":\"/\"}",
	    "{\"query\":\"a\",\"path\":\"\"}",
	    "{\"query\":\"\",\"path\":\"/\"}",
	    "{\"query\":\"  \"}",
	    "{\"query\":1}",
	    "{\"query\":\"a\",\"top_k\":0}",
	    "{\"query\":\"a\",\"top_k\":51}",
	    "{\"query\":\"a\",\"top_k\":-1}",
	    "{\"query\":\"a\",\"top_k\":1.5}",
	    "{\"query\":\"a\",\"top_k\":\"5\"}",
	    "{\"query\":\"a\",\"more\":1}",
	    "[]",
	};
	struct browse_args args;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err e = ERR_NONE;
		if (read_args(bad[i], &args, &e) >= 0)
			fail_msg("taken: %s", bad[i]);
		assert_string_equal(err_row(e.code)->gateway, "ARGS_INVALID");
	}
	assert_int_equal(read_args("{\"query\":\"a\"}", &args, NULL), 0);
	assert_int_equal(args.top_k, 0);
	assert_int_equal(read_args("{\"path\":\"/\",\"top_k\":50}", &args, NULL), 0);
	assert_int_equal(args.top_k, 50);
}

static void
browse_itself_checks_too(void **state)
{
	struct shelf *s = shelf_of(issue_tools, ARRAY_LEN(issue_tools));
	struct browse_reply r;

	(void)state;
	assert_int_equal(browse(s, &(struct browse_args){.top_k = 1}, NULL, &r, NULL),
			 E_VALIDATION);
	assert_int_equal(browse(s, QUERY("a", 51), NULL, &r, NULL), E_VALIDATION);
	assert_int_equal(browse(s, PATH("x"), NULL, &r, NULL), E_BAD_PATH);
	assert_int_equal(browse(s, PATH("/x"), NULL, &r, NULL), E_NO_PATH);
	shelf_unref(s);
}

/* Paths. */

static void
paths_list_by_id(void **state)
{
	struct shelf *s = shelf_of(issue_tools, ARRAY_LEN(issue_tools));

	(void)state;
	check_ids(s, PATH("/"), NULL, "/github /jira /slack");
	check_ids(s, PATH("/github"), NULL,
		  "github:create_issue@1 github:get_pull_request@1 github:list_issues@1");
	check_ids(s, PATH("/github/issues/*"), NULL, "github:create_issue@1 github:list_issues@1");
	check_ids(s, PATH("/github/issues/create_issue"), NULL, "github:create_issue@1");
	check_ids(s, &(struct browse_args){.path = S("/"), .top_k = 2}, NULL, "/github /jira");
	shelf_unref(s);
}

static void
a_namespace_is_an_internal_card_with_its_description(void **state)
{
	struct shelf_tool tools[] = {issue_tools[0], issue_tools[1], issue_tools[2]};
	struct browse_reply r;

	(void)state;
	tools[2].ns_description = S("Code hosting.\nAnd more.");
	struct shelf *s = shelf_of(tools, 3);
	assert_int_equal(browse(s, PATH("/"), NULL, &r, NULL), 0);
	assert_int_equal(r.count, 2);
	assert_string_equal(r.cards[0].kind, "internal");
	assert_true(str_is(r.cards[0].name, "github"));
	assert_true(str_is(r.cards[0].ns, "github"));
	assert_true(str_is(r.cards[1].description, "1 tool related to slack"));
	assert_false(r.cards[0].has_schema || r.cards[0].has_score);
	assert_true(str_is(r.cards[0].description, "2 tools: Code hosting. And more."));
	browse_done(&r);
	shelf_unref(s);
}

static bool
is_not_github(const struct shelf_item *item, void *arg)
{
	(void)arg;
	return !str_is(item->card.ns, "github");
}

static void
what_is_not_visible_is_nowhere(void **state)
{
	struct shelf *s = shelf_of(issue_tools, ARRAY_LEN(issue_tools));
	const struct browse_options o = {.visible = is_not_github};
	struct browse_reply r;

	(void)state;
	check_ids(s, PATH("/"), &o, "/jira /slack");
	assert_int_equal(browse(s, QUERY("create issue", 0), &o, &r, NULL), 0);
	assert_true(r.count > 0 && str_is(r.cards[0].id, "jira:create_issue@1"));
	for (size_t i = 0; i < r.count; i++)
		assert_false(str_is(r.cards[i].ns, "github"));
	browse_done(&r);
	assert_int_equal(browse(s, PATH("/github"), &o, &r, NULL), E_NO_PATH);
	assert_int_equal(browse(s, PATH("/github/create_issue"), &o, &r, NULL), E_NO_PATH);
	shelf_unref(s);
}

/* Queries, and the budget of a response. */

static struct shelf *
shelf_of_vectors(const char *path)
{
	struct json_doc *doc = vectors(path);
	size_t count = json_len(json_root(doc));
	struct shelf_tool *tools = calloc(count, sizeof(*tools));
	struct str(*tags)[16] = calloc(count, sizeof(*tags));
	size_t i = 0;

	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it); i++) {
		tools[i] = (struct shelf_tool){.id = text_of(it.value, "id"),
					       .name = text_of(it.value, "name"),
					       .description = text_of(it.value, "description"),
					       .ns = text_of(it.value, "namespace"),
					       .tags = tags[i]};
		for (struct json_iter t = json_iter(json_get(it.value, S("tags")));
		     json_next(&t) && tools[i].tag_count < 16;)
			tags[i][tools[i].tag_count++] = json_str(t.value);
	}
	struct shelf *s = shelf_of(tools, count);
	free(tools);
	free(tags);
	json_doc_unref(doc);
	return s;
}

static void
check_order(const struct browse_reply *r)
{
	for (size_t i = 1; i < r->count; i++) {
		const struct card *a = &r->cards[i - 1], *b = &r->cards[i];
		assert_true(a->has_score && b->has_score);
		assert_true(a->score > b->score ||
			    (a->score == b->score && str_cmp(a->id, b->id) < 0));
	}
}

static void
check_budget(const struct browse_reply *r)
{
	struct buf text = BUF_INIT(16 * MIB);

	browse_render(&text, r);
	assert_true(tokens_count(buf_str(&text)) <= CARD_CAP * r->count + CARD_PREAMBLE);
	buf_done(&text);
}

/* The origin cannot give more than ten, whatever is asked for. */
static void
top_k_is_honoured_and_the_best_come_first(void **state)
{
	static const int64_t asked[] = {0, 1, 10, 50};
	char path[512];
	struct browse_reply r;

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_catalog_1000.json", path);
	struct shelf *s = shelf_of_vectors(path);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		assert_int_equal(browse(s, QUERY("audit log export", asked[i]), NULL, &r, NULL), 0);
		assert_int_equal(r.count, asked[i] ? asked[i] : BROWSE_TOP_K);
		check_order(&r);
		check_budget(&r);
		browse_done(&r);
	}
	shelf_unref(s);
}

/* Down all lists from the root: cards that fit the origin's schema, and every tool once. */
static size_t
walk(const struct shelf *s, struct str path, const struct schema *schema)
{
	struct browse_reply r;
	struct err e = ERR_NONE;
	size_t tools = 0;

	if (browse(s, &(struct browse_args){.path = path}, NULL, &r, &e) < 0)
		fail_msg("%.*s: %s", STR_ARG(path), e.text);
	assert_int_equal(r.left_out, 0);
	check_budget(&r);
	for (size_t i = 0; i < r.count; i++) {
		struct buf out = BUF_INIT(64 * KIB);
		struct jw w = jw(&out);
		struct json_doc *doc = NULL;
		card_write(&w, &r.cards[i]);
		assert_int_equal(json_parse(buf_str(&out), &json_door, &doc, NULL), 0);
		assert_int_equal(schema_validate(schema, json_root(doc), SCHEMA_LINES, &out), 0);
		json_doc_unref(doc);
		buf_done(&out);
		if (strcmp(r.cards[i].kind, "internal") == 0)
			tools += walk(s, r.cards[i].id, schema);
		else
			tools++;
	}
	browse_done(&r);
	return tools;
}

static void
every_tool_of_a_catalog_can_be_reached_by_paths(void **state)
{
	static const char *const catalogs[] = {"vectors/cw_catalog_83.json",
					       "vectors/cw_catalog_1000.json",
					       "vectors/cw_large_catalog_320.json"};
	struct schema *schema = NULL;
	char path[512];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_choice_card.schema.json", path);
	struct json_doc *doc = vectors(path);
	assert_int_equal(schema_compile(doc, json_root(doc), NULL, &schema, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(catalogs); i++) {
		TESTDATA_OR_SKIP(catalogs[i], path);
		struct shelf *s = shelf_of_vectors(path);
		assert_int_equal(walk(s, S("/"), schema), shelf_count(s));
		shelf_unref(s);
	}
	schema_free(schema);
	json_doc_unref(doc);
}

/* What a path says of a tool is what its id says, however its server calls it. */
static void
every_tool_is_at_the_name_of_its_id(void **state)
{
	static const struct shelf_tool tools[] = {
	    {.id = {"x-v2:user.search@1", 18}, .name = {"x-v2.user/search", 16}, .ns = {"x-v2", 4}},
	    {.id = {"x-v2:read@1", 11}, .name = {"x-v2.read", 9}, .ns = {"x-v2", 4}},
	    {.id = {"x-v2:___-0123abcd@1", 19}, .name = {"データ", 9}, .ns = {"x-v2", 4}},
	    {.id = {"x-v2:___-ba987654@1", 19}, .name = {"ゲート", 9}, .ns = {"x-v2", 4}},
	};
	struct shelf *s = shelf_of(tools, ARRAY_LEN(tools));

	(void)state;
	check_ids(s, PATH("/x-v2/user_search"), NULL, "x-v2:user.search@1");
	check_ids(s, PATH("/x-v2/read"), NULL, "x-v2:read@1");
	check_ids(s, PATH("/x-v2/0123abcd"), NULL, "x-v2:___-0123abcd@1");
	shelf_unref(s);
}

/* Tools in one namespace whose ids cost so much that each card has all the tokens it may have. */
static size_t
fill_dear(struct shelf_tool *tools, char (*ids)[200], size_t count)
{
	struct arena *a = arena_new(64 * MIB);
	uint64_t seed = 3;
	size_t at = 0;

	for (size_t len = 60; at < count;) {
		int n = snprintf(ids[at], 200, "dear:t%zux", at);
		for (size_t i = 0; i < len; i++)
			ids[at][n++] = "zqxjkvwpbfhg0123456789"[next_random(&seed) % 22];
		snprintf(ids[at] + n, 10, "@1");
		struct card_source from = {.id = str_of(ids[at]),
					   .description = S("No end of a sentence"),
					   .name = S("n"),
					   .ns = S("dear")};
		struct card c = {.tokens = CARD_CAP + 1};
		card_build(a, &from, &c, NULL);
		if (c.tokens != CARD_CAP) {
			len += c.tokens < CARD_CAP ? 1 : (size_t)-1;
			continue;
		}
		tools[at] = (struct shelf_tool){.id = from.id,
						.name = from.name,
						.ns = from.ns,
						.description = from.description};
		at++;
	}
	arena_free(a);
	return at;
}

/* A line end more for each than there is room for: the last are left out. Shorter lines all fit. */
static void
a_list_keeps_to_its_budget(void **state)
{
	enum { COUNT = 200 };
	struct shelf_tool *tools = calloc(COUNT, sizeof(*tools));
	char(*ids)[200] = calloc(COUNT, sizeof(*ids));
	struct shelf *s = shelf_of(tools, fill_dear(tools, ids, COUNT));
	struct browse_options o = {.seen = browse_seen_new()};
	struct browse_reply r;

	(void)state;
	assert_int_equal(browse(s, PATH("/dear"), NULL, &r, NULL), 0);
	assert_int_equal(r.count, CARD_PREAMBLE);
	assert_int_equal(r.left_out, COUNT - CARD_PREAMBLE);
	check_budget(&r);
	browse_done(&r);
	assert_int_equal(browse(s, PATH("/dear"), &o, &r, NULL), 0);
	assert_int_equal(r.count, COUNT);
	check_budget(&r);
	browse_done(&r);
	browse_seen_free(o.seen);
	shelf_unref(s);
	free(tools);
	free(ids);
}

static bool
is_no_nine(const struct shelf_item *item, void *arg)
{
	(void)arg;
	return !str_starts(item->leaf.id, S("ns:t9"));
}

static struct shelf *
shelf_of_many(struct shelf_tool *tools, char (*ids)[32], size_t count, struct str description)
{
	for (size_t i = 0; i < count; i++) {
		snprintf(ids[i], sizeof(ids[i]), "ns:t%zu@1", i);
		tools[i] = (struct shelf_tool){.id = str_of(ids[i]),
					       .name = str_of(ids[i]),
					       .description = description,
					       .ns = S("ns")};
	}
	return shelf_of(tools, count);
}

/* Neither by their number do tools that one may not see show. */
static void
only_what_is_visible_is_said_to_be_left_out(void **state)
{
	enum { COUNT = LIMIT_BROWSE_CARDS + 500 };
	struct shelf_tool *tools = calloc(COUNT, sizeof(*tools));
	char(*ids)[32] = calloc(COUNT, sizeof(*ids));
	struct shelf *s = shelf_of_many(tools, ids, COUNT, S("d"));
	struct browse_options o = {.visible = is_no_nine};
	struct browse_reply r;

	(void)state;
	assert_int_equal(browse(s, PATH("/ns"), NULL, &r, NULL), 0);
	assert_int_equal(r.count, LIMIT_BROWSE_CARDS);
	assert_int_equal(r.left_out, 500);
	browse_done(&r);
	assert_int_equal(browse(s, PATH("/ns"), &o, &r, NULL), 0);
	assert_int_equal(r.count, LIMIT_BROWSE_CARDS);
	assert_int_equal(r.left_out, 500 - 111);
	browse_done(&r);
	shelf_unref(s);
	free(tools);
	free(ids);
}

/* Lists that stay the same. */

static struct buf
bytes_of(const struct card *c)
{
	struct buf out = BUF_INIT(64 * KIB);
	struct jw w = jw(&out);

	card_write(&w, c);
	return out;
}

static bool
is_same_card(const struct card *a, const struct card *b)
{
	struct buf x = bytes_of(a), y = bytes_of(b);
	bool same = str_eq(buf_str(&x), buf_str(&y));

	buf_done(&x);
	buf_done(&y);
	return same;
}

static const struct card *
card_of(const struct browse_reply *r, struct str id)
{
	for (size_t i = 0; i < r->count; i++)
		if (str_eq(r->cards[i].id, id))
			return &r->cards[i];
	return NULL;
}

#define MARK " __cache_breakpoint__ "

static void
the_marker_stands_between_what_was_seen_and_what_is_new(void **state)
{
	struct shelf *s = shelf_of(issue_tools, ARRAY_LEN(issue_tools));
	struct browse_options o = {.seen = browse_seen_new()};

	(void)state;
	/* All new, and then all seen: no marker. Ordered by id, not by rank. */
	check_ids(s, PATH("/github/issue"), &o, "github:create_issue@1 github:list_issues@1");
	check_ids(s, PATH("/github/issue"), &o, "github:create_issue@1 github:list_issues@1");
	check_ids(s, PATH("/github"), &o,
		  "github:create_issue@1 github:list_issues@1" MARK "github:get_pull_request@1");
	check_ids(s, PATH("/github"), &o,
		  "github:create_issue@1 github:get_pull_request@1 github:list_issues@1");
	check_ids(s, PATH("/slack"), &o, "slack:send_message@1");
	assert_int_equal(browse_seen_count(o.seen), 4);
	browse_seen_free(o.seen);
	shelf_unref(s);
}

static void
what_was_seen_is_frozen_with_its_score(void **state)
{
	struct shelf *s = shelf_of(issue_tools, ARRAY_LEN(issue_tools));
	struct browse_options o = {.seen = browse_seen_new()};
	struct browse_reply first, second, ranked;
	size_t seen = 0, other = 0;

	(void)state;
	assert_int_equal(browse(s, QUERY("list issue repository", 0), &o, &first, NULL), 0);
	assert_int_equal(browse(s, QUERY("create issue project", 0), &o, &second, NULL), 0);
	assert_int_equal(browse(s, QUERY("create issue project", 0), NULL, &ranked, NULL), 0);
	for (size_t i = 0; i < second.count; i++) {
		const struct card *before = card_of(&first, second.cards[i].id);
		const struct card *now = card_of(&ranked, second.cards[i].id);
		seen += before && is_same_card(before, &second.cards[i]);
		other += before && now && now->score != second.cards[i].score;
		assert_true(!before || is_same_card(before, &second.cards[i]));
	}
	assert_true(seen > 1 && other > 0);
	browse_done(&first);
	browse_done(&second);
	browse_done(&ranked);
	browse_seen_free(o.seen);
	shelf_unref(s);
}

static void
the_rendered_beginning_stays_the_same_too(void **state)
{
	struct shelf *s = shelf_of(issue_tools, ARRAY_LEN(issue_tools));
	struct browse_options o = {.seen = browse_seen_new()};
	struct buf text[2] = {BUF_INIT(64 * KIB), BUF_INIT(64 * KIB)};
	static const struct browse_args asked[] = {{.path = {"/github/issue", 13}},
						   {.path = {"/github", 7}}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct browse_reply r;
		assert_int_equal(browse(s, &asked[i], &o, &r, NULL), 0);
		browse_render(&text[i], &r);
		browse_done(&r);
	}
	assert_true(text[1].len > text[0].len && str_starts(buf_str(&text[1]), buf_str(&text[0])));
	buf_done(&text[0]);
	buf_done(&text[1]);
	browse_seen_free(o.seen);
	shelf_unref(s);
}

static void
top_k_counts_the_marker(void **state)
{
	struct shelf *s = shelf_of(issue_tools, ARRAY_LEN(issue_tools));
	struct browse_options o = {.seen = browse_seen_new()};

	(void)state;
	browse_seen_note(o.seen, s, S("github:get_pull_request@1"));
	check_ids(s, &(struct browse_args){.path = S("/github"), .top_k = 3}, &o,
		  "github:get_pull_request@1" MARK "github:create_issue@1");
	browse_seen_note(o.seen, s, S("github:list_issues@1"));
	check_ids(s, &(struct browse_args){.path = S("/github"), .top_k = 3}, &o,
		  "github:create_issue@1 github:get_pull_request@1 github:list_issues@1");
	check_ids(s, &(struct browse_args){.path = S("/github"), .top_k = 2}, &o,
		  "github:create_issue@1 github:get_pull_request@1");
	browse_seen_free(o.seen);
	shelf_unref(s);
}

static void
what_the_marker_leaves_no_room_for_is_told(void **state)
{
	struct shelf *s = shelf_of(issue_tools, ARRAY_LEN(issue_tools));
	struct browse_options o = {.seen = browse_seen_new()};
	struct browse_reply r;

	(void)state;
	browse_seen_note(o.seen, s, S("github:get_pull_request@1"));
	assert_int_equal(browse(s, &(struct browse_args){.path = S("/github"), .top_k = 3}, &o, &r,
				NULL),
			 0);
	assert_int_equal(r.count, 3);
	assert_int_equal(r.left_out, 1);
	browse_done(&r);
	browse_seen_free(o.seen);
	shelf_unref(s);
}

static void
only_what_is_there_counts_as_seen(void **state)
{
	struct shelf *s = shelf_of(issue_tools, ARRAY_LEN(issue_tools));
	struct browse_options o = {.seen = browse_seen_new()};

	(void)state;
	browse_seen_note(o.seen, s, S("github:failed@1"));
	assert_int_equal(browse_seen_count(o.seen), 0);
	browse_seen_note(o.seen, s, S("github:list_issues@1"));
	browse_seen_note(o.seen, s, S("github:list_issues@1"));
	assert_int_equal(browse_seen_count(o.seen), 1);
	check_ids(s, PATH("/github/issue"), &o,
		  "github:list_issues@1" MARK "github:create_issue@1");
	browse_seen_free(o.seen);
	shelf_unref(s);
}

static void
another_shelf_begins_anew(void **state)
{
	struct shelf *first = shelf_of(issue_tools, 4), *second = NULL;
	struct browse_options o = {.seen = browse_seen_new()};

	(void)state;
	check_ids(first, PATH("/github/issue"), &o, "github:create_issue@1 github:list_issues@1");
	assert_int_equal(shelf_next(first, &issue_tools[4], 1, NULL, 0, &second, NULL), 0);
	check_ids(second, PATH("/github"), &o,
		  "github:create_issue@1 github:get_pull_request@1 github:list_issues@1");
	browse_seen_free(o.seen);
	shelf_unref(first);
	shelf_unref(second);
}

/* More than can be remembered: lists go on to be right. */
static void
a_full_set_forgets_nothing_and_takes_nothing(void **state)
{
	enum { COUNT = LIMIT_BROWSE_SEEN + 100 };
	struct shelf_tool *tools = calloc(COUNT, sizeof(*tools));
	char(*ids)[32] = calloc(COUNT, sizeof(*ids));
	struct browse_options o = {.seen = browse_seen_new()};

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		snprintf(ids[i], sizeof(ids[i]), "ns:t%zu@1", i);
		tools[i] = (struct shelf_tool){.id = str_of(ids[i]),
					       .name = str_of(ids[i]),
					       .description = S("d"),
					       .ns = S("ns")};
	}
	struct shelf *s = shelf_of(tools, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		browse_seen_note(o.seen, s, tools[i].id);
	assert_int_equal(browse_seen_count(o.seen), LIMIT_BROWSE_SEEN);
	check_ids(s, PATH("/ns/t0"), &o, "ns:t0@1");
	check_ids(s, PATH("/ns/t1123"), &o, "ns:t1123@1");
	assert_int_equal(browse_seen_count(o.seen), LIMIT_BROWSE_SEEN);
	browse_seen_free(o.seen);
	shelf_unref(s);
	free(tools);
	free(ids);
}

/* Cards too long to be kept, of words as long as words can be: none counts as seen unkept. */
static void
what_cannot_be_kept_was_not_seen(void **state)
{
	enum { COUNT = 1000 };
	struct shelf_tool *tools = calloc(COUNT, sizeof(*tools));
	char(*ids)[32] = calloc(COUNT, sizeof(*ids)), *dashes = malloc(30 * 65);
	struct browse_options o = {.seen = browse_seen_new()};
	struct browse_reply r;

	(void)state;
	for (size_t i = 0; i < 30; i++) {
		memset(dashes + i * 65, '-', 64);
		dashes[i * 65 + 64] = ' ';
	}
	struct shelf *s = shelf_of_many(tools, ids, COUNT, (struct str){dashes, 30 * 65});
	for (size_t i = 0; i < COUNT; i++)
		browse_seen_note(o.seen, s, tools[i].id);
	assert_int_equal(browse_seen_count(o.seen), COUNT);
	assert_int_equal(browse(s, PATH("/ns"), &o, &r, NULL), 0);
	assert_int_equal(r.count, COUNT);
	browse_done(&r);
	size_t kept = browse_seen_count(o.seen);
	assert_in_range(kept, 100, COUNT - 1); /* there is no room for all */
	assert_int_equal(browse(s, PATH("/ns"), &o, &r, NULL), 0);
	assert_true(str_is(r.cards[kept].id, SEEN_MARKER));
	browse_done(&r);
	browse_seen_free(o.seen);
	shelf_unref(s);
	free(tools);
	free(ids);
	free(dashes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(exactly_one_of_query_and_path_is_taken),
	    cmocka_unit_test(browse_itself_checks_too),
	    cmocka_unit_test(paths_list_by_id),
	    cmocka_unit_test(a_namespace_is_an_internal_card_with_its_description),
	    cmocka_unit_test(what_is_not_visible_is_nowhere),
	    cmocka_unit_test(top_k_is_honoured_and_the_best_come_first),
	    cmocka_unit_test(every_tool_of_a_catalog_can_be_reached_by_paths),
	    cmocka_unit_test(every_tool_is_at_the_name_of_its_id),
	    cmocka_unit_test(a_list_keeps_to_its_budget),
	    cmocka_unit_test(only_what_is_visible_is_said_to_be_left_out),
	    cmocka_unit_test(the_marker_stands_between_what_was_seen_and_what_is_new),
	    cmocka_unit_test(what_was_seen_is_frozen_with_its_score),
	    cmocka_unit_test(the_rendered_beginning_stays_the_same_too),
	    cmocka_unit_test(top_k_counts_the_marker),
	    cmocka_unit_test(what_the_marker_leaves_no_room_for_is_told),
	    cmocka_unit_test(only_what_is_there_counts_as_seen),
	    cmocka_unit_test(another_shelf_begins_anew),
	    cmocka_unit_test(a_full_set_forgets_nothing_and_takes_nothing),
	    cmocka_unit_test(what_cannot_be_kept_was_not_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
