/* environ.c - PATH and HOME for children, made safe. */

#include "loop/environ.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"

const char *
environ_path(struct arena *a)
{
	static const char *const usual[] = {"/usr/local/bin", "/usr/bin", "/bin"};
	struct buf path = BUF_INIT(ENVIRON_VALUE_MAX);
	struct str rest = str_of(getenv("PATH")), dir;
	bool seen[ARRAY_LEN(usual)] = {false};

	while (str_split(&rest, ':', &dir)) {
		if (dir.len == 0 || dir.ptr[0] != '/' || path.len + dir.len + 64 > path.max)
			continue;
		buf_addf(&path, "%s%.*s", path.len ? ":" : "", STR_ARG(dir));
		for (size_t i = 0; i < ARRAY_LEN(usual); i++)
			seen[i] = seen[i] || str_is(dir, usual[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if (!seen[i])
			buf_addf(&path, "%s%s", path.len ? ":" : "", usual[i]);
	const char *out = buf_failed(&path) ? NULL : arena_strz(a, buf_str(&path));
	buf_done(&path);
	return out;
}

const char *
environ_home(void)
{
	const char *home = getenv("HOME");

	if (home && home[0] == '/')
		return home;
	const struct passwd *pw = getpwuid(getuid());
	return pw && pw->pw_dir ? pw->pw_dir : "/";
}
