/* preview.c - what an agent sees in place of a result that is too long for it. */

#include "artifact/envelope.h"

/* Whole lines where they cost no more than a quarter of it. */
static struct str
head_of(struct str text, size_t max)
{
	struct str head = str_utf8_upto(text, max);
	const char *end = head.len ? memrchr(head.ptr, '\n', head.len) : NULL;

	return end && (size_t)(end - head.ptr) >= head.len / 4 * 3
		   ? str_upto(head, (size_t)(end - head.ptr) + 1)
		   : head;
}

static struct str
tail_of(struct str text, size_t max)
{
	struct str tail = str_from(text, text.len > max ? text.len - max : 0);
	ptrdiff_t end = str_index(tail, '\n');

	while (tail.len && ((unsigned char)tail.ptr[0] & 0xc0) == 0x80)
		tail = str_from(tail, 1);
	return end >= 0 && (size_t)end <= max / 4 ? str_from(tail, (size_t)end + 1) : tail;
}

static void
size_text(struct buf *out, uint64_t bytes)
{
	if (bytes < 10 * KIB)
		buf_addf(out, "%llu bytes", (unsigned long long)bytes);
	else if (bytes < 10 * MIB)
		buf_addf(out, "%llu KiB", (unsigned long long)(bytes / KIB));
	else
		buf_addf(out, "%llu MiB", (unsigned long long)(bytes / MIB));
}

static void
tell_handle(struct buf *out, const struct artifact *a)
{
	buf_addz(out, "[the middle is left out here; all of it, ");
	size_text(out, a->bytes);
	buf_addf(out, ", is kept as %s", a->handle);
	if (a->lost) {
		buf_addz(out, " but for the last ");
		size_text(out, a->lost);
	}
	buf_addf(out,
		 ". See a part with tool_view: {\"handle\": \"%s\", \"selector\": {\"type\": "
		 "\"lines\", \"start\": 0, \"end\": 100}}; or with the selectors head, tail, grep "
		 "(pattern), pointer, json_keys. On the command line: holdfast view %s]",
		 a->handle, a->handle);
}

void
preview_write(struct buf *out, struct str text, size_t ends, const struct artifact *kept)
{
	struct str head = head_of(text, ends), tail = tail_of(str_from(text, head.len), ends);

	buf_add(out, head);
	buf_addz(out, head.len && head.ptr[head.len - 1] == '\n' ? "\n" : "\n\n");
	if (kept)
		tell_handle(out, kept);
	else
		buf_addf(out, "[%zu bytes are left out here; they could not be kept]",
			 text.len - head.len - tail.len);
	buf_addz(out, "\n\n");
	buf_add(out, tail);
}
