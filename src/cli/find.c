/* find.c - directories and ids as people type them. */

#include "cli/find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define ENDING_LEAST 4 /* shorter ones hit the wrong thing too easily */

int
find_workspace(const struct args *a, struct path *ret)
{
	const char *given = args_value(a, "workspace");
	const char *dir = given ? given : ".";
	struct stat st;

	_Static_assert(sizeof(ret->text) >= 4096, "realpath writes PATH_MAX");
	if (!realpath(dir, ret->text) || stat(ret->text, &st) < 0)
		return usage_error(a, "the workspace %s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return usage_error(a, "the workspace %s is not a directory", dir);
	return EXIT_FINE;
}

static bool
is_meant(struct str id, struct str typed)
{
	return str_eq(id, typed) || (typed.len >= ENDING_LEAST && str_ends(id, typed));
}

int
find_row(struct api *api, const char *target, const char *list, const char *key, const char *typed,
	 struct reply *reply, const struct json **ret)
{
	struct str word = str_of(typed);
	int code = api_get(api, reply, "%s", target);

	*ret = NULL;
	if (code != EXIT_FINE)
		return code;
	for (struct json_iter it = json_iter(json_get(reply->root, str_of(list)));
	     json_next(&it);) {
		struct str id = member(it.value, key);
		if (!is_meant(id, word))
			continue;
		if (*ret && !str_eq(member(*ret, key), id)) {
			refuse("'%s' could be %.*s or %.*s: give more of it", typed,
			       STR_ARG(member(*ret, key)), STR_ARG(id));
			api_done(reply);
			return EXIT_USAGE;
		}
		*ret = it.value;
	}
	return EXIT_FINE;
}

int
find_session(struct api *api, const char *typed, char *ret, size_t size)
{
	const struct json *row;
	struct reply rows;
	int code = find_row(api, "/sessions?all=1&limit=1000", "sessions", "session_id", typed,
			    &rows, &row);

	if (code != EXIT_FINE)
		return code;
	if (row)
		snprintf(ret, size, "%.*s", STR_ARG(member(row, "session_id")));
	else
		snprintf(ret, size, "%s", typed);
	api_done(&rows);
	return EXIT_FINE;
}
