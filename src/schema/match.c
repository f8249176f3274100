/* match.c - regular expressions, matched within limits and mostly without memory. */

#include <stdlib.h>
#include <time.h>

#include "schema/program.h"

/* ---- compiling ---- */

int
schema__regex_new(struct regex *ret, struct str pattern, bool quick, struct err *e)
{
	const uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
				 PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF |
				 PCRE2_ALLOW_EMPTY_CLASS | PCRE2_USE_OFFSET_LIMIT;
	struct buf text = BUF_INIT(128 * LIMIT_PATTERN_BYTES);
	char reason[160];
	uint32_t all = 0;
	size_t offset;
	int wrong;

	*ret = (struct regex){0};
	if (pattern.len > LIMIT_PATTERN_BYTES)
		return err_set(e, E_VALIDATION, "is too long for a regular expression");
	if ((ret->plain = schema__plain_new(pattern))) {
		ret->bytes = schema__plain_bytes(ret->plain);
		return 0;
	}
	struct err why = ERR_NONE;
	int rc = schema__regex_write(&text, pattern, false, &why);
	if (rc < 0 || buf_failed(&text)) {
		buf_done(&text);
		return err_set(e, E_VALIDATION, "is not a regular expression: %s",
			       rc < 0 ? why.text : "it is too long");
	}
	struct str pcre = buf_str(&text);
	ret->code = pcre2_compile((PCRE2_SPTR)pcre.ptr, pcre.len, options, &wrong, &offset, NULL);
	buf_done(&text);
	if (!ret->code) {
		pcre2_get_error_message(wrong, (PCRE2_UCHAR *)reason, sizeof(reason));
		return err_set(e, E_VALIDATION, "is not a regular expression: %s", reason);
	}
	pcre2_pattern_info(ret->code, PCRE2_INFO_SIZE, &ret->bytes);
	/* Not worth its time for a large one, and not to be had everywhere: then it is slower. */
	ret->jit = quick && ret->bytes <= LIMIT_PATTERN_JIT_BYTES &&
		   pcre2_jit_compile(ret->code, PCRE2_JIT_COMPLETE) == 0;
	pcre2_pattern_info(ret->code, PCRE2_INFO_ALLOPTIONS, &all);
	ret->anchored = all & PCRE2_ANCHORED;
	return 0;
}

void
schema__regex_done(struct regex *regex)
{
	free(regex->plain);
	pcre2_code_free(regex->code);
}

/* ---- matching ---- */

static void *
room_take(size_t size, void *matcher)
{
	struct matcher *m = matcher;

	size = (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	if (size > sizeof(m->room) - m->used)
		return malloc(size);
	m->used += size;
	return m->room + m->used - size;
}

static void
room_give(void *ptr, void *matcher)
{
	struct matcher *m = matcher;

	if ((uintptr_t)ptr - (uintptr_t)m->room >= sizeof(m->room))
		free(ptr);
}

static bool
matcher_open(struct matcher *m)
{
	if (m->data)
		return true;
	pcre2_general_context *memory = pcre2_general_context_create(room_take, room_give, m);
	if (!memory)
		return false;
	m->limits = pcre2_match_context_create(memory);
	if (m->limits)
		m->data = pcre2_match_data_create(1, memory);
	if (!m->data)
		pcre2_match_context_free(m->limits);
	pcre2_general_context_free(memory);
	if (!m->data)
		return false;
	pcre2_set_depth_limit(m->limits, LIMIT_PATTERN_DEPTH);
	pcre2_set_heap_limit(m->limits, LIMIT_PATTERN_HEAP_KIB);
	return true;
}

void
schema__matcher_done(struct matcher *m)
{
	if (!m->data)
		return;
	pcre2_match_data_free(m->data);
	pcre2_match_context_free(m->limits);
	if (m->stack)
		pcre2_jit_stack_free(m->stack);
}

/* From an offset on, beginning at one of so many places. */
struct window {
	size_t from, places;
	uint32_t steps;
};

static int
try(const struct regex *regex, struct str text, struct matcher *m, const struct window *w)
{
	PCRE2_SPTR ptr = (PCRE2_SPTR)text.ptr;

	pcre2_set_match_limit(m->limits, w->steps);
	pcre2_set_offset_limit(m->limits, w->from + w->places);
	if (regex->jit)
		return pcre2_jit_match(regex->code, ptr, text.len, w->from, 0, m->data, m->limits);
	return pcre2_match(regex->code, ptr, text.len, w->from, PCRE2_NO_UTF_CHECK, m->data,
			   m->limits);
}

/* Machine code keeps what it may have to come back to on a small stack; a large one costs memory.
 */
static bool
stack_enlarge(struct matcher *m)
{
	if (m->stack)
		return false;
	m->stack = pcre2_jit_stack_create(64 * KIB, (size_t)LIMIT_PATTERN_HEAP_KIB * KIB, NULL);
	if (m->stack)
		pcre2_jit_stack_assign(m->limits, NULL, m->stack);
	return m->stack;
}

static int64_t
processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#define MORE 4 /* times as many steps, or places to begin at */

/* What to try next after rc; false: nothing, that is the answer. */
static bool
window_next(struct window *w, struct str text, struct matcher *m, int rc)
{
	if (rc == PCRE2_ERROR_NOMATCH && w->from + w->places < text.len) {
		w->from += w->places + 1;
		while (w->from < text.len && ((unsigned char)text.ptr[w->from] & 0xc0) == 0x80)
			w->from++;
		w->places *= MORE;
		return true;
	}
	if (rc == PCRE2_ERROR_MATCHLIMIT && w->steps < LIMIT_PATTERN_STEPS) {
		w->steps *= MORE;
		return true;
	}
	return rc == PCRE2_ERROR_JIT_STACKLIMIT && stack_enlarge(m);
}

/*
 * What a step costs is not to be known before: one may look through the rest of the text, another
 * at one letter; and without an anchor all that can happen at every place. So a long text begins
 * with few of both, and there are more while there is work left to pay for the time.
 */
enum matched
schema__match(const struct regex *regex, struct str text, struct matcher *m, int64_t *work)
{
	size_t often = LIMIT_PATTERN_SCAN / (text.len + 1) + 4;
	struct window w = {.places = regex->anchored ? text.len : often,
			   .steps =
			       often < LIMIT_PATTERN_EASY ? (uint32_t)often : LIMIT_PATTERN_EASY};

	*work -= (int64_t)(text.len / 4 + 4);
	if (regex->plain)
		return schema__plain_match(regex->plain, text) ? MATCH_YES : MATCH_NO;
	if (!matcher_open(m))
		return MATCH_TOO_MUCH;
	int rc = try(regex, text, m, &w);
	for (int64_t before = 0, cost = 0; window_next(&w, text, m, rc); *work -= cost) {
		if (cost * MORE > *work)
			return MATCH_TOO_MUCH;
		before = before ? before : processor_ns();
		rc = try(regex, text, m, &w);
		int64_t now = processor_ns();
		cost = (now - before) / LIMIT_PATTERN_NS + 1;
		before = now;
	}
	return rc >= 0 ? MATCH_YES : rc == PCRE2_ERROR_NOMATCH ? MATCH_NO : MATCH_TOO_MUCH;
}
