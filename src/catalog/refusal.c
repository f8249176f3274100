/* refusal.c - errors as the gateway surface shows them. */

#include "catalog/refusal.h"

#include "text/plain.h"

static const char *const retryable[] = {"UPSTREAM_TIMEOUT", "UPSTREAM_UNAVAILABLE", "RATE_LIMITED"};

/* The first that is found counts. */
static const struct {
	const char *words;
	const char *code;
} codes[] = {
    {"401", "AUTH_FAILED"},
    {"unauthorized", "AUTH_FAILED"},
    {"authentication", "AUTH_FAILED"},
    {"invalid api key", "AUTH_FAILED"},
    {"403", "PERMISSION_DENIED"},
    {"forbidden", "PERMISSION_DENIED"},
    {"permission denied", "PERMISSION_DENIED"},
    {"access denied", "PERMISSION_DENIED"},
    {"429", "RATE_LIMITED"},
    {"rate limit", "RATE_LIMITED"},
    {"too many requests", "RATE_LIMITED"},
    {"timed out", "UPSTREAM_TIMEOUT"},
    {"timeout", "UPSTREAM_TIMEOUT"},
};

bool
refusal_retryable(const char *code)
{
	for (size_t i = 0; i < ARRAY_LEN(retryable); i++)
		if (strcmp(retryable[i], code) == 0)
			return true;
	return false;
}

void
refusal_write(struct jw *w, const struct err *e, bool twice, struct str path, struct str details)
{
	const char *code = err_row(e->code)->gateway;

	jw_object(w);
	jw_member_z(w, "error", code);
	jw_member_z(w, "message", err_text(e));
	jw_member(w, "path", path.ptr ? path : S(""));
	jw_member_bool(w, "retryable", !twice && refusal_retryable(code));
	if (details.ptr) {
		jw_key(w, "details");
		jw_raw(w, details);
	}
	jw_end(w);
}

void
refusal_text(struct buf *out, struct str said)
{
	size_t start = out->len;

	if (!plain_line(out, said, REFUSAL_CHARS))
		return;
	out->len = start;
	plain_line(out, said, REFUSAL_CHARS - 1);
	buf_addz(out, "\xe2\x80\xa6");
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "401" is not in "port 4010". */
static bool
is_at(struct str said, size_t at, struct str words)
{
	size_t end = at + words.len;

	if (!str_eq_nocase(str_upto(str_from(said, at), words.len), words))
		return false;
	return !is_digit(words.ptr[0]) || ((at == 0 || !is_digit(said.ptr[at - 1])) &&
					   (end == said.len || !is_digit(said.ptr[end])));
}

static bool
has_words(struct str said, struct str words)
{
	for (size_t at = 0; at + words.len <= said.len; at++)
		if (is_at(said, at, words))
			return true;
	return false;
}

const char *
refusal_code(struct str said)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (has_words(said, str_of(codes[i].words)))
			return codes[i].code;
	return "UPSTREAM_ERROR";
}
