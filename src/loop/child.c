/*
 * child.c - the owner's side of a child: start its minder, carry its streams, hear its end.
 *
 * A child is over when three things have happened, in any order: the minder is gone and
 * reaped, nothing of the command is left, and both streams have ended.
 *
 *   alive --minder gone, with a report----------------------> draining --both ended--> over
 *         `-minder gone, without one--> sweeping --none left----^
 *
 * The minder's exit is watched by pidfd, not by SIGCHLD, which belongs to the host program.
 * The control socket is read then, or when somebody asks: all that was said on it is still there.
 */

#include "loop/child.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "loop/launch.h"
#include "minder/minder.h"
#include "minder/proc.h"

#define QUEUE_BYTES (LIMIT_LINE_BYTES * 2)
#define SWEEP_MS 20 /* between two looks for runaways */

/* The descriptors that are watched; the first two are numbered like enum child_stream. */
enum { OUT = CHILD_STDOUT, ERR = CHILD_STDERR, IN, MINDER, WATCHES };

struct watch {
	uv_poll_t poll;
	struct child *child;
	int fd;      /* -1: closed */
	bool polled; /* poll is a handle */
};

enum child_state { CHILD_ALIVE, CHILD_SWEEPING, CHILD_DRAINING, CHILD_OVER };

struct child {
	struct deferred flush; /* of queue */
	struct loop *loop;
	struct child_spec spec; /* argv, env, cwd_fd and confinement are not ours any more */
	enum confinement_profile profile;
	enum child_state state;
	struct watch watches[WATCHES];
	unsigned refs; /* one until it is over, and one for each handle */
	int control;
	pid_t minder;
	uint64_t start;      /* no later than the minder's, as in struct proc */
	struct proc command; /* pid and start; pid 0: never announced */
	bool reported;
	bool paused;
	bool ending;
	bool killing;
	bool in_closing;  /* close stdin when the queue is empty */
	struct buf queue; /* for stdin */
	size_t queue_sent;
	struct timer timer;      /* alive: patience with the minder; then as named by the state */
	uint64_t sweep_until_ms; /* when to leave runaways to the kernel */
	struct child_exit how;
	struct node node; /* in living */
};

/* Every child whose minder is not reaped, of all loops of this process. */
static pthread_mutex_t living_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list living;
static bool reaper;

/* Callers hold living_lock. */
static struct list *
living_list(void)
{
	if (!living.head.list)
		list_init(&living);
	return &living;
}

static bool
living_has(int minder)
{
	LIST_EACH (living_list(), n)
		if (CONTAINER_OF(n, struct child, node)->minder == minder)
			return true;
	return false;
}

/* Watches */

static void
child_unref(struct child *c)
{
	if (--c->refs > 0)
		return;
	buf_done(&c->queue);
	free(c);
}

/* Fails for want of kernel memory only. Sets O_NONBLOCK. */
static int
watch_open(struct watch *w, struct child *c)
{
	if (w->fd < 0)
		return 0;
	int rc = uv_poll_init(loop_uv(c->loop), &w->poll, w->fd);
	if (rc < 0)
		return rc;
	w->child = c;
	w->polled = true;
	c->refs++;
	return 0;
}

static void
watch_closed(uv_handle_t *handle)
{
	child_unref(CONTAINER_OF(handle, struct watch, poll)->child);
}

static void
watch_close(struct watch *w)
{
	if (w->polled)
		uv_close((uv_handle_t *)&w->poll, watch_closed);
	w->polled = false;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

static void child_over(struct child *c);

static void
child_settle(struct child *c)
{
	if (c->state == CHILD_DRAINING && c->watches[OUT].fd < 0 && c->watches[ERR].fd < 0)
		child_over(c);
}

/* Streams from the child */

/* One read. False when there is nothing (more) to be had now. */
static bool
stream_read(struct watch *w)
{
	struct child *c = w->child;
	enum child_stream stream = (enum child_stream)(w - c->watches);
	char few[1024], *bytes = NULL;
	size_t most = 0;

	if (c->spec.room)
		bytes = c->spec.room(c, stream, &most, c->spec.arg);
	if (!bytes && (bytes = loop__scratch(c->loop)))
		most = LOOP_SCRATCH;
	if (!bytes)
		bytes = few, most = sizeof(few);
	ssize_t n = read(w->fd, bytes, most);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		watch_close(w);
		return false;
	}
	if (c->spec.output)
		c->spec.output(c, stream, (struct str){bytes, (size_t)n}, c->spec.arg);
	return true;
}

static void
stream_ready(uv_poll_t *poll, int status, int events)
{
	struct watch *w = CONTAINER_OF(poll, struct watch, poll);

	(void)status; /* the read says it better */
	(void)events;
	stream_read(w);
	child_settle(w->child);
}

static void
streams_poll(struct child *c)
{
	for (int i = OUT; i <= ERR; i++) {
		if (c->watches[i].fd < 0)
			continue;
		if (c->paused)
			uv_poll_stop(&c->watches[i].poll);
		else
			uv_poll_start(&c->watches[i].poll, UV_READABLE, stream_ready);
	}
}

/*
 * Something that cannot be killed holds the pipe: take what is in it, and let go of it. (Or
 * the loop had no time to read for so long.)
 */
static void
drain_timeout(void *arg)
{
	struct child *c = arg;

	for (int i = OUT; i <= ERR; i++) {
		for (size_t n = 0; n < MIB && c->watches[i].fd >= 0; n += LOOP_SCRATCH)
			if (!stream_read(&c->watches[i]))
				break;
		watch_close(&c->watches[i]);
	}
	child_settle(c);
}

/* Nobody is blamed for the time in which reading was paused. */
static void
drain_wait(struct child *c)
{
	if (c->paused)
		timer_stop(c->loop, &c->timer);
	else /* out of memory: then as long as it takes */
		(void)timer_start(c->loop, &c->timer, LIMIT_CHILD_DRAIN_MS, drain_timeout, c);
}

void
child_pause(struct child *c, bool paused)
{
	if (c->paused == paused || c->state == CHILD_OVER)
		return;
	c->paused = paused;
	streams_poll(c);
	if (c->state == CHILD_DRAINING)
		drain_wait(c);
}

/* Stdin of the child */

static void queue_writable(uv_poll_t *poll, int status, int events);

static void
stdin_lost(struct child *c)
{
	watch_close(&c->watches[IN]);
	if (c->spec.unheard && !c->in_closing)
		c->spec.unheard(c, c->spec.arg);
}

/* All that is queued, as far as it goes; the rest when there is room again. */
static void
queue_write(void *arg)
{
	struct child *c = arg;
	struct watch *w = &c->watches[IN];
	struct str rest = str_from(buf_str(&c->queue), c->queue_sent);

	if (w->fd < 0)
		return;
	ssize_t n = write(w->fd, rest.ptr, rest.len);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		stdin_lost(c);
		return;
	}
	c->queue_sent += n > 0 ? (size_t)n : 0;
	if (c->queue_sent < c->queue.len) {
		uv_poll_start(&w->poll, UV_WRITABLE, queue_writable);
		return;
	}
	buf_reset(&c->queue);
	c->queue_sent = 0;
	if (c->in_closing)
		watch_close(w);
	else if (uv_is_active((uv_handle_t *)&w->poll))
		uv_poll_stop(&w->poll);
}

static void
queue_writable(uv_poll_t *poll, int status, int events)
{
	struct watch *w = CONTAINER_OF(poll, struct watch, poll);

	(void)events;
	if (status < 0)
		stdin_lost(w->child);
	else
		queue_write(w->child);
}

int
child_write(struct child *c, struct str bytes)
{
	struct watch *w = &c->watches[IN];

	if (w->fd < 0 || c->in_closing)
		return E_SYSTEM;
	if (bytes.len > QUEUE_BYTES - (c->queue.len - c->queue_sent))
		return E_LIMIT;
	if (bytes.len == 0)
		return 0;
	/* Half of it at least, so that all the moving together costs no more than the writing;
	 * or what it takes to stay below the buffer's maximum. */
	if (c->queue_sent >= c->queue.len / 2 || bytes.len > QUEUE_BYTES - c->queue.len) {
		buf_eat(&c->queue, c->queue_sent);
		c->queue_sent = 0;
	}
	buf_add(&c->queue, bytes);
	if (buf_failed(&c->queue)) {
		c->queue.failed = false; /* what was queued before is whole, and still goes out */
		return E_NOMEM;
	}
	if (!uv_is_active((uv_handle_t *)&w->poll))
		defer(c->loop, &c->flush, queue_write, c); /* once for all of this turn */
	return 0;
}

void
child_close_stdin(struct child *c)
{
	c->in_closing = true;
	if (c->queue.len == c->queue_sent)
		watch_close(&c->watches[IN]);
}

/* The end */

static void
child_over(struct child *c)
{
	c->state = CHILD_OVER;
	defer_cancel(&c->flush);
	timer_stop(c->loop, &c->timer);
	for (int i = 0; i < WATCHES; i++)
		watch_close(&c->watches[i]);
	c->spec.over(c, &c->how, c->spec.arg);
	loop__ends(c->loop);
	child_unref(c);
}

static void
child_drain(struct child *c)
{
	c->state = CHILD_DRAINING;
	drain_wait(c);
	child_settle(c);
}

/* A look for what a killed minder has left to nobody. */
struct sweep {
	struct child *child;
	struct proc self;
	bool group;         /* the command's number is still its own as a group and a session */
	unsigned found;     /* to be looked for again */
	unsigned leftovers; /* of these, alive */
};

/*
 * Of the command's session or group, and not older than the command; or below this process
 * by another way than a living minder, and not older than the dead one.
 */
static bool
sweep_is_runaway(const struct sweep *s, const struct proc *p)
{
	const struct child *c = s->child;

	if (s->group && p->start >= c->command.start &&
	    (p->session == c->command.pid || p->group == c->command.pid))
		return true;
	if (!reaper || p->start < c->start)
		return false;
	int branch = proc_branch(p->pid, &s->self);
	return branch > 0 && !living_has(branch);
}

static void
sweep_visit(const struct proc *p, void *arg)
{
	struct sweep *s = arg;

	if (!sweep_is_runaway(s, p))
		return;
	proc_signal(p, SIGKILL);
	if (p->parent == s->self.pid)
		waitpid(p->pid, NULL, WNOHANG);
	s->found += p->state != 'Z' || p->parent == s->self.pid;
	s->leftovers += p->state != 'Z' && p->pid != s->child->command.pid;
}

static void
sweep(void *arg)
{
	struct child *c = arg;
	struct sweep s = {.child = c};
	struct proc leader;

	bool taken = proc_read(c->command.pid, &leader) && leader.start != c->command.start;
	s.group = c->command.pid > 0 && !taken;
	pthread_mutex_lock(&living_lock);
	if (proc_read(getpid(), &s.self))
		proc_each(sweep_visit, &s);
	pthread_mutex_unlock(&living_lock);
	if (s.leftovers > c->how.leftovers)
		c->how.leftovers = s.leftovers; /* not added: the same may be met twice */
	if (s.found == 0 || loop_now_ms(c->loop) >= c->sweep_until_ms ||
	    timer_start(c->loop, &c->timer, SWEEP_MS, sweep, c) < 0)
		child_drain(c);
}

static void
note_take(struct child *c, struct minder_note *note)
{
	note->reason[sizeof(note->reason) - 1] = '\0';
	switch ((enum minder_word)note->word) {
	case MINDER_STARTED:
		c->command.pid = note->pid;
		c->command.start = note->start;
		c->how.layers = CONFINE_LAYERS(c->profile, note->layers | LAYER_ENVIRONMENT);
		return;
	case MINDER_FAILED:
		snprintf(c->how.reason, sizeof(c->how.reason), "%.*s",
			 STR_ARG(str_utf8_upto(str_of(note->reason), sizeof(c->how.reason) - 1)));
		break;
	case MINDER_OVER:
		c->how.ran = true;
		c->how.status = note->status;
		c->how.signal = note->signal;
		c->how.leftovers = note->leftovers;
		break;
	}
	c->reported = true;
}

static void
notes_read(struct child *c)
{
	struct minder_note note;

	while (recv(c->control, &note, sizeof(note), MSG_DONTWAIT) == sizeof(note))
		note_take(c, &note);
}

int
child_pid(struct child *c)
{
	if (c->state == CHILD_ALIVE && c->command.pid == 0)
		notes_read(c);
	return c->command.pid;
}

uint32_t
child_layers(struct child *c)
{
	(void)child_pid(c);
	return c->how.layers;
}

/* By pidfd: a host that waits for anybody may have taken it, and its pid may be another's. */
static void
minder_reap(struct child *c)
{
	siginfo_t dead;

	while (waitid(P_PIDFD, (id_t)c->watches[MINDER].fd, &dead, WEXITED) < 0 && errno == EINTR)
		;
}

static void
minder_gone(uv_poll_t *poll, int status, int events)
{
	struct child *c = CONTAINER_OF(poll, struct watch, poll)->child;

	(void)status;
	(void)events;
	timer_stop(c->loop, &c->timer);
	notes_read(c);
	close(c->control);
	c->control = -1;
	pthread_mutex_lock(&living_lock);
	minder_reap(c);
	list_remove(&c->node);
	pthread_mutex_unlock(&living_lock);
	watch_close(&c->watches[MINDER]);
	if (c->reported) {
		child_drain(c);
		return;
	}
	c->how.ran = c->command.pid > 0;
	c->how.signal = c->how.ran ? SIGKILL : 0; /* by its leash */
	snprintf(c->how.reason, sizeof(c->how.reason), "its minder was killed");
	c->state = CHILD_SWEEPING;
	c->sweep_until_ms = loop_now_ms(c->loop) + MINDER_STUCK_MS;
	sweep(c);
}

static void
minder_signal(const struct child *c, int signum)
{
	syscall(SYS_pidfd_send_signal, c->watches[MINDER].fd, signum, NULL, 0);
}

static void
minder_late(void *arg)
{
	minder_signal(arg, SIGKILL); /* then its death is handled like any other */
}

/* SIGCONT, because the command may have stopped its minder. */
static void
minder_order(struct child *c, char order, uint64_t patience_ms)
{
	if (c->state != CHILD_ALIVE)
		return;
	if (send(c->control, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		minder_signal(c, SIGKILL);
	minder_signal(c, SIGCONT);
	/* out of memory: then the minder is trusted to be quick */
	(void)timer_start(c->loop, &c->timer, patience_ms, minder_late, c);
}

void
child_end(struct child *c)
{
	if (!c->ending && !c->killing)
		minder_order(c, MINDER_END, (uint64_t)c->spec.grace_ms + LIMIT_CHILD_MINDER_MS);
	c->ending = true;
}

void
child_kill(struct child *c)
{
	if (!c->killing)
		minder_order(c, MINDER_KILL, LIMIT_CHILD_MINDER_MS);
	c->killing = true;
}

void
children_kill(struct loop *l)
{
	pthread_mutex_lock(&living_lock);
	LIST_EACH (living_list(), n) {
		struct child *c = CONTAINER_OF(n, struct child, node);
		if (c->loop == l)
			child_kill(c);
	}
	pthread_mutex_unlock(&living_lock);
}

/* The start */

static struct child *
child_new(struct loop *l, const struct child_spec *spec)
{
	struct child *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->loop = l;
	c->spec = *spec;
	c->profile = spec->confinement && spec->confinement->profile ? spec->confinement->profile
								     : CONFINE_OPEN;
	c->refs = 1;
	c->queue = BUF_INIT(QUEUE_BYTES);
	return c;
}

/* Without its exit being heard of a minder must not be: the end of the control socket ends it. */
static void
child_abandon(struct child *c)
{
	close(c->control);
	minder_reap(c);
	for (int i = 0; i < WATCHES; i++)
		watch_close(&c->watches[i]);
	child_unref(c);
}

static int
child_watch(struct child *c, const struct launched *new)
{
	int rc = 0;

	c->control = new->control;
	c->minder = new->pid;
	c->watches[OUT].fd = new->streams[STDOUT_FILENO];
	c->watches[ERR].fd = new->streams[STDERR_FILENO];
	c->watches[IN].fd = new->streams[STDIN_FILENO];
	c->watches[MINDER].fd = new->pidfd;
	for (int i = 0; i < WATCHES && rc == 0; i++)
		rc = watch_open(&c->watches[i], c);
	return rc;
}

int
child_start(struct loop *l, const struct child_spec *spec, struct child **ret, struct err *e)
{
	struct launched new;
	struct child *c = child_new(l, spec);

	if (!c)
		return err_plain(e, E_NOMEM);
	c->start = proc_now();
	/* Locked from before it exists, or a sweep on another loop could take it for a runaway. */
	pthread_mutex_lock(&living_lock);
	int rc = child__launch(spec, &new, e), watched = 0;
	if (rc == 0 && (watched = child_watch(c, &new)) == 0)
		list_push(living_list(), &c->node);
	pthread_mutex_unlock(&living_lock);
	if (rc < 0) {
		child_unref(c);
		return rc;
	}
	if (watched < 0) {
		child_abandon(c);
		return err_errno(e, E_SYSTEM, -watched, "watch a child");
	}
	loop__begins(l);
	uv_poll_start(&c->watches[MINDER].poll, UV_READABLE, minder_gone);
	streams_poll(c);
	*ret = c;
	return 0;
}

/* Whose they are */

bool
child_is_ours(int pid)
{
	struct proc self;

	if (!proc_read(getpid(), &self))
		return true;
	int branch = proc_branch(pid, &self);
	if (branch <= 0)
		return branch < 0;
	pthread_mutex_lock(&living_lock);
	bool ours = reaper || living_has(branch);
	pthread_mutex_unlock(&living_lock);
	return ours;
}

int
child_become_reaper(void)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return E_SYSTEM;
	reaper = true;
	return 0;
}
