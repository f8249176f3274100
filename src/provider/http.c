/*
 * http.c - a job is a request: sent once, led on where that is harmless, reported.
 *
 *	filled --> sent --> answered --> reported
 *	            ^          '- GET or HEAD, and it points elsewhere
 *	            '----------'
 *
 * Every address a connection goes to is asked about (net/guard.h), with the host of that very hop.
 * What was made for one origin - headers, cookies, keys - does not go to another.
 */

#include "provider/http.h"

#include <stdio.h>
#include <stdlib.h>

#include "provider/http_inside.h"

/* For the person who can. */
#define CLOSED ": it is private; tool_gateway.providers.http.allow lets it through"

struct http_provider {
	struct provider provider; /* what tools point to */
	struct loop *loop;
	struct fetcher *fetcher;
};

/* One request on its way. */
struct errand {
	struct job *job;
	struct fetch *fetch; /* NULL: none */
	struct http_request request;
	struct buf url;  /* of this hop */
	struct url at;   /* the same, taken apart */
	struct buf body; /* of the answer */
	struct buf type;
	struct buf onward; /* where it points to */
	unsigned hops;
	bool abroad; /* it has left the origin it was made for */
	unsigned retry_after_ms;
};

static struct http_plan *
plan_of(const struct job *j)
{
	return j->tool->provider_data;
}

/* ---- one hop ---- */

static bool
allows(const struct sockaddr *to, void *arg)
{
	const struct errand *r = arg;

	return guard_lets(plan_of(r->job)->guard, r->at.host, to);
}

/* In seconds; a date is as good as nothing, for the clocks may differ. */
static unsigned
retry_after_ms(struct str text)
{
	uint64_t seconds;

	if (!text.ptr || !str_to_u64(text, &seconds))
		return 0;
	return seconds > LIMIT_RETRY_AFTER_S ? LIMIT_RETRY_AFTER_S * 1000u
					     : (unsigned)seconds * 1000;
}

static void
on_head(struct fetch *f, int status, void *arg)
{
	struct errand *r = arg;

	(void)status;
	buf_reset(&r->body);
	buf_reset(&r->type);
	buf_reset(&r->onward);
	buf_add(&r->type, str_upto(fetch_header(f, "Content-Type"), 256));
	buf_add(&r->onward, fetch_header(f, "Location"));
	r->retry_after_ms = retry_after_ms(fetch_header(f, "Retry-After"));
}

static void
on_piece(struct fetch *f, struct str bytes, void *arg)
{
	struct errand *r = arg;

	(void)f;
	buf_add(&r->body, bytes);
}

static void on_over(struct fetch *f, int status, const struct err *e, void *arg);

/* Whatever the request says to its own origin; abroad, only what everybody may hear. */
static void
lines_of(const struct errand *r, const char **lines)
{
	static const char *const manners[] = {"Accept: */*",
					      "User-Agent: holdfast/" HOLDFAST_VERSION};

	if (!r->abroad) {
		http__request_lines(&r->request, lines);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(manners); i++)
		*lines++ = manners[i];
	*lines = NULL;
}

static int
hop(struct errand *r, struct err *e)
{
	struct http_provider *p =
	    CONTAINER_OF(r->job->tool->provider, struct http_provider, provider);
	const struct http_plan *plan = plan_of(r->job);
	const char *lines[LIMIT_HTTP_HEADERS + 1];
	const char *url = buf_z(&r->url); /* it may move, and what is taken apart has to stay */
	int code = url ? url_split(buf_str(&r->url), &r->at, e) : err_plain(e, E_NOMEM);

	if (code < 0)
		return code;
	lines_of(r, lines);
	struct fetch_spec spec = {
	    .method = plan->method,
	    .url = url,
	    .headers = lines,
	    .body = r->request.has_body ? buf_str(&r->request.body) : (struct str){NULL, 0},
	    .once = r->job->reversibility > REV_IDEMPOTENT,
	    .max_bytes = plan->max_bytes,
	    .allows = allows,
	    .head = on_head,
	    .piece = on_piece,
	    .over = on_over,
	    .arg = r,
	};
	return fetch_start(p->fetcher, &spec, &r->fetch, e);
}

/* ---- the end ---- */

static void
add_doubt(struct job *j)
{
	struct err *e = &j->out.err;
	size_t len = strlen(e->text);

	if (j->reversibility > REV_IDEMPOTENT && e->code != E_CANCELLED)
		snprintf(e->text + len, sizeof(e->text) - len, " (it may have been done)");
}

/* It did not come to an answer. */
static void
fail(struct errand *r, const struct err *e, bool sent, bool broke)
{
	struct output *o = &r->job->out;
	struct buf text = BUF_INIT(4 * sizeof(*e)); /* [redacted] may be longer */

	buf_addf(&text, "%.*s: %s%s", STR_ARG(str_utf8_upto(plan_of(r->job)->host, 100)),
		 err_text(e), e->code == E_PERMISSION && broke ? CLOSED : "");
	http__redact(plan_of(r->job), &text);
	err_set(&o->err, e->code, "%.*s", STR_ARG(buf_str(&text)));
	buf_reset(&text);
	buf_addz(&text, e->inside);
	http__redact(plan_of(r->job), &text);
	snprintf(o->err.inside, sizeof(o->err.inside), "%.*s", STR_ARG(buf_str(&text)));
	o->broke =
	    broke && (e->code == E_UNAVAILABLE || e->code == E_EXECUTION || e->code == E_LIMIT);
	o->never_left = !sent;
	o->unknown = sent;
	if (sent)
		add_doubt(r->job);
	buf_done(&text);
	job_report(r->job);
}

static void
answered(struct errand *r, int status, bool cut)
{
	struct job *j = r->job;
	http_reader *reader = plan_of(j)->reader ? plan_of(j)->reader : http_read;

	http__redact(plan_of(j), &r->body);
	http__redact(plan_of(j), &r->type);
	struct http_answer a = {
	    .status = status,
	    .type = buf_str(&r->type),
	    .body = buf_str(&r->body),
	    .retry_after_ms = r->retry_after_ms,
	    .cut = cut,
	};
	reader(j, &a);
	job_report(j);
}

/* ---- led on ---- */

static bool
leads_on(const struct errand *r, int status)
{
	const struct http_plan *p = plan_of(r->job);

	return p->looks && p->follows && r->onward.len &&
	       (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

/* A negative code: it is not followed, and why. */
static int
follow(struct errand *r, struct err *e)
{
	struct buf next = BUF_INIT(LIMIT_HTTP_TOOL_URL);
	struct url to;
	int code = url_resolve(&r->at, buf_str(&r->onward), &next, e);

	if (code == 0)
		code = url_split(buf_str(&next), &to, e);
	if (code == 0 && ++r->hops > LIMIT_HTTP_TOOL_HOPS)
		code = err_set(e, E_EXECUTION, "there are too many redirects");
	if (code == 0 && r->at.secure && !to.secure)
		code = err_set(e, E_PERMISSION, "it redirects from https to http");
	if (code < 0) {
		buf_done(&next);
		return code;
	}
	r->abroad = r->abroad || !url_same_origin(&r->at, &to);
	buf_done(&r->url);
	r->url = buf_take(&next);
	return hop(r, e);
}

static void
on_over(struct fetch *f, int status, const struct err *e, void *arg)
{
	struct errand *r = arg;
	struct err why = ERR_NONE;
	bool sent = fetch_sent(f);

	r->fetch = NULL;
	if (e->code == E_TOO_LARGE && status) {
		answered(r, status, true);
	} else if (e->code) {
		fail(r, e, sent, true);
	} else if (buf_failed(&r->body)) {
		err_plain(&why, E_NOMEM);
		fail(r, &why, true, false);
	} else if (!leads_on(r, status)) {
		answered(r, status, false);
	} else if (follow(r, &why) < 0) {
		fail(r, &why, true, false); /* it would point there again */
	}
}

/* ---- the provider ---- */

/* What would be sent, for the person who is asked. */
static void
preview(struct job *j, const struct http_request *r)
{
	struct buf line = BUF_INIT(2 * LIMIT_HTTP_TOOL_URL); /* [redacted] may be longer */

	buf_addf(&line, "%s ", plan_of(j)->method);
	buf_add(&line, buf_str(&r->url));
	http__redact(plan_of(j), &line);
	buf_add(&j->out.command, buf_str(&line));
	buf_done(&line);
}

static struct errand *
errand_new(struct job *j)
{
	struct errand *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->job = j;
	http__request_init(&r->request);
	r->url = BUF_INIT(LIMIT_HTTP_TOOL_URL);
	r->body = BUF_INIT(plan_of(j)->max_bytes + 64 * KIB);
	r->type = BUF_INIT(KIB);
	r->onward = BUF_INIT(LIMIT_HTTP_FIELD);
	j->instance = r;
	return r;
}

static int
begin(struct errand *r, struct err *e)
{
	struct job *j = r->job;
	bool effect = j->reversibility != REV_PURE && j->kind == JOB_RUN;
	struct str none = {NULL, 0};
	int code = http__request_fill(plan_of(j), j->input, effect ? j->context.effect_key : none,
				      &r->request, e);

	if (code < 0)
		return code;
	if (j->kind == JOB_PREVIEW) {
		preview(j, &r->request);
		job_report_soon(j);
		return 0;
	}
	buf_add(&r->url, buf_str(&r->request.url));
	return hop(r, e);
}

static void
provider_start(struct provider *p, struct job *j)
{
	struct errand *r = errand_new(j);
	struct err *e = &j->out.err;
	int code = r ? begin(r, e) : err_plain(e, E_NOMEM);

	(void)p;
	if (code == 0)
		return;
	j->out.never_left = true;
	j->out.broke = code == E_LIMIT;
	job_report_soon(j);
}

static void
provider_cancel(struct provider *p, struct job *j)
{
	struct errand *r = j->instance;

	(void)p;
	if (r && r->fetch)
		fetch_cancel(r->fetch);
}

static void
provider_done(struct provider *p, struct job *j)
{
	struct errand *r = j->instance;

	(void)p;
	CHECK(!r->fetch);
	http__request_done(&r->request);
	buf_done(&r->url);
	buf_done(&r->body);
	buf_done(&r->type);
	buf_done(&r->onward);
	free(r);
	j->instance = NULL;
}

int
http_provider_new(struct loop *l, struct http_provider **ret, struct err *e)
{
	struct http_provider *p = calloc(1, sizeof(*p));

	if (!p)
		return err_plain(e, E_NOMEM);
	p->provider = (struct provider){"http", provider_start, provider_cancel, provider_done};
	p->loop = l;
	int code = fetcher_new(l, &p->fetcher, e);
	if (code < 0)
		free(p);
	else
		*ret = p;
	return code;
}

void
http_provider_free(struct http_provider *p)
{
	if (!p)
		return;
	fetcher_free(p->fetcher);
	free(p);
}

int
http_fit(struct http_provider *p, struct tool *t, struct json_doc *doc, const struct json *config,
	 const struct http_settings *settings, const struct variables *vars, struct err *e)
{
	unsigned timeout_ms = 0;
	struct http_plan *plan;
	int code =
	    http__plan_new(doc, config, t->input_schema, settings, vars, &plan, &timeout_ms, e);

	if (code < 0)
		return code;
	t->provider = &p->provider;
	t->provider_data = plan;
	t->provider_free = http__plan_free;
	t->attempts = settings->attempts;
	t->timeout_ms = timeout_ms             ? timeout_ms
			: settings->timeout_ms ? settings->timeout_ms
					       : LIMIT_HTTP_TOOL_MS;
	return 0;
}

void
http_read_by(struct tool *t, http_reader *reader)
{
	((struct http_plan *)t->provider_data)->reader = reader;
}

bool
http_same(const struct tool *a, const struct tool *b)
{
	const struct http_plan *x = a->provider_data, *y = b->provider_data;
	struct sha256 one = x->seal, other = y->seal;
	unsigned char digests[2][SHA256_BYTES];

	sha256_end(&one, digests[0]);
	sha256_end(&other, digests[1]);
	return memcmp(digests[0], digests[1], SHA256_BYTES) == 0 && x->reader == y->reader &&
	       str_eq(x->host, y->host) && guard_same(x->guard, y->guard);
}
