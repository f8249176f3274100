/* test_state.c - a session's state: read, written, changed. */

#include "kernel_unit.h"

static void
begins_as_the_document_says(void **state)
{
	struct kernel_state s;
	struct buf b = BUF_INIT(KIB);
	struct jw w = jw(&b);

	(void)state;
	state_init(&s);
	state_write(&w, &s);
	assert_str(buf_str(&b),
		   "{\"meta_locus\":{\"accepted\":false,\"containment\":false,"
		   "\"review_queue\":[],\"latency_mode\":\"standard\"},\"drift\":\"none\","
		   "\"ledger\":[],\"moves\":[],\"sequence\":0}");
	buf_done(&b);
	state_done(&s);
}

static void
what_was_written_reads_as_the_same(void **state)
{
	static const char text[] =
	    "{\"meta_locus\":{\"accepted\":true,\"containment\":true,\"review_queue\":[\"F1\","
	    "\"F2\"],\"latency_mode\":\"lite\"},\"aim\":\"an aim\",\"drift\":\"evolution\","
	    "\"ledger\":[{\"entry_id\":\"e7\",\"ts\":\"2026-01-01T00:00:00Z\",\"type\":"
	    "\"policy_event\",\"ref\":\"#policy:block:V_LEDGER_CAP\",\"meta\":{\"decision\":"
	    "\"block\",\"code\":\"V_LEDGER_CAP\"}},{\"entry_id\":\"e8\",\"ts\":"
	    "\"2026-01-01T00:00:00Z\",\"type\":\"latency_breach\",\"ref\":null,\"meta\":{}}],"
	    "\"moves\":[{\"move_id\":\"lens.edge\",\"ts\":\"2026-01-01T00:00:00Z\","
	    "\"artifact_ref\":\"sha256:0\"}],\"sequence\":8,\"clock\":\"2026-01-01T00:00:00Z\"}";
	struct json_doc *doc = parsed(text);
	struct buf b = BUF_INIT(4 * KIB);
	struct jw w = jw(&b);
	struct kernel_state s;

	(void)state;
	assert_int_equal(state_read(json_root(doc), &s, NULL), 0);
	assert_int_equal(s.ledger[0].decision, DECISION_BLOCK);
	state_write(&w, &s);
	assert_str(buf_str(&b), text);
	state_done(&s);
	json_doc_unref(doc);
	buf_done(&b);
}

/* Its schema counts characters, not bytes. */
static void
test_8_letters_beyond_ascii_are_not_cut(void **state)
{
	static const char head[] = "{\"meta_locus\":{\"accepted\":true,\"containment\":false,"
				   "\"review_queue\":[],\"latency_mode\":\"standard\"},";
	char id[4 * 32 + 1] = "", move[4 * 64 + 1] = "", ref[4 * 128 + 1] = "", text[4096];
	struct kernel_index *x = standard_index();
	struct buf b = BUF_INIT(8 * KIB);
	struct jw w = jw(&b);
	struct kernel *k = NULL;
	struct err e;

	(void)state;
	for (int i = 0; i < 128; i++) {
		strcat(ref, "\xf0\x9f\x8c\x8a");
		if (i < 64)
			strcat(move, "\xf0\x9f\x8c\x8a");
		if (i < 32)
			strcat(id, "\xf0\x9f\x8c\x8a");
	}
	snprintf(text, sizeof(text),
		 "%s\"drift\":\"none\",\"ledger\":[{\"entry_id\":\"%s\",\"ts\":"
		 "\"2026-01-01T00:00:00Z\",\"type\":\"archive\",\"ref\":\"%s\",\"meta\":{}}],"
		 "\"moves\":[{\"move_id\":\"%s\",\"ts\":\"2026-01-01T00:00:00Z\","
		 "\"artifact_ref\":\"%s\"}],\"sequence\":1}",
		 head, id, ref, move, ref);
	struct json_doc *doc = parsed(text);
	struct kernel_spec spec = {.index = x, .state = json_root(doc)};
	if (kernel_new(&spec, &k, &e) < 0)
		fail_msg("%s", err_text(&e));
	state_write(&w, kernel_state(k));
	assert_str(buf_str(&b), text);
	buf_done(&b);
	kernel_free(k);
	json_doc_unref(doc);
	kernel_index_unref(x);
}

static void
containment_needs_a_queue(void **state)
{
	struct json_doc *doc = parsed("{\"meta_locus\":{\"containment\":true}}");
	struct kernel_state s;

	(void)state;
	assert_int_equal(state_read(json_root(doc), &s, NULL), 0);
	assert_false(s.containment);
	assert_int_equal(state_apply(&s, &(struct effects){.contains = true}, "t", NULL), 0);
	assert_false(s.containment);
	state_done(&s);
	json_doc_unref(doc);
}

static void
a_full_ledger_takes_nothing(void **state)
{
	struct effects fx = {.enters = true, .meta = BUF_INIT(KIB), .moved = true};
	struct kernel_state s;
	struct err e;

	(void)state;
	state_init(&s);
	for (int i = 0; i < LIMIT_KERNEL_LEDGER; i++)
		assert_int_equal(state_apply(&s, &fx, "2026-01-01T00:00:00Z", &e), 0);
	assert_true(state_ledger_full(&s));
	assert_string_equal(s.ledger[LIMIT_KERNEL_LEDGER - 1].id, "e512");
	assert_int_equal(s.move_count, LIMIT_KERNEL_MOVES);
	fx.scanned = true;
	fx.drift = DRIFT_DRIFT;
	assert_int_equal(state_apply(&s, &fx, "t", &e), E_LIMIT);
	assert_int_equal(s.drift, DRIFT_NONE); /* all of it or nothing */
	state_done(&s);
}

static void
a_state_that_does_not_fit_is_refused(void **state)
{
	static const char *const texts[] = {
	    "[]",
	    "{\"more\":1}",
	    "{\"meta_locus\":{\"latency_mode\":\"turbo\"}}",
	    "{\"meta_locus\":{\"accepted\":1}}",
	    "{\"meta_locus\":{\"fracture_active\":true}}",
	    "{\"clock\":\"noon\"}",
	    "{\"ledger\":[{}]}",
	    /* what would come back as another one */
	    "{\"aim\":\"a\\u0000b\"}",
	    "{\"meta_locus\":{\"review_queue\":[\"\\u0000x\"]}}",
	};
	struct kernel_index *x = standard_index();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct json_doc *doc = parsed(texts[i]);
		struct kernel *k = NULL;
		struct err e;
		struct kernel_spec spec = {.index = x, .state = json_root(doc)};
		if (kernel_new(&spec, &k, &e) != E_VALIDATION)
			fail_msg("taken: %s", texts[i]);
		json_doc_unref(doc);
	}
	kernel_index_unref(x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(begins_as_the_document_says),
	    cmocka_unit_test(what_was_written_reads_as_the_same),
	    cmocka_unit_test(test_8_letters_beyond_ascii_are_not_cut),
	    cmocka_unit_test(containment_needs_a_queue),
	    cmocka_unit_test(a_full_ledger_takes_nothing),
	    cmocka_unit_test(a_state_that_does_not_fit_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
