/*
 * test_cw_session.c - the origin's recorded session, up to a browse: the same ids and cards.
 *
 * A card here has no "safety": the tags say it. The score is another scorer's.
 */

#include "unit.h"

#include <stdio.h>

#include "catalog/browse.h"
#include "catalog/toolid.h"
#include "schema/schema.h"
#include "tools.h"
#include "vectors.h"

/* The recording leaves the schemas out, but their hashes are in the ids. */
static const struct {
	const char *name;
	const char *schema;
} upstream[] = {
    {"github.create_issue", "{\"type\":\"object\",\"properties\":{\"title\":{\"type\":\"string\"}},"
			    "\"required\":[\"title\"]}"},
    {"github.list_repos", "{\"type\":\"object\",\"properties\":{}}"},
};

static const struct json *
at(struct json_doc *doc, const char *pointer)
{
	const struct json *v = json_pointer(json_root(doc), str_of(pointer));

	if (!v)
		fail_msg("nothing at %s", pointer);
	return v;
}

static struct json_doc *
parsed(const char *text)
{
	struct json_doc *doc = NULL;

	assert_int_equal(json_parse(str_of(text), &json_door, &doc, NULL), 0);
	return doc;
}

static const char *
schema_text(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(upstream); i++)
		if (str_is(name, upstream[i].name))
			return upstream[i].schema;
	fail_msg("%.*s is new", STR_ARG(name));
	return NULL;
}

/* From the recorded cards, but for the ids, which must come out the same. */
static struct shelf *
recorded_shelf(const struct json *cards)
{
	static const struct str tags[] = {{"mcp", 3}};
	struct shelf_tool tools[ARRAY_LEN(upstream)];
	struct json_doc *schemas[ARRAY_LEN(upstream)];
	struct buf ids[ARRAY_LEN(upstream)];

	assert_int_equal(json_len(cards), ARRAY_LEN(tools));
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		const struct json *card = json_at(cards, i);
		struct str name = text_of(card, "name");
		schemas[i] = parsed(schema_text(name));
		ids[i] = (struct buf)BUF_INIT(TOOLID_MAX);
		toolid_derive(&ids[i], name, (struct str){NULL, 0}, (struct str){NULL, 0},
			      json_root(schemas[i]));
		tools[i] = (struct shelf_tool){.id = buf_str(&ids[i]),
					       .name = name,
					       .description = text_of(card, "description"),
					       .ns = text_of(card, "namespace"),
					       .tags = tags,
					       .tag_count = ARRAY_LEN(tags),
					       .input_schema = json_root(schemas[i])};
	}
	struct shelf *s = shelf_of(tools, ARRAY_LEN(tools));
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		json_doc_unref(schemas[i]);
		buf_done(&ids[i]);
	}
	return s;
}

static void
same_card(const struct card *ours, const struct json *theirs)
{
	struct buf out = BUF_INIT(64 * KIB);
	struct jw w = jw(&out);

	card_write(&w, ours);
	struct json_doc *doc = parsed(buf_z(&out));
	for (struct json_iter it = json_iter(theirs); json_next(&it);) {
		const struct json *mine = json_get(json_root(doc), it.key);
		if (str_is(it.key, "safety"))
			assert_null(mine);
		else if (str_is(it.key, "score"))
			assert_non_null(mine);
		else if (!json_equal(mine, it.value))
			fail_msg("%.*s: %.*s differs", STR_ARG(ours->id), STR_ARG(it.key));
	}
	json_doc_unref(doc);
	buf_done(&out);
}

static void
the_recorded_browse_gives_the_same_cards(void **state)
{
	struct browse_args args;
	struct browse_reply r;
	char path[512];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_gateway_session_v1.json", path);
	struct json_doc *doc = vectors(path);
	const struct json *cards = at(doc, "/entries/1/response/content/0/text");
	struct shelf *s = recorded_shelf(cards);

	assert_int_equal(browse_args_read(at(doc, "/entries/1/request/arguments"), &args, NULL), 0);
	assert_int_equal(browse(s, &args, NULL, &r, NULL), 0);
	assert_int_equal(r.count, json_len(cards));
	for (size_t i = 0; i < r.count; i++)
		same_card(&r.cards[i], json_at(cards, i));
	browse_done(&r);
	shelf_unref(s);
	json_doc_unref(doc);
}

/* Theirs lets both of query and path in, and none; everything else is the same. */
static void
arguments_are_what_the_recorded_schema_says(void **state)
{
	static const struct {
		const char *input;
		bool fits;
	} rows[] = {
	    {"{\"query\":\"a\"}", true},
	    {"{\"path\":\"/\"}", true},
	    {"{\"query\":\"a\",\"top_k\":1}", true},
	    {"{\"query\":\"a\",\"top_k\":50}", true},
	    {"{\"query\":\"a\",\"top_k\":0}", false},
	    {"{\"query\":\"a\",\"top_k\":51}", false},
	    {"{\"query\":\"a\",\"top_k\":2.5}", false},
	    {"{\"query\":7}", false},
	    {"{\"query\":null}", false},
	    {"{\"path\":\"/\",\"depth\":2}", false},
	};
	struct schema *schema = NULL;
	struct browse_args args;
	char path[512];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_gateway_session_v1.json", path);
	struct json_doc *doc = vectors(path);
	assert_int_equal(schema_compile(doc, at(doc, "/entries/0/response/0/inputSchema"), NULL,
					&schema, NULL),
			 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json_doc *input = parsed(rows[i].input);
		assert_int_equal(schema_fits(schema, json_root(input)), rows[i].fits);
		assert_int_equal(browse_args_read(json_root(input), &args, NULL) == 0,
				 rows[i].fits);
		json_doc_unref(input);
	}
	schema_free(schema);
	json_doc_unref(doc);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_recorded_browse_gives_the_same_cards),
	    cmocka_unit_test(arguments_are_what_the_recorded_schema_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
