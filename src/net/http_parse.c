/* http_parse.c - bytes to a request: llhttp's callbacks, the limits, and the rules of the door. */

#include "net/http_conn.h"

/* Ends the parse; the status is the answer. */
static int
refuse(struct conn *c, int status)
{
	c->refusal = status;
	return HPE_USER;
}

static int
keep_piece(struct conn *c, struct span *span, const char *at, size_t len, int too_long)
{
	if (span->len + len > LIMIT_HTTP_FIELD)
		return refuse(c, too_long);
	if (c->head.len + len > LIMIT_HTTP_HEADER_BYTES)
		return refuse(c, 431);
	if (span->len == 0)
		span->at = (uint32_t)c->head.len;
	buf_add(&c->head, (struct str){at, len});
	if (buf_failed(&c->head))
		return refuse(c, 503);
	span->len += (uint32_t)len;
	return HPE_OK;
}

static int
on_begin(llhttp_t *p)
{
	struct conn *c = p->data;

	buf_reset(&c->head);
	buf_reset(&c->body);
	c->target = (struct span){0};
	c->field_count = 0;
	c->fields[0] = (struct field){0};
	c->skipped = 0;
	c->version_seen = false;
	c->keep = false;
	return HPE_OK;
}

static int
on_url(llhttp_t *p, const char *at, size_t len)
{
	struct conn *c = p->data;

	return keep_piece(c, &c->target, at, len, 414);
}

/* llhttp takes RTSP/1.0 and ICE/1.0 too and does not tell. The third byte back does: htTp/, rtSp/,
 * iCe/; it may have come in an earlier piece. */
static int
on_version(llhttp_t *p, const char *at, size_t len)
{
	struct conn *c = p->data;
	size_t into = (size_t)(at - c->piece);

	(void)len;
	if (c->version_seen)
		return HPE_OK;
	c->version_seen = true;
	return (into >= 3 ? at[-3] : c->before[into]) == 'T' ? HPE_OK : refuse(c, 505);
}

static void
remember_end(struct conn *c, struct str bytes)
{
	const size_t room = sizeof(c->before);
	size_t n = bytes.len < room ? bytes.len : room;

	memmove(c->before, c->before + n, room - n);
	memcpy(c->before + room - n, bytes.ptr + bytes.len - n, n);
}

/* Chunk extensions and trailers mean nothing to us; that there is an end to them does. */
static int
on_skipped(llhttp_t *p, const char *at, size_t len)
{
	struct conn *c = p->data;

	(void)at;
	c->skipped += len;
	return c->skipped > LIMIT_HTTP_HEADER_BYTES ? refuse(c, 431) : HPE_OK;
}

static int
on_field_name(llhttp_t *p, const char *at, size_t len)
{
	struct conn *c = p->data;

	if (c->head_over)
		return on_skipped(p, at, len);
	if (c->field_count == LIMIT_HTTP_HEADERS)
		return refuse(c, 431);
	return keep_piece(c, &c->fields[c->field_count].name, at, len, 431);
}

static int
on_field_value(llhttp_t *p, const char *at, size_t len)
{
	struct conn *c = p->data;

	if (c->head_over)
		return on_skipped(p, at, len);
	return keep_piece(c, &c->fields[c->field_count].value, at, len, 431);
}

static int
on_field_end(llhttp_t *p)
{
	struct conn *c = p->data;

	if (c->head_over)
		return HPE_OK;
	c->field_count++;
	if (c->field_count < LIMIT_HTTP_HEADERS)
		c->fields[c->field_count] = (struct field){0};
	return HPE_OK;
}

/* From spans to strings; head does not move from here on. */

static struct str
span_str(const struct conn *c, struct span s)
{
	return s.len ? (struct str){c->head.ptr + s.at, s.len} : S("");
}

/* The decoded path goes behind everything else in head. */
static struct str
path_decode(struct conn *c, struct str raw)
{
	size_t start = c->head.len;

	if (raw.len == 0 || raw.ptr[0] != '/' || str_index(raw, '#') >= 0)
		return (struct str){0};
	if (!http__unescape(raw, false, &c->head))
		return (struct str){0};
	struct str path = {c->head.ptr + start, c->head.len - start};
	return str_is_utf8(path) ? path : (struct str){0};
}

static int
request_fill(struct conn *c)
{
	struct http_request *r = &c->request;
	ptrdiff_t mark;

	if (!buf_room(&c->head, c->target.len)) /* so that decoding cannot move it */
		return -1;
	for (size_t i = 0; i < c->field_count; i++) {
		c->headers[i].name = span_str(c, c->fields[i].name);
		c->headers[i].value = str_trim(span_str(c, c->fields[i].value));
	}
	struct str target = span_str(c, c->target);
	mark = str_index(target, '?');
	r->method = str_of(llhttp_method_name((llhttp_method_t)c->parser.method));
	r->path = path_decode(c, mark < 0 ? target : str_upto(target, (size_t)mark));
	r->query = mark < 0 ? S("") : str_from(target, (size_t)mark + 1);
	r->body = S("");
	r->headers = c->headers;
	r->header_count = c->field_count;
	r->user = NULL;
	r->gone = NULL;
	return 0;
}

/* The rules of the door, beyond what llhttp refuses by itself. Each is true when broken. */

static bool
bad_version(struct conn *c)
{
	return c->parser.http_major != 1 || c->parser.http_minor > 1;
}

/* RFC 9112 section 3.2. */
static bool
bad_host(struct conn *c)
{
	size_t times = http_header_times(&c->request, "host");

	return times > 1 || (times == 0 && c->parser.http_minor == 1);
}

/* HTTP/1.0 knows no transfer coding: whoever sends one may mean two things (section 6.1). */
static bool
bad_framing(struct conn *c)
{
	return c->parser.http_minor == 0 && http_header_times(&c->request, "transfer-encoding");
}

static bool
bad_coding(struct conn *c)
{
	size_t times = http_header_times(&c->request, "transfer-encoding");

	return times > 1 ||
	       (times == 1 &&
		!str_eq_nocase(http_header(&c->request, "transfer-encoding"), S("chunked")));
}

static bool
encoded_body(struct conn *c)
{
	return http_header_times(&c->request, "content-encoding") > 0;
}

/* HTTP/1.0 knows none; there it is ignored (RFC 9110 section 10.1.1). */
static bool
bad_expectation(struct conn *c)
{
	return c->parser.http_minor == 1 && http_header_times(&c->request, "expect") &&
	       !parse__expects(c);
}

static bool
large_body(struct conn *c)
{
	return (c->parser.flags & F_CONTENT_LENGTH) && c->parser.content_length > c->body.max;
}

static const struct door_rule {
	bool (*broken)(struct conn *c);
	int status;
} door[] = {
    {bad_version, 505},  {bad_host, 400},        {bad_framing, 400}, {bad_coding, 501},
    {encoded_body, 415}, {bad_expectation, 417}, {large_body, 413},
};

static int
on_head_end(llhttp_t *p)
{
	struct conn *c = p->data;

	c->head_over = true;
	if (request_fill(c) < 0)
		return refuse(c, 503);
	for (size_t i = 0; i < ARRAY_LEN(door); i++)
		if (door[i].broken(c))
			return refuse(c, door[i].status);
	return conn__admit(c) ? HPE_OK : refuse(c, 0);
}

static int
on_chunk(llhttp_t *p)
{
	struct conn *c = p->data;

	return p->content_length > c->body.max - c->body.len ? refuse(c, 413) : HPE_OK;
}

static int
on_body(llhttp_t *p, const char *at, size_t len)
{
	struct conn *c = p->data;

	buf_add(&c->body, (struct str){at, len});
	if (!buf_failed(&c->body))
		return HPE_OK;
	return refuse(c, len > c->body.max - c->body.len ? 413 : 503);
}

/* One request at a time: stop here, whatever follows. */
static int
on_end(llhttp_t *p)
{
	struct conn *c = p->data;

	c->request.body = buf_str(&c->body);
	/* Who asks for another protocol and is not given it starts afresh; so does HTTP/1.0. */
	c->keep = llhttp_should_keep_alive(p) && p->http_minor == 1 && !p->upgrade;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_begin,
    .on_url = on_url,
    .on_version = on_version,
    .on_header_field = on_field_name,
    .on_header_value = on_field_value,
    .on_header_value_complete = on_field_end,
    .on_headers_complete = on_head_end,
    .on_chunk_header = on_chunk,
    .on_chunk_extension_name = on_skipped,
    .on_chunk_extension_value = on_skipped,
    .on_body = on_body,
    .on_message_complete = on_end,
};

void
parse__init(struct conn *c)
{
	llhttp_init(&c->parser, HTTP_REQUEST, &settings);
	c->parser.data = c;
}

bool
parse__expects(const struct conn *c)
{
	return c->parser.http_minor == 1 &&
	       str_eq_nocase(http_header(&c->request, "expect"), S("100-continue"));
}

/* *ret_used is set for PARSED_WHOLE: where the next request begins. */
enum parsed
parse__feed(struct conn *c, struct str bytes, size_t *ret_used)
{
	c->refusal = 400;
	c->piece = bytes.ptr;
	switch (llhttp_execute(&c->parser, bytes.ptr, bytes.len)) {
	case HPE_OK: break;
	case HPE_PAUSED:
		*ret_used = (size_t)(llhttp_get_error_pos(&c->parser) - bytes.ptr);
		llhttp_resume(&c->parser);
		c->head_bytes = 0;
		c->head_over = false;
		return PARSED_WHOLE;
	default: return PARSED_BAD;
	}
	/* Blanks and empty lines reach no callback and must have an end too. */
	if (!c->head_over) {
		remember_end(c, bytes);
		c->head_bytes += bytes.len;
		if (c->head_bytes > LIMIT_HTTP_HEADER_BYTES) {
			c->refusal = 431;
			return PARSED_BAD;
		}
	}
	return PARSED_PART;
}
