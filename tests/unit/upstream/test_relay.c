/* test_relay.c - progress, messages and questions of a server reach whoever stands behind a call.
 */

#include "house.h"

/* ---- somebody behind ---- */

struct person {
	struct behind behind;
	struct json_doc *capabilities;
	struct buf progress, messages;
	unsigned message_count;
	struct inquiry *asked;
	const char *answer; /* JSON; NULL: refuses; answered soon after it is asked */
	bool silent;        /* never answers */
	bool unasked;
	struct deferred later;
	char method[64];
};

static void
person_progress(struct behind *b, const struct json *params)
{
	struct person *p = CONTAINER_OF(b, struct person, behind);
	struct jw w = jw(&p->progress);

	if (p->progress.len < 4096)
		jw_value(&w, params);
}

static void
person_message(struct behind *b, const struct json *params)
{
	struct person *p = CONTAINER_OF(b, struct person, behind);
	struct jw w = jw(&p->messages);

	p->message_count++;
	if (p->messages.len < 4096)
		jw_value(&w, params);
}

static void
person_answers(void *arg)
{
	struct person *p = arg;
	struct json_doc *doc;
	struct err e;

	if (!p->answer) {
		err_set(&e, E_UNAVAILABLE, "nobody is at home");
		for (size_t i = p->asked->count; i-- > 0;)
			inquiry_refuse(p->asked, i, &e);
		return;
	}
	assert_int_equal(json_parse(str_of(p->answer), &json_door, &doc, &e), 0);
	for (size_t i = p->asked->count; i-- > 0;)
		inquiry_answer(p->asked, i, doc, json_root(doc));
	json_doc_unref(doc);
}

static int
person_ask(struct behind *b, struct inquiry *q, struct err *e)
{
	struct person *p = CONTAINER_OF(b, struct person, behind);

	(void)e;
	q->at = b;
	p->asked = q;
	snprintf(p->method, sizeof(p->method), "%.*s", STR_ARG(q->items[0].method));
	if (p->silent)
		loop_stop(loop);
	else
		defer(loop, &p->later, person_answers, p);
	return 0;
}

static void
person_unask(struct behind *b, struct inquiry *q)
{
	struct person *p = CONTAINER_OF(b, struct person, behind);

	assert_ptr_equal(p->asked, q);
	p->unasked = true;
}

static const struct behind_ops person_ops = {person_progress, person_message, person_ask,
					     person_unask};

static void
person_init(struct person *p, const char *capabilities)
{
	struct err e;

	p->progress = p->messages = BUF_INIT(MIB);
	assert_int_equal(json_parse(str_of(capabilities), &json_door, &p->capabilities, &e), 0);
	p->behind = (struct behind){.ops = &person_ops,
				    .capabilities = json_root(p->capabilities),
				    .log_level = MCP_LOG_NONE};
}

static void
person_done(struct person *p)
{
	defer_cancel(&p->later);
	buf_done(&p->progress);
	buf_done(&p->messages);
	json_doc_unref(p->capabilities);
}

#define ALL "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{},\"roots\":{}}"

/* Both eras, the same story. */
static const char *const eras[] = {NULL, "modern"};

/* ---- what is only heard ---- */

static void
progress_comes_without_our_token(void **state)
{
	(void)state;
	for (int era = 0; era < 2; era++) {
		struct upstream *u = house_started((struct server){.words = {eras[era]}});
		struct person p = {0};
		person_init(&p, "{}");
		struct call c = {.spec.behind = &p.behind};
		call(&c, u, "progress");
		assert_string_equal(c.text, "progressed");
		assert_string_equal(buf_z(&p.progress),
				    "{\"progress\":0,\"total\":3}{\"progress\":1,\"total\":3}"
				    "{\"progress\":2,\"total\":3}");
		person_done(&p);
		house_end();
		house_make();
	}
}

static void
progress_puts_off_the_timeout_but_not_the_end(void **state)
{
	struct person p = {0};

	(void)state;
	person_init(&p, "{}");
	struct call c = {.spec.behind = &p.behind};
	struct upstream *u = house_started((struct server){.timeout_ms = 400, .max_ms = 1200});
	call(&c, u, "progress_forever");
	assert_int_equal(c.code, E_TIMEOUT);
	assert_string_equal(c.text, "the server has not come to an end in time");
	person_done(&p);
}

static void
messages_go_to_the_only_call_by_its_level(void **state)
{
	struct person p = {0};

	(void)state;
	person_init(&p, "{}");
	struct upstream *u = house_started((struct server){0});
	struct call quiet = {.spec.behind = &p.behind}, loud = {.spec.behind = &p.behind};
	call(&quiet, u, "message");
	assert_int_equal(p.message_count, 0);
	p.behind.log_level = mcp_log_level(S("info"));
	call(&loud, u, "message");
	assert_string_equal(buf_z(&p.messages), "{\"level\":\"info\",\"data\":\"hello\"}");
	assert_int_equal(messages.len, 0);
	/* A flood is thinned, and the call still ends. */
	struct call flood = {.spec.behind = &p.behind};
	p.message_count = 0;
	call(&flood, u, "flood");
	assert_string_equal(flood.text, "flooded");
	assert_in_range(p.message_count, 1, 20000 / 2);
	person_done(&p);
}

static void
messages_of_no_call_go_to_the_watchers(void **state)
{
	struct call a = {0}, b = {0};

	(void)state;
	struct upstream *u = house_started((struct server){0});
	call_begin(&a, u, "hang");
	call(&b, u, "message");
	assert_string_equal(buf_z(&messages), "{\"level\":\"info\",\"data\":\"hello\"}");
	exchange_cancel(a.x);
	UNTIL(a.over);
}

/* ---- what is passed on ---- */

static void
the_envelope_is_ours_and_the_rest_is_theirs(void **state)
{
	struct person p = {0};
	struct json_doc *meta;
	struct err e;
	static const char theirs[] =
	    "{\"traceparent\":\"00-1\",\"x/y\":[1],\"progressToken\":\"theirs\","
	    "\"io.modelcontextprotocol/protocolVersion\":\"2030-01-01\","
	    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"them\"}}";

	(void)state;
	person_init(&p, "{\"elicitation\":{},\"extensions\":{\"a/b\":{}},\"tasks\":{}}");
	assert_int_equal(json_parse(str_of(theirs), &json_door, &meta, &e), 0);
	p.behind.meta = json_root(meta);
	p.behind.log_level = mcp_log_level(S("warning"));
	struct call modern = {.spec.behind = &p.behind}, legacy = {.spec.behind = &p.behind};
	call(&modern, house_started((struct server){.words = {"modern"}}), "meta");
	assert_non_null(strstr(modern.text, "\"traceparent\": \"00-1\", \"x/y\": [1]}"));
	assert_non_null(strstr(modern.text, "/clientCapabilities\": {\"elicitation\": {}}, "));
	assert_non_null(strstr(modern.text, "/clientInfo\": {\"name\": \"holdfast\""));
	assert_non_null(strstr(modern.text, "/logLevel\": \"warning\""));
	assert_non_null(strstr(modern.text, "/protocolVersion\": \"2026-07-28\", "));
	assert_null(strstr(modern.text, "theirs"));
	call(&legacy, house_started((struct server){0}), "meta");
	assert_null(strstr(legacy.text, "io.modelcontextprotocol"));
	assert_null(strstr(legacy.text, "theirs"));
	assert_non_null(strstr(legacy.text, "\"traceparent\": \"00-1\", \"x/y\": [1]}"));
	json_doc_unref(meta);
	person_done(&p);
}

/* ---- what is asked ---- */

static void
a_legacy_server_gets_its_answer(void **state)
{
	struct person p = {.answer = "{\"action\":\"accept\",\"content\":{\"ok\":true}}"};

	(void)state;
	person_init(&p, ALL);
	struct upstream *u = house_started((struct server){0});
	struct call yes = {.spec.behind = &p.behind}, no = {.spec.behind = &p.behind};
	call(&yes, u, "ask");
	assert_string_equal(p.method, "elicitation/create");
	assert_string_equal(yes.text, "{\"action\": \"accept\", \"content\": {\"ok\": true}}");
	p.answer = NULL;
	call(&no, u, "ask");
	assert_string_equal(no.text, "{\"action\": \"cancel\"}");
	struct call model = {.spec.behind = &p.behind};
	call(&model, u, "ask_model");
	assert_non_null(strstr(model.text, "nobody is at home"));
	person_done(&p);
}

static void
a_modern_server_gets_its_answer_and_its_state(void **state)
{
	struct person p = {.answer = "{\"action\":\"accept\",\"content\":{\"ok\":true}}"};

	(void)state;
	person_init(&p, ALL);
	struct upstream *u = house_started((struct server){.words = {"modern"}});
	struct call yes = {.spec.behind = &p.behind}, no = {.spec.behind = &p.behind};
	call(&yes, u, "ask");
	assert_string_equal(
	    yes.text, "[{\"confirm\": {\"action\": \"accept\", \"content\": {\"ok\": true}}}, "
		      "\"st\\u00e4te \\\"1\\\"\"]");
	p.answer = NULL;
	call(&no, u, "ask");
	assert_non_null(strstr(no.text, "{\"confirm\": {\"action\": \"cancel\"}}"));
	/* Nobody is there to be asked. */
	struct call *alone = CALL(u, "ask");
	assert_int_equal(alone->code, E_UNAVAILABLE);
	assert_non_null(strstr(alone->text, "no client"));
	person_done(&p);
}

static void
a_server_is_asked_again_at_most_ten_times(void **state)
{
	static const struct {
		const char *tool;
		int code;
		const char *says;
	} rows[] = {
	    {"again", 0, "thrice"},
	    {"again_forever", E_LIMIT, "asks too much"},
	    {"nothing_asked", E_EXECUTION, "where or how it must not"},
	    {"odd_type", E_EXECUTION, "unknown type"},
	};

	(void)state;
	struct upstream *u = house_started((struct server){.words = {"modern"}});
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct call *c = CALL(u, rows[i].tool);
		if (c->code != rows[i].code || !strstr(c->text, rows[i].says))
			fail_msg("%s: %d %s", rows[i].tool, c->code, c->text);
	}
	struct call *c = CALL(u, "capability");
	assert_int_equal(c->code, 0);
	assert_int_equal(c->rpc, RPC_CAPABILITY);
}

static void
errors_of_the_hop_are_repaired_once(void **state)
{
	static const char *const words[] = {"header-once", "forget-once"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct upstream *u = house_started((struct server){.words = {"modern", words[i]}});
		struct call *c = CALL(u, "crash_after");
		assert_int_equal(c->code, 0);
		assert_string_equal(c->text, "done");
		house_end();
		house_make();
	}
}

static void
two_clients_are_never_mixed_up(void **state)
{
	struct person p = {.answer = "{\"action\":\"accept\"}"}, q = {0};

	(void)state;
	person_init(&p, ALL);
	person_init(&q, ALL);
	struct upstream *u = house_started((struct server){0});
	struct call mine = {.spec = {.behind = &p.behind, .group = S("one")}};
	struct call theirs = {.spec = {.behind = &q.behind, .group = S("two")}};
	struct call again = {.spec = {.behind = &p.behind, .group = S("one")}};
	call_begin(&theirs, u, "hang");
	call(&mine, u, "ask");
	assert_non_null(strstr(mine.text, "not clear whose"));
	assert_null(p.asked);
	assert_null(q.asked);
	exchange_cancel(theirs.x);
	UNTIL(theirs.over);
	call(&again, u, "ask");
	assert_string_equal(again.text, "{\"action\": \"accept\"}");
	person_done(&p);
	person_done(&q);
}

/* Issue 5: who cannot be asked is under way too, and it may be his call that asks. */
static void
a_question_of_one_who_cannot_be_asked_goes_to_nobody_else(void **state)
{
	struct person p = {.answer = "{\"action\":\"accept\"}"}, q = {0};

	(void)state;
	person_init(&p, ALL);
	person_init(&q, "{}");
	struct upstream *u = house_started((struct server){0});
	struct call mine = {.spec = {.behind = &p.behind, .group = S("one")}};
	struct call theirs = {.spec = {.behind = &q.behind, .group = S("two")}};
	call_begin(&mine, u, "hang");
	call(&theirs, u, "ask");
	assert_non_null(strstr(theirs.text, "not clear whose"));
	assert_null(p.asked);
	exchange_cancel(mine.x);
	UNTIL(mine.over);
	person_done(&p);
	person_done(&q);
}

/* Issue 5. */
static void
a_legacy_server_asks_only_so_often_in_one_request(void **state)
{
	struct person p = {.answer = "{\"action\":\"accept\"}"};

	(void)state;
	person_init(&p, ALL);
	struct upstream *u = house_started((struct server){0});
	struct call c = {.spec = {.behind = &p.behind}};
	call(&c, u, "ask_forever");
	assert_string_equal(c.text, "100: too much is asked in one request");
	person_done(&p);
}

static void
what_is_asked_at_the_start_meets_nobody(void **state)
{
	struct person p = {.answer = "{}"};

	(void)state;
	person_init(&p, ALL);
	struct upstream *u = house_server((struct server){.words = {"start-ask"}});
	struct call c = {.argument = "x", .spec.behind = &p.behind};
	call(&c, u, "echo"); /* waits for the start */
	assert_string_equal(c.text, "x");
	assert_null(p.asked);
	person_done(&p);
}

static void
roots_are_told_when_nobody_can_be_asked(void **state)
{
	static const char *const roots[] = {"/a b/c", "/d", NULL};

	(void)state;
	struct upstream *u = house_started((struct server){.roots = roots});
	assert_string_equal(
	    CALL(u, "ask_roots")->text,
	    "{\"roots\": [{\"uri\": \"file:///a%20b/c\"}, {\"uri\": \"file:///d\"}]}");
}

/* The clock stands still while a person thinks; cancelling takes the question back. */
static void
a_question_stops_the_clock_and_ends_with_its_call(void **state)
{
	(void)state;
	for (int era = 0; era < 2; era++) {
		struct person p = {.silent = true};
		person_init(&p, ALL);
		struct upstream *u = house_started(
		    (struct server){.words = {eras[era]}, .timeout_ms = 300, .concurrency = 1});
		struct call c = {.spec.behind = &p.behind}, clock = {0};
		call_begin(&c, u, "ask");
		UNTIL(p.asked);
		call(&clock, u, "hang"); /* longer than its timeout; and it had a place */
		assert_int_equal(clock.code, E_TIMEOUT);
		assert_false(c.over);
		exchange_cancel(c.x);
		assert_true(p.unasked);
		UNTIL(c.over);
		assert_int_equal(c.code, E_CANCELLED);
		assert_int_equal(c.overs, 1);
		person_done(&p);
		house_end();
		house_make();
	}
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, house_setup, house_teardown)
	const struct CMUnitTest tests[] = {
	    TEST(progress_comes_without_our_token),
	    TEST(progress_puts_off_the_timeout_but_not_the_end),
	    TEST(messages_go_to_the_only_call_by_its_level),
	    TEST(messages_of_no_call_go_to_the_watchers),
	    TEST(the_envelope_is_ours_and_the_rest_is_theirs),
	    TEST(a_legacy_server_gets_its_answer),
	    TEST(a_modern_server_gets_its_answer_and_its_state),
	    TEST(a_server_is_asked_again_at_most_ten_times),
	    TEST(errors_of_the_hop_are_repaired_once),
	    TEST(two_clients_are_never_mixed_up),
	    TEST(a_question_of_one_who_cannot_be_asked_goes_to_nobody_else),
	    TEST(a_legacy_server_asks_only_so_often_in_one_request),
	    TEST(what_is_asked_at_the_start_meets_nobody),
	    TEST(roots_are_told_when_nobody_can_be_asked),
	    TEST(a_question_stops_the_clock_and_ends_with_its_call),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
