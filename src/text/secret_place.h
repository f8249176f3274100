/*
 * secret_place.h - where a secret may begin: nearly all of a text is passed over here.
 */

#ifndef TEXT_SECRET_PLACE_H
#define TEXT_SECRET_PLACE_H

#include "base/bug.h"
#include "base/str.h"

/* The next place that somebody looks at, or the end. No token begins inside a word; in_word: `at`
 * is in one. What stands last may be anything, with what is not there yet. */
const char *secret_place(const char *at, const char *end, bool in_word);

#endif
