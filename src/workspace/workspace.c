/* workspace.c - the file interface that tools get: read, write, append, list, delete, patch. */

#include "workspace/resolve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define READ_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY) /* a FIFO must not hold us */

/* Life. */

/* Where path is, or will be once it exists: the deepest existing parent made real. */
static char *
real_or_future(const char *path)
{
	char *real = realpath(path, NULL), *out = NULL;
	const char *slash = strrchr(path, '/');

	if (real)
		return real;
	if (!slash || slash == path)
		return strdup(path);
	char *parent = strndup(path, (size_t)(slash - path));
	real = parent ? real_or_future(parent) : NULL;
	if (real && asprintf(&out, "%s%s", real, slash) < 0)
		out = NULL;
	free(parent);
	free(real);
	return out;
}

static int
shut_add(struct workspace *ws, const char *dir, struct err *e)
{
	char *real = real_or_future(dir);

	if (!real)
		return err_plain(e, E_NOMEM);
	if (workspace__lies_in(ws->path, real)) {
		free(real);
		return err_set(e, E_NO_WORKSPACE, "the workspace lies in a closed directory: %s",
			       dir);
	}
	if (workspace__lies_in(real, ws->path))
		ws->shut[ws->shut_count++] = real;
	else
		free(real);
	return 0;
}

static int
shut_fill(struct workspace *ws, const char *const *shut, struct err *e)
{
	size_t count = 0;
	int rc = 0;

	while (shut && shut[count])
		count++;
	if (count == 0)
		return 0;
	ws->shut = calloc(count, sizeof(*ws->shut));
	if (!ws->shut)
		return err_plain(e, E_NOMEM);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = shut_add(ws, shut[i], e);
	return rc;
}

static int
root_open(struct workspace *ws, const char *path, struct err *e)
{
	char real[LIMIT_PATH];

	ws->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ws->fd < 0)
		return err_set(e, E_NO_WORKSPACE, "the workspace is not a directory: %s", path);
	/* The name is taken from what was opened, not the other way round. */
	if (workspace__location(ws->fd, real, sizeof(real)) < 0)
		return err_set(e, E_NO_WORKSPACE, "the workspace has no path: %s", path);
	ws->path = strdup(real);
	if (path[0] == '/' && strcmp(path, real) != 0)
		ws->given = strdup(path);
	if (!ws->path)
		return err_plain(e, E_NOMEM);
	int probe = workspace__openat(ws, ".", O_PATH | O_DIRECTORY);
	if (probe < 0)
		return err_set(e, E_NO_WORKSPACE, "the workspace cannot be used: openat2: %s",
			       strerror(-probe));
	close(probe);
	return 0;
}

int
workspace_open(const char *path, const char *const *shut, struct workspace **ret, struct err *e)
{
	struct workspace *ws = calloc(1, sizeof(*ws));

	if (!ws)
		return err_plain(e, E_NOMEM);
	atomic_init(&ws->refs, 1);
	int rc = root_open(ws, path, e);
	if (rc == 0)
		rc = shut_fill(ws, shut, e);
	if (rc < 0)
		workspace_unref(ws);
	else
		*ret = ws;
	return rc;
}

struct workspace *
workspace_ref(struct workspace *ws)
{
	atomic_fetch_add(&ws->refs, 1);
	return ws;
}

void
workspace_unref(struct workspace *ws)
{
	if (!ws || atomic_fetch_sub(&ws->refs, 1) != 1)
		return;
	if (ws->fd >= 0)
		close(ws->fd);
	for (size_t i = 0; i < ws->shut_count; i++)
		free(ws->shut[i]);
	free(ws->shut);
	free(ws->given);
	free(ws->path);
	free(ws);
}

const char *
workspace_path(const struct workspace *ws)
{
	return ws->path;
}

int
workspace_fd(const struct workspace *ws)
{
	return ws->fd;
}

/* Names. */

const char *
change_kind_name(enum change_kind k)
{
	static const char *const names[] = {
	    [CHANGE_CREATED] = "created",
	    [CHANGE_MODIFIED] = "modified",
	    [CHANGE_DELETED] = "deleted",
	    [CHANGE_RENAMED] = "renamed",
	};

	return names[k];
}

int
workspace_check(struct workspace *ws, struct str path, struct err *e)
{
	struct route r;
	int rc = workspace__route(ws, path, &r, e);

	if (rc < 0)
		return rc;
	int fd = workspace__openat(ws, r.rel, O_PATH);
	if (fd == -EXDEV || fd == -ELOOP)
		return workspace__fail(e, -fd, &r);
	if (fd == -ENOENT)
		return workspace__absent(ws, &r, e);
	if (fd < 0)
		return 0; /* not a directory, no access: inside, and the operation will say it */
	rc = workspace__closed(ws, fd, NULL, path, e);
	close(fd);
	return rc;
}

bool
workspace_exists(struct workspace *ws, struct str path)
{
	int fd;

	if (workspace__open(ws, path, O_PATH, &fd, NULL) < 0)
		return false;
	close(fd);
	return true;
}

/* Reading. */

int
workspace_read_bytes(struct workspace *ws, struct str path, struct buf *out, struct err *e)
{
	int fd, rc = workspace__open(ws, path, READ_FLAGS, &fd, e);

	if (rc < 0)
		return rc;
	rc = workspace__slurp(fd, path, out, e);
	close(fd);
	return rc;
}

int
workspace_open_file(struct workspace *ws, struct str path, int *ret_fd, struct err *e)
{
	return workspace__open(ws, path, READ_FLAGS, ret_fd, e);
}

static int
text_check(struct str text, struct str path, struct err *e)
{
	if (str_is_utf8(text))
		return 0;
	return workspace__refuse(e, E_EXECUTION, "not a text file (invalid UTF-8)", path);
}

int
workspace_read(struct workspace *ws, struct str path, struct buf *out, struct err *e)
{
	size_t before = out->len;
	int rc = workspace_read_bytes(ws, path, out, e);

	return rc < 0 ? rc : text_check(str_from(buf_str(out), before), path, e);
}

int
workspace_peek(struct workspace *ws, struct str path, struct buf *out, bool *ret_there,
	       struct err *e)
{
	struct route r;
	int rc = workspace__route(ws, path, &r, e);

	if (rc < 0)
		return rc;
	int fd = workspace__openat(ws, r.rel, READ_FLAGS);
	*ret_there = fd >= 0;
	if (fd == -ENOENT)
		return workspace__absent(ws, &r, e);
	if (fd < 0)
		return workspace__fail(e, -fd, &r);
	rc = workspace__closed(ws, fd, NULL, path, e);
	if (rc == 0)
		rc = workspace__slurp(fd, path, out, e);
	close(fd);
	return rc;
}

/* Writing. */

static int
write_bytes(struct workspace *ws, struct str path, struct str bytes, const mode_t *mode,
	    struct witness *w, struct err *e)
{
	struct place p;
	int rc = workspace__place(ws, path, true, &p, e);

	if (rc < 0)
		return rc;
	p.mode = mode;
	rc = workspace__replace(&p, bytes, w, e);
	workspace__leave(&p);
	return rc;
}

int
workspace_write_bytes(struct workspace *ws, struct str path, struct str bytes, struct witness *w,
		      struct err *e)
{
	return write_bytes(ws, path, bytes, NULL, w, e);
}

int
workspace_restore(struct workspace *ws, struct str path, struct str bytes, uint32_t mode,
		  struct witness *w, struct err *e)
{
	return write_bytes(ws, path, bytes, &(mode_t){mode & 0777}, w, e);
}

int
workspace_write(struct workspace *ws, struct str path, struct str text, struct witness *w,
		struct err *e)
{
	if (!str_is_utf8(text))
		return err_set(e, E_VALIDATION, "the text to write is not valid UTF-8");
	return workspace_write_bytes(ws, path, text, w, e);
}

int
workspace_append(struct workspace *ws, struct str path, struct str text, struct witness *w,
		 struct err *e)
{
	struct buf all = BUF_INIT(LIMIT_FILE_READ + LIMIT_FILE_WRITE);
	struct place p;
	int rc = workspace__place(ws, path, true, &p, e);

	if (rc < 0)
		return rc;
	if (p.there)
		rc = workspace__place_read(&p, &all, e);
	if (rc == 0)
		buf_add(&all, text);
	if (rc == 0 && buf_failed(&all))
		rc = err_plain(e, E_TOO_LARGE);
	if (rc == 0)
		rc = workspace__replace(&p, buf_str(&all), w, e);
	workspace__leave(&p);
	buf_done(&all);
	return rc;
}

int
workspace_delete(struct workspace *ws, struct str path, struct witness *w, struct err *e)
{
	return workspace__remove(ws, path, w, e);
}

/* Patching. */

static const char *
find(struct str text, size_t from, struct str what)
{
	struct str rest = str_from(text, from);

	return rest.len ? memmem(rest.ptr, rest.len, what.ptr, what.len) : NULL;
}

static size_t
count(struct str text, struct str what)
{
	size_t n = 0;

	for (const char *at; (at = find(text, 0, what));
	     text = str_from(text, (size_t)(at - text.ptr) + what.len))
		n++;
	return n;
}

static int
replace_once(struct str path, struct str text, struct str old, struct str new, struct buf *out,
	     struct err *e)
{
	if (old.len == 0)
		return err_set(e, E_VALIDATION, "the text to replace is empty");
	const char *at = find(text, 0, old);
	struct str shown = str_utf8_upto(path, 400);
	if (!at)
		return err_set(e, E_EXECUTION, "patch source not found in '%.*s'", STR_ARG(shown));
	/* Also where it overlaps itself it is not unique: "aa" in "aaa". */
	if (find(text, (size_t)(at - text.ptr) + 1, old)) {
		size_t n = count(text, old);
		return err_set(e, E_EXECUTION,
			       "patch source appears %zu times in '%.*s'; must be unique",
			       n > 1 ? n : 2, STR_ARG(shown));
	}
	if (text.len - old.len + new.len > LIMIT_FILE_PATCH)
		return err_set(e, E_TOO_LARGE, "too large: the patched file passes %zu MB",
			       LIMIT_FILE_PATCH / MIB);
	buf_add(out, str_upto(text, (size_t)(at - text.ptr)));
	buf_add(out, new);
	buf_add(out, str_from(text, (size_t)(at - text.ptr) + old.len));
	return buf_failed(out) ? err_plain(e, E_NOMEM) : 0;
}

static int
place_patched(const struct place *p, struct str old, struct str new, struct buf *before,
	      struct buf *after, struct err *e)
{
	int rc = workspace__place_read(p, before, e);

	if (rc == 0)
		rc = text_check(buf_str(before), p->shown, e);
	return rc < 0 ? rc : replace_once(p->shown, buf_str(before), old, new, after, e);
}

int
workspace_patched(struct workspace *ws, struct str path, struct str old, struct str new,
		  struct buf *ret_before, struct buf *ret_after, struct err *e)
{
	struct place p;
	int rc = workspace__place(ws, path, false, &p, e);

	if (rc < 0)
		return rc;
	rc = place_patched(&p, old, new, ret_before, ret_after, e);
	workspace__leave(&p);
	return rc;
}

int
workspace_patch(struct workspace *ws, struct str path, struct str old, struct str new,
		struct witness *w, struct err *e)
{
	struct buf before = BUF_INIT(LIMIT_FILE_PATCH), after = BUF_INIT(LIMIT_FILE_PATCH);
	struct place p;
	int rc = workspace__place(ws, path, false, &p, e);

	if (rc < 0)
		return rc;
	rc = place_patched(&p, old, new, &before, &after, e);
	if (rc == 0)
		rc = workspace__replace(&p, buf_str(&after), w, e);
	workspace__leave(&p);
	buf_done(&before);
	buf_done(&after);
	return rc;
}

/* Listing. */

struct entry {
	char *name;
	bool is_dir;
};

static int
entry_order(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static bool
entry_is_dir(int dir, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool
is_control(unsigned char c)
{
	return c < 0x20 || c == 0x7f;
}

static void
entry_write(struct buf *out, const struct entry *entry)
{
	bool utf8 = str_is_utf8(str_of(entry->name)), plain = utf8;

	for (const char *p = entry->name; *p; p++)
		plain = plain && !is_control((unsigned char)*p);
	if (plain) {
		buf_addz(out, entry->name);
	} else {
		for (const unsigned char *p = (const unsigned char *)entry->name; *p; p++) {
			if (is_control(*p) || *p == '\\' || (!utf8 && *p >= 0x80))
				buf_addf(out, "\\x%02x", *p);
			else
				buf_addc(out, (char)*p);
		}
	}
	if (entry->is_dir)
		buf_addc(out, '/');
}

/* Keeps LIMIT_DIR_ENTRIES and counts the rest. */
static size_t
entries_read(DIR *dir, struct entry *entries, size_t *ret_kept)
{
	size_t total = 0, kept = 0;

	for (struct dirent *d; (d = readdir(dir));) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		total++;
		if (kept == LIMIT_DIR_ENTRIES)
			continue;
		char *name = strdup(d->d_name);
		if (name)
			entries[kept++] = (struct entry){name, entry_is_dir(dirfd(dir), d)};
	}
	*ret_kept = kept;
	return total;
}

int
workspace_list(struct workspace *ws, struct str path, struct buf *out, size_t *ret_count,
	       struct err *e)
{
	int fd, rc = workspace__open(ws, path, O_RDONLY | O_DIRECTORY, &fd, e);

	if (rc < 0)
		return rc;
	DIR *dir = fdopendir(fd);
	struct entry *entries = calloc(LIMIT_DIR_ENTRIES, sizeof(*entries));
	size_t kept = 0;
	if (dir && entries) {
		*ret_count = entries_read(dir, entries, &kept);
		qsort(entries, kept, sizeof(*entries), entry_order);
	} else {
		rc = err_plain(e, E_NOMEM);
	}
	for (size_t i = 0; i < kept; i++) {
		if (i)
			buf_addc(out, '\n');
		entry_write(out, &entries[i]);
		free(entries[i].name);
	}
	if (rc == 0 && buf_failed(out))
		rc = err_set(e, E_TOO_LARGE, "the listing is too large");
	free(entries);
	if (dir)
		closedir(dir);
	else
		close(fd);
	return rc;
}
