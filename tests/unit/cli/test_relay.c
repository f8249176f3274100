/* test_relay.c - lines pass untouched, and answers on their way are waited for. */

#include "unit.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/relay.h"

struct ends {
	int in[2], out[2], wire[2];
};

static void
ends_open(struct ends *e, struct relay *r)
{
	assert_int_equal(pipe(e->in), 0);
	assert_int_equal(pipe(e->out), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, e->wire), 0);
	relay_init(r, e->in[0], e->out[1]);
}

static void
put(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void
assert_gives(int fd, const char *expected)
{
	char text[KIB];
	ssize_t n = read(fd, text, sizeof(text) - 1);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_string_equal(text, expected);
}

/* One wire, whose other side has said this. */
static enum relay_end
run(struct relay *r, const struct ends *e, struct str said)
{
	struct buf early = BUF_INIT(LIMIT_LINE_BYTES);

	buf_add(&early, said);
	enum relay_end end = relay_run(r, e->wire[0], &early);
	buf_done(&early);
	return end;
}

static void
ends_close(struct ends *e, struct relay *r)
{
	int *all[] = {e->in, e->out, e->wire};

	assert_int_equal(relay_done(r), EXIT_FINE);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		for (int j = 0; j < 2; j++)
			if (all[i][j] >= 0)
				close(all[i][j]);
}

static void
end_close(int *fd)
{
	close(*fd);
	*fd = -1;
}

/* What was put on the wire was the last of its gateway; the next one is at another. */
static void
gateway_lost(struct relay *r, struct ends *e)
{
	end_close(&e->wire[1]);
	assert_int_equal(run(r, e, S("")), RELAY_LOST);
	end_close(&e->wire[0]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, e->wire), 0);
}

static void
answers_come_through_after_the_client_has_ended(void **state)
{
	struct relay r;
	struct ends e;

	(void)state;
	ends_open(&e, &r);
	put(e.in[1], "{\"id\":1,\"method\":\"ping\"}\n");
	end_close(&e.in[1]);
	put(e.wire[1], "sult\":{}}\n");
	assert_int_equal(run(&r, &e, S("{\"id\":1,\"re")), RELAY_OVER);
	assert_gives(e.wire[1], "{\"id\":1,\"method\":\"ping\"}\n");
	assert_gives(e.out[0], "{\"id\":1,\"result\":{}}\n");
	ends_close(&e, &r);
}

static void
a_gateway_that_goes_away_is_noticed(void **state)
{
	struct relay r;
	struct ends e;

	(void)state;
	ends_open(&e, &r);
	put(e.wire[1], "last words\n{\"id\":7,\"resu");
	end_close(&e.wire[1]);
	assert_int_equal(run(&r, &e, S("")), RELAY_LOST);
	assert_gives(e.out[0], "last words\n");
	assert_true(relay_can_go_on(&r));
	ends_close(&e, &r);
}

#define LOST                                                                                       \
	"{\"code\":-32603,\"message\":\"The gateway has ended; whether this was done is not "      \
	"known.\"}"

/* Issue 5. */
static void
who_waits_is_told_when_the_gateway_is_lost(void **state)
{
	struct relay r;
	struct ends e;

	(void)state;
	ends_open(&e, &r);
	put(e.in[1], "{\"id\":1,\"method\":\"a\"}\n{\"id\":\"x\",\"method\":\"b\"}\n"
		     "{\"id\":2,\"method\":\"c\"}\n{\"id\":9,\"result\":{}}\nnonsense\n"
		     "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}\n");
	put(e.wire[1], "{\"id\":1,\"result\":{}}\n{\"id\":\"x\",\"method\":\"ask\"}\n");
	end_close(&e.wire[1]);
	assert_int_equal(run(&r, &e, S("")), RELAY_LOST);
	assert_gives(e.out[0], "{\"id\":1,\"result\":{}}\n{\"id\":\"x\",\"method\":\"ask\"}\n"
			       "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":" LOST "}\n");
	ends_close(&e, &r);
}

#define ANSWER(id, rest) "{\"jsonrpc\":\"2.0\",\"id\":" id "," rest

/* As our own gateway writes answers: of these nothing but the id is looked at. */
static void
test_5_an_answer_counts_when_it_is_whole(void **state)
{
	struct relay r;
	struct ends e;

	(void)state;
	ends_open(&e, &r);
	put(e.in[1], "{\"id\":1,\"method\":\"a\"}\n{\"id\":\"x\\\"y\",\"method\":\"b\"}\n"
		     "{\"id\":-2,\"method\":\"c\"}\n{\"id\":\"z\",\"method\":\"d\"}\n");
	put(e.wire[1],
	    ANSWER("\"x\\\"y\"", "\"result\":{}}\n") ANSWER("1", "\"error\":{}}\n")
		ANSWER("\"z\"", "\"method\":\"ask\"}\n") ANSWER("-2", "\"result\":{\"half\":"));
	end_close(&e.wire[1]);
	assert_int_equal(run(&r, &e, S("")), RELAY_LOST);
	assert_gives(e.out[0],
		     ANSWER("\"x\\\"y\"", "\"result\":{}}\n") ANSWER("1", "\"error\":{}}\n")
			 ANSWER("\"z\"", "\"method\":\"ask\"}\n")
			     ANSWER("-2", "\"error\":" LOST "}\n")
				 ANSWER("\"z\"", "\"error\":" LOST "}\n"));
	ends_close(&e, &r);
}

#define PIECE (KIB * 48)

/* Longer than the relay holds, in pieces, to a client that reads slowly. */
static void
test_5_a_long_answer_passes_whole(void **state)
{
	static char text[20 * PIECE], came[sizeof(text)];
	size_t sent = 0, read_so_far = 0;
	struct relay r;
	struct ends e;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, S(ANSWER("1", "\"result\":\"")).ptr, S(ANSWER("1", "\"result\":\"")).len);
	memcpy(text + sizeof(text) - 3, "\"}\n", 3);
	ends_open(&e, &r);
	put(e.in[1], "{\"id\":1,\"method\":\"a\"}\n");
	pid_t gateway = fork();
	if (gateway == 0) {
		for (; sent < sizeof(text); sent += PIECE)
			if (write(e.wire[1], text + sent, PIECE) != PIECE)
				_exit(1);
		_exit(0);
	}
	pid_t client = fork();
	if (client == 0) {
		end_close(&e.out[1]), end_close(&e.in[1]);
		for (ssize_t n; (n = read(e.out[0], came + read_so_far, 1000)) > 0;)
			if ((read_so_far += (size_t)n) == sizeof(came))
				_exit(memcmp(text, came, sizeof(text)) == 0 ? 0 : 1);
		_exit(2);
	}
	end_close(&e.wire[1]), end_close(&e.in[1]);
	assert_int_equal(run(&r, &e, S("")), RELAY_OVER);
	int status;
	assert_int_equal(waitpid(client, &status, 0), client);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(gateway, &status, 0), gateway);
	assert_int_equal(status, 0);
	ends_close(&e, &r);
}

#define HELLO "{\"id\":0,\"method\":\"initialize\"}\n"
#define GREETING "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"

/* Issue 5. */
static void
the_next_gateway_hears_what_the_client_began_with(void **state)
{
	struct buf early = BUF_INIT(LIMIT_LINE_BYTES);
	struct relay r;
	struct ends e;

	(void)state;
	ends_open(&e, &r);
	put(e.in[1], HELLO GREETING "{\"id\":1,");
	put(e.wire[1], "{\"id\":0,\"result\":{}}\n");
	gateway_lost(&r, &e);
	assert_gives(e.out[0], "{\"id\":0,\"result\":{}}\n");

	put(e.wire[1], "{\"method\":\"news\"}\n{\"id\":0,\"result\":{\"again\":true}}\n");
	assert_true(relay_resume(&r, e.wire[0], &early));
	assert_gives(e.wire[1], HELLO);
	put(e.in[1], "\"method\":\"ping\"}\n");
	put(e.wire[1], "{\"id\":1,\"result\":{}}\n");
	end_close(&e.in[1]);
	assert_int_equal(relay_run(&r, e.wire[0], &early), RELAY_OVER);
	assert_gives(e.wire[1], GREETING "{\"id\":1,\"method\":\"ping\"}\n");
	assert_gives(e.out[0], "{\"method\":\"news\"}\n{\"id\":1,\"result\":{}}\n");
	buf_done(&early);
	ends_close(&e, &r);
}

/* Issue 5. */
static void
an_initialize_without_an_answer_is_answered_by_the_next(void **state)
{
	struct buf early = BUF_INIT(LIMIT_LINE_BYTES);
	struct relay r;
	struct ends e;

	(void)state;
	ends_open(&e, &r);
	put(e.in[1], HELLO);
	gateway_lost(&r, &e);

	put(e.wire[1], "{\"id\":0,\"result\":{}}\n");
	assert_true(relay_resume(&r, e.wire[0], &early));
	end_close(&e.in[1]);
	assert_int_equal(relay_run(&r, e.wire[0], &early), RELAY_OVER);
	assert_gives(e.out[0], "{\"id\":0,\"result\":{}}\n");
	buf_done(&early);
	ends_close(&e, &r);
}

/* Issue 5. */
static void
an_initialize_that_was_refused_is_not_said_again(void **state)
{
	struct buf early = BUF_INIT(LIMIT_LINE_BYTES);
	struct relay r;
	struct ends e;

	(void)state;
	ends_open(&e, &r);
	put(e.in[1], HELLO);
	put(e.wire[1], "{\"id\":0,\"error\":{}}\n");
	gateway_lost(&r, &e);
	assert_true(relay_resume(&r, e.wire[0], &early));
	end_close(&e.wire[0]);
	assert_gives(e.wire[1], "");
	buf_done(&early);
	ends_close(&e, &r);
}

#define VERSION(v) "{\"id\":0,\"result\":{\"protocolVersion\":\"" v "\"}}\n"
#define FAILED(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":" LOST "}"

#define ANSWERS "[{\"id\":4,\"result\":{}},{\"id\":5,\"error\":{}}]\n{\"id\":8,\"result\":{}}\n"

/* What came as a batch is answered as one, but for what has its answer, or wants none. */
static void
test_5_a_batch_is_told_when_the_gateway_is_lost(void **state)
{
	static const char batches[] =
	    "[{\"id\":1,\"method\":\"a\"},{\"method\":\"note\"},{\"id\":2,\"method\":\"b\"},"
	    "{\"id\":3,\"method\":\"c\"},{\"id\":9,\"result\":{}}]\n"
	    "[{\"id\":4,\"method\":\"d\"},{\"id\":5,\"method\":\"e\"}]\n"
	    "{\"id\":6,\"method\":\"f\"}\n"
	    "[{\"id\":7,\"method\":\"g\"},{\"id\":8,\"method\":\"h\"}]\n[]\n[1]\n"
	    "[{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}]\n";
	struct relay r;
	struct ends e;

	(void)state;
	ends_open(&e, &r);
	put(e.in[1], HELLO);
	put(e.wire[1], VERSION("2025-03-26"));
	gateway_lost(&r, &e);
	assert_gives(e.out[0], VERSION("2025-03-26"));
	put(e.in[1], batches);
	put(e.wire[1], ANSWERS);
	gateway_lost(&r, &e);
	assert_gives(e.out[0], ANSWERS
		     "[" FAILED("1") "," FAILED("3") "]\n" FAILED("6") "\n[" FAILED("7") "]\n");
	ends_close(&e, &r);
}

/* Later revisions have none: the gateway has refused it as a whole, and nobody waits. */
static void
test_5_a_batch_that_is_refused_has_nobody_waiting(void **state)
{
	struct relay r;
	struct ends e;

	(void)state;
	ends_open(&e, &r);
	put(e.in[1], HELLO);
	put(e.wire[1], VERSION("2025-06-18"));
	gateway_lost(&r, &e);
	assert_gives(e.out[0], VERSION("2025-06-18"));
	put(e.in[1], "[{\"id\":1,\"method\":\"a\"}]\n");
	put(e.wire[1], "{\"error\":{\"code\":-32600}}\n");
	gateway_lost(&r, &e);
	assert_gives(e.out[0], "{\"error\":{\"code\":-32600}}\n");
	ends_close(&e, &r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers_come_through_after_the_client_has_ended),
	    cmocka_unit_test(a_gateway_that_goes_away_is_noticed),
	    cmocka_unit_test(who_waits_is_told_when_the_gateway_is_lost),
	    cmocka_unit_test(test_5_an_answer_counts_when_it_is_whole),
	    cmocka_unit_test(test_5_a_long_answer_passes_whole),
	    cmocka_unit_test(the_next_gateway_hears_what_the_client_began_with),
	    cmocka_unit_test(an_initialize_that_was_refused_is_not_said_again),
	    cmocka_unit_test(an_initialize_without_an_answer_is_answered_by_the_next),
	    cmocka_unit_test(test_5_a_batch_is_told_when_the_gateway_is_lost),
	    cmocka_unit_test(test_5_a_batch_that_is_refused_has_nobody_waiting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
