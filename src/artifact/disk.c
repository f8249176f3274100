/*
 * disk.c - artifacts as files: DIR/TENANT/ab/KEY, a header of one block and then the bytes.
 *
 * One file each, so that one rename makes it be there and one unlink makes it go; what is known
 * of it stands in the header as JSON, filled up with blanks and ended by a newline, and nothing
 * has to agree with a second file or a database. `tail -c +4097 FILE` gives the bytes.
 *
 * DIR/.new holds what is being written. Every step is taken from the directory before, without
 * following links.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/inside.h"
#include "base/paths.h"
#include "base/ulid.h"

#define HEADER_BYTES 4096
#define DRAFTS ".new"

struct disk {
	struct place place;
	int root;
	int drafts;
};

struct draft {
	struct disk *disk;
	int fd;
	uint64_t bytes;
	char name[ULID_LEN + 1];
	bool kept;
};

struct kept {
	int fd;
};

static int
refuse(struct err *e, const char *what)
{
	return err_errno(e, E_STORE, errno, what);
}

/* A directory inside another; -1 with errno. */
static int
step(int from, const char *name, bool make)
{
	if (make && mkdirat(from, name, 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* DIR/TENANT/ab */
static int
shelf(const struct disk *d, const char *folder, const char *key, bool make)
{
	char two[3] = {key[0], key[1], '\0'};
	int tenant = step(d->root, folder, make);

	if (tenant < 0)
		return -1;
	int fd = step(tenant, two, make);
	int errnum = errno;
	close(tenant);
	errno = errnum;
	return fd;
}

/* ---- the header ---- */

static int
header_write(struct buf *out, const struct artifact *a)
{
	struct jw w = jw(out);

	jw_object(&w);
	jw_member_int(&w, "artifact", 1); /* of this form */
	jw_member_z(&w, "sha256", a->sha256);
	jw_member_int(&w, "bytes", (int64_t)a->bytes);
	jw_member_int(&w, "lost", (int64_t)a->lost);
	jw_member_int(&w, "redacted", (int64_t)a->redacted);
	jw_member_int(&w, "created_us", a->created_us);
	jw_member_z(&w, "media_type", a->media_type);
	jw_member_z(&w, "tool", a->tool);
	jw_member_z(&w, "label", a->label);
	jw_end(&w);
	while (out->len < HEADER_BYTES - 1 && !buf_failed(out))
		buf_addc(out, ' ');
	buf_addc(out, '\n');
	return buf_failed(out) ? E_NOMEM : 0;
}

struct header {
	int64_t artifact, bytes, lost, redacted, created_us;
	struct str sha256, media_type, tool, label;
};

static int
header_fields(struct str text, struct header *h, struct json_doc **doc, struct err *e)
{
	static const struct json_field fields[] = {
	    FIELD_REQUIRED(struct header, artifact, WANT_INT),
	    FIELD_REQUIRED(struct header, sha256, WANT_STR),
	    FIELD_REQUIRED(struct header, bytes, WANT_INT),
	    FIELD_REQUIRED(struct header, lost, WANT_INT),
	    FIELD_REQUIRED(struct header, redacted, WANT_INT),
	    FIELD_REQUIRED(struct header, created_us, WANT_INT),
	    FIELD_REQUIRED(struct header, media_type, WANT_STR),
	    FIELD_REQUIRED(struct header, tool, WANT_STR),
	    FIELD_REQUIRED(struct header, label, WANT_STR),
	};
	int code = json_parse(text, &json_door, doc, e);

	if (code < 0)
		return code;
	return json_fields(json_root(*doc), fields, ARRAY_LEN(fields), "header", h, e);
}

static void
text_copy(char *out, size_t size, struct str text)
{
	text = str_utf8_upto(text, size - 1);
	memcpy(out, text.ptr, text.len);
	out[text.len] = '\0';
}

static int
header_read(int fd, struct artifact *ret, struct err *e)
{
	char text[HEADER_BYTES];
	struct json_doc *doc = NULL;
	struct header h = {0};
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || pread(fd, text, sizeof(text), 0) < 0)
		return refuse(e, "artifact");
	if (st.st_size < HEADER_BYTES ||
	    header_fields((struct str){text, sizeof(text)}, &h, &doc, NULL) < 0 ||
	    h.artifact != 1 || h.bytes != st.st_size - HEADER_BYTES) {
		json_doc_unref(doc);
		return err_plain(e, E_NO_ARTIFACT); /* not ours, or damaged */
	}
	*ret = (struct artifact){
	    .bytes = (uint64_t)h.bytes,
	    .lost = (uint64_t)h.lost,
	    .redacted = (size_t)h.redacted,
	    .created_us = h.created_us,
	};
	text_copy(ret->sha256, sizeof(ret->sha256), h.sha256);
	text_copy(ret->media_type, sizeof(ret->media_type), h.media_type);
	text_copy(ret->tool, sizeof(ret->tool), h.tool);
	text_copy(ret->label, sizeof(ret->label), h.label);
	json_doc_unref(doc);
	return 0;
}

/* ---- reading ---- */

static int
disk_open(struct place *p, const char *folder, const char *key, struct kept **ret,
	  struct artifact *about, struct err *e)
{
	const struct disk *d = CONTAINER_OF(p, struct disk, place);
	int dir = shelf(d, folder, key, false);
	int fd = dir < 0 ? -1 : openat(dir, key, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int errnum = errno;

	if (dir >= 0)
		close(dir);
	errno = errnum;
	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENOTDIR
			   ? err_plain(e, E_NO_ARTIFACT)
			   : refuse(e, "artifact");
	int code = header_read(fd, about, e);
	struct kept *k = code == 0 ? malloc(sizeof(*k)) : NULL;
	if (!k) {
		close(fd);
		return code < 0 ? code : err_plain(e, E_NOMEM);
	}
	k->fd = fd;
	*ret = k;
	return 0;
}

static ptrdiff_t
disk_read(struct kept *k, uint64_t offset, char *out, size_t len)
{
	ssize_t n = pread(k->fd, out, len, (off_t)(offset + HEADER_BYTES));

	return n < 0 ? E_STORE : n;
}

static void
disk_close(struct kept *k)
{
	close(k->fd);
	free(k);
}

/* ---- writing ---- */

static void
disk_drop(struct draft *d)
{
	if (!d->kept)
		unlinkat(d->disk->drafts, d->name, 0);
	close(d->fd);
	free(d);
}

static int
disk_begin(struct place *p, struct draft **ret, struct err *e)
{
	struct draft *d = calloc(1, sizeof(*d));

	if (!d)
		return err_plain(e, E_NOMEM);
	d->disk = CONTAINER_OF(p, struct disk, place);
	ulid_new(d->name);
	d->fd = openat(d->disk->drafts, d->name,
		       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (d->fd < 0) {
		free(d);
		return refuse(e, "artifact");
	}
	*ret = d;
	return 0;
}

static int
write_at(int fd, struct str bytes, uint64_t offset, struct err *e)
{
	while (bytes.len) {
		ssize_t n = pwrite(fd, bytes.ptr, bytes.len, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return refuse(e, "artifact");
		bytes = str_from(bytes, (size_t)n);
		offset += (size_t)n;
	}
	return 0;
}

static int
disk_append(struct draft *d, struct str bytes, struct err *e)
{
	int code = write_at(d->fd, bytes, HEADER_BYTES + d->bytes, e);

	d->bytes += code == 0 ? bytes.len : 0;
	return code;
}

/* The bytes are on the disk before the name is: what a handle names is whole. */
static int
disk_seal(struct draft *d, const struct artifact *about, struct err *e)
{
	struct buf header = BUF_INIT(HEADER_BYTES);
	struct timespec when = {about->created_us / 1000000, about->created_us % 1000000 * 1000};
	int code = header_write(&header, about);

	code = code < 0 ? err_plain(e, code) : write_at(d->fd, buf_str(&header), 0, e);
	buf_done(&header);
	/* Its age can be told without opening it. */
	if (code == 0 &&
	    (futimens(d->fd, (struct timespec[]){when, when}) < 0 || fdatasync(d->fd) < 0))
		code = refuse(e, "artifact");
	return code;
}

/* Is there one already of which the key is the same and the digest another? */
static int
refuse_twin(struct disk *d, const char *folder, const char *key, const struct artifact *about,
	    struct err *e)
{
	struct artifact there;
	struct kept *k;

	if (disk_open(&d->place, folder, key, &k, &there, NULL) < 0)
		return 0;
	disk_close(k);
	if (strcmp(there.sha256, about->sha256) == 0)
		return 0;
	return err_set(e, E_EXISTS, "another result has the same handle");
}

static int
disk_keep(struct draft *d, const char *folder, const struct artifact *about, struct err *e)
{
	char key[ARTIFACT_KEY];
	int code;

	memcpy(key, about->sha256, ARTIFACT_KEY - 1);
	key[ARTIFACT_KEY - 1] = '\0';
	if ((code = refuse_twin(d->disk, folder, key, about, e)) < 0)
		return code;
	int dir = shelf(d->disk, folder, key, true);
	if (dir < 0)
		return refuse(e, "artifact");
	if (renameat(d->disk->drafts, d->name, dir, key) < 0)
		code = refuse(e, "artifact");
	d->kept = code == 0;
	close(dir);
	return code;
}

/* ---- all of them ---- */

static bool
ordinary(const struct dirent *name)
{
	return name->d_name[0] != '.';
}

static DIR *
directory(int from, const char *name)
{
	int fd = step(from, name, false);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

struct walk {
	struct entry entry;
	int (*one)(const struct entry *entry, void *arg);
	void *arg;
};

static int
each_file(DIR *shelf_dir, struct walk *w)
{
	const struct dirent *name;
	struct stat st;
	int code = 0;

	while (code == 0 && (name = readdir(shelf_dir))) {
		if (strlen(name->d_name) != ARTIFACT_KEY - 1 ||
		    fstatat(dirfd(shelf_dir), name->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode) || st.st_size < HEADER_BYTES)
			continue;
		memcpy(w->entry.key, name->d_name, ARTIFACT_KEY);
		w->entry.bytes = (uint64_t)st.st_size - HEADER_BYTES;
		w->entry.created_us =
		    st.st_mtim.tv_sec * INT64_C(1000000) + st.st_mtim.tv_nsec / 1000;
		code = w->one(&w->entry, w->arg);
	}
	return code;
}

static int
each_shelf(DIR *tenant, struct walk *w)
{
	const struct dirent *name;
	int code = 0;

	while (code == 0 && (name = readdir(tenant))) {
		DIR *dir = ordinary(name) ? directory(dirfd(tenant), name->d_name) : NULL;
		if (!dir)
			continue;
		code = each_file(dir, w);
		closedir(dir);
	}
	return code;
}

static int
disk_each(struct place *p, int (*one)(const struct entry *entry, void *arg), void *arg,
	  struct err *e)
{
	const struct disk *d = CONTAINER_OF(p, struct disk, place);
	struct walk w = {.one = one, .arg = arg};
	DIR *root = directory(d->root, ".");
	const struct dirent *name;
	int code = 0;

	if (!root)
		return refuse(e, "artifacts");
	while (code == 0 && (name = readdir(root))) {
		DIR *dir = ordinary(name) && strlen(name->d_name) < ARTIFACT_FOLDER
			       ? directory(d->root, name->d_name)
			       : NULL;
		if (!dir)
			continue;
		strcpy(w.entry.folder, name->d_name);
		code = each_shelf(dir, &w);
		closedir(dir);
	}
	closedir(root);
	return code;
}

static void
disk_remove(struct place *p, const struct entry *entry)
{
	int dir = shelf(CONTAINER_OF(p, struct disk, place), entry->folder, entry->key, false);

	if (dir < 0)
		return;
	unlinkat(dir, entry->key, 0);
	close(dir);
}

static void
disk_tidy(struct place *p, int64_t before_us)
{
	const struct disk *d = CONTAINER_OF(p, struct disk, place);
	DIR *dir = directory(d->root, DRAFTS);
	const struct dirent *name;
	struct stat st;

	while (dir && (name = readdir(dir)))
		if (ordinary(name) &&
		    fstatat(d->drafts, name->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtim.tv_sec < before_us / 1000000)
			unlinkat(d->drafts, name->d_name, 0);
	if (dir)
		closedir(dir);
}

/* ---- life ---- */

static void
disk_lock(struct place *p)
{
	while (flock(CONTAINER_OF(p, struct disk, place)->root, LOCK_EX) < 0 && errno == EINTR)
		;
}

static void
disk_unlock(struct place *p)
{
	flock(CONTAINER_OF(p, struct disk, place)->root, LOCK_UN);
}

static void
disk_free(struct place *p)
{
	struct disk *d = CONTAINER_OF(p, struct disk, place);

	close(d->drafts);
	close(d->root);
	free(d);
}

static const struct place_ops disk_ops = {
    .begin = disk_begin,
    .append = disk_append,
    .seal = disk_seal,
    .keep = disk_keep,
    .drop = disk_drop,
    .open = disk_open,
    .read = disk_read,
    .close = disk_close,
    .each = disk_each,
    .remove = disk_remove,
    .tidy = disk_tidy,
    .lock = disk_lock,
    .unlock = disk_unlock,
    .free = disk_free,
};

/* Ours, and closed to everybody else. */
static int
check_root(int fd, const char *dir, struct err *e)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, E_CONFIG, "%s: %s", dir, strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return err_set(e, E_CONFIG, "%s is not a directory that only you can enter", dir);
	return 0;
}

int
place_disk(const char *dir, struct place **ret, struct err *e)
{
	struct disk *d;
	int code;

	if ((code = path_make_dir(dir, e)) < 0)
		return code;
	if (!(d = calloc(1, sizeof(*d))))
		return err_plain(e, E_NOMEM);
	d->place.ops = &disk_ops;
	d->drafts = -1;
	d->root = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	code = check_root(d->root, dir, e);
	if (code == 0 && (d->drafts = step(d->root, DRAFTS, true)) < 0)
		code = err_set(e, E_CONFIG, "%s/%s: %s", dir, DRAFTS, strerror(errno));
	if (code < 0) {
		disk_free(&d->place);
		return code;
	}
	*ret = &d->place;
	return 0;
}
