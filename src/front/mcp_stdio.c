/* mcp_stdio.c - MCP with a message on each line, over a connection that left HTTP. */

#include <stdlib.h>

#include "front/mcp.h"
#include "front/visit.h"

#define PROTOCOL "mcp-stdio"

/* One client. */
struct line {
	struct mcp mcp;
	struct wire *wire;
	struct node node;   /* in front->lines */
	struct buf pending; /* the beginning of a line */
	bool skipping;      /* the rest of one that was too long */
};

static void
line_send(struct mcp *m, struct str message)
{
	struct line *l = CONTAINER_OF(m, struct line, mcp);
	struct buf b = BUF_INIT(message.len + 1);

	buf_add(&b, message);
	buf_addc(&b, '\n');
	/* A client that does not read is cut off by the wire. */
	if (!buf_failed(&b))
		wire_write(l->wire, buf_str(&b));
	buf_done(&b);
}

static void
line_take(struct line *l, struct str text)
{
	struct str message = str_trim(text);

	if (message.len)
		mcp_take(&l->mcp, message);
}

/* The line goes on: keep its beginning, or give it up. */
static void
line_keep(struct line *l, struct str part)
{
	struct err e;

	if (l->skipping)
		return;
	buf_add(&l->pending, part);
	if (!buf_failed(&l->pending))
		return;
	l->skipping = true;
	buf_done(&l->pending);
	err_set(&e, E_TOO_LARGE, "a message may have at most %zu bytes", LIMIT_LINE_BYTES);
	mcp_complain(&l->mcp, &e);
}

static void
line_end(struct line *l, struct str part)
{
	if (l->pending.len == 0 && !l->skipping && part.len <= LIMIT_LINE_BYTES) {
		line_take(l, part); /* whole, as nearly always */
		return;
	}
	line_keep(l, part);
	if (!l->skipping)
		line_take(l, buf_str(&l->pending));
	l->skipping = false;
	buf_done(&l->pending);
}

static void
input(struct wire *w, struct str bytes, void *arg)
{
	struct line *l = arg;

	(void)w;
	for (ptrdiff_t end; (end = str_index(bytes, '\n')) >= 0;) {
		line_end(l, str_upto(bytes, (size_t)end));
		bytes = str_from(bytes, (size_t)end + 1);
	}
	if (bytes.len)
		line_keep(l, bytes);
}

static void
closed(void *arg)
{
	struct line *l = arg;

	list_remove(&l->node);
	mcp_done(&l->mcp);
	buf_done(&l->pending);
	free(l);
}

static void
line_open(const struct visit *v, struct session *s)
{
	struct line *l = calloc(1, sizeof(*l));
	struct wire_spec spec = {.input = input, .closed = closed, .arg = l};

	if (!l) {
		session_end(s);
		reply_code(v->http, E_NOMEM);
		return;
	}
	s->attached = true;
	mcp_init(&l->mcp, v->front->gw, s, line_send);
	buf_init(&l->pending, LIMIT_LINE_BYTES);
	list_push(&v->front->lines, &l->node);
	l->wire = http_upgrade(v->http, PROTOCOL, &spec);
}

void
route_mcp_attach(const struct visit *v)
{
	struct buf workspace = BUF_INIT(LIMIT_HTTP_FIELD), client = BUF_INIT(LIMIT_HTTP_FIELD);
	struct err e;
	int code = 0;

	if (!str_is(v->http->method, "GET") ||
	    !str_eq_nocase(http_header(v->http, "upgrade"), S(PROTOCOL)))
		code =
		    err_set(&e, E_BAD_REQUEST, "the header Upgrade: " PROTOCOL " is needed here");
	else if (!http_query(v->http, "workspace", &workspace))
		code = err_set(&e, E_BAD_REQUEST, "workspace: is required");
	else {
		bool named = http_query(v->http, "client", &client) && client.len;
		code = session_begin(v, buf_str(&workspace), (struct str){NULL, 0},
				     named ? buf_str(&client) : S("mcp"), line_open, &e);
	}
	if (code < 0)
		reply_err(v->http, &e);
	buf_done(&workspace);
	buf_done(&client);
}

void
lines_end(struct front *f)
{
	LIST_EACH (&f->lines, at)
		wire_close(CONTAINER_OF(at, struct line, node)->wire);
}
