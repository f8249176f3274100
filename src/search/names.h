/*
 * names.h - texts and the numbers that stand for them, both ways.
 *
 * Words, tool ids: whatever is looked up by text and kept by number. Numbers are small, without
 * holes for long, and used again after a removal. The hash has a seed of its own in every table,
 * so that nobody can choose what collides; nothing depends on it.
 */

#ifndef SEARCH_NAMES_H
#define SEARCH_NAMES_H

#include "base/bug.h"
#include "base/str.h"

#define NAMES_NONE UINT32_MAX

struct name {
	char *text; /* NULL: the number is free */
	uint32_t len;
	uint32_t hash; /* of a free one: the next that is free */
};

struct names {
	struct name *rows;
	uint32_t top;   /* numbers ever given; rows beyond are not there */
	uint32_t count; /* in use */
	uint32_t room;  /* rows allocated */
	uint32_t max;
	uint32_t free;   /* the first free number below top, or NAMES_NONE */
	uint32_t *slots; /* number + 1; 0 is empty */
	uint32_t cap;    /* of slots, a power of two */
	uint64_t seed;
};

void names_init(struct names *n, uint32_t max);
void names_done(struct names *n);

uint32_t names_find(const struct names *n, struct str text); /* NAMES_NONE = none */
/* The number it has, or a new one; the text is copied. NAMES_NONE: at the maximum, or no memory. */
uint32_t names_add(struct names *n, struct str text);
void names_remove(struct names *n, uint32_t number);

/* {NULL,0} for a number that is free. */
static inline struct str
names_text(const struct names *n, uint32_t number)
{
	CHECK(number < n->top);
	return (struct str){n->rows[number].text, n->rows[number].text ? n->rows[number].len : 0};
}

size_t names_bytes(const struct names *n); /* of memory */

#endif
