/* watch_text.c - measuring and wrapping. */

#include "cli/watch_text.h"

#include <stdlib.h>
#include <wchar.h>

#include "base/limits.h"

#define PAGE_BYTES ((size_t)LIMIT_CLIENT_ANSWER * 4)
#define TAB 8

void
cells_safe(struct buf *out, struct str text, enum safe how)
{
	struct buf safe = BUF_INIT(PAGE_BYTES);

	text_safe(&safe, text, how);
	for (struct str rest = buf_str(&safe); rest.len > 0;) {
		uint32_t c;
		size_t n = str_utf8_char(rest, &c);
		if (n == 0) /* only where the buffer ended */
			break;
		if (c >= 0x80 && wcwidth((wchar_t)c) < 0)
			buf_addf(out, "\\u{%x}", c);
		else
			buf_add(out, str_upto(rest, n));
		rest = str_from(rest, n);
	}
	out->failed = out->failed || buf_failed(&safe);
	buf_done(&safe);
}

static unsigned
cells_of(uint32_t c)
{
	int n = c < 0x80 ? 1 : wcwidth((wchar_t)c);

	return n < 0 ? 1 : (unsigned)n;
}

struct str
cells_upto(struct str safe, unsigned cells)
{
	size_t at = 0;

	while (at < safe.len) {
		uint32_t c = 0;
		size_t n = str_utf8_char(str_from(safe, at), &c);
		if (n == 0 || cells_of(c) > cells)
			break;
		cells -= cells_of(c);
		at += n;
	}
	return str_upto(safe, at);
}

unsigned
cells_count(struct str safe)
{
	unsigned total = 0;

	while (safe.len > 0) {
		uint32_t c = 0;
		size_t n = str_utf8_char(safe, &c);
		total += n ? cells_of(c) : 1;
		safe = str_from(safe, n ? n : 1);
	}
	return total;
}

void
page_begin(struct page *p, unsigned width)
{
	if (p->text.max == 0)
		buf_init(&p->text, PAGE_BYTES);
	buf_reset(&p->text);
	p->count = 0;
	p->width = width > 4 ? width : 4; /* any character fits */
	p->cut = false;
}

void
page_done(struct page *p)
{
	buf_done(&p->text);
	free(p->lines);
	*p = (struct page){0};
}

static void
add_line(struct page *p, struct page_line line)
{
	if (p->count == p->room) {
		size_t room = p->room ? 2 * p->room : 256;
		struct page_line *more = realloc(p->lines, room * sizeof(*more));
		if (!more) {
			p->cut = true;
			return;
		}
		p->lines = more;
		p->room = room;
	}
	p->lines[p->count++] = line;
}

/* Tabs to the next stop, so that columns can be counted. */
static void
flatten(struct buf *out, struct str line)
{
	struct str part;

	for (unsigned column = 0; str_split(&line, '\t', &part);) {
		buf_add(out, part);
		column += cells_count(part);
		if (!line.ptr)
			break;
		do
			buf_addc(out, ' ');
		while (++column % TAB != 0);
	}
}

static void
wrap(struct page *p, enum ink ink, size_t from)
{
	struct str rest = str_from(buf_str(&p->text), from);
	size_t at = from;

	do {
		struct str part = cells_upto(rest, p->width);
		if (part.len == 0 && rest.len > 0)
			part = str_upto(rest, rest.len); /* cannot be: any character fits */
		add_line(p, (struct page_line){at, part.len, ink, at > from});
		at += part.len;
		rest = str_from(rest, part.len);
	} while (rest.len > 0);
}

static void
add_lines(struct page *p, struct str text, enum ink (*ink_of)(struct str line, void *arg),
	  void *arg)
{
	struct buf safe = BUF_INIT(PAGE_BYTES);
	struct str line;

	if (str_ends(text, S("\n")))
		text = str_upto(text, text.len - 1);
	cells_safe(&safe, text, SAFE_LINES);
	for (struct str rest = buf_str(&safe); str_split(&rest, '\n', &line);) {
		size_t from = p->text.len;
		flatten(&p->text, line);
		if (buf_failed(&p->text))
			break;
		wrap(p, ink_of(line, arg), from);
	}
	p->cut = p->cut || buf_failed(&safe) || buf_failed(&p->text);
	buf_done(&safe);
}

static enum ink
ink_same(struct str line, void *arg)
{
	(void)line;
	return *(enum ink *)arg;
}

void
page_add(struct page *p, enum ink ink, struct str text)
{
	add_lines(p, text, ink_same, &ink);
}

/* Names stand before the first hunk; inside of one a line like them is a line of the file. */
static enum ink
ink_diff(struct str line, void *arg)
{
	bool *in_hunk = arg;

	if (str_starts(line, S("@@"))) {
		*in_hunk = true;
		return INK_CYAN;
	}
	if (!*in_hunk)
		return INK_BOLD;
	if (str_starts(line, S("+")))
		return INK_GREEN;
	return str_starts(line, S("-")) ? INK_RED : INK_PLAIN;
}

void
page_add_diff(struct page *p, struct str diff)
{
	bool in_hunk = false;

	add_lines(p, diff, ink_diff, &in_hunk);
}
