/* match.c - grep: one line at a time under PCRE2's limits, with a memory for the lines before. */

#include "artifact/match.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <time.h>

#include "artifact/lines.h"

#define PLACES 1024 /* where a match may begin, between two looks at the clock */

struct matcher {
	const struct match_spec *spec;
	pcre2_code *code;
	pcre2_match_context *limits;
	pcre2_match_data *where;
	struct buf *before; /* a ring of the last lines that were not given */
	uint64_t unseen;    /* how many of them there are, up to spec->before */
	size_t after;       /* lines that still follow a hit */
	size_t hits;
	int64_t until_ms; /* of this thread's processor time */
	size_t places;    /* tried since the clock was asked */
	uint64_t next;    /* behind the last line that was given */
	bool rest;        /* there are lines from there on, and enough hits before them */
	struct err *e;
};

/* ---- one line ---- */

static int
compile(struct matcher *m)
{
	uint32_t options =
	    PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
	struct str pattern = m->spec->pattern;
	PCRE2_SIZE at;
	int why;

	if (pattern.len > LIMIT_PATTERN_BYTES)
		return err_set(m->e, E_VIEW, "pattern: longer than %zu bytes", LIMIT_PATTERN_BYTES);
	if (m->spec->ignore_case)
		options |= PCRE2_CASELESS;
	m->code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options, &why, &at, NULL);
	if (!m->code) {
		PCRE2_UCHAR text[160];
		pcre2_get_error_message(why, text, sizeof(text));
		return err_set(m->e, E_VIEW, "pattern: %s, at byte %zu", (char *)text, (size_t)at);
	}
	m->limits = pcre2_match_context_create(NULL);
	m->where = pcre2_match_data_create(1, NULL);
	if (!m->limits || !m->where)
		return err_plain(m->e, E_NOMEM);
	pcre2_set_heap_limit(m->limits, LIMIT_PATTERN_HEAP_KIB);
	pcre2_set_depth_limit(m->limits, LIMIT_PATTERN_DEPTH);
	pcre2_set_match_limit(m->limits, LIMIT_VIEW_STEPS);
	return 0;
}

static int64_t
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int
in_time(struct matcher *m, size_t places, uint64_t line)
{
	m->places += places + 16;
	if (m->places < PLACES)
		return 0;
	m->places = 0;
	if (cpu_ms() < m->until_ms)
		return 0;
	if (line == m->spec->start)
		return err_set(m->e, E_VIEW, "pattern: takes too long on this text");
	return err_set(m->e, E_VIEW,
		       "grep: takes too long; ended at line %llu, start can go on from there",
		       (unsigned long long)line);
}

/*
 * 1, 0, or an error. PCRE2 counts its steps anew at every place where a match may begin, and a long
 * line has thousands: so many are tried at a time.
 */
static int
line_matches(struct matcher *m, uint64_t line, struct str text)
{
	int rc = PCRE2_ERROR_NOMATCH;

	for (size_t from = 0; from <= text.len && rc == PCRE2_ERROR_NOMATCH;) {
		size_t left = text.len - from;
		int code = in_time(m, left < PLACES ? left : PLACES, line);
		if (code < 0)
			return code;
		pcre2_set_offset_limit(m->limits, from + PLACES - 1);
		rc = pcre2_match(m->code, (PCRE2_SPTR)text.ptr, text.len, from, 0, m->where,
				 m->limits);
		for (from += PLACES; from < text.len && (text.ptr[from] & 0xc0) == 0x80;)
			from++;
	}
	if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH)
		return rc >= 0;
	if (rc == PCRE2_ERROR_NOMEMORY)
		return err_plain(m->e, E_NOMEM);
	return err_set(m->e, E_VIEW, "pattern: takes too long on this text");
}

/* ---- those around ---- */

static struct buf *
slot_of(struct matcher *m, uint64_t line)
{
	return &m->before[line % m->spec->before];
}

static void
remember(struct matcher *m, uint64_t line, struct str text)
{
	if (m->spec->before == 0)
		return;
	struct buf *slot = slot_of(m, line);
	buf_reset(slot);
	buf_add(slot, text);
	m->unseen += m->unseen < m->spec->before;
}

static bool
give(struct matcher *m, uint64_t line, bool hit, struct str text)
{
	m->next = line + 1;
	return m->spec->found(&(struct match_line){line, hit, text}, m->spec->arg);
}

static bool
give_before(struct matcher *m, uint64_t line)
{
	for (; m->unseen > 0; m->unseen--)
		if (!give(m, line - m->unseen, false, buf_str(slot_of(m, line - m->unseen))))
			return false;
	return true;
}

/* 1: go on; 0: enough; or an error. */
static int
look_at(struct matcher *m, uint64_t line, struct str text)
{
	bool enough = m->hits == m->spec->max;
	int hit = enough && m->after == 0 ? 1 : line_matches(m, line, text);

	if (hit < 0)
		return hit;
	m->rest = enough && hit; /* one more, or nobody knows */
	if (m->rest)
		return 0;
	if (hit) {
		m->hits++;
		m->after = m->spec->after;
		return give_before(m, line) && give(m, line, true, text);
	}
	if (m->after > 0) {
		m->after--;
		return give(m, line, false, text);
	}
	remember(m, line, text);
	return 1;
}

/* ---- all lines ---- */

static int
walk(struct matcher *m, struct lines *lines, uint64_t *ret_next)
{
	struct buf line = BUF_INIT(LIMIT_VIEW_LINE);
	struct line_part part;
	int more = 1;

	while (more > 0 && lines_next(lines, &part)) {
		if (part.line < m->spec->start)
			continue;
		if (part.begins)
			buf_reset(&line);
		buf_add(&line, str_upto(part.text, LIMIT_VIEW_LINE - line.len));
		if (!part.ends)
			continue;
		if (buf_failed(&line))
			more = err_plain(m->e, E_NOMEM);
		else
			more = look_at(m, part.line, buf_str(&line));
	}
	buf_done(&line);
	*ret_next = m->rest ? m->next : 0;
	if (lines_failed(lines))
		return err_plain(m->e, E_STORE);
	return more < 0 ? more : 0;
}

int
match_lines(struct artifact_reader *r, const struct match_spec *spec, uint64_t *ret_next,
	    struct err *e)
{
	struct matcher m = {.spec = spec, .until_ms = cpu_ms() + spec->cpu_ms, .e = e};
	int code = compile(&m);
	struct lines *lines = code == 0 ? lines_new(r) : NULL;

	m.before = calloc(spec->before + 1, sizeof(*m.before));
	for (size_t i = 0; m.before && i < spec->before; i++)
		buf_init(&m.before[i], LIMIT_VIEW_LINE);
	if (code == 0)
		code = lines && m.before ? walk(&m, lines, ret_next) : err_plain(e, E_NOMEM);
	for (size_t i = 0; m.before && i < spec->before; i++)
		buf_done(&m.before[i]);
	free(m.before);
	lines_free(lines);
	pcre2_match_data_free(m.where);
	pcre2_match_context_free(m.limits);
	pcre2_code_free(m.code);
	return code;
}
