/* tree.h - what a process and all it started cost, as the kernel counts it. */

#ifndef BENCH_TREE_H
#define BENCH_TREE_H

#include <stdint.h>
#include <sys/types.h>

/* Processes of this name are not part of what is measured: the server behind the gateway. */
#define TREE_APART "mcp_upstream"

struct tree {
	uint64_t cpu_ns; /* of the threads that live */
	uint64_t rss_kb;
	int processes;
};

struct tree tree_look(pid_t root); /* 0: nothing */

#endif
