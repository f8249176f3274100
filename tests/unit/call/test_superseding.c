/* test_superseding.c - what becomes of a turn when the user speaks: by the program that holds it.
 */

#include "world.h"

#include "../testdata.h"

#define CARD(name, effect)                                                                         \
	"{\"name\":\"" name "\",\"description\":\"For tests.\",\"capability\":\"network\","        \
	"\"reversibility\":\"" effect "\",\"input_schema\":{\"type\":\"object\","                  \
	"\"properties\":{}}}"
#define ASKING "tool_confirmation: {default: {WRITE: auto, NETWORK: prompt}}\n"

static int
fire(void *instance, struct hf_job *job)
{
	(void)instance;
	hf_job_text(job, "fired", 5);
	return 0;
}

static const struct hf_tool tool = {.run = fire};

struct decider {
	enum hf_supersede says;
	unsigned asked;
	struct hf_supersede_ask last;
	char message[64];
};

static enum hf_supersede
decide(const struct hf_supersede_ask *ask, void *arg)
{
	struct decider *d = arg;

	d->asked++;
	d->last = *ask;
	snprintf(d->message, sizeof(d->message), "%s %s", ask->tool, ask->message);
	return d->says;
}

/* A call that cannot be undone, and a message while a person thinks about it. */
static void
interrupt(struct world *w, struct result *r)
{
	size_t before = world_count(w, "tool.confirmation_requested");
	char id[72];

	world_start(w, "fire", "{}", r);
	UNTIL(w, world_count(w, "tool.confirmation_requested") > before);
	assert_int_equal(hf_message(w->hf, w->session, "stop", id), 0);
	assert_memory_equal(id, "msg_", 4);
	struct str request = json_str(
	    json_get(world_last(w, "tool.confirmation_requested"), S("confirmation_request_id")));
	assert_int_equal(hf_answer(w->hf, request.ptr, true, NULL), 0);
}

static struct world *
world_with(struct decider *d, const char *config)
{
	struct world *w = world_new(config);

	assert_int_equal(hf_register(w->hf, CARD("fire", "irreversible"), &tool, NULL), 0);
	if (d)
		hf_on_supersede(w->hf, decide, d);
	return w;
}

static const struct session *
session_of(const struct world *w)
{
	return session_find(w->hf->sessions, str_of(w->session));
}

static const struct turn *
last_turn(const struct world *w)
{
	return CONTAINER_OF(list_last(&session_of(w)->turns), struct turn, node);
}

/* Each of the four, by a function: what runs, what the turn is, where the message is. */
static void
test_7_a_function_decides(void **state)
{
	static const struct {
		enum hf_supersede says;
		const char *name;
		bool runs;
		enum turn_state state;
		size_t waiting, absorbed;
	} rows[] = {
	    {HF_SUPERSEDE, "SUPERSEDE", false, TURN_SUPERSEDED, 1, 0},
	    {HF_ABSORB, "ABSORB", true, TURN_COMPLETED, 0, 1},
	    {HF_FORCE_COMPLETE, "FORCE_COMPLETE", true, TURN_COMPLETED, 1, 0},
	    {HF_QUEUE, "QUEUE", true, TURN_COMPLETED, 1, 0},
	    {HF_BY_DEFAULT, "SUPERSEDE", false, TURN_SUPERSEDED, 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct decider d = {.says = rows[i].says};
		struct world *w = world_with(&d, ASKING);
		struct result r;
		interrupt(w, &r);
		UNTIL(w, r.here);
		assert_int_equal(r.is_error, !rows[i].runs);
		assert_true(str_is(result_text(&r),
				   rows[i].runs ? "fired" : "superseded by a new message"));
		assert_int_equal(d.asked, 1);
		assert_string_equal(d.message, "fire stop");
		assert_false(d.last.committed);
		assert_int_equal(d.last.effects, 0);
		assert_int_equal(last_turn(w)->state, rows[i].state);
		assert_int_equal(session_of(w)->inbox.waiting.len, rows[i].waiting);
		assert_int_equal(last_turn(w)->absorbed.len, rows[i].absorbed);
		UNTIL(w, world_last(w, "supersede.decision"));
		assert_true(
		    str_is(json_str(json_get(world_last(w, "supersede.decision"), S("decision"))),
			   rows[i].name));
		assert_int_equal(last_turn(w)->committed, rows[i].runs);
		assert_int_equal(world_count(w, "commit.reached"), rows[i].runs);
		result_free(&r);
		world_free(w);
	}
}

static void
test_7_a_function_decides_later(void **state)
{
	struct decider d = {.says = HF_LATER};
	struct world *w = world_with(&d, ASKING "acf: {decision_timeout_seconds: 3600}\n");
	struct result r;

	(void)state;
	assert_int_equal(hf_decide(w->hf, w->session, HF_QUEUE), E_NOT_ASKED);
	interrupt(w, &r);
	UNTIL(w, world_last(w, "supersede.requested"));
	assert_false(r.here);
	assert_int_equal(hf_decide(w->hf, w->session, HF_LATER), E_VALIDATION);
	assert_int_equal(hf_decide(w->hf, w->session, HF_QUEUE), 0);
	assert_int_equal(hf_decide(w->hf, w->session, HF_QUEUE), E_NOT_ASKED);
	UNTIL(w, r.here);
	assert_false(r.is_error);
	result_free(&r);

	/* One that waits when everything ends does not run. */
	interrupt(w, &r);
	UNTIL(w, world_count(w, "supersede.requested") == 2);
	world_free(w);
	assert_true(r.here && r.is_error);
	result_free(&r);
}

/* The group: made by a message, handed on by SUPERSEDE, new after QUEUE. */
static void
test_7_groups(void **state)
{
	struct decider d = {.says = HF_SUPERSEDE};
	struct world *w = world_with(&d, ASKING);
	struct result r;
	char first[LIMIT_TURN_GROUP + 1], queued[LIMIT_TURN_GROUP + 1];

	(void)state;
	interrupt(w, &r);
	UNTIL(w, r.here);
	result_free(&r);
	assert_string_equal(last_turn(w)->group, ""); /* nobody asked for one: none to hand on */

	interrupt(w, &r); /* the message of before begins this one */
	UNTIL(w, r.here);
	result_free(&r);
	strcpy(first, last_turn(w)->group);
	assert_int_equal(strlen(first), 36);
	assert_int_equal(last_turn(w)->begun_by.len, 1);

	d.says = HF_QUEUE;
	interrupt(w, &r);
	UNTIL(w, r.here);
	result_free(&r);
	assert_string_equal(last_turn(w)->group, first);
	assert_true(last_turn(w)->superseded_from.text[0]);

	interrupt(w, &r);
	UNTIL(w, r.here);
	result_free(&r);
	strcpy(queued, last_turn(w)->group);
	assert_int_equal(strlen(queued), 36);
	assert_string_not_equal(queued, first);
	assert_false(last_turn(w)->superseded_from.text[0]);
	world_free(w);
}

/* The origin's own table, with the default rule. */
static void
test_7_vectors(void **state)
{
	char path[256];
	struct json_doc *doc;
	struct err e;
	size_t actions = 0;
	bool rule = false;

	(void)state;
	TESTDATA_OR_SKIP("vectors/focal_vectors.json", path);
	struct str text = testdata_read(path);
	assert_int_equal(json_parse(text, &json_door, &doc, &e), 0);
	for (struct json_iter it = json_iter(json_get(json_root(doc), S("supersede")));
	     json_next(&it);) {
		struct str word = json_str(json_get(it.value, S("action")));
		enum supersede_action a;
		rule |= json_get(it.value, S("default_rule")) != NULL;
		if (!word.ptr)
			continue;
		actions++;
		assert_true(supersede_parse(word, &a) && supersede_is_decision(a));
		assert_true(str_is(word, supersede_name(a)));
	}
	assert_int_equal(actions, 4);
	assert_true(rule);
	json_doc_unref(doc);
	free((char *)text.ptr);

	assert_int_equal(supersede_default(&(struct turn){0}), SUPERSEDE);
	assert_int_equal(supersede_default(&(struct turn){.committed = true}), QUEUE);
	assert_int_equal(supersede_default(&(struct turn){.effects = 1}), QUEUE);
	assert_int_equal(supersede_default(&(struct turn){.effects_running = 1}), QUEUE);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_7_a_function_decides),
	    cmocka_unit_test(test_7_a_function_decides_later),
	    cmocka_unit_test(test_7_groups),
	    cmocka_unit_test(test_7_vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
