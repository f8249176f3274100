/* route.c - the table of paths, matched segment by segment. */

#include "front/visit.h"

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

int
route_find(struct str method, struct str path, const struct route **ret, struct buf *allow)
{
	if (str_is(method, "HEAD"))
		method = S("GET");
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		/* All begin with a slash; the letter behind it tells most of them apart. */
		char first = routes[i].pattern[1];
		if (first != '{' && first != (path.len > 1 ? path.ptr[1] : '\0'))
			continue;
		if (!route_matches(routes[i].pattern, path))
			continue;
		if (str_is(method, routes[i].method)) {
			*ret = &routes[i];
			return 0;
		}
		buf_addf(allow, "%s%s", allow->len ? ", " : "", routes[i].method);
	}
	return allow->len ? E_METHOD : E_NO_ROUTE;
}
