/*
 * upstream.c - an MCP server that is as fast as one can be, over stdio or HTTP, of both eras.
 *
 *   mcp_upstream [-p PORT] [-t TOOLS] [-c CPU] [-l]
 *
 * Without a port it speaks stdio. -l: legacy only, as most servers are. Tools: echo, r1k and r1m
 * (results of that size), sleep (ms), and tool_N up to the number asked for, which echo too.
 */

#include "wire.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define MAX_BYTES (64u << 20)
#define PEERS 4096
#define EVENTS 256
#define LATER 4096

/* What a request gets: the parts of one JSON text, which nobody copies together. */
struct answer {
	struct str id;
	const char *key;    /* "result" or "error" */
	struct str opening; /* what the era wants in front */
	struct str rest;
	uint64_t due_us; /* 0 = now */
	bool session;    /* initialize, over HTTP */
};

struct request {
	struct str id;
	struct str params;
	bool modern;
};

struct later {
	uint64_t due_us;
	int place; /* of the peer */
	unsigned since;
	char id[64];
};

static struct peer peers[PEERS]; /* by descriptor */
static struct later later[LATER];
static size_t later_len;
static bool legacy_only;
static struct buf list = BUF_INIT(MAX_BYTES);
static struct buf text_1k = BUF_INIT(MAX_BYTES);
static struct buf text_1m = BUF_INIT(MAX_BYTES);
static struct buf echoed = BUF_INIT(MAX_BYTES);
static unsigned sessions;

/* What is said */

static const char tool_format[] =
    "{\"name\":\"%s\",\"title\":\"Tool %s\",\"description\":\"Looks a record up in the store that "
    "the "
    "workspace is bound to, and tells what it holds. Takes a message, which comes back.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\","
    "\"description\":\"What comes "
    "back.\"},\"ms\":{\"type\":\"integer\",\"minimum\":0,\"description\":"
    "\"How long to wait, in milliseconds.\"},\"format\":{\"type\":\"string\",\"enum\":[\"text\","
    "\"json\"],\"description\":\"How it is shown.\"}}},\"annotations\":{\"readOnlyHint\":true}}";

static void
list_make(int tools)
{
	static const char *const names[] = {"echo", "r1k", "r1m", "sleep"};
	char name[32];

	buf_addz(&list, "\"tools\":[");
	for (int i = 0; i < tools || i < (int)ARRAY_LEN(names); i++) {
		snprintf(name, sizeof(name), "tool_%d", i);
		const char *chosen = i < (int)ARRAY_LEN(names) ? names[i] : name;
		buf_addz(&list, i ? "," : "");
		buf_addf(&list, tool_format, chosen, chosen);
	}
	buf_addz(&list, "]}");
}

static void
text_make(struct buf *b, size_t size)
{
	buf_addz(b, "\"content\":[{\"type\":\"text\",\"text\":\"");
	for (size_t i = 0; i < size; i++)
		buf_addc(b, i % 64 == 63 ? ' ' : (char)('a' + i % 26));
	buf_addz(b, "\"}]}");
}

static void
say_initialize(const struct request *r, struct answer *a)
{
	(void)r;
	a->session = true;
	a->rest = S("\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
		    "\"serverInfo\":{\"name\":\"upstream\",\"version\":\"1\"}}");
}

static void
say_discover(const struct request *r, struct answer *a)
{
	(void)r;
	a->opening = S("{\"resultType\":\"complete\",\"ttlMs\":60000,\"cacheScope\":\"public\",");
	a->rest = S("\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
		    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"upstream\","
		    "\"version\":\"1\"}}}");
}

static void
say_nothing(const struct request *r, struct answer *a)
{
	(void)r;
	a->opening = S("{}");
}

static void
say_list(const struct request *r, struct answer *a)
{
	if (r->modern)
		a->opening =
		    S("{\"resultType\":\"complete\",\"ttlMs\":60000,\"cacheScope\":\"public\",");
	a->rest = buf_str(&list);
}

static void
say_echo(struct answer *a, struct str arguments)
{
	struct str message = json_member(arguments, "message");

	buf_reset(&echoed);
	buf_addz(&echoed, "\"content\":[{\"type\":\"text\",\"text\":");
	buf_add(&echoed, message.ptr ? message : S("\"\""));
	buf_addz(&echoed, "}]}");
	a->rest = buf_str(&echoed);
}

static void
say_1k(struct answer *a, struct str arguments)
{
	(void)arguments;
	a->rest = buf_str(&text_1k);
}

static void
say_1m(struct answer *a, struct str arguments)
{
	(void)arguments;
	a->rest = buf_str(&text_1m);
}

static void
say_sleep(struct answer *a, struct str arguments)
{
	uint64_t ms = 0;

	str_to_u64(json_member(arguments, "ms"), &ms);
	a->due_us = clock_mono_us() + ms * 1000;
	a->rest = S("\"content\":[{\"type\":\"text\",\"text\":\"slept\"}]}");
}

static const struct {
	const char *name; /* with its quotes, as in the request */
	void (*say)(struct answer *a, struct str arguments);
} tools[] = {{"\"echo\"", say_echo},
	     {"\"r1k\"", say_1k},
	     {"\"r1m\"", say_1m},
	     {"\"sleep\"", say_sleep}};

static void
say_call(const struct request *r, struct answer *a)
{
	struct str name = json_member(r->params, "name");
	struct str arguments = json_member(r->params, "arguments");

	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (str_is(name, tools[i].name)) {
			tools[i].say(a, arguments);
			return;
		}
	say_echo(a, arguments);
}

static const struct {
	const char *name;
	void (*say)(const struct request *r, struct answer *a);
} methods[] = {{"\"tools/call\"", say_call},
	       {"\"tools/list\"", say_list},
	       {"\"initialize\"", say_initialize},
	       {"\"server/discover\"", say_discover},
	       {"\"ping\"", say_nothing}};

/* False: a note, which gets no answer. */
static bool
answer_find(struct str body, struct answer *a)
{
	struct request r = {json_member(body, "id"), json_member(body, "params")};
	struct str method = json_member(body, "method");
	struct str meta = json_member(r.params, "_meta");

	r.modern = meta.ptr && json_member(meta, "io.modelcontextprotocol/protocolVersion").ptr;
	*a = (struct answer){.id = r.id, .key = "result", .opening = S("{")};
	if (r.modern)
		a->opening = S("{\"resultType\":\"complete\",");
	if (!r.id.ptr)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (str_is(method, methods[i].name) &&
		    !(legacy_only && methods[i].say == say_discover)) {
			methods[i].say(&r, a);
			return true;
		}
	a->key = "error";
	a->rest = S("\"code\":-32601,\"message\":\"no such method\"}");
	a->opening = S("{");
	return true;
}

/* How it is sent */

static void
head_add(struct peer *p, const char *status, size_t len, bool session)
{
	struct buf *b = &p->out;

	buf_addz(b, "HTTP/1.1 ");
	buf_addz(b, status);
	buf_addz(b, "\r\nContent-Type: application/json\r\nContent-Length: ");
	buf_add_u64(b, len);
	if (session)
		buf_addf(b, "\r\nMcp-Session-Id: up-%u", ++sessions);
	buf_addz(b, "\r\n\r\n");
}

static void
answer_send(struct peer *p, const struct answer *a)
{
	static const char front[] = "{\"jsonrpc\":\"2.0\",\"id\":";
	struct buf *b = &p->out;

	if (p->framing == HTTP)
		head_add(p, "200 OK",
			 sizeof(front) - 1 + a->id.len + strlen(a->key) + 5 + a->opening.len +
			     a->rest.len,
			 a->session);
	buf_addz(b, front);
	buf_add(b, a->id);
	buf_addz(b, ",\"");
	buf_addz(b, a->key);
	buf_addz(b, "\":");
	buf_add(b, a->opening);
	buf_add(b, a->rest);
	buf_addz(b, p->framing == HTTP ? "}" : "}\n");
}

static void
answer_keep(struct peer *p, const struct answer *a)
{
	if (later_len == LATER || a->id.len >= sizeof(later->id))
		return;
	struct later *l = &later[later_len++];
	*l = (struct later){a->due_us, (int)(p - peers), p->since};
	memcpy(l->id, a->id.ptr, a->id.len);
}

/* Answers that are due; how long until the next is. */
static int
later_send(void)
{
	uint64_t now = clock_mono_us();
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < later_len;) {
		struct later l = later[i];
		struct peer *p = &peers[l.place];
		if (l.due_us > now) {
			next = l.due_us < next ? l.due_us : next;
			i++;
			continue;
		}
		later[i] = later[--later_len];
		struct answer a = {str_of(l.id), "result", S("{"),
				   S("\"content\":[{\"type\":\"text\",\"text\":\"slept\"}]}")};
		if (p->since == l.since) {
			answer_send(p, &a);
			peer_flush(p);
		}
	}
	return next == UINT64_MAX ? -1 : (int)((next - now) / 1000 + 1);
}

/* Who is there */

static void
message_take(struct peer *p, struct message m)
{
	struct answer a;

	if (p->framing == HTTP && !str_starts(m.head, S("POST ")))
		head_add(p, str_starts(m.head, S("DELETE ")) ? "200 OK" : "405 Method Not Allowed",
			 0, false);
	else if (!answer_find(m.body, &a)) {
		if (p->framing == HTTP)
			head_add(p, "202 Accepted", 0, false);
	} else if (a.due_us)
		answer_keep(p, &a);
	else
		answer_send(p, &a);
}

static void
peer_serve(struct peer *p, uint32_t events)
{
	struct message m;
	bool fine = true;

	if (events & EPOLLOUT)
		fine = peer_flush(p);
	if (fine && events & ~(uint32_t)EPOLLOUT) {
		fine = peer_read(p);
		while (fine && peer_next(p, &m))
			message_take(p, m);
		fine = fine && peer_flush(p);
	}
	if (fine)
		return;
	if (p->framing == LINES)
		exit(0);
	peer_close(p);
}

static void
peers_accept(int door)
{
	int fd;

	while ((fd = accept4(door, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		if (fd < PEERS)
			peer_open(&peers[fd], fd, fd, HTTP);
		else
			close(fd);
}

static _Noreturn void
serve(int door)
{
	void *keys[EVENTS];
	uint32_t events[EVENTS];

	for (;;) {
		int n = wire_wait(later_len ? later_send() : -1, keys, events, EVENTS);
		for (int i = 0; i < n; i++)
			if (keys[i])
				peer_serve(keys[i], events[i]);
			else
				peers_accept(door);
	}
}

int
main(int argc, char **argv)
{
	int port = 0;
	int tools_wanted = 0;
	int door = -1;

	for (int c; (c = getopt(argc, argv, "p:t:c:l")) != -1;)
		switch (c) {
		case 'p': port = atoi(optarg); break;
		case 't': tools_wanted = atoi(optarg); break;
		case 'c': wire_pin(atoi(optarg)); break;
		case 'l': legacy_only = true; break;
		default: return 2;
		}
	signal(SIGPIPE, SIG_IGN);
	list_make(tools_wanted);
	text_make(&text_1k, 1 << 10);
	text_make(&text_1m, 1 << 20);
	if (port) {
		door = wire_listen(port);
		wire_watch(door, NULL, EPOLLIN);
	} else {
		peer_open(&peers[0], STDIN_FILENO, STDOUT_FILENO, LINES);
	}
	serve(door);
}
