/* words.c - from text to stems: runs, parts of runs, stop words, Snowball English. */

#include "search/words.h"

#include <libstemmer.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/library.h"
#include "base/limits.h"

#define CACHE_SLOTS 2048
#define CACHE_BYTES 22 /* longer words are stemmed anew each time */

struct cached {
	uint8_t word_len; /* 0: nothing here */
	uint8_t stem_len; /* 0: a stop word */
	char word[CACHE_BYTES];
	char stem[CACHE_BYTES];
};

struct words {
	struct sb_stemmer *stemmer; /* NULL: there is none */
	struct cached cache[CACHE_SLOTS];
};

/* Sorted. "get" is none: it tells a tool that reads from one that writes. */
static const char *const stop_words[] = {
    "a",     "able",    "about",   "above",  "after", "again",  "all",   "also",    "am",
    "an",    "and",     "any",     "are",    "as",    "at",     "be",    "been",    "before",
    "being", "below",   "between", "both",   "but",   "by",     "can",   "could",   "did",
    "do",    "does",    "doing",   "don",    "down",  "during", "each",  "few",     "for",
    "from",  "further", "had",     "has",    "have",  "having", "he",    "help",    "her",
    "here",  "hers",    "him",     "his",    "how",   "i",      "if",    "in",      "into",
    "is",    "it",      "its",     "itself", "just",  "let",    "like",  "ll",      "me",
    "more",  "most",    "my",      "myself", "need",  "no",     "nor",   "not",     "now",
    "of",    "off",     "on",      "once",   "only",  "or",     "other", "our",     "ours",
    "out",   "over",    "own",     "please", "re",    "s",      "same",  "she",     "should",
    "so",    "some",    "such",    "t",      "than",  "that",   "the",   "their",   "theirs",
    "them",  "then",    "there",   "these",  "they",  "this",   "those", "through", "to",
    "too",   "under",   "until",   "up",     "us",    "use",    "used",  "using",   "ve",
    "very",  "via",     "want",    "was",    "we",    "were",   "what",  "when",    "where",
    "which", "while",   "who",     "whom",   "why",   "will",   "with",  "would",   "you",
    "your",  "yours",
};

static int
stop_cmp(const void *key, const void *row)
{
	return str_cmp(*(const struct str *)key, str_of(*(const char *const *)row));
}

static bool
is_stop_word(struct str word)
{
	return bsearch(&word, stop_words, ARRAY_LEN(stop_words), sizeof(*stop_words), stop_cmp);
}

/* ---- the stemmer ---- */

/*
 * Its tables for a dozen languages take more memory than all the rest of an idle gateway's own, so
 * it is loaded when somebody searches for the first time. Where it is missing, words stand for
 * themselves: what is found is poorer, and nothing fails.
 */
static struct snowball {
	struct sb_stemmer *(*new)(const char *, const char *);
	void (*delete)(struct sb_stemmer *);
	const sb_symbol *(*stem)(struct sb_stemmer *, const sb_symbol *, int);
	int (*length)(struct sb_stemmer *);
} snowball;

static const struct library_function functions[] = {
    {"sb_stemmer_new", offsetof(struct snowball, new)},
    {"sb_stemmer_delete", offsetof(struct snowball, delete)},
    {"sb_stemmer_stem", offsetof(struct snowball, stem)},
    {"sb_stemmer_length", offsetof(struct snowball, length)},
};

static void
snowball_load(void)
{
	/* Debian's first; the others by their version. */
	static const char *const names[] = {"libstemmer.so.0d", "libstemmer.so.0",
					    "libstemmer.so.2", "libstemmer.so", NULL};

	(void)library_load(names, functions, ARRAY_LEN(functions), &snowball, NULL);
}

struct words *
words_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct words *w = calloc(1, sizeof(*w));

	pthread_once(&once, snowball_load);
	if (w && snowball.new && !(w->stemmer = snowball.new("english", "UTF_8"))) {
		free(w);
		return NULL;
	}
	return w;
}

void
words_free(struct words *w)
{
	if (w && w->stemmer)
		snowball.delete(w->stemmer);
	free(w);
}

/* ---- one word ---- */

static bool
is_plain(struct str word) /* the stemmer knows English only */
{
	for (size_t i = 0; i < word.len; i++)
		if (word.ptr[i] < 'a' || word.ptr[i] > 'z')
			return false;
	return true;
}

/* {"",0} for a stop word. Valid until the next one. */
static struct str
stem_anew(struct words *w, struct str word)
{
	if (is_stop_word(word))
		return S("");
	const sb_symbol *stem =
	    w->stemmer ? snowball.stem(w->stemmer, (const sb_symbol *)word.ptr, (int)word.len)
		       : NULL;
	int len = stem ? snowball.length(w->stemmer) : 0;
	return len > 0 ? (struct str){(const char *)stem, (size_t)len} : word;
}

static struct str
stem_of(struct words *w, struct str word)
{
	if (!is_plain(word))
		return word;
	if (word.len > CACHE_BYTES)
		return stem_anew(w, word);
	struct cached *c = &w->cache[str_hash(word) % CACHE_SLOTS];
	if (c->word_len != word.len || memcmp(c->word, word.ptr, word.len) != 0) {
		struct str stem = stem_anew(w, word);
		if (stem.len > CACHE_BYTES)
			return stem;
		c->word_len = (uint8_t)word.len;
		c->stem_len = (uint8_t)stem.len;
		memcpy(c->word, word.ptr, word.len);
		memcpy(c->stem, stem.ptr, stem.len);
	}
	return (struct str){c->stem, c->stem_len};
}

/* ---- runs and their parts ---- */

enum kind { OTHER, LOWER, UPPER, DIGIT, BEYOND };

static enum kind
kind_of(char c)
{
	unsigned char u = (unsigned char)c;

	if (u >= 0x80)
		return BEYOND;
	if (u >= 'a' && u <= 'z')
		return LOWER;
	if (u >= 'A' && u <= 'Z')
		return UPPER;
	return u >= '0' && u <= '9' ? DIGIT : OTHER;
}

struct walk {
	struct words *words;
	word_each *each;
	void *arg;
	size_t at;
	char lower[LIMIT_SEARCH_WORD]; /* the run */
};

static bool
emit(struct walk *k, struct str word)
{
	struct str stem = stem_of(k->words, word);

	return stem.len == 0 || k->each(stem, k->at, k->arg);
}

/* Each pair of neighbours, if these are characters of three bytes or more. */
static bool
emit_pairs(struct walk *k, struct str part)
{
	uint32_t c;

	for (size_t one, two; (one = str_utf8_char(part, &c)) >= 3; part = str_from(part, one)) {
		two = str_utf8_char(str_from(part, one), &c);
		if (two >= 3 && !emit(k, str_upto(part, one + two)))
			return false;
	}
	return true;
}

static bool
emit_part(struct walk *k, struct str part, enum kind kind)
{
	if (kind == DIGIT || part.len < 2)
		return true;
	return kind == BEYOND ? emit_pairs(k, part) : emit(k, part);
}

/* The end of the part that begins at `from`: "get|HTTP|Response|2|xml". */
static size_t
part_end(struct str run, size_t from)
{
	enum kind kind = kind_of(run.ptr[from]);
	size_t to = from + 1;

	while (to < run.len && kind_of(run.ptr[to]) == kind)
		to++;
	if (kind != UPPER || to == run.len || kind_of(run.ptr[to]) != LOWER)
		return to;
	if (to - from > 1) /* the last capital belongs to the next part */
		return to - 1;
	while (to < run.len && kind_of(run.ptr[to]) == LOWER)
		to++;
	return to;
}

static bool
emit_run(struct walk *k, struct str run)
{
	run = run.len > sizeof(k->lower) ? str_utf8_upto(run, sizeof(k->lower)) : run;
	for (size_t i = 0; i < run.len; i++)
		k->lower[i] = kind_of(run.ptr[i]) == UPPER ? (char)(run.ptr[i] | 0x20) : run.ptr[i];
	struct str lower = {k->lower, run.len};
	size_t first = run.len > 0 ? part_end(run, 0) : 0;
	if (run.len > 0 && !emit(k, lower))
		return false;
	bool several = first < run.len || (run.len > 0 && kind_of(run.ptr[0]) == BEYOND);
	for (size_t from = 0, to; several && from < run.len; from = to) {
		to = part_end(run, from);
		enum kind kind = kind_of(run.ptr[to - 1]);
		if (!emit_part(k, str_upto(str_from(lower, from), to - from), kind))
			return false;
	}
	return true;
}

void
words_each(struct words *w, struct str text, word_each *each, void *arg)
{
	struct walk k = {.words = w, .each = each, .arg = arg};

	for (size_t from = 0, to; from < text.len; from = to + 1) {
		for (to = from; to < text.len && kind_of(text.ptr[to]) != OTHER;)
			to++;
		k.at = from;
		if (to > from && !emit_run(&k, str_upto(str_from(text, from), to - from)))
			return;
	}
}
