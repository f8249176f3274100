/*
 * proc.h - who descends from whom, as /proc tells it.
 *
 * A number in /proc may belong to another process a moment later. A process is therefore
 * known by its pid and its start together, and every step from child to parent is believed
 * only when the parent is not the younger of the two. Nothing is signalled on a pid alone.
 */

#ifndef MINDER_PROC_H
#define MINDER_PROC_H

#include <stdbool.h>
#include <stdint.h>

struct proc {
	int pid;
	int parent;
	int group;
	int session;
	char state;     /* R, S, D, Z, ... of proc(5) */
	uint64_t start; /* clock ticks since boot */
};

bool proc_read(int pid, struct proc *ret); /* false: there is no such process */
uint64_t proc_now(void);                   /* the start of a process made at this moment */

/*
 * The child of `top` from which pid descends (pid itself, perhaps); 0 when pid does not
 * descend from top; -1 when it cannot be told: pid is gone, or its tree changes too fast.
 */
int proc_branch(int pid, const struct proc *top);

/* Signal just this process; 0 or a negative errno, -ESRCH when it is another one by now. */
int proc_signal(const struct proc *p, int signum);

/* Visit every process there is; 0 or a negative errno. */
int proc_each(void (*visit)(const struct proc *p, void *arg), void *arg);

#endif
