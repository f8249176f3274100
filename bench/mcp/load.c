/*
 * load.c - calls an MCP server as fast as it answers, and says what that cost.
 *
 *   mcp_load [OPTION...] -u URL              HTTP, a connection for each call in flight
 *   mcp_load [OPTION...] -- COMMAND [ARG...] stdio, all calls in flight on one pair of pipes
 *   mcp_load [OPTION...] -u URL -- COMMAND   starts the command and speaks HTTP to it
 *
 *   -n N        calls in flight (1)            -m METHOD   tools/call, or tools/list
 *   -s SECONDS  that are measured (2)          -t TOOL     its name (echo)
 *   -w SECONDS  before that (0.3)              -a JSON     its arguments
 *   -p PID      whose tree is measured         -b BYTES    a shorter answer is a failure
 *   -c CPU      to stay on                     -M          modern wire, else legacy
 *   -C          cold start: from starting the command to the first list that names the tool;
 *               memory is looked at a second later
 *
 * Closed loop: the next call starts when the last was answered. A list of several pages is one
 * call. Prints one line of JSON.
 */

#include "tree.h"
#include "wire.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define LANES 1024
#define EVENTS 256
#define NO_TWO                                                                                     \
	"#00000" /* a number there: agents that say the same again and again are asked about */
#define FIRST_ID 1000000000u /* ids have ten digits: they are changed in place */
#define ID_DIGITS 10
#define LOOK_US 100000
#define PATIENCE_US 30000000
#define REST_US 1000000
#define MAX_BYTES (1u << 20)

#define CLIENT "{\"name\":\"load\",\"version\":\"1\"}"
#define META                                                                                       \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientInfo\":" CLIENT ","                                       \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"

enum step { HELLO, HEARD, CALLS };

/* One call at a time. */
struct lane {
	struct peer *peer; /* its own over HTTP, everybody's over stdio */
	enum step step;
	char session[128];
	struct buf request; /* built once, then only its id changes */
	size_t id_at;       /* 0: a note */
	size_t no_two_at;   /* 0: the arguments are not ours */
	bool turned;        /* it asks for a later page of a list */
	bool named;         /* the tool was in the list */
	size_t bytes;       /* of its answer so far */
	uint64_t id;
	uint64_t began_us; /* the call; its first page */
};

static struct {
	int port;
	char path[256];
	char **command;
	unsigned in_flight;
	double seconds;
	double warm_seconds;
	const char *method;
	const char *tool;
	const char *arguments;
	size_t min_bytes;
	bool modern;
	bool cold;
	pid_t root; /* of the tree that is measured */
} want = {.in_flight = 1,
	  .seconds = 2,
	  .warm_seconds = 0.3,
	  .method = "tools/call",
	  .tool = "echo",
	  .arguments = "{\"message\":\"hello" NO_TWO "\"}"};

static struct peer peers[LANES];
static struct lane lanes[LANES];
static pid_t child;

static struct {
	bool on;
	uint64_t began_us;
	uint32_t *taken_us; /* of each call */
	size_t calls;
	size_t room;
	uint64_t failed;
	size_t answer_bytes; /* of the last call */
	char failure[256];   /* the first */
	struct tree before;
	uint64_t idle_kb;
	uint64_t peak_kb;
	bool over;
} seen;

/* What is said */

static void
body_write(struct buf *b, enum step step, struct str cursor)
{
	static const char hello[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":1000000000,\"method\":\"initialize\","
	    "\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
	    "\"clientInfo\":" CLIENT "}}";
	static const char heard[] =
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

	if (step != CALLS) {
		buf_addz(b, step == HELLO ? hello : heard);
		return;
	}
	buf_addf(b, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{", FIRST_ID,
		 want.method);
	if (strcmp(want.method, "tools/call") == 0)
		buf_addf(b, "\"name\":\"%s\",\"arguments\":%s%s", want.tool, want.arguments,
			 want.modern ? "," : "");
	else if (cursor.ptr)
		buf_addf(b, "\"cursor\":%.*s%s", STR_ARG(cursor), want.modern ? "," : "");
	buf_addz(b, want.modern ? META "}}" : "}}");
}

static void
head_write(struct buf *b, const struct lane *l, size_t body_len)
{
	buf_addf(b,
		 "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
		 "Accept: application/json, text/event-stream\r\nContent-Length: %zu\r\n",
		 want.path, want.port, body_len);
	if (l->step != HELLO)
		buf_addf(b, "MCP-Protocol-Version: %s\r\n",
			 want.modern ? "2026-07-28" : "2025-11-25");
	if (want.modern)
		buf_addf(b, "Mcp-Method: %s\r\n", want.method);
	if (want.modern && strcmp(want.method, "tools/call") == 0)
		buf_addf(b, "Mcp-Name: %s\r\n", want.tool);
	if (l->session[0])
		buf_addf(b, "Mcp-Session-Id: %s\r\n", l->session);
	buf_addz(b, "\r\n");
}

static void
request_write(struct lane *l, struct str cursor)
{
	struct buf body = BUF_INIT(MAX_BYTES);

	body_write(&body, l->step, cursor);
	buf_done(&l->request);
	l->request.max = MAX_BYTES;
	if (l->peer->framing == HTTP)
		head_write(&l->request, l, body.len);
	size_t body_at = l->request.len;
	buf_add(&l->request, buf_str(&body));
	if (l->peer->framing == LINES)
		buf_addc(&l->request, '\n');
	const char *id = memmem(body.ptr, body.len, "\"id\":", 5);
	l->id_at = id ? body_at + (size_t)(id - body.ptr) + 5 : 0;
	const char *no_two = memmem(body.ptr, body.len, NO_TWO, sizeof(NO_TWO) - 1);
	l->no_two_at = no_two ? body_at + (size_t)(no_two - body.ptr) + 1 : 0;
	buf_done(&body);
}

/* The same again under a new id. Over stdio the id says which lane it is. */
static void
request_send(struct lane *l)
{
	char digits[24];

	l->id += want.in_flight;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)l->id);
	if (l->id_at)
		memcpy(l->request.ptr + l->id_at, digits, ID_DIGITS);
	if (l->no_two_at)
		memcpy(l->request.ptr + l->no_two_at, digits + ID_DIGITS - 5, 5);
	buf_add(&l->peer->out, buf_str(&l->request));
	if (l->peer->framing == HTTP)
		peer_flush(l->peer);
}

static void
lane_begin(struct lane *l, enum step step)
{
	l->step = step;
	request_write(l, (struct str){NULL, 0});
	l->began_us = clock_mono_us();
	request_send(l);
}

/* The next call. */
static void
lane_again(struct lane *l)
{
	if (l->turned)
		request_write(l, (struct str){NULL, 0});
	l->turned = false;
	l->began_us = clock_mono_us();
	request_send(l);
}

/* What is heard */

static void
fail(const char *why, struct str text)
{
	seen.failed++;
	if (seen.failure[0])
		return;
	snprintf(seen.failure, sizeof(seen.failure), "%s: %.*s", why,
		 (int)(text.len < 160 ? text.len : 160), text.ptr ? text.ptr : "");
	for (char *c = seen.failure; *c; c++)
		if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
			*c = '\'';
}

/* Both ends of a long text are enough to know it by. */
static const char *
ends_find(struct str text, const char *what)
{
	const size_t part = 2048;
	struct str tail = str_from(text, text.len > part ? text.len - part : 0);
	const char *at = memmem(text.ptr, text.len < part ? text.len : part, what, strlen(what));

	return at ? at : memmem(tail.ptr, tail.len, what, strlen(what));
}

static bool
answer_good(struct str body)
{
	return ends_find(body, "\"result\"") && !ends_find(body, "\"isError\":true");
}

static void
call_count(uint64_t taken_us)
{
	if (seen.calls == seen.room) {
		seen.room = seen.room ? seen.room * 2 : 1 << 16;
		seen.taken_us = realloc(seen.taken_us, seen.room * sizeof(*seen.taken_us));
		CHECK(seen.taken_us);
	}
	seen.taken_us[seen.calls++] = (uint32_t)taken_us;
}

/* The list goes on: its next page is part of the same call. */
static bool
page_turn(struct lane *l, struct str body)
{
	const char *next =
	    strcmp(want.method, "tools/list") ? NULL : ends_find(body, "\"nextCursor\"");
	const char *from =
	    next ? memchr(next + 12, '"', (size_t)(body.ptr + body.len - next - 12)) : NULL;
	const char *to =
	    from ? memchr(from + 1, '"', (size_t)(body.ptr + body.len - from - 1)) : NULL;

	if (!to)
		return false;
	request_write(l, (struct str){from, (size_t)(to + 1 - from)});
	l->turned = true;
	request_send(l);
	return true;
}

static bool
names_tool(struct str body)
{
	char quoted[160];

	snprintf(quoted, sizeof(quoted), "\"%s\"", want.tool);
	return memmem(body.ptr, body.len, quoted, strlen(quoted));
}

static void
call_answered(struct lane *l, struct str body)
{
	bool good = body.len >= want.min_bytes && answer_good(body);

	l->bytes += body.len;
	l->named = want.cold && (l->named || names_tool(body));
	if (good && page_turn(l, body))
		return;
	if (!good)
		fail("answer", body);
	else if (l->named || !want.cold)
		call_count(clock_mono_us() - l->began_us);
	seen.answer_bytes = l->bytes;
	l->bytes = 0;
	if (l->named)
		seen.over = true;
	else
		lane_again(l);
}

/* A step's answer; over stdio a note has none. */
static void
lane_heard(struct lane *l, struct message m)
{
	if (l->step == CALLS) {
		call_answered(l, m.body);
		return;
	}
	if (l->step == HELLO && !answer_good(m.body)) {
		fail("initialize", m.body.len ? m.body : m.head);
		seen.over = !want.cold;
	}
	struct str session = head_field(m.head, "mcp-session-id");
	if (session.ptr)
		snprintf(l->session, sizeof(l->session), "%.*s", STR_ARG(session));
	lane_begin(l, l->step + 1);
}

/* Over stdio one lane says hello for all. */
static void
line_heard(struct message m)
{
	uint64_t id;

	if (!str_to_u64(json_member(m.body, "id"), &id) || id < FIRST_ID)
		return; /* a note */
	struct lane *l = &lanes[id % want.in_flight];
	if (l->step == CALLS) {
		lane_heard(l, m);
		return;
	}
	lane_heard(l, m);
	lane_begin(l, CALLS);
	for (unsigned i = 0; i < want.in_flight; i++)
		if (&lanes[i] != l)
			lane_begin(&lanes[i], CALLS);
}

/* Who it is said to */

static void
lane_connect(struct lane *l, bool again)
{
	int fd = wire_connect(want.port);

	if (fd < 0) {
		fail("connect", S("refused"));
		seen.over = true;
		return;
	}
	peer_open(l->peer, fd, fd, HTTP);
	if (again)
		fail("closed", S("connection"));
	lane_begin(l, want.modern || l->session[0] ? CALLS : HELLO);
}

static void
peer_hear(struct peer *p, uint32_t events)
{
	struct message m;

	if (events & EPOLLOUT)
		peer_flush(p);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	if (!peer_read(p)) {
		if (p->framing == LINES) {
			fail("closed", S("pipe"));
			seen.over = true;
			return;
		}
		peer_close(p);
		lane_connect(&lanes[p - peers], true);
		return;
	}
	while (!seen.over && peer_next(p, &m))
		if (p->framing == HTTP)
			lane_heard(&lanes[p - peers], m);
		else
			line_heard(m);
	peer_flush(p);
}

static void
child_start(int in, int out)
{
	CHECK(want.command);
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		dup2(in >= 0 ? in : open("/dev/null", O_RDWR), STDIN_FILENO);
		dup2(out >= 0 ? out : STDERR_FILENO, STDOUT_FILENO);
		execvp(want.command[0], want.command);
		perror(want.command[0]);
		_exit(127);
	}
	CHECK(child > 0);
	want.root = child;
}

static void
start_stdio(void)
{
	int there[2];
	int home[2];

	CHECK(pipe2(there, O_CLOEXEC) == 0 && pipe2(home, O_CLOEXEC) == 0);
	child_start(there[0], home[1]);
	close(there[0]);
	close(home[1]);
	peer_open(&peers[0], home[0], there[1], LINES);
	for (unsigned i = 0; i < want.in_flight; i++)
		lanes[i].peer = &peers[0];
	lane_begin(&lanes[0], want.modern ? CALLS : HELLO);
	for (unsigned i = 1; i < want.in_flight && want.modern; i++)
		lane_begin(&lanes[i], CALLS);
	peer_flush(&peers[0]);
}

static void
start_http(uint64_t since_us)
{
	int fd = -1;

	if (want.command)
		child_start(-1, -1);
	while (want.command && (fd = wire_connect(want.port)) < 0 &&
	       clock_mono_us() - since_us < PATIENCE_US && waitpid(child, NULL, WNOHANG) == 0)
		usleep(200);
	if (fd >= 0)
		close(fd);
	for (unsigned i = 0; i < want.in_flight && !seen.over; i++) {
		lanes[i].peer = &peers[i];
		lane_connect(&lanes[i], false);
	}
}

static void
child_stop(void)
{
	if (!child)
		return;
	kill(-child, SIGTERM);
	for (int i = 0; i < 500 && waitpid(child, NULL, WNOHANG) == 0; i++)
		usleep(10000);
	kill(-child, SIGKILL);
}

/* What it cost */

static int
by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
tell(double seconds)
{
	struct tree now = tree_look(want.root);
	size_t n = seen.calls;
	double cpu_us = seconds <= 0 ? 0 : (double)(now.cpu_ns - seen.before.cpu_ns) / 1000;

	if (n)
		qsort(seen.taken_us, n, sizeof(*seen.taken_us), by_size);
	printf("{\"calls\":%zu,\"failed\":%llu,\"rate\":%.1f,\"p50_us\":%u,\"p99_us\":%u,\"cpu_"
	       "us\":%.2f,"
	       "\"idle_kb\":%llu,\"peak_kb\":%llu,\"processes\":%d,\"bytes\":%zu,\"failure\":\"%"
	       "s\"}\n",
	       n, (unsigned long long)seen.failed, seconds > 0 ? (double)n / seconds : 0,
	       n ? seen.taken_us[n / 2] : 0, n ? seen.taken_us[n * 99 / 100] : 0,
	       n ? cpu_us / (double)n : 0, (unsigned long long)seen.idle_kb,
	       (unsigned long long)seen.peak_kb, now.processes, seen.answer_bytes, seen.failure);
}

static void
tell_cold(uint64_t since_us)
{
	double first_ms = (double)(clock_mono_us() - since_us) / 1000;

	usleep(REST_US);
	struct tree now = tree_look(want.root);
	printf(
	    "{\"calls\":%zu,\"first_list_ms\":%.2f,\"idle_kb\":%llu,\"processes\":%d,\"bytes\":%zu,"
	    "\"failure\":\"%s\"}\n",
	    seen.calls, first_ms, (unsigned long long)now.rss_kb, now.processes, seen.answer_bytes,
	    seen.failure);
}

static void
measure_begin(uint64_t now_us)
{
	seen.on = true;
	seen.began_us = now_us;
	seen.calls = seen.failed = 0;
	seen.failure[0] = '\0';
	seen.before = tree_look(want.root);
}

/* Memory at its highest, looked at now and then. */
static void
peak_look(uint64_t now_us)
{
	static uint64_t next_us;

	if (now_us < next_us)
		return;
	uint64_t kb = tree_look(want.root).rss_kb;
	seen.peak_kb = kb > seen.peak_kb ? kb : seen.peak_kb;
	next_us = now_us + LOOK_US;
}

/* The warm-up begins with the first answer: some need seconds to get there. */
static void
run(void)
{
	uint64_t now_us = clock_mono_us();
	uint64_t end_us = now_us + PATIENCE_US;
	uint64_t warm_us = 0;
	void *keys[EVENTS];
	uint32_t events[EVENTS];

	while (!seen.over && now_us < end_us) {
		int n = wire_wait(100, keys, events, EVENTS);
		for (int i = 0; i < n && !seen.over; i++)
			peer_hear(keys[i], events[i]);
		now_us = clock_mono_us();
		if (want.cold)
			continue;
		if (!warm_us && seen.calls + seen.failed) {
			warm_us = now_us + (uint64_t)(want.warm_seconds * 1e6);
			end_us = warm_us + (uint64_t)(want.seconds * 1e6);
		}
		if (!seen.on && warm_us && now_us >= warm_us)
			measure_begin(now_us);
		peak_look(now_us);
	}
}

/* What is wanted */

static bool
url_read(const char *url)
{
	want.path[0] = '/';
	want.path[1] = '\0';
	return sscanf(url, "http://127.0.0.1:%d%255s", &want.port, want.path) >= 1;
}

static bool
wants_read(int argc, char **argv)
{
	for (int c; (c = getopt(argc, argv, "n:s:w:m:t:a:b:p:c:u:MC")) != -1;)
		switch (c) {
		case 'n': want.in_flight = (unsigned)atoi(optarg); break;
		case 's': want.seconds = atof(optarg); break;
		case 'w': want.warm_seconds = atof(optarg); break;
		case 'm': want.method = optarg; break;
		case 't': want.tool = optarg; break;
		case 'a': want.arguments = optarg; break;
		case 'b': want.min_bytes = (size_t)atol(optarg); break;
		case 'p': want.root = atoi(optarg); break;
		case 'c': wire_pin(atoi(optarg)); break;
		case 'M': want.modern = true; break;
		case 'C': want.cold = true; break;
		case 'u':
			if (!url_read(optarg))
				return false;
			break;
		default: return false;
		}
	want.command = optind < argc ? argv + optind : NULL;
	if (want.cold) {
		want.method = "tools/list";
		want.in_flight = 1;
	}
	return want.in_flight >= 1 && want.in_flight <= LANES && (want.port || want.command);
}

int
main(int argc, char **argv)
{
	if (!wants_read(argc, argv)) {
		fprintf(stderr, "usage: mcp_load [-n N] [-s SECONDS] [-m METHOD] [-t TOOL] -u URL "
				"| -- COMMAND\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	for (unsigned i = 0; i < want.in_flight; i++)
		lanes[i].id = FIRST_ID + i - FIRST_ID % want.in_flight;
	uint64_t since_us = clock_mono_us();
	seen.idle_kb = tree_look(want.root).rss_kb;
	if (want.port)
		start_http(since_us);
	else
		start_stdio();
	run();
	uint64_t end_us = clock_mono_us();
	if (want.cold)
		tell_cold(since_us);
	else
		tell(seen.on ? (double)(end_us - seen.began_us) / 1e6 : 0);
	fflush(stdout);
	child_stop();
	return seen.calls && !seen.failed ? 0 : 1;
}
