/* servers.h - MCP servers as commands see them: naming one in a path, and waiting for them. */

#ifndef CLI_SERVERS_H
#define CLI_SERVERS_H

#include "cli/api.h"

#define COME_UP_MS 20000 /* commands wait so long for servers to come up */

/* A name as a segment of a path: '/' is ~1 and '~' is ~0 there, as the gateway reads it. */
void segment_add(struct buf *out, struct str name);

/* Is it known what it offers, or that it cannot be used? */
bool server_settled(const struct json *server);

/* Until all are settled, or (unless NULL) the named one has come up or failed; at most so long. The
 * last answer of GET /servers is in *ret; what is wrong was said otherwise. */
int servers_wait(struct api *api, const char *name, unsigned ms, struct reply *ret);
/* The same where the list itself does not matter. */
void servers_settle(struct api *api, unsigned ms);

/* Until there is such a tool, or no server is left that could bring it. */
void tool_await(struct api *api, const char *tool, unsigned ms);

/* In an answer of GET /servers; NULL = none. */
const struct json *server_in(const struct reply *servers, struct str name);

/* Says that there is none of this name, and what may be meant; EXIT_REFUSED. */
int server_refuse(const struct reply *servers, const char *name);

/* In the rows of GET /tools: the name that was probably meant; empty = none. */
struct str tool_near(const struct json *tools, const char *name);

/* "started, 11 tools" or its problem, on one line; safe to print. */
void server_text(struct buf *out, const struct json *server);

#endif
