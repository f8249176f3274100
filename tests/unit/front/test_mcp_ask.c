/* test_mcp_ask.c - what clients are asked in mid-request, by requests of ours or by input_required,
 * and that nobody can answer who should not (issue 5). */

#define WORLD_EVENTS 8192 /* it makes many calls */
#include "mcp_world.h"

#define MAX_NOTES 32

static struct world *world;
static struct peer *peer;
static struct mcp_channel_ops noting;
static char notes[MAX_NOTES][4096];
static size_t note_count;
static bool from_tool, deaf;

static bool
keep_note(struct mcp_channel *ch, struct str message)
{
	(void)ch;
	if (deaf)
		return false;
	assert_true(note_count < MAX_NOTES && message.len < sizeof(notes[0]));
	memcpy(notes[note_count], message.ptr, message.len);
	notes[note_count++][message.len] = '\0';
	return true;
}

static bool
is_from_tool(const struct mcp_channel *ch)
{
	(void)ch;
	return from_tool;
}

static int
setup(void **state)
{
	(void)state;
	world = world_new(NULL);
	peer = peer_new(world, "all", MCP_2025_11_25);
	noting = *peer->channel.ops;
	noting.note = keep_note;
	noting.from_tool = is_from_tool;
	peer->channel.ops = &noting;
	peer->client.may_answer = true;
	note_count = 0;
	from_tool = deaf = false;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	peer_free(peer);
	world_free(world);
	return 0;
}

/* ---- messages in ---- */

static void
take(const char *text)
{
	struct mcp_message m = {0};
	struct mcp_fault f;
	struct json_doc *doc;
	struct err e;

	if (json_parse(str_of(text), &json_door, &doc, &e) < 0)
		fail_msg("%s: %s", text, err_text(&e));
	assert_int_equal(mcp_read(doc, &m, &f), 0);
	peer->here = false;
	buf_done(&peer->text);
	mcp_take(&peer->client, &peer->channel, &m);
	json_doc_unref(doc);
}

static const char *
answer_text(void)
{
	return peer->text.len ? buf_z(&peer->text) : "";
}

static void
initialize(const char *capabilities)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
		 "\"protocolVersion\":\"2025-11-25\",\"capabilities\":%s}}",
		 capabilities);
	take(text);
}

#define SAMPLES "{\"sampling\":{},\"roots\":{}}"
#define FORMS "{\"elicitation\":{}}"

/* A call that waits for a person: it stays open as long as one wants. */
static struct mcp_request *
call(const char *id, const char *path, const char *capabilities, const char *more)
{
	char text[2048], meta[300] = "";

	if (capabilities)
		snprintf(meta, sizeof(meta),
			 ",\"_meta\":{\"" META_VERSION "\":\"2026-07-28\",\"" META_CAPABILITIES
			 "\":%s}",
			 capabilities);
	snprintf(text, sizeof(text),
		 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":"
		 "\"write_file\",\"arguments\":{\"path\":\"%s\",\"content\":\"x\"}%s%s}}",
		 id, path, meta, more);
	size_t before = peer->client.requests.len;
	take(text);
	if (peer->client.requests.len == before)
		return NULL;
	return CONTAINER_OF(peer->client.requests.head.prev, struct mcp_request, node);
}

/* ---- inquiries ---- */

struct asked {
	struct inquiry inquiry;
	struct inquiry_item items[3];
	struct json_doc *params;
	int settled;
};

static void
count_settled(struct inquiry *q)
{
	((struct asked *)q->owner)->settled++;
}

static void
asked_init(struct asked *a, size_t count, const char *const *keys)
{
	struct err e;

	*a = (struct asked){0};
	assert_int_equal(json_parse(S("{\"messages\":[],\"maxTokens\":1}"), &json_door, &a->params,
				    &e),
			 0);
	for (size_t i = 0; i < count; i++)
		a->items[i] = (struct inquiry_item){.key = str_of(keys[i]),
						    .method = S("sampling/createMessage"),
						    .params = json_root(a->params)};
	a->inquiry = (struct inquiry){.items = a->items,
				      .count = count,
				      .settled = count_settled,
				      .owner = a,
				      .from = S("srv")};
}

static void
asked_done(struct asked *a)
{
	inquiry_withdraw(&a->inquiry);
	json_doc_unref(a->params);
}

static const char *const one[] = {"k"}, *const two[] = {"k1", "k2"};

/* ---- legacy ---- */

static void
a_legacy_client_gets_requests_and_answers_them(void **state)
{
	struct asked a;
	struct err e;

	(void)state;
	initialize(SAMPLES);
	struct mcp_request *q = call("1", "a", NULL, "");
	asked_init(&a, 2, two);
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), 0);
	assert_int_equal(note_count, 2);
	assert_string_equal(notes[0],
			    "{\"jsonrpc\":\"2.0\",\"id\":\"hf-1\",\"method\":\"sampling/"
			    "createMessage\",\"params\":{\"messages\":[],\"maxTokens\":1}}");
	take("{\"jsonrpc\":\"2.0\",\"id\":\"hf-2\",\"result\":{\"n\":2}}");
	take("{\"jsonrpc\":\"2.0\",\"id\":\"hf-2\",\"result\":{\"n\":3}}"); /* again: nothing */
	take("{\"jsonrpc\":\"2.0\",\"id\":\"hf-3\",\"result\":{\"n\":4}}");
	take("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":5}}");
	assert_int_equal(a.settled, 0);
	take("{\"jsonrpc\":\"2.0\",\"id\":\"hf-1\",\"error\":{\"code\":-1,\"message\":\"no\"}}");
	assert_int_equal(a.settled, 1);
	assert_null(a.items[0].answer);
	assert_non_null(strstr(a.items[0].err.text, "no"));
	int64_t n = 0;
	assert_true(json_int(json_get(a.items[1].answer, S("n")), &n) && n == 2);
	assert_int_equal(peer->client.asked.len, 0);
	asked_done(&a);
}

static void
what_is_no_longer_wanted_is_taken_back(void **state)
{
	struct asked a;
	struct err e;

	(void)state;
	initialize(SAMPLES);
	struct mcp_request *q = call("1", "a", NULL, "");
	asked_init(&a, 1, one);
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), 0);
	inquiry_withdraw(&a.inquiry);
	assert_int_equal(note_count, 2);
	assert_non_null(strstr(notes[1], "\"notifications/cancelled\""));
	assert_non_null(strstr(notes[1], "\"requestId\":\"hf-1\""));
	take("{\"jsonrpc\":\"2.0\",\"id\":\"hf-1\",\"result\":{}}");
	assert_int_equal(a.settled, 0);
	asked_done(&a);
}

static void
only_what_was_declared_and_can_be_said_is_asked(void **state)
{
	struct asked a;
	struct err e;

	(void)state;
	initialize(FORMS);
	struct mcp_request *q = call("1", "a", NULL, "");
	asked_init(&a, 1, one);
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), E_UNAVAILABLE);
	initialize(SAMPLES); /* counts for what comes after it */
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), E_UNAVAILABLE);
	q = call("2", "b", NULL, "");
	deaf = true;
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), E_UNAVAILABLE);
	deaf = false;
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), 0);
	asked_done(&a);
}

static void
a_client_that_goes_away_refuses_what_it_had(void **state)
{
	struct asked a;
	struct err e;

	(void)state;
	initialize(SAMPLES);
	struct mcp_request *q = call("1", "a", NULL, "");
	asked_init(&a, 2, two);
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), 0);
	peer_free(peer);
	assert_int_equal(a.settled, 1);
	assert_int_equal(a.items[0].err.code, E_CANCELLED);
	asked_done(&a);
	peer = peer_new(world, "all", MCP_2025_11_25);
}

static void
answers_that_are_none_are_refused(void **state)
{
	static const struct {
		const char *method, *answer;
		bool fits;
	} rows[] = {
	    {"roots/list", "{}", false},
	    {"roots/list", "{\"roots\":[]}", true},
	    {"elicitation/create", "{}", false},
	    {"elicitation/create", "{\"action\":\"maybe\"}", false},
	    {"elicitation/create", "{\"action\":\"accept\"}", false},
	    {"elicitation/create", "{\"action\":\"accept\",\"content\":[]}", false},
	    {"elicitation/create", "{\"action\":\"accept\",\"content\":{\"a\":1}}", false},
	    {"elicitation/create", "{\"action\":\"accept\",\"content\":{\"a\":\"x\"}}", true},
	    {"elicitation/create", "{\"action\":\"decline\"}", true},
	    {"elicitation/create", "{\"action\":\"cancel\",\"content\":7}", true},
	};
	char text[200];
	struct err e;

	(void)state;
	initialize("{\"elicitation\":{},\"roots\":{}}");
	from_tool = true; /* the gateway's own form is not for this test */
	struct mcp_request *q = call("1", "a", NULL, "");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct asked a;

		asked_init(&a, 1, one);
		json_doc_unref(a.params);
		assert_int_equal(
		    json_parse(S("{\"message\":\"m\",\"requestedSchema\":{\"type\":"
				 "\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}"
				 ",\"required\":[\"a\"]}}"),
			       &json_door, &a.params, &e),
		    0);
		a.items[0].params = json_root(a.params);
		a.items[0].method = str_of(rows[i].method);
		note_count = 0;
		assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), 0);
		snprintf(text, sizeof(text),
			 "{\"jsonrpc\":\"2.0\",\"id\":\"hf-%zu\",\"result\":%s}", i + 1,
			 rows[i].answer);
		take(text);
		assert_int_equal(a.settled, 1);
		if ((a.items[0].answer != NULL) != rows[i].fits)
			fail_msg("%s", rows[i].answer);
		if (rows[i].method[0] == 'e')
			assert_non_null(strstr(notes[0], "\"message\":\"srv asks: m\""));
		asked_done(&a);
	}
}

/* ---- modern ---- */

static char state_now[512];

/* The answer asks for input; its state is kept. */
static void
expect_round(const char *id, const char *key)
{
	struct json_doc *doc;
	struct err e;

	UNTIL(world, peer->here);
	assert_int_equal(json_parse(buf_str(&peer->text), &json_door, &doc, &e), 0);
	const struct json *result = json_get(json_root(doc), S("result"));
	struct str state = json_str(json_get(result, S("requestState")));
	char wanted[64];
	snprintf(wanted, sizeof(wanted), "{\"jsonrpc\":\"2.0\",\"id\":%s,", id);
	assert_true(str_starts(buf_str(&peer->text), str_of(wanted)));
	assert_true(str_is(json_str(json_get(result, S("resultType"))), "input_required"));
	assert_int_equal(json_len(json_get(result, S("inputRequests"))), 1);
	assert_non_null(json_get(json_get(result, S("inputRequests")), str_of(key)));
	assert_null(json_get(result, S("ttlMs")));
	assert_true(state.len && state.len < sizeof(state_now));
	memcpy(state_now, state.ptr, state.len);
	state_now[state.len] = '\0';
	json_doc_unref(doc);
	peer->here = false;
}

static void
retry(const char *id, const char *path, const char *state, const char *responses)
{
	char more[1024];

	snprintf(more, sizeof(more), ",\"requestState\":\"%s\"%s%s", state,
		 *responses ? ",\"inputResponses\":" : "", responses);
	call(id, path, SAMPLES, more);
}

static void
a_modern_client_is_asked_by_its_answer(void **state)
{
	struct asked a;
	struct err e;

	(void)state;
	struct mcp_request *q = call("1", "a", SAMPLES, "");
	asked_init(&a, 1, one);
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), 0);
	assert_int_equal(a.settled, 0);
	expect_round("1", "k");
	assert_null(q->channel);
	retry("\"2\"", "a", state_now, "{\"k\":{\"x\":1},\"more\":7}");
	assert_int_equal(peer->text.len, 0);
	UNTIL(world, a.settled == 1);
	assert_non_null(json_get(a.items[0].answer, S("x")));
	assert_ptr_equal(q->channel, &peer->channel);
	/* It goes on under the new id. */
	assert_int_equal(gateway_cancel_call(&world->hf->gw, id_str(&q->turn->results[0].call)), 0);
	UNTIL(world, peer->here);
	assert_true(
	    str_starts(buf_str(&peer->text), S("{\"jsonrpc\":\"2.0\",\"id\":\"2\",\"result\":")));
	asked_done(&a);
}

static void
no_other_state_is_taken(void **state)
{
	struct asked a;
	struct err e;
	char forged[512];

	(void)state;
	struct mcp_request *q = call("1", "a", SAMPLES, "");
	asked_init(&a, 1, one);
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), 0);
	expect_round("1", "k");
	for (size_t i = 0; state_now[i]; i++) { /* each letter by another */
		strcpy(forged, state_now);
		forged[i] = forged[i] == 'A' ? 'B' : 'A';
		retry("2", "a", forged, "{\"k\":{}}");
		assert_non_null(strstr(answer_text(), "-32602"));
	}
	for (size_t len = 0; len < strlen(state_now); len += 7) { /* each beginning */
		strcpy(forged, state_now);
		forged[len] = '\0';
		retry("2", "a", forged, "{\"k\":{}}");
		assert_non_null(strstr(answer_text(), "-32602"));
	}
	retry("2", "other", state_now, "{\"k\":{}}"); /* another call's */
	assert_non_null(strstr(answer_text(), "-32602"));
	struct peer *stranger = peer_new(world, "all", MCP_2026_07_28);
	char params[1024];
	snprintf(params, sizeof(params),
		 "\"name\":\"write_file\",\"arguments\":{\"path\":\"a\",\"content\":\"x\"},"
		 "\"requestState\":\"%s\",\"inputResponses\":{\"k\":{}}",
		 state_now);
	assert_int_equal(code_of(peer_ask(stranger, "tools/call", params)), -32602);
	peer_free(stranger);
	retry("2", "a", state_now, "{\"k\":7}"); /* no answer: and it can be tried again */
	assert_non_null(strstr(answer_text(), "-32602"));
	retry("2", "a", state_now, "[]");
	assert_non_null(strstr(answer_text(), "-32602"));
	assert_int_equal(a.settled, 0);
	strcpy(forged, state_now);
	retry("3", "a", state_now, ""); /* nothing is answered: asked again, under another state */
	expect_round("3", "k");
	assert_string_not_equal(forged, state_now);
	retry("4", "a", forged, "{\"k\":{}}"); /* each is good for one retry */
	assert_non_null(strstr(answer_text(), "-32602"));
	retry("4", "a", state_now, "{\"k\":{}}");
	UNTIL(world, a.settled == 1);
	retry("5", "a", state_now, "{\"k\":{}}"); /* also while the first one waits */
	assert_non_null(strstr(answer_text(), "-32602"));
	asked_done(&a);
}

static void
two_that_use_one_key_are_asked_after_each_other(void **state)
{
	struct asked a, b;
	struct err e;

	(void)state;
	struct mcp_request *q = call("1", "a", SAMPLES, "");
	asked_init(&a, 1, one);
	asked_init(&b, 1, one);
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), 0);
	assert_int_equal(behind_ask(&q->behind, &b.inquiry, &e), 0);
	expect_round("1", "k");
	retry("2", "a", state_now, "{\"k\":{\"n\":1}}");
	expect_round("2", "k");
	assert_true(a.settled == 1 && b.settled == 0);
	retry("3", "a", state_now, "{\"k\":{\"n\":2}}");
	UNTIL(world, b.settled == 1);
	int64_t n = 0;
	assert_true(json_int(json_get(b.items[0].answer, S("n")), &n) && n == 2);
	asked_done(&a);
	asked_done(&b);
}

static void
an_answer_that_comes_while_nobody_is_there_waits(void **state)
{
	struct asked a;
	struct err e;

	(void)state;
	struct mcp_request *q = call("1", "a", SAMPLES, "");
	asked_init(&a, 1, one);
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), 0);
	expect_round("1", "k");
	inquiry_withdraw(&a.inquiry);
	gateway_cancel_call(&world->hf->gw, id_str(&q->turn->results[0].call));
	UNTIL(world, mcp_parked_is_over(q));
	retry("\"late\"", "a", state_now, "{\"k\":{}}");
	assert_true(
	    str_starts(buf_str(&peer->text), S("{\"jsonrpc\":\"2.0\",\"id\":\"late\",\"result\":{"
					       "\"resultType\":\"complete\"")));
	assert_int_equal(peer->client.requests.len, 0);
	assert_int_equal(world->hf->front->mcp.parks.len, 0);
	asked_done(&a);
}

static void
what_was_given_before_counts_for_servers_alone(void **state)
{
	struct asked a;
	struct err e;

	(void)state;
	struct mcp_request *q =
	    call("1", "a", SAMPLES, ",\"inputResponses\":{\"k\":{\"x\":1},\"approval\":{}}");
	asked_init(&a, 1, one);
	assert_int_equal(behind_ask(&q->behind, &a.inquiry, &e), 0);
	UNTIL(world, a.settled == 1);
	assert_false(peer->here);
	asked_done(&a);
	/* The gateway's own question is asked nevertheless. */
	call("2", "b", FORMS,
	     ",\"inputResponses\":{\"approval\":{\"action\":\"accept\",\"content\":{\"decision\":"
	     "\"allow once\"}}}");
	expect_round("2", "approval");
	UNTIL(world, questions_count(world->hf->questions) == 2); /* each on its own thread */
}

static void
only_so_many_wait_for_their_clients(void **state)
{
	static struct asked waiting[LIMIT_MCP_PARKED];
	struct asked late;
	struct err e;
	char id[16];

	(void)state;
	peer->client.shared = true; /* so that it may have so many */
	for (int i = 0; i < LIMIT_MCP_PARKED; i++) {
		snprintf(id, sizeof(id), "%d", i);
		struct mcp_request *q = call(id, "a", SAMPLES, "");
		asked_init(&waiting[i], 1, one);
		assert_int_equal(behind_ask(&q->behind, &waiting[i].inquiry, &e), 0);
		expect_round(id, "k");
	}
	struct mcp_request *q = call("\"more\"", "a", SAMPLES, "");
	asked_init(&late, 1, one);
	assert_int_equal(behind_ask(&q->behind, &late.inquiry, &e), E_LIMIT);
	asked_done(&late);
	peer_free(peer);
	assert_int_equal(world->hf->front->mcp.parks.len, 0);
	for (int i = 0; i < LIMIT_MCP_PARKED; i++) {
		assert_int_equal(waiting[i].settled, 1);
		asked_done(&waiting[i]);
	}
	peer = peer_new(world, "all", MCP_2025_11_25);
}

/* ---- the gateway's own questions ---- */

static void
a_person_approves_in_the_client(void **state)
{
	char path[128];

	(void)state;
	initialize(FORMS);
	call("1", "a", NULL, "");
	UNTIL(world, note_count == 1);
	assert_non_null(strstr(notes[0], "\"method\":\"elicitation/create\""));
	assert_non_null(strstr(notes[0], "Allow write_file?"));
	take("{\"jsonrpc\":\"2.0\",\"id\":\"hf-1\",\"result\":{\"action\":\"accept\",\"content\":{"
	     "\"decision\":\"allow once\"}}}");
	UNTIL(world, peer->here);
	snprintf(path, sizeof(path), "%s/a", world->workspace);
	assert_int_equal(access(path, F_OK), 0);
}

static void
a_tool_is_neither_asked_nor_heard(void **state)
{
	(void)state;
	initialize(FORMS);
	from_tool = true;
	call("1", "a", NULL, "");
	UNTIL(world, questions_count(world->hf->questions) == 1);
	assert_int_equal(note_count, 0);
	from_tool = false;
	call("2", "b", NULL, "");
	UNTIL(world, note_count == 1);
	peer->client.may_answer = false; /* on a line the whole client is one */
	take("{\"jsonrpc\":\"2.0\",\"id\":\"hf-1\",\"result\":{\"action\":\"accept\",\"content\":{"
	     "\"decision\":\"allow once\"}}}");
	world_turn(world);
	UNTIL(world, questions_count(world->hf->questions) == 2);
	peer->client.may_answer = true;
	call("3", "c", FORMS, "");
	expect_round("3", "approval");
	from_tool = true;
	char more[1024];
	snprintf(more, sizeof(more),
		 ",\"requestState\":\"%s\",\"inputResponses\":{\"approval\":{\"action\":\"accept\","
		 "\"content\":{\"decision\":\"allow once\"}}}",
		 state_now);
	call("4", "c", FORMS, more);
	assert_int_equal(peer->status, 403);
	UNTIL(world, questions_count(world->hf->questions) == 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_legacy_client_gets_requests_and_answers_them, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(what_is_no_longer_wanted_is_taken_back, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(only_what_was_declared_and_can_be_said_is_asked, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_client_that_goes_away_refuses_what_it_had, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(answers_that_are_none_are_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_modern_client_is_asked_by_its_answer, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(no_other_state_is_taken, setup, teardown),
	    cmocka_unit_test_setup_teardown(two_that_use_one_key_are_asked_after_each_other, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(an_answer_that_comes_while_nobody_is_there_waits, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(what_was_given_before_counts_for_servers_alone, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(only_so_many_wait_for_their_clients, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_person_approves_in_the_client, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_tool_is_neither_asked_nor_heard, setup, teardown),
	};
	return cmocka_run_group_tests_name("mcp_ask", tests, NULL, NULL);
}
