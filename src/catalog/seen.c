/* seen.c - lists whose beginning stays the same. */

#include "catalog/seen.h"

#include <stdlib.h>

#include "base/limits.h"

struct seen {
	struct str id;
	struct card card;
	bool frozen; /* the card is there */
};

struct browse_seen {
	struct arena *arena; /* of all ids and cards */
	uint64_t generation; /* of the shelf they are from */
	struct seen *at;     /* by id */
	size_t count, cap;
};

struct browse_seen *
browse_seen_new(void)
{
	return calloc(1, sizeof(struct browse_seen));
}

void
browse_seen_free(struct browse_seen *seen)
{
	if (!seen)
		return;
	arena_free(seen->arena);
	free(seen->at);
	free(seen);
}

size_t
browse_seen_count(const struct browse_seen *seen)
{
	return seen->count;
}

/* False: there is no memory to remember anything. */
static bool
seen_refresh(struct browse_seen *seen, const struct shelf *s)
{
	if (seen->generation != shelf_generation(s)) {
		arena_free(seen->arena);
		seen->arena = NULL;
		seen->count = 0;
		seen->generation = shelf_generation(s);
	}
	if (!seen->arena)
		seen->arena = arena_new(LIMIT_BROWSE_SEEN_BYTES);
	return seen->arena != NULL;
}

static size_t
seen_place(const struct browse_seen *seen, struct str id)
{
	size_t low = 0, high = seen->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (str_cmp(seen->at[middle].id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct seen *
seen_find(struct browse_seen *seen, struct str id)
{
	size_t at = seen_place(seen, id);

	return at < seen->count && str_eq(seen->at[at].id, id) ? &seen->at[at] : NULL;
}

static bool
seen_grow(struct browse_seen *seen)
{
	if (seen->count < seen->cap)
		return true;
	size_t cap = seen->cap ? seen->cap * 2 : 16;
	struct seen *grown =
	    cap <= LIMIT_BROWSE_SEEN ? realloc(seen->at, cap * sizeof(*grown)) : NULL;
	if (!grown)
		return false;
	seen->at = grown;
	seen->cap = cap;
	return true;
}

/* NULL when it is full. */
static struct seen *
seen_add(struct browse_seen *seen, struct str id)
{
	struct seen *found = seen_find(seen, id);
	size_t at = seen_place(seen, id);

	if (found)
		return found;
	if (!seen_grow(seen) || !(id = arena_str(seen->arena, id)).ptr)
		return NULL;
	memmove(seen->at + at + 1, seen->at + at, (seen->count - at) * sizeof(struct seen));
	seen->count++;
	seen->at[at] = (struct seen){.id = id};
	return &seen->at[at];
}

static void
seen_forget(struct browse_seen *seen, struct seen *entry)
{
	size_t at = (size_t)(entry - seen->at);

	seen->count--;
	memmove(entry, entry + 1, (seen->count - at) * sizeof(*entry));
}

/* The kind is static, all else is copied. */
static bool
card_copy(struct arena *a, const struct card *from, struct card *ret)
{
	struct str *tags = arena_alloc(a, (from->tag_count + 1) * sizeof(*tags));
	bool whole = tags != NULL;

	*ret = *from;
	ret->id = arena_str(a, from->id);
	ret->name = arena_str(a, from->name);
	ret->description = arena_str(a, from->description);
	ret->ns = arena_str(a, from->ns);
	whole = whole && ret->id.ptr && ret->name.ptr && ret->description.ptr && ret->ns.ptr;
	for (size_t i = 0; whole && i < from->tag_count; i++)
		whole = (tags[i] = arena_str(a, from->tags[i])).ptr != NULL;
	ret->tags = tags;
	return whole;
}

void
browse_seen_note(struct browse_seen *seen, const struct shelf *s, struct str id)
{
	if (shelf_find(s, id) && seen_refresh(seen, s))
		seen_add(seen, id);
}

static int
marker_make(struct arena *a, struct card *ret, struct err *e)
{
	const struct card_source from = {.id = S(SEEN_MARKER),
					 .name = S("cache_breakpoint"),
					 .description = S(""),
					 .ns = S(""),
					 .kind = "internal"};

	return card_build(a, &from, ret, e);
}

/* Moves the known cards to the front; how many. */
static size_t
known_first(struct browse_seen *seen, struct card *cards, size_t count)
{
	size_t known = 0;

	for (size_t i = 0; i < count; i++) {
		struct card c = cards[i];
		if (!seen_find(seen, c.id))
			continue;
		memmove(cards + known + 1, cards + known, (i - known) * sizeof(*cards));
		cards[known++] = c;
	}
	return known;
}

/* As it was when it was first shown; now, if it never was. What cannot be kept was not seen. */
static int
freeze(struct browse_seen *seen, struct arena *a, struct card *card, struct err *e)
{
	struct seen *entry = seen_add(seen, card->id);

	if (!entry)
		return 0;
	if (!entry->frozen && !card_copy(seen->arena, card, &entry->card)) {
		seen_forget(seen, entry);
		return 0;
	}
	entry->frozen = true;
	return card_copy(a, &entry->card, card) ? 0 : err_plain(e, E_NOMEM);
}

int
browse_seen_arrange(struct browse_seen *seen, const struct shelf *s, struct arena *a,
		    struct card *cards, size_t *count, size_t limit, size_t *left_out,
		    struct err *e)
{
	struct card marker;
	int rc;

	if (!seen_refresh(seen, s) || marker_make(a, &marker, e) < 0)
		return err_plain(e, E_NOMEM);
	size_t known = known_first(seen, cards, *count), new = *count - known;
	if (known > 0 && new > 0 && *count + 1 > limit)
		new = limit > known + 1 ? limit - known - 1 : 0;
	*left_out += *count - known - new;
	qsort(cards, known, sizeof(*cards), card_by_id);
	qsort(cards + known, new, sizeof(*cards), card_by_id);
	for (size_t i = 0; i < known + new; i++)
		if ((rc = freeze(seen, a, &cards[i], e)) < 0)
			return rc;
	*count = known + new;
	if (known > 0 && new > 0) {
		memmove(cards + known + 1, cards + known, new * sizeof(*cards));
		cards[known] = marker;
		++*count;
	}
	return 0;
}
