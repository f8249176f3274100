/* guard.c - networks that are not everybody's, in all the ways an address can be wrapped. */

#include "net/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/limits.h"

/* An address of either kind in 16 bytes; those of IPv4 in the last four. */
struct address {
	unsigned char bytes[16];
	bool v4;
	uint16_t port;
};

struct network {
	unsigned char bytes[16];
	unsigned char bits; /* of what counts in an address of its kind */
	bool v4;
};

/* ---- what is closed ---- */

#define V4(a, b, c, d, n)                                                                          \
	{                                                                                          \
		{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d}, n, true                          \
	}
#define V6(n, ...)                                                                                 \
	{                                                                                          \
		{__VA_ARGS__}, n, false                                                            \
	}

/* RFC 6890 and its registries: nothing of these is reached over the open network. */
static const struct network closed[] = {
    V4(0, 0, 0, 0, 8),
    V4(10, 0, 0, 0, 8),
    V4(100, 64, 0, 0, 10),
    V4(127, 0, 0, 0, 8),
    V4(169, 254, 0, 0, 16),
    V4(172, 16, 0, 0, 12),
    V4(192, 0, 0, 0, 24),
    V4(192, 0, 2, 0, 24),
    V4(192, 88, 99, 0, 24),
    V4(192, 168, 0, 0, 16),
    V4(198, 18, 0, 0, 15),
    V4(198, 51, 100, 0, 24),
    V4(203, 0, 113, 0, 24),
    V4(224, 0, 0, 0, 4),
    V4(240, 0, 0, 0, 4),
    V6(32, 0x20, 0x01, 0, 0),       /* Teredo: the address inside is hidden */
    V6(28, 0x20, 0x01, 0, 0x10),    /* ORCHID */
    V6(28, 0x20, 0x01, 0, 0x20),    /* ORCHIDv2 */
    V6(32, 0x20, 0x01, 0x0d, 0xb8), /* documentation */
    V6(20, 0x3f, 0xff),             /* documentation */
};

/* All of IPv6 that is open so far: loopback, unique local, link-local, multicast are outside. */
static const struct network global = V6(3, 0x20);

/* Networks of IPv6 whose addresses have one of IPv4 in them, and where: that one counts. */
enum { WRAP_MAPPED, WRAP_NAT64 };

static const struct {
	struct network in;
	size_t at;
} wraps[] = {
    [WRAP_MAPPED] = {V6(96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff), 12}, /* ::ffff:0:0/96 */
    [WRAP_NAT64] = {V6(96, 0, 0x64, 0xff, 0x9b), 12},                       /* 64:ff9b::/96 */
    {V6(48, 0, 0x64, 0xff, 0x9b, 0, 1), 12},          /* 64:ff9b:1::/48: the same, local */
    {V6(96, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff), 12}, /* ::ffff:0:0:0/96: translated */
    {V6(16, 0x20, 0x02), 2},                          /* 2002::/16: 6to4 */
    {V6(96, 0), 12},                                  /* ::/96: of old */
};

static bool
network_has(const struct network *n, const struct address *a)
{
	const unsigned char *x = n->bytes + (n->v4 ? 12 : 0), *y = a->bytes + (a->v4 ? 12 : 0);
	unsigned whole = n->bits / 8, rest = n->bits % 8;

	if (n->v4 != a->v4 || memcmp(x, y, whole) != 0)
		return false;
	return rest == 0 || ((x[whole] ^ y[whole]) >> (8 - rest)) == 0;
}

static bool
is_closed(const struct address *a)
{
	for (size_t i = 0; i < ARRAY_LEN(closed); i++)
		if (network_has(&closed[i], a))
			return true;
	return !a->v4 && !network_has(&global, a);
}

/* False: it is no address of the internet at all. */
static bool
address_read(const struct sockaddr *from, struct address *ret)
{
	*ret = (struct address){.v4 = from->sa_family == AF_INET};
	if (ret->v4) {
		const struct sockaddr_in *v4 = (const void *)from;
		memcpy(ret->bytes + 12, &v4->sin_addr, 4);
		ret->port = ntohs(v4->sin_port);
	} else if (from->sa_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const void *)from;
		memcpy(ret->bytes, &v6->sin6_addr, 16);
		ret->port = ntohs(v6->sin6_port);
	} else {
		return false;
	}
	return true;
}

/* The address of IPv4 in one of IPv6. False: there is none. */
static bool
unwrap(const struct address *a, struct address *ret)
{
	for (size_t i = 0; !a->v4 && i < ARRAY_LEN(wraps); i++) {
		if (!network_has(&wraps[i].in, a))
			continue;
		*ret = (struct address){.v4 = true, .port = a->port};
		memcpy(ret->bytes + 12, a->bytes + wraps[i].at, 4);
		return true;
	}
	return false;
}

/* Mapped is the same thing, written longer; and who has only IPv6 needs the translator. Of the
 * others both addresses have to be open. */
static bool
is_public(const struct address *a)
{
	struct address inner;

	if (!unwrap(a, &inner))
		return !is_closed(a);
	bool same = network_has(&wraps[WRAP_MAPPED].in, a) || network_has(&wraps[WRAP_NAT64].in, a);
	return !is_closed(&inner) && (same || !is_closed(a));
}

bool
guard_is_public(const struct sockaddr *to)
{
	struct address a;

	return address_read(to, &a) && is_public(&a);
}

/* ---- what is let through ---- */

struct allowed {
	struct network network;
	char *host;    /* NULL: it is a network */
	uint16_t port; /* 0: every one */
};

struct guard {
	struct allowed *allowed;
	size_t count;
	bool everything;
	unsigned refs;
};

int
guard_new(struct guard **ret, struct err *e)
{
	struct guard *g = calloc(1, sizeof(*g));

	if (!g)
		return err_plain(e, E_NOMEM);
	g->refs = 1;
	*ret = g;
	return 0;
}

struct guard *
guard_ref(struct guard *g)
{
	g->refs++;
	return g;
}

void
guard_unref(struct guard *g)
{
	if (!g || --g->refs > 0)
		return;
	for (size_t i = 0; i < g->count; i++)
		free(g->allowed[i].host);
	free(g->allowed);
	free(g);
}

void
guard_allow_private(struct guard *g)
{
	g->everything = true;
}

static int
guard_add(struct guard *g, struct allowed *a, struct err *e)
{
	struct allowed *more = NULL;
	int code = E_LIMIT;

	if (g->count < LIMIT_GUARD_ALLOWED) {
		more = realloc(g->allowed, (g->count + 1) * sizeof(*more));
		code = E_NOMEM;
	}
	if (!more) {
		free(a->host);
		return err_plain(e, code);
	}
	g->allowed = more;
	g->allowed[g->count++] = *a;
	return 0;
}

int
guard_allow_same(struct guard *g, const struct guard *from, struct err *e)
{
	int code = 0;

	g->everything = g->everything || from->everything;
	for (size_t i = 0; code == 0 && i < from->count; i++) {
		struct allowed copy = from->allowed[i];
		if (copy.host && !(copy.host = strdup(copy.host)))
			return err_plain(e, E_NOMEM);
		code = guard_add(g, &copy, e);
	}
	return code;
}

bool
guard_same(const struct guard *a, const struct guard *b)
{
	if (a->everything != b->everything || a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct allowed *x = &a->allowed[i], *y = &b->allowed[i];
		if (x->port != y->port || x->network.bits != y->network.bits ||
		    x->network.v4 != y->network.v4 || !str_eq(str_of(x->host), str_of(y->host)) ||
		    memcmp(x->network.bytes, y->network.bytes, sizeof(x->network.bytes)) != 0)
			return false;
	}
	return true;
}

static bool
number_read(struct str text, struct network *ret)
{
	char z[INET6_ADDRSTRLEN + 1];
	struct in_addr v4;
	struct in6_addr v6;

	if (text.len == 0 || text.len >= sizeof(z))
		return false;
	memcpy(z, text.ptr, text.len);
	z[text.len] = '\0';
	*ret = (struct network){.bits = 128};
	if (inet_pton(AF_INET, z, &v4) == 1) {
		memcpy(ret->bytes + 12, &v4, 4);
		ret->v4 = true;
		ret->bits = 32;
	} else if (inet_pton(AF_INET6, z, &v6) == 1) {
		memcpy(ret->bytes, &v6, 16);
	} else {
		return false;
	}
	return true;
}

static bool
network_read(struct str text, struct network *ret)
{
	ptrdiff_t slash = str_index(text, '/');
	uint64_t bits;

	if (!number_read(slash < 0 ? text : str_upto(text, (size_t)slash), ret))
		return false;
	if (slash < 0)
		return true;
	if (!str_to_u64(str_from(text, (size_t)slash + 1), &bits) || bits > ret->bits)
		return false;
	ret->bits = (unsigned char)bits;
	return true;
}

/* Takes ":8080" off the end; a number of IPv6 has to be in brackets for that. */
static bool
port_take(struct str *text, uint16_t *ret)
{
	size_t at = text->len;
	uint64_t port;

	*ret = 0;
	while (at > 0 && text->ptr[at - 1] >= '0' && text->ptr[at - 1] <= '9')
		at--;
	bool one =
	    at > 0 && text->ptr[at - 1] == ':' && str_index(str_upto(*text, at - 1), ':') < 0;
	bool bracketed = at > 1 && text->ptr[at - 1] == ':' && text->ptr[at - 2] == ']';
	if (!one && !bracketed)
		return true;
	if (!str_to_u64(str_from(*text, at), &port) || port == 0 || port > UINT16_MAX)
		return false;
	*ret = (uint16_t)port;
	*text = str_upto(*text, at - 1);
	return true;
}

static bool
host_is_good(struct str host)
{
	struct str name = str_starts(host, S("*.")) ? str_from(host, 2) : host;

	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '.' && c != '_')
			return false;
	}
	return name.len > 0 && name.len <= LIMIT_DIAL_HOST;
}

int
guard_allow(struct guard *g, struct str what, struct err *e)
{
	struct str text = str_trim(what);
	struct allowed a = {.port = 0};
	bool good = port_take(&text, &a.port);

	if (text.len > 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']')
		text = str_from(str_upto(text, text.len - 1), 1);
	if (good && network_read(text, &a.network))
		return guard_add(g, &a, e);
	if (!good || !host_is_good(text))
		return err_set(e, E_VALIDATION,
			       "'%.*s' is neither a network (10.0.0.0/8) nor a host (db.internal, "
			       "db.internal:8080, *.internal)",
			       STR_ARG(str_utf8_upto(what, 100)));
	if (!(a.host = str_dup(text)))
		return err_plain(e, E_NOMEM);
	return guard_add(g, &a, e);
}

/* ---- asking ---- */

static bool
host_fits(const char *pattern, struct str host)
{
	struct str p = str_of(pattern);

	if (host.len && host.ptr[host.len - 1] == '.')
		host.len--;
	if (!str_starts(p, S("*.")))
		return str_eq_nocase(p, host);
	p = str_from(p, 1);
	return host.len > p.len && str_eq_nocase(str_from(host, host.len - p.len), p);
}

static bool
allowed_fits(const struct allowed *a, struct str host, const struct address *to,
	     const struct address *inner)
{
	if (a->port && a->port != to->port)
		return false;
	if (a->host)
		return host_fits(a->host, host);
	return network_has(&a->network, to) || (inner && network_has(&a->network, inner));
}

bool
guard_lets(const struct guard *g, struct str host, const struct sockaddr *to)
{
	struct address a, inner;

	if (!address_read(to, &a))
		return false;
	if (g->everything || is_public(&a))
		return true;
	/* Only the mapped form is the same place; a tunnel to an allowed one is not. */
	bool mapped = unwrap(&a, &inner) && network_has(&wraps[WRAP_MAPPED].in, &a);
	for (size_t i = 0; i < g->count; i++)
		if (allowed_fits(&g->allowed[i], host, &a, mapped ? &inner : NULL))
			return true;
	return false;
}
