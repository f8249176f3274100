/* later.c - answers that come when a worker has looked, if the peer is still there then. */

#include <stdlib.h>

#include "front/visit.h"

/* A visit that waits for a worker. */
struct later {
	struct visit visit; /* http is NULL once the peer is gone */
};

static void
peer_gone(struct http_request *r)
{
	struct later *l = r->user;

	l->visit.http = NULL;
}

/* The front itself may be gone by now if the peer is: it is not touched then. */
void
later_answer(const struct err *e, struct buf *answer, void *arg)
{
	struct later l = *(struct later *)arg;

	free(arg);
	if (!l.visit.http)
		return;
	l.visit.http->gone = NULL;
	if (e->code < 0)
		reply_err(l.visit.http, e);
	else
		reply_json(l.visit.http, 200, answer);
}

struct later *
later_new(const struct visit *v)
{
	struct later *l = malloc(sizeof(*l));

	if (l)
		*l = (struct later){*v};
	else
		reply_code(v->http, E_NOMEM);
	return l;
}

/* After the gateway has taken it, or not. */
void
later_begun(const struct visit *v, struct later *l, int code, const struct err *e)
{
	if (code < 0) {
		free(l);
		reply_err(v->http, e);
		return;
	}
	v->http->user = l;
	v->http->gone = peer_gone;
}

struct str
query_text(const struct http_request *r, const char *name, struct buf *b)
{
	return http_query(r, name, b) && b->len ? buf_str(b) : (struct str){NULL, 0};
}
