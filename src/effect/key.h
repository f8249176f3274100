/*
 * key.h - the text under which an effect is done once.
 *
 *	{tenant}:{agent}:{tool}:{business key}:turn_group:{group}
 *	{tenant}:{agent}:{tool}:key:{the caller's own}
 *
 * The tail is the document's (seed 004 section 6): the values of the fields that make it the same
 * business, or the first 16 digits of the SHA-256 of all arguments. In every part ":" and "%" are
 * written %3A and %25, so that no two keys are the same text. A part that is too long is a digest.
 */

#ifndef EFFECT_KEY_H
#define EFFECT_KEY_H

#include "base/buf.h"
#include "json/json.h"

struct effect_key {
	struct str tenant, agent, tool;
	const struct json *fields; /* array of argument names; NULL or []: all of them count */
	const struct json *args;
	struct str group; /* or */
	struct str given; /* the caller's own, which goes before */
};

/* Fails only by the buffer. */
void effect_key_write(struct buf *out, const struct effect_key *k);
/* The part between tool and turn_group alone. */
void effect_business_key(struct buf *out, const struct json *fields, const struct json *args);

#endif
