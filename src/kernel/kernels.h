/*
 * kernels.h - kernels of open sessions, and tools of the catalog run for them.
 *
 *	envelope --> queue --> kernel_take --> emission                 the kernel's own tools
 *	                           '--> gateway_submit --> kernel_settle --> emission
 *
 * One envelope of a session is on its way at a time, so emissions come in the order of envelopes
 * and each sees the state the one before it left. A session's kernel begins with its first
 * envelope, or before that with kernels_open, and ends with the session.
 */

#ifndef KERNEL_KERNELS_H
#define KERNEL_KERNELS_H

#include "call/gateway.h"
#include "kernel/router.h"

struct kernels;
struct kernel_ask; /* an envelope that is not answered */

struct kernels *kernels_new(struct gateway *gw); /* NULL: no memory */
void kernels_free(struct kernels *ks);           /* after sessions_free; takes NULL */

/* What whoever runs the gateway has configured; sessions that have begun keep theirs. */
struct kernels_rules {
	struct kernel_index *index;    /* the only one there is, a reference is taken; NULL: any */
	const char *const *namespaces; /* that an index may have; borrowed; NULL: any */
	size_t namespace_count;
};
void kernels_rule(struct kernels *ks, const struct kernels_rules *rules);

/* A kernel for the session. bundle NULL: the configured index, or the standard one; state NULL: as
 * a session begins. E_EXISTS: it has one; E_FORBIDDEN: the index is configured; E_VALIDATION,
 * E_LIMIT, E_NOMEM. */
int kernels_open(struct kernels *ks, struct session *s, struct json_doc *bundle,
		 const struct json *state, struct err *e);

/* `emission` is NULL when there is none: the session has ended. */
typedef void (*kernel_answer_fn)(const struct emission *emission, void *arg);
/* Called once, never inside, unless the ask is orphaned. attended: as in struct turn_spec.
 * E_LIMIT, E_NOMEM, and what kernels_open can. */
int kernels_ask(struct kernels *ks, struct session *s, struct str envelope, bool attended,
		kernel_answer_fn done, void *arg, struct kernel_ask **ret, struct err *e);
/* Nobody waits for the answer any more; what was begun goes on. */
void kernel_ask_orphan(struct kernel_ask *ask);

/* Index and state of the session's kernel, as one object; false: it has none yet. */
bool kernels_write(struct jw *w, const struct kernels *ks, const struct session *s);

#endif
