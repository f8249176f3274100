/* test_link_http.c - MCP over HTTP against a server that says what each test wants (issue 5). */

#include "unit.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "net/http.h"
#include "upstream/inside.h"

#define PATIENCE_MS 20000
#define STREAMS 8

struct scene;

/* An event stream the server holds open. */
struct flow {
	struct scene *scene;
	struct http_stream *stream; /* NULL: closed */
	struct buf text;            /* to be written at its start */
	bool ends;                  /* then */
};

struct scene {
	struct loop *loop;
	struct http_server *server;
	uint16_t port;
	struct timer patience;
	struct link *link;
	bool in_call;

	/* What the server does and saw */
	void (*play)(struct scene *s, struct http_request *r);
	unsigned seen;   /* requests */
	struct buf log;  /* "POST body\n", "GET last-event-id\n", "DELETE session\n" */
	struct buf head; /* headers of the last one, "name: value\n" */
	struct flow flows[STREAMS];
	unsigned flow_count, flows_closed;
	bool stopped;

	/* What the link said */
	struct buf messages; /* "of text\n" */
	unsigned message_count, failures, closes;
	uint64_t failed_id;
	int failed_status, failed_code;
	struct buf failed_body;
	char failed_text[1024];
	void (*on_message)(struct scene *s);
};

/* The server */

static void
out_of_patience(void *arg)
{
	(void)arg;
	fail_msg("nothing happened for too long");
}

static void
flow_ready(struct http_stream *st, void *arg)
{
	struct flow *f = arg;

	if (f->text.len)
		assert_true(http_stream_write(st, buf_str(&f->text)));
	buf_reset(&f->text);
	if (f->ends)
		http_stream_end(st);
}

static void
flow_closed(void *arg)
{
	struct flow *f = arg;

	f->stream = NULL;
	f->scene->flows_closed++;
	loop_stop(f->scene->loop);
}

static struct flow *
reply_events(struct scene *s, struct http_request *r, const char *text, bool ends)
{
	struct flow *f = &s->flows[s->flow_count++ % STREAMS];
	struct http_stream_spec spec = {.ready = flow_ready, .closed = flow_closed, .arg = f};

	assert_null(f->stream);
	buf_done(&f->text);
	*f = (struct flow){.scene = s, .text = BUF_INIT(64 * MIB), .ends = ends};
	buf_addz(&f->text, text);
	f->stream = http_reply_stream(r, "text/event-stream; charset=utf-8", &spec);
	return f;
}

static bool
body_has(const struct http_request *r, const char *text)
{
	return r->body.len && memmem(r->body.ptr, r->body.len, text, strlen(text)) != NULL;
}

static void
reply_json(struct http_request *r, int status, const char *text)
{
	http_reply(r, status, "application/json", str_of(text), NULL);
}

static void
log_request(struct scene *s, struct http_request *r)
{
	struct str detail = r->body;

	if (str_is(r->method, "GET"))
		detail = http_header(r, "Last-Event-ID");
	else if (str_is(r->method, "DELETE"))
		detail = http_header(r, "Mcp-Session-Id");
	buf_addf(&s->log, "%.*s %.*s\n", STR_ARG(r->method), STR_ARG(detail));
	buf_reset(&s->head);
	for (size_t i = 0; i < r->header_count; i++)
		buf_addf(&s->head, "%.*s: %.*s\n", STR_ARG(r->headers[i].name),
			 STR_ARG(r->headers[i].value));
}

static void
handle(struct http_request *r, void *arg)
{
	struct scene *s = arg;

	s->seen++;
	if (r->body.len < 4096)
		log_request(s, r);
	s->play(s, r);
	loop_stop(s->loop);
}

/* The link's events */

static void
on_message(void *arg, struct json_doc *doc, uint64_t of)
{
	struct scene *s = arg;
	struct jw w;

	assert_false(s->in_call);
	assert_int_equal(s->closes, 0);
	s->message_count++;
	buf_addf(&s->messages, "%u ", (unsigned)of);
	w = jw(&s->messages);
	jw_value(&w, json_root(doc));
	buf_addc(&s->messages, '\n');
	if (s->on_message)
		s->on_message(s);
	loop_stop(s->loop);
}

static void
on_failed(void *arg, uint64_t id, int status, struct str body, const struct err *e)
{
	struct scene *s = arg;

	assert_false(s->in_call);
	assert_int_equal(s->closes, 0);
	s->failures++;
	s->failed_id = id;
	s->failed_status = status;
	s->failed_code = e->code;
	snprintf(s->failed_text, sizeof(s->failed_text), "%s", err_text(e));
	buf_reset(&s->failed_body);
	buf_add(&s->failed_body, body);
	loop_stop(s->loop);
}

static void
on_alive(void *arg)
{
	(void)arg;
}

static void
on_closed(void *arg, const struct err *how)
{
	struct scene *s = arg;

	assert_false(s->in_call);
	assert_true(err_text(how)[0] != '\0');
	s->closes++;
	s->link = NULL;
	loop_stop(s->loop);
}

/* The scene */

static void
scene_wait(struct scene *s, const unsigned *figure, unsigned value)
{
	while (*figure < value)
		loop_run(s->loop);
	assert_int_equal(*figure, value);
}

static void
scene_link(struct scene *s, const char *const *headers)
{
	struct link_events ev = {.message = on_message,
				 .failed = on_failed,
				 .alive = on_alive,
				 .closed = on_closed,
				 .arg = s};
	char url[64];
	struct upstream_spec spec = {.kind = UPSTREAM_HTTP, .url = url, .headers = headers};
	struct err e;

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/mcp", s->port);
	assert_int_equal(link_http(s->loop, &spec, &ev, &s->link, &e), 0);
}

static int
scene_open(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct http_server_spec spec = {.handle = handle,
					.arg = s,
					.limits = {.body_bytes = 16 * MIB}};
	struct err e;

	buf_init(&s->log, MIB);
	buf_init(&s->head, MIB);
	buf_init(&s->messages, 32 * MIB);
	buf_init(&s->failed_body, 32 * MIB);
	assert_int_equal(loop_new(&s->loop, &e), 0);
	assert_int_equal(http_server_new(s->loop, &spec, &s->server, &e), 0);
	assert_int_equal(http_listen_tcp(s->server, "127.0.0.1", 0, &s->port, &e), 0);
	assert_int_equal(timer_start(s->loop, &s->patience, PATIENCE_MS, out_of_patience, s), 0);
	scene_link(s, NULL);
	*state = s;
	return 0;
}

static void
link_close(struct scene *s)
{
	if (!s->link)
		return;
	s->in_call = true;
	s->link->ops->close(s->link);
	s->link->ops->close(s->link);
	s->in_call = false;
	scene_wait(s, &s->closes, 1);
}

static void
scene_stopped(void *arg)
{
	struct scene *s = arg;

	s->stopped = true;
	loop_stop(s->loop);
}

static int
scene_close(void **state)
{
	struct scene *s = *state;

	link_close(s);
	http_server_stop(s->server, 0, scene_stopped, s);
	while (!s->stopped)
		loop_run(s->loop);
	http_server_free(s->server);
	timer_stop(s->loop, &s->patience);
	loop_free(s->loop);
	for (size_t i = 0; i < STREAMS; i++)
		buf_done(&s->flows[i].text);
	buf_done(&s->log);
	buf_done(&s->head);
	buf_done(&s->messages);
	buf_done(&s->failed_body);
	free(s);
	return 0;
}

static int
try_send(struct scene *s, const struct link_message *m, struct err *e)
{
	s->in_call = true;
	int r = s->link->ops->send(s->link, m, e);
	s->in_call = false;
	return r;
}

static void
send_message(struct scene *s, const struct link_message *m)
{
	struct err e = ERR_NONE;

	assert_int_equal(try_send(s, m, &e), 0);
}

static void
legacy(struct scene *s, uint64_t id, const char *method)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"id\":%u,\"method\":\"%s\"}", (unsigned)id, method);
	send_message(s, &(struct link_message){.text = str_of(text),
					       .id = id,
					       .method = str_of(method),
					       .era = ERA_LEGACY,
					       .revision = strcmp(method, "initialize")
							       ? MCP_2025_11_25
							       : MCP_UNKNOWN});
}

static void
modern(struct scene *s, uint64_t id, const char *method)
{
	send_message(s, &(struct link_message){.text = S("{}"),
					       .id = id,
					       .method = str_of(method),
					       .era = ERA_MODERN,
					       .revision = MCP_2026_07_28});
}

static bool
head_has(struct scene *s, const char *line)
{
	return strcasestr(buf_z(&s->head), line) != NULL;
}

static void
expect_failed(struct scene *s, uint64_t id, int status, int code)
{
	scene_wait(s, &s->failures, 1);
	assert_int_equal(s->failed_id, id);
	assert_int_equal(s->failed_status, status);
	assert_int_equal(s->failed_code, code);
	s->failures = 0;
}

/* Answers in one piece */

static void
play_one(struct scene *s, struct http_request *r)
{
	(void)s;
	reply_json(r, 200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
}

static void
a_body_is_the_answer(void **state)
{
	struct scene *s = *state;

	s->play = play_one;
	modern(s, 1, "tools/list");
	scene_wait(s, &s->message_count, 1);
	assert_string_equal(buf_z(&s->messages),
			    "1 {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
	assert_int_equal(s->failures, 0);
}

static void
the_modern_era_repeats_the_body_in_headers(void **state)
{
	static const char schema[] =
	    "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","
	    "\"x-mcp-header\":\"Region\"},\"empty\":{\"type\":\"string\",\"x-mcp-header\":"
	    "\"Empty\"},"
	    "\"absent\":{\"type\":\"string\",\"x-mcp-header\":\"Absent\"}}}";
	struct scene *s = *state;
	struct json_doc *types, *values;

	assert_int_equal(json_parse(str_of(schema), &json_door, &types, NULL), 0);
	assert_int_equal(json_parse(S("{\"region\":\"\xc3\xa9u\",\"empty\":\"\"}"), &json_door,
				    &values, NULL),
			 0);
	s->play = play_one;
	send_message(s, &(struct link_message){.text = S("{}"),
					       .id = 1,
					       .method = S("tools/call"),
					       .name = S("\xc3\xa4"),
					       .era = ERA_MODERN,
					       .revision = MCP_2026_07_28,
					       .schema = json_root(types),
					       .arguments = json_root(values)});
	scene_wait(s, &s->message_count, 1);
	assert_true(head_has(s, "\nAccept: application/json, text/event-stream\n"));
	assert_true(head_has(s, "\nContent-Type: application/json\n"));
	assert_true(head_has(s, "\nMCP-Protocol-Version: 2026-07-28\n"));
	assert_true(head_has(s, "\nMcp-Method: tools/call\n"));
	assert_true(head_has(s, "\nMcp-Name: =?base64?w6Q=?=\n"));
	assert_true(head_has(s, "\nMcp-Param-Region: =?base64?w6l1?=\n"));
	assert_true(head_has(s, "\nMcp-Param-Empty: "));
	assert_false(head_has(s, "Absent"));
	assert_false(head_has(s, "Session"));
	json_doc_unref(types);
	json_doc_unref(values);
}

static void
only_configured_headers_are_added(void **state)
{
	static const char *const headers[] = {"Authorization: Bearer key", "accept: text/html",
					      "MCP-Session-ID: forged", NULL};
	struct scene *s = *state;

	link_close(s);
	s->closes = 0;
	scene_link(s, headers);
	s->play = play_one;
	modern(s, 1, "tools/list");
	scene_wait(s, &s->message_count, 1);
	assert_true(head_has(s, "\nAuthorization: Bearer key\n"));
	assert_false(head_has(s, "html"));
	assert_false(head_has(s, "forged"));
	assert_false(head_has(s, "Cookie"));
	assert_true(head_has(s, "\nUser-Agent: holdfast/"));
}

static void
a_header_that_cannot_be_sent_is_not_shown(void **state)
{
	static const char *const headers[] = {"Authorization: Bearer se\ncret", NULL};
	struct scene *s = *state;
	struct link_message m = {.text = S("{}"), .id = 1, .method = S("ping")};
	struct err e = ERR_NONE;

	link_close(s);
	s->closes = 0;
	scene_link(s, headers);
	assert_int_equal(try_send(s, &m, &e), E_VALIDATION);
	assert_non_null(strstr(e.text, "Authorization"));
	assert_null(strstr(e.text, "cret"));
	assert_null(strstr(e.inside, "cret"));
}

/* Sessions */

static void
play_session(struct scene *s, struct http_request *r)
{
	(void)s;
	if (str_is(r->method, "DELETE"))
		http_reply(r, 204, NULL, S(""), NULL);
	else if (body_has(r, "initialize\""))
		http_reply(r, 200, "application/json", S("{\"id\":1,\"result\":{}}"),
			   "Mcp-Session-Id: s-1\r\n");
	else if (body_has(r, "\"id\":0"))
		http_reply(r, 202, NULL, S(""), NULL);
	else
		reply_json(r, 404, "{\"error\":{\"code\":-32001}}");
}

static void
a_session_is_named_from_its_answer_to_its_end(void **state)
{
	struct scene *s = *state;

	s->play = play_session;
	legacy(s, 1, "initialize");
	scene_wait(s, &s->message_count, 1);
	assert_false(head_has(s, "Session"));
	assert_false(head_has(s, "Protocol-Version"));
	assert_false(head_has(s, "Mcp-Method"));
	legacy(s, 0, "notifications/initialized");
	scene_wait(s, &s->seen, 2);
	assert_true(head_has(s, "\nMcp-Session-Id: s-1\n"));
	assert_true(head_has(s, "\nMCP-Protocol-Version: 2025-11-25\n"));
	link_close(s);
	assert_int_equal(s->seen, 3);
	assert_true(str_ends(buf_str(&s->log), S("DELETE s-1\n")));
	assert_true(head_has(s, "\nMCP-Protocol-Version: 2025-11-25\n"));
	assert_int_equal(s->failures, 0);
}

static void
a_lost_session_is_told_and_not_taken_leave_of(void **state)
{
	struct scene *s = *state;

	s->play = play_session;
	legacy(s, 1, "initialize");
	scene_wait(s, &s->message_count, 1);
	legacy(s, 2, "tools/list");
	expect_failed(s, 2, 404, E_NOT_FOUND);
	assert_string_equal(buf_z(&s->failed_body), "{\"error\":{\"code\":-32001}}");
	link_close(s);
	assert_int_equal(s->seen, 2);
}

static void
play_bad_session(struct scene *s, struct http_request *r)
{
	(void)s;
	http_reply(r, 200, "application/json", S("{\"id\":1,\"result\":{}}"),
		   "Mcp-Session-Id: a b\r\n");
}

static void
a_session_id_must_be_visible(void **state)
{
	struct scene *s = *state;

	s->play = play_bad_session;
	legacy(s, 1, "initialize");
	expect_failed(s, 1, 200, E_EXECUTION);
	assert_int_equal(s->message_count, 0);
}

static void
gone(struct http_request *r)
{
	(void)r;
}

static void
play_never(struct scene *s, struct http_request *r)
{
	if (body_has(r, "initialize\""))
		play_session(s, r);
	else
		r->gone = gone;
}

static void
the_farewell_has_an_end(void **state)
{
	struct scene *s = *state;

	s->play = play_never;
	legacy(s, 1, "initialize");
	scene_wait(s, &s->message_count, 1);
	legacy(s, 2, "tools/call");
	link_close(s); /* neither the request nor DELETE is ever answered */
	assert_true(str_ends(buf_str(&s->log), S("DELETE s-1\n")));
	assert_int_equal(s->failures, 0);
}

/* Streams */

#define EVENT(text) "event: message\ndata: " text "\n\n"
#define NOTE "{\"method\":\"notifications/progress\"}"
#define QUESTION "{\"id\":7,\"method\":\"elicitation/create\"}"
#define ANSWER(id) "{\"id\":" id ",\"result\":{}}"

static void
play_stream(struct scene *s, struct http_request *r)
{
	if (body_has(r, "tools/call"))
		reply_events(s, r,
			     ": hello\n\n" EVENT(NOTE)
				 EVENT(QUESTION) "data:" ANSWER("3") "\r\n\r\n",
			     true);
	else
		http_reply(r, 202, NULL, S(""), NULL);
}

static void
a_stream_brings_notes_requests_and_the_answer(void **state)
{
	struct scene *s = *state;

	s->play = play_stream;
	legacy(s, 3, "tools/call");
	scene_wait(s, &s->message_count, 3);
	assert_string_equal(buf_z(&s->messages), "3 " NOTE "\n3 " QUESTION "\n3 " ANSWER("3") "\n");
	send_message(s, &(struct link_message){.text = S(ANSWER("7")), .revision = MCP_2025_11_25});
	scene_wait(s, &s->seen, 2);
	assert_true(str_ends(buf_str(&s->log), S("POST " ANSWER("7") "\n")));
	scene_wait(s, &s->flows_closed, 1);
	assert_int_equal(s->failures, 0);
	assert_true(http_connections(s->server) <= 2); /* the stream's goes on being used */
}

static void
play_foreign(struct scene *s, struct http_request *r)
{
	if (s->seen == 1)
		reply_events(s, r, "", false);
	else
		reply_events(s, r, EVENT(ANSWER("1")) EVENT(ANSWER("2")), true);
}

static void
an_answer_to_another_is_not_taken(void **state)
{
	struct scene *s = *state;

	s->play = play_foreign;
	modern(s, 1, "tools/call");
	scene_wait(s, &s->seen, 1);
	modern(s, 2, "tools/call");
	scene_wait(s, &s->message_count, 1);
	assert_string_equal(buf_z(&s->messages), "2 " ANSWER("2") "\n");
}

static void
play_cut(struct scene *s, struct http_request *r)
{
	reply_events(s, r, "id: 5\ndata: \n\n" EVENT(NOTE), true);
}

static void
a_modern_stream_that_ends_is_lost(void **state)
{
	struct scene *s = *state;

	s->play = play_cut;
	modern(s, 4, "tools/call");
	expect_failed(s, 4, 200, E_UNAVAILABLE);
	assert_int_equal(s->message_count, 1);
	assert_int_equal(s->seen, 1);
}

static void
play_resumed(struct scene *s, struct http_request *r)
{
	switch (s->seen) {
	case 1: reply_events(s, r, "id: a-1\nretry: 60\ndata: \n\n", true); return;
	case 2: /* the connection ends in the middle of an event, which has not been seen then */
		reply_events(s, r, "id: a-2\ndata: " NOTE "\n\nid: a-3\ndata: {", true);
		return;
	case 3: reply_json(r, 503, "{}"); return;
	default: reply_events(s, r, "id: a-3\ndata: " ANSWER("4") "\n\n", true);
	}
}

static void
a_legacy_stream_is_taken_up_where_it_broke_off(void **state)
{
	struct scene *s = *state;

	s->play = play_resumed;
	legacy(s, 4, "tools/call");
	scene_wait(s, &s->message_count, 2);
	assert_string_equal(buf_z(&s->messages), "4 " NOTE "\n4 " ANSWER("4") "\n");
	assert_string_equal(buf_z(&s->log), "POST {\"id\":4,\"method\":\"tools/call\"}\n"
					    "GET a-1\nGET a-2\nGET a-2\n");
	assert_true(head_has(s, "\nAccept: text/event-stream\n"));
	assert_int_equal(s->failures, 0);
}

static void
play_polled(struct scene *s, struct http_request *r)
{
	char place[32];

	snprintf(place, sizeof(place), "id: a-%u\nretry: 1\n\n", s->seen);
	reply_events(s, r, s->seen > LIMIT_LINK_RETRIES + 1 ? EVENT(ANSWER("4")) : place, true);
}

/* Issue 5: an id counts where nothing else is in its event, and each is a sign of life. */
static void
test_5_an_id_alone_says_where_to_begin_again(void **state)
{
	struct scene *s = *state;

	s->play = play_polled;
	legacy(s, 4, "tools/call");
	scene_wait(s, &s->message_count, 1);
	assert_int_equal(s->failures, 0);
	assert_non_null(strstr(buf_z(&s->log), "\nGET a-1\nGET a-2\nGET a-3\n"));
}

static void
play_nothing_more(struct scene *s, struct http_request *r)
{
	reply_events(s, r, s->seen == 1 ? "id: a-1\nretry: 1\ndata: \n\n" : "", true);
}

static void
but_not_for_ever(void **state)
{
	struct scene *s = *state;

	s->play = play_nothing_more;
	legacy(s, 4, "tools/call");
	expect_failed(s, 4, 200, E_UNAVAILABLE);
	assert_int_equal(s->seen, 1 + LIMIT_LINK_RETRIES);
}

static void
play_not_resumed(struct scene *s, struct http_request *r)
{
	if (s->seen == 1)
		reply_events(s, r, "id: a-1\nretry: 1\ndata: \n\n", true);
	else
		reply_json(r, 404, "{}");
}

/* A 404 would mean that the request was refused, and it would be made again. */
static void
test_5_who_does_not_resume_has_taken_the_request(void **state)
{
	struct scene *s = *state;

	s->play = play_not_resumed;
	legacy(s, 4, "tools/call");
	expect_failed(s, 4, 200, E_UNAVAILABLE);
	assert_int_equal(s->seen, 2);
}

static void
play_open(struct scene *s, struct http_request *r)
{
	reply_events(s, r, EVENT(NOTE), false);
}

static void
a_dropped_request_closes_its_stream(void **state)
{
	struct scene *s = *state;

	s->play = play_open;
	modern(s, 1, "tools/call");
	scene_wait(s, &s->message_count, 1);
	s->in_call = true;
	s->link->ops->drop(s->link, 1);
	s->link->ops->drop(s->link, 1);
	s->link->ops->drop(s->link, 99);
	s->link->ops->drop(s->link, 0);
	s->in_call = false;
	scene_wait(s, &s->flows_closed, 1);
	assert_int_equal(s->failures, 0);
}

static void
drop_it(struct scene *s)
{
	s->link->ops->drop(s->link, 1);
}

static void
close_it(struct scene *s)
{
	s->link->ops->close(s->link);
}

static void
play_many(struct scene *s, struct http_request *r)
{
	reply_events(s, r, EVENT(NOTE) EVENT(NOTE) EVENT(ANSWER("1")), true);
}

static void
nothing_more_comes_once_it_is_dropped(void **state)
{
	struct scene *s = *state;

	s->play = play_many;
	s->on_message = drop_it;
	modern(s, 1, "tools/call");
	scene_wait(s, &s->flows_closed, 1);
	link_close(s);
	assert_int_equal(s->message_count, 1);
	assert_int_equal(s->failures, 0);
}

static void
nor_once_the_link_is_closed(void **state)
{
	struct scene *s = *state;

	s->play = play_many;
	s->on_message = close_it;
	modern(s, 1, "tools/call");
	scene_wait(s, &s->closes, 1);
	assert_int_equal(s->message_count, 1);
	assert_int_equal(s->failures, 0);
}

static void
play_batch(struct scene *s, struct http_request *r)
{
	(void)s;
	reply_json(r, 200, "[" NOTE "," ANSWER("1") "]");
}

static void
an_array_is_several_messages_for_the_oldest(void **state)
{
	struct scene *s = *state;
	struct link_message m = {.text = S("{}"),
				 .id = 1,
				 .method = S("tools/list"),
				 .revision = MCP_2025_03_26};

	s->play = play_batch;
	send_message(s, &m);
	scene_wait(s, &s->message_count, 2);
	assert_string_equal(buf_z(&s->messages), "1 " NOTE "\n1 " ANSWER("1") "\n");
	legacy(s, 1, "tools/list");
	expect_failed(s, 1, 200, E_EXECUTION);
}

/* The ear */

static void
play_ear(struct scene *s, struct http_request *r)
{
	if (str_is(r->method, "GET"))
		reply_events(s, r,
			     s->seen == 1 ? "retry: 50\nid: e-1\ndata: " NOTE "\n\n"
					  : EVENT(QUESTION),
			     s->seen == 1);
	else
		http_reply(r, 202, NULL, S(""), NULL);
}

static void
the_listening_stream_is_kept_open(void **state)
{
	struct scene *s = *state;

	s->play = play_ear;
	s->in_call = true;
	s->link->ops->listen(s->link, MCP_2025_11_25);
	s->link->ops->listen(s->link, MCP_2025_11_25);
	s->in_call = false;
	scene_wait(s, &s->message_count, 2);
	assert_string_equal(buf_z(&s->messages), "0 " NOTE "\n0 " QUESTION "\n");
	assert_string_equal(buf_z(&s->log), "GET \nGET e-1\n");
	assert_true(head_has(s, "\nMCP-Protocol-Version: 2025-11-25\n"));
	link_close(s);
	scene_wait(s, &s->flows_closed, 2);
	assert_int_equal(s->failures, 0);
}

static void
play_deaf(struct scene *s, struct http_request *r)
{
	if (str_is(r->method, "GET"))
		http_reply(r, 405, NULL, S(""), "Allow: POST\r\n");
	else
		play_one(s, r);
}

static void
a_server_without_one_is_left_alone(void **state)
{
	struct scene *s = *state;

	s->play = play_deaf;
	s->link->ops->listen(s->link, MCP_2025_11_25);
	scene_wait(s, &s->seen, 1);
	legacy(s, 1, "tools/list");
	scene_wait(s, &s->message_count, 1);
	assert_int_equal(s->seen, 2);
	assert_int_equal(s->failures, 0);
}

/* Refusals and nonsense */

static const struct nonsense {
	int status;
	const char *type, *body;
	int code;
} nonsenses[] = {
    {401, "application/json", "{\"error\":\"who\"}", E_UNAUTHORIZED},
    {403, "text/plain", "no", E_FORBIDDEN},
    {400, "application/json", "{\"error\":{\"code\":-32020}}", E_BAD_REQUEST},
    {404, "text/html", "<h1>", E_NOT_FOUND},
    {405, NULL, "", E_METHOD},
    {429, NULL, "", E_LIMIT},
    {500, "text/html", "<h1>", E_EXECUTION},
    {503, NULL, "", E_UNAVAILABLE},
    {200, "text/html", "<html>", E_EXECUTION},
    {200, NULL, "{\"id\":1,\"result\":{}}", E_EXECUTION},
    {202, NULL, "", E_EXECUTION},
    {204, NULL, "", E_EXECUTION},
    {200, "application/json", "", E_EXECUTION},
    {200, "application/json", "{", E_EXECUTION},
    {200, "application/json", "7", E_EXECUTION},
    {200, "application/json", "[]", E_EXECUTION},
    {200, "application/json", "{\"id\":2,\"result\":{}}", E_EXECUTION},
    {200, "application/json", "{\"id\":\"1\",\"result\":{}}", E_EXECUTION},
    {200, "application/json", "{\"id\":null,\"error\":{}}", E_EXECUTION},
};
static const struct nonsense *said;

static void
play_nonsense(struct scene *s, struct http_request *r)
{
	(void)s;
	http_reply(r, said->status, said->type, str_of(said->body), NULL);
}

static void
what_is_no_answer_is_told_as_it_came(void **state)
{
	struct scene *s = *state;

	s->play = play_nonsense;
	for (size_t i = 0; i < ARRAY_LEN(nonsenses); i++) {
		said = &nonsenses[i];
		modern(s, 1, "tools/list");
		expect_failed(s, 1, said->status, said->code);
		assert_string_equal(buf_z(&s->failed_body), said->body);
		assert_true(s->failed_text[0] != '\0');
	}
	assert_int_equal(s->message_count, 0);
}

static void
play_garbage(struct scene *s, struct http_request *r)
{
	reply_events(s, r, "data: {\"id\":1,\n\n", false);
}

static void
a_garbled_event_ends_the_request_at_once(void **state)
{
	struct scene *s = *state;

	s->play = play_garbage;
	legacy(s, 1, "tools/call");
	expect_failed(s, 1, 200, E_EXECUTION);
	scene_wait(s, &s->flows_closed, 1);
}

static void
play_misread(struct scene *s, struct http_request *r)
{
	reply_events(s, r, EVENT("{\"id\":null,\"error\":{\"code\":-32700}}"), false);
}

static void
an_error_that_names_nobody_is_for_the_request_of_its_stream(void **state)
{
	struct scene *s = *state;

	s->play = play_misread;
	modern(s, 1, "tools/call");
	expect_failed(s, 1, 200, E_EXECUTION);
	assert_string_equal(buf_z(&s->failed_body), "{\"id\":null,\"error\":{\"code\":-32700}}");
	scene_wait(s, &s->flows_closed, 1);
}

static void
reply_long(struct http_request *r, int status, const char *type, size_t len)
{
	struct buf b = BUF_INIT(len);

	memset(buf_room(&b, len), ' ', len);
	b.len = len;
	http_reply_take(r, status, type, &b, NULL);
}

static void
play_huge(struct scene *s, struct http_request *r)
{
	(void)s;
	reply_long(r, 200, "application/json", LIMIT_LINE_BYTES + 1);
}

static void
play_huge_problem(struct scene *s, struct http_request *r)
{
	(void)s;
	reply_long(r, 500, "text/html", 4 * MIB);
}

static void
play_huge_event(struct scene *s, struct http_request *r)
{
	(void)s;
	reply_long(r, 200, "text/event-stream", LIMIT_LINE_BYTES + 1);
}

static void
what_is_too_large_is_not_kept(void **state)
{
	struct scene *s = *state;

	s->play = play_huge;
	modern(s, 1, "tools/list");
	expect_failed(s, 1, 200, E_TOO_LARGE);
	s->play = play_huge_event;
	modern(s, 2, "tools/list");
	expect_failed(s, 2, 200, E_TOO_LARGE);
	s->play = play_huge_problem;
	modern(s, 3, "tools/list");
	expect_failed(s, 3, 500, E_EXECUTION);
	assert_int_equal(s->failed_body.len, LIMIT_LINK_PROBLEM);
}

static void
notes_that_fail_are_told_without_an_id(void **state)
{
	struct scene *s = *state;

	s->play = play_nonsense;
	said = &nonsenses[3];
	legacy(s, 0, "notifications/cancelled");
	expect_failed(s, 0, 404, E_NOT_FOUND);
}

static void
a_server_that_is_not_there_was_sent_nothing(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct scene *s = *state;
	uint16_t port = s->port;

	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	link_close(s);
	s->closes = 0;
	s->port = ntohs(a.sin_port);
	scene_link(s, NULL);
	s->port = port;
	modern(s, 1, "tools/list");
	expect_failed(s, 1, 0, E_UNAVAILABLE);
	close(fd);
}

static void
too_much_at_once_is_refused(void **state)
{
	struct scene *s = *state;
	struct link_message m = {.text = S("{}"), .id = 999, .method = S("ping")};
	struct err e = ERR_NONE;

	s->play = play_never;
	for (unsigned i = 1; i <= LIMIT_LINK_REQUESTS; i++)
		modern(s, i, "tools/call");
	assert_int_equal(try_send(s, &m, &e), E_LIMIT);
	m.id = 0;
	assert_int_equal(try_send(s, &m, &e), 0); /* an answer still finds its way */
	m.text.len = LIMIT_LINE_BYTES + 1;
	assert_int_equal(try_send(s, &m, &e), E_TOO_LARGE);
	link_close(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_body_is_the_answer),
	    TEST(the_modern_era_repeats_the_body_in_headers),
	    TEST(only_configured_headers_are_added),
	    TEST(a_header_that_cannot_be_sent_is_not_shown),
	    TEST(a_session_is_named_from_its_answer_to_its_end),
	    TEST(a_lost_session_is_told_and_not_taken_leave_of),
	    TEST(a_session_id_must_be_visible),
	    TEST(the_farewell_has_an_end),
	    TEST(a_stream_brings_notes_requests_and_the_answer),
	    TEST(an_answer_to_another_is_not_taken),
	    TEST(a_modern_stream_that_ends_is_lost),
	    TEST(a_legacy_stream_is_taken_up_where_it_broke_off),
	    TEST(test_5_an_id_alone_says_where_to_begin_again),
	    TEST(but_not_for_ever),
	    TEST(test_5_who_does_not_resume_has_taken_the_request),
	    TEST(a_dropped_request_closes_its_stream),
	    TEST(nothing_more_comes_once_it_is_dropped),
	    TEST(nor_once_the_link_is_closed),
	    TEST(an_array_is_several_messages_for_the_oldest),
	    TEST(the_listening_stream_is_kept_open),
	    TEST(a_server_without_one_is_left_alone),
	    TEST(what_is_no_answer_is_told_as_it_came),
	    TEST(a_garbled_event_ends_the_request_at_once),
	    TEST(an_error_that_names_nobody_is_for_the_request_of_its_stream),
	    TEST(what_is_too_large_is_not_kept),
	    TEST(notes_that_fail_are_told_without_an_id),
	    TEST(a_server_that_is_not_there_was_sent_nothing),
	    TEST(too_much_at_once_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
