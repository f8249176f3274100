/*
 * fuzz_search.c - any bytes as tools and as queries, added, asked, learned from and taken out
 * again: the answers are in order, the same from an index that was filled backwards, and nothing
 * stays.
 *
 * The input is lines. "+" adds a tool: its id, name, description and schema, each ended by a tab;
 * "-" takes the tool of this id out; others are queries.
 */

#include "fuzz.h"
#include "search/inside.h"
#include "search/learned.h"

#define MOST 64 /* tools of one input */

struct shelf {
	struct search_tool tools[MOST];
	struct json_doc *docs[MOST];
	size_t count;
};

static void
check_answers(const struct search *s, const struct search *other, const struct learned *l,
	      struct str query)
{
	const struct search_options options = {.learned = l};
	struct search_hit a[SEARCH_MOST], b[SEARCH_MOST];
	size_t count = search_query(s, query, SEARCH_MOST, &options, a);

	CHECK(count <= search_count(s));
	for (size_t i = 0; i < count; i++) {
		CHECK(search_find(s, a[i].id) == a[i].tool);
		CHECK(search_shown_score(a[i].score) <= 1);
		if (i > 0)
			CHECK(a[i - 1].score > a[i].score ||
			      (a[i - 1].score == a[i].score && str_cmp(a[i - 1].id, a[i].id) < 0));
	}
	CHECK(search_query(other, query, SEARCH_MOST, &options, b) == count);
	for (size_t i = 0; i < count; i++)
		CHECK(str_eq(a[i].id, b[i].id) && a[i].score == b[i].score);
}

static void
add_tool(struct search *s, struct shelf *shelf, struct str line)
{
	struct search_tool *t = &shelf->tools[shelf->count];
	struct str *const parts[] = {&t->id, &t->name, &t->description, &t->ns};

	if (shelf->count == MOST)
		return;
	*t = (struct search_tool){0};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		str_split(&line, '\t', parts[i]);
	shelf->docs[shelf->count] = line.len > 0 ? fuzz_parse(line) : NULL;
	t->input_schema = shelf->docs[shelf->count] ? json_root(shelf->docs[shelf->count]) : NULL;
	size_t before = s->stems.count;
	int rc = search_add(s, t, 1, NULL);
	CHECK(rc == 0 || rc == E_EXISTS);
	CHECK(s->stems.count <= before + WORDS_PER_TOOL);
	if (rc == 0)
		shelf->count++;
	else
		json_doc_unref(shelf->docs[shelf->count]);
}

static void
remove_tool(struct search *s, struct shelf *shelf, struct str id)
{
	size_t i = 0;

	while (i < shelf->count && !str_eq(shelf->tools[i].id, id))
		i++;
	CHECK((search_remove(s, id) == 0) == (i < shelf->count));
	if (i == shelf->count)
		return;
	json_doc_unref(shelf->docs[i]);
	shelf->count--;
	shelf->tools[i] = shelf->tools[shelf->count];
	shelf->docs[i] = shelf->docs[shelf->count];
}

static void
ask(struct search *s, const struct shelf *shelf, struct learned *l, struct str query)
{
	struct search *backwards = search_new();

	for (size_t i = shelf->count; i-- > 0;)
		CHECK(search_add(backwards, &shelf->tools[i], 1, NULL) == 0);
	check_answers(s, backwards, NULL, query);
	check_answers(s, backwards, l, query);
	if (shelf->count > 0)
		learned_note(l, s, query, shelf->tools[query.len % shelf->count].id,
			     (uint32_t)query.len);
	CHECK(backwards->stems.count == s->stems.count);
	search_free(backwards);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str rest = {(const char *)bytes, size}, line;
	static struct shelf shelf;
	struct search *s = search_new();
	struct learned *l = learned_new();
	size_t asked = 0;

	while (str_split(&rest, '\n', &line))
		if (line.len > 0 && line.ptr[0] == '+')
			add_tool(s, &shelf, str_from(line, 1));
		else if (line.len > 0 && line.ptr[0] == '-')
			remove_tool(s, &shelf, str_from(line, 1));
		else if (asked++ < 8)
			ask(s, &shelf, l, line);
	while (shelf.count > 0)
		remove_tool(s, &shelf, shelf.tools[0].id);
	CHECK(search_count(s) == 0 && s->stems.count == 0);
	search_free(s);
	learned_free(l);
	return 0;
}
