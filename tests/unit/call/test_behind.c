/* test_behind.c - a call and the client that made it: forms, and how results are shown (issue 5).
 */

#include "world.h"

/* A client that notes what it is asked and answers when the test says so. */
struct client {
	struct behind behind;
	struct json_doc *capabilities;
	struct inquiry *asked;
	unsigned unasked;
	struct turn *turn;
	bool over;
	struct turn_result result; /* borrowed buffers: copied text below */
	char text[4096], extra[4096];
};

static int
ask(struct behind *b, struct inquiry *q, struct err *e)
{
	struct client *c = CONTAINER_OF(b, struct client, behind);

	(void)e;
	q->at = b;
	c->asked = q;
	return 0;
}

static void
unask(struct behind *b, struct inquiry *q)
{
	struct client *c = CONTAINER_OF(b, struct client, behind);

	assert_ptr_equal(c->asked, q);
	c->asked = NULL;
	c->unasked++;
}

static void
ignore(struct behind *b, const struct json *params)
{
	(void)b;
	(void)params;
}

static const struct behind_ops ops = {ignore, ignore, ask, unask};

static void
client_init(struct client *c, const char *capabilities)
{
	struct err e;

	*c = (struct client){.behind = {.ops = &ops, .log_level = MCP_LOG_NONE}};
	assert_int_equal(json_parse(str_of(capabilities), &json_door, &c->capabilities, &e), 0);
	c->behind.capabilities = json_root(c->capabilities);
}

static void
over(struct turn *t, void *arg)
{
	struct client *c = arg;

	c->over = true;
	c->result = t->results[0];
	snprintf(c->text, sizeof(c->text), "%.*s", STR_ARG(buf_str(&t->results[0].content)));
	snprintf(c->extra, sizeof(c->extra), "%.*s", STR_ARG(buf_str(&t->results[0].extra)));
}

static void
client_call(struct world *w, struct client *c, const char *tool, const char *input,
	    enum showing showing)
{
	struct json_doc *doc = NULL;
	struct err e;

	assert_int_equal(json_parse(str_of(input), &json_door, &doc, &e), 0);
	struct call_spec call = {.tool = str_of(tool),
				 .input_doc = doc,
				 .input = json_root(doc),
				 .showing = showing};
	struct turn_spec spec = {.calls = &call,
				 .count = 1,
				 .attended = true,
				 .behind = &c->behind,
				 .done = over,
				 .arg = c};
	struct session *s = session_find(w->hf->sessions, str_of(w->session));
	assert_int_equal(gateway_submit(&w->hf->gw, s, &spec, &c->turn, &e), 0);
	json_doc_unref(doc);
}

static void
client_answer(struct client *c, const char *answer)
{
	struct json_doc *doc = NULL;
	struct inquiry *q = c->asked;
	struct err e;

	assert_int_equal(json_parse(str_of(answer), &json_door, &doc, &e), 0);
	c->asked = NULL;
	q->at = NULL;
	inquiry_answer(q, 0, doc, json_root(doc));
	json_doc_unref(doc);
}

#define FORMS "{\"elicitation\":{}}"
#define WRITE "{\"path\":\"a.txt\",\"content\":\"hello\\n\"}"

static bool
file_is_there(const struct world *w)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/a.txt", w->workspace);
	return access(path, F_OK) == 0;
}

static void
a_question_is_a_form_in_a_client_that_shows_forms(void **state)
{
	struct world *w = world_new(NULL);
	struct client c;

	(void)state;
	client_init(&c, FORMS);
	client_call(w, &c, "write_file", WRITE, SHOW_ENDS);
	UNTIL(w, c.asked);
	const struct inquiry_item *item = &c.asked->items[0];
	assert_null(c.asked->from.ptr);
	assert_true(str_is(item->method, "elicitation/create"));
	struct str message = json_str(json_get(item->params, S("message")));
	assert_true(contains(message, "Allow write_file? (write, in /"));
	assert_true(contains(message, "+hello"));
	assert_false(file_is_there(w));
	client_answer(&c, "{\"action\":\"accept\",\"content\":{\"decision\":\"allow once\"}}");
	UNTIL(w, c.over);
	assert_false(c.result.is_error);
	assert_true(file_is_there(w));
	assert_int_equal(c.unasked, 0);
	json_doc_unref(c.capabilities);
	world_free(w);
}

/* What a person says yes to stands there, or it says that something is missing. */
static void
nothing_hides_behind_a_long_line(void **state)
{
	static const struct {
		int padding;
		bool whole;
	} rows[] = {{500, true}, {20000, false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world *w = world_new(NULL);
		struct buf input = BUF_INIT(64 * KIB);
		struct client c;
		buf_addz(&input, "{\"path\":\"a.txt\",\"content\":\"");
		for (int n = 0; n < rows[i].padding; n++)
			buf_addc(&input, 'x');
		buf_addz(&input, " the-end\"}");
		client_init(&c, FORMS);
		client_call(w, &c, "write_file", buf_z(&input), SHOW_ENDS);
		UNTIL(w, c.asked);
		struct str message = json_str(json_get(c.asked->items[0].params, S("message")));
		assert_int_equal(contains(message, "the-end"), rows[i].whole);
		assert_int_equal(contains(message, "more than fits here"), !rows[i].whole);
		gateway_cancel_turn(&w->hf->gw, c.turn);
		UNTIL(w, c.over);
		buf_done(&input);
		json_doc_unref(c.capabilities);
		world_free(w);
	}
}

/* Issue 5: whoever dismisses the form does not leave the agent waiting. */
static void
what_is_not_a_clear_yes_is_a_no(void **state)
{
	static const struct {
		const char *answer;
		bool dismissed;
	} rows[] = {
	    {"{\"action\":\"decline\"}", false},
	    {"{\"action\":\"accept\",\"content\":{\"decision\":\"deny\"}}", false},
	    {"{\"action\":\"accept\"}", true},
	    {"{\"action\":\"accept\",\"content\":{\"decision\":\"yes\"}}", true},
	    {"{\"action\":\"allow\",\"content\":{\"decision\":\"allow once\"}}", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world *w = world_new(NULL);
		struct client c;
		client_init(&c, FORMS);
		client_call(w, &c, "write_file", WRITE, SHOW_ENDS);
		UNTIL(w, c.asked);
		client_answer(&c, rows[i].answer);
		UNTIL(w, c.over);
		assert_true(c.result.is_error);
		assert_int_equal(c.result.code, E_USER_DENIED);
		assert_int_equal(strstr(c.text, "dismissed") != NULL, rows[i].dismissed);
		assert_false(file_is_there(w));
		json_doc_unref(c.capabilities);
		world_free(w);
	}
}

static void
answer_elsewhere(struct world *w)
{
	const struct json *asked = world_last(w, "tool.confirmation_requested");
	char id[64];

	snprintf(id, sizeof(id), "%.*s",
		 STR_ARG(json_str(json_get(asked, S("confirmation_request_id")))));
	assert_int_equal(hf_answer(w->hf, id, true, NULL), 0);
}

/* A client without a person puts away every form at once: it is as if it could show none. */
static void
test_5_what_nobody_can_have_seen_is_no_answer(void **state)
{
	struct world *w = world_new(NULL);
	struct client c;

	(void)state;
	client_init(&c, FORMS);
	client_call(w, &c, "write_file", WRITE, SHOW_ENDS);
	UNTIL(w, c.asked && world_last(w, "tool.confirmation_requested"));
	client_answer(&c, "{\"action\":\"cancel\"}");
	assert_false(c.over);
	answer_elsewhere(w);
	UNTIL(w, c.over);
	assert_false(c.result.is_error);
	assert_true(file_is_there(w));
	json_doc_unref(c.capabilities);
	world_free(w);
}

static void
test_5_who_looked_and_put_it_away_has_said_no(void **state)
{
	struct world *w = world_new(NULL);
	struct client c;

	(void)state;
	client_init(&c, FORMS);
	client_call(w, &c, "write_file", WRITE, SHOW_ENDS);
	UNTIL(w, c.asked);
	usleep(1100000); /* a person reads */
	client_answer(&c, "{\"action\":\"cancel\"}");
	UNTIL(w, c.over);
	assert_int_equal(c.result.code, E_USER_DENIED);
	assert_non_null(strstr(c.text, "dismissed"));
	assert_false(file_is_there(w));
	json_doc_unref(c.capabilities);
	world_free(w);
}

static void
the_form_goes_when_somebody_else_has_answered(void **state)
{
	struct world *w = world_new(NULL);
	struct client c;

	(void)state;
	client_init(&c, FORMS);
	client_call(w, &c, "write_file", WRITE, SHOW_ENDS);
	UNTIL(w, c.asked && world_last(w, "tool.confirmation_requested"));
	answer_elsewhere(w);
	UNTIL(w, c.over);
	assert_null(c.asked);
	assert_int_equal(c.unasked, 1);
	assert_true(file_is_there(w));
	json_doc_unref(c.capabilities);
	world_free(w);
}

static void
a_client_without_forms_is_not_asked(void **state)
{
	struct world *w = world_new(NULL);
	struct client c;

	(void)state;
	client_init(&c, "{\"sampling\":{}}");
	client_call(w, &c, "write_file", WRITE, SHOW_ENDS);
	UNTIL(w, world_last(w, "tool.confirmation_requested"));
	assert_null(c.asked);
	gateway_cancel_turn(&w->hf->gw, c.turn);
	UNTIL(w, c.over);
	json_doc_unref(c.capabilities);
	world_free(w);
}

static void
an_envelope_holds_short_text_whole(void **state)
{
	struct world *w = world_new(NULL);
	struct client c;

	(void)state;
	world_write(w, "b.txt", "key: AKIAIOSFODNN7EXAMPLQ\nall of it\n");
	client_init(&c, "{}");
	client_call(w, &c, "read_file", "{\"path\":\"b.txt\"}", SHOW_ENVELOPE);
	UNTIL(w, c.over);
	assert_non_null(strstr(c.extra, "\"structuredContent\":{\"status\":\"ok\",\"summary\":"));
	assert_non_null(strstr(c.extra, "all of it"));
	assert_null(strstr(c.extra, "AKIAIOSFODNN7EXAMPLQ"));
	assert_null(strstr(c.text, "AKIAIOSFODNN7EXAMPLQ"));
	assert_non_null(strstr(c.text, "\\\"status\\\":\\\"ok\\\""));
	json_doc_unref(c.capabilities);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_question_is_a_form_in_a_client_that_shows_forms),
	    cmocka_unit_test(nothing_hides_behind_a_long_line),
	    cmocka_unit_test(what_is_not_a_clear_yes_is_a_no),
	    cmocka_unit_test(test_5_what_nobody_can_have_seen_is_no_answer),
	    cmocka_unit_test(test_5_who_looked_and_put_it_away_has_said_no),
	    cmocka_unit_test(the_form_goes_when_somebody_else_has_answered),
	    cmocka_unit_test(a_client_without_forms_is_not_asked),
	    cmocka_unit_test(an_envelope_holds_short_text_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
