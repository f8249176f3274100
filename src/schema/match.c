/* match.c - regular expressions, matched within limits and mostly without memory. */

#include <stdlib.h>

#include "schema/program.h"

/* ---- compiling ---- */

int
schema__match_gears(struct schema *s)
{
	static const struct {
		uint32_t steps;
		size_t near;
	} gears[] = {
	    [GEAR_EASY] = {LIMIT_PATTERN_EASY, PCRE2_UNSET},
	    [GEAR_HARD] = {LIMIT_PATTERN_STEPS, PCRE2_UNSET},
	    [GEAR_LONG] = {LIMIT_PATTERN_STEPS, LIMIT_PATTERN_NEAR},
	};

	for (size_t i = 0; i < ARRAY_LEN(gears); i++) {
		pcre2_match_context *m = s->gears[i] = pcre2_match_context_create(NULL);
		if (!m)
			return E_NOMEM;
		pcre2_set_match_limit(m, gears[i].steps);
		pcre2_set_depth_limit(m, LIMIT_PATTERN_DEPTH);
		pcre2_set_heap_limit(m, LIMIT_PATTERN_HEAP_KIB);
		pcre2_set_offset_limit(m, gears[i].near);
	}
	return 0;
}

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
	if (memory)
		m->data = pcre2_match_data_create(1, memory);
	pcre2_general_context_free(memory);
	return m->data;
}

void
schema__matcher_done(struct matcher *m)
{
	pcre2_match_data_free(m->data);
}

static int
try(const struct schema *s, const struct regex *regex, struct str text, struct matcher *m,
    enum gear gear, bool jit)
{
	PCRE2_SPTR ptr = (PCRE2_SPTR)text.ptr;

	if (jit)
		return pcre2_jit_match(regex->code, ptr, text.len, 0, 0, m->data, s->gears[gear]);
	return pcre2_match(regex->code, ptr, text.len, 0, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
			   m->data, s->gears[gear]);
}

enum matched
schema__match(const struct schema *s, const struct regex *regex, struct str text, struct matcher *m,
	      int64_t *work)
{
	bool far = !regex->anchored && text.len > LIMIT_PATTERN_SUBJECT;
	enum gear gear = far ? GEAR_LONG : GEAR_EASY;

	if (!matcher_open(m))
		return MATCH_TOO_MUCH;
	*work -= (int64_t)(text.len / 8 + 4);
	int rc = try(s, regex, text, m, gear, regex->jit);
	if (far || (rc < 0 && rc != PCRE2_ERROR_NOMATCH))
		*work -= LIMIT_PATTERN_PRICE;
	if (rc == PCRE2_ERROR_MATCHLIMIT && gear == GEAR_EASY)
		rc = try(s, regex, text, m, GEAR_HARD, regex->jit);
	if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter has its memory elsewhere */
		rc = try(s, regex, text, m, far ? GEAR_LONG : GEAR_HARD, false);
	if (rc >= 0)
		return MATCH_YES;
	return rc == PCRE2_ERROR_NOMATCH && !far ? MATCH_NO : MATCH_TOO_MUCH;
}
