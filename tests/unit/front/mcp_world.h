/*
 * mcp_world.h - an MCP client in a small world: a message goes in, its answer comes out.
 */

#ifndef TESTS_FRONT_MCP_WORLD_H
#define TESTS_FRONT_MCP_WORLD_H

#include "../call/world.h"
#include "front/mcp_offer.h"

struct peer {
	struct world *world;
	struct mcp_client client;
	struct mcp_channel channel;
	bool modern;
	bool here; /* the answer */
	int status;
	struct json_doc *answer; /* to the last request */
	struct buf text;         /* of it */
};

static inline bool
peer_note(struct mcp_channel *ch, struct str message)
{
	(void)ch;
	(void)message;
	return true;
}

static inline void
peer_answer(struct mcp_channel *ch, int status, struct buf *message)
{
	struct peer *p = CONTAINER_OF(ch, struct peer, channel);

	assert_false(p->here);
	p->here = true;
	p->status = status;
	buf_done(&p->text);
	p->text = buf_take(message);
}

static inline void
peer_drop(struct mcp_channel *ch)
{
	struct peer *p = CONTAINER_OF(ch, struct peer, channel);

	p->here = true;
	p->status = 0;
}

static inline bool
peer_from_tool(const struct mcp_channel *ch)
{
	(void)ch;
	return false;
}

static inline void
peer_freed(struct mcp_client *c)
{
	free(CONTAINER_OF(c, struct peer, client));
}

static inline struct peer *
peer_new(struct world *w, const char *surface, enum mcp_revision revision)
{
	static const struct mcp_channel_ops ops = {peer_note, peer_answer, peer_drop,
						   peer_from_tool};
	struct peer *p = calloc(1, sizeof(*p));
	struct mcp_surface on;
	char session[40];
	struct err e;

	assert_non_null(w->hf->front);
	if (mcp_surface_parse(w->hf->front, str_of(surface), &on, &e) < 0)
		fail_msg("%s", err_text(&e));
	assert_int_equal(hf_session_open(w->hf, w->workspace, false, session), 0);
	p->world = w;
	p->client.freed = peer_freed;
	p->channel.ops = &ops;
	p->modern = revision == MCP_2026_07_28;
	mcp_client_init(&p->client, w->hf->front, session_find(w->hf->sessions, str_of(session)),
			&on);
	if (!p->modern)
		p->client.revision = revision;
	return p;
}

static inline void
peer_free(struct peer *p)
{
	json_doc_unref(p->answer);
	buf_done(&p->text);
	mcp_client_done(&p->client);
}

/* The answer's result or error. params: members, or "". */
static inline const struct json *
peer_ask(struct peer *p, const char *method, const char *params)
{
	static const char envelope[] =
	    "\"_meta\":{\"" META_VERSION "\":\"" MCP_MODERN "\",\"" META_CAPABILITIES "\":{}}";
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES);
	struct mcp_message m = {0};
	struct mcp_fault fault;
	struct json_doc *doc;
	struct err e;

	buf_addf(&text, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s%s%s}}",
		 method, params, p->modern && *params ? "," : "", p->modern ? envelope : "");
	if (json_parse(buf_str(&text), &json_door, &doc, &e) < 0)
		fail_msg("%s: %s", buf_z(&text), err_text(&e));
	buf_done(&text);
	if (mcp_read(doc, &m, &fault) < 0)
		fail_msg("%s", err_text(&fault.err));
	p->here = false;
	p->channel.request = NULL;
	mcp_take(&p->client, &p->channel, &m);
	json_doc_unref(doc);
	UNTIL(p->world, p->here);
	world_turn(p->world); /* and the events of it */
	json_doc_unref(p->answer);
	assert_int_equal(json_parse(buf_str(&p->text), &json_door, &p->answer, &e), 0);
	const struct json *root = json_root(p->answer), *result = json_get(root, S("result"));
	return result ? result : json_get(root, S("error"));
}

static inline const struct json *
peer_call(struct peer *p, const char *name, const char *arguments)
{
	struct buf b = BUF_INIT(64 * KIB);

	buf_addf(&b, "\"name\":\"%s\",\"arguments\":%s", name, arguments);
	const struct json *result = peer_ask(p, "tools/call", buf_z(&b));
	buf_done(&b);
	return result;
}

/* The first block's text. */
static inline struct str
text_of_result(const struct json *result)
{
	return json_str(json_get(json_at(json_get(result, S("content")), 0), S("text")));
}

static inline int64_t
code_of(const struct json *error)
{
	int64_t code = 0;

	json_int(json_get(error, S("code")), &code);
	return code;
}

/* "a b c": the names of a list. */
static inline const char *
names_of(const struct json *list, const char *field)
{
	static char names[4096];
	size_t len = 0;

	names[0] = '\0';
	for (struct json_iter it = json_iter(list); json_next(&it);) {
		struct str name = json_str(json_get(it.value, str_of(field)));
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%.*s", len ? " " : "",
					STR_ARG(name));
		assert_true(len < sizeof(names));
	}
	return names;
}

#endif
