/*
 * search.h - finding the right tool among a hundred thousand, in microseconds and without a
 * network.
 *
 * One flat index in memory. A query's words are looked for in the names, descriptions, namespaces,
 * tags and parameters of all tools (BM25F); the best are ordered again by what the words mean, by
 * kinds of verbs, by the query's clauses and, where given, by what use has taught.
 * docs/retrieval.md explains and has the figures.
 *
 * The order is a function of the query and of the set of tools alone: it does not matter in which
 * order or how many at a time they came, or which others have been and gone. Scores are integers,
 * the same on every machine; equal ones are ordered by id.
 *
 * An index belongs to one thread at a time, queries too.
 */

#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "base/err.h"
#include "json/json.h"

#define SEARCH_MOST 50 /* hits of one query */

struct search;
struct learned;
struct words;

struct search_tool {
	struct str id;                                    /* by which it is known here, unique */
	struct str name, description, ns, ns_description; /* {NULL,0}: none */
	const struct str *tags;
	size_t tag_count;
	const struct json *input_schema; /* or NULL */
};

struct search *search_new(void); /* NULL when out of memory */
void search_free(struct search *s);

/*
 * All of them or none; nothing is kept of the texts but stems and ids. The cost is that of these
 * tools, however many there are. E_EXISTS (names the id), E_LIMIT, E_NOMEM.
 */
int search_add(struct search *s, const struct search_tool *tools, size_t count, struct err *e);
int search_remove(struct search *s, struct str id); /* E_NOT_FOUND */

size_t search_count(const struct search *s);
size_t search_bytes(const struct search *s); /* of memory */

/*
 * Each tool has a number as long as it is there: small, for arrays beside the index; that of a
 * removed tool is used again. SEARCH_NONE: there is no such tool.
 */
#define SEARCH_NONE UINT32_MAX
uint32_t search_find(const struct search *s, struct str id);

struct search_hit {
	uint32_t tool;
	struct str id; /* valid as long as the tool is there */
	uint32_t score;
};

struct search_options {
	bool (*visible)(uint32_t tool, void *arg); /* NULL: all are */
	void *arg;                                 /* for visible */
	const struct learned *learned;             /* or NULL */
};

/* The best k or fewer, best first; options may be NULL. k is at most SEARCH_MOST. */
size_t search_query(const struct search *s, struct str query, size_t k,
		    const struct search_options *options, struct search_hit *hits);

/* 0 to 1, for a card: how much of what a hit can have this one has. */
double search_shown_score(uint32_t score);

/* For learned.h: what splits texts into words here, and whether a tool has one of them. */
struct words *search_words(const struct search *s);
bool search_says(const struct search *s, uint32_t tool, struct str stem);

#endif
