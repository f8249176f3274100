/* test_mcp_http.c - /mcp over a connection of this process: what is bounded stays so, and what is
 * kept is given back (issue 5). */

#define WORLD_EVENTS 16384 /* many sessions */
#include "mcp_world.h"

#include <errno.h>

struct line {
	int fd;
	char got[1 << 20];
	size_t len;
};

static struct world *world;
static struct line *line;

static struct front_mcp *
mcp(void)
{
	return &world->hf->front->mcp;
}

static struct line *
line_open(void)
{
	struct line *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	assert_int_equal(hf_connect(world->hf, &l->fd), 0);
	assert_int_equal(fcntl(l->fd, F_SETFL, O_NONBLOCK), 0);
	return l;
}

static void
line_close(struct line *l)
{
	close(l->fd);
	free(l);
}

static int
setup(void **state)
{
	(void)state;
	world = world_new(NULL);
	line = line_open();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	line_close(line);
	world_free(world);
	return 0;
}

static void
line_write(const struct line *l, struct str text)
{
	for (size_t at = 0; at < text.len;) {
		ssize_t n = write(l->fd, text.ptr + at, text.len - at);
		if (n > 0)
			at += (size_t)n;
		else
			world_turn(world);
	}
}

static void
line_read(struct line *l)
{
	ssize_t n = read(l->fd, l->got + l->len, sizeof(l->got) - 1 - l->len);

	if (n > 0)
		l->len += (size_t)n;
	l->got[l->len] = '\0';
}

static bool
line_has(struct line *l, const char *text)
{
	line_read(l);
	return strstr(l->got, text) != NULL;
}

/* The whole answer came, by its length. */
static bool
line_is_answered(struct line *l)
{
	line_read(l);
	const char *end = strstr(l->got, "\r\n\r\n"), *length = strstr(l->got, "Content-Length: ");
	if (!end)
		return false;
	return strncmp(l->got, "HTTP/1.1 204", 12) == 0 ||
	       (length && l->len >= (size_t)(end + 4 - l->got) + strtoul(length + 16, NULL, 10));
}

static void
line_send_to(struct line *l, const char *workspace, const char *method, const char *headers,
	     const char *body)
{
	char text[4096];
	int n = snprintf(text, sizeof(text),
			 "%s /mcp/all?workspace=%s HTTP/1.1\r\nHost: x\r\nContent-Type: "
			 "application/json\r\nAccept: application/json, text/event-stream\r\n"
			 "%sContent-Length: %zu\r\n\r\n%s",
			 method, workspace, headers, strlen(body), body);

	assert_true(n > 0 && (size_t)n < sizeof(text));
	l->len = 0;
	l->got[0] = '\0';
	line_write(l, (struct str){text, (size_t)n});
}

static void
line_send(struct line *l, const char *method, const char *headers, const char *body)
{
	line_send_to(l, world->workspace, method, headers, body);
}

static int
line_ask(struct line *l, const char *method, const char *headers, const char *body)
{
	line_send(l, method, headers, body);
	UNTIL(world, line_is_answered(l));
	return atoi(l->got + 9);
}

#define INITIALIZE                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"                     \
	"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"

/* The header line of a new session. */
static void
begin_session(char out[static 80])
{
	assert_int_equal(line_ask(line, "POST", "", INITIALIZE), 200);
	const char *head = strstr(line->got, "Mcp-Session-Id: ");
	assert_non_null(head);
	snprintf(out, 80, "%.*s", (int)(strstr(head, "\r\n") + 2 - head), head);
}

static void
sessions_are_bounded_and_the_stalest_goes_first(void **state)
{
	char first[80], second[80], last[80];

	(void)state;
	begin_session(first);
	begin_session(second);
	for (size_t i = 2; i < LIMIT_MCP_SESSIONS; i++)
		begin_session(last);
	assert_int_equal(mcp()->sessions.len, LIMIT_MCP_SESSIONS);
	world_turn(world);
	world_turn(world);
	assert_int_equal(line_ask(line, "POST", first, PING), 200); /* it is in use now */
	begin_session(last);
	assert_int_equal(mcp()->sessions.len, LIMIT_MCP_SESSIONS);
	assert_int_equal(line_ask(line, "POST", first, PING), 200);
	assert_int_equal(line_ask(line, "POST", last, PING), 200);
	assert_int_equal(line_ask(line, "POST", second, PING), 404);
	assert_int_equal(line_ask(line, "DELETE", first, ""), 204);
	assert_int_equal(mcp()->sessions.len, LIMIT_MCP_SESSIONS - 1);
}

static void
a_reader_that_does_not_read_costs_a_bounded_amount(void **state)
{
	struct line *deaf = line_open();
	struct buf note = BUF_INIT(64 * KIB);
	char session[80];

	(void)state;
	begin_session(session);
	line_send(deaf, "GET", session, "");
	UNTIL(world, mcp()->clients.len == 1);
	UNTIL(world, line_has(deaf, "data: \n\n"));
	struct mcp_client *c = CONTAINER_OF(list_first(&mcp()->clients), struct mcp_client, node);
	while (note.len < 16 * KIB)
		buf_addz(&note, "0123456789abcdef");
	for (int i = 0; i < 4000; i++)
		c->tell(c, buf_str(&note));
	assert_true(mcp()->kept <= LIMIT_MCP_STREAM_BYTES + 64 * KIB);
	for (int i = 0; i < 50; i++)
		world_turn(world);
	assert_int_equal(line_ask(line, "POST", session, PING), 200); /* others are served */
	assert_int_equal(line_ask(line, "DELETE", session, ""), 204);
	assert_int_equal(mcp()->kept, 0);
	line_close(deaf);
	buf_done(&note);
}

static void
what_is_told_while_nobody_reads_comes_later_in_order(void **state)
{
	struct line *stream = line_open();
	char session[80], again[160];

	(void)state;
	begin_session(session);
	line_send(stream, "GET", session, "");
	UNTIL(world, line_has(stream, "id: 0-1\n"));
	struct mcp_client *c = CONTAINER_OF(list_first(&mcp()->clients), struct mcp_client, node);
	c->tell(c, S("{\"n\":1}"));
	UNTIL(world, line_has(stream, "id: 0-2\n"));
	line_close(stream);
	for (int i = 0; i < 10; i++)
		world_turn(world);
	c->tell(c, S("{\"n\":2}"));
	c->tell(c, S("{\"n\":3}"));
	stream = line_open();
	snprintf(again, sizeof(again), "%sLast-Event-ID: 0-1\r\n", session);
	line_send(stream, "GET", again, "");
	UNTIL(world, line_has(stream, "{\"n\":3}"));
	const char *one = strstr(stream->got, "{\"n\":1}"), *two = strstr(stream->got, "{\"n\":2}");
	assert_true(one && two && one < two && two < strstr(stream->got, "{\"n\":3}"));
	line_close(stream);
}

static void
a_stream_goes_on_however_much_was_said(void **state)
{
	struct line *stream = line_open();
	char session[80], text[40];

	(void)state;
	begin_session(session);
	line_send(stream, "GET", session, "");
	UNTIL(world, line_has(stream, "id: 0-1\n"));
	struct mcp_client *c = CONTAINER_OF(list_first(&mcp()->clients), struct mcp_client, node);
	for (int i = 0; i < 3 * LIMIT_MCP_STREAM_EVENTS; i++) {
		snprintf(text, sizeof(text), "{\"n\":%d}", i);
		c->tell(c, str_of(text));
		if (i % 100 == 0)
			UNTIL(world, line_has(stream, text));
	}
	UNTIL(world, line_has(stream, text));
	line_close(stream);
}

#define WRITE                                                                                      \
	"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/"                                        \
	"call\",\"params\":{\"name\":\"write_file\","                                              \
	"\"arguments\":{\"path\":\"a\",\"content\":\"x\"}}}"

static struct mcp_request *
only_request(void)
{
	struct node *c = list_first(&mcp()->clients);
	struct node *q = c ? list_first(&CONTAINER_OF(c, struct mcp_client, node)->requests) : NULL;

	return q ? CONTAINER_OF(q, struct mcp_request, node) : NULL;
}

/* The peer goes away while the answer is queued, but not sent. */
static void
an_answer_that_broke_off_can_be_taken_up_again(void **state)
{
	struct line *stream = line_open();
	struct buf note = BUF_INIT(KIB * KIB);
	char session[80], again[160], id[64];

	(void)state;
	begin_session(session);
	line_send(stream, "POST", session, WRITE);
	UNTIL(world, world_last(world, "tool.confirmation_requested"));
	while (note.len < 600 * KIB)
		buf_addz(&note, "0123456789abcdef");
	struct mcp_channel *ch = only_request()->channel;
	assert_true(ch->ops->note(ch, buf_str(&note)));
	for (int i = 0; i < 10; i++)
		world_turn(world);
	const struct json *asked = world_last(world, "tool.confirmation_requested");
	snprintf(id, sizeof(id), "%.*s",
		 STR_ARG(json_str(json_get(asked, S("confirmation_request_id")))));
	assert_int_equal(hf_answer(world->hf, id, false, NULL), 0);
	UNTIL(world, !only_request());
	line_close(stream);
	for (int i = 0; i < 10; i++)
		world_turn(world);
	stream = line_open();
	snprintf(again, sizeof(again), "%sLast-Event-ID: 1-2\r\n", session);
	line_send(stream, "GET", again, "");
	UNTIL(world, line_has(stream, "\r\n\r\n"));
	assert_int_equal(atoi(stream->got + 9), 200);
	UNTIL(world, line_has(stream, "\"id\":5,\"result\""));
	line_close(stream);
	buf_done(&note);
}

static void
what_nobody_reads_is_bounded_for_all_together(void **state)
{
	struct line *stream = line_open();
	char session[80];

	(void)state;
	begin_session(session);
	line_send(stream, "GET", session, "");
	UNTIL(world, line_has(stream, "id: 0-1\n"));
	line_close(stream);
	for (int i = 0; i < 10; i++)
		world_turn(world);
	struct mcp_client *c = CONTAINER_OF(list_first(&mcp()->clients), struct mcp_client, node);
	c->tell(c, S("{}"));
	size_t one = mcp()->kept;
	assert_true(one > 0);
	mcp()->kept += LIMIT_MCP_KEPT; /* what others have */
	c->tell(c, S("{}"));
	assert_true(mcp()->kept <= one + LIMIT_MCP_KEPT);
	mcp()->kept -= LIMIT_MCP_KEPT;
	c->tell(c, S("{}"));
	assert_true(mcp()->kept > 0);
}

#define DISCOVER                                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"server/discover\",\"params\":{\"_meta\":{"     \
	"\"" META_VERSION "\":\"" MCP_MODERN "\",\"" META_CAPABILITIES "\":{}}}}"

static void
workspaces_that_nobody_uses_make_room(void **state)
{
	char path[512];

	(void)state;
	for (int i = 0; i <= LIMIT_MCP_COMMONS; i++) {
		snprintf(path, sizeof(path), "%s/%d", world->workspace, i);
		assert_int_equal(mkdir(path, 0700), 0);
		line_send_to(line, path, "POST",
			     "MCP-Protocol-Version: " MCP_MODERN
			     "\r\nMcp-Method: server/discover\r\n",
			     DISCOVER);
		UNTIL(world, line_is_answered(line));
		assert_int_equal(atoi(line->got + 9), 200);
	}
	assert_int_equal(mcp()->guests.len, LIMIT_MCP_COMMONS);
}

static void
a_workspace_that_cannot_be_opened_leaves_nothing(void **state)
{
	char text[2048];

	(void)state;
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text),
			 "POST /mcp?workspace=%s/none HTTP/1.1\r\nHost: x\r\nContent-Type: "
			 "application/json\r\nContent-Length: %zu\r\n\r\n" INITIALIZE,
			 world->workspace, strlen(INITIALIZE));
		line->len = 0;
		line_write(line, str_of(text));
		UNTIL(world, line_is_answered(line));
		assert_non_null(strstr(line->got, "\"id\":0,\"error\""));
	}
	assert_int_equal(mcp()->guests.len, 0);
	assert_int_equal(mcp()->sessions.len, 0);
}

static void
a_client_that_leaves_while_its_session_opens_leaves_nothing(void **state)
{
	struct line *hasty = line_open();

	(void)state;
	world_turn(world);
	line_send(hasty, "POST", "", INITIALIZE);
	line_close(hasty);
	for (int i = 0; i < 50 || mcp()->guests.len > 0; i++)
		world_turn(world);
	assert_int_equal(mcp()->clients.len, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(sessions_are_bounded_and_the_stalest_goes_first, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_reader_that_does_not_read_costs_a_bounded_amount,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(what_is_told_while_nobody_reads_comes_later_in_order,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(a_stream_goes_on_however_much_was_said, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(an_answer_that_broke_off_can_be_taken_up_again, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(what_nobody_reads_is_bounded_for_all_together, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(workspaces_that_nobody_uses_make_room, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_workspace_that_cannot_be_opened_leaves_nothing, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(
		a_client_that_leaves_while_its_session_opens_leaves_nothing, setup, teardown),
	};
	return cmocka_run_group_tests_name("mcp_http", tests, NULL, NULL);
}
