/* url.c - addresses taken apart strictly, put together again, and arguments made harmless. */

#include "net/url.h"

#include "base/limits.h"

#define WRONG(e, why) err_set(e, E_VALIDATION, "the address %s", why)

static bool
is_alnum(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool
all_among(struct str s, const char *others)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_alnum((unsigned char)s.ptr[i]) && !(s.ptr[i] && strchr(others, s.ptr[i])))
			return false;
	return true;
}

/* Neither blanks, control characters and what is beyond ASCII, nor what some take for a slash. */
static bool
is_plain(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (c <= ' ' || c >= 0x7f || strchr("\\\"<>^`{|}", c))
			return false;
	}
	return true;
}

static bool
scheme_read(struct str *rest, bool *secure)
{
	static const struct {
		struct str text;
		bool secure;
	} schemes[] = {{S("http://"), false}, {S("https://"), true}};

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		if (!str_eq_nocase(str_upto(*rest, schemes[i].text.len), schemes[i].text))
			continue;
		*rest = str_from(*rest, schemes[i].text.len);
		*secure = schemes[i].secure;
		return true;
	}
	return false;
}

static int
port_read(struct str text, struct url *ret, struct err *e)
{
	uint64_t port;

	ret->port = ret->secure ? 443 : 80;
	if (text.len == 0)
		return 0;
	if (text.ptr[0] != ':' || !str_to_u64(str_from(text, 1), &port) || port == 0 ||
	    port > UINT16_MAX)
		return WRONG(e, "has a port that is none");
	ret->port = (uint16_t)port;
	return 0;
}

static int
authority_read(struct str s, struct url *ret, struct err *e)
{
	ptrdiff_t end;

	ret->authority = s;
	if (str_index(s, '@') >= 0)
		return WRONG(e, "has a user in it; use a header");
	if (s.len && s.ptr[0] == '[') {
		end = str_index(s, ']');
		ret->host = end < 0 ? (struct str){NULL, 0} : str_from(str_upto(s, (size_t)end), 1);
		if (ret->host.len == 0 || !all_among(ret->host, ":."))
			return WRONG(e, "has a host that is none");
		return port_read(str_from(s, (size_t)end + 1), ret, e);
	}
	end = str_index(s, ':');
	ret->host = end < 0 ? s : str_upto(s, (size_t)end);
	if (ret->host.len == 0 || ret->host.len > LIMIT_DIAL_HOST || !all_among(ret->host, "-._"))
		return WRONG(e, "has a host that is none");
	return port_read(str_from(s, ret->host.len), ret, e);
}

int
url_split(struct str text, struct url *ret, struct err *e)
{
	struct str rest = text;
	size_t end = 0;

	*ret = (struct url){0};
	if (!scheme_read(&rest, &ret->secure))
		return WRONG(e, "must begin with http:// or https://");
	if (!is_plain(rest))
		return WRONG(e, "has a character in it that has to be percent-encoded");
	if (str_index(rest, '#') >= 0)
		return WRONG(e, "has a fragment (#)");
	while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?')
		end++;
	int code = authority_read(str_upto(rest, end), ret, e);
	if (code < 0)
		return code;
	ret->path = str_from(rest, end);
	ptrdiff_t mark = str_index(ret->path, '?');
	if (mark >= 0) {
		ret->query = str_from(ret->path, (size_t)mark + 1);
		ret->path = str_upto(ret->path, (size_t)mark);
	}
	return 0;
}

bool
url_same_origin(const struct url *a, const struct url *b)
{
	return a->secure == b->secure && a->port == b->port && str_eq_nocase(a->host, b->host);
}

void
url_encode(struct buf *out, struct str text, const char *keep)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (is_alnum(c) || (c && (strchr("-._~", c) || strchr(keep, c))))
			buf_addc(out, (char)c);
		else
			buf_addf(out, "%%%02X", c);
	}
}

/* ---- references ---- */

static bool
has_scheme(struct str s)
{
	size_t i = 0;

	while (i < s.len && all_among((struct str){s.ptr + i, 1}, "+-."))
		i++;
	return i > 0 && i < s.len && s.ptr[i] == ':';
}

static struct str
without_fragment(struct str s)
{
	ptrdiff_t mark = str_index(s, '#');

	return mark < 0 ? s : str_upto(s, (size_t)mark);
}

/* Everything up to and with the last slash. */
static struct str
directory_of(struct str path)
{
	while (path.len && path.ptr[path.len - 1] != '/')
		path.len--;
	return path;
}

/* Section 5.2.4: path begins with a slash, or is empty. */
static void
add_path(struct buf *out, struct str path)
{
	size_t start = out->len;

	while (path.len) {
		size_t end = 1;
		while (end < path.len && path.ptr[end] != '/')
			end++;
		struct str segment = str_upto(path, end), name = str_from(segment, 1);
		bool up = str_is(name, "..");
		path = str_from(path, end);
		while (up && out->len > start && out->ptr[--out->len] != '/')
			;
		if (!up && !str_is(name, "."))
			buf_add(out, segment);
		else if (path.len == 0)
			buf_addc(out, '/');
	}
}

/* The same address without . and .. in its path. */
static void
add_without_dots(struct buf *out, struct str text, const struct url *parts)
{
	struct str query = parts->query;

	buf_add(out, str_upto(text, (size_t)(parts->path.ptr - text.ptr)));
	add_path(out, parts->path);
	if (query.ptr) {
		buf_addc(out, '?');
		buf_add(out, query);
	}
}

int
url_resolve(const struct url *base, struct str reference, struct buf *out, struct err *e)
{
	struct str r = without_fragment(str_trim(reference));
	struct str scheme = base->secure ? S("https://") : S("http://");
	struct buf whole = BUF_INIT(out->max);
	struct url parts;
	int code;

	if (str_starts(r, S("//"))) {
		buf_add(&whole, str_upto(scheme, scheme.len - 2));
	} else if (!has_scheme(r)) {
		buf_add(&whole, scheme);
		buf_add(&whole, base->authority);
		if (r.len == 0 || r.ptr[0] == '?') {
			buf_add(&whole, base->path);
		} else if (r.ptr[0] != '/') {
			struct str directory = directory_of(base->path);
			buf_add(&whole, directory.len ? directory : S("/"));
		}
		if (r.len == 0 && base->query.ptr) {
			buf_addc(&whole, '?');
			buf_add(&whole, base->query);
		}
	}
	buf_add(&whole, r);
	buf_reset(out);
	code = buf_failed(&whole) ? err_plain(e, E_NOMEM) : url_split(buf_str(&whole), &parts, e);
	if (code == 0) {
		add_without_dots(out, buf_str(&whole), &parts);
		code = buf_failed(out) ? err_plain(e, E_NOMEM) : 0;
	}
	buf_done(&whole);
	return code;
}
