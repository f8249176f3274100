/* lines.c - cutting a stream of bytes into lines, also where the pieces cut a line's end. */

#include "artifact/lines.h"

#include <stdlib.h>

#define LONGEST_END 3 /* bytes: U+2028 */

struct lines {
	struct artifact_reader *from;
	uint64_t offset; /* of what is read next */
	uint64_t line;
	bool begun; /* pieces of this line were given out */
	bool over;  /* nothing more to read */
	bool failed;
	size_t at, len;
	char block[64 * KIB];
};

struct lines *
lines_new(struct artifact_reader *r)
{
	struct lines *l = malloc(sizeof(*l));

	if (l) {
		memset(l, 0, offsetof(struct lines, block));
		l->from = r;
	}
	return l;
}

void
lines_free(struct lines *l)
{
	free(l);
}

bool
lines_failed(const struct lines *l)
{
	return l->failed;
}

static void
refill(struct lines *l)
{
	memmove(l->block, l->block + l->at, l->len - l->at);
	l->len -= l->at;
	l->at = 0;
	ptrdiff_t n =
	    artifact_read(l->from, l->offset, l->block + l->len, sizeof(l->block) - l->len);
	l->failed = n < 0;
	l->over = n <= 0;
	l->len += n > 0 ? (size_t)n : 0;
	l->offset += n > 0 ? (size_t)n : 0;
}

static const bool may_end[256] = {
    ['\n'] = true, ['\v'] = true, ['\f'] = true, ['\r'] = true, [0x1c] = true,
    [0x1d] = true, [0x1e] = true, [0xc2] = true, [0xe2] = true,
};

/* How long the line's end is that begins here; 0: it is none. All of it is there, or all there is.
 */
static size_t
end_length(struct str s)
{
	switch ((unsigned char)s.ptr[0]) {
	case '\r': return s.len > 1 && s.ptr[1] == '\n' ? 2 : 1;
	case 0xc2: return str_starts(s, S("\xc2\x85")) ? 2 : 0;
	case 0xe2:
		return str_starts(s, S("\xe2\x80\xa8")) || str_starts(s, S("\xe2\x80\xa9")) ? 3 : 0;
	default: return 1;
	}
}

bool
lines_next(struct lines *l, struct line_part *ret)
{
	size_t end = 0, i;

	while (!l->over && l->len - l->at < LONGEST_END)
		refill(l);
	if (l->failed || l->at == l->len)
		return false;
	/* Of what may be cut, the last bytes wait for the next piece. */
	size_t safe = l->over ? l->len : l->len - (LONGEST_END - 1);
	for (i = l->at; i < safe; i++)
		if (may_end[(unsigned char)l->block[i]] &&
		    (end = end_length((struct str){l->block + i, l->len - i})) > 0)
			break;
	bool ends = end > 0 || (l->over && i == l->len);
	*ret = (struct line_part){l->line, {l->block + l->at, i - l->at}, !l->begun, ends};
	l->at = i + end;
	l->begun = !ends;
	l->line += ends;
	return true;
}
