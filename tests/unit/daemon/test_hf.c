/* test_hf.c - a gateway from its first descriptor to its last: what comes late, what was left. */

#include "call/world.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>

#define LATE_FDS 1000
#define CARD(name)                                                                                 \
	"{\"name\":\"" name "\",\"description\":\"For tests.\",\"capability\":\"none\","           \
	"\"reversibility\":\"pure\",\"input_schema\":{\"type\":\"object\"}}"

/* Somebody who connects until it is refused, and asks for the end meanwhile. */
struct caller {
	struct hf *hf;
	int fds[LATE_FDS];
	size_t count;
	int refusal;
};

static void *
connect_until_refused(void *arg)
{
	struct caller *c = arg;

	while (c->count < LATE_FDS && c->refusal != E_STOPPING) {
		c->refusal = hf_connect(c->hf, &c->fds[c->count]);
		c->count += c->refusal == 0;
		if (c->count == 10)
			hf_stop(c->hf);
	}
	return NULL;
}

static void
test_2_whoever_connects_too_late_is_not_kept_waiting(void **state)
{
	struct world *w = world_new(NULL);
	struct caller *c = calloc(1, sizeof(*c));
	pthread_t thread;
	int fd;

	(void)state;
	c->hf = w->hf;
	assert_int_equal(pthread_create(&thread, NULL, connect_until_refused, c), 0);
	hf_run(w->hf);
	assert_int_equal(hf_connect(w->hf, &fd), E_STOPPING);
	pthread_join(thread, NULL);
	for (size_t i = 0; i < c->count; i++) {
		struct pollfd p = {.fd = c->fds[i], .events = POLLIN};
		char byte;
		assert_int_equal(poll(&p, 1, 20000), 1);
		assert_true(read(c->fds[i], &byte, 1) <= 0);
		close(c->fds[i]);
	}
	free(c);
	world_free(w);
}

/* Workers that are all busy, as with a disk that does not answer. */
struct block {
	atomic_uint entered;
	sem_t go_on;
};
static struct block block;

static int
wait_for_leave(void *instance, struct hf_job *job)
{
	(void)instance;
	(void)job;
	atomic_fetch_add(&block.entered, 1);
	while (sem_wait(&block.go_on) < 0)
		;
	return 0;
}
static const struct hf_tool blocker = {.run = wait_for_leave};

static int
ask(struct world *w, const char *head, const char *body)
{
	char text[512];
	int fd;
	int n = snprintf(text, sizeof(text), "%s\r\nHost: localhost\r\n", head);

	if (body)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "Content-Type: application/json\r\nContent-Length: %zu\r\n",
			      strlen(body));
	n += snprintf(text + n, sizeof(text) - (size_t)n, "\r\n%s", body ? body : "");
	assert_int_equal(hf_connect(w->hf, &fd), 0);
	assert_int_equal(write(fd, text, (size_t)n), n);
	return fd;
}

static bool
answered(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void
assert_answer(struct world *w, int fd, const char *status)
{
	char text[4096];

	UNTIL(w, answered(fd));
	ssize_t n = read(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	if (!strstr(text, status))
		fail_msg("'%s' is not in '%s'", status, text);
	close(fd);
}

static void
test_2_a_slow_disk_holds_up_only_who_opens_a_session_on_it(void **state)
{
	struct world *w = world_new(NULL);
	struct result busy;
	char body[256], attach[256];

	(void)state;
	snprintf(body, sizeof(body), "{\"workspace\":\"%s\"}", w->workspace);
	snprintf(attach, sizeof(attach),
		 "GET /mcp/stdio?workspace=%s HTTP/1.1\r\nConnection: Upgrade\r\n"
		 "Upgrade: mcp-stdio",
		 w->workspace);
	assert_int_equal(hf_register(w->hf, CARD("blocker"), &blocker, NULL), 0);
	world_start(w, "blocker", "{}", &busy);
	UNTIL(w, atomic_load(&block.entered) == 1);

	int gone = ask(w, "POST /sessions HTTP/1.1", body);
	int session = ask(w, "POST /sessions HTTP/1.1", body);
	int client = ask(w, attach, NULL);
	UNTIL(w, http_connections(front_server(w->hf->front)) == 3);
	assert_answer(w, ask(w, "GET /status HTTP/1.1", NULL), " 200 ");
	assert_answer(w, ask(w, "GET /status HTTP/1.1", NULL), "\"sessions\":1,");
	assert_false(answered(session) || answered(client));
	close(gone);
	UNTIL(w, http_connections(front_server(w->hf->front)) == 2);

	sem_post(&block.go_on);
	assert_answer(w, session, " 201 ");
	assert_answer(w, client, " 101 ");
	UNTIL(w, busy.here && http_connections(front_server(w->hf->front)) == 0);
	/* The world's and one more; that of the client ended with it, nobody's was never opened. */
	assert_int_equal(sessions_count(w->hf->sessions), 2);
	result_free(&busy);
	world_free(w);
}

static void
test_2_a_session_that_comes_too_late_for_its_gateway_is_none(void **state)
{
	struct world *w = world_new(NULL);
	struct result busy;
	char body[256];

	(void)state;
	snprintf(body, sizeof(body), "{\"workspace\":\"%s\"}", w->workspace);
	assert_int_equal(hf_register(w->hf, CARD("blocker"), &blocker, NULL), 0);
	atomic_store(&block.entered, 0);
	world_start(w, "blocker", "{}", &busy);
	UNTIL(w, atomic_load(&block.entered) == 1);
	int session = ask(w, "POST /sessions HTTP/1.1", body);
	UNTIL(w, http_connections(front_server(w->hf->front)) == 1);
	world_turn(w);
	hf_stop(w->hf);
	UNTIL(w, w->hf->stopping);
	sem_post(&block.go_on);
	assert_answer(w, session, " 503 ");
	UNTIL(w, busy.here);
	result_free(&busy);
	world_free(w);
}

static struct job *
start_job(struct world *w, const char *tool, const char *input)
{
	struct job_spec spec = {.kind = JOB_RUN,
				.tool = catalog_find(w->hf->catalog, str_of(tool))};
	struct job *j;
	struct err e;

	assert_int_equal(json_parse(str_of(input), &json_door, &spec.input_doc, &e), 0);
	spec.input = json_root(spec.input_doc);
	spec.context.session = spec.context.turn = spec.context.tool_use_id = S("x");
	assert_int_equal(workspace_open(w->workspace, NULL, &spec.context.workspace, &e), 0);
	assert_int_equal(job_start(w->hf->loop, &spec, &j, &e), 0);
	json_doc_unref(spec.input_doc);
	workspace_unref(spec.context.workspace);
	return j;
}

static pid_t
pid_written(const char *path)
{
	FILE *f = fopen(path, "r");
	int pid = 0;

	if (f && fscanf(f, "%d\n", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

static void
test_2_a_command_left_behind_ends_with_its_gateway(void **state)
{
	struct world *w = world_new(NULL);
	char path[256];
	pid_t pid = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/pid", w->workspace);
	struct job *j =
	    start_job(w, "shell",
		      "{\"command\":\"trap '' TERM; echo $$ >p; mv p pid; sleep 1000\"}");
	UNTIL(w, (pid = pid_written(path)) > 0);
	job_cancel(j);
	job_free(&j);
	world_free(w);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static bool
says(struct world *w, const char *tool, const char *input, const char *part)
{
	struct result r = world_call(w, tool, input);
	bool so = r.is_error && contains(result_text(&r), part);

	result_free(&r);
	return so;
}

/* A program that holds a gateway names nobody, as one person at any other door. */
static void
test_7_sessions_of_the_library_are_the_default_agents(void **state)
{
	struct world *w = world_new("tenants: {default: {disabled: [list_dir]}}\n");
	struct agent *a = NULL;
	struct activation *made;
	struct err e;

	(void)state;
	assert_true(says(w, "list_dir", "{\"path\":\".\"}", "not enabled for this agent"));
	assert_int_equal(agent_named(w->hf->tenants, S("default"), S("default"), &a, &e), 0);
	assert_ptr_equal(session_find(w->hf->sessions, str_of(w->session))->owner, a);
	struct activation_says off = {S("read_file"), false, NULL};
	assert_int_equal(activation_put(w->hf->tenants, a, &off, &made, &e), 0);
	assert_true(says(w, "read_file", "{\"path\":\".\"}", "not enabled for this agent"));
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_2_whoever_connects_too_late_is_not_kept_waiting),
	    cmocka_unit_test(test_2_a_slow_disk_holds_up_only_who_opens_a_session_on_it),
	    cmocka_unit_test(test_2_a_session_that_comes_too_late_for_its_gateway_is_none),
	    cmocka_unit_test(test_2_a_command_left_behind_ends_with_its_gateway),
	    cmocka_unit_test(test_7_sessions_of_the_library_are_the_default_agents),
	};
	sem_init(&block.go_on, 0, 0);
	pool__most = 1; /* so that one tool is enough to block it */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
