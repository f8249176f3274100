/* paths.c - reading the XDG variables. */

#include "base/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int
format(struct path *out, struct err *e, const char *dir, const char *rest)
{
	int n = snprintf(out->text, sizeof(out->text), "%s%s", dir, rest);

	if (n < 0 || (size_t)n >= sizeof(out->text))
		return err_set(e, E_CONFIG, "a path is too long: %.100s...", dir);
	return 0;
}

static int
xdg(struct path *out, const char *variable, const char *under_home, const char *rest, struct err *e)
{
	const char *dir = getenv(variable), *home = getenv("HOME");
	struct path base;
	int code;

	if (dir && dir[0] == '/')
		return format(out, e, dir, rest);
	if (!home || home[0] != '/')
		return err_set(e, E_CONFIG, "neither %s nor HOME is set to an absolute path",
			       variable);
	if ((code = format(&base, e, home, under_home)) < 0)
		return code;
	return format(out, e, base.text, rest);
}

int
path_config_dir(struct path *out, struct err *e)
{
	return xdg(out, "XDG_CONFIG_HOME", "/.config", "/holdfast", e);
}

int
path_config(struct path *out, struct err *e)
{
	return xdg(out, "XDG_CONFIG_HOME", "/.config", "/holdfast/config.yaml", e);
}

int
path_state(struct path *out, struct err *e)
{
	return xdg(out, "XDG_STATE_HOME", "/.local/state", "/holdfast", e);
}

int
path_in_state(struct path *out, const char *name, struct err *e)
{
	struct path dir;
	int code = xdg(&dir, "XDG_STATE_HOME", "/.local/state", "/holdfast/", e);

	return code < 0 ? code : format(out, e, dir.text, name);
}

/* Somebody else's directory under /tmp would let them stand between us and our clients. */
static int
check_private(const char *dir, struct err *e)
{
	struct stat st;

	if (lstat(dir, &st) < 0)
		return err_set(e, E_CONFIG, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return err_set(e, E_CONFIG, "%s is not a directory that only you can enter", dir);
	return 0;
}

int
path_socket(struct path *out, bool make, struct err *e)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct path dir;
	int code;

	if (runtime && runtime[0] == '/') {
		if (make && (code = path_make_dir(runtime, e)) < 0)
			return code;
		return format(out, e, runtime, "/holdfast.sock");
	}
	snprintf(dir.text, sizeof(dir.text), "/tmp/holdfast-%u", (unsigned)geteuid());
	if (make && (code = path_make_dir(dir.text, e)) < 0)
		return code;
	if (make && (code = check_private(dir.text, e)) < 0)
		return code;
	/* A client must not trust it either; where it is not there yet, connecting says so. */
	if (!make && access(dir.text, F_OK) == 0 && (code = check_private(dir.text, e)) < 0)
		return code;
	return format(out, e, dir.text, "/holdfast.sock");
}

int
path_make_dir(const char *path, struct err *e)
{
	struct path p;
	int code;

	if ((code = format(&p, e, path, "")) < 0)
		return code;
	for (char *at = p.text + 1;; at++) {
		if (*at != '/' && *at != '\0')
			continue;
		char was = *at;
		*at = '\0';
		if (mkdir(p.text, 0700) < 0 && errno != EEXIST)
			return err_set(e, E_CONFIG, "cannot make %s: %s", p.text, strerror(errno));
		*at = was;
		if (was == '\0')
			return 0;
	}
}
