/*
 * write.h - JSON written straight into a buffer, commas by themselves.
 *
 *	struct jw w = jw(&b);
 *	jw_object(&w);
 *	jw_key(&w, "id"), jw_z(&w, id);
 *	jw_end(&w);
 *
 * Text that is not UTF-8 is made so: each bad byte becomes U+FFFD. Depth is at most 64.
 */

#ifndef JSON_WRITE_H
#define JSON_WRITE_H

#include "base/buf.h"
#include "json/json.h"

struct jw {
	struct buf *out;
	uint64_t comma;  /* bit d: depth d has a member already */
	uint64_t object; /* bit d: depth d is an object */
	unsigned depth;
	bool after_key;
};

struct jw jw(struct buf *out);

void jw_object(struct jw *w);
void jw_array(struct jw *w);
void jw_end(struct jw *w); /* of the innermost object or array */
void jw__key(struct jw *w, const char *key, size_t len);
INLINE_WORDS void
jw_key(struct jw *w, const char *key) /* a word of ours: nothing in it needs an escape */
{
	jw__key(w, key, strlen(key)); /* which is known already where it is compiled */
}
void jw_key_str(struct jw *w, struct str key);

void jw_str(struct jw *w, struct str s); /* null for {NULL,0} */
static inline void
jw_z(struct jw *w, const char *z) /* null for NULL */
{
	jw_str(w, str_of(z));
}
void jw_int(struct jw *w, int64_t n);
void jw_double(struct jw *w, double d); /* shortest that reads back; null for what JSON has not */
void jw_bool(struct jw *w, bool yes);
void jw_null(struct jw *w);
void jw_value(struct jw *w, const struct json *v); /* as it was parsed; null for NULL */
void jw_raw(struct jw *w, struct str json);        /* already JSON */

/* key and value in one go, for flat objects */
INLINE_WORDS void
jw_member(struct jw *w, const char *key, struct str s)
{
	jw_key(w, key), jw_str(w, s);
}
INLINE_WORDS void
jw_member_z(struct jw *w, const char *key, const char *z)
{
	jw_key(w, key), jw_z(w, z);
}
INLINE_WORDS void
jw_member_int(struct jw *w, const char *key, int64_t n)
{
	jw_key(w, key), jw_int(w, n);
}
INLINE_WORDS void
jw_member_bool(struct jw *w, const char *key, bool yes)
{
	jw_key(w, key), jw_bool(w, yes);
}

/* Without a writer: a string with its quotes, null for {NULL,0}. */
void json_quote(struct buf *out, struct str s);

#endif
