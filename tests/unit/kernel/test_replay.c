/* test_replay.c - emissions by request id. */

#include "kernel_unit.h"

#include "kernel/replay.h"

static struct str
id_of(char *out, unsigned n)
{
	snprintf(out, REQUEST_ID + 1, "9f1f3f0c-9e6d-4d5b-9a1d-%012u", n);
	return (struct str){out, REQUEST_ID};
}

static void
forgets_whoever_was_not_asked_for_longest(void **state)
{
	static const unsigned char digest[SHA256_BYTES] = {7};
	struct replays r;
	char id[REQUEST_ID + 1];

	(void)state;
	replays_init(&r);
	assert_null(replay_find(&r, id_of(id, 1)));
	for (unsigned i = 0; i < 3 * LIMIT_KERNEL_REPLAYS; i++) {
		char text[16];
		snprintf(text, sizeof(text), "text %u", i);
		assert_int_equal(replay_put(&r, id_of(id, i), digest, str_of(text), i & 1), 0);
		/* The first is asked for all the time, and stays. */
		const struct replay *first = replay_find(&r, id_of(id, 0));
		assert_non_null(first);
		assert_str(buf_str(&first->emission), "text 0");
	}
	assert_int_equal(r.used.len, LIMIT_KERNEL_REPLAYS);
	assert_null(replay_find(&r, id_of(id, 2 * LIMIT_KERNEL_REPLAYS)));
	const struct replay *last = replay_find(&r, id_of(id, 3 * LIMIT_KERNEL_REPLAYS - 1));
	assert_non_null(last);
	assert_true(last->ok);
	assert_memory_equal(last->digest, digest, sizeof(digest));
	replays_done(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(forgets_whoever_was_not_asked_for_longest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
