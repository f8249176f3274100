/* mcp_stdio.c - MCP with a message on each line, over a connection that left HTTP. */

#include <stdlib.h>

#include "base/log.h"
#include "front/mcp.h"

#define PROTOCOL "mcp-stdio"

/* One client. */
struct line {
	struct mcp_client client;
	struct mcp_channel channel; /* of all its requests */
	struct wire *wire;          /* NULL once it is gone */
	struct node node;           /* in front->lines */
	struct session_end end;     /* of its session, from elsewhere */
	struct buf pending;         /* the beginning of a line */
	bool skipping;              /* the rest of one that was too long */
};

/* ---- out ---- */

static void
line_send(struct line *l, struct str message)
{
	struct buf b = BUF_INIT(message.len + 1);

	buf_add(&b, message);
	buf_addc(&b, '\n');
	/* A client that does not read is cut off by the wire. */
	if (l->wire && !buf_failed(&b))
		wire_write(l->wire, buf_str(&b));
	buf_done(&b);
}

static struct line *
line_of(const struct mcp_channel *ch)
{
	return CONTAINER_OF(ch, struct line, channel);
}

static bool
channel_note(struct mcp_channel *ch, struct str message)
{
	line_send(line_of(ch), message);
	return true;
}

/* No copy of a big result: there is room for the line's end behind it. */
static void
channel_answer(struct mcp_channel *ch, int status, struct buf *message)
{
	struct line *l = line_of(ch);

	(void)status;
	message->max++;
	buf_addc(message, '\n');
	if (l->wire && !buf_failed(message))
		wire_write(l->wire, buf_str(message));
	buf_done(message);
}

static void
channel_drop(struct mcp_channel *ch)
{
	(void)ch;
}

static bool
channel_from_tool(const struct mcp_channel *ch)
{
	return !line_of(ch)->client.may_answer;
}

static const struct mcp_channel_ops line_ops = {
    .note = channel_note,
    .answer = channel_answer,
    .drop = channel_drop,
    .from_tool = channel_from_tool,
};

static bool
line_tell(struct mcp_client *c, struct str message)
{
	line_send(CONTAINER_OF(c, struct line, client), message);
	return true;
}

static void
line_complain(struct line *l, const struct mcp_message *m, const struct mcp_fault *f)
{
	struct buf b = BUF_INIT(LIMIT_LINE_BYTES + LIMIT_PROBLEM_BYTES);

	mcp_write_fault(&b, m, f);
	if (!buf_failed(&b))
		line_send(l, buf_str(&b));
	buf_done(&b);
}

/* ---- in ---- */

static void
line_take_message(struct line *l, struct json_doc *doc)
{
	struct mcp_message m = {0};
	struct mcp_fault f;

	if (mcp_batch_fits(&l->client, json_root(doc)) &&
	    mcp_batch_take(&l->client, &l->channel, doc) == 0)
		return;
	int code = mcp_read(doc, &m, &f);
	if (code == 0 && m.rpc.kind == RPC_REQUEST && m.era == ERA_MODERN &&
	    (code = mcp_check_envelope(&m, &f)) == 0)
		code = mcp_check_version(&m, &f);
	if (code == 0)
		mcp_take(&l->client, &l->channel, &m);
	else if (m.rpc.kind == RPC_REQUEST) /* notes and answers are never answered */
		line_complain(l, &m, &f);
}

static void
line_take(struct line *l, struct str text)
{
	struct str message = str_trim(text);
	struct json_doc *doc = NULL;
	struct mcp_fault f = {0};

	if (!message.len)
		return;
	int code = json_parse(message, &json_door, &doc, &f.err);
	if (code < 0) {
		f.code = err_row(code)->rpc;
		line_complain(l, NULL, &f);
		return;
	}
	line_take_message(l, doc);
	json_doc_unref(doc);
}

/* The line goes on: keep its beginning, or give it up. */
static void
line_keep(struct line *l, struct str part)
{
	struct mcp_fault f;

	if (l->skipping)
		return;
	buf_add(&l->pending, part);
	if (!buf_failed(&l->pending))
		return;
	l->skipping = true;
	buf_done(&l->pending);
	MCP_FAULT(&f, RPC_INVALID, 0, "a message may have at most %zu bytes", LIMIT_LINE_BYTES);
	line_complain(l, NULL, &f);
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

/* ---- beginning and end ---- */

static void
line_freed(struct mcp_client *c)
{
	struct line *l = CONTAINER_OF(c, struct line, client);

	buf_done(&l->pending);
	free(l);
}

static void
closed(void *arg)
{
	struct line *l = arg;

	l->wire = NULL;
	list_remove(&l->node);
	list_remove(&l->end.node);
	mcp_client_done(&l->client);
}

/* Somebody has ended it, or its agent is no more. Nothing would work on this line: it ends too, and
 * the client begins anew as it does after any end. */
static void
session_ended(struct session_end *end)
{
	struct line *l = CONTAINER_OF(end, struct line, end);

	log_line(LOG_INFO, "a session was ended, and the line of its client is closed", "session",
		 l->client.session->id.text, "client", l->client.session->client, NULL);
	mcp_client_refuse(&l->client);
	wire_close(l->wire);
}

static int
wanted_surface(const struct visit *v, struct mcp_surface *ret, struct err *e)
{
	struct buf name = BUF_INIT(LIMIT_HTTP_FIELD);
	bool given = http_query(v->http, "surface", &name) && name.len;
	int code = mcp_surface_parse(v->front, given ? buf_str(&name) : S("gateway"), ret, e);

	buf_done(&name);
	return code;
}

static void
line_open(const struct visit *v, struct session *s)
{
	struct line *l = calloc(1, sizeof(*l));
	struct wire_spec spec = {.input = input, .closed = closed, .arg = l};
	struct mcp_surface surface;
	struct err e;

	/* Looked at before; but a server may have gone meanwhile. */
	int code = l ? wanted_surface(v, &surface, &e) : err_plain(&e, E_NOMEM);
	if (code < 0) {
		free(l);
		session_end(s);
		reply_err(v->http, &e);
		return;
	}
	s->attached = true;
	l->channel.ops = &line_ops;
	mcp_client_init(&l->client, v->front, s, &surface);
	l->client.may_answer = !access_from_tool(v->http);
	l->client.tell = line_tell;
	l->client.freed = line_freed;
	buf_init(&l->pending, LIMIT_LINE_BYTES);
	list_push(&v->front->lines, &l->node);
	l->wire = http_upgrade(v->http, PROTOCOL, &spec);
	l->end.ended = session_ended;
	list_push(&s->at_end, &l->end.node);
}

static int
wanted_owner(const struct visit *v, struct agent **ret, struct err *e)
{
	struct buf bufs[2] = {BUF_INIT(LIMIT_HTTP_FIELD), BUF_INIT(LIMIT_HTTP_FIELD)};
	struct str tenant, agent;
	int code = query_owner(v->http, "tenant", &bufs[0], &tenant, e);

	if (code == 0)
		code = query_owner(v->http, "agent", &bufs[1], &agent, e);
	if (code == 0)
		code = access_owner(v, tenant, agent, ret, e);
	buf_done(&bufs[0]);
	buf_done(&bufs[1]);
	return code;
}

void
route_mcp_attach(const struct visit *v)
{
	struct buf workspace = BUF_INIT(LIMIT_HTTP_FIELD), client = BUF_INIT(LIMIT_HTTP_FIELD);
	struct session_wish wish = {.client = S("mcp")};
	struct mcp_surface surface;
	struct err e;
	int code = 0;

	if (!str_is(v->http->method, "GET") ||
	    !str_eq_nocase(http_header(v->http, "upgrade"), S(PROTOCOL)))
		code =
		    err_set(&e, E_BAD_REQUEST, "the header Upgrade: " PROTOCOL " is needed here");
	else if (!http_query(v->http, "workspace", &workspace))
		code = err_set(&e, E_BAD_REQUEST, "workspace: is required");
	else if ((code = wanted_surface(v, &surface, &e)) == 0) {
		wish.workspace = buf_str(&workspace);
		if (http_query(v->http, "client", &client) && client.len)
			wish.client = buf_str(&client);
		code = wanted_owner(v, &wish.owner, &e);
		if (code == 0)
			code = session_begin(v, &wish, line_open, &e);
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
