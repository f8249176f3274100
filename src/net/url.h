/*
 * url.h - addresses of http and https taken apart, strictly: what could be read in two ways is
 * refused.
 *
 * For requests that others have a say in. No user, no password, no fragment, no blank, nothing
 * beyond ASCII; a host is a name or a number in brackets, a port is digits. Who connects (libcurl,
 * or we) reads such an address the same way.
 */

#ifndef NET_URL_H
#define NET_URL_H

#include "base/buf.h"
#include "base/err.h"

struct url {
	bool secure;          /* https */
	struct str authority; /* as it is written: host, or host:port */
	struct str host;      /* without brackets */
	uint16_t port;
	struct str path;  /* from the first '/' up to '?'; may be empty */
	struct str query; /* behind the '?'; {NULL,0}: none */
};

/* The parts point into text. E_VALIDATION says what is wrong with it; the text is not shown: there
 * may be a secret in it. */
int url_split(struct str text, struct url *ret, struct err *e);

bool url_same_origin(const struct url *a, const struct url *b);

/*
 * What `reference` (of a redirect) means at base: RFC 3986 section 5.2, without a fragment. out is
 * a whole address. E_VALIDATION.
 */
int url_resolve(const struct url *base, struct str reference, struct buf *out, struct err *e);

/* Percent-encodes all but letters, digits and "-._~"; and what is in `keep`. */
void url_encode(struct buf *out, struct str text, const char *keep);

#endif
