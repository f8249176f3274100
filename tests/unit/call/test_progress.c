/* test_progress.c - what a tool says of how far it is reaches the client that made the call, the
 * events, and the list of live calls (issue 6). */

#include "world.h"

#define CARD                                                                                       \
	"{\"name\":\"worker\",\"description\":\"Works.\",\"capability\":\"none\","                 \
	"\"reversibility\":\"pure\",\"input_schema\":{"                                            \
	"\"type\":\"object\",\"properties\":{}}}"

struct client {
	struct behind behind;
	unsigned told;
	double current, total;
	char message[256];
	bool over, told_after;
};

static struct {
	atomic_bool go;
	unsigned news;
	unsigned floods;
} tool;

static int
run(void *instance, struct hf_job *job)
{
	(void)instance;
	for (unsigned i = 1; i <= tool.floods; i++)
		hf_job_progress(job, "flooding", i, tool.floods);
	for (unsigned i = 1; i <= tool.news; i++)
		hf_job_progress(job,
				i == 1           ? "first"
				: i == tool.news ? "last \xff"
						 : NULL,
				i, tool.news);
	while (!atomic_load(&tool.go) && !hf_job_cancelled(job))
		usleep(1000);
	if (tool.news)
		hf_job_progress(job, NULL, tool.news + 0.5, tool.news + 0.5);
	hf_job_text(job, "done", 4);
	return 0;
}

static void
hear(struct behind *b, const struct json *params)
{
	struct client *c = CONTAINER_OF(b, struct client, behind);

	c->told++;
	c->told_after = c->told_after || c->over;
	assert_true(json_double(json_get(params, S("progress")), &c->current));
	if (!json_double(json_get(params, S("total")), &c->total))
		c->total = 0;
	snprintf(c->message, sizeof(c->message), "%.*s",
		 STR_ARG(json_str(json_get(params, S("message")))));
}

static void
ignore(struct behind *b, const struct json *params)
{
	(void)b;
	(void)params;
}

static const struct behind_ops ops = {.progress = hear, .message = ignore};

static void
over(struct turn *t, void *arg)
{
	struct client *c = arg;

	c->over = true;
	assert_false(t->results[0].is_error);
}

static struct world *
begin(struct client *c, unsigned news, unsigned floods)
{
	struct world *w = world_new(NULL);
	struct call_spec call = {.tool = S("worker")};
	struct session *s = session_find(w->hf->sessions, str_of(w->session));
	struct turn *turn;
	struct err e;

	tool.news = news;
	tool.floods = floods;
	atomic_store(&tool.go, false);
	if (hf_register(w->hf, CARD, &(struct hf_tool){.run = run}, NULL) < 0)
		fail_msg("%s", hf_error(w->hf));
	assert_int_equal(json_parse(S("{}"), &json_door, &call.input_doc, &e), 0);
	call.input = json_root(call.input_doc);
	*c = (struct client){.behind = {.ops = &ops, .log_level = MCP_LOG_NONE}};
	assert_int_equal(gateway_submit(&w->hf->gw, s,
					&(struct turn_spec){.calls = &call,
							    .count = 1,
							    .behind = &c->behind,
							    .done = over,
							    .arg = c},
					&turn, &e),
			 0);
	json_doc_unref(call.input_doc);
	return w;
}

static void
a_tools_progress_reaches_client_events_and_lists(void **state)
{
	struct client c;
	struct world *w = begin(&c, 3, 0);
	struct buf b = BUF_INIT(64 * KIB);
	struct json_doc *doc;
	struct jw jws;

	(void)state;
	UNTIL(w, c.told > 0 && c.current == 3);
	assert_true(c.total == 3);
	assert_string_equal(c.message, "last \xef\xbf\xbd");
	UNTIL(w, world_last(w, "progress.started"));
	jws = jw(&b);
	gateway_write_live(&jws, &w->hf->gw, (struct str){NULL, 0});
	assert_int_equal(json_parse(buf_str(&b), &json_door, &doc, NULL), 0);
	assert_member(json_pointer(json_root(doc), S("/0/progress")), "kind", "steps");
	assert_member(json_pointer(json_root(doc), S("/0/progress")), "label", "last \xef\xbf\xbd");
	json_doc_unref(doc);
	assert_int_equal(progresses_count(w->hf->progress), 1);
	atomic_store(&tool.go, true);
	UNTIL(w, c.over);
	/* What was said last was heard before the result. */
	assert_true(c.current == 3.5 && !c.told_after);
	assert_string_equal(c.message, "last \xef\xbf\xbd");
	UNTIL(w, world_last(w, "progress.ended"));
	double current;
	assert_true(json_double(json_get(world_last(w, "progress.ended"), S("current")), &current));
	assert_true(current == 3.5);
	assert_int_equal(progresses_count(w->hf->progress), 0);
	assert_int_equal(world_count(w, "progress.started"), 1);
	assert_int_equal(world_count(w, "progress.ended"), 1);
	buf_done(&b);
	world_free(w);
}

static void
a_flood_of_it_is_a_few_notes(void **state)
{
	struct client c;
	struct world *w = begin(&c, 0, 200000);

	(void)state;
	UNTIL(w, c.told > 0 && c.current == 200000);
	/* One in 100 ms: 200000 take far less than twenty seconds. */
	assert_true(c.told < 200);
	atomic_store(&tool.go, true);
	UNTIL(w, c.over);
	world_free(w);
}

static void
a_gateway_may_be_closed_while_a_tool_is_telling(void **state)
{
	struct client c;
	struct world *w = begin(&c, 5, 1000000);

	(void)state;
	UNTIL(w, c.told > 0);
	world_free(w); /* cancels, and waits for the worker */
	assert_true(c.over);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_tools_progress_reaches_client_events_and_lists),
	    cmocka_unit_test(a_flood_of_it_is_a_few_notes),
	    cmocka_unit_test(a_gateway_may_be_closed_while_a_tool_is_telling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
