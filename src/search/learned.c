/* learned.c - evidence by word: which tools were run by those who said it. */

#include "search/learned.h"

#include <stdlib.h>

#include "base/limits.h"
#include "search/names.h"
#include "search/number.h"
#include "search/search.h"
#include "search/words.h"

#define ONCE 16         /* the weight of one use */
#define WEIGHT_MOST 255 /* about sixteen uses: more convince no more */
#define DOUBT 16        /* a weight of this much is believed half */
#define A_DAY 4         /* uses of one tool that count */
#define HALF_LIFE 90    /* days */

struct evidence {
	uint32_t tool;
	uint16_t weight;
	uint16_t day;
};

struct word { /* all evidence there is with it */
	struct evidence *pieces;
	uint32_t count, cap;
};

struct subject { /* a tool */
	uint32_t words[LIMIT_LEARNED_WORDS];
	uint32_t count;
	uint32_t uses;
	uint16_t day;   /* of the last use */
	uint16_t today; /* uses on it */
};

struct learned {
	struct names stems;
	struct names ids;
	struct word *words;
	uint32_t word_room;
	struct subject *subjects;
	uint32_t subject_room;
	size_t pieces;
	uint16_t day; /* the last there was evidence: fading is counted from it */
	bool off;
};

struct learned *
learned_new(void)
{
	struct learned *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	names_init(&l->stems, LIMIT_LEARNED_PIECES);
	names_init(&l->ids, LIMIT_LEARNED_TOOLS);
	return l;
}

static void
clear(struct learned *l)
{
	for (uint32_t i = 0; i < l->stems.top && i < l->word_room; i++)
		free(l->words[i].pieces);
	free(l->words);
	free(l->subjects);
	names_done(&l->stems);
	names_done(&l->ids);
	l->words = NULL;
	l->subjects = NULL;
	l->word_room = l->subject_room = 0;
	l->pieces = 0;
	l->day = 0;
}

void
learned_free(struct learned *l)
{
	if (l)
		clear(l);
	free(l);
}

void
learned_switch(struct learned *l, bool on)
{
	l->off = !on;
}

bool
learned_is_on(const struct learned *l)
{
	return !l->off;
}

size_t
learned_tools(const struct learned *l)
{
	return l->ids.count;
}

size_t
learned_pieces(const struct learned *l)
{
	return l->pieces;
}

/* ---- fading ---- */

static unsigned
faded(unsigned weight, uint16_t since, uint16_t day)
{
	unsigned half_lives = day > since ? (unsigned)(day - since) / HALF_LIFE : 0;

	return half_lives < 16 ? weight >> half_lives : 0;
}

static struct evidence *
piece_of(const struct learned *l, uint32_t word, uint32_t tool)
{
	struct word *w = &l->words[word];

	for (uint32_t i = 0; i < w->count; i++)
		if (w->pieces[i].tool == tool)
			return &w->pieces[i];
	BUG("a tool has a word that does not know it");
}

static unsigned
piece_worth(const struct learned *l, uint32_t word, uint32_t tool)
{
	const struct evidence *p = piece_of(l, word, tool);

	return faded(p->weight, p->day, l->day);
}

/* ---- taking away ---- */

static void
drop_piece(struct learned *l, uint32_t word, uint32_t tool)
{
	struct word *w = &l->words[word];

	*piece_of(l, word, tool) = w->pieces[w->count - 1];
	l->pieces--;
	if (--w->count > 0)
		return;
	free(w->pieces);
	*w = (struct word){0};
	names_remove(&l->stems, word);
}

static void
drop_tool(struct learned *l, uint32_t tool)
{
	struct subject *s = &l->subjects[tool];

	for (uint32_t i = 0; i < s->count; i++)
		drop_piece(l, s->words[i], tool);
	*s = (struct subject){0};
	names_remove(&l->ids, tool);
}

/* The one that was run longest ago; the least used of those. */
static void
drop_oldest(struct learned *l, uint32_t but)
{
	uint32_t oldest = NAMES_NONE;

	for (uint32_t i = 0; i < l->ids.top; i++) {
		const struct subject *s = &l->subjects[i],
				     *o = &l->subjects[oldest == NAMES_NONE ? i : oldest];
		if (i == but || !names_text(&l->ids, i).ptr)
			continue;
		if (oldest == NAMES_NONE || s->day < o->day ||
		    (s->day == o->day && s->uses < o->uses))
			oldest = i;
	}
	if (oldest != NAMES_NONE)
		drop_tool(l, oldest);
}

static void
drop_weakest_word(struct learned *l, uint32_t tool)
{
	struct subject *s = &l->subjects[tool];
	uint32_t weakest = 0;

	for (uint32_t i = 1; i < s->count; i++)
		if (piece_worth(l, s->words[i], tool) < piece_worth(l, s->words[weakest], tool))
			weakest = i;
	drop_piece(l, s->words[weakest], tool);
	s->words[weakest] = s->words[--s->count];
}

bool
learned_forget(struct learned *l, struct str tool)
{
	bool any = l->ids.count > 0;

	if (!tool.ptr) {
		clear(l);
		return any;
	}
	uint32_t number = names_find(&l->ids, tool);
	if (number == NAMES_NONE)
		return false;
	drop_tool(l, number);
	return true;
}

/* ---- learning ---- */

static bool
grow(void **rows, uint32_t *room, uint32_t want, size_t size)
{
	if (want <= *room)
		return true;
	char *more = realloc(*rows, want * size);
	if (!more)
		return false;
	memset(more + *room * size, 0, (want - *room) * size);
	*rows = more;
	*room = want;
	return true;
}

static bool
room_for_piece(struct word *w)
{
	if (w->count < w->cap)
		return true;
	uint32_t cap = w->cap ? w->cap * 2 : 2;
	struct evidence *more = realloc(w->pieces, cap * sizeof(*more));
	if (!more)
		return false;
	w->pieces = more;
	w->cap = cap;
	return true;
}

static uint32_t
word_of(struct learned *l, struct str stem)
{
	uint32_t word = names_add(&l->stems, stem);

	if (word == NAMES_NONE)
		return NAMES_NONE;
	if (grow((void **)&l->words, &l->word_room, l->stems.room, sizeof(*l->words)) &&
	    room_for_piece(&l->words[word]))
		return word;
	if (word >= l->word_room || l->words[word].count == 0)
		names_remove(&l->stems, word);
	return NAMES_NONE;
}

static bool
subject_has(const struct subject *s, uint32_t word)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->words[i] == word)
			return true;
	return false;
}

/* weight more for a word that speaks for a tool, on that day. */
static void
strengthen(struct learned *l, uint32_t tool, struct str stem, unsigned weight, uint16_t day)
{
	struct subject *s = &l->subjects[tool];
	uint32_t word = names_find(&l->stems, stem);

	if (word == NAMES_NONE || !subject_has(s, word)) {
		if (s->count == LIMIT_LEARNED_WORDS)
			drop_weakest_word(l, tool);
		while (l->pieces >= LIMIT_LEARNED_PIECES)
			drop_oldest(l, tool);
		if ((word = word_of(l, stem)) == NAMES_NONE)
			return;
		struct word *w = &l->words[word];
		w->pieces[w->count++] = (struct evidence){tool, 0, day};
		s->words[s->count++] = word;
		l->pieces++;
	}
	struct evidence *p = piece_of(l, word, tool);
	unsigned sum = faded(p->weight, p->day, day) + weight;
	p->weight = (uint16_t)(sum < WEIGHT_MOST ? sum : WEIGHT_MOST);
	p->day = day;
}

static uint32_t
subject_of(struct learned *l, struct str tool)
{
	uint32_t number = names_find(&l->ids, tool);

	if (number != NAMES_NONE)
		return number;
	if (l->ids.count == LIMIT_LEARNED_TOOLS)
		drop_oldest(l, NAMES_NONE);
	if ((number = names_add(&l->ids, tool)) == NAMES_NONE)
		return NAMES_NONE;
	if (!grow((void **)&l->subjects, &l->subject_room, l->ids.room, sizeof(*l->subjects))) {
		names_remove(&l->ids, number);
		return NAMES_NONE;
	}
	return number;
}

struct noting {
	struct learned *learned;
	const struct search *search;
	uint32_t said_by; /* the tool there */
	uint32_t tool;
	uint16_t day;
	size_t count;
	uint64_t said[LIMIT_LEARNED_WORDS]; /* hashes: a word counts once in a query */
};

static bool
note_word(struct str stem, size_t at, void *arg)
{
	struct noting *n = arg;
	uint64_t hash = str_hash(stem);

	(void)at;
	for (size_t i = 0; i < n->count; i++)
		if (n->said[i] == hash)
			return true;
	if (n->count == ARRAY_LEN(n->said))
		return false;
	n->said[n->count++] = hash;
	if (search_says(n->search, n->said_by, stem))
		return true; /* no news: it would only favour what was run over its neighbours */
	strengthen(n->learned, n->tool, stem, ONCE, n->day);
	return true;
}

void
learned_note(struct learned *l, const struct search *in, struct str query, struct str tool,
	     uint32_t day)
{
	struct noting n = {.learned = l, .search = in, .said_by = search_find(in, tool)};

	if (l->off || n.said_by == SEARCH_NONE || (n.tool = subject_of(l, tool)) == NAMES_NONE)
		return;
	struct subject *s = &l->subjects[n.tool];
	n.day = (uint16_t)(day < UINT16_MAX ? day : UINT16_MAX);
	s->today = s->day == n.day ? s->today : 0;
	s->day = n.day;
	if (s->today == A_DAY)
		return;
	s->today++;
	s->uses += s->uses < UINT32_MAX;
	l->day = n.day > l->day ? n.day : l->day;
	words_each(search_words(in), str_upto(query, LIMIT_SEARCH_QUERY), note_word, &n);
}

/* ---- what it says ---- */

uint32_t
learned_word(const struct learned *l, struct str stem)
{
	return l->off ? LEARNED_UNKNOWN : names_find(&l->stems, stem);
}

/* In 1/256: a weight of DOUBT is believed half, ten times that nearly whole. */
static uint32_t
belief(const struct learned *l, const struct evidence *p)
{
	unsigned weight = faded(p->weight, p->day, l->day);

	return 256 * weight / (weight + DOUBT);
}

/*
 * How much each word of the query counts, of LEARNED_WHOLE together: the rarer, the more. One that
 * nobody has said yet speaks against all.
 */
static void
shares_of(const struct learned *l, const uint32_t *words, size_t count, uint32_t *shares)
{
	uint64_t whole = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t pieces = words[i] == LEARNED_UNKNOWN ? 0 : l->words[words[i]].count;
		shares[i] = number_rarity(pieces, l->ids.count);
		whole += shares[i];
	}
	for (size_t i = 0; i < count && whole > 0; i++)
		shares[i] = (uint32_t)((uint64_t)shares[i] * LEARNED_WHOLE / whole);
}

static size_t
keep_best(const struct learned *l, const uint32_t *sums, struct learned_hit *hits)
{
	size_t count = 0, at;

	for (uint32_t tool = 0; tool < l->ids.top; tool++) {
		if (sums[tool] < 256)
			continue;
		struct learned_hit hit = {names_text(&l->ids, tool), sums[tool] / 256};
		for (at = count; at > 0; at--)
			if (hits[at - 1].score > hit.score ||
			    (hits[at - 1].score == hit.score &&
			     str_cmp(hits[at - 1].tool, hit.tool) < 0))
				break;
		if (at == LEARNED_BEST)
			continue;
		count += count < LEARNED_BEST;
		memmove(&hits[at + 1], &hits[at], (count - at - 1) * sizeof(*hits));
		hits[at] = hit;
	}
	return count;
}

size_t
learned_best(const struct learned *l, const uint32_t *words, size_t count,
	     struct learned_hit hits[static LEARNED_BEST])
{
	uint32_t sums[LIMIT_LEARNED_TOOLS], shares[LEARNED_ASKED];

	if (l->off || l->ids.count == 0)
		return 0;
	CHECK(count <= LEARNED_ASKED && l->ids.top <= LIMIT_LEARNED_TOOLS);
	memset(sums, 0, l->ids.top * sizeof(*sums));
	shares_of(l, words, count, shares);
	for (size_t i = 0; i < count; i++) {
		const struct word *w = words[i] == LEARNED_UNKNOWN ? NULL : &l->words[words[i]];
		for (uint32_t j = 0; w && j < w->count; j++)
			sums[w->pieces[j].tool] += shares[i] * belief(l, &w->pieces[j]);
	}
	return keep_best(l, sums, hits);
}

/* ---- kept elsewhere ---- */

static void
write_subject(const struct learned *l, uint32_t tool, struct jw *out)
{
	const struct subject *s = &l->subjects[tool];

	jw_object(out);
	jw_member(out, "id", names_text(&l->ids, tool));
	jw_member_int(out, "uses", s->uses);
	jw_member_int(out, "day", s->day);
	jw_member_int(out, "today", s->today);
	jw_key(out, "words");
	jw_array(out);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct evidence *p = piece_of(l, s->words[i], tool);
		jw_object(out);
		jw_member(out, "word", names_text(&l->stems, s->words[i]));
		jw_member_int(out, "weight", p->weight);
		jw_member_int(out, "day", p->day);
		jw_end(out);
	}
	jw_end(out);
	jw_end(out);
}

void
learned_write(const struct learned *l, struct jw *out)
{
	jw_object(out);
	jw_member_bool(out, "on", !l->off);
	jw_key(out, "tools");
	jw_array(out);
	for (uint32_t i = 0; i < l->ids.top; i++)
		if (names_text(&l->ids, i).ptr)
			write_subject(l, i, out);
	jw_end(out);
	jw_end(out);
}

struct word_fields {
	struct str word;
	int64_t weight, day;
};
static const struct json_field word_table[] = {
    FIELD_REQUIRED(struct word_fields, word, WANT_STR),
    FIELD_REQUIRED(struct word_fields, weight, WANT_INT),
    FIELD_REQUIRED(struct word_fields, day, WANT_INT),
};

struct tool_fields {
	struct str id;
	int64_t uses, day, today;
	const struct json *words;
};
static const struct json_field tool_table[] = {
    FIELD_REQUIRED(struct tool_fields, id, WANT_STR),
    FIELD_REQUIRED(struct tool_fields, uses, WANT_INT),
    FIELD_REQUIRED(struct tool_fields, day, WANT_INT),
    FIELD(struct tool_fields, today, WANT_INT),
    FIELD_REQUIRED(struct tool_fields, words, WANT_ARRAY),
};

struct all_fields {
	bool on;
	const struct json *tools;
};
static const struct json_field all_table[] = {
    FIELD(struct all_fields, on, WANT_BOOL),
    FIELD_REQUIRED(struct all_fields, tools, WANT_ARRAY),
};

static bool
within(int64_t n, int64_t most)
{
	return n >= 0 && n <= most;
}

static int
read_word(struct learned *l, uint32_t tool, const struct json *from, struct err *e)
{
	struct word_fields f = {0};
	int rc = json_fields(from, word_table, ARRAY_LEN(word_table), "tools/words", &f, e);

	if (rc < 0)
		return rc;
	if (!within(f.weight, WEIGHT_MOST) || !within(f.day, UINT16_MAX) ||
	    f.word.len > LIMIT_SEARCH_WORD)
		return err_set(e, E_BAD_REQUEST, "tools/words: a number or word that cannot be");
	strengthen(l, tool, f.word, (unsigned)f.weight, (uint16_t)f.day);
	return 0;
}

static int
read_subject(struct learned *l, const struct json *from, struct err *e)
{
	struct tool_fields f = {0};
	int rc = json_fields(from, tool_table, ARRAY_LEN(tool_table), "tools", &f, e);

	if (rc < 0)
		return rc;
	if (!within(f.uses, UINT32_MAX) || !within(f.day, UINT16_MAX) || !within(f.today, A_DAY))
		return err_set(e, E_BAD_REQUEST, "tools: a number that cannot be");
	if (names_find(&l->ids, f.id) != NAMES_NONE)
		return err_set(e, E_BAD_REQUEST, "tools: a tool is there twice");
	if (l->ids.count == LIMIT_LEARNED_TOOLS || json_len(f.words) > LIMIT_LEARNED_WORDS)
		return err_plain(e, E_LIMIT);
	uint32_t tool = subject_of(l, f.id);
	if (tool == NAMES_NONE)
		return err_plain(e, E_NOMEM);
	l->subjects[tool].uses = (uint32_t)f.uses;
	l->subjects[tool].day = (uint16_t)f.day;
	l->subjects[tool].today = (uint16_t)f.today;
	l->day = f.day > l->day ? (uint16_t)f.day : l->day;
	for (struct json_iter it = json_iter(f.words); rc == 0 && json_next(&it);)
		rc = read_word(l, tool, it.value, e);
	return rc;
}

int
learned_read(struct learned *l, const struct json *from, struct err *e)
{
	struct all_fields f = {.on = true};
	struct learned *fresh = learned_new();
	int rc = fresh ? json_fields(from, all_table, ARRAY_LEN(all_table), "", &f, e)
		       : err_plain(e, E_NOMEM);

	for (struct json_iter it = json_iter(f.tools); rc == 0 && json_next(&it);)
		rc = read_subject(fresh, it.value, e);
	if (rc == 0) {
		struct learned old = *l;
		*l = *fresh;
		*fresh = old;
		l->off = !f.on;
	}
	learned_free(fresh);
	return rc;
}
