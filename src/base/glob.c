/* glob.c - file names by pattern, in time that a hostile pattern cannot blow up. */

#include "base/glob.h"

/* Where a star stands, and where it has come to: it takes one more when the rest does not fit. */
struct star {
	size_t pattern; /* what follows it */
	size_t path;
	bool set;
};

static size_t
char_len(struct str s)
{
	uint32_t code;
	size_t n = str_utf8_char(s, &code);

	return n ? n : 1; /* no UTF-8: a byte is as good as any character */
}

static uint32_t
char_at(struct str s, size_t at, size_t *ret_len)
{
	struct str rest = str_from(s, at);
	uint32_t code = 0;

	*ret_len = str_utf8_char(rest, &code);
	if (*ret_len == 0) {
		*ret_len = 1;
		code = (unsigned char)rest.ptr[0] | 0x80000000u;
	}
	return code;
}

/* The "]" that ends the set which begins at `from`; 0: none does, and "[" means itself. */
static size_t
set_end(struct str pattern, size_t from)
{
	size_t i = from + 1;

	if (i < pattern.len && (pattern.ptr[i] == '!' || pattern.ptr[i] == '^'))
		i++;
	for (size_t first = i; i < pattern.len && pattern.ptr[i] != '/'; i++) {
		if (pattern.ptr[i] == ']' && i > first)
			return i;
		if (pattern.ptr[i] == '\\')
			i++;
	}
	return 0;
}

static uint32_t
set_char(struct str pattern, size_t *at, size_t end)
{
	size_t n;

	if (pattern.ptr[*at] == '\\' && *at + 1 < end)
		(*at)++;
	uint32_t code = char_at(pattern, *at, &n);
	*at += n;
	return code;
}

static bool
set_has(struct str pattern, size_t from, size_t end, uint32_t code)
{
	size_t i = from + 1;
	bool none = pattern.ptr[i] == '!' || pattern.ptr[i] == '^', has = false;

	i += none;
	while (i < end) {
		uint32_t low = set_char(pattern, &i, end), high = low;
		if (i + 1 < end && pattern.ptr[i] == '-') {
			i++;
			high = set_char(pattern, &i, end);
		}
		has = has || (code >= low && code <= high);
	}
	return has != none;
}

/* Does one character fit? Then both move on behind it. */
static bool
step(struct str pattern, size_t *at, struct str path, size_t *to)
{
	size_t n, m, end;

	if (*at >= pattern.len || *to >= path.len)
		return false;
	uint32_t code = char_at(path, *to, &n);
	char p = pattern.ptr[*at];
	if (p == '?' && code != '/') {
		*at += 1;
	} else if (p == '[' && code != '/' && (end = set_end(pattern, *at))) {
		if (!set_has(pattern, *at, end, code))
			return false;
		*at = end + 1;
	} else {
		size_t literal = *at + (p == '\\' && *at + 1 < pattern.len);
		if (p == '?' || char_at(pattern, literal, &m) != code)
			return false;
		*at = literal + m;
	}
	*to += n;
	return true;
}

/* "**" as a whole part of the pattern; *ret_rest is where the next part begins. */
static bool
is_deep(struct str pattern, size_t at, size_t *ret_rest)
{
	struct str rest = str_from(pattern, at);

	if ((at > 0 && pattern.ptr[at - 1] != '/') || !str_starts(rest, S("**")))
		return false;
	if (rest.len > 2 && rest.ptr[2] != '/')
		return false;
	*ret_rest = at + 2 + (rest.len > 2);
	return true;
}

/* The next place where a part of the path begins, behind `at`. */
static bool
next_part(struct str path, size_t *at)
{
	const char *slash = *at < path.len ? memchr(path.ptr + *at, '/', path.len - *at) : NULL;

	if (slash)
		*at = (size_t)(slash - path.ptr) + 1;
	return slash;
}

static bool
star_more(struct star *s, struct str path)
{
	if (!s->set || s->path >= path.len || path.ptr[s->path] == '/')
		return false;
	s->path += char_len(str_from(path, s->path));
	return true;
}

/*
 * A star takes as little as it can. When the rest does not fit, the last "*" takes one more
 * character, and when that has come to the end of its part, the last "**" one more part. Earlier
 * stars need not be looked at again: what they left is as early as it can be.
 */
bool
glob_path(struct str pattern, struct str path)
{
	struct star one = {0}, deep = {0};
	size_t p = 0, t = 0, rest;

	while (t < path.len || p < pattern.len) {
		if (is_deep(pattern, p, &rest)) {
			if (rest >= pattern.len && pattern.ptr[rest - 1] != '/')
				return true; /* "**" at the end takes all there is */
			deep = (struct star){rest, t, true};
			one.set = false;
			p = rest;
		} else if (p < pattern.len && pattern.ptr[p] == '*') {
			one = (struct star){++p, t, true};
		} else if (step(pattern, &p, path, &t)) {
			continue;
		} else if (star_more(&one, path)) {
			p = one.pattern;
			t = one.path;
		} else if (deep.set && next_part(path, &deep.path)) {
			p = deep.pattern;
			t = deep.path;
			one.set = false;
		} else {
			return false;
		}
	}
	return true;
}

bool
glob_file(struct str pattern, struct str path)
{
	if (pattern.len == 0 || str_is(pattern, "*"))
		return true;
	if (str_index(pattern, '/') < 0) {
		const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
		if (slash)
			path = str_from(path, (size_t)(slash - path.ptr) + 1);
	}
	return glob_path(pattern, path);
}
