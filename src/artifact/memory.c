/* memory.c - artifacts of a gateway that keeps nothing: they end with it. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "artifact/inside.h"
#include "base/list.h"

struct memory {
	struct place place;
	pthread_mutex_t lock;  /* of the list */
	struct list all;       /* struct kept */
	atomic_size_t drafted; /* bytes of what is being written */
};

/* One that is stored, and what a reader holds of it. */
struct kept {
	struct node node;
	atomic_uint refs;
	struct entry entry;
	struct artifact about;
	struct buf bytes;
};

struct draft {
	struct memory *memory;
	struct buf bytes;
	size_t drafted; /* of memory's */
};

static void
memory_close(struct kept *k)
{
	if (atomic_fetch_sub(&k->refs, 1) > 1)
		return;
	buf_done(&k->bytes);
	free(k);
}

static struct kept *
find(struct memory *m, const char *folder, const char *key)
{
	LIST_EACH (&m->all, at) {
		struct kept *k = CONTAINER_OF(at, struct kept, node);
		if (strcmp(k->entry.key, key) == 0 && strcmp(k->entry.folder, folder) == 0)
			return k;
	}
	return NULL;
}

static void
forget(struct kept *k)
{
	list_remove(&k->node);
	memory_close(k);
}

static int
memory_begin(struct place *p, struct draft **ret, struct err *e)
{
	struct draft *d = malloc(sizeof(*d));

	if (!d)
		return err_plain(e, E_NOMEM);
	*d = (struct draft){CONTAINER_OF(p, struct memory, place), BUF_INIT(LIMIT_ARTIFACT_BYTES),
			    0};
	*ret = d;
	return 0;
}

static int
memory_append(struct draft *d, struct str bytes, struct err *e)
{
	/* Many at once must not take more than what is kept may. */
	if (atomic_fetch_add(&d->memory->drafted, bytes.len) + bytes.len > LIMIT_ARTIFACTS_MEMORY) {
		atomic_fetch_sub(&d->memory->drafted, bytes.len);
		return err_plain(e, E_LIMIT);
	}
	d->drafted += bytes.len;
	buf_add(&d->bytes, bytes);
	return buf_failed(&d->bytes) ? err_plain(e, E_NOMEM) : 0;
}

static int
memory_seal(struct draft *d, const struct artifact *about, struct err *e)
{
	(void)about;
	(void)e;
	buf_trim(&d->bytes);
	return 0;
}

static int
replace(struct memory *m, struct kept *fresh, struct err *e)
{
	struct kept *there = find(m, fresh->entry.folder, fresh->entry.key);

	if (there && strcmp(there->about.sha256, fresh->about.sha256) != 0)
		return err_set(e, E_EXISTS, "another result has the same handle");
	if (there)
		forget(there);
	list_push(&m->all, &fresh->node);
	return 0;
}

static int
memory_keep(struct draft *d, const char *folder, const struct artifact *about, struct err *e)
{
	struct memory *m = d->memory;
	struct kept *k = calloc(1, sizeof(*k));

	if (!k)
		return err_plain(e, E_NOMEM);
	atomic_init(&k->refs, 1);
	k->about = *about;
	k->entry.bytes = about->bytes;
	k->entry.created_us = about->created_us;
	snprintf(k->entry.folder, sizeof(k->entry.folder), "%s", folder);
	snprintf(k->entry.key, sizeof(k->entry.key), "%.32s", about->sha256);
	k->bytes = buf_take(&d->bytes);
	pthread_mutex_lock(&m->lock);
	int code = replace(m, k, e);
	pthread_mutex_unlock(&m->lock);
	if (code < 0)
		memory_close(k);
	return code;
}

static void
memory_drop(struct draft *d)
{
	atomic_fetch_sub(&d->memory->drafted, d->drafted);
	buf_done(&d->bytes);
	free(d);
}

static int
memory_open(struct place *p, const char *folder, const char *key, struct kept **ret,
	    struct artifact *about, struct err *e)
{
	struct memory *m = CONTAINER_OF(p, struct memory, place);

	pthread_mutex_lock(&m->lock);
	struct kept *k = find(m, folder, key);
	if (k)
		atomic_fetch_add(&k->refs, 1);
	pthread_mutex_unlock(&m->lock);
	if (!k)
		return err_plain(e, E_NO_ARTIFACT);
	*about = k->about;
	*ret = k;
	return 0;
}

static ptrdiff_t
memory_read(struct kept *k, uint64_t offset, char *out, size_t len)
{
	struct str part = str_upto(str_from(buf_str(&k->bytes), (size_t)offset), len);

	memcpy(out, part.ptr, part.len);
	return (ptrdiff_t)part.len;
}

static int
memory_each(struct place *p, int (*one)(const struct entry *entry, void *arg), void *arg,
	    struct err *e)
{
	struct memory *m = CONTAINER_OF(p, struct memory, place);
	int code = 0;

	(void)e;
	pthread_mutex_lock(&m->lock);
	LIST_EACH (&m->all, at)
		if (code == 0)
			code = one(&CONTAINER_OF(at, struct kept, node)->entry, arg);
	pthread_mutex_unlock(&m->lock);
	return code;
}

static void
memory_remove(struct place *p, const struct entry *entry)
{
	struct memory *m = CONTAINER_OF(p, struct memory, place);

	pthread_mutex_lock(&m->lock);
	struct kept *k = find(m, entry->folder, entry->key);
	if (k)
		forget(k);
	pthread_mutex_unlock(&m->lock);
}

static void
memory_tidy(struct place *p, int64_t before_us)
{
	(void)p;
	(void)before_us;
}

/* The set's own lock is enough. */
static void
memory_nobody(struct place *p)
{
	(void)p;
}

static void
memory_free(struct place *p)
{
	struct memory *m = CONTAINER_OF(p, struct memory, place);

	LIST_EACH (&m->all, at)
		forget(CONTAINER_OF(at, struct kept, node));
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static const struct place_ops memory_ops = {
    .begin = memory_begin,
    .append = memory_append,
    .seal = memory_seal,
    .keep = memory_keep,
    .drop = memory_drop,
    .open = memory_open,
    .read = memory_read,
    .close = memory_close,
    .each = memory_each,
    .remove = memory_remove,
    .tidy = memory_tidy,
    .lock = memory_nobody,
    .unlock = memory_nobody,
    .free = memory_free,
};

int
place_memory(struct place **ret, struct err *e)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (!m)
		return err_plain(e, E_NOMEM);
	m->place.ops = &memory_ops;
	pthread_mutex_init(&m->lock, NULL);
	list_init(&m->all);
	*ret = &m->place;
	return 0;
}
