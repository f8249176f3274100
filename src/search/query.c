/* query.c - reading a query: clause by clause, word by word. */

#include "search/query.h"

#include "base/limits.h"
#include "search/inside.h"

#define LONG 8   /* words; a shorter query is one clause */
#define CLAUSE 2 /* words at least; what is shorter belongs to its neighbour */

struct reader {
	struct query *query;
	const struct search *search;
	const struct learned *learned;
	unsigned clause;
	size_t heard; /* in this clause */
	size_t total;
};

static struct query_word *
find_or_add(struct reader *r, struct str stem)
{
	struct query *q = r->query;
	uint64_t hash = str_hash(stem);

	for (size_t i = 0; i < q->count; i++)
		if (q->words[i].hash == hash)
			return &q->words[i];
	if (q->count == QUERY_WORDS)
		return NULL;
	struct query_word *w = &q->words[q->count];
	*w = (struct query_word){.hash = hash, .term = names_find(&r->search->stems, stem)};
	w->row = w->term == NAMES_NONE ? meaning_find(stem) : r->search->terms[w->term].row;
	q->verbs |= w->term == NAMES_NONE ? verb_kinds(stem) : r->search->terms[w->term].verbs;
	q->learned[q->count++] = r->learned ? learned_word(r->learned, stem) : LEARNED_UNKNOWN;
	return w;
}

static bool
take_word(struct str stem, size_t at, void *arg)
{
	struct reader *r = arg;
	struct query_word *w = find_or_add(r, stem);

	(void)at;
	if (w && w->times[r->clause] < UINT8_MAX)
		w->times[r->clause]++;
	r->heard++;
	r->total++;
	return w != NULL;
}

/* Words that a clause begins with. */
static const struct str joints[] = {
    {"then", 4},         {"also", 4},   {"additionally", 12}, {"afterwards", 10}, {"finally", 7},
    {"furthermore", 11}, {"lastly", 6}, {"moreover", 8},      {"next", 4},
};

static bool
is_joint(struct str word)
{
	for (size_t i = 0; i < ARRAY_LEN(joints); i++)
		if (word.len == joints[i].len && str_eq_nocase(word, joints[i]))
			return true;
	return false;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_mark(char c)
{
	return c == '.' || c == '?' || c == '!' || c == ';';
}

/* Where the clause that the text begins with ends: behind a mark and a blank, or before a joint. */
static size_t
clause_end(struct str text)
{
	size_t word = 0;

	for (size_t i = 1; i < text.len; i++) {
		if (!is_blank(text.ptr[i]))
			continue;
		if (is_mark(text.ptr[i - 1]))
			return i + 1;
		if (word > 0 && is_joint(str_upto(str_from(text, word), i - word)))
			return word;
		word = i + 1;
	}
	return text.len;
}

/* The last clause becomes a part of the one before. */
static void
merge_last(struct query *q, unsigned last)
{
	for (size_t i = 0; i < q->count; i++) {
		uint8_t *times = q->words[i].times;
		unsigned sum = times[last - 1] + times[last];
		times[last - 1] = (uint8_t)(sum < UINT8_MAX ? sum : UINT8_MAX);
		times[last] = 0;
	}
}

/* Of one clause, or of all. */
static struct meaning
meaning_in(const struct query *q, unsigned from, unsigned to)
{
	struct meaning_sum sum = {0};

	for (size_t i = 0; i < q->count; i++) {
		const struct query_word *w = &q->words[i];
		unsigned times = 0;
		for (unsigned c = from; c < to; c++)
			times += w->times[c];
		if (w->row != MEANING_NONE && times > 0)
			meaning_add(&sum, w->row, (int32_t)query_weight(times));
	}
	return meaning_of(&sum);
}

void
query_read(struct query *q, const struct search *s, const struct learned *l, struct str text)
{
	struct reader r = {q, s, l, 0, 0, 0};

	q->count = 0;
	q->verbs = 0;
	for (text = str_upto(text, LIMIT_SEARCH_QUERY); text.len > 0;) {
		size_t end = clause_end(text);
		if (r.heard >= CLAUSE && r.clause < QUERY_CLAUSES - 1) {
			r.clause++;
			r.heard = 0;
		}
		words_each(s->words, str_upto(text, end), take_word, &r);
		text = str_from(text, end);
	}
	for (; r.clause > 0 && (r.heard < CLAUSE || r.total < LONG); r.clause--, r.heard = CLAUSE)
		merge_last(q, r.clause);
	q->clauses = r.clause + 1;
	q->meaning = meaning_in(q, 0, q->clauses);
	for (unsigned c = 0; q->clauses > 1 && c < q->clauses; c++)
		q->meanings[c] = meaning_in(q, c, c + 1);
}
