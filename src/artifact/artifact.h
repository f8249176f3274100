/*
 * artifact.h - results too large for an agent's context, kept under the digest of their bytes.
 *
 * A handle, "art_" and the first 32 hex digits of the SHA-256, names bytes for ever: equal bytes
 * have equal handles, and a handle that would come to name other bytes is refused. What is kept
 * belongs to a tenant; for others it is not there. It is forgotten after some time, and earlier
 * where all of it passes a size, the oldest first. Storing it again makes it young again.
 *
 * Secrets are taken out before anything is stored (text/secrets.h). What was stored comes back
 * byte by byte.
 *
 * On disk: DIR/TENANT/ab/abcdef..., 0600 in directories of 0700, opened step by step and never
 * through a link. A file is written beside, synced, and renamed: it is whole, or not there. The
 * name itself may be lost in a power cut; a handle is then "not found", never wrong. In memory
 * for gateways that keep nothing.
 *
 * All functions may block on the disk; each writer and reader is for one thread at a time, the
 * set for any.
 */

#ifndef ARTIFACT_ARTIFACT_H
#define ARTIFACT_ARTIFACT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "json/canon.h"
#include "json/write.h"
#include "text/secrets.h"

struct artifacts; /* the set */

#define ARTIFACT_HANDLE 37           /* art_ + 32 + NUL */
#define ARTIFACT_TENANT S("default") /* where nobody says whose it is */

struct artifacts_spec {
	const char *dir; /* made when it is not there; NULL: in memory */
	bool keep_secrets;
	size_t shown;         /* bytes of a result's text that need not be kept; 0: the limit's */
	uint64_t max_bytes;   /* of all; 0: the limit's */
	int64_t keep_us;      /* 0: the limit's */
	int64_t (*now)(void); /* wall clock in microseconds; NULL: the system's */
};
/* E_CONFIG when the directory cannot be used, E_NOMEM. */
int artifacts_open(const struct artifacts_spec *spec, struct artifacts **ret, struct err *e);
void artifacts_free(struct artifacts *a); /* takes NULL; no writer or reader may be left */
/* Other numbers from now on, for what is begun from now on; the directory stays. */
void artifacts_tune(struct artifacts *a, const struct artifacts_spec *spec);
size_t artifacts_shown(const struct artifacts *a);
bool artifacts_redact(const struct artifacts *a);

/* Forget what is too old at that time, then the oldest until the rest fits. How much is left. */
struct artifacts_left {
	size_t count;
	uint64_t bytes;
};
int artifacts_expire(struct artifacts *a, int64_t now_us, struct artifacts_left *ret,
		     struct err *e);

/* What is known of one. */
struct artifact {
	char handle[ARTIFACT_HANDLE];
	char sha256[DIGEST_TEXT];
	char media_type[LIMIT_ARTIFACT_TEXT];
	char label[LIMIT_ARTIFACT_TEXT];
	char tool[LIMIT_ARTIFACT_TEXT];
	uint64_t bytes;
	uint64_t lost; /* bytes behind the limit of one, which are not kept */
	size_t redacted;
	int64_t created_us, expires_us;
};
void artifact_write(struct jw *w, const struct artifact *a); /* as REST shows it */

/* Writing: begin, feed, finish; or drop. */
struct artifact_writer;
struct artifact_note {
	struct str tenant;
	/* Without secrets, cut to LIMIT_ARTIFACT_TEXT; controls become blanks. */
	struct str tool, media_type, label;
};
int artifact_begin(struct artifacts *a, const struct artifact_note *note,
		   struct artifact_writer **ret, struct err *e);
/* After a failure only drop makes sense. E_STORE, E_NOMEM. */
int artifact_feed(struct artifact_writer *w, struct str piece, struct err *e);
/* *w becomes NULL, in both cases. E_STORE, E_EXISTS (see above). */
int artifact_finish(struct artifact_writer **w, struct artifact *ret, struct err *e);
void artifact_drop(struct artifact_writer **w); /* takes NULL in *w */

/* Reading. What is being read stays readable when it is forgotten meanwhile. */
struct artifact_reader;
int artifact_open(struct artifacts *a, struct str tenant, struct str handle,
		  struct artifact_reader **ret, struct err *e); /* E_NO_ARTIFACT, E_STORE */
const struct artifact *artifact_about(const struct artifact_reader *r);
/* Up to len bytes from offset: how many; 0 at the end. E_STORE. */
ptrdiff_t artifact_read(struct artifact_reader *r, uint64_t offset, char *out, size_t len);
void artifact_close(struct artifact_reader *r); /* takes NULL */

/*
 * A spool takes what may become an artifact: up to `shown` bytes it only holds them, from there
 * on it writes; from LIMIT_SHELL_OUTPUT on in any case, because nobody shows more of an output.
 * What cannot be written is not a failure of whoever makes it: err tells.
 */
struct spool {
	struct artifacts *in;
	struct artifact_note note; /* borrowed */
	struct buf held;
	struct artifact_writer *writer; /* NULL: still small, or failed */
	struct err err;
};
void spool_init(struct spool *s, struct artifacts *in, const struct artifact_note *note);
void spool_feed(struct spool *s, struct str piece);
void spool_done(struct spool *s); /* zeroed memory too */

#endif
