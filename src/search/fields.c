/* fields.c - what a tool says about itself, field by field, as weighed words. */

#include <stdlib.h>

#include "base/limits.h"
#include "search/inside.h"

/*
 * `weight` and `meaning` are in tenths. `usual` is how many words a field commonly has: a field
 * that is longer says less with each of them. It is a constant and not the average of the
 * tools at hand, since then every tool would change whenever one comes; the loss is measured in
 * docs/retrieval.md.
 */
enum field {
	NAME,
	DESCRIPTION,
	NAMESPACE,
	TAGS,
	PARAMETERS,
	PARAMETER_TEXTS,
	NAMESPACE_TEXT,
	DESCRIPTION_REST,
	FIELDS
};

static const struct {
	unsigned weight, meaning, usual, most;
} fields[FIELDS] = {
    [NAME] = {25, 20, 4, 64},           [DESCRIPTION] = {10, 10, 12, 512},
    [NAMESPACE] = {10, 10, 2, 64},      [TAGS] = {10, 10, 4, 64},
    [PARAMETERS] = {5, 5, 5, 256},      [PARAMETER_TEXTS] = {3, 2, 18, 1024},
    [NAMESPACE_TEXT] = {2, 0, 20, 128}, [DESCRIPTION_REST] = {10, 0, 12, 0},
};

#define DESCRIPTION_MEANING 500 /* bytes of it that count for the meaning */
#define SCHEMA_DEPTH 4
#define K1 12 /* in tenths; b is three quarters */

struct gather {
	struct search *search;
	enum field field;
	bool failed;
	size_t lengths[FIELDS];
	size_t count;
	uint32_t pairs[WORDS_PER_TOOL]; /* word * 8 + field */
};

static bool
take_word(struct str stem, size_t at, void *arg)
{
	struct gather *g = arg;
	bool rest = g->field == DESCRIPTION && at >= DESCRIPTION_MEANING;

	if (g->lengths[g->field] == fields[g->field].most || g->count == WORDS_PER_TOOL)
		return false;
	uint32_t term = search__term(g->search, stem);
	if (term == NAMES_NONE) { /* with all the words there can be, this one is not heard */
		g->failed = g->search->stems.count < g->search->stems.max;
		return !g->failed;
	}
	g->lengths[g->field]++;
	g->pairs[g->count++] = term * 8 + (rest ? DESCRIPTION_REST : g->field);
	return true;
}

static void
take_text(struct gather *g, enum field field, struct str text)
{
	g->field = field;
	if (!g->failed && text.len > 0)
		words_each(g->search->words, text, take_word, g);
}

static void
take_schema(struct gather *g, const struct json *schema, unsigned depth)
{
	if (depth == SCHEMA_DEPTH)
		return;
	for (struct json_iter it = json_iter(json_get(schema, S("properties"))); json_next(&it);) {
		take_text(g, PARAMETERS, it.key);
		take_text(g, PARAMETER_TEXTS, json_str(json_get(it.value, S("description"))));
		take_schema(g, it.value, depth + 1);
	}
	const struct json *items = json_get(schema, S("items"));
	if (items)
		take_schema(g, items, depth + 1);
}

static int
pair_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* In 1/256 of tenths: how often the field has it, less for a long field. */
static uint64_t
share_of(const struct gather *g, enum field field)
{
	enum field whole = field == DESCRIPTION_REST ? DESCRIPTION : field;
	uint64_t longer = 64 + 192 * g->lengths[whole] / fields[field].usual; /* 256: as usual */

	return 65536ull * fields[field].weight / longer;
}

/* A word that was found in several places, from one pair to the next that is of another word. */
static size_t
weigh_word(const struct gather *g, size_t from, const uint64_t *shares, struct meaning_sum *sum,
	   struct weighed *ret)
{
	uint32_t term = g->pairs[from] / 8;
	uint64_t frequency = 0, tenths = 0;
	size_t to = from;

	for (; to < g->count && g->pairs[to] / 8 == term; to++) {
		enum field field = g->pairs[to] % 8;
		frequency += shares[field];
		tenths += fields[field].meaning;
	}
	uint64_t impact = (255 * frequency + 128 * K1) / (frequency + 256 * K1);
	*ret = (struct weighed){term, (uint8_t)(impact > 1 ? impact : 1)};
	uint32_t row = g->search->terms[term].row;
	if (row != MEANING_NONE) /* 2x/(x+1), in sixteenths */
		meaning_add(sum, row, (int32_t)((32 * tenths + (tenths + 10) / 2) / (tenths + 10)));
	return to;
}

/* Kinds of the verbs in the name. */
static uint16_t
name_verbs(const struct gather *g)
{
	uint16_t kinds = 0;

	for (size_t i = 0; i < g->count; i++)
		if (g->pairs[i] % 8 == NAME)
			kinds |= g->search->terms[g->pairs[i] / 8].verbs;
	return kinds;
}

bool
portrait_of(struct search *s, const struct search_tool *tool, struct portrait *ret)
{
	struct gather g = {.search = s};
	struct meaning_sum sum = {0};
	uint64_t shares[FIELDS];

	take_text(&g, NAME, tool->name);
	take_text(&g, DESCRIPTION, tool->description);
	take_text(&g, NAMESPACE, tool->ns);
	for (size_t i = 0; i < tool->tag_count; i++)
		take_text(&g, TAGS, tool->tags[i]);
	take_text(&g, NAMESPACE_TEXT, tool->ns_description);
	take_schema(&g, tool->input_schema, 0);
	qsort(g.pairs, g.count, sizeof(*g.pairs), pair_cmp);
	ret->verbs = name_verbs(&g);
	ret->count = 0;
	for (enum field f = 0; f < FIELDS; f++)
		shares[f] = share_of(&g, f);
	for (size_t i = 0; i < g.count;)
		i = weigh_word(&g, i, shares, &sum, &ret->words[ret->count++]);
	ret->meaning = meaning_of(&sum);
	return !g.failed;
}
