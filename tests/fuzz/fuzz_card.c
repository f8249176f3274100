/*
 * fuzz_card.c - a tool of a stranger, as JSON or just as text: its card is one harmless line within
 * the cap, its JSON has the permitted members with plain values, and it is the same the second
 * time.
 */

#include "catalog/card.h"
#include "fuzz.h"
#include "text/tokens.h"

#define TAGS_MOST 64

static void
check_line(const struct card *c)
{
	struct buf line = BUF_INIT(MIB);

	card_render(&line, c, 1, 1);
	CHECK(!buf_failed(&line));
	check_harmless(buf_str(&line));
	CHECK(!memchr(line.ptr, '\n', line.len));
	CHECK(tokens_count(buf_str(&line)) == c->tokens && c->tokens <= CARD_CAP);
	buf_done(&line);
}

static void
check_json(const struct card *c)
{
	static const char members[] =
	    " id name description tags kind namespace has_schema cost_hint side_effects ";
	struct buf text = BUF_INIT(MIB);
	struct jw w = jw(&text);
	size_t count = 0;

	card_write(&w, c);
	struct json_doc *doc = fuzz_parse(buf_str(&text));
	CHECK(doc);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it); count++) {
		CHECK(memmem(members, sizeof(members) - 1, it.key.ptr, it.key.len));
		CHECK(!json_is(it.value, JSON_OBJECT));
		CHECK(!json_is(it.value, JSON_ARRAY) || str_is(it.key, "tags"));
	}
	CHECK(count == 9 && json_len(json_get(json_root(doc), S("tags"))) <= CARD_TAGS);
	json_doc_unref(doc);
	buf_done(&text);
}

static void
check_card(const struct card_source *from)
{
	struct arena *a = arena_new(4 * MIB);
	struct card c, again;
	struct err e = ERR_NONE;
	int rc = card_build(a, from, &c, &e);

	CHECK(rc == 0 || rc == E_TOO_LARGE);
	CHECK(card_build(a, from, &again, NULL) == rc);
	if (rc == 0) {
		CHECK(str_eq(c.description, again.description) && c.tokens == again.tokens);
		for (size_t i = 1; i < c.tag_count; i++)
			CHECK(str_cmp(c.tags[i - 1], c.tags[i]) < 0);
		check_line(&c);
		check_json(&c);
	}
	arena_free(a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = {(const char *)bytes, size};
	struct str tags[TAGS_MOST];
	struct json_doc *doc = size > 64 * KIB ? NULL : fuzz_parse(text);
	const struct json *tool = doc ? json_root(doc) : NULL;
	struct card_source from = {
	    .id = S("a:b@1"), .ns = S("a"), .name = text, .description = text, .tags = tags};

	if (json_is(tool, JSON_OBJECT)) {
		from.name = json_str(json_get(tool, S("name")));
		from.description = json_str(json_get(tool, S("description")));
		from.destructive = json_bool(json_get(tool, S("destructive")));
		json_double(json_get(tool, S("cost_hint")), &from.cost_hint);
		for (struct json_iter it = json_iter(json_get(tool, S("tags")));
		     json_next(&it) && from.tag_count < TAGS_MOST;)
			tags[from.tag_count++] = json_str(it.value);
	} else {
		tags[from.tag_count++] = text;
	}
	check_card(&from);
	json_doc_unref(doc);
	return 0;
}
