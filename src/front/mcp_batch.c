/*
 * mcp_batch.c - several messages in one, of a client whose revision has that (2025-03-26).
 *
 *	[request, note, request] --> each by itself --> [answer, answer] with the last of them
 *
 * What comes before an answer, progress or a question, goes out at once. Answers that are too long
 * for one line together go in several: each has its id.
 */

#include <stdlib.h>

#include "front/mcp.h"

struct batch {
	struct mcp_channel *to;
	struct buf answers; /* "[...", without its end */
	size_t open;        /* requests without an answer, and who takes them */
	struct part {
		struct mcp_channel channel;
		struct batch *batch;
	} parts[];
};

static struct batch *
batch_of(const struct mcp_channel *ch)
{
	return CONTAINER_OF(ch, struct part, channel)->batch;
}

/* ---- answers ---- */

static void
answers_send(struct batch *b)
{
	struct buf whole = b->answers;

	b->answers = BUF_INIT(LIMIT_LINE_BYTES);
	if (whole.len == 0)
		return;
	whole.max++; /* for its end */
	buf_addc(&whole, ']');
	b->to->ops->answer(b->to, 200, &whole);
}

/* Takes the message. One that could not be written is not sent, as with one answer alone. */
static void
answers_add(struct batch *b, struct buf *message)
{
	if (buf_failed(message)) {
		buf_done(message);
		return;
	}
	if (b->answers.len && b->answers.len + message->len + 1 > LIMIT_LINE_BYTES)
		answers_send(b);
	if (b->answers.len == 0)
		b->answers.max =
		    message->len + 2 > LIMIT_LINE_BYTES ? message->len + 2 : LIMIT_LINE_BYTES;
	buf_addc(&b->answers, b->answers.len ? ',' : '[');
	buf_add(&b->answers, buf_str(message));
	buf_done(message);
}

static void
batch_unref(struct batch *b)
{
	if (--b->open > 0)
		return;
	if (buf_failed(&b->answers))
		buf_done(&b->answers); /* the same */
	else
		answers_send(b);
	free(b);
}

/* ---- as the channel of each ---- */

static bool
part_note(struct mcp_channel *ch, struct str message)
{
	struct mcp_channel *to = batch_of(ch)->to;

	return to->ops->note(to, message);
}

static void
part_answer(struct mcp_channel *ch, int status, struct buf *message)
{
	struct batch *b = batch_of(ch);

	(void)status;
	answers_add(b, message);
	batch_unref(b);
}

static void
part_drop(struct mcp_channel *ch)
{
	batch_unref(batch_of(ch));
}

static bool
part_from_tool(const struct mcp_channel *ch)
{
	const struct mcp_channel *to = batch_of(ch)->to;

	return to->ops->from_tool(to);
}

static const struct mcp_channel_ops part_ops = {
    .note = part_note,
    .answer = part_answer,
    .drop = part_drop,
    .from_tool = part_from_tool,
};

/* ---- in ---- */

static int
message_read(struct json_doc *doc, const struct json *value, struct mcp_message *m,
	     struct mcp_fault *f)
{
	int code = mcp_read_value(doc, value, m, f);

	if (code == 0 && m->era == ERA_MODERN)
		return MCP_FAULT(f, RPC_INVALID, 400, "a modern request comes alone");
	if (code == 0 && m->rpc.kind == RPC_REQUEST && str_is(m->rpc.method, "initialize"))
		return MCP_FAULT(f, RPC_INVALID, 400, "initialize comes alone");
	return code;
}

static void
part_take(struct mcp_client *c, struct batch *b, struct part *p, struct json_doc *doc,
	  const struct json *value)
{
	struct buf text = BUF_INIT(LIMIT_LINE_BYTES + LIMIT_PROBLEM_BYTES);
	struct mcp_message m = {0};
	struct mcp_fault f;

	*p = (struct part){.channel.ops = &part_ops, .batch = b};
	int code = message_read(doc, value, &m, &f);
	bool answered = m.rpc.kind == RPC_REQUEST; /* notes and answers never are */
	if (code == 0) {
		b->open += answered;
		mcp_take(c, &p->channel, &m);
	} else if (answered) {
		mcp_write_fault(&text, &m, &f);
		answers_add(b, &text);
	}
}

bool
mcp_batch_fits(const struct mcp_client *c, const struct json *batch)
{
	size_t count = json_len(batch);

	return json_is(batch, JSON_ARRAY) && c->revision != MCP_UNKNOWN &&
	       c->revision < MCP_2025_06_18 && count > 0 && count <= LIMIT_MCP_BATCH;
}

int
mcp_batch_take(struct mcp_client *c, struct mcp_channel *to, struct json_doc *doc)
{
	const struct json *batch = json_root(doc);
	struct batch *b = calloc(1, sizeof(*b) + json_len(batch) * sizeof(b->parts[0]));
	struct part *p = b ? b->parts : NULL;

	if (!b)
		return E_NOMEM;
	b->to = to;
	b->answers = BUF_INIT(LIMIT_LINE_BYTES);
	b->open = 1;
	for (struct json_iter it = json_iter(batch); json_next(&it);)
		part_take(c, b, p++, doc, it.value);
	batch_unref(b);
	return 0;
}
