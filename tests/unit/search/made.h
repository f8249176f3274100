/* made.h - tools made up of a few words, for tests that need many. */

#ifndef TESTS_MADE_H
#define TESTS_MADE_H

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "search/search.h"

#define MADE_TEXT 200

struct made {
	char id[32], name[MADE_TEXT], description[MADE_TEXT];
};

/* Some of these are in nearly every tool, most in few. */
static inline void
made_words(char out[static MADE_TEXT], int count)
{
	static const char *const common[] = {"list", "user", "item", "data", "report", "value"};
	size_t len = 0;

	out[0] = '\0';
	for (int i = 0; i < count; i++) {
		int n = rand() % 100, rare = rand() % 40 * (rand() % 40);
		if (n < 40)
			len += (size_t)snprintf(out + len, MADE_TEXT - len, "%s ", common[n % 6]);
		else
			len += (size_t)snprintf(out + len, MADE_TEXT - len, "rare%c%c ",
						'a' + rare % 26, 'a' + rare / 26 % 26);
	}
}

static inline struct made
made_tool(unsigned number)
{
	struct made m;

	snprintf(m.id, sizeof(m.id), "s%u:t%u", number % 7, number);
	made_words(m.name, 1 + rand() % 3);
	made_words(m.description, 1 + rand() % 6);
	return m;
}

static inline struct search_tool
made_row(const struct made *m)
{
	return (struct search_tool){.id = str_of(m->id),
				    .name = str_of(m->name),
				    .description = str_of(m->description),
				    .ns = str_upto(str_of(m->id), 2)};
}

static inline void
made_add(struct search *s, const struct made *m)
{
	struct search_tool row = made_row(m);
	struct err e;

	if (search_add(s, &row, 1, &e) < 0)
		fail_msg("%s: %s", m->id, err_text(&e));
}

#endif
