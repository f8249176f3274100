/* uri.c - URI references taken apart, resolved (RFC 3986 section 5) and decoded. */

#include "schema/format.h"

static const struct str absent = {NULL, 0};

/* What stands before the first of the stops; *rest begins with the stop, or is empty. */
static struct str
piece_take(struct str *rest, const char *stops)
{
	size_t n = 0;

	while (n < rest->len && !(rest->ptr[n] && strchr(stops, rest->ptr[n])))
		n++;
	struct str piece = {rest->ptr, n};
	*rest = str_from(*rest, n);
	return piece;
}

struct uri_parts
schema__uri_split(struct str text)
{
	struct uri_parts u = {absent, absent, absent, absent, absent};
	struct str rest = text.ptr ? text : S("");
	struct str first = piece_take(&rest, ":/?#");

	if (first.len > 0 && str_starts(rest, S(":"))) {
		u.scheme = first;
		rest = str_from(rest, 1);
	} else {
		rest = text.ptr ? text : S("");
	}
	if (str_starts(rest, S("//"))) {
		rest = str_from(rest, 2);
		u.authority = piece_take(&rest, "/?#");
	}
	u.path = piece_take(&rest, "?#");
	if (str_starts(rest, S("?"))) {
		rest = str_from(rest, 1);
		u.query = piece_take(&rest, "#");
	}
	if (str_starts(rest, S("#")))
		u.fragment = str_from(rest, 1);
	return u;
}

/*
 * Section 5.2.4 in place, segment by segment; the new length. A relative path stays one ("a/../b"
 * is "b", where the RFC, which has no relative bases, would make it "/b").
 */
static size_t
path_straighten(char *path, size_t len)
{
	size_t root = len > 0 && path[0] == '/', from = root, to = root;

	for (;;) {
		struct str rest = {path + from, len - from};
		ptrdiff_t slash = str_index(rest, '/');
		struct str segment = slash < 0 ? rest : str_upto(rest, (size_t)slash);
		if (str_is(segment, "..")) {
			to -= to > root;
			while (to > root && path[to - 1] != '/')
				to--;
		} else if (!str_is(segment, ".")) {
			size_t n = segment.len + (slash >= 0);
			memmove(path + to, segment.ptr, n);
			to += n;
		}
		if (slash < 0)
			return to;
		from += (size_t)slash + 1;
	}
}

/* Would the path, written here, be read as an authority or as a scheme? Say that it is a path. */
static const char *
path_guard(const struct uri_parts *target, struct str path)
{
	if (target->authority.ptr)
		return "";
	if (str_starts(path, S("//")))
		return "/.";
	if (target->scheme.ptr)
		return "";
	struct str first = piece_take(&path, ":/");
	return first.len > 0 && str_starts(path, S(":")) ? "./" : "";
}

/* Section 5.2.3: the directory of the base's path, where the reference's is relative. */
static void
path_write(struct buf *out, const struct uri_parts *target, struct str directory)
{
	size_t start = out->len;

	buf_add(out, directory);
	buf_add(out, target->path);
	if (buf_failed(out) || out->len == start)
		return;
	out->len = start + path_straighten(out->ptr + start, out->len - start);

	/* A guard fits where dot segments were: nothing else makes a path that needs one. */
	struct str path = {out->ptr + start, out->len - start};
	const char *guard = path_guard(target, path);
	size_t n = strlen(guard);
	if (n > 0 && buf_room(out, n)) {
		memmove(out->ptr + start + n, out->ptr + start, path.len);
		memcpy(out->ptr + start, guard, n);
		out->len += n;
	}
}

static void
lower_write(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		buf_addc(out, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
	}
}

static void
authority_write(struct buf *out, struct str authority)
{
	size_t host = 0; /* a password has its case */

	for (size_t i = 0; i < authority.len; i++)
		if (authority.ptr[i] == '@')
			host = i + 1;
	buf_addz(out, "//");
	buf_add(out, str_upto(authority, host));
	lower_write(out, str_from(authority, host));
}

static struct str
directory_of(const struct uri_parts *base)
{
	size_t n = base->path.len;

	if (n == 0 && base->authority.ptr)
		return S("/");
	while (n > 0 && base->path.ptr[n - 1] != '/')
		n--;
	return str_upto(base->path, n);
}

/* Section 5.2.2, from the end: each part the reference has not is the base's. */
void
schema__uri_resolve(struct buf *out, struct str base, struct str reference)
{
	struct uri_parts from = schema__uri_split(base);
	struct uri_parts to = schema__uri_split(reference);
	struct str directory = S("");

	if (!to.scheme.ptr && !to.authority.ptr) {
		if (to.path.len == 0) {
			to.path = from.path;
			to.query = to.query.ptr ? to.query : from.query;
		} else if (to.path.ptr[0] != '/') {
			directory = directory_of(&from);
		}
		to.authority = from.authority;
	}
	if (!to.scheme.ptr)
		to.scheme = from.scheme;

	if (to.scheme.ptr) {
		lower_write(out, to.scheme);
		buf_addc(out, ':');
	}
	if (to.authority.ptr)
		authority_write(out, to.authority);
	path_write(out, &to, directory);
	if (to.query.ptr) {
		buf_addc(out, '?');
		buf_add(out, to.query);
	}
	if (to.fragment.ptr) {
		buf_addc(out, '#');
		buf_add(out, to.fragment);
	}
}

struct str
schema__uri_whole(struct str uri)
{
	ptrdiff_t hash = str_index(uri, '#');

	return hash < 0 ? uri : str_upto(uri, (size_t)hash);
}

struct str
schema__uri_fragment(struct str uri)
{
	ptrdiff_t hash = str_index(uri, '#');

	return hash < 0 ? absent : str_from(uri, (size_t)hash + 1);
}

bool
schema__uri_decode(struct buf *out, struct str text)
{
	size_t start = out->len;

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] != '%') {
			buf_addc(out, text.ptr[i]);
			continue;
		}
		int high = i + 2 < text.len ? format_hex(text.ptr[i + 1]) : -1;
		int low = i + 2 < text.len ? format_hex(text.ptr[i + 2]) : -1;
		if (high < 0 || low < 0)
			return false;
		buf_addc(out, (char)(high * 16 + low));
		i += 2;
	}
	return buf_failed(out) || str_is_utf8(str_from(buf_str(out), start));
}
