/*
 * inside.h - the index as the files of src/search see it.
 *
 *	names    word <-> number, tool id <-> number
 *	terms    by a word's number: the tools that have it, in chunks of one block of tools each
 *	tools    by a tool's number: the words it has, so that it can be taken out again
 *	meanings by a tool's number: which way its words point
 *
 * A posting says how well a word stands for a tool, from 1 to 255: that depends on the tool
 * alone. How rare the word is comes in when it is asked for. So nothing that is here already
 * changes when a tool comes or goes.
 */

#ifndef SEARCH_INSIDE_H
#define SEARCH_INSIDE_H

#include "base/limits.h"
#include "search/meaning.h"
#include "search/names.h"
#include "search/search.h"
#include "search/words.h"

#define BLOCK (16 * 1024)         /* tools whose sums are made together: these fit a cache */
#define DENSE (BLOCK / 24)        /* more postings than this and a chunk is a row */
#define SUM_SHIFT 5               /* bits of a posting times a weight that a sum does not keep */
#define WORDS_PER_TOOL (2 * 1024) /* at most; see the fields' own */

struct posting {
	uint16_t tool; /* within the block */
	uint8_t impact;
};

struct chunk {
	uint16_t block;
	uint16_t count;
	uint16_t cap; /* of the list; 0: the postings are few */
	bool dense;
	uint8_t most; /* no impact is greater */
	union {
		struct posting few[2];
		struct posting *list;
		uint8_t *row; /* impacts of all tools of the block */
	};
};

struct term {
	uint32_t tools; /* that have it */
	uint32_t row;   /* of its meaning, or MEANING_NONE */
	uint16_t verbs; /* a bit for each kind of them it is of */
	uint16_t chunk_count, chunk_cap;
	struct chunk *chunks; /* by block */
};

/* A word of a tool: its number, and the impact in the upper 8 bits. */
#define TERM_OF(packed) ((packed)&0xffffffu)
#define IMPACT_OF(packed) ((packed) >> 24)
_Static_assert(LIMIT_SEARCH_STEMS <= 1 << 24, "a number of a word has 24 bits");

struct tool {
	uint32_t *terms;
	uint16_t count;
	uint16_t verbs; /* a bit for each kind that is in its name */
};

struct search {
	struct words *words;
	struct names stems;
	struct names ids;
	struct term *terms;
	uint32_t term_room;
	struct tool *tools;
	struct meaning *meanings;
	uint32_t tool_room;
};

/* terms.c */
bool term_add(struct term *t, uint32_t tool, uint8_t impact); /* false: no memory */
void term_remove(struct term *t, uint32_t tool);              /* no-op where it is not */
void term_done(struct term *t);
size_t term_bytes(const struct term *t);

/* fields.c: the words of a tool, weighed. */
struct weighed {
	uint32_t term;
	uint8_t impact;
};
struct portrait {
	struct weighed words[WORDS_PER_TOOL]; /* each once, by number */
	size_t count;
	struct meaning meaning;
	uint16_t verbs;
};
bool portrait_of(struct search *s, const struct search_tool *tool, struct portrait *ret);

/* search.c: the number of a word, perhaps a new one; NAMES_NONE: no memory, or one word too many.
 */
uint32_t search__term(struct search *s, struct str stem);

/* verbs.c */
uint16_t verb_kinds(struct str stem); /* a bit for each kind the verb is of */

#endif
