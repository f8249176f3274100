/* test_behind.c - speaking to whoever is behind a request, and asking them. */

#include "unit.h"

#include "json/parsed.h"
#include "mcp/behind.h"

/* ---- a client that keeps count ---- */

struct client {
	struct behind behind;
	unsigned progress, messages, unasked;
	struct inquiry *held;
	bool refuses;
};

static struct client *
client_of(struct behind *b)
{
	return CONTAINER_OF(b, struct client, behind);
}

static void
client_progress(struct behind *b, const struct json *params)
{
	(void)params;
	client_of(b)->progress++;
}

static void
client_message(struct behind *b, const struct json *params)
{
	(void)params;
	client_of(b)->messages++;
}

static int
client_ask(struct behind *b, struct inquiry *q, struct err *e)
{
	struct client *c = client_of(b);

	if (c->refuses)
		return err_set(e, E_UNAVAILABLE, "not now");
	q->at = b;
	c->held = q;
	return 0;
}

static void
client_unask(struct behind *b, struct inquiry *q)
{
	struct client *c = client_of(b);

	assert_ptr_equal(c->held, q);
	c->held = NULL;
	c->unasked++;
}

static const struct behind_ops client_ops = {client_progress, client_message, client_ask,
					     client_unask};

/* ---- somebody on the way to it ---- */

struct relay {
	struct behind behind;
	struct client *to;
};

static int
relay_ask(struct behind *b, struct inquiry *q, struct err *e)
{
	return behind_ask(&CONTAINER_OF(b, struct relay, behind)->to->behind, q, e);
}

static struct behind *
relay_next(const struct behind *b)
{
	struct client *to = CONTAINER_OF(b, struct relay, behind)->to;

	return to ? &to->behind : NULL;
}

static void
relay_message(struct behind *b, const struct json *params)
{
	behind_message(relay_next(b), params);
}

static const struct behind_ops relay_ops = {client_progress, relay_message, relay_ask, NULL,
					    relay_next};

/* ---- an inquiry ---- */

struct asker {
	struct inquiry q;
	struct inquiry_item items[3];
	unsigned settled;
};

static void
asker_settled(struct inquiry *q)
{
	struct asker *a = q->owner;

	assert_null(q->at);
	a->settled++;
}

static void
asker_init(struct asker *a, size_t count)
{
	static const char *const keys[] = {"form", "model", "roots"};
	static const char *const methods[] = {"elicitation/create", "sampling/createMessage",
					      "roots/list"};

	*a = (struct asker){.q = {.items = a->items, .count = count, .settled = asker_settled}};
	a->q.owner = a;
	for (size_t i = 0; i < count; i++)
		a->items[i] =
		    (struct inquiry_item){.key = str_of(keys[i]), .method = str_of(methods[i])};
}

/* ---- tests ---- */

static void
takes_nobody(void **state)
{
	struct asker a;
	struct err e = ERR_NONE;
	struct behind gone = {0};

	(void)state;
	asker_init(&a, 1);
	behind_progress(NULL, NULL);
	behind_message(NULL, NULL);
	assert_int_equal(behind_can(NULL), 0);
	assert_int_equal(behind_ask(NULL, &a.q, &e), E_UNAVAILABLE);
	assert_true(e.text[0]);
	behind_done(&gone);
	behind_progress(&gone, NULL);
	assert_int_equal(behind_can(&gone), 0);
	assert_int_equal(behind_ask(&gone, &a.q, &e), E_UNAVAILABLE);
	inquiry_withdraw(&a.q);
	assert_int_equal(a.settled, 0);
}

static void
heeds_the_level(void **state)
{
	static const struct {
		const char *params;
		int level;
		unsigned heard;
	} cases[] = {
	    {"{\"level\":\"debug\",\"data\":1}", 0, 1},
	    {"{\"level\":\"info\"}", 2, 0},
	    {"{\"level\":\"notice\"}", 2, 1},
	    {"{\"level\":\"emergency\"}", MCP_LOG_NONE, 0},
	    {"{\"level\":\"loud\"}", 0, 0},
	    {"{\"level\":7}", 0, 0},
	    {"{}", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct client c = {.behind = {.ops = &client_ops, .log_level = cases[i].level}};
		struct json_doc *doc = parsed(cases[i].params);
		behind_message(&c.behind, json_root(doc));
		behind_progress(&c.behind, json_root(doc));
		assert_int_equal(c.messages, cases[i].heard);
		assert_int_equal(c.progress, 1);
		json_doc_unref(doc);
	}
}

static void
asks_only_what_was_declared(void **state)
{
	static const struct {
		const char *capabilities;
		size_t count;
		int code;
	} cases[] = {
	    {"{}", 1, E_UNAVAILABLE},
	    {"{\"elicitation\":{}}", 1, 0},
	    {"{\"elicitation\":{\"url\":{}}}", 1, E_UNAVAILABLE},
	    {"{\"elicitation\":{}}", 2, E_UNAVAILABLE},
	    {"{\"elicitation\":{},\"sampling\":{}}", 2, 0},
	    {"{\"elicitation\":{},\"sampling\":{}}", 3, E_UNAVAILABLE},
	    {"{\"elicitation\":{},\"sampling\":{},\"roots\":{}}", 3, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].capabilities);
		struct client c = {.behind = {.ops = &client_ops, .capabilities = json_root(doc)}};
		struct asker a;
		struct err e = ERR_NONE;
		asker_init(&a, cases[i].count);
		assert_int_equal(behind_ask(&c.behind, &a.q, &e), cases[i].code);
		assert_int_equal(a.q.at != NULL, cases[i].code == 0);
		assert_int_equal(c.held != NULL, cases[i].code == 0);
		inquiry_withdraw(&a.q);
		json_doc_unref(doc);
	}
}

static void
does_not_ask_what_is_no_question(void **state)
{
	struct json_doc *doc = parsed("{\"elicitation\":{},\"sampling\":{},\"roots\":{}}");
	struct client c = {.behind = {.ops = &client_ops, .capabilities = json_root(doc)}};
	struct asker a;
	struct err e = ERR_NONE;

	(void)state;
	asker_init(&a, 1);
	a.items[0].method = S("tools/call\x1b[2J");
	assert_int_equal(behind_ask(&c.behind, &a.q, &e), E_UNAVAILABLE);
	assert_null(strchr(e.text, '\x1b'));
	assert_null(c.held);
	/* And one that does not want it. */
	c.refuses = true;
	a.items[0].method = S("roots/list");
	assert_int_equal(behind_ask(&c.behind, &a.q, &e), E_UNAVAILABLE);
	assert_string_equal(e.text, "not now");
	assert_null(a.q.at);
	json_doc_unref(doc);
}

static void
settles_with_the_last_answer(void **state)
{
	struct json_doc *caps = parsed("{\"elicitation\":{},\"sampling\":{},\"roots\":{}}");
	struct client c = {.behind = {.ops = &client_ops, .capabilities = json_root(caps)}};
	struct json_doc *answer = parsed("{\"action\":\"accept\"}");
	struct err no = ERR_NONE;
	struct asker a;

	(void)state;
	asker_init(&a, 3);
	assert_int_equal(behind_ask(&c.behind, &a.q, NULL), 0);
	inquiry_answer(&a.q, 2, answer, json_root(answer));
	err_write(&no, E_USER_DENIED, "no");
	inquiry_refuse(&a.q, 0, &no);
	assert_int_equal(a.settled, 0);
	/* A second answer changes nothing. */
	inquiry_answer(&a.q, 0, answer, json_root(answer));
	inquiry_refuse(&a.q, 2, &no);
	assert_int_equal(a.settled, 0);
	inquiry_answer(&a.q, 1, answer, json_root(answer));
	json_doc_unref(answer); /* the items have their own references */
	assert_int_equal(a.settled, 1);
	assert_null(a.items[0].answer);
	assert_int_equal(a.items[0].err.code, E_USER_DENIED);
	assert_true(str_is(json_str(json_get(a.items[2].answer, S("action"))), "accept"));
	assert_int_equal(a.items[2].err.code, E_OK);
	inquiry_withdraw(&a.q);
	inquiry_withdraw(&a.q);
	assert_int_equal(c.unasked, 0);
	assert_null(a.items[1].answer);
	json_doc_unref(caps);
}

static void
is_taken_back_once(void **state)
{
	struct json_doc *caps = parsed("{\"elicitation\":{},\"sampling\":{}}");
	struct client c = {.behind = {.ops = &client_ops, .capabilities = json_root(caps)}};
	struct json_doc *answer = parsed("{}");
	struct asker a;

	(void)state;
	asker_init(&a, 2);
	assert_int_equal(behind_ask(&c.behind, &a.q, NULL), 0);
	inquiry_answer(&a.q, 0, answer, json_root(answer));
	inquiry_withdraw(&a.q);
	inquiry_withdraw(&a.q);
	assert_int_equal(c.unasked, 1);
	assert_int_equal(a.settled, 0);
	json_doc_unref(answer);
	json_doc_unref(caps);
}

/* An upstream's roots may be known without asking: then only the rest is needed of the client. */
static void
needs_nothing_for_what_is_settled(void **state)
{
	struct json_doc *caps = parsed("{\"elicitation\":{}}");
	struct client c = {.behind = {.ops = &client_ops, .capabilities = json_root(caps)}};
	struct asker a;

	(void)state;
	asker_init(&a, 3);
	inquiry_answer(&a.q, 1, caps, json_root(caps));
	inquiry_answer(&a.q, 2, caps, json_root(caps));
	assert_int_equal(behind_ask(&c.behind, &a.q, NULL), 0);
	inquiry_answer(&a.q, 0, caps, json_root(caps));
	assert_int_equal(a.settled, 1);
	inquiry_withdraw(&a.q);
	json_doc_unref(caps);
}

static void
finds_items_by_their_keys(void **state)
{
	struct asker a;

	(void)state;
	asker_init(&a, 3);
	assert_ptr_equal(inquiry_find(&a.q, S("model")), &a.items[1]);
	assert_null(inquiry_find(&a.q, S("mode")));
	assert_null(inquiry_find(&a.q, S("")));
}

/* Who stands on the way hands it on; whoever has it at the end is told when it is taken back. */
static void
travels_through_others(void **state)
{
	struct json_doc *caps = parsed("{\"elicitation\":{}}"), *meta = parsed("{\"x\":1}");
	struct client c = {.behind = {.ops = &client_ops,
				      .capabilities = json_root(caps),
				      .meta = json_root(meta),
				      .log_level = 3,
				      .meta_doc = meta}};
	struct relay r = {.to = &c};
	struct asker a;

	(void)state;
	behind_copy(&r.behind, &c.behind, &relay_ops);
	asker_init(&a, 1);
	assert_int_equal(behind_ask(&r.behind, &a.q, NULL), 0);
	assert_ptr_equal(a.q.at, &c.behind);
	inquiry_withdraw(&a.q);
	assert_int_equal(c.unasked, 1);
	/* What it copied is there when the client is not. */
	json_doc_unref(caps);
	json_doc_unref(meta);
	r.to = NULL;
	assert_int_equal(json_len(r.behind.meta), 1);
	assert_int_equal(behind_can(&r.behind), 0);
	assert_int_equal(behind_log_level(&r.behind), MCP_LOG_NONE);
	behind_done(&r.behind);
	behind_done(&r.behind);
	behind_copy(&r.behind, NULL, &relay_ops);
	assert_int_equal(behind_log_level(&r.behind), MCP_LOG_NONE);
	behind_done(&r.behind);
}

/* A client may say something else while its request runs: it counts wherever that is (issue 5). */
static void
what_the_client_says_now_counts(void **state)
{
	struct json_doc *warning = parsed("{\"level\":\"warning\",\"data\":1}");
	struct json_doc *forms = parsed("{\"elicitation\":{}}"),
			*models = parsed("{\"sampling\":{}}");
	struct client c = {.behind = {.ops = &client_ops,
				      .capabilities = json_root(forms),
				      .log_level = MCP_LOG_NONE}};
	struct relay r = {.to = &c};
	struct asker a;

	(void)state;
	behind_copy(&r.behind, &c.behind, &relay_ops);
	behind_message(&r.behind, json_root(warning));
	assert_int_equal(c.messages, 0);
	c.behind.log_level = mcp_log_level(S("info"));
	behind_message(&r.behind, json_root(warning));
	assert_int_equal(c.messages, 1);
	assert_int_equal(behind_can(&r.behind), CAN_ELICIT_FORM);
	c.behind.capabilities = json_root(models);
	assert_int_equal(behind_can(&r.behind), CAN_SAMPLE);
	asker_init(&a, 1);
	assert_int_equal(behind_ask(&r.behind, &a.q, NULL), E_UNAVAILABLE);
	behind_done(&r.behind);
	json_doc_unref(warning);
	json_doc_unref(forms);
	json_doc_unref(models);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(takes_nobody),
	    cmocka_unit_test(heeds_the_level),
	    cmocka_unit_test(asks_only_what_was_declared),
	    cmocka_unit_test(does_not_ask_what_is_no_question),
	    cmocka_unit_test(settles_with_the_last_answer),
	    cmocka_unit_test(is_taken_back_once),
	    cmocka_unit_test(needs_nothing_for_what_is_settled),
	    cmocka_unit_test(finds_items_by_their_keys),
	    cmocka_unit_test(travels_through_others),
	    cmocka_unit_test(what_the_client_says_now_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
