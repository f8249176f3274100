/* scan.c - sums over blocks of tools, and lists of the best that never grow. */

#include "search/scan.h"

#include "search/number.h"

#define STRIDE 64 /* tools that are passed over together */

/*
 * A sum has 15 bits, because older vector units find the greatest only of signed numbers. The
 * weights of all words stay so far below that another 1 for each of them does no harm.
 */
#define WEIGHTS_MOST ((INT16_MAX << SUM_SHIFT) / 255 - QUERY_WORDS)

bool
scan_sees(const struct scan *s, uint32_t tool)
{
	return !s->options || !s->options->visible || s->options->visible(tool, s->options->arg);
}

/* ---- what is summed ---- */

/* Weights of 8 bits at most, and so small together that no sum can be too great. */
static void
weigh_uses(struct scan *s)
{
	uint64_t rarest = 1, all = 1;

	for (size_t i = 0; i < s->use_count; i++) {
		rarest = s->uses[i].rare > rarest ? s->uses[i].rare : rarest;
		all += s->uses[i].rare;
	}
	bool many = all * 255 > rarest * WEIGHTS_MOST;
	for (size_t i = 0; i < s->use_count; i++) {
		struct use *u = &s->uses[i];
		uint64_t weight = many ? u->rare * WEIGHTS_MOST / all : u->rare * 255 / rarest;
		u->weight = (uint16_t)(weight > 0 ? weight : 1);
	}
}

static void
best_init(struct best *b)
{
	b->count = 0;
	b->floor = 1;
	b->edge = NAMES_NONE;
}

void
scan_prepare(struct scan *s)
{
	s->use_count = 0;
	for (size_t i = 0; i < s->query->count; i++) {
		const struct query_word *w = &s->query->words[i];
		if (w->term == NAMES_NONE)
			continue;
		const struct term *t = &s->search->terms[w->term];
		s->uses[s->use_count++] = (struct use){
		    .word = w,
		    .at = t->chunks,
		    .end = t->chunks + t->chunk_count,
		    .rare = (uint64_t)number_rarity(t->tools, s->search->ids.count) *
			    query_weight(query_times(w)),
		};
	}
	weigh_uses(s);
	best_init(&s->by_words);
	best_init(&s->by_meaning);
}

/* ---- the best so far ---- */

static int
id_cmp(const struct scan *s, uint32_t a, uint32_t b)
{
	return str_cmp(names_text(&s->search->ids, a), names_text(&s->search->ids, b));
}

/* The greatest sum that as many as are wanted have or exceed: one byte of it after the other. */
static int32_t
nth_sum(const struct best *b)
{
	uint16_t high[128] = {0}, low[256] = {0};
	size_t above = 0;
	int h = 127, l = 255;

	for (size_t i = 0; i < b->count; i++)
		high[b->list[i].sum >> 8]++;
	for (; above + high[h] < SCAN_BEST; h--)
		above += high[h];
	for (size_t i = 0; i < b->count; i++)
		if (b->list[i].sum >> 8 == h)
			low[b->list[i].sum & 255]++;
	for (; above + low[l] < SCAN_BEST; l--)
		above += low[l];
	return h << 8 | l;
}

/* Of the equal ones, which stand last, as many as there is a place for, by id. */
static void
cut_equals(const struct scan *s, struct best *b, size_t from)
{
	for (size_t i = from; i < SCAN_BEST; i++) {
		size_t first = i;
		for (size_t j = i + 1; j < b->count; j++)
			if (id_cmp(s, b->list[j].tool, b->list[first].tool) < 0)
				first = j;
		struct candidate c = b->list[i];
		b->list[i] = b->list[first];
		b->list[first] = c;
	}
	b->edge = b->list[SCAN_BEST - 1].tool;
	b->count = SCAN_BEST;
}

/* Down to those that are wanted. */
static void
cut(const struct scan *s, struct best *b)
{
	struct candidate equals[ARRAY_LEN(b->list)];
	size_t above = 0, equal = 0;

	if (b->count <= SCAN_BEST)
		return;
	b->floor = nth_sum(b);
	b->edge = NAMES_NONE;
	for (size_t i = 0; i < b->count; i++)
		if (b->list[i].sum > b->floor)
			b->list[above++] = b->list[i];
		else if (b->list[i].sum == b->floor)
			equals[equal++] = b->list[i];
	memcpy(&b->list[above], equals, equal * sizeof(*equals));
	b->count = above + equal;
	if (b->count > SCAN_BEST)
		cut_equals(s, b, above);
}

static void
offer(struct scan *s, struct best *b, struct candidate c)
{
	if (c.sum < b->floor)
		return;
	if (c.sum == b->floor && b->edge != NAMES_NONE && id_cmp(s, c.tool, b->edge) > 0)
		return;
	if (!scan_sees(s, c.tool))
		return;
	b->list[b->count++] = c;
	if (b->count == ARRAY_LEN(b->list))
		cut(s, b);
}

/* ---- a block ---- */

struct row { /* of a word that many tools of the block have */
	const uint8_t *impacts;
	uint16_t weight;
};

struct block {
	uint32_t first; /* tool */
	unsigned tools; /* a multiple of STRIDE */
	int32_t more;   /* that rows can add to a sum */
	size_t row_count;
	struct row rows[QUERY_WORDS];
	int16_t sums[BLOCK];
};

static void
add_list(int16_t *sums, const struct posting *p, size_t count, unsigned weight)
{
	for (size_t i = 0; i < count; i++)
		sums[p[i].tool] = (int16_t)(sums[p[i].tool] + scan_product(p[i].impact, weight));
}

/* The uses' chunks of this block, or what is behind it; asked for before the first is waited for.
 */
static void
advance(struct scan *s, uint16_t block)
{
	for (size_t i = 0; i < s->use_count; i++) {
		struct use *u = &s->uses[i];
		while (u->at < u->end && u->at->block < block)
			u->at++;
		if (u->at < u->end && u->at->cap)
			__builtin_prefetch(u->at->list);
	}
}

/* Lists are added at once, rows remembered. False: no tool here has a word of the query. */
static bool
sum_lists(struct scan *s, struct block *b)
{
	uint16_t number = (uint16_t)(b->first / BLOCK);
	bool any = false;

	advance(s, number);
	for (size_t i = 0; i < s->use_count; i++) {
		const struct use *u = &s->uses[i];
		const struct chunk *c = u->at;
		if (c == u->end || c->block != number)
			continue;
		any = true;
		if (c->dense) {
			b->rows[b->row_count++] = (struct row){c->row, u->weight};
			b->more += scan_product(c->most, u->weight);
		} else {
			add_list(b->sums, c->cap ? c->list : c->few, c->count, u->weight);
		}
	}
	return any;
}

/* ---- a stride of a block ---- */

/* In 16 bits throughout, so that the vectors a compiler makes of it are full. */
static void
add_row(int16_t *restrict sums, const uint8_t *restrict impacts, uint16_t weight)
{
	for (int i = 0; i < STRIDE; i++)
		sums[i] =
		    (int16_t)(sums[i] + (int16_t)((uint16_t)(impacts[i] * weight) >> SUM_SHIFT));
}

static int16_t
greatest_of(const int16_t *sums)
{
	int16_t greatest = 0;

	for (int i = 0; i < STRIDE; i++)
		greatest = sums[i] > greatest ? sums[i] : greatest;
	return greatest;
}

static void
offer_stride(struct scan *s, uint32_t tool, const int16_t *sums)
{
	for (unsigned i = 0; i < STRIDE; i++)
		if (sums[i] >= s->by_words.floor)
			offer(s, &s->by_words, (struct candidate){tool + i, sums[i]});
}

/*
 * The same where nothing is asked but how great they are: each is written down, and stays if the
 * next is not written over it. No branch, because nobody could tell which way it goes.
 */
static void
take_stride(struct best *b, uint32_t tool, const int16_t *sums)
{
	size_t count = b->count;

	for (unsigned i = 0; i < STRIDE; i++) {
		b->list[count] = (struct candidate){tool + i, sums[i]};
		count += sums[i] >= b->floor;
	}
	b->count = count;
}

static void
scan_stride(struct scan *s, struct block *b, unsigned at)
{
	struct best *best = &s->by_words;
	int16_t *sums = &b->sums[at];

	if (greatest_of(sums) + b->more < best->floor)
		return; /* whatever the rows have for these */
	for (size_t i = 0; i < b->row_count; i++)
		add_row(sums, b->rows[i].impacts + at, b->rows[i].weight);
	if (b->row_count > 0 && greatest_of(sums) < best->floor)
		return;
	if (best->count > ARRAY_LEN(best->list) - STRIDE)
		cut(s, best);
	if (best->edge == NAMES_NONE && !(s->options && s->options->visible))
		take_stride(best, b->first + at, sums);
	else
		offer_stride(s, b->first + at, sums);
}

void
scan_words(struct scan *s)
{
	struct block b;
	uint32_t top = s->search->ids.top;

	for (b.first = 0; b.first < top; b.first += BLOCK) {
		unsigned tools = top - b.first < BLOCK ? top - b.first : BLOCK;
		b.tools = (tools + STRIDE - 1) / STRIDE * STRIDE;
		b.more = 0;
		b.row_count = 0;
		memset(b.sums, 0, b.tools * sizeof(*b.sums));
		if (!sum_lists(s, &b))
			continue;
		for (unsigned at = 0; at < b.tools; at += STRIDE)
			scan_stride(s, &b, at);
	}
	cut(s, &s->by_words);
}

/* ---- those without a word of the query ---- */

static bool
is_found(const struct best *b, uint32_t tool)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->list[i].tool == tool)
			return true;
	return false;
}

void
scan_meanings(struct scan *s)
{
	for (uint32_t tool = 0; tool < s->search->ids.top; tool++) {
		int32_t near = meaning_product(&s->query->meaning, &s->search->meanings[tool]);
		if (near >= s->by_meaning.floor && !is_found(&s->by_words, tool))
			offer(s, &s->by_meaning, (struct candidate){tool, near});
	}
	cut(s, &s->by_meaning);
}
