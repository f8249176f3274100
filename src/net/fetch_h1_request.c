/* fetch_h1_request.c - where a request goes, and what it says: from an address to the bytes. */

#include "net/fetch_h1.h"

#include <arpa/inet.h>
#include <strings.h>

/* Addresses. What is unusual in one is left to curl, which knows all of it. */

static bool
all_of(struct str s, bool (*good)(unsigned char c))
{
	for (size_t i = 0; i < s.len; i++)
		if (!good((unsigned char)s.ptr[i]))
			return false;
	return true;
}

static bool
in_name(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' ||
	       c == '.' || c == '_';
}

static bool
in_v6(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') || c == ':' ||
	       c == '.';
}

static bool
is_visible(unsigned char c)
{
	return c > ' ' && c < 0x7f;
}

/* Numbers of other forms than the usual four, and names that end with a dot, are unusual. */
static bool
host_plain(struct str host)
{
	char text[INET_ADDRSTRLEN];
	struct in_addr v4;
	char last = host.len ? host.ptr[host.len - 1] : '.';

	if (last == '.' || host.len > LIMIT_DIAL_HOST || !all_of(host, in_name))
		return false;
	if (last < '0' || last > '9')
		return true;
	if (host.len >= sizeof(text))
		return false;
	memcpy(text, host.ptr, host.len);
	text[host.len] = '\0';
	return inet_pton(AF_INET, text, &v4) == 1;
}

static bool
port_read(struct str text, uint16_t *ret)
{
	uint64_t port;

	if (!str_to_u64(text, &port) || port == 0 || port > UINT16_MAX)
		return false;
	*ret = (uint16_t)port;
	return true;
}

static bool
authority_read(struct str s, struct h1_place *ret)
{
	ptrdiff_t end = s.len && s.ptr[0] == '[' ? str_index(s, ']') : -1;
	struct str rest;

	ret->authority = s;
	ret->port = 80;
	if (end > 0) {
		ret->host = str_from(str_upto(s, (size_t)end), 1);
		rest = str_from(s, (size_t)end + 1);
		if (ret->host.len == 0 || ret->host.len > LIMIT_DIAL_HOST ||
		    !all_of(ret->host, in_v6))
			return false;
	} else {
		ptrdiff_t colon = str_index(s, ':');
		ret->host = colon < 0 ? s : str_upto(s, (size_t)colon);
		rest = str_from(s, ret->host.len);
		if (!host_plain(ret->host))
			return false;
	}
	if (rest.len == 0)
		return true;
	if (rest.ptr[0] != ':' || !port_read(str_from(rest, 1), &ret->port))
		return false;
	if (ret->port == 80)
		ret->authority = str_upto(s, s.len - rest.len);
	return true;
}

/* A path with dots may mean another. */
static bool
target_plain(struct str s)
{
	for (size_t i = 0; i + 1 < s.len && s.ptr[i] != '?'; i++)
		if (s.ptr[i] == '/' && s.ptr[i + 1] == '.')
			return false;
	return all_of(s, is_visible);
}

static bool
url_read(struct str url, struct h1_place *ret)
{
	struct str scheme = S("http://");
	struct str rest = str_from(url, scheme.len);
	size_t end = 0;

	if (!str_eq_nocase(str_upto(url, scheme.len), scheme))
		return false;
	while (end < rest.len && !strchr("/?#", rest.ptr[end]))
		end++;
	if (!authority_read(str_upto(rest, end), ret))
		return false;
	ret->target = str_from(rest, end);
	ptrdiff_t mark = str_index(ret->target, '#');
	if (mark >= 0)
		ret->target = str_upto(ret->target, (size_t)mark);
	return target_plain(ret->target);
}

/* NULL: it is for curl, or there is no memory. */
const struct h1_place *
h1__place_of(struct h1_pool *pool, struct str url)
{
	if (pool->url.len && str_eq(url, buf_str(&pool->url)))
		return &pool->place;
	buf_reset(&pool->url);
	buf_add(&pool->url, url);
	if (!buf_failed(&pool->url) && url_read(buf_str(&pool->url), &pool->place))
		return &pool->place;
	buf_reset(&pool->url);
	return NULL;
}

/* What it says */

static void
line_add(struct buf *out, struct str name, struct str value)
{
	buf_add(out, name);
	buf_add(out, S(": "));
	buf_add(out, value);
	buf_add(out, S("\r\n"));
}

static void
request_line_add(struct buf *out, const char *method, struct str target)
{
	buf_addz(out, method);
	buf_addc(out, ' ');
	if (target.len == 0 || target.ptr[0] == '?')
		buf_addc(out, '/');
	buf_add(out, target);
	buf_add(out, S(" HTTP/1.1\r\n"));
}

/* What we say when the caller does not. */
static struct {
	struct str name, value;
} const manners[] = {
    {S("Accept"), S("*/*")},
    {S("Accept-Encoding"), S("identity")},
};
enum { MANNER_CODING = 1 };

static unsigned
manner_of(struct str name)
{
	for (unsigned i = 0; i < ARRAY_LEN(manners); i++)
		if (manners[i].name.len == name.len && str_eq_nocase(name, manners[i].name))
			return 1u << i;
	return 0;
}

/* Host comes first (RFC 9110 section 7.2), unless the caller has one. */
static bool
lines_name_host(const char *const *lines)
{
	for (; lines && *lines; lines++)
		if ((**lines | 0x20) == 'h' && strncasecmp(*lines, "Host:", 5) == 0)
			return true;
	return false;
}

/* *said: which of the manners the caller has seen to. */
static int
lines_add(struct buf *out, const char *const *lines, unsigned *said, struct err *e)
{
	struct str name, value;

	for (; lines && *lines; lines++) {
		int r = fetch__header_check(*lines, &name, &value, e);

		if (r < 0)
			return r;
		*said |= manner_of(name);
		line_add(out, name, value);
	}
	return 0;
}

static void
manners_add(struct buf *out, unsigned said)
{
	for (unsigned i = 0; i < ARRAY_LEN(manners); i++)
		if (!(said & 1u << i))
			line_add(out, manners[i].name, manners[i].value);
}

/* Who wants an answer compressed gets it from curl, which can read it. */
int
h1__request_write(struct h1_fetch *f, const struct h1_place *to, struct err *e)
{
	const struct fetch_spec *spec = &f->fetch.spec;
	bool body = spec->body.ptr || strcmp(spec->method, "POST") == 0;
	unsigned said = 0;

	f->out.max = LIMIT_FETCH_HEAD + spec->body.len;
	buf_room(&f->out, KIB + spec->body.len);
	request_line_add(&f->out, spec->method, to->target);
	if (!lines_name_host(spec->headers))
		line_add(&f->out, S("Host"), to->authority);
	int r = lines_add(&f->out, spec->headers, &said, e);
	if (r < 0)
		return r;
	if (said & 1u << MANNER_CODING)
		return FETCH_OTHERS;
	manners_add(&f->out, said);
	if (body) {
		buf_add(&f->out, S("Content-Length: "));
		buf_add_u64(&f->out, spec->body.len);
		buf_add(&f->out, S("\r\n"));
	}
	buf_add(&f->out, S("\r\n"));
	buf_add(&f->out, spec->body);
	buf_add(&f->host, to->host);
	f->port = to->port;
	f->bodyless = strcmp(spec->method, "HEAD") == 0;
	return buf_failed(&f->out) || buf_failed(&f->host)
		   ? err_set(e, E_LIMIT, "the request has too many headers, or too long ones")
		   : 0;
}
