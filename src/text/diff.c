/*
 * diff.c - what changed between two texts, line by line.
 *
 * Common lines at both ends are taken off first, so a small change in a large file costs
 * little. The middle goes through Myers' algorithm in linear space (An O(ND) Difference
 * Algorithm and Its Variations, section 4b), which marks lines as changed. When the work
 * runs out, what is left counts as changed altogether: a longer diff, but a true one.
 *
 * Writing reads both texts again with a cursor each, so there are arrays for the middle only.
 */

#include "text/diff.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"

#define CONTEXT 3
#define NOTE_ROOM 80           /* kept free for the line that says what is not shown */
#define PART_LEAST 512         /* a shorter part of a line is not worth showing */
#define WORK_MAX (8 * 1000000) /* steps of the search */

struct line {
	struct str text; /* with its newline, if it has one */
	uint64_t hash;
};

struct side {
	struct line *lines;
	bool *changed; /* the line is on this side only */
	int count;
};

/*
 * How far the search has come from one corner: on diagonal k (x - y) to line best[k] of a.
 * Diagonals low to high have been reached.
 */
struct front {
	int *best;
	int low, high;
};

struct compare {
	struct side a, b;
	struct front forward, backward;
	long work; /* steps left */
};

/* Part of the middle still to be compared. */
struct box {
	int a, a_end, b, b_end;
};

/* Lines a.. of the one text became lines b.. of the other. */
struct change {
	size_t a, a_count, b, b_count;
};

/* Lines. */

static struct str
line_first(struct str text)
{
	ptrdiff_t at = str_index(text, '\n');

	return at < 0 ? text : str_upto(text, (size_t)at + 1);
}

static struct str
line_last(struct str text)
{
	const char *at = text.len > 1 ? memrchr(text.ptr, '\n', text.len - 1) : NULL;

	return at ? str_from(text, (size_t)(at - text.ptr) + 1) : text;
}

static bool
line_take(struct str *rest, struct str *line)
{
	*line = line_first(*rest);
	*rest = str_from(*rest, line->len);
	return line->len;
}

static size_t
lines_count(struct str text)
{
	struct str line;
	size_t n = 0;

	while (line_take(&text, &line))
		n++;
	return n;
}

/* Take equal lines off the front of both; how many. */
static size_t
trim_front(struct str *a, struct str *b)
{
	size_t n = 0;

	while (a->len && b->len) {
		struct str line = line_first(*a);
		if (!str_eq(line, line_first(*b)))
			break;
		*a = str_from(*a, line.len);
		*b = str_from(*b, line.len);
		n++;
	}
	return n;
}

static void
trim_back(struct str *a, struct str *b)
{
	while (a->len && b->len) {
		struct str line = line_last(*a);
		if (!str_eq(line, line_last(*b)))
			return;
		a->len -= line.len;
		b->len -= line.len;
	}
}

/* Comparing. */

static bool
same(const struct compare *c, int x, int y)
{
	const struct line *a = &c->a.lines[x], *b = &c->b.lines[y];

	return a->hash == b->hash && str_eq(a->text, b->text);
}

static void
mark(struct side *s, int from, int to)
{
	for (int i = from; i < to; i++)
		s->changed[i] = true;
}

/* One diagonal more on both sides; at the edge of the box one less, for every second is used. */
static void
front_widen(struct front *f, int low, int high, int outside)
{
	if (f->low > low)
		f->best[--f->low - 1] = outside;
	else
		f->low++;
	if (f->high < high)
		f->best[++f->high + 1] = outside;
	else
		f->high--;
}

static bool
front_has(const struct front *f, int k)
{
	return f->low <= k && k <= f->high;
}

/* One edit further from the front corner. True when the other front is met, at *ret_x, *ret_k. */
static bool
step_forward(struct compare *c, struct box box, bool may_meet, int *ret_x, int *ret_k)
{
	struct front *f = &c->forward;

	for (int k = f->high; k >= f->low; k -= 2) {
		int right = f->best[k - 1] + 1, down = f->best[k + 1];
		int x = right > down ? right : down;
		while (x < box.a_end && x - k < box.b_end && same(c, x, x - k))
			x++;
		f->best[k] = x;
		if (may_meet && front_has(&c->backward, k) && c->backward.best[k] <= x) {
			*ret_x = x;
			*ret_k = k;
			return true;
		}
	}
	return false;
}

static bool
step_backward(struct compare *c, struct box box, bool may_meet, int *ret_x, int *ret_k)
{
	struct front *f = &c->backward;

	for (int k = f->high; k >= f->low; k -= 2) {
		int up = f->best[k - 1], left = f->best[k + 1] - 1;
		int x = up < left ? up : left;
		while (x > box.a && x - k > box.b && same(c, x - 1, x - k - 1))
			x--;
		f->best[k] = x;
		if (may_meet && front_has(&c->forward, k) && x <= c->forward.best[k]) {
			*ret_x = x;
			*ret_k = k;
			return true;
		}
	}
	return false;
}

/*
 * Search from both corners, one more edit each in turn, until the two meet: the shortest way
 * goes through that point. False when the work runs out.
 */
static bool
cut_find(struct compare *c, struct box box, int *ret_x, int *ret_y)
{
	int low = box.a - box.b_end, high = box.a_end - box.b;
	int first = box.a - box.b, last = box.a_end - box.b_end, k;
	bool odd = (first - last) & 1; /* then a forward step is the one that meets */

	c->forward.low = c->forward.high = first;
	c->backward.low = c->backward.high = last;
	c->forward.best[first] = box.a;
	c->backward.best[last] = box.a_end;
	for (;;) {
		front_widen(&c->forward, low, high, -1);
		if (step_forward(c, box, odd, ret_x, &k))
			break;
		front_widen(&c->backward, low, high, c->a.count + 1);
		if (step_backward(c, box, !odd, ret_x, &k))
			break;
		c->work -= c->forward.high - c->forward.low + c->backward.high - c->backward.low;
		if (c->work < 0)
			return false;
	}
	*ret_y = *ret_x - k;
	return true;
}

static void
compare_box(struct compare *c, struct box box)
{
	int x, y;

	while (box.a < box.a_end && box.b < box.b_end && same(c, box.a, box.b))
		box.a++, box.b++;
	while (box.a < box.a_end && box.b < box.b_end && same(c, box.a_end - 1, box.b_end - 1))
		box.a_end--, box.b_end--;
	if (box.a < box.a_end && box.b < box.b_end && cut_find(c, box, &x, &y)) {
		compare_box(c, (struct box){box.a, x, box.b, y});
		compare_box(c, (struct box){x, box.a_end, y, box.b_end});
		return;
	}
	mark(&c->a, box.a, box.a_end);
	mark(&c->b, box.b, box.b_end);
}

static bool
side_init(struct side *s, struct str text, size_t count)
{
	struct str line;

	s->lines = calloc(count + 1, sizeof(*s->lines));
	s->changed = calloc(count + 1, sizeof(*s->changed));
	if (!s->lines || !s->changed)
		return false;
	while (line_take(&text, &line))
		s->lines[s->count++] = (struct line){line, str_hash(line)};
	return true;
}

/* Marks into changes; `above` lines stand before the middle. */
static size_t
changes_collect(const struct compare *c, size_t above, struct change *changes)
{
	size_t n = 0;

	for (int x = 0, y = 0; x < c->a.count || y < c->b.count;) {
		int a = x, b = y;
		while (x < c->a.count && c->a.changed[x])
			x++;
		while (y < c->b.count && c->b.changed[y])
			y++;
		if (x == a && y == b)
			x++, y++;
		else
			changes[n++] = (struct change){above + (size_t)a, (size_t)(x - a),
						       above + (size_t)b, (size_t)(y - b)};
	}
	return n;
}

/* The changes between two middles, in new memory; NULL when one must do for all. */
static struct change *
changes_find(struct str a, size_t a_count, struct str b, size_t b_count, size_t above,
	     size_t *ret_count)
{
	struct compare c = {.work = WORK_MAX};
	struct change *changes = NULL;
	size_t total = a_count + b_count;

	if (total > LIMIT_DIFF_LINES)
		return NULL;
	int *best = calloc(2 * (total + 3), sizeof(*best));
	if (best && side_init(&c.a, a, a_count) && side_init(&c.b, b, b_count))
		changes = calloc(total + 1, sizeof(*changes));
	if (changes) {
		/* Diagonals go from -b_count - 1 to a_count + 1. */
		c.forward.best = best + b_count + 1;
		c.backward.best = c.forward.best + total + 3;
		compare_box(&c, (struct box){0, c.a.count, 0, c.b.count});
		*ret_count = changes_collect(&c, above, changes);
	}
	free(best);
	free(c.a.lines);
	free(c.a.changed);
	free(c.b.lines);
	free(c.b.changed);
	return changes;
}

/* Writing. */

struct writer {
	struct buf *out;
	struct str a, b;       /* not yet read */
	size_t a_line, b_line; /* read so far */
	size_t a_total;        /* lines of a */
	size_t hidden;         /* lines that did not fit */
	bool cut;              /* a line is shown in part */
};

/* What may still be written; after a line that is left out nothing. */
static size_t
room(const struct writer *w)
{
	size_t taken = w->out->len + NOTE_ROOM;

	return w->hidden || taken > w->out->max ? 0 : w->out->max - taken;
}

/* The beginning of a line that does not fit, in half of the room: those behind it count too. */
static void
part_write(struct writer *w, char sign, struct str line)
{
	size_t half = room(w) / 2;

	if (half < PART_LEAST) {
		w->hidden++;
		return;
	}
	struct str part = str_utf8_upto(line, half - NOTE_ROOM);
	buf_addf(w->out, "%c%.*s\n[%zu more bytes of this line are not shown]\n", sign,
		 STR_ARG(part), line.len - part.len);
	w->cut = true;
}

static void
line_write(struct writer *w, char sign, struct str line)
{
	static const struct str no_newline = S("\n\\ No newline at end of file\n");
	bool whole = line.ptr[line.len - 1] == '\n';

	if (1 + line.len + (whole ? 0 : no_newline.len) > room(w)) {
		part_write(w, sign, line);
		return;
	}
	buf_addc(w->out, sign);
	buf_add(w->out, line);
	if (!whole)
		buf_add(w->out, no_newline);
}

/* The next n lines of a, of b, or of both at once (they are equal); sign 0 shows nothing. */
static void
go_on(struct writer *w, size_t n, bool in_a, bool in_b, char sign)
{
	struct str line;

	for (; n > 0; n--) {
		if (in_b && line_take(&w->b, &line))
			w->b_line++;
		if (in_a && line_take(&w->a, &line))
			w->a_line++;
		if (sign)
			line_write(w, sign, line);
	}
}

/* "12,5", "12" for one line, "11,0" for none behind line 11. */
static void
range_text(char out[static 48], size_t start, size_t count)
{
	if (count == 1)
		snprintf(out, 48, "%zu", start + 1);
	else
		snprintf(out, 48, "%zu,%zu", count ? start + 1 : start, count);
}

static void
hunk_write(struct writer *w, const struct change *first, const struct change *last)
{
	size_t lead = first->a < CONTEXT ? first->a : CONTEXT;
	size_t below = w->a_total - (last->a + last->a_count);
	size_t tail = below < CONTEXT ? below : CONTEXT;
	char a[48], b[48];

	go_on(w, first->a - lead - w->a_line, true, true, 0);
	range_text(a, w->a_line, last->a + last->a_count + tail - w->a_line);
	range_text(b, w->b_line, last->b + last->b_count + tail - w->b_line);
	if (2 * 48 + 16 <= room(w))
		buf_addf(w->out, "@@ -%s +%s @@\n", a, b);
	else
		w->hidden++;
	for (const struct change *c = first; c <= last; c++) {
		go_on(w, c->a - w->a_line, true, true, ' ');
		go_on(w, c->a_count, true, false, '-');
		go_on(w, c->b_count, false, true, '+');
	}
	go_on(w, tail, true, true, ' ');
}

static void
hunks_write(struct writer *w, const struct change *changes, size_t count)
{
	for (size_t i = 0, last; i < count; i = last + 1) {
		last = i;
		while (last + 1 < count &&
		       changes[last + 1].a - (changes[last].a + changes[last].a_count) <=
			   2 * CONTEXT)
			last++;
		hunk_write(w, &changes[i], &changes[last]);
	}
	if (w->hidden)
		buf_addf(w->out, "[%zu more lines of this diff are not shown]\n", w->hidden);
}

/* A name with a line break in it must not look like lines of the diff. */
static void
name_write(struct buf *out, const char *sign, const char *side, struct str name, bool absent)
{
	bool odd = false;

	for (size_t i = 0; i < name.len; i++)
		odd = odd || (unsigned char)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f;
	buf_addf(out, "%s ", sign);
	if (absent) {
		buf_addz(out, "/dev/null\n");
		return;
	}
	buf_addf(out, "%s%s", odd ? "\"" : "", side);
	for (size_t i = 0; i < name.len; i++) {
		unsigned char ch = (unsigned char)name.ptr[i];
		if (odd && (ch < 0x20 || ch == 0x7f || ch == '"' || ch == '\\'))
			buf_addf(out, "\\%03o", ch);
		else
			buf_addc(out, (char)ch);
	}
	buf_addz(out, odd ? "\"\n" : "\n");
}

bool
diff_unified(struct buf *out, struct str name, struct str before, struct str after)
{
	struct str a = before.ptr ? before : S(""), b = after.ptr ? after : S("");
	struct writer w = {out, a, b, .a_total = lines_count(a)};
	size_t count = 1;

	if (before.ptr && after.ptr && str_eq(a, b))
		return true;
	size_t above = trim_front(&a, &b);
	trim_back(&a, &b);
	struct change whole = {above, lines_count(a), above, lines_count(b)};
	struct change *found = changes_find(a, whole.a_count, b, whole.b_count, above, &count);
	name_write(out, "---", "a/", name, !before.ptr);
	name_write(out, "+++", "b/", name, !after.ptr);
	if (whole.a_count + whole.b_count > 0)
		hunks_write(&w, found ? found : &whole, count);
	free(found);
	return !w.cut && !w.hidden;
}

struct diff_size
diff_size(struct str unified)
{
	struct diff_size size = {0, 0};
	struct str line;
	bool in_hunk = false; /* before the first one stand the names */

	while (line_take(&unified, &line)) {
		in_hunk = in_hunk || line.ptr[0] == '@';
		size.added += in_hunk && line.ptr[0] == '+';
		size.removed += in_hunk && line.ptr[0] == '-';
	}
	return size;
}
