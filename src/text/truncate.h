/*
 * truncate.h - a text cut to a number of tokens (seed 001 section 2.4).
 *
 * The text itself where it fits. Otherwise its longest beginning of whole sentences that fits; a
 * sentence ends in ".", "!" or "?" before a blank or the end. Where not even the first sentence
 * fits, the longest beginning with one token less, without blanks at its end, and U+2026. The same
 * text and budget give the same bytes; valid UTF-8 stays valid. Nothing at all fits in 0.
 */

#ifndef TEXT_TRUNCATE_H
#define TEXT_TRUNCATE_H

#include "base/buf.h"

void truncate_tokens(struct buf *out, struct str text, size_t budget);

#endif
