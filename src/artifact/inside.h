/* inside.h - where artifacts are kept, as the set sees it: on disk or in memory. For src/artifact.
 */

#ifndef ARTIFACT_INSIDE_H
#define ARTIFACT_INSIDE_H

#include "artifact/artifact.h"

#define ARTIFACT_KEY 33    /* 32 hex digits and the NUL */
#define ARTIFACT_FOLDER 72 /* a tenant as the name of a directory */

struct place;
struct draft; /* being written */
struct kept;  /* being read */

struct entry {
	char folder[ARTIFACT_FOLDER];
	char key[ARTIFACT_KEY];
	uint64_t bytes;
	int64_t created_us;
};

struct place_ops {
	int (*begin)(struct place *p, struct draft **ret, struct err *e);
	int (*append)(struct draft *d, struct str bytes, struct err *e);
	/* It is whole: everything is on the disk afterwards. May take its time. */
	int (*seal)(struct draft *d, const struct artifact *about, struct err *e);
	/* It can be found from now on, instead of one with the same key and digest. */
	int (*keep)(struct draft *d, const char *folder, const struct artifact *about,
		    struct err *e);
	void (*drop)(struct draft *d); /* also after keep */

	/* E_NO_ARTIFACT. *about is filled but for the handle and when it expires. */
	int (*open)(struct place *p, const char *folder, const char *key, struct kept **ret,
		    struct artifact *about, struct err *e);
	ptrdiff_t (*read)(struct kept *k, uint64_t offset, char *out, size_t len);
	void (*close)(struct kept *k);

	/* All there are. A negative answer ends it and is given back. */
	int (*each)(struct place *p, int (*one)(const struct entry *entry, void *arg), void *arg,
		    struct err *e);
	void (*remove)(struct place *p, const struct entry *entry);
	/* Drafts that somebody left behind before that time. */
	void (*tidy)(struct place *p, int64_t before_us);
	/* Nobody else keeps or removes between these two, in other processes neither. */
	void (*lock)(struct place *p);
	void (*unlock)(struct place *p);
	void (*free)(struct place *p);
};

struct place {
	const struct place_ops *ops;
};

int place_disk(const char *dir, struct place **ret, struct err *e);
int place_memory(struct place **ret, struct err *e);

#endif
