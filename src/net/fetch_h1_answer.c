/* fetch_h1_answer.c - bytes to an answer: llhttp's callbacks, limits, and what is refused.
 *
 * llhttp runs without any lenient flag. What could be read in two ways ends the exchange: two
 * lengths, a length beside a transfer coding, any coding but chunked, another protocol's name.
 */

#include "net/fetch_h1.h"

#define INTRO "HTTP/"
#define INTRO_LEN (sizeof(INTRO) - 1)

static int
refuse(struct h1_fetch *f, const char *why)
{
	f->wrong = why;
	return HPE_USER;
}

/* Headers */

static int
head_add(struct h1_fetch *f, struct str s)
{
	struct fetch *fetch = &f->fetch;

	buf_add(&fetch->head, s);
	if (!buf_failed(&fetch->head))
		return HPE_OK;
	fetch->fault = fetch->head.len + s.len > fetch->head.max ? E_TOO_LARGE : E_NOMEM;
	return HPE_USER;
}

/* A status line, and headers that are not kept, count all the same. */
static int
on_skipped(llhttp_t *p, const char *at, size_t len)
{
	struct h1_fetch *f = p->data;

	(void)at;
	return fetch__count(&f->fetch, 0, len) ? HPE_OK : HPE_USER;
}

static int
on_begin(llhttp_t *p)
{
	struct h1_fetch *f = p->data;

	return fetch__count(&f->fetch, 0, INTRO_LEN) ? HPE_OK : HPE_USER;
}

static int
on_text(llhttp_t *p, const char *at, size_t len)
{
	struct h1_fetch *f = p->data;

	if (f->fetch.headed)
		return on_skipped(p, at, len);
	return fetch__count(&f->fetch, 0, len) ? head_add(f, (struct str){at, len}) : HPE_USER;
}

static int
on_name_end(llhttp_t *p)
{
	struct h1_fetch *f = p->data;

	if (!fetch__count(&f->fetch, 1, 0))
		return HPE_USER;
	return f->fetch.headed ? HPE_OK : head_add(f, S(": "));
}

static int
on_value_end(llhttp_t *p)
{
	struct h1_fetch *f = p->data;

	return f->fetch.headed ? HPE_OK : head_add(f, S("\n"));
}

/* What is refused of a whole head. Each says what is wrong, or NULL. */

static const char *
bad_version(struct h1_fetch *f)
{
	bool good = f->parser.http_major == 1 && f->parser.http_minor <= 1;

	return good ? NULL : "the server does not answer with HTTP/1.1";
}

/* Nobody asked for another protocol. */
static const char *
bad_status(struct h1_fetch *f)
{
	int status = f->parser.status_code;

	return status >= 100 && status != 101 ? NULL : "the server does not answer with HTTP";
}

/* llhttp has seen to it that there is one length at most, and a number. The first coding found is
 * the only one: of two, or of one that is not chunked, llhttp's flags would know no more. */
static const char *
bad_framing(struct h1_fetch *f)
{
	unsigned flags = f->parser.flags;
	size_t codings = 0;

	if (!(flags & F_TRANSFER_ENCODING))
		return NULL;
	for (struct str rest = buf_str(&f->fetch.head), line; str_split(&rest, '\n', &line);)
		codings += str_eq_nocase(str_upto(line, 18), S("Transfer-Encoding:"));
	bool chunked = str_eq_nocase(fetch_header(&f->fetch, "Transfer-Encoding"), S("chunked"));
	if (codings == 1 && chunked && f->parser.http_minor == 1 && !(flags & F_CONTENT_LENGTH))
		return NULL;
	return "the length of the server's answer can be read in two ways";
}

/* Nobody asked for one. */
static const char *
bad_coding(struct h1_fetch *f)
{
	struct str coding = fetch_header(&f->fetch, "Content-Encoding");

	if (!coding.len || str_eq_nocase(coding, S("identity")))
		return NULL;
	return "the server's answer is compressed, which nobody asked for";
}

static const char *(*const head_rules[])(struct h1_fetch *f) = {
    bad_version,
    bad_status,
    bad_framing,
};

/* 1: no body follows, whatever the headers say. */
static int
on_head_end(llhttp_t *p)
{
	struct h1_fetch *f = p->data;
	int status = p->status_code;
	const char *why = NULL;

	for (size_t i = 0; i < ARRAY_LEN(head_rules) && !why; i++)
		why = head_rules[i](f);
	if (why)
		return refuse(f, why);
	if (status < 200) {
		f->interim = true;
		return 1;
	}
	bool bodyless = f->bodyless || status == 204 || status == 304;
	bool wanted = fetch__headed(&f->fetch, status);
	if (wanted && !bodyless && (why = bad_coding(f)) != NULL)
		return refuse(f, why);
	if (!wanted)
		return HPE_USER;
	if (bodyless)
		return 1;
	return f->fetch.paused ? HPE_PAUSED : HPE_OK;
}

static int
on_body(llhttp_t *p, const char *at, size_t len)
{
	struct h1_fetch *f = p->data;

	if (!fetch__piece(&f->fetch, (struct str){at, len}))
		return HPE_USER;
	return f->fetch.paused ? HPE_PAUSED : HPE_OK;
}

/* One at a time: stop here, whatever follows. */
static int
on_end(llhttp_t *p)
{
	struct h1_fetch *f = p->data;

	if (f->interim)
		return HPE_PAUSED;
	f->whole = true;
	f->keep = p->http_minor == 1 && llhttp_should_keep_alive(p);
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_begin,
    .on_status = on_skipped,
    .on_header_field = on_text,
    .on_header_field_complete = on_name_end,
    .on_header_value = on_text,
    .on_header_value_complete = on_value_end,
    .on_headers_complete = on_head_end,
    .on_chunk_extension_name = on_skipped,
    .on_chunk_extension_value = on_skipped,
    .on_body = on_body,
    .on_message_complete = on_end,
};

void
h1__answer_expect(struct h1_fetch *f)
{
	llhttp_init(&f->parser, HTTP_RESPONSE, &settings);
	f->parser.data = f;
	f->intro = 0;
	f->interim = false;
	buf_reset(&f->fetch.head);
}

/* llhttp takes RTSP and ICE too, and empty lines before. */
static bool
intro_good(struct h1_fetch *f, struct str bytes)
{
	for (size_t i = 0; i < bytes.len && f->intro < INTRO_LEN; i++)
		if (bytes.ptr[i] != INTRO[f->intro++])
			return false;
	return true;
}

/* Blanks reach no callback, and must have an end too. */
static enum h1_fed
answer_part(struct h1_fetch *f, struct str bytes)
{
	f->skipped += f->fetch.headed ? 0 : bytes.len;
	if (f->skipped <= 2 * LIMIT_HTTP_HEADER_BYTES)
		return H1_PART;
	f->fetch.fault = E_TOO_LARGE;
	return H1_BAD;
}

/* *ret_rest: what was not looked at, for H1_WHOLE and H1_PAUSED. */
enum h1_fed
h1__answer_feed(struct h1_fetch *f, struct str bytes, struct str *ret_rest)
{
	for (;;) {
		if (!intro_good(f, bytes)) {
			refuse(f, "the server does not answer with HTTP");
			return H1_BAD;
		}
		llhttp_errno_t r = llhttp_execute(&f->parser, bytes.ptr, bytes.len);
		if (r == HPE_OK)
			return answer_part(f, bytes);
		if (r != HPE_PAUSED)
			return H1_BAD;
		const char *at = llhttp_get_error_pos(&f->parser);
		*ret_rest = str_from(bytes, (size_t)(at - bytes.ptr));
		if (f->whole)
			return H1_WHOLE;
		if (!f->interim) {
			llhttp_resume(&f->parser);
			return H1_PAUSED;
		}
		bytes = *ret_rest;
		h1__answer_expect(f);
	}
}

/* An answer without a length ends with the connection; any other is cut off. */
bool
h1__answer_finish(struct h1_fetch *f)
{
	llhttp_finish(&f->parser);
	f->keep = false;
	return f->whole;
}
