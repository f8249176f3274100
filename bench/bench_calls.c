/*
 * bench_calls.c - calls through the whole pipeline for a tool that does nothing.
 *
 * Journal, events, validation and policy are on, as for everybody. What the calls left to be
 * written is part of what they cost: a run is over when the journal holds it. `--calls N` runs N
 * calls one after the other and prints nothing: for counting instructions. `--hooks N` hangs so
 * many functions before and after each call that do nothing (bench/pipeline).
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/hf.h"

#define SESSIONS 16

static const char card[] = "{\"name\":\"noop\",\"description\":\"Does "
			   "nothing.\",\"capability\":\"none\",\"reversibility\":\"pure\","
			   "\"input_schema\":{\"type\":\"object\",\"properties\":{\"path\":{"
			   "\"type\":\"string\",\"maxLength\":4096},"
			   "\"limit\":{\"type\":\"integer\",\"minimum\":1}},\"required\":[\"path\"]"
			   ",\"additionalProperties\":false}}";

static void *
noop_make(void *arg)
{
	return arg;
}

static void
noop_free(void *instance)
{
	(void)instance;
}

static void
noop_start(void *instance, struct job *j)
{
	(void)instance;
	j->out.success = true;
	output_text(&j->out, S("nothing"));
	job_report_soon(j);
}

static const struct builtin_ops noop = {.make = noop_make, .free = noop_free, .start = noop_start};

/*
 * Valgrind does not know openat2 yet and says "not implemented", which a workspace takes for what
 * it is. Nothing is read or written here, so an ordinary open will do when instructions are
 * counted.
 */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long
__wrap_syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (size_t i = 0; i < ARRAY_LEN(a); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	long ret = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number != SYS_openat2 || ret >= 0 || errno != ENOSYS)
		return ret;
	const struct open_how *how = (const struct open_how *)a[2];
	return openat((int)a[0], (const char *)a[1], (int)how->flags, (mode_t)how->mode);
}

struct bench {
	struct hf *hf;
	struct session *sessions[SESSIONS];
	struct json_doc *input;
	size_t to_start, running, finished;
};

static void one_more(struct bench *b);

static void
over(struct turn *t, void *arg)
{
	struct bench *b = arg;

	(void)t;
	b->running--;
	b->finished++;
	one_more(b);
}

static void
one_more(struct bench *b)
{
	if (b->to_start == 0) {
		if (b->running == 0)
			loop_stop(b->hf->loop);
		return;
	}
	b->to_start--;
	b->running++;
	struct call_spec call = {.tool = S("noop"),
				 .input_doc = b->input,
				 .input = json_root(b->input)};
	struct turn_spec spec = {.calls = &call, .count = 1, .done = over, .arg = b};
	struct turn *turn;
	struct err e;
	if (gateway_submit(&b->hf->gw, b->sessions[b->to_start % SESSIONS], &spec, &turn, &e) < 0) {
		fprintf(stderr, "bench: %s\n", err_text(&e));
		exit(1);
	}
}

/* Microseconds: by the clock until the last result, and of the processor in all. */
struct cost {
	double passed_us, loop_us, others_us;
};

static double
cpu_us(clockid_t of)
{
	struct timespec ts;

	clock_gettime(of, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void
written(int code, void *arg)
{
	struct bench *b = arg;

	if (code < 0)
		exit(1);
	loop_stop(b->hf->loop);
}

static struct cost
run(struct bench *b, size_t calls, size_t together)
{
	double loop_us = cpu_us(CLOCK_THREAD_CPUTIME_ID), all_us = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
	struct cost cost;

	b->to_start = calls;
	b->finished = 0;
	uint64_t start_us = clock_mono_us();
	for (size_t i = 0; i < together; i++)
		one_more(b);
	loop_run(b->hf->loop);
	cost.passed_us = (double)(clock_mono_us() - start_us) / (double)calls;
	if (store_sync(b->hf->store, written, b) < 0)
		exit(1);
	loop_run(b->hf->loop);
	loop_us = cpu_us(CLOCK_THREAD_CPUTIME_ID) - loop_us;
	all_us = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - all_us;
	cost.loop_us = loop_us / (double)calls;
	cost.others_us = (all_us - loop_us) / (double)calls;
	return cost;
}

static void
say(const char *how, struct cost c)
{
	printf("calls: %s: %.0f calls/s, %.1f us each; processor: %.1f us on the loop, %.1f us on "
	       "other threads\n",
	       how, 1e6 / c.passed_us, c.passed_us, c.loop_us, c.others_us);
}

static void
open_bench(struct bench *b, const char *dir)
{
	struct err e;
	char id[40], state[64], config[64];

	snprintf(state, sizeof(state), "%s/state", dir);
	snprintf(config, sizeof(config), "%s/config.yaml", dir);
	FILE *f = fopen(config, "w");
	if (!f || fputs("tools: {defaults: {repeat_limit: 0}}\n", f) < 0 || fclose(f) != 0) {
		perror(config);
		exit(1);
	}
	if (hf_open(&(struct hf_options){.state = state, .config = config, .no_builtins = true},
		    &b->hf) < 0) {
		fprintf(stderr, "bench: %s\n", hf_error(NULL));
		exit(1);
	}
	struct builtin_spec spec = {.card = str_of(card), .ops = &noop, .arg = b};
	if (builtin_register(b->hf->builtins, b->hf->catalog, &spec, &e) < 0 ||
	    json_parse(S("{\"path\":\"README.md\",\"limit\":10}"), &json_door, &b->input, &e) < 0) {
		fprintf(stderr, "bench: %s\n", err_text(&e));
		exit(1);
	}
	for (size_t i = 0; i < SESSIONS; i++) {
		if (hf_session_open(b->hf, dir, false, id) < 0) {
			fprintf(stderr, "bench: %s\n", hf_error(b->hf));
			exit(1);
		}
		b->sessions[i] = session_find(b->hf->sessions, str_of(id));
	}
}

static void
look(struct hf_call *call, void *arg)
{
	(void)call;
	(void)arg;
}

static void
hang(struct bench *b, size_t hooks)
{
	for (size_t i = 0; i < hooks; i++)
		if (hf_hook_pre(b->hf, "*", look, NULL) < 0 ||
		    hf_hook_post(b->hf, "*", look, NULL) < 0)
			exit(1);
}

/* The number behind the word; 0: it is not there. */
static size_t
number_of(int argc, char **argv, const char *word)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], word) == 0)
			return strtoul(argv[i + 1], NULL, 10);
	return 0;
}

int
main(int argc, char **argv)
{
	struct bench b = {0};
	char dir[] = "/tmp/holdfast-bench-XXXXXX", command[64];
	size_t quiet = number_of(argc, argv, "--calls");

	log_set_level(LOG_ERROR);
	if (!mkdtemp(dir))
		return 1;
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	open_bench(&b, dir);
	hang(&b, number_of(argc, argv, "--hooks"));
	if (quiet) {
		run(&b, quiet, 1);
	} else {
		run(&b, 2000, 1); /* warm */
		say("one after the other", run(&b, 20000, 1));
		say("64 together", run(&b, 100000, 64));
	}
	json_doc_unref(b.input);
	hf_close(b.hf);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command) == 0 ? 0 : 1;
}
