/* match.c - regular expressions, matched within limits and mostly without memory. */

#include <stdlib.h>
#include <time.h>

#include "schema/program.h"

/* ---- compiling ---- */

int
schema__regex_new(struct regex *ret, struct str pattern, struct err *e)
{
	const uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
				 PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF |
				 PCRE2_ALLOW_EMPTY_CLASS | PCRE2_USE_OFFSET_LIMIT;
	struct buf text = BUF_INIT(128 * LIMIT_PATTERN_BYTES);
	char reason[160];
	uint32_t all = 0;
	size_t offset;
	int wrong;

	if (pattern.len > LIMIT_PATTERN_BYTES)
		return err_set(e, E_VALIDATION, "is too long for a regular expression");
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
	/* Where that is not to be had (memory is never writable and executable): slower. */
	ret->jit = pcre2_jit_compile(ret->code, PCRE2_JIT_COMPLETE) == 0;
	pcre2_pattern_info(ret->code, PCRE2_INFO_ALLOPTIONS, &all);
	ret->anchored = all & PCRE2_ANCHORED;
	return 0;
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
	m->data = pcre2_match_data_create(1, memory);
	m->limits = pcre2_match_context_create(memory);
	pcre2_general_context_free(memory);
	if (!m->data || !m->limits)
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

static int
try(const struct regex *regex, struct str text, struct matcher *m, uint32_t steps)
{
	PCRE2_SPTR ptr = (PCRE2_SPTR)text.ptr;

	pcre2_set_match_limit(m->limits, steps);
	if (regex->jit)
		return pcre2_jit_match(regex->code, ptr, text.len, 0, 0, m->data, m->limits);
	return pcre2_match(regex->code, ptr, text.len, 0, PCRE2_NO_UTF_CHECK, m->data, m->limits);
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

#define MORE 4 /* times as many steps */

/*
 * More steps, and more again, while there is work left to pay for the time. What a step costs is
 * not to be known before: one may look through the rest of the text, another at one letter.
 */
static int
try_harder(const struct regex *regex, struct str text, struct matcher *m, uint32_t steps,
	   int64_t *work, int rc)
{
	int64_t before = processor_ns(), cost = 0;

	while (cost * MORE <= *work) {
		if (rc == PCRE2_ERROR_MATCHLIMIT && steps < LIMIT_PATTERN_STEPS)
			steps *= MORE;
		else if (rc != PCRE2_ERROR_JIT_STACKLIMIT || !stack_enlarge(m))
			break;
		rc = try(regex, text, m, steps);
		int64_t now = processor_ns();
		cost = (now - before) / LIMIT_PATTERN_NS + 1;
		*work -= cost;
		before = now;
	}
	return rc;
}

enum matched
schema__match(const struct regex *regex, struct str text, struct matcher *m, int64_t *work)
{
	/* How often all of the text may be looked through. */
	size_t often = LIMIT_PATTERN_SCAN / (text.len + 1) + 4;
	uint32_t steps = often < LIMIT_PATTERN_EASY ? (uint32_t)often : LIMIT_PATTERN_EASY;
	/* Without an anchor that is once for every place to begin at. */
	bool near = !regex->anchored && often < text.len;

	if (!matcher_open(m))
		return MATCH_TOO_MUCH;
	pcre2_set_offset_limit(m->limits, near ? often : PCRE2_UNSET);
	*work -= (int64_t)(text.len / 8 + 4);
	int rc = try(regex, text, m, steps);
	if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_JIT_STACKLIMIT)
		rc = try_harder(regex, text, m, steps, work, rc);
	if (rc >= 0)
		return MATCH_YES;
	return rc == PCRE2_ERROR_NOMATCH && !near ? MATCH_NO : MATCH_TOO_MUCH;
}
