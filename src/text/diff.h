/* diff.h - unified diffs for people who are asked. */

#ifndef TEXT_DIFF_H
#define TEXT_DIFF_H

#include "base/buf.h"

/*
 * Unified, three lines of context, "--- a/NAME" and "+++ b/NAME" ("/dev/null" for an absent
 * side: before.ptr or after.ptr NULL). "\ No newline at end of file" where it is so. Equal
 * texts give nothing. Bounded: past LIMIT_DIFF_LINES of input or max work the differing middle
 * is shown as one hunk of removed and added lines. Past the buffer's maximum it is cut, and says
 * where: behind a line too long for it, of which the beginning is shown, and at the end. Answers
 * whether it is whole.
 */
bool diff_unified(struct buf *out, struct str name, struct str before, struct str after);

/* Lines added and removed, for a summary. */
struct diff_size {
	size_t added, removed;
};
struct diff_size diff_size(struct str unified);

#endif
