/*
 * shell.c - run a command with /bin/sh in the workspace directory.
 *
 * The child library sees to it that nothing of the command survives. Here: the environment
 * it gets, what is kept of its output, its own time limit, and how the end is told.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "loop/child.h"
#include "loop/environ.h"
#include "provider/builtin/tools.h"

#define HALF (LIMIT_SHELL_OUTPUT / 2)

/* Both streams in the order they came: the first half of the limit, and the last. */
struct capture {
	struct buf head, tail;
	size_t total;
};

struct shell {
	struct job *job;
	struct child *child;
	struct timer timer;
	struct capture output;
	struct confinement confinement;
	int64_t timeout_s; /* 0 = only the call's own */
	bool timed_out;
};

/* Output. */

/* The tail may grow to twice what is kept before its front is dropped: each byte moves once. */
static void
capture_add(struct capture *c, struct str bytes)
{
	struct str first = str_upto(bytes, HALF - c->head.len);

	c->total += bytes.len;
	buf_add(&c->head, first);
	for (bytes = str_from(bytes, first.len); bytes.len; bytes = str_from(bytes, HALF)) {
		if (c->tail.len > HALF)
			buf_eat(&c->tail, c->tail.len - HALF);
		buf_add(&c->tail, str_upto(bytes, HALF));
	}
}

/* Cuts must not split a character: drop what is left of one at either side. */
static void
capture_write(struct buf *out, const struct capture *c)
{
	struct str head = buf_str(&c->head), tail = buf_str(&c->tail);

	if (c->total <= LIMIT_SHELL_OUTPUT) {
		buf_add(out, head);
		buf_add(out, tail);
		return;
	}
	tail = str_from(tail, tail.len > HALF ? tail.len - HALF : 0);
	for (int i = 0; i < 3 && tail.len && ((unsigned char)tail.ptr[0] & 0xc0) == 0x80; i++)
		tail = str_from(tail, 1);
	for (size_t cut = 1; cut <= 4 && cut <= head.len; cut++) {
		unsigned char last = (unsigned char)head.ptr[head.len - cut];
		if (last < 0x80)
			break;
		if (last >= 0xc0) { /* begins a character: whole, or to be dropped */
			if (!str_is_utf8(str_from(head, head.len - cut)))
				head.len -= cut;
			break;
		}
	}
	buf_add(out, head);
	buf_addf(out, "\n[%zu bytes left out]\n", c->total - head.len - tail.len);
	buf_add(out, tail);
}

static void
shell_output(struct child *c, enum child_stream stream, struct str bytes, void *arg)
{
	struct shell *sh = arg;

	(void)c;
	capture_add(&sh->output, bytes);
	if (sh->job->stream)
		sh->job->stream(sh->job, bytes, stream == CHILD_STDERR, sh->job->owner);
}

/* Environment. */

/* Everything a command gets to know of our environment. Secrets live in the rest. */
static const struct {
	const char *name;
	bool ours;          /* our own value, where there is one */
	const char *absent; /* otherwise; NULL: leave it out */
} variables[] = {
    {"USER", true, NULL},    {"LOGNAME", true, NULL},     {"LANG", true, "C.UTF-8"},
    {"LC_ALL", true, NULL},  {"TZ", true, NULL},          {"TMPDIR", true, "/tmp"},
    {"TERM", false, "dumb"}, {"SHELL", false, "/bin/sh"},
};

static bool
env_add(struct arena *a, const char **env, size_t *n, const char *name, const char *value)
{
	env[*n] = value ? arena_printf(a, "%s=%s", name, value) : NULL;
	return env[*n] && ++*n;
}

static const char *const *
env_build(struct arena *a, const struct workspace *ws)
{
	const char **env = arena_alloc(a, (ARRAY_LEN(variables) + 4) * sizeof(*env));
	size_t n = 0;

	if (!env || !env_add(a, env, &n, "PATH", environ_path(a)) ||
	    !env_add(a, env, &n, "PWD", workspace_path(ws)) ||
	    !env_add(a, env, &n, "HOME", environ_home()))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		const char *value = variables[i].ours ? getenv(variables[i].name) : NULL;
		if (!value || !*value || strlen(value) > ENVIRON_VALUE_MAX)
			value = variables[i].absent;
		if (value && !env_add(a, env, &n, variables[i].name, value))
			return NULL;
	}
	return env;
}

/* The end. */

static void
signal_text(int signum, char out[static 24])
{
	const char *name = sigabbrev_np(signum);

	if (name)
		snprintf(out, 24, "SIG%s", name);
	else
		snprintf(out, 24, "%d", signum);
}

static bool
capture_has(const struct capture *c, const char *words)
{
	size_t len = strlen(words);

	return (c->head.len && memmem(c->head.ptr, c->head.len, words, len)) ||
	       (c->tail.len && memmem(c->tail.ptr, c->tail.len, words, len));
}

/* Whoever meets the walls should know that they are walls, and whose. */
static void
confinement_write(struct buf *out, const struct shell *sh, const struct child_exit *how)
{
	const struct confinement *c = &sh->confinement;
	const struct workspace *ws = sh->job->context.workspace;
	bool met = how->signal == SIGSYS || capture_has(&sh->output, "ermission denied") ||
		   capture_has(&sh->output, "peration not permitted");

	if (c->profile <= CONFINE_OPEN || !met || (how->status == 0 && how->signal == 0))
		return;
	if (out->ptr[out->len - 1] != '\n')
		buf_addc(out, '\n');
	buf_addf(out, "[this ran confined (%s): it may write", confine_profile_name(c->profile));
	for (const char *const *path = c->write; path && *path; path++)
		buf_addf(out, " %s,", path[1] ? *path : workspace_path(ws));
	buf_addf(out,
		 " and TMPDIR=%s; more is for the user to allow, by `confinement` in the "
		 "configuration]\n",
		 c->temporary);
}

/* "$ {command}\nexit_code={rc}\n\n{text}", and how the end came about where it was not plain. */
static void
result_write(struct shell *sh, const struct child_exit *how)
{
	struct output *o = &sh->job->out;
	struct buf text = BUF_INIT(LIMIT_COMMAND_BYTES + LIMIT_SHELL_OUTPUT + 64 * KIB);
	char signame[24];

	signal_text(how->signal, signame);
	buf_addz(&text, "$ ");
	buf_add(&text, buf_str(&o->command));
	if (how->signal)
		buf_addf(&text, "\nsignal=%s\n\n", signame);
	else
		buf_addf(&text, "\nexit_code=%d\n\n", how->status);
	capture_write(&text, &sh->output);
	if (how->leftovers)
		buf_addf(&text, "%s[%u background process%s still running and ended]\n",
			 text.ptr[text.len - 1] == '\n' ? "" : "\n", how->leftovers,
			 how->leftovers == 1 ? " was" : "es were");
	confinement_write(&text, sh, how);
	output_text(o, buf_str(&text));
	o->streamed = sh->job->stream != NULL;
	o->content.failed = o->content.failed || buf_failed(&text);
	buf_done(&text);
	if (how->signal)
		buf_addf(&o->metadata, "\"exit_code\":null,\"signal\":\"%s\"", signame);
	else
		buf_addf(&o->metadata, "\"exit_code\":%d,\"signal\":null", how->status);
	buf_addf(&o->metadata, ",\"leftovers\":%u,\"bytes\":%zu", how->leftovers, sh->output.total);
}

static void
shell_over(struct child *c, const struct child_exit *how, void *arg)
{
	struct shell *sh = arg;
	struct job *j = sh->job;
	struct err *e = &j->out.err;

	(void)c;
	sh->child = NULL;
	timer_stop(j->loop, &sh->timer);
	j->out.layers = how->layers;
	if (how->ran) {
		result_write(sh, how);
		j->out.success = how->status == 0 && how->signal == 0;
	} else {
		err_set(e, E_EXECUTION, "the command could not be run: %s", how->reason);
	}
	if (sh->timed_out)
		err_set(e, E_TIMEOUT, "the command did not finish within %lld second%s",
			(long long)sh->timeout_s, sh->timeout_s == 1 ? "" : "s");
	else if (atomic_load(&j->cancelled))
		err_plain(e, E_CANCELLED);
	job_report(j);
}

static void
shell_timeout(void *arg)
{
	struct shell *sh = arg;

	sh->timed_out = true;
	child_end(sh->child);
}

static void
shell_cancel(void *instance, struct job *j)
{
	struct shell *sh = instance;

	(void)j;
	if (sh->child)
		child_end(sh->child);
}

/* The beginning. */

static void *
shell_make(void *arg)
{
	struct shell *sh = calloc(1, sizeof(*sh));

	(void)arg;
	if (sh) {
		sh->output.head = BUF_INIT(HALF);
		sh->output.tail = BUF_INIT(2 * HALF);
	}
	return sh;
}

static void
shell_free(void *instance)
{
	struct shell *sh = instance;

	CHECK(!sh->child);
	buf_done(&sh->output.head);
	buf_done(&sh->output.tail);
	free(sh);
}

static int
command_take(struct job *j)
{
	struct str command = argument_str(j, S("command"));

	if (str_index(command, '\0') >= 0)
		return err_set(&j->out.err, E_VALIDATION, "command: has a NUL character in it");
	if (command.len >= LIMIT_COMMAND_BYTES)
		return err_set(&j->out.err, E_VALIDATION,
			       "command: %zu bytes are too long; the limit is %zu", command.len,
			       LIMIT_COMMAND_BYTES - 1);
	buf_add(&j->out.command, command);
	return buf_failed(&j->out.command) ? err_plain(&j->out.err, E_NOMEM) : 0;
}

/* What may be written is the directory that is held: by its name it may be another one by now,
 * which a command of a workspace around this one has put there. It is the last of the list. */
static int
confinement_take(struct shell *sh, struct job *j)
{
	const struct workspace *ws = j->context.workspace;
	const char *const place[] = {arena_printf(j->arena, "/proc/self/fd/%d", workspace_fd(ws)),
				     NULL};
	const struct confinement said = {.profile = j->context.profile, .write = place};

	if (!place[0])
		return err_plain(&j->out.err, E_NOMEM);
	return confine_child(builtin_house(j), CONFINED_SHELL, &said, str_of(workspace_path(ws)),
			     j->arena, &sh->confinement, &j->out.err);
}

static int
command_start(struct shell *sh, struct job *j)
{
	struct err *e = &j->out.err;
	int rc = command_take(j);

	if (rc < 0 || (rc = confinement_take(sh, j)) < 0)
		return rc;
	const char *command = arena_strz(j->arena, buf_str(&j->out.command));
	const char *const *env = env_build(j->arena, j->context.workspace);
	if (!command || !env)
		return err_plain(e, E_NOMEM);
	const char *const argv[] = {"/bin/sh", "-c", command, NULL};
	struct child_spec spec = {
	    .argv = argv,
	    .env = env,
	    .cwd_fd = workspace_fd(j->context.workspace),
	    .grace_ms = LIMIT_KILL_GRACE_MS,
	    .confinement = &sh->confinement,
	    .output = shell_output,
	    .over = shell_over,
	    .arg = sh,
	};
	sh->timeout_s = argument_int(j, S("timeout_seconds"), 0);
	if (sh->timeout_s > 0 &&
	    timer_start(j->loop, &sh->timer, (uint64_t)sh->timeout_s * 1000, shell_timeout, sh) < 0)
		return err_plain(e, E_NOMEM);
	return child_start(j->loop, &spec, &sh->child, e);
}

static void
shell_start(void *instance, struct job *j)
{
	struct shell *sh = instance;

	sh->job = j;
	if (command_start(sh, j) < 0) {
		timer_stop(j->loop, &sh->timer);
		job_report_soon(j);
	}
}

static int
shell_preview(struct job *j)
{
	return command_take(j);
}

const struct builtin_ops shell_ops = {
    .make = shell_make,
    .free = shell_free,
    .start = shell_start,
    .cancel = shell_cancel,
    .preview = shell_preview,
};
