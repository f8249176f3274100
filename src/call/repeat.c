/* repeat.c - the same call with the same result, again and again: a person should know. */

#include "base/hash.h"
#include "call/stage.h"

#define END_BYTES ((size_t)(64 * KIB))
#define SAMPLE_EVERY ((size_t)(4 * KIB))
#define SAMPLE_BYTES 64

static uint64_t
call_number(const struct call *c)
{
	return hash_text(str_of(c->input_hash), str_hash_keyed(c->tool->id));
}

/* What is long is known by its length, its ends and some of what is between: to see that an agent
 * goes in circles is not worth a look at all of every megabyte that goes by. */
static uint64_t
content_number(struct str s)
{
	if (s.len <= 2 * END_BYTES)
		return str_hash_keyed(s);
	uint64_t h = hash_mix(str_hash_keyed(str_upto(s, END_BYTES)), s.len);
	for (size_t at = END_BYTES; at < s.len - END_BYTES; at += SAMPLE_EVERY)
		h = hash_text(str_upto(str_from(s, at), SAMPLE_BYTES), h);
	return hash_text(str_from(s, s.len - END_BYTES), h);
}

static uint64_t
result_number(const struct call *c)
{
	uint64_t h = content_number(buf_str(&c->out.content));

	if (c->err.code < 0)
		h = hash_text(str_of(err_text(&c->err)), hash_mix(h, (uint64_t)-c->err.code));
	return hash_text(buf_str(&c->out.extra), h);
}

/* In a shared session those who call do not know of each other: what they do is no circle. */
static bool
is_watched(const struct call *c)
{
	return c->tuning->repeat_limit > 0 && !c->session->shared;
}

void
repeat_look(struct call *c)
{
	unsigned limit = c->tuning->repeat_limit;

	if (!is_watched(c) || repeat_count(&c->session->repeat, call_number(c)) + 1 < limit)
		return;
	c->must_ask = limit == 3 ? "the same call three times in a row"
				 : arena_printf(c->arena, "the same call %u times in a row", limit);
	if (!c->must_ask)
		c->must_ask = "the same call again and again";
}

/* Counting begins anew when a person has looked at it. What was cancelled has come to no result. */
void
repeat_ended(struct call *c)
{
	if (c->called_mono_us && c->err.code != E_CANCELLED && c->err.code != E_SUPERSEDED &&
	    is_watched(c))
		repeat_note(&c->session->repeat, call_number(c), result_number(c),
			    c->must_ask != NULL);
}
