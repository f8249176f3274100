/* route.c - the table of paths, matched segment by segment. */

#include "front/visit.h"

#include <pthread.h>

static const struct route routes[] = {
#define ROUTE(method, pattern, handler, access, sentence)                                          \
	{#method, pattern, route_##handler, ACCESS_##access},
#include "../../tbl/routes.def"
#undef ROUTE
};

/* Takes "/segment" off the front. */
static bool
segment(struct str *rest, struct str *ret)
{
	if (rest->len == 0 || rest->ptr[0] != '/')
		return false;
	*rest = str_from(*rest, 1);
	ptrdiff_t end = str_index(*rest, '/');
	*ret = end < 0 ? *rest : str_upto(*rest, (size_t)end);
	*rest = str_from(*rest, ret->len);
	return true;
}

static bool
is_param(struct str part)
{
	return part.len > 2 && part.ptr[0] == '{';
}

bool
route_matches(const char *pattern, struct str path)
{
	struct str rest = str_of(pattern), part, given;

	while (segment(&rest, &part)) {
		if (!segment(&path, &given))
			return false;
		if (is_param(part) ? given.len == 0 : !str_eq(part, given))
			return false;
	}
	return path.len == 0;
}

struct str
route_param(const char *pattern, struct str path, const char *name)
{
	struct str rest = str_of(pattern), part, given;

	while (segment(&rest, &part) && segment(&path, &given))
		if (is_param(part) && str_is(str_upto(str_from(part, 1), part.len - 2), name))
			return given;
	return (struct str){NULL, 0};
}

/*
 * Rows whose first segment is of one length and begins with the same letter stand in a chain, in
 * the order of the table; no pattern begins with a parameter. In a chain most are told apart by how
 * far they are the same for all.
 */
#define CHAINS 64
#define NO_ROW UINT8_MAX
static uint8_t chains[CHAINS];
static struct chained {
	uint8_t next; /* row, or NO_ROW */
	bool whole;   /* the pattern has no parameters */
	size_t fixed; /* bytes of it before the first */
} links[ARRAY_LEN(routes)];
_Static_assert(ARRAY_LEN(routes) < NO_ROW, "a row is a byte");

static uint8_t *
chain_of(struct str path)
{
	struct str first = S("");

	(void)segment(&path, &first);
	return &chains[(first.len * 5 + (first.len ? (unsigned char)first.ptr[0] : 0)) % CHAINS];
}

static void
chains_fill(void)
{
	memset(chains, NO_ROW, sizeof(chains));
	for (size_t i = ARRAY_LEN(routes); i-- > 0;) {
		const char *pattern = routes[i].pattern;
		uint8_t *chain = chain_of(str_of(pattern));
		size_t fixed = strcspn(pattern, "{");
		links[i] = (struct chained){*chain, pattern[fixed] == '\0', fixed};
		*chain = (uint8_t)i;
	}
}

static bool
row_matches(size_t i, struct str path)
{
	const struct chained *k = &links[i];

	if (k->whole ? path.len != k->fixed : path.len < k->fixed)
		return false;
	return memcmp(routes[i].pattern, path.ptr, k->fixed) == 0 &&
	       (k->whole || route_matches(routes[i].pattern, path));
}

int
route_find(struct str method, struct str path, const struct route **ret, struct buf *allow)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, chains_fill);
	if (str_is(method, "HEAD"))
		method = S("GET");
	for (size_t i = path.ptr ? *chain_of(path) : NO_ROW; i != NO_ROW; i = links[i].next) {
		if (!row_matches(i, path))
			continue;
		if (str_is(method, routes[i].method)) {
			*ret = &routes[i];
			return 0;
		}
		buf_addf(allow, "%s%s", allow->len ? ", " : "", routes[i].method);
	}
	return allow->len ? E_METHOD : E_NO_ROUTE;
}
