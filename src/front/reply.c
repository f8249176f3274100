/* reply.c - answers in JSON, errors from the one table, and query parameters. */

#include <stdio.h>

#include "base/log.h"
#include "front/visit.h"

static const char type_json[] = "application/json";

void
reply_problem(struct http_request *r, const struct err *e, struct str details, const char *extra)
{
	const struct err_row *row = err_row(e->code);
	struct buf body = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&body);

	if (row->http >= 500 && e->inside[0])
		log_line(LOG_ERROR, "a request failed inside", "error", err_text(e), "inside",
			 e->inside, NULL);
	jw_object(&w);
	jw_key(&w, "error");
	jw_object(&w);
	jw_member_z(&w, "code", row->word);
	jw_member_z(&w, "message", err_text(e));
	if (e->retry_after_ms)
		jw_member_int(&w, "retry_after", (e->retry_after_ms + 999) / 1000);
	jw_key(&w, "details");
	jw_raw(&w, details);
	jw_end(&w);
	jw_end(&w);
	buf_addc(&body, '\n');
	http_reply_take(r, row->http, type_json, &body, extra);
}

void
reply_err(struct http_request *r, const struct err *e)
{
	char later[40];

	snprintf(later, sizeof(later), "Retry-After: %u\r\n", (e->retry_after_ms + 999) / 1000);
	reply_problem(r, e, S("{}"), e->retry_after_ms ? later : NULL);
}

void
reply_code(struct http_request *r, int code)
{
	struct err e;

	err_plain(&e, code);
	reply_err(r, &e);
}

void
reply_json(struct http_request *r, int status, struct buf *body)
{
	buf_addc(body, '\n');
	if (!buf_failed(body)) {
		http_reply_take(r, status, type_json, body, NULL);
		return;
	}
	struct err e;
	err_set(&e, E_SYSTEM, "the answer is larger than the limit");
	buf_done(body);
	reply_err(r, &e);
}

bool
query_flag(const struct http_request *r, const char *name)
{
	struct buf b = BUF_INIT(LIMIT_HTTP_FIELD);
	bool yes =
	    http_query(r, name, &b) && (str_is(buf_str(&b), "1") || str_is(buf_str(&b), "true"));

	buf_done(&b);
	return yes;
}

int
query_owner(const struct http_request *r, const char *name, struct buf *b, struct str *ret,
	    struct err *e)
{
	*ret = (struct str){NULL, 0};
	if (http_query(r, name, b))
		*ret = buf_str(b);
	return buf_failed(b) ? err_plain(e, E_NOMEM) : 0;
}

int
query_number(const struct http_request *r, const char *name, size_t max, size_t *ret, struct err *e)
{
	struct buf b = BUF_INIT(LIMIT_HTTP_FIELD);
	uint64_t n = *ret;
	bool bad = http_query(r, name, &b) && !str_to_u64(buf_str(&b), &n);

	buf_done(&b);
	if (bad || n < 1 || n > max)
		return err_set(e, E_BAD_REQUEST, "%s: must be a number from 1 to %zu", name, max);
	*ret = (size_t)n;
	return 0;
}
