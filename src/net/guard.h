/*
 * guard.h - which addresses requests may go to that others have a say in.
 *
 * Asked with the address a connection is made to, at the moment it is made (fetch_spec.allows), so
 * that neither the way a number is written, nor a name that means another address the second time,
 * nor a redirect makes a difference. This machine, private and shared networks, link-local,
 * multicast and reserved ones are refused, also where they are wrapped in an IPv6 address, unless
 * they were let through: by their network, by the host's name, or altogether.
 */

#ifndef NET_GUARD_H
#define NET_GUARD_H

#include <sys/socket.h>

#include "base/err.h"

struct guard;

int guard_new(struct guard **ret, struct err *e); /* lets nothing through but the open network */
struct guard *guard_ref(struct guard *g);
void guard_unref(struct guard *g); /* takes NULL */

/*
 * Lets more through, before it is used: "10.1.0.0/16", "192.168.1.7", "[fd00::1]:8080",
 * "fd00::/8", "db.internal", "db.internal:5432", "*.corp.example". A host's name lets through
 * whatever it means when it is asked for by this name. E_VALIDATION, E_LIMIT, E_NOMEM.
 */
int guard_allow(struct guard *g, struct str what, struct err *e);
void guard_allow_private(struct guard *g); /* everything */
/* All that `from` lets through, too. */
int guard_allow_same(struct guard *g, const struct guard *from, struct err *e);

bool guard_same(const struct guard *a, const struct guard *b); /* written in the same order */

/* May a request for this host go there? host is as the address has it, without brackets. */
bool guard_lets(const struct guard *g, struct str host, const struct sockaddr *to);

/* Is it an address of the open network? For whoever has no guard. */
bool guard_is_public(const struct sockaddr *to);

#endif
