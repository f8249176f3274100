/*
 * place.c - replacing a file in one step.
 *
 * The new content goes to a temporary file in the same directory and is renamed over the
 * old one, on a directory descriptor that was resolved beneath the root. A name swapped for
 * a link meanwhile is itself replaced; nothing is ever written through it.
 *
 * A file with more than one hard link may have its other name outside the root. The rename
 * breaks the link: the file here gets the new content, the outside name keeps the old.
 * So there is no writing in place, not even for appending.
 */

#include "workspace/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/ulid.h"

#define LINKS_MAX 40 /* the kernel's own number */

/* Read, change, rename is one step for others in this process: a lock per place, by its hash. */
static pthread_mutex_t locks[64] = {[0 ... 63] = PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t *
lock_of(int dir, const char *name)
{
	struct stat st = {0};
	uint64_t hash = str_hash(str_of(name));

	if (fstat(dir, &st) == 0)
		hash ^= (uint64_t)st.st_ino * 31 + (uint64_t)st.st_dev;
	return &locks[hash % ARRAY_LEN(locks)];
}

static bool
has_dotdot(const char *rel)
{
	struct str rest = str_of(rel), part;

	while (str_split(&rest, '/', &part))
		if (str_is(part, ".."))
			return true;
	return false;
}

static int
dir_openat(const struct workspace *ws, const char *rel)
{
	return workspace__openat(ws, rel, O_RDONLY | O_DIRECTORY);
}

/*
 * Open "a", "a/b", "a/b/c" one after the other and make what is missing in the directory
 * held. With ".." behind a missing part that would leave directories nobody asked for.
 */
static int
parents_make(const struct workspace *ws, char *dir, const struct route *r, struct err *e)
{
	int fd = has_dotdot(dir) ? -ENOENT : dir_openat(ws, ".");

	for (char *part = dir, *end; fd >= 0 && part; part = end) {
		end = strchr(part, '/');
		if (end)
			*end = '\0';
		int next = dir_openat(ws, dir);
		if (next == -ENOENT) {
			int rc = workspace__closed(ws, fd, part, r->shown, e);
			if (rc < 0) {
				close(fd);
				return rc;
			}
			/* EEXIST: somebody was faster, or a link to nothing; opening decides. */
			bool made = mkdirat(fd, part, 0777) == 0 || errno == EEXIST;
			next = made ? dir_openat(ws, dir) : -errno;
		}
		close(fd);
		fd = next;
		if (end)
			*end++ = '/';
	}
	return fd >= 0 ? fd : workspace__fail(e, -fd, r);
}

int
workspace__parent(struct workspace *ws, struct route *r, bool make_parents, int *ret_dir,
		  char name[static NAME_MAX + 1], struct err *e)
{
	char *slash = strrchr(r->rel, '/');
	const char *last = slash ? slash + 1 : r->rel;
	char dir[LIMIT_PATH];
	int rc;

	if (!*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
		return workspace__fail(e, workspace__climbs_out(r->rel) ? EXDEV : EISDIR, r);
	if (strlen(last) > NAME_MAX)
		return workspace__fail(e, ENAMETOOLONG, r);
	memcpy(name, last, strlen(last) + 1);
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - r->rel) : 1, slash ? r->rel : ".");
	int fd = dir_openat(ws, dir);
	if (fd == -ENOENT && (rc = workspace__absent(ws, r, e)) < 0)
		return rc;
	if (fd == -ENOENT && make_parents && (fd = parents_make(ws, dir, r, e)) < 0)
		return fd;
	if (fd < 0)
		return workspace__fail(e, -fd, r);
	rc = workspace__closed(ws, fd, name, r->shown, e);
	if (rc < 0)
		close(fd);
	else
		*ret_dir = fd;
	return rc;
}

/* The link's text takes the place of the last part; the kernel judges the whole again. */
static int
link_follow(struct route *r, struct str target, struct err *e)
{
	char *slash = strrchr(r->rel, '/');
	size_t keep = slash ? (size_t)(slash - r->rel) + 1 : 0;

	if (target.len == 0 || target.ptr[0] == '/')
		return workspace__escapes(e, r->shown);
	if (keep + target.len >= sizeof(r->rel))
		return workspace__fail(e, ENAMETOOLONG, r);
	memcpy(r->rel + keep, target.ptr, target.len);
	r->rel[keep + target.len] = '\0';
	return 0;
}

/* Leaves a directory and a name in it that was no link when looked at. */
static int
place_find(struct workspace *ws, struct route *r, bool make_parents, struct place *p,
	   bool *ret_linked, struct err *e)
{
	char target[LIMIT_PATH];

	for (int i = 0; i < LINKS_MAX; i++) {
		/* Behind a link nothing is made: a dangling one leads nowhere. */
		int rc = workspace__parent(ws, r, make_parents && i == 0, &p->dir, p->name, e);
		if (rc < 0)
			return rc;
		ssize_t n = readlinkat(p->dir, p->name, target, sizeof(target));
		if (n < 0) {
			*ret_linked = i > 0;
			return 0;
		}
		close(p->dir);
		rc = link_follow(r, (struct str){target, (size_t)n}, e);
		if (rc < 0)
			return rc;
	}
	return workspace__fail(e, ELOOP, r);
}

/* Where the directory lies beneath the root, and the parts below it. */
static int
target_write(const struct workspace *ws, int dir, const char *below, struct str shown,
	     struct buf *out, struct err *e)
{
	char root[LIMIT_PATH], where[LIMIT_PATH], path[2 * LIMIT_PATH];
	const char *slash = "";
	struct str part;

	/* Both as they are called now: the root may have been moved since it was opened. */
	if (workspace__location(ws->fd, root, sizeof(root)) < 0 ||
	    workspace__location(dir, where, sizeof(where)) < 0)
		return workspace__refuse(e, E_PERMISSION, "its place cannot be told", shown);
	if (!workspace__lies_in(where, root))
		return workspace__escapes(e, shown);
	snprintf(path, sizeof(path), "%s/%s", where + strlen(root), below);
	for (struct str rest = str_of(path); str_split(&rest, '/', &part);) {
		if (part.len == 0 || str_is(part, "."))
			continue;
		buf_addf(out, "%s%.*s", slash, STR_ARG(part));
		slash = "/";
	}
	return buf_failed(out) ? err_plain(e, E_NOMEM) : 0;
}

/* And would be made: not with "..", see parents_make. */
static bool
parents_missing(const struct workspace *ws, const struct route *r)
{
	char dir[LIMIT_PATH];
	const char *slash = strrchr(r->rel, '/');

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - r->rel) : 1, slash ? r->rel : ".");
	int fd = dir_openat(ws, dir);
	if (fd >= 0)
		close(fd);
	return fd == -ENOENT && !has_dotdot(dir);
}

/* The parents are not all there: the path goes on below the deepest that is. */
static int
target_below(const struct workspace *ws, const struct route *r, struct buf *out, struct err *e)
{
	char there[LIMIT_PATH];

	snprintf(there, sizeof(there), "%s", r->rel);
	int fd = workspace__deepest(ws, there);
	if (fd < 0)
		return workspace__fail(e, -fd, r);
	int rc = target_write(ws, fd, r->rel + strlen(there), r->shown, out, e);
	close(fd);
	return rc;
}

int
workspace_target(struct workspace *ws, struct str path, struct buf *out, struct err *e)
{
	struct place p;
	struct route r;
	bool linked = false;
	int rc = workspace__route(ws, path, &r, e);

	if (rc < 0)
		return rc;
	if (parents_missing(ws, &r))
		return target_below(ws, &r, out, e);
	rc = place_find(ws, &r, false, &p, &linked, e);
	if (rc < 0)
		return rc;
	rc = target_write(ws, p.dir, p.name, path, out, e);
	close(p.dir);
	return rc;
}

static int
place_look(struct place *p, const struct route *r, bool linked, struct err *e)
{
	p->there = fstatat(p->dir, p->name, &p->st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!p->there && errno != ENOENT)
		return workspace__fail(e, errno, r);
	if (!p->there && linked)
		return workspace__refuse(e, E_EXECUTION, "a link to nothing", p->shown);
	if (!p->there)
		return 0;
	if (S_ISDIR(p->st.st_mode))
		return workspace__fail(e, EISDIR, r);
	if (!S_ISREG(p->st.st_mode))
		return workspace__refuse(e, E_EXECUTION, "not a regular file", p->shown);
	return 0;
}

int
workspace__place(struct workspace *ws, struct str path, bool make_parents, struct place *ret,
		 struct err *e)
{
	struct route r;
	bool linked = false;
	int rc = workspace__route(ws, path, &r, e);

	if (rc < 0)
		return rc;
	*ret = (struct place){.ws = ws, .dir = -1, .shown = path};
	rc = place_find(ws, &r, make_parents, ret, &linked, e);
	if (rc < 0)
		return rc;
	ret->lock = lock_of(ret->dir, ret->name);
	pthread_mutex_lock(ret->lock);
	rc = place_look(ret, &r, linked, e);
	if (rc < 0)
		workspace__leave(ret);
	return rc;
}

void
workspace__leave(struct place *p)
{
	close(p->dir);
	pthread_mutex_unlock(p->lock);
}

int
workspace__place_read(const struct place *p, struct buf *out, struct err *e)
{
	if (!p->there)
		return workspace__refuse(e, E_EXECUTION, "no such file", p->shown);
	int fd = openat(p->dir, p->name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return workspace__refuse(e, E_EXECUTION, "cannot be read", p->shown);
	int rc = workspace__slurp(fd, p->shown, out, e);
	close(fd);
	return rc;
}

/* ---- whoever watches ---- */

/* What is about to happen to a place, for as long as it does. */
struct notice {
	struct witness *witness; /* or NULL: then nothing here costs anything */
	bool heard;              /* and lets it be done */
	struct file_change change;
	struct buf path;
};

/* Opened through the held directory and not through a link: what is shown is what is replaced. */
static int
present_open(const struct place *p)
{
	if (!p->there || !S_ISREG(p->st.st_mode))
		return -1;
	return openat(p->dir, p->name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
}

/* Negative: it must not be done. notice_end follows in any case. */
static int
notice_begin(struct notice *n, struct witness *w, const struct place *p, enum change_kind kind,
	     struct str after, struct err *e)
{
	*n = (struct notice){.witness = w, .change = {.kind = kind, .before = -1, .after = after}};
	if (!w)
		return 0;
	buf_init(&n->path, 2 * LIMIT_PATH);
	int rc = target_write(p->ws, p->dir, p->name, p->shown, &n->path, e);
	if (rc < 0)
		return rc;
	n->change.path = buf_str(&n->path);
	n->change.before = present_open(p);
	n->change.mode = p->there ? p->st.st_mode & 0777 : 0;
	rc = w->about(w, &n->change, e);
	n->heard = rc == 0;
	return rc;
}

static void
notice_end(struct notice *n, bool made)
{
	if (!n->witness)
		return;
	if (made)
		n->witness->made(n->witness, &n->change);
	else if (n->heard && n->witness->missed)
		n->witness->missed(n->witness, &n->change);
	if (n->change.before >= 0)
		close(n->change.before);
	buf_done(&n->path);
}

/* ---- writing ---- */

static int
write_all(int fd, struct str bytes)
{
	while (bytes.len) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			bytes = str_from(bytes, (size_t)n);
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* Owner and mode as they were; set-id bits do not survive a change of content. */
static int
mode_keep(int fd, const struct stat *st)
{
	if (fchown(fd, st->st_uid, st->st_gid) < 0 && errno != EPERM)
		return -errno;
	return fchmod(fd, st->st_mode & 0777) < 0 ? -errno : 0;
}

static int
temp_fill(const struct place *p, const char *temp, struct str bytes)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(p->dir, temp, flags, p->there || p->mode ? 0600 : 0666);

	if (fd < 0)
		return -errno;
	int rc = write_all(fd, bytes);
	if (rc == 0 && p->there)
		rc = mode_keep(fd, &p->st);
	if (rc == 0 && p->mode && fchmod(fd, *p->mode) < 0)
		rc = -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		unlinkat(p->dir, temp, 0);
	return rc;
}

/* The new file takes the place of the old one; *ret_made even if the disk is slow to agree. */
static int
rename_over(const struct place *p, struct str bytes, bool *ret_made, struct err *e)
{
	const struct route r = {.shown = p->shown};
	char temp[32];
	uint64_t chance;

	random_bytes(&chance, sizeof(chance));
	snprintf(temp, sizeof(temp), WORKSPACE_TEMP "%016llx", (unsigned long long)chance);
	int rc = temp_fill(p, temp, bytes);
	if (rc < 0)
		return workspace__fail(e, -rc, &r);
	if (renameat(p->dir, temp, p->dir, p->name) < 0) {
		rc = errno;
		unlinkat(p->dir, temp, 0);
		return workspace__fail(e, rc, &r);
	}
	*ret_made = true;
	if (fsync(p->dir) < 0 && errno != EINVAL) /* EINVAL: this file system has no such thing */
		return workspace__fail(e, errno, &r);
	return 0;
}

int
workspace__replace(const struct place *p, struct str bytes, struct witness *w, struct err *e)
{
	struct notice n;
	bool made = false;

	if (bytes.len > LIMIT_FILE_WRITE)
		return err_set(e, E_TOO_LARGE, "too much to write: %zu bytes; the limit is %zu MB",
			       bytes.len, LIMIT_FILE_WRITE / MIB);
	/* A rename asks the directory's permission only; a read-only file says no all the same. */
	if (p->there && faccessat(p->dir, p->name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0)
		return workspace__refuse(e, E_PERMISSION, "the file is read-only", p->shown);
	int rc = notice_begin(&n, w, p, p->there ? CHANGE_MODIFIED : CHANGE_CREATED, bytes, e);
	if (rc == 0)
		rc = rename_over(p, bytes, &made, e);
	notice_end(&n, made);
	return rc;
}

static int
unlink_held(const struct place *p, const struct route *r, struct witness *w, struct err *e)
{
	struct notice n;
	bool made = false;
	int rc = notice_begin(&n, w, p, CHANGE_DELETED, (struct str){NULL, 0}, e);

	if (rc == 0) {
		made = unlinkat(p->dir, p->name, 0) == 0;
		if (!made || (fsync(p->dir) < 0 && errno != EINVAL))
			rc = workspace__fail(e, errno, r);
	}
	notice_end(&n, made);
	return rc;
}

/* A link is not followed, so this is no workspace__place. */
int
workspace__remove(struct workspace *ws, struct str path, struct witness *w, struct err *e)
{
	struct place p = {.ws = ws, .dir = -1, .shown = path};
	struct route r;
	int rc = workspace__route(ws, path, &r, e);

	if (rc == 0)
		rc = workspace__parent(ws, &r, false, &p.dir, p.name, e);
	if (rc < 0)
		return rc;
	p.lock = lock_of(p.dir, p.name);
	pthread_mutex_lock(p.lock);
	p.there = fstatat(p.dir, p.name, &p.st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!p.there)
		rc = workspace__fail(e, errno, &r);
	else if (S_ISDIR(p.st.st_mode))
		rc = workspace__fail(e, EISDIR, &r);
	else
		rc = unlink_held(&p, &r, w, e);
	workspace__leave(&p);
	return rc;
}
