/*
 * client.h - a blocking HTTP/1.1 client for the command line.
 *
 * One request at a time on a connection of its own: a Unix socket, or one end of a
 * socket pair to a gateway in this process. A Unix socket the gateway has closed between
 * two requests is connected again. An exchange ends with E_TIMEOUT after LIMIT_EXCHANGE_MS;
 * signals do not interrupt it. Any failure in the middle of an exchange leaves the
 * connection unusable, and says so on the next one where it cannot be made anew.
 */

#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include "base/buf.h"
#include "base/err.h"

struct client;

int client_connect_unix(const char *path, struct client **ret, struct err *e);
int client_adopt(int fd, struct client **ret, struct err *e); /* consumes fd */
void client_free(struct client *c);                           /* takes NULL */
int client_fd(const struct client *c);                        /* to poll */

/* A whole exchange. body {NULL,0} sends none. E_TOO_LARGE past the buffer's maximum. */
int client_request(struct client *c, const char *method, const char *target, struct str body,
		   int *ret_status, struct buf *ret_body, struct err *e);

/*
 * An event stream. client_events starts it (status 200, or the error body in *problem);
 * client_event gives the next event within timeout_ms (-1: for ever): 1 an event, 0 none yet,
 * negative: ended or broken. Interrupted by a signal: 0. Strings are valid until the next call.
 */
struct client_event {
	struct str id;
	struct str type; /* "message" when not given */
	struct str text;
};
int client_events(struct client *c, const char *target, int *ret_status, struct buf *problem,
		  struct err *e);
int client_event(struct client *c, int timeout_ms, struct client_event *ret, struct err *e);

/* Ask for another protocol; on 101 the descriptor is the caller's, with `early` read past it.
 * Any other answer is an error. */
int client_upgrade(struct client *c, const char *target, const char *protocol, int *ret_fd,
		   struct buf *early, struct err *e);

#endif
