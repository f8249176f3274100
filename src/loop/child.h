/*
 * child.h - other programs, kept on a short leash.
 *
 * A child is never started directly: `holdfast-minder` (src/minder) stands between. It is
 * the parent of everything the command starts, has its own session and process group for
 * it, and ends all of it when the command is over, when told to, or when this process dies
 * in any way. So no descendant outlives its call, whatever it does (setsid, double fork,
 * ignoring SIGTERM), and also not when the daemon is killed with SIGKILL.
 *
 *   daemon --control socket--> minder --fork--> command --> ...
 *          <--stdout, stderr----------------------'
 *
 * Children have descriptors 0, 1, 2 only, an environment that was built (not inherited),
 * limits, what else their confinement says (confine.h), and a kill ladder: SIGTERM to the group, a
 * grace, SIGKILL to everything.
 */

#ifndef LOOP_CHILD_H
#define LOOP_CHILD_H

#include "loop/confine.h"
#include "loop/loop.h"

struct child;

enum child_stream { CHILD_STDOUT, CHILD_STDERR };

struct child_exit {
	bool ran;           /* false: never started; reason says why */
	int status;         /* exit code, when signal is 0 */
	int signal;         /* that ended it, or 0 */
	unsigned leftovers; /* descendants that were still there and were ended by SIGKILL */
	uint32_t layers;    /* what was put on it, for confine_text */
	char reason[128];   /* when !ran: "no such program: foo", ...; or how its minder was lost */
};

struct child_spec {
	const char *const *argv; /* argv[0] is a path, or a name looked up in env's PATH */
	const char *const *env;  /* NULL-terminated "K=V" */
	int cwd_fd;              /* directory to start in; borrowed */
	bool with_stdin;         /* a pipe to write to; otherwise /dev/null */
	unsigned grace_ms;       /* SIGTERM to SIGKILL */
	const struct confinement *confinement; /* NULL: open */
	void (*output)(struct child *c, enum child_stream stream, struct str bytes, void *arg);
	/* Where the next bytes may be read to, and how many, so that they need not be copied from
	 * elsewhere; NULL: anywhere. May itself be NULL. */
	char *(*room)(struct child *c, enum child_stream stream, size_t *ret_len, void *arg);
	/* It has closed its stdin: what was queued is lost. Once, when we find out by writing; not
	 * after child_close_stdin. May be NULL. */
	void (*unheard)(struct child *c, void *arg);
	/* Once, and last: the command is over, both streams are read to their end, nothing of it
	 * is alive. The child frees itself after this returns. */
	void (*over)(struct child *c, const struct child_exit *how, void *arg);
	void *arg;
};

/*
 * On success `over` will be called later, never inside this. E_SYSTEM, E_NOMEM; of a confinement
 * that cannot be had E_UNAVAILABLE and E_LIMIT.
 */
int child_start(struct loop *l, const struct child_spec *spec, struct child **ret, struct err *e);

/*
 * Bytes for its stdin (copied, queued up to LIMIT_LINE_BYTES * 2; E_LIMIT beyond, and then
 * none of them is taken). E_SYSTEM when stdin is closed, by us or by the command.
 */
int child_write(struct child *c, struct str bytes);
void child_close_stdin(struct child *c); /* after what is queued */

void child_end(struct child *c);    /* start the kill ladder; idempotent */
void child_kill(struct child *c);   /* SIGKILL to everything now */
void children_kill(struct loop *l); /* the same for every child on this loop */

/* Stop reading both streams while the consumer is full, and go on. A paused child whose
 * streams are not at their end is not over, though it may be dead. */
void child_pause(struct child *c, bool paused);

/* The process of the command, for showing; 0: it has not begun. */
int child_pid(struct child *c);

/* What was put on it, for confine_text; 0: it has not begun. */
uint32_t child_layers(struct child *c);

/* Where holdfast-minder is; found beside the running program or in libexecdir when not set. */
void child_set_minder(const char *path);

/*
 * True when pid is a child of ours or descends from one: such a process must not approve.
 * Also true when it cannot be told, because there is no such process (any more).
 */
bool child_is_ours(int pid);

/*
 * For a program that starts all its children by child_start: orphans of a minder that was
 * killed (a hostile command can do that) come to this process, which ends them. Without it
 * such a command loses its process group and session only. E_SYSTEM.
 */
int child_become_reaper(void);

/*
 * Who is at the other end of a TCP connection within this machine, from its port to ours?
 * PEER_UNKNOWN: it has let go of it already, or /proc does not tell.
 */
enum child_peer { PEER_STRANGER, PEER_OURS, PEER_UNKNOWN };
enum child_peer child_tcp_peer(uint16_t peer_port, uint16_t our_port);

#endif
