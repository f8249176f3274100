/* http_request.c - what a handler asks of a request: its headers and query parameters. */

#include "net/http_conn.h"

/* Length and first letter tell most names apart. */
static bool
is_named(const struct http_header *h, struct str name)
{
	return h->name.len == name.len && ((h->name.ptr[0] ^ name.ptr[0]) & ~0x20) == 0 &&
	       str_eq_nocase(h->name, name);
}

struct str
http__header(const struct http_request *r, struct str wanted)
{
	for (size_t i = 0; i < r->header_count; i++)
		if (is_named(&r->headers[i], wanted))
			return r->headers[i].value;
	return (struct str){0};
}

size_t
http__header_times(const struct http_request *r, struct str wanted)
{
	size_t times = 0;

	for (size_t i = 0; i < r->header_count; i++)
		times += is_named(&r->headers[i], wanted);
	return times;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False for a cut or odd escape and for a NUL, however written; out may then hold a part. */
bool
http__unescape(struct str escaped, bool plus_is_blank, struct buf *out)
{
	for (size_t i = 0; i < escaped.len; i++) {
		char c = escaped.ptr[i];

		if (c == '%') {
			if (escaped.len - i < 3)
				return false;
			int high = hex_digit(escaped.ptr[i + 1]);
			int low = hex_digit(escaped.ptr[i + 2]);
			if (high < 0 || low < 0)
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && plus_is_blank) {
			c = ' ';
		}
		if (c == '\0')
			return false;
		buf_addc(out, c);
	}
	return !buf_failed(out);
}

/* So that no name could be meant that is not seen. */
static int
check_parameter(struct str key, struct str value, struct err *e)
{
	struct buf read = BUF_INIT(LIMIT_HTTP_FIELD);
	bool fits = str_index(key, '%') < 0 && http__unescape(value, true, &read);
	int code = fits ? 0 : buf_failed(&read) ? E_NOMEM : E_BAD_REQUEST;

	buf_done(&read);
	if (code == E_NOMEM)
		return err_plain(e, code);
	return code == 0 ? 0
			 : err_set(e, code, "query: '%.*s' cannot be read",
				   STR_ARG(str_utf8_upto(key, 80)));
}

int
http_query_check(const struct http_request *r, struct err *e)
{
	struct str keys[LIMIT_HTTP_QUERY], rest = r->query, part;
	size_t count = 0;
	int code = 0;

	while (code == 0 && str_split(&rest, '&', &part)) {
		if (part.len == 0)
			continue;
		if (count == LIMIT_HTTP_QUERY)
			return err_set(e, E_BAD_REQUEST, "query: more than %d parameters",
				       LIMIT_HTTP_QUERY);
		(void)str_split(&part, '=', &keys[count]);
		for (size_t i = 0; i < count; i++)
			if (str_eq(keys[i], keys[count]))
				return err_set(e, E_BAD_REQUEST, "query: '%.*s' is there twice",
					       STR_ARG(str_utf8_upto(keys[i], 80)));
		code = check_parameter(keys[count++], part, e);
	}
	return code;
}

bool
http_query(const struct http_request *r, const char *name, struct buf *out)
{
	struct str rest = r->query;
	struct str part;

	while (str_split(&rest, '&', &part)) {
		struct str key;

		if (!str_split(&part, '=', &key) || !str_is(key, name))
			continue;
		size_t before = out->len;
		if (http__unescape(part, true, out))
			return true;
		out->len = before;
		return false;
	}
	return false;
}
