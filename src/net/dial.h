/*
 * dial.h - from a host's name to a connected socket: all its addresses, one after the other.
 *
 * The next address is tried when one has failed, and beside it when it has not answered for a
 * moment (RFC 8305); the first to answer wins. Numbers and localhost are not looked up. A look-up
 * that nobody waits for any more is left to itself. For src/net alone.
 */

#ifndef NET_DIAL_H
#define NET_DIAL_H

#include <netinet/in.h>

#include "base/err.h"
#include "loop/loop.h"

union dial_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct dial;

struct dial_spec {
	struct str host; /* read at once; without the brackets of IPv6 */
	uint16_t port;
	unsigned connect_ms;                                  /* for all of it */
	bool (*allows)(const struct sockaddr *to, void *arg); /* NULL: anywhere */
	void *allows_arg;
	/* Once, unless it is cancelled; the dial is gone. fd is the callee's now. */
	void (*connected)(int fd, const union dial_address *peer, void *arg);
	/* E_UNAVAILABLE, or E_PERMISSION when `allows` said no to any. */
	void (*failed)(const struct err *e, void *arg);
	void *arg;
};
/* E_NOMEM, E_UNAVAILABLE. Nothing is called inside. */
int dial_start(struct loop *l, const struct dial_spec *spec, struct dial **ret, struct err *e);
void dial_cancel(struct dial *d); /* gone, and nothing is called; takes NULL */

#endif
