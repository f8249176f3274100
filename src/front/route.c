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

/* How far a pattern is the same for all; that tells most of them apart. */
static struct fixed {
	size_t len;
	bool whole; /* it has no parameters */
} fixed[ARRAY_LEN(routes)];

static void
fixed_fill(void)
{
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		fixed[i].len = strcspn(routes[i].pattern, "{");
		fixed[i].whole = routes[i].pattern[fixed[i].len] == '\0';
	}
}

static bool
row_matches(size_t i, struct str path)
{
	if (fixed[i].whole ? path.len != fixed[i].len : path.len < fixed[i].len)
		return false;
	return memcmp(routes[i].pattern, path.ptr, fixed[i].len) == 0 &&
	       (fixed[i].whole || route_matches(routes[i].pattern, path));
}

int
route_find(struct str method, struct str path, const struct route **ret, struct buf *allow)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fixed_fill);
	if (str_is(method, "HEAD"))
		method = S("GET");
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		if (!path.ptr || !row_matches(i, path))
			continue;
		if (str_is(method, routes[i].method)) {
			*ret = &routes[i];
			return 0;
		}
		buf_addf(allow, "%s%s", allow->len ? ", " : "", routes[i].method);
	}
	return allow->len ? E_METHOD : E_NO_ROUTE;
}
