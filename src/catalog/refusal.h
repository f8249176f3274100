/*
 * refusal.h - how the gateway surface says no (seed 001 section 3.4):
 *
 *	{"error":"PATH_NOT_FOUND","message":"...","path":"/nowhere","retryable":false}
 *
 * and "details" behind it where there are some.
 */

#ifndef CATALOG_REFUSAL_H
#define CATALOG_REFUSAL_H

#include "base/err.h"
#include "json/write.h"

#define REFUSAL_CHARS 256

/* The code is tbl/errors.def's for the gateway. twice: whether it was done is not known, and to do
 * it again may be to do it twice. Details are JSON, or {NULL,0}. */
void refusal_write(struct jw *w, const struct err *e, bool twice, struct str path,
		   struct str details);

/* What an upstream said, fit to be passed on: one line of at most REFUSAL_CHARS characters. */
void refusal_text(struct buf *out, struct str said);

/*
 * The gateway's code for what an upstream said. It names the trouble for whoever reads; whether a
 * call is made again depends on what the tool declared, never on words.
 */
const char *refusal_code(struct str said);

/* Another try may do better, where nothing was done by this one. */
bool refusal_retryable(const char *code);

#endif
