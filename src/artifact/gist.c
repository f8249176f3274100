/* gist.c - head, tail and facts of a text, in one pass and little memory. */

#include "artifact/gist.h"

#define ENDS_BYTES (4 * LIMIT_GIST_CHARS)
#define CHUNK (64 * KIB)

void
gist_init(struct gist *g, bool redact)
{
	*g = (struct gist){
	    .head = BUF_INIT(ENDS_BYTES),
	    .tail = BUF_INIT(2 * ENDS_BYTES),
	    .redact = redact,
	    .clean = BUF_INIT(SECRETS_GROWTH * (CHUNK + SECRETS_WINDOW)),
	    .line = BUF_INIT(4 * LIMIT_FACT_CHARS),
	};
	secrets_begin(&g->secrets);
}

static void
fact_add(struct gist *g)
{
	struct str line = str_trim(buf_str(&g->line));
	bool fits = !buf_failed(&g->line) && chars_count(line) < LIMIT_FACT_CHARS;

	if (fits && str_index(line, ':') >= 0 && g->fact_count < LIMIT_FACTS) {
		struct buf *fact = &g->facts[g->fact_count++];
		*fact = BUF_INIT(4 * LIMIT_FACT_CHARS);
		buf_add(fact, line);
	}
	buf_reset(&g->line);
}

static void
find_facts(struct gist *g, struct str text)
{
	while (text.len && g->fact_count < LIMIT_FACTS) {
		ptrdiff_t at = str_index(text, '\n');
		size_t len = at < 0 ? text.len : (size_t)at;
		buf_add(&g->line, str_upto(text, len));
		if (at >= 0)
			fact_add(g);
		text = str_from(text, at < 0 ? len : len + 1);
	}
}

static void
keep_tail(struct gist *g, struct str text)
{
	for (; text.len; text = str_from(text, ENDS_BYTES)) {
		if (g->tail.len > ENDS_BYTES)
			buf_eat(&g->tail, g->tail.len - ENDS_BYTES);
		buf_add(&g->tail, str_upto(text, ENDS_BYTES));
	}
}

static void
take(struct gist *g, struct str text)
{
	g->chars += chars_count(text);
	buf_add(&g->head, str_upto(text, ENDS_BYTES - g->head.len));
	keep_tail(g, text);
	find_facts(g, text);
}

void
gist_feed(struct gist *g, struct str piece)
{
	if (!g->redact) {
		take(g, piece);
		return;
	}
	for (; piece.len; piece = str_from(piece, CHUNK)) {
		secrets_feed(&g->secrets, str_upto(piece, CHUNK), &g->clean);
		take(g, buf_str(&g->clean));
		buf_reset(&g->clean);
	}
}

void
gist_end(struct gist *g)
{
	secrets_end(&g->secrets, &g->clean);
	take(g, buf_str(&g->clean));
	fact_add(g);
	buf_done(&g->clean);
}

void
gist_done(struct gist *g)
{
	for (size_t i = 0; i < g->fact_count; i++)
		buf_done(&g->facts[i]);
	buf_done(&g->head);
	buf_done(&g->tail);
	buf_done(&g->clean);
	buf_done(&g->line);
}

void
gist_summary(const struct gist *g, bool ends, struct buf *out)
{
	struct str head = chars_upto(buf_str(&g->head), LIMIT_GIST_CHARS);
	struct str tail = chars_last(buf_str(&g->tail), LIMIT_GIST_CHARS);

	buf_add(out, g->chars ? head : S("(no content)"));
	if (!ends || g->chars <= 2 * LIMIT_GIST_CHARS)
		return;
	buf_addf(out, "\n[%llu characters left out]\n",
		 (unsigned long long)(g->chars - 2 * LIMIT_GIST_CHARS));
	buf_add(out, tail);
}
