/* arena.c - chunks in a row, freed together. */

#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_CHUNK ((size_t)4096)
#define SPARES 256 /* first chunks kept for the next, per thread */
#define ALIGN _Alignof(max_align_t)

struct chunk {
	struct chunk *older;
	size_t used;
	size_t size; /* of bytes[] */
	_Alignas(max_align_t) char bytes[];
};

struct arena {
	struct chunk *newest;
	size_t total; /* bytes in all chunks */
	size_t max;
	size_t used;
};

/* Calls come and go in thousands, and each has one. */
static _Thread_local struct chunk *spares;
static _Thread_local unsigned spare_count, spare_most;

static struct chunk *
spare_take(void)
{
	struct chunk *c = spares;

	if (!c)
		return NULL;
	spares = c->older;
	spare_count--;
	return c;
}

static void
chunk_free(struct chunk *c)
{
	if (c->size != FIRST_CHUNK || spare_count >= spare_most) {
		free(c);
		return;
	}
	c->older = spares;
	spares = c;
	spare_count++;
}

static struct chunk *
chunk_new(size_t size)
{
	struct chunk *c = size == FIRST_CHUNK ? spare_take() : NULL;

	if (!c)
		c = malloc(sizeof(*c) + size);

	if (c)
		*c = (struct chunk){.size = size};
	return c;
}

struct arena *
arena_new(size_t max_bytes)
{
	/* The arena lives in its own first chunk: one malloc for most calls. */
	struct chunk *c = chunk_new(FIRST_CHUNK);
	if (!c)
		return NULL;
	struct arena *a = (struct arena *)(void *)c->bytes;
	*a = (struct arena){.newest = c, .total = FIRST_CHUNK, .max = max_bytes};
	c->used = (sizeof(*a) + ALIGN - 1) / ALIGN * ALIGN;
	return a;
}

void
arena_free(struct arena *a)
{
	if (!a)
		return;
	for (struct chunk *c = a->newest, *older; c; c = older) {
		older = c->older;
		chunk_free(c);
	}
}

static bool
arena_grow(struct arena *a, size_t size)
{
	size_t want = a->newest->size * 2;

	if (want < size)
		want = size;
	if (want > a->max - (a->total < a->max ? a->total : a->max))
		want = size;
	if (a->total >= a->max || size > a->max - a->total)
		return false;
	struct chunk *c = chunk_new(want);
	if (!c)
		return false;
	c->older = a->newest;
	a->newest = c;
	a->total += want;
	return true;
}

void *
arena_alloc_upto(struct arena *a, size_t size, size_t zeroed)
{
	if (size > a->max)
		return NULL;
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (size > a->max - a->used)
		return NULL;
	if (size > a->newest->size - a->newest->used && !arena_grow(a, size))
		return NULL;
	void *p = a->newest->bytes + a->newest->used;
	a->newest->used += size;
	a->used += size;
	return memset(p, 0, zeroed);
}

void *
arena_alloc(struct arena *a, size_t size)
{
	return arena_alloc_upto(a, size, size);
}

char *
arena_strz(struct arena *a, struct str s)
{
	char *p = arena_alloc_upto(a, s.len + 1, 0);

	if (p && s.len)
		memcpy(p, s.ptr, s.len);
	if (p)
		p[s.len] = '\0';
	return p;
}

struct str
arena_str(struct arena *a, struct str s)
{
	char *p = arena_strz(a, s);

	return (struct str){p, p ? s.len : 0};
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *p = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

size_t
arena_used(const struct arena *a)
{
	return a->used;
}

void
arena_recycle(bool on)
{
	spare_most = on ? SPARES : 0;
	for (struct chunk *c; !on && (c = spare_take());)
		free(c);
}
