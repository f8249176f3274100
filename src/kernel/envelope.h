/*
 * envelope.h - one tool.call, read: JSON, or YAML of one document.
 *
 * What is under tool.call.meta and not known is taken out first; everything else that is not
 * known refuses the whole (seed 003, "Canonicalization").
 */

#ifndef KERNEL_ENVELOPE_H
#define KERNEL_ENVELOPE_H

#include "base/sha256.h"
#include "kernel/index.h"

struct envelope {
	struct json_doc *doc;
	struct str id; /* "" where it is none; else it fits the pattern, also when the rest fails */
	struct str ns;
	const struct json *payload;
	struct str request_id; /* {NULL,0}: none */
	bool trace;
};

/* *ret is to be done with in any case. E_VALIDATION says what is wrong, E_NOMEM. */
int envelope_read(const struct kernel_index *x, struct str text, struct envelope *ret,
		  struct err *e);
void envelope_done(struct envelope *v);

/* SHA-256 of {"id":...,"payload":...} in canonical form (JCS). `scratch` is written over. E_NOMEM.
 */
int envelope_digest(const struct envelope *v, struct buf *scratch,
		    unsigned char out[static SHA256_BYTES], struct err *e);

#endif
