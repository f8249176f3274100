/* snapshot.c - what the files of a workspace look like from outside. */

#include "workspace/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "workspace/resolve.h"

struct seen {
	uint32_t path, len; /* in names */
	mode_t mode;
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed, written;
	bool paired; /* has another name now */
};

struct snapshot {
	struct seen *files; /* by path */
	size_t count, room;
	struct buf names;
};

/* The walk: where it is, and what it has found. */
struct walk {
	struct workspace *ws;
	const _Atomic _Bool *stop;
	struct snapshot *found;
	char path[LIMIT_PATH];
	struct err *err;
};

static struct str
path_of(const struct snapshot *s, const struct seen *f)
{
	return (struct str){s->names.ptr + f->path, f->len};
}

static int
seen_add(struct walk *w, const struct stat *st)
{
	struct snapshot *s = w->found;
	size_t len = strlen(w->path);

	if (s->count == LIMIT_TRACKED_FILES)
		return err_set(w->err, E_LIMIT, "more than %d files: too many to compare",
			       LIMIT_TRACKED_FILES);
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 256;
		struct seen *more = realloc(s->files, room * sizeof(*more));
		if (!more)
			return err_plain(w->err, E_NOMEM);
		s->files = more;
		s->room = room;
	}
	s->files[s->count++] = (struct seen){
	    .path = (uint32_t)s->names.len,
	    .len = (uint32_t)len,
	    .mode = st->st_mode,
	    .dev = st->st_dev,
	    .ino = st->st_ino,
	    .size = st->st_size,
	    .changed = st->st_ctim,
	    .written = st->st_mtim,
	};
	buf_add(&s->names, (struct str){w->path, len});
	return buf_failed(&s->names) ? err_plain(w->err, E_NOMEM) : 0;
}

/* Not for us to look at, or only noise: git's objects are written once and named by content. */
static bool
is_left_out(const struct walk *w, int fd)
{
	struct str path = str_of(w->path);

	return str_is(path, ".git/objects") || str_ends(path, S("/.git/objects")) ||
	       (w->ws->shut_count > 0 && workspace__closed(w->ws, fd, NULL, path, NULL) < 0);
}

static int walk_dir(struct walk *w, int fd, unsigned depth);

/* What goes away meanwhile is not there; what cannot be opened is not ours to compare. */
static int
walk_entry(struct walk *w, int dir, const char *name, unsigned depth)
{
	size_t at = strlen(w->path), len = strlen(name);
	struct stat st;
	int code = 0;

	if (at + 1 + len >= sizeof(w->path) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (at)
		w->path[at] = '/';
	memcpy(w->path + at + (at > 0), name, len + 1);
	if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) {
		code = seen_add(w, &st);
	} else if (S_ISDIR(st.st_mode) && depth < LIMIT_TRACKED_DEPTH) {
		int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			code = walk_dir(w, fd, depth + 1);
	}
	w->path[at] = '\0';
	return code;
}

static bool
is_ordinary(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       !str_starts(str_of(name), S(WORKSPACE_TEMP));
}

/* Takes the descriptor. */
static int
walk_dir(struct walk *w, int fd, unsigned depth)
{
	DIR *dir = is_left_out(w, fd) ? NULL : fdopendir(fd);
	const struct dirent *d;
	int code = 0;

	if (!dir) {
		close(fd);
		return 0;
	}
	while (code == 0 && (d = readdir(dir))) {
		if (w->stop && atomic_load(w->stop))
			code = err_plain(w->err, E_CANCELLED);
		else if (is_ordinary(d->d_name))
			code = walk_entry(w, dirfd(dir), d->d_name, depth);
	}
	closedir(dir);
	return code;
}

static int
seen_order(const void *a, const void *b, void *names)
{
	const struct snapshot *s = names;

	return str_cmp(path_of(s, a), path_of(s, b));
}

int
snapshot_take(struct workspace *ws, const _Atomic _Bool *stop, struct snapshot **ret, struct err *e)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct walk w = {.ws = ws, .stop = stop, .found = s, .err = e};

	if (!s)
		return err_plain(e, E_NOMEM);
	buf_init(&s->names, (size_t)64 * MIB);
	int fd = workspace__openat(ws, ".", O_RDONLY | O_DIRECTORY);
	int code = fd < 0 ? err_errno(e, E_SYSTEM, -fd, "workspace") : walk_dir(&w, fd, 0);
	if (code < 0) {
		snapshot_free(s);
		return code;
	}
	if (s->count)
		qsort_r(s->files, s->count, sizeof(*s->files), seen_order, s);
	*ret = s;
	return 0;
}

void
snapshot_free(struct snapshot *s)
{
	if (!s)
		return;
	buf_done(&s->names);
	free(s->files);
	free(s);
}

/* ---- comparing ---- */

static bool
same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool
is_same(const struct seen *a, const struct seen *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mode == b->mode &&
	       same_time(a->written, b->written) && same_time(a->changed, b->changed);
}

/* An inode may be used again for another file; its size and time of writing are then others. */
static bool
is_moved(const struct seen *a, const struct seen *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       same_time(a->written, b->written);
}

/* Files that are in one of both alone; pointers into it. */
struct leftover {
	struct seen **files;
	size_t count;
};

static void
tell(const struct snapshot *s, const struct seen *f, enum change_kind kind, struct str old,
     void (*each)(const struct file_change *ch, void *arg), void *arg)
{
	each(&(struct file_change){.kind = kind,
				   .path = path_of(s, f),
				   .old = old,
				   .before = -1,
				   .mode = f->mode & 0777,
				   .after = {NULL, kind == CHANGE_DELETED ? 0 : (size_t)f->size}},
	     arg);
}

static int
inode_order(const void *a, const void *b)
{
	const struct seen *x = *(const struct seen *const *)a, *y = *(const struct seen *const *)b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* One with the same inode that has no partner yet. */
static struct seen *
partner(const struct leftover *in, struct seen *of)
{
	struct seen **at =
	    in->count ? bsearch(&of, in->files, in->count, sizeof(*in->files), inode_order) : NULL;

	return at && !(*at)->paired && is_moved(*at, of) ? *at : NULL;
}

static void
tell_leftover(const struct snapshot *before, struct leftover *gone, const struct snapshot *after,
	      struct leftover *come, void (*each)(const struct file_change *ch, void *arg),
	      void *arg)
{
	if (gone->count)
		qsort(gone->files, gone->count, sizeof(*gone->files), inode_order);
	for (size_t i = 0; i < come->count; i++) {
		struct seen *to = come->files[i], *from = partner(gone, to);
		if (from)
			from->paired = true;
		tell(after, to, from ? CHANGE_RENAMED : CHANGE_CREATED,
		     from ? path_of(before, from) : (struct str){NULL, 0}, each, arg);
	}
	for (size_t i = 0; i < gone->count; i++)
		if (!gone->files[i]->paired)
			tell(before, gone->files[i], CHANGE_DELETED, (struct str){NULL, 0}, each,
			     arg);
}

void
snapshot_compare(const struct snapshot *before, const struct snapshot *after,
		 void (*each)(const struct file_change *ch, void *arg), void *arg)
{
	struct leftover gone = {calloc(before->count + 1, sizeof(*gone.files)), 0};
	struct leftover come = {calloc(after->count + 1, sizeof(*come.files)), 0};

	for (size_t i = 0, k = 0;
	     gone.files && come.files && (i < before->count || k < after->count);) {
		struct seen *old = i < before->count ? &before->files[i] : NULL;
		struct seen *new = k < after->count ? &after->files[k] : NULL;
		int order = !old   ? 1
			    : !new ? -1
				   : str_cmp(path_of(before, old), path_of(after, new));
		if (order == 0 && !is_same(old, new))
			tell(after, new, CHANGE_MODIFIED, (struct str){NULL, 0}, each, arg);
		if (order < 0)
			gone.files[gone.count++] = old;
		if (order > 0)
			come.files[come.count++] = new;
		i += order <= 0;
		k += order >= 0;
	}
	tell_leftover(before, &gone, after, &come, each, arg);
	free(gone.files);
	free(come.files);
}
