/*
 * minder.h - what the owner (src/loop/child.c) and holdfast-minder say to each other.
 *
 * The minder is started as `holdfast-minder GRACE_MS PROGRAM [ARGUMENT...]` with the
 * program's streams at 0, 1 and 2, the control socket (SEQPACKET) at 3 and the directory
 * to start in at 4. Each entry of its environment is one of the program's with
 * MINDER_ENV_MARK in front, so that nothing in it (LD_PRELOAD, say) acts on the minder.
 */

#ifndef MINDER_MINDER_H
#define MINDER_MINDER_H

#include <stdint.h>

enum { MINDER_CONTROL = 3, MINDER_CWD = 4, MINDER_FDS = 5 };
#define MINDER_ENV_MARK '.'

/* To the minder: one byte. The end of the stream means MINDER_KILL: the owner is dead. */
#define MINDER_END 'T'  /* the ladder: SIGTERM to everything, a grace, SIGKILL */
#define MINDER_KILL 'K' /* SIGKILL to everything */

/* How long SIGKILLed processes may take to go before the minder leaves them to the kernel. */
#define MINDER_STUCK_MS 10000

/* From the minder: MINDER_STARTED at most once, then one of the others, then the end. */
enum minder_word {
	MINDER_STARTED = 1, /* pid, start: this process is about to become the program */
	MINDER_FAILED,      /* reason */
	MINDER_OVER,        /* status, signal, leftovers */
};

struct minder_note {
	uint32_t word;
	int32_t pid;
	uint64_t start; /* of pid, as in struct proc */
	int32_t status;
	int32_t signal;
	uint32_t leftovers;
	char reason[128];
};

#endif
