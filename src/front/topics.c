/* topics.c - a short list of names, each with the server it belongs to. */

#include "front/topics.h"

#include <stdlib.h>
#include <string.h>

static size_t
topic_bytes(struct str server, struct str name)
{
	return sizeof(struct topic) + server.len + name.len;
}

void
topics_init(struct topics *ts)
{
	list_init(&ts->list);
	ts->bytes = 0;
}

int
topics_add(struct topics *ts, struct str server, struct str name, struct err *e)
{
	size_t bytes = topic_bytes(server, name);

	if (bytes > LIMIT_MCP_URIS - ts->bytes)
		return err_set(e, E_LIMIT, "no room for more to listen to");
	struct topic *t = calloc(1, bytes);
	if (!t)
		return err_plain(e, E_NOMEM);
	memcpy(t->text, server.ptr, server.len);
	memcpy(t->text + server.len, name.ptr, name.len);
	t->server = (struct str){t->text, server.len};
	t->name = (struct str){t->text + server.len, name.len};
	ts->bytes += bytes;
	list_push(&ts->list, &t->node);
	return 0;
}

void
topics_remove(struct topics *ts, struct topic *t)
{
	ts->bytes -= topic_bytes(t->server, t->name);
	list_remove(&t->node);
	free(t);
}

struct topic *
topics_find(const struct topics *ts, struct str server, struct str name)
{
	LIST_EACH (&ts->list, n) {
		struct topic *t = topic_of(n);
		if (str_eq(t->name, name) && (!server.ptr || str_eq(t->server, server)))
			return t;
	}
	return NULL;
}

void
topics_done(struct topics *ts)
{
	while (ts->list.len > 0)
		topics_remove(ts, topic_of(list_first(&ts->list)));
}
