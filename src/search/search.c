/* search.c - tools come into the index and go out of it. */

#include <stdlib.h>

#include "base/limits.h"
#include "search/inside.h"

struct search *
search_new(void)
{
	struct search *s = calloc(1, sizeof(*s));

	if (!s || !(s->words = words_new())) {
		free(s);
		return NULL;
	}
	names_init(&s->stems, LIMIT_SEARCH_STEMS);
	names_init(&s->ids, LIMIT_SEARCH_TOOLS);
	return s;
}

void
search_free(struct search *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->stems.top && i < s->term_room; i++)
		term_done(&s->terms[i]);
	for (uint32_t i = 0; i < s->ids.top && i < s->tool_room; i++)
		free(s->tools[i].terms);
	names_done(&s->stems);
	names_done(&s->ids);
	words_free(s->words);
	free(s->terms);
	free(s->tools);
	free(s->meanings);
	free(s);
}

size_t
search_count(const struct search *s)
{
	return s->ids.count;
}

uint32_t
search_find(const struct search *s, struct str id)
{
	return names_find(&s->ids, id);
}

struct words *
search_words(const struct search *s)
{
	return s->words;
}

bool
search_says(const struct search *s, uint32_t tool, struct str stem)
{
	const struct tool *t = &s->tools[tool];
	uint32_t term = names_find(&s->stems, stem);

	for (uint16_t i = 0; i < t->count; i++)
		if (TERM_OF(t->terms[i]) == term)
			return true;
	return false;
}

/* ---- room ---- */

static bool
terms_room(struct search *s)
{
	uint32_t room = s->stems.room;

	if (room <= s->term_room)
		return true;
	struct term *terms = realloc(s->terms, room * sizeof(*terms));
	if (!terms)
		return false;
	memset(terms + s->term_room, 0, (room - s->term_room) * sizeof(*terms));
	s->terms = terms;
	s->term_room = room;
	return true;
}

uint32_t
search__term(struct search *s, struct str stem)
{
	uint32_t before = s->stems.count, term = names_add(&s->stems, stem);

	if (term == NAMES_NONE || s->stems.count == before)
		return term;
	if (!terms_room(s)) {
		names_remove(&s->stems, term);
		return NAMES_NONE;
	}
	s->terms[term] = (struct term){.row = meaning_find(stem), .verbs = verb_kinds(stem)};
	return term;
}

/* Aligned, so that no meaning lies on two lines of the cache. */
static bool
meanings_room(struct search *s, uint32_t room)
{
	struct meaning *more = aligned_alloc(sizeof(*more), room * sizeof(*more));

	if (!more)
		return false;
	if (s->tool_room > 0)
		memcpy(more, s->meanings, s->tool_room * sizeof(*more));
	memset(more + s->tool_room, 0, (room - s->tool_room) * sizeof(*more));
	free(s->meanings);
	s->meanings = more;
	return true;
}

static bool
tools_room(struct search *s)
{
	uint32_t room = s->ids.room;

	if (room <= s->tool_room)
		return true;
	struct tool *tools = realloc(s->tools, room * sizeof(*tools));
	if (!tools)
		return false;
	s->tools = tools;
	if (!meanings_room(s, room))
		return false;
	memset(tools + s->tool_room, 0, (room - s->tool_room) * sizeof(*tools));
	s->tool_room = room;
	return true;
}

/* ---- one tool ---- */

static void
forget_if_unused(struct search *s, uint32_t term)
{
	if (s->terms[term].tools == 0)
		names_remove(&s->stems, term);
}

/* Words nobody has any more must not stay: a server could go on inventing them. */
static void
take_out(struct search *s, uint32_t tool)
{
	struct tool *t = &s->tools[tool];

	for (uint16_t i = 0; i < t->count; i++) {
		term_remove(&s->terms[TERM_OF(t->terms[i])], tool);
		forget_if_unused(s, TERM_OF(t->terms[i]));
	}
	free(t->terms);
	*t = (struct tool){0};
	s->meanings[tool] = (struct meaning){0};
	names_remove(&s->ids, tool);
}

/* E_NOMEM leaves the tool half in; take_out ends that. */
static int
put_words(struct search *s, uint32_t tool, const struct portrait *p)
{
	struct tool *t = &s->tools[tool];

	for (; t->count < p->count; t->count++) {
		const struct weighed *w = &p->words[t->count];
		t->terms[t->count] = w->term | (uint32_t)w->impact << 24;
		if (!term_add(&s->terms[w->term], tool, w->impact)) {
			t->count++;
			return E_NOMEM;
		}
	}
	return 0;
}

static int
put_in(struct search *s, const struct search_tool *from, const struct portrait *p, struct err *e)
{
	uint32_t tool = names_add(&s->ids, from->id);

	if (tool == NAMES_NONE)
		return err_plain(e, s->ids.count == s->ids.max ? E_LIMIT : E_NOMEM);
	if (!tools_room(s)) {
		names_remove(&s->ids, tool);
		return err_plain(e, E_NOMEM);
	}
	struct tool *t = &s->tools[tool];
	*t = (struct tool){.verbs = p->verbs, .terms = malloc((p->count + 1) * sizeof(*t->terms))};
	s->meanings[tool] = p->meaning;
	if (t->terms && put_words(s, tool, p) == 0)
		return 0;
	take_out(s, tool);
	return err_plain(e, E_NOMEM);
}

static int
add_one(struct search *s, const struct search_tool *from, struct err *e)
{
	struct portrait p;
	int rc;

	if (search_find(s, from->id) != SEARCH_NONE)
		return err_set(e, E_EXISTS, "there are two tools %.*s",
			       STR_ARG(str_utf8_upto(from->id, 200)));
	if (portrait_of(s, from, &p))
		rc = put_in(s, from, &p, e);
	else
		rc = err_plain(e, E_NOMEM);
	for (size_t i = 0; rc < 0 && i < p.count; i++)
		if (names_text(&s->stems, p.words[i].term).ptr)
			forget_if_unused(s, p.words[i].term);
	return rc;
}

int
search_add(struct search *s, const struct search_tool *tools, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		int rc = add_one(s, &tools[i], e);
		if (rc == 0)
			continue;
		while (i-- > 0)
			take_out(s, search_find(s, tools[i].id));
		return rc;
	}
	return 0;
}

int
search_remove(struct search *s, struct str id)
{
	uint32_t tool = search_find(s, id);

	if (tool == SEARCH_NONE)
		return E_NOT_FOUND;
	take_out(s, tool);
	return 0;
}

size_t
search_bytes(const struct search *s)
{
	size_t bytes = sizeof(*s) + names_bytes(&s->stems) + names_bytes(&s->ids);

	bytes += s->term_room * sizeof(*s->terms);
	bytes += s->tool_room * (sizeof(*s->tools) + sizeof(*s->meanings));
	for (uint32_t i = 0; i < s->stems.top; i++)
		bytes += term_bytes(&s->terms[i]);
	for (uint32_t i = 0; i < s->ids.top; i++)
		bytes += s->tools[i].count * sizeof(*s->tools[i].terms);
	return bytes;
}
