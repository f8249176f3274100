/* rank.c - the answer to a query: who has its words, and among the best of these, who means it. */

#include "search/scan.h"

#define FEW                                                                                        \
	10 /* with fewer tools that have a word of the query, the nearest by meaning join them */

/*
 * What each part of a score can be. The words' is the whole of the best tool's; the others were
 * measured (docs/retrieval.md) and are flat around these values.
 */
#define WORDS_PART 65536u
#define MEANING_PART (WORDS_PART * 6 / 10)
#define CLAUSE_PART (WORDS_PART * 4 / 10)
#define VERB_PART (WORDS_PART / 10)
#define LEARNED_PART WORDS_PART

#define LOOKS (2 * SCAN_BEST + LEARNED_BEST)
#define ASKED 512 /* a power of two, and more than twice the words of a query */

/* A tool that is looked at once more. */
struct look {
	uint32_t tool;
	uint32_t evidence;              /* what use has taught about it */
	int32_t sum;                    /* of all words */
	int32_t clauses[QUERY_CLAUSES]; /* of theirs, if there are several */
};

struct ranking {
	struct query query;
	struct scan scan;
	struct look looks[LOOKS];
	size_t count;
	uint8_t asked[ASKED]; /* by a word's number: which use it is, plus 1 */
	int32_t greatest;     /* sum, and of each clause */
	int32_t greatest_of[QUERY_CLAUSES];
};

/* ---- who is looked at ---- */

static struct look *
look_find(struct ranking *r, uint32_t tool)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->looks[i].tool == tool)
			return &r->looks[i];
	return NULL;
}

static struct look *
look_add(struct ranking *r, uint32_t tool, int32_t sum)
{
	CHECK(r->count < LOOKS);
	r->looks[r->count] = (struct look){.tool = tool, .sum = sum};
	return &r->looks[r->count++];
}

static void
look_at_best(struct ranking *r)
{
	const struct best *words = &r->scan.by_words, *meaning = &r->scan.by_meaning;

	scan_words(&r->scan);
	for (size_t i = 0; i < words->count; i++)
		look_add(r, words->list[i].tool, words->list[i].sum);
	if (words->count >= FEW)
		return;
	scan_meanings(&r->scan);
	for (size_t i = 0; i < meaning->count; i++)
		look_add(r, meaning->list[i].tool, 0);
}

/* ---- its words, once more ---- */

static size_t
slot_of(uint32_t term)
{
	return term * 0x9e3779b1u >> 23; /* 9 bits */
}

static void
set_asked(struct ranking *r)
{
	memset(r->asked, 0, sizeof(r->asked));
	for (size_t i = 0; i < r->scan.use_count; i++) {
		size_t at = slot_of(r->scan.uses[i].word->term);
		while (r->asked[at])
			at = (at + 1) % ASKED;
		r->asked[at] = (uint8_t)(i + 1);
	}
}

static const struct use *
asked_for(const struct ranking *r, uint32_t term)
{
	for (size_t at = slot_of(term); r->asked[at]; at = (at + 1) % ASKED) {
		const struct use *u = &r->scan.uses[r->asked[at] - 1];
		if (u->word->term == term)
			return u;
	}
	return NULL;
}

/* The sums as the scan would make them, and those of clauses, which it does not. */
static void
sum_words(const struct ranking *r, struct look *l)
{
	const struct tool *t = &r->scan.search->tools[l->tool];

	l->sum = 0;
	memset(l->clauses, 0, sizeof(l->clauses));
	for (uint16_t i = 0; i < t->count; i++) {
		const struct use *u = asked_for(r, TERM_OF(t->terms[i]));
		if (!u)
			continue;
		int product = scan_product(IMPACT_OF(t->terms[i]), u->weight);
		unsigned times = query_times(u->word);
		l->sum += product;
		for (unsigned c = 0; c < r->query.clauses; c++)
			if (u->word->times[c] > 0)
				l->clauses[c] += product * u->word->times[c] / (int)times;
	}
}

/* What use has taught about such queries; those tools are looked at, too. */
static void
recall(struct ranking *r, const struct learned *l)
{
	struct learned_hit hits[LEARNED_BEST];
	size_t count = l ? learned_best(l, r->query.learned, r->query.count, hits) : 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t tool = search_find(r->scan.search, hits[i].tool);
		if (tool == SEARCH_NONE || !scan_sees(&r->scan, tool))
			continue;
		struct look *look = look_find(r, tool);
		if (!look) {
			look = look_add(r, tool, 0);
			sum_words(r, look);
		}
		look->evidence = hits[i].score;
	}
}

/* Lines of memory that are wanted soon, all asked for before the first is waited for. */
static void
fetch(const struct ranking *r)
{
	const struct search *s = r->scan.search;

	for (size_t i = 0; i < r->count; i++) {
		__builtin_prefetch(&s->tools[r->looks[i].tool]);
		__builtin_prefetch(&s->meanings[r->looks[i].tool]);
	}
	for (size_t i = 0; r->query.clauses > 1 && i < r->count; i++)
		__builtin_prefetch(s->tools[r->looks[i].tool].terms);
}

static void
look_again(struct ranking *r)
{
	memset(r->greatest_of, 0, sizeof(r->greatest_of));
	r->greatest = 0;
	for (size_t i = 0; i < r->count; i++) {
		struct look *l = &r->looks[i];
		if (r->query.clauses > 1)
			sum_words(r, l);
		r->greatest = l->sum > r->greatest ? l->sum : r->greatest;
		for (unsigned c = 0; c < r->query.clauses; c++)
			if (l->clauses[c] > r->greatest_of[c])
				r->greatest_of[c] = l->clauses[c];
	}
}

/* ---- the score ---- */

static uint32_t
share(int32_t of, int32_t greatest, uint32_t whole)
{
	return greatest > 0 ? (uint32_t)((uint64_t)of * whole / (uint32_t)greatest) : 0;
}

/* To the whole query, or to a clause of it: a tool does one thing of many. */
static int32_t
nearness(const struct query *q, const struct meaning *tool)
{
	int32_t nearest = meaning_product(&q->meaning, tool), one;

	for (unsigned c = 0; q->clauses > 1 && c < q->clauses; c++)
		if ((one = meaning_product(&q->meanings[c], tool)) > nearest)
			nearest = one;
	return nearest > 0 ? nearest : 0;
}

static uint32_t
score(const struct ranking *r, const struct look *l)
{
	const struct search *s = r->scan.search;
	int32_t near = nearness(&r->query, &s->meanings[l->tool]);
	uint32_t sum = share(l->sum, r->greatest, WORDS_PART), clause = 0, one;

	for (unsigned c = 0; r->query.clauses > 1 && c < r->query.clauses; c++)
		if ((one = share(l->clauses[c], r->greatest_of[c], CLAUSE_PART)) > clause)
			clause = one;
	if (r->query.verbs & s->tools[l->tool].verbs)
		sum += VERB_PART;
	sum += share(near, MEANING_LENGTH * MEANING_LENGTH, MEANING_PART);
	return sum + clause + share((int32_t)l->evidence, LEARNED_WHOLE, LEARNED_PART);
}

/* In its place, best first, if there is one for it. */
static size_t
put_hit(struct search_hit *hits, size_t count, size_t k, struct search_hit hit)
{
	size_t at = count;

	while (at > 0 && (hits[at - 1].score < hit.score || (hits[at - 1].score == hit.score &&
							     str_cmp(hits[at - 1].id, hit.id) > 0)))
		at--;
	if (at == k)
		return count;
	count += count < k;
	memmove(&hits[at + 1], &hits[at], (count - at - 1) * sizeof(*hits));
	hits[at] = hit;
	return count;
}

size_t
search_query(const struct search *s, struct str query, size_t k,
	     const struct search_options *options, struct search_hit *hits)
{
	const struct learned *learned = options ? options->learned : NULL;
	struct ranking r; /* large, and most of it is never looked at */
	size_t count = 0;

	CHECK(k <= SEARCH_MOST);
	query_read(&r.query, s, learned, query);
	r.scan.search = s;
	r.scan.options = options;
	r.scan.query = &r.query;
	r.count = 0;
	scan_prepare(&r.scan);
	look_at_best(&r);
	set_asked(&r);
	recall(&r, learned);
	fetch(&r);
	look_again(&r);
	for (size_t i = 0; i < r.count; i++) {
		struct str id = names_text(&s->ids, r.looks[i].tool);
		count = put_hit(hits, count, k,
				(struct search_hit){r.looks[i].tool, id, score(&r, &r.looks[i])});
	}
	return count;
}

double
search_shown_score(uint32_t score)
{
	const uint32_t whole = WORDS_PART + MEANING_PART + CLAUSE_PART + VERB_PART;

	return score < whole ? (double)score / whole : 1;
}
