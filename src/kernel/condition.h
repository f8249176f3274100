/*
 * condition.h - the preconditions of a tool: a language of three sentences.
 *
 *	meta_locus.accepted == true
 *	len(meta_locus.review_queue) == 0
 *	len(meta_locus.review_queue) > 0
 *
 * Parsed once, when an index is read. What is none of these is refused there: a condition that
 * cannot be understood must not be one that always holds.
 */

#ifndef KERNEL_CONDITION_H
#define KERNEL_CONDITION_H

#include "kernel/state.h"

enum condition_kind { CONDITION_TRUE, CONDITION_EMPTY, CONDITION_SOME };
struct condition_path;

struct condition {
	enum condition_kind kind;
	const struct condition_path *path;
};

/* E_VALIDATION with a sentence. */
int condition_parse(struct str text, struct condition *ret, struct err *e);
bool condition_holds(const struct condition *c, const struct kernel_state *s);
/* As it is written everywhere. */
void condition_write(struct buf *out, const struct condition *c);

#endif
