/* bug.h - what cannot happen, and small things every file wants. Asserts stay in release builds. */

#ifndef BASE_BUG_H
#define BASE_BUG_H

#include <stddef.h>

/* Print where and why, then abort. A broken invariant must not go on to touch files. */
_Noreturn void bug_at(const char *file, int line, const char *text);

#define BUG(text) bug_at(__FILE__, __LINE__, text)
#define CHECK(cond) ((cond) ? (void)0 : bug_at(__FILE__, __LINE__, #cond))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_USE __attribute__((warn_unused_result))
/* For what takes our own words: how long they are is known where it is compiled. */
#define INLINE_WORDS static inline __attribute__((always_inline))

#endif
