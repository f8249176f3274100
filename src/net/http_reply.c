/* http_reply.c - whole answers: the handler's own, and those of the door. */

#include "net/http_conn.h"

#include <stdio.h>

static const struct phrase {
	int status;
	const char *text;
} phrases[] = {
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

static const char *
phrase(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].text;
	return ""; /* the standard lets it be empty */
}

/* A body up to here is copied behind the head: one piece is written for less than three. */
#define JOINED_BYTES (4 * KIB)

#define SECURITY_HEADERS                                                                           \
	"X-Content-Type-Options: nosniff\r\n"                                                      \
	"Cache-Control: no-store\r\n"                                                              \
	"Referrer-Policy: no-referrer\r\n"

/* All but the framing headers and the empty line. */
void
reply__head(struct conn *c, struct buf *out, int status, const char *type, const char *extra)
{
	if (c->server->stopping)
		c->keep = false;
	buf_addz(out, "HTTP/1.1 ");
	buf_add_u64(out, (uint64_t)status);
	buf_addc(out, ' ');
	buf_addz(out, phrase(status));
	buf_addz(out, "\r\n" SECURITY_HEADERS);
	if (type)
		buf_addz(out, "Content-Type: "), buf_addz(out, type), buf_addz(out, "\r\n");
	if (!c->keep && status != 101)
		buf_addz(out, "Connection: close\r\n");
	if (extra)
		buf_addz(out, extra);
}

/* Consumes the body; `around` it, before and behind, is copied. Only reached from HEAD, BODY and
 * CALL, or too late. */
static void
conn_reply_around(struct conn *c, int status, const char *type, struct buf *body,
		  const struct str around[2], const char *extra)
{
	struct buf *head = &c->flight[0];
	bool bodyless = str_is(c->request.method, "HEAD") || status == 204 || status == 304;

	c->owner = OWNER_NONE;
	if (c->state == CONN_CLOSED) {
		buf_done(body);
		return;
	}
	reply__head(c, head, status, type, extra);
	if (status != 204)
		buf_addz(head, "Content-Length: "),
		    buf_add_u64(head, around[0].len + body->len + around[1].len),
		    buf_addz(head, "\r\n");
	buf_addz(head, "\r\n");
	buf_init(&c->flight[2], around[1].len);
	if (bodyless) {
		buf_done(body);
	} else if (body->len <= JOINED_BYTES) {
		buf_add(head, around[0]);
		buf_add(head, buf_str(body));
		buf_add(head, around[1]);
		buf_done(body);
	} else {
		buf_add(head, around[0]);
		buf_add(&c->flight[2], around[1]);
	}
	c->flight[1] = buf_take(body);
	if (buf_failed(head) || buf_failed(&c->flight[2])) {
		conn__close(c);
		return;
	}
	conn__finish(c);
}

static void
conn_reply(struct conn *c, int status, const char *type, struct buf *body, const char *extra)
{
	static const struct str nothing[2];

	conn_reply_around(c, status, type, body, nothing, extra);
}

static struct conn *
answering(struct http_request *r)
{
	struct conn *c = CONTAINER_OF(r, struct conn, request);

	CHECK(c->owner == OWNER_HANDLER); /* exactly one answer */
	return c;
}

void
http_reply_take(struct http_request *r, int status, const char *type, struct buf *body,
		const char *extra)
{
	conn_reply(answering(r), status, type, body, extra);
}

void
http_reply_around(struct http_request *r, int status, const char *type, struct str before,
		  struct buf *body, struct str behind, const char *extra)
{
	const struct str around[2] = {before, behind};

	conn_reply_around(answering(r), status, type, body, around, extra);
}

void
http_reply(struct http_request *r, int status, const char *type, struct str body, const char *extra)
{
	struct conn *c = answering(r);
	struct buf copy = BUF_INIT(body.len);

	buf_add(&copy, body);
	if (buf_failed(&copy)) {
		c->owner = OWNER_NONE;
		conn__close(c);
		return;
	}
	conn_reply(c, status, type, &copy, extra);
}

/* What the door says by itself. */

static const struct refusal {
	int status;
	const char *word;
	const char *sentence;
} refusals[] = {
    {400, "invalid_content", "the request is not well-formed HTTP/1.1"},
    {408, "request_timeout", "the request did not arrive in time"},
    {413, "too_large", "the body is larger than the limit"},
    {414, "target_too_long", "the request target is longer than the limit"},
    {415, "unsupported_media_type", "an encoded body is not taken"},
    {417, "expectation_failed", "only 100-continue can be expected"},
    {431, "headers_too_large", "the headers are more or longer than the limit"},
    {501, "not_implemented", "only the transfer coding chunked is understood"},
    {503, "limit_reached", "the gateway has no room for more"},
    {505, "version_not_supported", "only HTTP/1.1 and HTTP/1.0 are spoken"},
};

static const struct refusal *
refusal_get(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
		if (refusals[i].status == status)
			return &refusals[i];
	BUG("a refusal without a sentence");
}

#define REFUSAL_JSON "{\"error\":{\"code\":\"%s\",\"message\":\"%s%s\",\"details\":{}}}\n"
#define REFUSAL_BYTES 512

/* The connection ends with it: what follows a bad request cannot be trusted. */
void
reply__refuse(struct conn *c, int status)
{
	const struct refusal *r = refusal_get(status);
	struct buf body = BUF_INIT(REFUSAL_BYTES);
	char more[40] = "";

	c->keep = false;
	c->request.method = S(""); /* of an earlier request, perhaps HEAD */
	if (status == 413)
		snprintf(more, sizeof(more), " of %zu bytes", c->body.max);
	buf_addf(&body, REFUSAL_JSON, r->word, r->sentence, more);
	conn_reply(c, status, "application/json", &body, NULL);
}

struct str
reply__turned_away(void)
{
	static char text[REFUSAL_BYTES];
	static int len;

	if (len == 0) {
		const struct refusal *r = refusal_get(503);
		char body[REFUSAL_BYTES];
		int n = snprintf(body, sizeof(body), REFUSAL_JSON, r->word, r->sentence, "");
		len = snprintf(text, sizeof(text),
			       "HTTP/1.1 503 %s\r\n" SECURITY_HEADERS
			       "Content-Type: application/json\r\nConnection: close\r\n"
			       "Retry-After: 1\r\nContent-Length: %d\r\n\r\n%s",
			       phrase(503), n, body);
		CHECK(len < (int)sizeof(text));
	}
	return (struct str){text, (size_t)len};
}
