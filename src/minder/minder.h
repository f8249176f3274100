/*
 * minder.h - what the owner (src/loop/child.c) and holdfast-minder say to each other.
 *
 * The minder is started as `holdfast-minder GRACE_MS PROGRAM [ARGUMENT...]` with the
 * program's streams at 0, 1 and 2, the control socket (SEQPACKET) at 3, the directory to
 * start in at 4, and at 5 the Landlock ruleset, if there is one. The first message on the
 * control socket is there before the minder is: struct minder_orders. Each entry of its
 * environment is one of the program's with MINDER_ENV_MARK in front, so that nothing in it
 * (LD_PRELOAD, say) acts on the minder.
 */

#ifndef MINDER_MINDER_H
#define MINDER_MINDER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "minder/layers.h"

enum { MINDER_CONTROL = 3, MINDER_CWD = 4, MINDER_RULES = 5, MINDER_FDS = 6 };
#define MINDER_ENV_MARK '.'

/* How the program is confined: everything is decided by the owner, the minder takes the steps. A
 * step that fails keeps the program from starting. */
#define MINDER_LIMITS 8
#define MINDER_FILTER 1024 /* instructions; some 250 are used */
#define MINDER_KEEP UINT64_MAX

struct minder_orders {
	uint32_t layers; /* enum confine_layer: what the steps below amount to */
	uint32_t rules;  /* there is a ruleset */
	uint32_t limit_count;
	struct minder_limit {
		int32_t resource;
		uint32_t beyond;     /* the values count from what this machine runs now */
		uint64_t soft, hard; /* MINDER_KEEP: as it is */
	} limits[MINDER_LIMITS];
	uint64_t capabilities;                    /* that stay, of root's; MINDER_KEEP: all */
	uint32_t filter_len;                      /* 0: none */
	struct sock_filter filter[MINDER_FILTER]; /* only filter_len of them are sent */
};
#define MINDER_ORDERS_BYTES(filter_len)                                                            \
	(offsetof(struct minder_orders, filter) + (filter_len) * sizeof(struct sock_filter))

/* To the minder: one byte. The end of the stream means MINDER_KILL: the owner is dead. */
#define MINDER_END 'T'  /* the ladder: SIGTERM to everything, a grace, SIGKILL */
#define MINDER_KILL 'K' /* SIGKILL to everything */

/* How long SIGKILLed processes may take to go before the minder leaves them to the kernel. */
#define MINDER_STUCK_MS 10000

/* From the minder: MINDER_STARTED at most once, then one of the others, then the end. */
enum minder_word {
	MINDER_STARTED = 1, /* pid, start, layers: this process is about to become the program */
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
	uint32_t layers;
	char reason[128];
};

#endif
