/*
 * buf.h - text being built, with a maximum from birth.
 *
 * Failure (memory or the maximum) is sticky: write freely, test buf_failed once
 * at the end. A failed buffer keeps what fitted before.
 */

#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>

#include "base/bug.h"
#include "base/str.h"

struct buf {
	char *ptr;
	size_t len;
	size_t cap;
	size_t max;
	bool failed;
	uint32_t before; /* bytes of its memory that stand before ptr, free to be written to */
};

#define BUF_INIT(max_bytes) ((struct buf){.max = (max_bytes)})

static inline void
buf_init(struct buf *b, size_t max_bytes)
{
	*b = BUF_INIT(max_bytes);
}

void buf__free(struct buf *b);
static inline void
buf_done(struct buf *b) /* frees; the buffer can be used again with the same maximum */
{
	if (b->ptr)
		buf__free(b);
	b->len = 0;
	b->failed = false;
}
static inline void
buf_reset(struct buf *b) /* empty, memory kept */
{
	b->len = 0;
	b->failed = false;
}

void buf__add(struct buf *b, struct str s); /* makes room first */
#ifdef __clang_analyzer__ /* it would walk every path through these wherever they stand */
void buf_add(struct buf *b, struct str s);
void buf_addz(struct buf *b, const char *z);
void buf_addc(struct buf *b, char c);
#else
/* Most of what is written fits, and then it is a copy. */
static inline void
buf_add(struct buf *b, struct str s)
{
	if (b->failed || s.len >= b->cap - b->len) {
		buf__add(b, s);
		return;
	}
	memcpy(b->ptr + b->len, s.len ? s.ptr : "", s.len);
	b->len += s.len;
}
static inline void
buf_addz(struct buf *b, const char *z)
{
	buf_add(b, str_of(z));
}
static inline void
buf_addc(struct buf *b, char c)
{
	buf_add(b, (struct str){&c, 1});
}
#endif
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vaddf(struct buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

/* Decimal. */
void buf_add_u64(struct buf *b, uint64_t n);
void buf_add_i64(struct buf *b, int64_t n);

/* Room for n more bytes at ptr + len, or NULL. Add to len what was written. */
char *buf_room(struct buf *b, size_t n);

/* Give back the memory beyond the content. */
void buf_trim(struct buf *b);

/* At the front; where there is room before ptr, nothing moves. */
void buf_add_front(struct buf *b, struct str s);

/* Drop n bytes at the front. */
void buf_eat(struct buf *b, size_t n);

static inline bool
buf_failed(const struct buf *b)
{
	return b->failed;
}

static inline struct str
buf_str(const struct buf *b)
{
	return (struct str){b->ptr ? b->ptr : "", b->len};
}

/* NUL-terminated view, valid until the next change; NULL for a failed buffer. */
const char *buf_z(struct buf *b);

/* Move the content out; the buffer is left empty. */
static inline struct buf
buf_take(struct buf *b)
{
	struct buf out = *b;
	*b = BUF_INIT(out.max);
	return out;
}

#endif
