/* test_kernels.c - kernels of sessions, tools of the catalog, the configuration. */

#include "../call/world.h"

#define RID "9f1f3f0c-9e6d-4d5b-9a1d-9d9f2c1a8a77"
#define CLOSED(props)                                                                              \
	"{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{" props "}}"
#define TEXT(n) "{\"type\":\"string\",\"maxLength\":" #n "}"

struct said {
	struct buf all; /* emissions in the order they came, a line each */
	size_t count;
	size_t ended;       /* without one */
	struct world *ends; /* the session of this world, in the first answer */
};

static void
emitted(const char *emission, size_t len, bool ok, void *arg)
{
	struct said *s = arg;

	(void)ok;
	s->count++;
	if (!emission) {
		s->ended++;
		return;
	}
	if (s->ends)
		assert_int_equal(hf_session_end(s->ends->hf, s->ends->session), 0);
	s->ends = NULL;
	buf_add(&s->all, (struct str){emission, len});
	buf_addc(&s->all, '\n');
}

static void
ask(struct world *w, const char *envelope, struct said *s)
{
	if (hf_kernel(w->hf, w->session, envelope, strlen(envelope), emitted, s) < 0)
		fail_msg("%s", hf_error(w->hf));
}

/* An index with the built-in read_file and write_file, by the ids they have. */
static void
open_files(struct world *w, const char *more)
{
	struct tool *read = catalog_find(w->hf->catalog, S("read_file"));
	struct tool *write = catalog_find(w->hf->catalog, S("write_file"));
	struct buf b = BUF_INIT(64 * KIB);

	buf_addf(
	    &b,
	    "{\"namespaces\":[\"files\",\"closure\"],\"tool.index\":[{\"id\":\"files.read\","
	    "\"tool\":\"%.*s\",\"payload_schema_ref\":\"in\",\"result_schema_ref\":\"out\"%s},"
	    "{\"id\":\"files.write\",\"tool\":\"%.*s\",\"payload_schema_ref\":\"in\","
	    "\"result_schema_ref\":\"out\"},{\"id\":\"closure.spiral\",\"payload_schema_ref\":"
	    "\"in\",\"result_schema_ref\":\"log\"}],\"schemas\":{\"in\":" CLOSED(
		"\"path\":" TEXT(64) ",\"content\":" TEXT(
		    64)) ",\"out\":" CLOSED("\"text\":" TEXT(100)) ",\"log\":" CLOSED("\"diff_"
										      "log\":" TEXT(
											  400)) "}"
												"}",
	    STR_ARG(read->id), more, STR_ARG(write->id));
	if (hf_kernel_open(w->hf, w->session, buf_z(&b), NULL) < 0)
		fail_msg("%s", hf_error(w->hf));
	buf_done(&b);
}

static void
a_tool_of_the_catalog_runs_through_the_pipeline_in_order(void **state)
{
	struct world *w = world_new(NULL);
	struct said s = {.all = BUF_INIT(MIB)};

	(void)state;
	world_write(w, "a.txt", "hello\n");
	open_files(w, "");
	ask(w, "{\"tool.call\":{\"id\":\"files.read\",\"payload\":{\"path\":\"a.txt\"}}}", &s);
	ask(w, "{\"tool.call\":{\"id\":\"files.none\",\"payload\":{}}}", &s);
	ask(w, "{\"tool.call\":{\"id\":\"files.read\",\"payload\":{\"path\":\"none\"}}}", &s);
	ask(w, "{\"tool.call\":{\"id\":\"files.read\",\"payload\":{}}}", &s);
	assert_int_equal(s.count, 0); /* never inside */
	UNTIL(w, s.count == 4);
	assert_string_equal(
	    buf_z(&s.all),
	    "{\"tool.emit\":{\"id\":\"files.read\",\"ok\":true,\"result\":{\"text\":\"hello\\n\"}}}"
	    "\n"
	    "{\"tool.error\":{\"id\":\"files.none\",\"ok\":false,\"code\":\"E_TOOL\",\"reason\":"
	    "\"tool 'files.none' is not in the index\"}}\n"
	    "{\"tool.error\":{\"id\":\"files.read\",\"ok\":false,\"code\":\"E_INVARIANT\","
	    "\"reason\":"
	    "\"no such file: none\"}}\n"
	    "{\"tool.error\":{\"id\":\"files.read\",\"ok\":false,\"code\":\"E_PAYLOAD\",\"reason\":"
	    "\"/path: is required\"}}\n");
	world_turn(w);
	assert_true(world_count(w, "tool.called") >= 2);
	buf_done(&s.all);
	world_free(w);
}

static void
a_person_is_asked_and_a_replay_asks_nobody(void **state)
{
	struct world *w = world_new(NULL);
	struct said s = {.all = BUF_INIT(MIB)};
	const char *call = "{\"tool.call\":{\"id\":\"files.write\",\"payload\":{\"path\":\"b.txt\","
			   "\"content\":\"x\"},\"meta\":{\"request_id\":\"" RID "\"}}}";
	char request[64], path[160];

	(void)state;
	open_files(w, "");
	ask(w, call, &s);
	ask(w, "{\"tool.call\":{\"id\":\"closure.spiral\",\"payload\":{}}}", &s);
	UNTIL(w, world_last(w, "tool.confirmation_requested"));
	assert_int_equal(s.count, 0); /* who came later waits */
	const struct json *asked = world_last(w, "tool.confirmation_requested");
	snprintf(request, sizeof(request), "%.*s",
		 STR_ARG(json_str(json_get(asked, S("confirmation_request_id")))));
	assert_int_equal(hf_answer(w->hf, request, true, "once"), 0);
	UNTIL(w, s.count == 2);
	assert_true(contains(buf_str(&s.all), "{\"tool.emit\":{\"id\":\"files.write\""));
	snprintf(path, sizeof(path), "%s/b.txt", w->workspace);
	assert_int_equal(unlink(path), 0);
	size_t questions = world_count(w, "tool.confirmation_requested");
	ask(w, call, &s);
	UNTIL(w, s.count == 3);
	assert_int_equal(world_count(w, "tool.confirmation_requested"), questions);
	assert_int_equal(access(path, F_OK), -1);
	buf_done(&s.all);
	world_free(w);
}

static void
a_session_that_ends_leaves_nobody_waiting(void **state)
{
	struct world *w = world_new(NULL);
	struct said s = {.all = BUF_INIT(MIB)};

	(void)state;
	open_files(w, "");
	ask(w,
	    "{\"tool.call\":{\"id\":\"files.write\",\"payload\":{\"path\":\"b\",\"content\":\"x\"}}"
	    "}",
	    &s);
	ask(w, "{\"tool.call\":{\"id\":\"closure.spiral\",\"payload\":{}}}", &s);
	UNTIL(w, world_last(w, "tool.confirmation_requested"));
	assert_int_equal(hf_session_end(w->hf, w->session), 0);
	UNTIL(w, s.count == 2);
	assert_int_equal(s.ended, 1);
	assert_true(contains(buf_str(&s.all), "\"code\":\"E_INVARIANT\""));
	buf_done(&s.all);
	world_free(w);
}

static void
an_answer_may_end_the_session(void **state)
{
	struct world *w = world_new(NULL);
	struct said s = {.all = BUF_INIT(MIB), .ends = w};

	(void)state;
	ask(w, "{\"tool.call\":{\"id\":\"closure.spiral\",\"payload\":{}}}", &s);
	ask(w, "{\"tool.call\":{\"id\":\"closure.spiral\",\"payload\":{}}}", &s);
	UNTIL(w, s.count == 2);
	assert_int_equal(s.ended, 1);
	assert_true(contains(buf_str(&s.all), "tool.emit"));
	buf_done(&s.all);
	world_free(w);
}

static void
an_index_is_chosen_once(void **state)
{
	struct world *w = world_new(NULL);
	struct said s = {.all = BUF_INIT(MIB)};

	(void)state;
	assert_int_equal(hf_kernel_open(w->hf, w->session, "{}", NULL), E_BAD_REQUEST);
	assert_int_equal(hf_kernel_open(w->hf, w->session, "no", NULL), E_BAD_JSON);
	assert_int_equal(hf_kernel_open(w->hf, w->session, NULL, "{\"x\":1}"), E_VALIDATION);
	assert_int_equal(hf_kernel_open(w->hf, "sess_none", NULL, NULL), E_NO_SESSION);
	ask(w, "{\"tool.call\":{\"id\":\"closure.spiral\",\"payload\":{}}}", &s);
	assert_int_equal(hf_kernel_open(w->hf, w->session, NULL, NULL), E_EXISTS);
	UNTIL(w, s.count == 1);
	buf_done(&s.all);
	world_free(w);
}

static void
the_configuration_rules(void **state)
{
	struct world *w = world_new("kernel: {index: potm, namespaces: [policy]}\n");
	struct said s = {.all = BUF_INIT(MIB)};
	char *bundle = hf_kernel_bundle("potm");

	(void)state;
	assert_non_null(bundle);
	assert_int_equal(hf_kernel_open(w->hf, w->session, bundle, NULL), E_FORBIDDEN);
	ask(w, "{\"tool.call\":{\"id\":\"closure.spiral\",\"payload\":{}}}", &s);
	ask(w, "{\"tool.call\":{\"id\":\"policy.report\",\"payload\":{}}}", &s);
	UNTIL(w, s.count == 2);
	assert_true(contains(buf_str(&s.all), "E_NAMESPACE"));
	assert_true(contains(buf_str(&s.all), "E_PRECONDITION"));
	free(bundle);
	buf_done(&s.all);
	world_free(w);

	assert_null(hf_kernel_bundle("nonsense"));
	assert_string_equal(hf_error(NULL), "there is no pack 'nonsense'");
}

static void
too_many_at_once_are_refused(void **state)
{
	struct world *w = world_new(NULL);
	struct said s = {.all = BUF_INIT(MIB)};
	const char *call = "{\"tool.call\":{\"id\":\"closure.spiral\",\"payload\":{}}}";

	(void)state;
	for (int i = 0; i < LIMIT_KERNEL_WAITING; i++)
		ask(w, call, &s);
	assert_int_equal(hf_kernel(w->hf, w->session, call, strlen(call), emitted, &s), E_LIMIT);
	UNTIL(w, s.count == LIMIT_KERNEL_WAITING);
	buf_done(&s.all);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_tool_of_the_catalog_runs_through_the_pipeline_in_order),
	    cmocka_unit_test(a_person_is_asked_and_a_replay_asks_nobody),
	    cmocka_unit_test(a_session_that_ends_leaves_nobody_waiting),
	    cmocka_unit_test(an_answer_may_end_the_session),
	    cmocka_unit_test(an_index_is_chosen_once),
	    cmocka_unit_test(the_configuration_rules),
	    cmocka_unit_test(too_many_at_once_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
