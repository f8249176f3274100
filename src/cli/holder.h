/*
 * holder.h - who holds the state directory: one gateway, for as long as it lives.
 *
 * It locks gateway.lock there, and writes into it which process it is and where its socket is. So
 * commands find it whatever their XDG_RUNTIME_DIR, and a second one does not start beside it. The
 * lock is what counts: the kernel lets go of it however a process ends. What is still written there
 * then says that it did not end in order.
 */

#ifndef CLI_HOLDER_H
#define CLI_HOLDER_H

#include "base/paths.h"

enum holder_state {
	HOLDER_NONE,  /* there was none, or it ended in order */
	HOLDER_FELL,  /* it was killed, or broke */
	HOLDER_LIVES, /* it may be about to begin or to end: whether it answers is another matter */
};

struct holder {
	uint64_t pid;
	struct path socket; /* "" = it has not said yet */
};

/* What cannot be read is not there: then the socket is looked for at its usual place. */
enum holder_state holder_find(struct holder *ret);

/* The directory must be there. E_EXISTS: another one holds it; E_CONFIG. */
int holder_become(const char *socket, int *ret_fd, struct err *e);
void holder_leave(int fd); /* in order; takes -1 */

#endif
