/* test_http_corpus.c - hostile requests from outside, against a strict reading of RFC 9112. */

#include "unit.h"

#include "house.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Where we differ from the corpus and may. */
static const struct differing {
	int id;
	const char *reason;
} legal[] = {
    {160, "PRI is refused at the request line: the preface of HTTP/2, which is not spoken"},
};

struct hostile {
	int id;
	int complete;
	char state[16];
	struct buf bytes;
};

static int
base64_value(char c)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

static void
base64_decode(const char *z, struct buf *out)
{
	unsigned bits = 0, count = 0;

	for (; base64_value(*z) >= 0; z++) {
		bits = bits << 6 | (unsigned)base64_value(*z);
		count += 6;
		if (count >= 8) {
			count -= 8;
			buf_addc(out, (char)(bits >> count));
		}
	}
}

/* The lines are flat objects with known keys: finding them is enough here. */
static const char *
value_of(const char *line, const char *key)
{
	const char *p = strstr(line, key);

	assert_non_null(p);
	return p + strlen(key);
}

static void
hostile_parse(const char *line, struct hostile *ret)
{
	*ret = (struct hostile){.bytes = BUF_INIT(1 << 20)};
	ret->id = atoi(value_of(line, "\"id\": "));
	ret->complete = atoi(value_of(line, "\"complete\": "));
	assert_int_equal(sscanf(value_of(line, "\"state\": \""), "%15[a-z]", ret->state), 1);
	base64_decode(value_of(line, "\"b64\": \""), &ret->bytes);
}

static bool
is_legal(int id)
{
	for (size_t i = 0; i < ARRAY_LEN(legal); i++)
		if (legal[i].id == id)
			return true;
	return false;
}

/* How many answers of our rooms and how many refusals came. */
static void
count_answers(const char *z, int *ret_good, int *ret_refused)
{
	*ret_good = *ret_refused = 0;
	for (const char *p = z; (p = strstr(p, "HTTP/1.1 ")) != NULL; p++) {
		if (strncmp(p + 13, "OK\r\n", 4) == 0)
			++*ret_good;
		else if (p[9] >= '4' && p[9] <= '5')
			++*ret_refused;
	}
}

/* True when it was taken exactly as the corpus reads it. */
static bool
knock(struct house *h, struct hostile *x)
{
	struct buf answers = BUF_INIT(1 << 20);
	unsigned before = atomic_load(&h->requests);
	int fd = raw_tcp(h), good, refused;

	raw_send(fd, buf_str(&x->bytes));
	shutdown(fd, SHUT_WR);
	raw_rest(fd, &answers);
	close(fd);
	int seen = (int)(atomic_load(&h->requests) - before);
	count_answers(buf_z(&answers), &good, &refused);
	buf_done(&answers);
	/* What must hold whatever one thinks of a case. */
	assert_true(seen <= x->complete);
	assert_int_equal(good, seen);
	assert_true(refused <= 1);
	return seen == x->complete && (strcmp(x->state, "error") != 0 || refused == 1);
}

static FILE *
corpus_open(void)
{
	const char *data = getenv("HOLDFAST_TESTDATA");
	char path[4096];

	snprintf(path, sizeof(path), "%s/batteries/http1/cases.jsonl",
		 data ? data : "../shared/data");
	FILE *f = fopen(path, "re");
	if (!f)
		print_message("no %s: the corpus is skipped\n", path);
	return f;
}

static void
hostile_requests_are_never_taken_for_more_than_they_are(void **state)
{
	FILE *f = corpus_open();
	char *line = NULL;
	size_t cap = 0;
	unsigned passed = 0, differing = 0, wrong = 0;

	(void)state;
	if (!f)
		skip();
	struct house *h = house_open(NULL);
	while (getline(&line, &cap, f) > 0) {
		struct hostile x;

		hostile_parse(line, &x);
		if (knock(h, &x))
			passed++;
		else if (is_legal(x.id))
			differing++;
		else {
			wrong++;
			print_error("case %d (%s): differs from the corpus\n", x.id, x.state);
		}
		buf_done(&x.bytes);
	}
	print_message("%u as the corpus says, %u legally otherwise, %u wrong\n", passed, differing,
		      wrong);
	assert_int_equal(wrong, 0);
	assert_true(passed > 100);
	house_close(h);
	free(line);
	fclose(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hostile_requests_are_never_taken_for_more_than_they_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
