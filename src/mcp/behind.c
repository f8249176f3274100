/* behind.c - what every inquiry has in common, and a way to speak to nobody. */

#include "mcp/behind.h"

/* ---- whoever is behind ---- */

void
behind_copy(struct behind *to, const struct behind *from, const struct behind_ops *ops)
{
	CHECK(ops->next);
	*to = (struct behind){.ops = ops, .log_level = MCP_LOG_NONE};
	if (!from)
		return;
	to->meta = from->meta;
	to->params = from->params;
	to->meta_doc = from->meta_doc ? json_doc_ref(from->meta_doc) : NULL;
	to->revision = from->revision;
}

void
behind_done(struct behind *b)
{
	json_doc_unref(b->meta_doc);
	*b = (struct behind){.log_level = MCP_LOG_NONE};
}

/* What was let go of is nobody too. */
static bool
is_there(const struct behind *b)
{
	return b && b->ops;
}

/* NULL: it is gone. */
static const struct behind *
client_of(const struct behind *b)
{
	while (is_there(b) && b->ops->next)
		b = b->ops->next(b);
	return is_there(b) ? b : NULL;
}

int
behind_log_level(const struct behind *b)
{
	const struct behind *client = client_of(b);

	return client ? client->log_level : MCP_LOG_NONE;
}

const struct json *
behind_capabilities(const struct behind *b)
{
	const struct behind *client = client_of(b);

	return client ? client->capabilities : NULL;
}

void
behind_begun(struct behind *b)
{
	if (is_there(b) && b->ops->begun)
		b->ops->begun(b);
}

void
behind_progress(struct behind *b, const struct json *params)
{
	if (is_there(b))
		b->ops->progress(b, params);
}

void
behind_message(struct behind *b, const struct json *params)
{
	/* A level that is none cannot be passed on: a client may end for it. */
	int level = mcp_log_level(json_str(json_get(params, S("level"))));

	if (is_there(b) && level >= 0 && level >= behind_log_level(b))
		b->ops->message(b, params);
}

unsigned
behind_can(const struct behind *b)
{
	return mcp_can(behind_capabilities(b));
}

static int
check_item(unsigned can, const struct inquiry_item *item, struct err *e)
{
	unsigned needs = mcp_needs(item->method, item->params);

	if (needs == 0)
		return err_set(e, E_UNAVAILABLE, "this is nothing that a client can be asked");
	if (needs & ~can)
		return err_set(e, E_UNAVAILABLE,
			       "the client has not declared what \"%.*s\" needs of it",
			       STR_ARG(item->method));
	return 0;
}

int
behind_ask(struct behind *b, struct inquiry *q, struct err *e)
{
	CHECK(q->count > 0 && q->settled && !q->at);
	if (!is_there(b))
		return err_set(e, E_UNAVAILABLE, "there is no client that could be asked");
	for (size_t i = 0; i < q->count; i++) {
		int rc = q->items[i].settled ? 0 : check_item(behind_can(b), &q->items[i], e);
		if (rc < 0)
			return rc;
	}
	int rc = b->ops->ask(b, q, e);
	CHECK((rc == 0) == (q->at != NULL));
	return rc;
}

/* ---- inquiries ---- */

static bool
is_settled(const struct inquiry *q)
{
	for (size_t i = 0; i < q->count; i++) {
		if (!q->items[i].settled)
			return false;
	}
	return true;
}

/* The item to be settled, or NULL when it is. */
static struct inquiry_item *
item_open(struct inquiry *q, size_t i)
{
	CHECK(i < q->count);
	return q->items[i].settled ? NULL : &q->items[i];
}

static void
settle(struct inquiry *q, struct inquiry_item *item)
{
	item->settled = true;
	if (!is_settled(q))
		return;
	q->at = NULL;
	q->settled(q); /* and q may be gone */
}

void
inquiry_answer(struct inquiry *q, size_t i, struct json_doc *doc, const struct json *answer)
{
	struct inquiry_item *item = item_open(q, i);

	CHECK(answer);
	if (!item)
		return;
	item->answer_doc = doc ? json_doc_ref(doc) : NULL;
	item->answer = answer;
	settle(q, item);
}

void
inquiry_refuse(struct inquiry *q, size_t i, const struct err *e)
{
	struct inquiry_item *item = item_open(q, i);

	if (!item)
		return;
	item->err = *e;
	settle(q, item);
}

struct inquiry_item *
inquiry_find(const struct inquiry *q, struct str key)
{
	for (size_t i = 0; i < q->count; i++) {
		if (str_eq(q->items[i].key, key))
			return &q->items[i];
	}
	return NULL;
}

void
inquiry_withdraw(struct inquiry *q)
{
	struct behind *holder = q->at;

	q->at = NULL;
	if (holder)
		holder->ops->unask(holder, q);
	for (size_t i = 0; i < q->count; i++) {
		json_doc_unref(q->items[i].answer_doc);
		q->items[i].answer_doc = NULL;
		q->items[i].answer = NULL;
	}
}
