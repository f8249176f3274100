/* buf.c - growing text up to its maximum. */

#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/spare.h"

/* Whatever it was made of: a block of such a size will do for the next that wants one. */
static void
block_drop(struct buf *b)
{
	char *block = b->ptr - b->before;
	size_t size = b->cap + b->before;

	if (size < SPARE_MIN || (size < SPARE_LARGE && size & (size - 1)))
		free(block);
	else
		spare_put(block, size);
}

void
buf__free(struct buf *b)
{
	block_drop(b);
	*b = BUF_INIT(b->max);
}

static bool
block_grow(struct buf *b, size_t cap)
{
	/* What becomes large goes where there is room for more; from then on it grows in place. */
	char *p = b->cap < SPARE_LARGE ? spare_find(cap) : NULL;
	bool stays = !p && b->cap > SPARE_MAX && b->before == 0;

	if (!p)
		p = stays ? realloc(b->ptr, cap) : spare_get(cap);
	if (!p)
		return false;
	if (b->ptr && !stays) {
		memcpy(p, b->ptr, b->len);
		block_drop(b);
	}
	b->ptr = p;
	b->cap = cap;
	b->before = 0;
	return true;
}

char *
buf_room(struct buf *b, size_t n)
{
	if (b->failed)
		return NULL;
	if (n > b->max || b->len > b->max - n) {
		b->failed = true;
		return NULL;
	}
	/* One byte more than asked for: a NUL always fits behind, and is never counted. */
	if (b->len + n < b->cap)
		return b->ptr + b->len;
	size_t cap = b->cap ? b->cap : 256;
	while (cap < b->len + n + 1)
		cap *= 2;
	if (cap > b->max + 1)
		cap = b->max + 1;
	if (!block_grow(b, cap)) {
		b->failed = true;
		return NULL;
	}
	return b->ptr + b->len;
}

void
buf__add(struct buf *b, struct str s)
{
	char *p = s.len ? buf_room(b, s.len) : NULL;

	if (p) {
		memcpy(p, s.ptr, s.len);
		b->len += s.len;
	}
}

void
buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;

	size_t room = b->failed ? 0 : b->cap - b->len;
	va_copy(again, ap);
	int n = vsnprintf(room ? b->ptr + b->len : NULL, room, fmt, again);
	va_end(again);
	if (n >= 0 && (size_t)n < room) {
		b->len += (size_t)n;
		return; /* it fitted, as it mostly does */
	}
	if (n < 0) {
		b->failed = true;
		return;
	}
	char *p = buf_room(b, (size_t)n);
	if (p) {
		vsnprintf(p, (size_t)n + 1, fmt, ap);
		b->len += (size_t)n;
	}
}

void
buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
}

void
buf_add_u64(struct buf *b, uint64_t n)
{
	char text[20], *at = text + sizeof(text);

	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	buf_add(b, (struct str){at, (size_t)(text + sizeof(text) - at)});
}

void
buf_add_i64(struct buf *b, int64_t n)
{
	if (n < 0)
		buf_addc(b, '-');
	buf_add_u64(b, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void
buf_add_front(struct buf *b, struct str s)
{
	if (b->failed || s.len == 0)
		return;
	if (s.len <= b->before) {
		b->ptr -= s.len;
		b->cap += s.len;
		b->before -= (uint32_t)s.len;
	} else if (buf_room(b, s.len)) {
		memmove(b->ptr + s.len, b->ptr, b->len);
	} else {
		return;
	}
	memcpy(b->ptr, s.ptr, s.len);
	b->len += s.len;
}

void
buf_trim(struct buf *b)
{
	if (b->len == 0) {
		if (b->ptr)
			buf__free(b);
		return;
	}
	char *ptr = b->cap > b->len && !b->before ? realloc(b->ptr, b->len) : NULL;
	if (ptr) {
		b->ptr = ptr;
		b->cap = b->len;
	}
}

void
buf_eat(struct buf *b, size_t n)
{
	CHECK(n <= b->len);
	if (n == 0)
		return;
	memmove(b->ptr, b->ptr + n, b->len - n);
	b->len -= n;
}

const char *
buf_z(struct buf *b)
{
	char *p = buf_room(b, 0);

	if (!p)
		return NULL;
	*p = '\0';
	return b->ptr;
}
