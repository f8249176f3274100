/* meaning.c - vectors of words: found, summed, compared. */

#include "search/meaning.h"

#include "search/meaning_table.h"
#include "search/number.h"

uint32_t
meaning_find(struct str stem)
{
	uint32_t mask = meaning_cap - 1;

	for (uint32_t i = (uint32_t)str_hash(stem) & mask; meaning_slots[i]; i = (i + 1) & mask) {
		uint32_t row = meaning_slots[i] - 1u, begin = meaning_begins[row];
		if (str_eq(stem,
			   (struct str){meaning_text + begin, meaning_begins[row + 1] - begin}))
			return row;
	}
	return MEANING_NONE;
}

void
meaning_add(struct meaning_sum *sum, uint32_t row, int32_t weight)
{
	const int8_t *v = meaning_rows[row];

	for (int i = 0; i < MEANING_DIMENSIONS; i++)
		sum->at[i] += weight * v[i];
}

struct meaning
meaning_of(const struct meaning_sum *sum)
{
	struct meaning m = {0};
	uint64_t square = 0;

	for (int i = 0; i < MEANING_DIMENSIONS; i++)
		square += (uint64_t)((int64_t)sum->at[i] * sum->at[i]);
	int64_t length = number_root(square);
	for (int i = 0; length > 0 && i < MEANING_DIMENSIONS; i++) {
		int64_t scaled = (int64_t)sum->at[i] * MEANING_LENGTH;
		m.at[i] = (int8_t)((scaled + (scaled < 0 ? -length : length) / 2) / length);
	}
	return m;
}

int32_t
meaning_product(const struct meaning *a, const struct meaning *b)
{
	int32_t sum = 0;

	for (int i = 0; i < MEANING_DIMENSIONS; i++)
		sum += (int16_t)a->at[i] * (int16_t)b->at[i];
	return sum;
}
