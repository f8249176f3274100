/* test_relay.c - lines pass untouched, and answers on their way are waited for. */

#include "unit.h"

#include <sys/socket.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/relay.h"

static void
requests_and_answers_are_told_apart(void **state)
{
	(void)state;
	assert_true(relay_is_request(S("{\"id\":1,\"method\":\"ping\"}")));
	assert_true(relay_is_request(S("{\"id\":\"a\",\"method\":\"ping\"}")));
	assert_false(relay_is_request(S("{\"method\":\"notifications/initialized\"}")));
	assert_false(relay_is_request(S("{\"id\":1,\"result\":{}}")));
	assert_false(relay_is_request(S("not JSON")));
	assert_true(relay_is_answer(S("{\"id\":1,\"result\":{}}")));
	assert_true(relay_is_answer(S("{\"id\":1,\"error\":{}}")));
	assert_false(relay_is_answer(S("{\"id\":null,\"error\":{}}")));
	assert_false(relay_is_answer(S("{\"id\":1,\"method\":\"ask\"}")));
}

struct ends {
	int in[2], out[2], wire[2];
};

static void
ends_open(struct ends *e)
{
	assert_int_equal(pipe(e->in), 0);
	assert_int_equal(pipe(e->out), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, e->wire), 0);
}

static void
put(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void
assert_gives(int fd, const char *expected)
{
	char text[256];
	ssize_t n = read(fd, text, sizeof(text) - 1);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_string_equal(text, expected);
}

static void
answers_come_through_after_the_client_has_ended(void **state)
{
	struct ends e;

	(void)state;
	ends_open(&e);
	put(e.in[1], "{\"id\":1,\"method\":\"ping\"}\n");
	close(e.in[1]);
	put(e.wire[1], "sult\":{}}\n");
	assert_int_equal(relay_run(e.in[0], e.out[1], e.wire[0], S("{\"id\":1,\"re")), EXIT_FINE);
	close(e.wire[0]);
	close(e.out[1]);
	assert_gives(e.wire[1], "{\"id\":1,\"method\":\"ping\"}\n");
	assert_gives(e.out[0], "{\"id\":1,\"result\":{}}\n");
	close(e.in[0]);
	close(e.out[0]);
	close(e.wire[1]);
}

static void
a_gateway_that_goes_away_is_noticed(void **state)
{
	struct ends e;

	(void)state;
	ends_open(&e);
	put(e.wire[1], "last words\n");
	close(e.wire[1]);
	assert_int_equal(relay_run(e.in[0], e.out[1], e.wire[0], S("")), EXIT_NO_GATEWAY);
	assert_gives(e.out[0], "last words\n");
	close(e.in[0]);
	close(e.in[1]);
	close(e.out[0]);
	close(e.out[1]);
	close(e.wire[0]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(requests_and_answers_are_told_apart),
	    cmocka_unit_test(answers_come_through_after_the_client_has_ended),
	    cmocka_unit_test(a_gateway_that_goes_away_is_noticed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
