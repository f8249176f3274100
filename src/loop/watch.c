/* watch.c - directories watched for one file in them. */

#include "loop/watch.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"

enum { BY_NAME, BY_LINK, EYES }; /* where the path says, and where it leads to */

struct eye {
	uv_fs_event_t handle;
	struct watch *watch;
	char dir[LIMIT_PATH]; /* what is watched; "": nothing */
	bool waits;           /* for a directory that is not there yet */
};

struct watch {
	struct loop *loop;
	struct eye eyes[EYES];
	struct timer quiet;
	unsigned quiet_ms;
	unsigned open; /* handles */
	void (*changed)(void *arg);
	void *arg;
	char path[LIMIT_PATH];
};

/* The directory a path is in; false: it has none. */
static bool
cut_name(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return false;
	slash[slash == path] = '\0';
	return true;
}

static const char *
name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void on_event(uv_fs_event_t *handle, const char *name, int events, int status);

static void
eye_shut(struct eye *eye)
{
	if (eye->dir[0])
		uv_fs_event_stop(&eye->handle);
	eye->dir[0] = '\0';
}

/* On the directory of the path, or the nearest above it that is there. */
static void
eye_open(struct eye *eye, const char *path)
{
	char dir[LIMIT_PATH];
	bool waits = false;

	memcpy(dir, path, strlen(path) + 1);
	while (cut_name(dir) && access(dir, X_OK) < 0 && strcmp(dir, "/") != 0)
		waits = true;
	if (eye->dir[0] && strcmp(dir, eye->dir) == 0 && !waits && !eye->waits)
		return;
	eye_shut(eye);
	eye->waits = waits;
	if (uv_fs_event_start(&eye->handle, on_event, dir, 0) == 0)
		memcpy(eye->dir, dir, sizeof(dir));
}

static void
look(struct watch *w)
{
	char real[PATH_MAX];

	eye_open(&w->eyes[BY_NAME], w->path);
	if (realpath(w->path, real) && strlen(real) < LIMIT_PATH && strcmp(real, w->path) != 0)
		eye_open(&w->eyes[BY_LINK], real);
	else
		eye_shut(&w->eyes[BY_LINK]);
}

static void
on_quiet(void *arg)
{
	struct watch *w = arg;

	look(w);
	w->changed(w->arg);
}

/* Of the directory the path names, only the file itself; where a link leads to, its name may be
 * another. A directory that goes away tells its own name, and is looked for anew. */
static void
on_event(uv_fs_event_t *handle, const char *name, int events, int status)
{
	struct eye *eye = handle->data;
	struct watch *w = eye->watch;
	bool itself = !name || strcmp(name, name_of(eye->dir)) == 0;

	(void)events;
	(void)status;
	if (eye == &w->eyes[BY_NAME] && !eye->waits && !itself &&
	    strcmp(name, name_of(w->path)) != 0)
		return;
	if (itself)
		eye_shut(eye);
	timer_start(w->loop, &w->quiet, w->quiet_ms, on_quiet, w);
}

static void
on_closed(uv_handle_t *handle)
{
	struct eye *eye = handle->data;

	if (--eye->watch->open == 0)
		free(eye->watch);
}

int
watch_new(struct loop *l, const char *path, unsigned quiet_ms, void (*changed)(void *arg),
	  void *arg, struct watch **ret, struct err *e)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w || strlen(path) >= sizeof(w->path)) {
		free(w);
		return err_plain(e, E_NOMEM);
	}
	*w = (struct watch){.loop = l, .quiet_ms = quiet_ms, .changed = changed, .arg = arg};
	memcpy(w->path, path, strlen(path) + 1);
	for (size_t i = 0; i < EYES; i++) {
		CHECK(uv_fs_event_init(loop_uv(l), &w->eyes[i].handle) == 0);
		w->eyes[i].handle.data = &w->eyes[i];
		w->eyes[i].watch = w;
		uv_unref((uv_handle_t *)&w->eyes[i].handle);
		w->open++;
	}
	look(w);
	*ret = w;
	return 0;
}

void
watch_free(struct watch *w)
{
	if (!w)
		return;
	timer_stop(w->loop, &w->quiet);
	for (size_t i = 0; i < EYES; i++)
		uv_close((uv_handle_t *)&w->eyes[i].handle, on_closed);
}
