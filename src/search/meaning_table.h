/* meaning_table.h - the word table inside the program; script/lib/embed-meaning writes its other
 * half. */

#ifndef SEARCH_MEANING_TABLE_H
#define SEARCH_MEANING_TABLE_H

#include <stdint.h>

#include "search/meaning.h"

extern const uint32_t meaning_cap;      /* of the slots, a power of two */
extern const uint16_t meaning_slots[];  /* by str_hash: row + 1, or 0 */
extern const uint32_t meaning_begins[]; /* of each word in the text, and the end of the last */
extern const char meaning_text[];
extern const int8_t meaning_rows[][MEANING_DIMENSIONS] __attribute__((visibility("hidden")));

#endif
