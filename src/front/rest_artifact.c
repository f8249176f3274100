/* rest_artifact.c - kept results: their bytes, what is known of them, and parts by a selector. */

#include <stdio.h>
#include <stdlib.h>

#include "artifact/view.h"
#include "front/visit.h"

/* A visit that waits for the disk; read on a worker. */
struct fetch {
	struct visit visit; /* http is NULL once the peer is gone */
	struct artifacts *artifacts;
	char tenant[LIMIT_OWNER_NAME + 1]; /* whose it is: ?tenant=NAME */
	char handle[64];
	struct json_doc *selector;
	size_t offset, limit; /* of bytes */
	struct work work;

	int (*read)(struct fetch *f, struct artifact_reader *r); /* there */
	void (*answer)(struct fetch *f);                         /* here */
	struct artifact about;
	struct buf body;
	struct err err;
};

static void
fetch_free(struct fetch *f)
{
	json_doc_unref(f->selector);
	buf_done(&f->body);
	free(f);
}

static void
fetch_there(void *arg)
{
	struct fetch *f = arg;
	struct artifact_reader *r = NULL;

	if (artifact_open(f->artifacts, str_of(f->tenant), str_of(f->handle), &r, &f->err) < 0)
		return;
	f->about = *artifact_about(r);
	f->read(f, r);
	artifact_close(r);
}

static void
fetch_done(void *arg)
{
	struct fetch *f = arg;

	if (f->visit.http) {
		f->visit.http->gone = NULL;
		if (f->err.code < 0)
			reply_err(f->visit.http, &f->err);
		else
			f->answer(f);
	}
	fetch_free(f);
}

static void
peer_gone(struct http_request *r)
{
	struct fetch *f = r->user;

	f->visit.http = NULL;
}

static struct fetch *
fetch_new(const struct visit *v)
{
	struct fetch *f = calloc(1, sizeof(*f));
	struct str handle = visit_param(v, "handle");
	struct buf b = BUF_INIT(LIMIT_HTTP_FIELD);
	struct str tenant;

	if (!f) {
		reply_code(v->http, E_NOMEM);
		return NULL;
	}
	f->visit = *v;
	f->artifacts = v->front->gw->artifacts;
	f->body = BUF_INIT(LIMIT_ARTIFACT_PAGE);
	/* One that is too long is none, and stays none when it is cut. */
	snprintf(f->handle, sizeof(f->handle), "%.*s", STR_ARG(handle));
	if (query_owner(v->http, "tenant", &b, &tenant, &f->err) == 0 && tenant.ptr &&
	    !owner_name_fits(tenant))
		err_set(&f->err, E_NO_TENANT, "there is no tenant '%.*s'",
			STR_ARG(str_utf8_upto(tenant, 80)));
	if (f->err.code == 0)
		snprintf(f->tenant, sizeof(f->tenant), "%.*s",
			 STR_ARG(tenant.ptr ? tenant : ARTIFACT_TENANT));
	buf_done(&b);
	return f;
}

static void
fetch_start(struct fetch *f)
{
	struct http_request *http = f->visit.http;

	if (f->err.code == 0 &&
	    work_start(f->visit.front->gw->loop, &f->work, fetch_there, fetch_done, f) == 0) {
		http->user = f;
		http->gone = peer_gone;
		return;
	}
	if (f->err.code == 0)
		err_plain(&f->err, E_SYSTEM);
	reply_err(http, &f->err);
	fetch_free(f);
}

/* ---- bytes ---- */

static int
read_bytes(struct fetch *f, struct artifact_reader *r)
{
	size_t left = f->offset < f->about.bytes ? (size_t)f->about.bytes - f->offset : 0;
	size_t wanted = left < f->limit ? left : f->limit;
	char *room = wanted ? buf_room(&f->body, wanted) : NULL;

	if (wanted && !room)
		return err_plain(&f->err, E_NOMEM);
	while (f->body.len < wanted) {
		ptrdiff_t n = artifact_read(r, f->offset + f->body.len, room + f->body.len,
					    wanted - f->body.len);
		if (n <= 0)
			return err_plain(&f->err, E_STORE);
		f->body.len += (size_t)n;
	}
	return 0;
}

/* Whatever it is, it is no page of ours: a browser is to save it, not to show it. */
static void
answer_bytes(struct fetch *f)
{
	bool whole = f->body.len == f->about.bytes;
	char extra[160] = "Content-Disposition: attachment\r\n";
	size_t len = strlen(extra);

	if (!whole && f->body.len)
		snprintf(extra + len, sizeof(extra) - len, "Content-Range: bytes %zu-%zu/%llu\r\n",
			 f->offset, f->offset + f->body.len - 1,
			 (unsigned long long)f->about.bytes);
	http_reply_take(f->visit.http, whole || !f->body.len ? 200 : 206,
			"application/octet-stream", &f->body, extra);
}

static int
read_offset(const struct http_request *r, size_t *ret, struct err *e)
{
	struct buf b = BUF_INIT(LIMIT_HTTP_FIELD);
	uint64_t n = 0;
	bool bad = http_query(r, "offset", &b) && !str_to_u64(buf_str(&b), &n);

	buf_done(&b);
	*ret = (size_t)n;
	return bad ? err_set(e, E_BAD_REQUEST, "offset: must be a number") : 0;
}

void
route_artifact_bytes(const struct visit *v)
{
	struct fetch *f = fetch_new(v);

	if (!f)
		return;
	f->read = read_bytes;
	f->answer = answer_bytes;
	f->limit = LIMIT_ARTIFACT_PAGE;
	if (read_offset(v->http, &f->offset, &f->err) == 0)
		query_number(v->http, "limit", LIMIT_ARTIFACT_PAGE, &f->limit, &f->err);
	fetch_start(f);
}

/* ---- what is known ---- */

static int
read_about(struct fetch *f, struct artifact_reader *r)
{
	struct jw w = jw(&f->body);

	(void)r;
	artifact_write(&w, &f->about);
	return 0;
}

static void
answer_json(struct fetch *f)
{
	reply_json(f->visit.http, 200, &f->body);
}

void
route_artifact_about(const struct visit *v)
{
	struct fetch *f = fetch_new(v);

	if (!f)
		return;
	f->read = read_about;
	f->answer = answer_json;
	fetch_start(f);
}

/* ---- parts ---- */

static int
read_view(struct fetch *f, struct artifact_reader *r)
{
	struct jw w = jw(&f->body);
	struct view view = {0};
	int code = view_select(r, json_root(f->selector), LIMIT_VIEW_BYTES, &view, &f->err);

	if (code == 0)
		view_write(&w, &view, &f->about);
	view_done(&view);
	return code;
}

void
route_artifact_view(const struct visit *v)
{
	struct fetch *f = fetch_new(v);

	if (!f)
		return;
	f->read = read_view;
	f->answer = answer_json;
	body_parse(v->http, &f->selector, &f->err);
	fetch_start(f);
}
