/*
 * words.h - the words of a text, as the index knows them: lower-cased, without stop words, stems.
 *
 * A word is a run of letters and digits; every byte beyond ASCII counts as a letter. A run is a
 * word as a whole ("mysql") and, where it is made of several (camelCase, letters and digits, two
 * scripts), each of its parts of two or more characters that is not just digits ("my", "sql").
 * Chinese and the like, which has no blanks, is each pair of neighbouring characters.
 *
 * One thread at a time: the stemmer has a state, and the stems of late words are kept.
 */

#ifndef SEARCH_WORDS_H
#define SEARCH_WORDS_H

#include "base/bug.h"
#include "base/str.h"

struct words;

struct words *words_new(void); /* NULL when out of memory */
void words_free(struct words *w);

/*
 * Each word in order. The stem is valid during the call only; `at` is where in the text its run
 * begins. Stops when `each` answers false.
 */
typedef bool word_each(struct str stem, size_t at, void *arg);
void words_each(struct words *w, struct str text, word_each *each, void *arg);

#endif
