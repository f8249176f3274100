/* resolve.c - from what the agent wrote to a descriptor beneath the root. */

#include "workspace/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel gives EAGAIN when a rename happened under a path with ".."; a shell that
 * renames all the time must not keep us here for ever. */
#define RETRIES 32
#define SHOWN_MAX 400 /* bytes of a path in a sentence: the sentence must fit too */

int
workspace__refuse(struct err *e, int code, const char *sentence, struct str shown)
{
	shown = str_utf8_upto(shown, SHOWN_MAX);
	return err_set(e, code, "%s: %.*s", sentence, STR_ARG(shown));
}

int
workspace__escapes(struct err *e, struct str shown)
{
	shown = str_utf8_upto(shown, SHOWN_MAX);
	return err_set(e, E_PERMISSION, "Path '%.*s' escapes workspace boundary", STR_ARG(shown));
}

bool
workspace__climbs_out(const char *rel)
{
	struct str rest = str_of(rel), part;
	long depth = 0;

	while (str_split(&rest, '/', &part)) {
		if (str_is(part, ".."))
			depth--;
		else if (part.len && !str_is(part, "."))
			depth++;
		if (depth < 0)
			return true;
	}
	return false;
}

int
workspace__fail(struct err *e, int errnum, const struct route *r)
{
	static const struct {
		int errnum;
		int code;
		const char *sentence;
	} sentences[] = {
	    {ENOENT, E_EXECUTION, "no such file"},
	    {ENOTDIR, E_EXECUTION, "not a directory"},
	    {EISDIR, E_EXECUTION, "is a directory"},
	    {ENXIO, E_EXECUTION, "not a regular file"}, /* opening a socket */
	    {EACCES, E_PERMISSION, "the system denies access"},
	    {EPERM, E_PERMISSION, "the system denies access"},
	    {EROFS, E_PERMISSION, "on a read-only file system"},
	    {ELOOP, E_PERMISSION, "leads through links that are not followed"},
	    {ENAMETOOLONG, E_VALIDATION, "the path is too long"},
	    {ENOSPC, E_EXECUTION, "no space left on the device"},
	    {EDQUOT, E_EXECUTION, "the disk quota is used up"},
	    {EAGAIN, E_EXECUTION, "the path kept changing"},
	};

	if (errnum == EXDEV)
		return workspace__escapes(e, r->shown);
	for (size_t i = 0; i < ARRAY_LEN(sentences); i++)
		if (sentences[i].errnum == errnum)
			return workspace__refuse(e, sentences[i].code, sentences[i].sentence,
						 r->shown);
	return err_errno(e, E_SYSTEM, errnum, "workspace");
}

/* The next part of an absolute path; empty parts and "." are none. */
static bool
next_part(struct str *rest, struct str *part)
{
	while (str_split(rest, '/', part))
		if (part->len && !str_is(*part, "."))
			return true;
	return false;
}

/*
 * Take the root off the front of an absolute path, part by part: "/ws" is no prefix of
 * "/ws_evil/x". What remains goes to openat2 like any relative path.
 */
static bool
strip_root(const char *root, struct str path, struct str *ret_rest)
{
	struct str want_rest = str_of(root), rest = path, want, part;

	while (next_part(&want_rest, &want))
		if (!next_part(&rest, &part) || !str_eq(part, want))
			return false;
	while (rest.len && rest.ptr[0] == '/')
		rest = str_from(rest, 1);
	*ret_rest = rest.len ? rest : S(".");
	return true;
}

int
workspace__route(const struct workspace *ws, struct str path, struct route *ret, struct err *e)
{
	struct str rel = path;

	ret->shown = path;
	if (path.len == 0)
		return err_set(e, E_VALIDATION, "the path is empty");
	if (str_index(path, '\0') >= 0)
		return err_set(e, E_VALIDATION, "the path has a NUL character in it");
	if (path.len >= LIMIT_PATH)
		return err_set(e, E_VALIDATION, "the path is too long: %zu bytes; the limit is %d",
			       path.len, LIMIT_PATH - 1);
	if (path.ptr[0] == '/' && !strip_root(ws->path, path, &rel) &&
	    !(ws->given && strip_root(ws->given, path, &rel)))
		return workspace__escapes(e, path);
	memcpy(ret->rel, rel.ptr, rel.len);
	ret->rel[rel.len] = '\0';
	return 0;
}

int
workspace__openat(const struct workspace *ws, const char *rel, uint64_t flags)
{
	struct open_how how = {
	    .flags = flags | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	long fd = -1;

	for (int i = 0; i < RETRIES; i++) {
		fd = syscall(SYS_openat2, ws->fd, rel, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			break;
	}
	return -errno;
}

int
workspace__location(int fd, char *out, size_t size)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, out, size);
	if (n < 0)
		return -errno;
	if ((size_t)n >= size)
		return -ENAMETOOLONG;
	out[n] = '\0';
	return 0;
}

bool
workspace__lies_in(const char *path, const char *dir)
{
	struct str rest;

	return strip_root(dir, str_of(path), &rest);
}

int
workspace__closed(const struct workspace *ws, int fd, const char *name, struct str shown,
		  struct err *e)
{
	char where[LIMIT_PATH + NAME_MAX + 2];

	if (ws->shut_count == 0)
		return 0;
	/* Not to know is to refuse. */
	if (workspace__location(fd, where, LIMIT_PATH) < 0)
		return workspace__refuse(e, E_PERMISSION, "its place cannot be told", shown);
	if (name) {
		size_t len = strlen(where);
		snprintf(where + len, sizeof(where) - len, "/%s", name);
	}
	for (size_t i = 0; i < ws->shut_count; i++)
		if (workspace__lies_in(where, ws->shut[i]))
			return workspace__refuse(e, E_PERMISSION, "closed to tools", shown);
	return 0;
}

/* Cut the last part off; false when there is none left. */
static bool
part_drop(char *rel)
{
	char *slash = strrchr(rel, '/');

	*(slash ? slash : rel) = '\0';
	return *rel;
}

static bool
missing(int fd)
{
	return fd == -ENOENT || fd == -ENOTDIR;
}

int
workspace__deepest(const struct workspace *ws, char *rel)
{
	int fd = workspace__openat(ws, rel, O_PATH);

	for (bool more = true; missing(fd) && more;) {
		more = part_drop(rel);
		fd = workspace__openat(ws, more ? rel : ".", O_PATH);
	}
	return fd;
}

int
workspace__absent(const struct workspace *ws, const struct route *r, struct err *e)
{
	char rel[LIMIT_PATH];

	/* "new/../../x": the kernel stops at the missing "new", but what is meant is plain. */
	if (workspace__climbs_out(r->rel))
		return workspace__escapes(e, r->shown);
	snprintf(rel, sizeof(rel), "%s", r->rel);
	int fd = workspace__deepest(ws, rel);
	if (fd == -EXDEV)
		return workspace__escapes(e, r->shown);
	if (fd < 0)
		return 0;
	/* The part below it counts too: what is shut need not exist yet. */
	const char *below = r->rel + strlen(rel);
	below += strspn(below, "/");
	char name[NAME_MAX + 1];
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(below, "/"), below);
	int rc = workspace__closed(ws, fd, *name ? name : NULL, r->shown, e);
	close(fd);
	return rc;
}

int
workspace__open(const struct workspace *ws, struct str path, uint64_t flags, int *ret_fd,
		struct err *e)
{
	struct route r;
	int rc = workspace__route(ws, path, &r, e);

	if (rc < 0)
		return rc;
	int fd = workspace__openat(ws, r.rel, flags);
	if (missing(fd) && (rc = workspace__absent(ws, &r, e)) < 0)
		return rc;
	if (fd < 0)
		return workspace__fail(e, -fd, &r);
	rc = workspace__closed(ws, fd, NULL, path, e);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

static int
too_large(struct err *e, size_t size, size_t limit, struct str shown)
{
	shown = str_utf8_upto(shown, SHOWN_MAX);
	if (limit < MIB)
		return err_set(e, E_TOO_LARGE, "too large: %.*s (the limit is %zu bytes)",
			       STR_ARG(shown), limit);
	/* Rounded up: never "16 MB; the limit is 16 MB". */
	return err_set(e, E_TOO_LARGE, "too large: %.*s (%zu MB; the limit is %zu MB)",
		       STR_ARG(shown), (size + MIB - 1) / MIB, limit / MIB);
}

/* The size fstat told is a hint: the file may grow meanwhile, and some tell none. */
int
workspace__slurp(int fd, struct str shown, struct buf *out, struct err *e)
{
	size_t limit =
	    out->max - out->len < LIMIT_FILE_READ ? out->max - out->len : LIMIT_FILE_READ;
	size_t got = 0;
	struct stat st;
	char one;

	if (fstat(fd, &st) < 0)
		return err_errno(e, E_SYSTEM, errno, "fstat");
	if (S_ISDIR(st.st_mode))
		return workspace__refuse(e, E_EXECUTION, "is a directory", shown);
	if (!S_ISREG(st.st_mode))
		return workspace__refuse(e, E_EXECUTION, "not a regular file", shown);
	if ((uint64_t)st.st_size > limit)
		return too_large(e, (size_t)st.st_size, limit, shown);
	if (st.st_size > 0 && !buf_room(out, (size_t)st.st_size))
		return err_plain(e, E_NOMEM);
	for (;;) {
		size_t want = limit - got < 64 * KIB ? limit - got : 64 * KIB;
		char *room = want ? buf_room(out, want) : &one;
		if (!room)
			return err_plain(e, E_NOMEM);
		ssize_t n = read(fd, room, want ? want : 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, E_SYSTEM, errno, "read");
		if (n == 0)
			return 0;
		if (want == 0)
			return too_large(e, limit + 1, limit, shown);
		got += (size_t)n;
		out->len += (size_t)n;
	}
}
