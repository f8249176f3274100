/* test_toolbox.c - planned executions when there is no memory for what came of them. */

#include "call/toolbox.h"

#include "world.h"

#include "../json/parsed.h"

#define LARGE ((size_t)MIB)

/* The how many-th large allocation from now on fails; 0: none does. */
static unsigned fails_at;
static bool failed;

static bool
is_refused(size_t size)
{
	if (size < LARGE || fails_at == 0 || --fails_at > 0)
		return false;
	return failed = true;
}

void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *p, size_t size);

void *
__wrap_malloc(size_t size)
{
	return is_refused(size) ? NULL : __real_malloc(size);
}

void *
__wrap_realloc(void *p, size_t size)
{
	return is_refused(size) ? NULL : __real_realloc(p, size);
}

static unsigned ran;

static int
speak(void *instance, struct hf_job *job)
{
	char *text = calloc(1, LARGE);

	(void)instance;
	ran++;
	memset(text, 'x', LARGE);
	hf_job_text(job, text, LARGE);
	free(text);
	return 0;
}
static const struct hf_tool speaker = {.run = speak};

struct came {
	bool here, lost;
	struct json_doc *doc;
};

static void
done(struct buf *results, void *arg)
{
	struct came *c = arg;
	struct json_limits limits = {16 * MIB, LIMIT_JSON_DEPTH};
	struct err e;

	c->here = true;
	c->lost = buf_failed(results);
	fails_at = 0;
	if (!c->lost && json_parse(buf_str(results), &limits, &c->doc, &e) < 0)
		fail_msg("half an answer: %s", err_text(&e));
}

static struct came
run(struct world *w, const struct planned *plan)
{
	struct session *s = session_find(w->hf->sessions, str_of(w->session));
	struct came came = {0};
	struct json_doc *doc = parsed("{}");
	struct toolbox_order order = {
	    .doc = doc, .planned = plan, .count = 1, .attended = true, .done = done, .arg = &came};
	struct toolbox_run *r;
	struct err e;

	if (toolbox_start(&w->hf->gw, s, &order, &r, &e) < 0)
		fail_msg("%s", err_text(&e));
	json_doc_unref(doc);
	UNTIL(w, came.here);
	return came;
}

static void
test_7_what_ran_is_never_told_as_skipped(void **state)
{
	struct world *w = world_new("tool_confirmation: {default: {READ: auto}}\n"
				    "tools: {defaults: {repeat_limit: 0}}\n");
	struct planned plan = {.tool_name = S("speak")};
	unsigned lost = 0, at = 0;

	(void)state;
	assert_int_equal(hf_register(w->hf,
				     "{\"name\":\"speak\",\"description\":\"Says much.\","
				     "\"capability\":\"read\",\"reversibility\":\"pure\","
				     "\"input_schema\":{\"type\":\"object\"}}",
				     &speaker, NULL),
			 0);
	do {
		failed = false;
		ran = 0;
		fails_at = ++at;
		struct came c = run(w, &plan);
		struct str status =
		    c.doc ? json_str(json_get(json_at(json_root(c.doc), 0), S("status"))) : S("");
		if (str_is(status, "skipped"))
			fail_msg("allocation %u: it ran %u times, and was skipped", at, ran);
		lost += c.lost;
		json_doc_unref(c.doc);
	} while (failed && at < 1000);
	assert_false(failed);
	assert_true(at > 1 && lost > 0);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_7_what_ran_is_never_told_as_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
