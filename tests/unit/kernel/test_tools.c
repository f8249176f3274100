/* test_tools.c - the nine tools, by the vectors and by what they say. */

#include "kernel_unit.h"

static struct json_doc *
vectors(void)
{
	char path[512];

	TESTDATA_OR_SKIP("vectors/potm_vectors.json", path);
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text.ptr);
	free((void *)text.ptr);
	return doc;
}

static struct buf
text_of(const struct json *v)
{
	struct buf b = BUF_INIT(64 * KIB);
	struct jw w = jw(&b);

	jw_value(&w, v);
	assert_non_null(buf_z(&b));
	return b;
}

static void
fill_ledger(struct buf *out, int64_t entries)
{
	buf_addz(out, "{\"meta_locus\":{\"accepted\":true},\"ledger\":[");
	for (int64_t i = 0; i < entries; i++)
		buf_addf(out,
			 "%s{\"entry_id\":\"e\",\"ts\":\"2026-01-01T00:00:00Z\",\"type\":"
			 "\"archive\"}",
			 i ? "," : "");
	buf_addz(out, "]}");
}

static void
policy_keeps_to_the_vectors(void **state)
{
	struct json_doc *doc = vectors();
	size_t count = 0;

	(void)state;
	for (struct json_iter it = json_iter(json_get(json_root(doc), S("policy"))); json_next(&it);
	     count++) {
		const struct json *call = json_get(it.value, S("call"));
		const struct json *entered = json_get(it.value, S("ledger"));
		struct buf initial = BUF_INIT(LIMIT_KERNEL_STATE);
		struct buf payload = text_of(json_get(call, S("payload")));
		int64_t entries = 0;
		(void)json_int(json_pointer(it.value, S("/state/ledger_len")), &entries);
		fill_ledger(&initial, entries);
		struct bench *b = bench_new(buf_z(&initial));
		struct buf id = BUF_INIT(KIB);
		buf_add(&id, json_str(json_get(call, S("id"))));
		const struct json *result = bench_call(b, buf_z(&id), payload.ptr);
		if (!result || !json_equal(result, json_get(it.value, S("result"))))
			fail_msg("%.*s", STR_ARG(b->last.text));
		const struct kernel_state *s = kernel_state(b->kernel);
		if (entered)
			assert_string_equal(s->ledger[s->ledger_len - 1].ref,
					    "#policy:revise:V_FIELD_TOO_LONG");
		bench_free(b);
		buf_done(&initial);
		buf_done(&payload);
		buf_done(&id);
	}
	assert_true(count >= 4);
	json_doc_unref(doc);
}

static void
preconditions_keep_to_the_vectors(void **state)
{
	struct json_doc *doc = vectors();
	size_t count = 0;

	(void)state;
	for (struct json_iter it = json_iter(json_get(json_root(doc), S("preconditions")));
	     json_next(&it); count++) {
		static const struct {
			const char *id, *payload;
		} payloads[] = {
		    {"closure.archive", "{}"},
		    {"closure.waiting_with", "{\"wait_reason\":\"r\",\"reentry_hint\":\"h\"}"},
		    {"lens.edge", "{\"statement\":\"s\"}"},
		};
		struct buf locus = text_of(json_get(it.value, S("state"))), initial = BUF_INIT(KIB);
		struct str tool = json_str(json_get(it.value, S("tool")));
		buf_addf(&initial, "{\"meta_locus\":%s}", locus.ptr);
		struct bench *b = bench_new(buf_z(&initial));
		size_t i = 0;
		while (!str_is(tool, payloads[i].id))
			assert_true(++i < ARRAY_LEN(payloads));
		bench_call(b, payloads[i].id, payloads[i].payload);
		struct str error = json_str(json_get(it.value, S("error")));
		assert_true(str_eq(bench_code(b), error));
		if (json_get(it.value, S("effect")))
			assert_true(kernel_state(b->kernel)->containment);
		bench_free(b);
		buf_done(&locus);
		buf_done(&initial);
	}
	assert_true(count >= 5);
	json_doc_unref(doc);
}

static void
recap_keeps_to_the_vectors_of_its_validator(void **state)
{
	struct json_doc *doc = vectors();
	size_t count = 0;

	(void)state;
	for (struct json_iter it = json_iter(json_get(json_root(doc), S("recap_validator")));
	     json_next(&it); count++) {
		struct bench *b = bench_new(NULL);
		struct buf payload = text_of(json_get(it.value, S("payload")));
		bench_call(b, "recap.spec", payload.ptr);
		assert_int_equal(b->last.ok, json_bool(json_get(it.value, S("ok"))));
		if (!b->last.ok)
			assert_code(b, "E_PAYLOAD");
		buf_done(&payload);
		bench_free(b);
	}
	assert_true(count >= 5);
	json_doc_unref(doc);
}

/* Every schema of ours takes what the document's takes, but where that leaves something open. */
static void
has_the_fields_of_the_document(void **state)
{
	char path[512];
	size_t count = 0;

	(void)state;
	TESTDATA_OR_SKIP("vectors/potm_schemas.json", path);
	struct str text = testdata_read(path);
	struct json_doc *theirs = parsed(text.ptr), *ours = NULL;
	struct err e;
	assert_int_equal(bundle_standard(&ours, &e), 0);
	for (struct json_iter it = json_iter(json_get(json_root(theirs), S("tools")));
	     json_next(&it);) {
		for (int i = 0; i < 2; i++) {
			const char *kind = i ? "result" : "payload";
			char ref[128];
			const struct json *a = json_get(it.value, str_of(kind));
			snprintf(ref, sizeof(ref), "spec/%.*s.%s.v1.json", STR_ARG(it.key), kind);
			const struct json *b =
			    json_get(json_get(json_root(ours), S("schemas")), str_of(ref));
			assert_non_null(b);
			if (json_is(a, JSON_NULL))
				continue;
			const struct json *names = json_get(a, S("properties"));
			for (struct json_iter p = json_iter(names); json_next(&p); count++)
				assert_non_null(json_get(json_get(b, S("properties")), p.key));
			assert_int_equal(json_len(names), json_len(json_get(b, S("properties"))));
		}
	}
	assert_true(count > 30);
	json_doc_unref(theirs);
	json_doc_unref(ours);
	free((void *)text.ptr);
}

static void
policy_report_counts_what_was_enforced(void **state)
{
	struct bench *b = bench_new(ACCEPTED);
	int64_t n;

	(void)state;
	bench_call(b, "policy.enforce", "{\"target\":\"export.request\"}");
	bench_call(b, "policy.enforce", "{\"target\":\"recap.export\"}");
	bench_call(b, "policy.enforce", "{\"target\":\"archive.summary\",\"value\":\"fine\"}");
	bench_call(b, "policy.enforce",
		   "{\"target\":\"archive.archive_status\",\"value\":\"lost\"}");
	bench_call(b, "policy.query", "{\"target\":\"export.request\"}"); /* asking counts not */
	const struct json *r = bench_call(b, "policy.report", "{}");
	assert_true(json_int(json_pointer(r, S("/totals/block")), &n) && n == 3);
	assert_true(json_int(json_pointer(r, S("/totals/allow")), &n) && n == 1);
	assert_true(json_int(json_pointer(r, S("/by_code/V_EXPORT_DISABLED")), &n) && n == 2);
	assert_true(json_int(json_pointer(r, S("/by_code/V_UNSAFE_ACTION")), &n) && n == 1);
	assert_int_equal(json_len(json_get(r, S("last"))), 4);
	assert_str(json_str(json_pointer(r, S("/last/2/code"))), "NONE");
	for (int i = 0; i < 10; i++)
		bench_call(b, "policy.enforce", "{\"target\":\"ledger.append\"}");
	r = bench_call(b, "policy.report", "{}");
	assert_int_equal(json_len(json_get(r, S("last"))), 10);
	assert_str(json_str(json_pointer(r, S("/last/0/decision"))), "allow");
	bench_free(b);
}

static void
policy_counts_characters(void **state)
{
	struct buf payload = BUF_INIT(4 * KIB);

	(void)state;
	for (int chars = 64; chars <= 65; chars++) {
		struct bench *b = bench_new(ACCEPTED);
		buf_reset(&payload);
		buf_addz(&payload, "{\"target\":\"waiting_with.reentry_hint\",\"value\":\"");
		for (int i = 0; i < chars; i++)
			buf_addz(&payload, "\xc3\xa9");
		buf_addz(&payload, "\"}");
		const struct json *r = bench_call(b, "policy.query", buf_z(&payload));
		assert_str(json_str(json_get(r, S("decision"))), chars == 64 ? "allow" : "revise");
		if (chars == 65)
			assert_int_equal(json_str(json_get(r, S("suggest"))).len, 128);
		bench_free(b);
	}
	buf_done(&payload);
}

static void
archive_gives_what_was_asked_for(void **state)
{
	struct bench *b = bench_new(ACCEPTED);

	(void)state;
	const struct json *r =
	    bench_call(b, "closure.archive", "{\"include\":[\"archive_status\"]}");
	assert_int_equal(json_len(r), 1);
	assert_str(json_str(json_get(r, S("archive_status"))), "resolved");
	bench_call(b, "policy.enforce", "{\"target\":\"export.request\"}");
	r = bench_call(b, "closure.archive", "{}");
	assert_int_equal(json_len(r), 3);
	assert_str(json_str(json_get(r, S("archive_status"))), "stalled");
	const struct kernel_state *s = kernel_state(b->kernel);
	assert_int_equal(s->ledger_len, 3);
	assert_string_equal(s->ledger[2].ref, "#archive:stalled");
	bench_free(b);
}

static void
lens_and_move_look_at_words(void **state)
{
	struct bench *b = bench_new(ACCEPTED);

	(void)state;
	const struct json *r =
	    bench_call(b, "lens.edge",
		       "{\"statement\":\"It ALWAYS works, always, or never.\",\"topic\":\"T\"}");
	const struct json *edges = json_get(r, S("edges"));
	assert_int_equal(json_len(edges), 3);
	assert_str(json_str(json_at(edges, 0)),
		   "T: \"always\" names no exception: which single case would break it?");
	r = bench_call(b, "lens.edge", "{\"statement\":\"\"}");
	assert_int_equal(json_len(json_get(r, S("edges"))), 1);

	r = bench_call(
	    b, "move.align_scan",
	    "{\"aim\":\"ship the small parser\",\"last_output\":\"The parser is small.\"}");
	assert_str(json_str(json_get(r, S("misalignment"))),
		   "1 of 3 words of the aim are not in the output: ship");
	assert_int_equal(kernel_state(b->kernel)->drift, DRIFT_DRIFT);
	assert_string_equal(kernel_state(b->kernel)->aim, "ship the small parser");
	r = bench_call(b, "move.align_scan", "{\"aim\":\"parser\",\"last_output\":\"parser\"}");
	assert_str(json_str(json_get(r, S("suggestion"))), "go on");
	assert_int_equal(kernel_state(b->kernel)->move_count, 4);
	bench_free(b);
}

static void
test_8_nothing_is_left_of_a_longer_aim(void **state)
{
	struct bench *b = bench_new(ACCEPTED);

	(void)state;
	bench_call(b, "move.align_scan",
		   "{\"aim\":\"ship the small parser\",\"last_output\":\"\"}");
	bench_call(b, "move.align_scan", "{\"aim\":\"bye\",\"last_output\":\"bye\"}");
	assert_string_equal(kernel_state(b->kernel)->aim, "bye");
	const struct json *r = bench_call(b, "recap.spec", "{\"include\":[\"summary\"]}");
	assert_str(json_str(json_pointer(r, S("/summary/aim_line"))), "bye");
	bench_call(b, "move.align_scan", "{\"aim\":\"\",\"last_output\":\"\"}");
	assert_string_equal(kernel_state(b->kernel)->aim, "");
	bench_free(b);
}

/* Languages without blanks have words as long as sentences. */
static void
test_8_a_long_word_does_not_come_before_itself(void **state)
{
	struct bench *b = bench_new(ACCEPTED);
	char payload[512], aim[3 * 50 + 1] = "";

	(void)state;
	for (int i = 0; i < 50; i++)
		strcat(aim, "\xe5\xad\x97");
	snprintf(payload, sizeof(payload), "{\"aim\":\"%s\",\"last_output\":\"%s\"}", aim, aim);
	const struct json *r = bench_call(b, "move.align_scan", payload);
	assert_str(json_str(json_get(r, S("misalignment"))),
		   "none: all 1 words of the aim are in the output");
	snprintf(payload, sizeof(payload), "{\"aim\":\"%s %s\",\"last_output\":\"\"}", aim, aim);
	r = bench_call(b, "move.align_scan", payload);
	assert_true(str_starts(json_str(json_get(r, S("misalignment"))), S("1 of 1 words")));
	assert_int_equal(kernel_state(b->kernel)->drift, DRIFT_EVOLUTION);
	bench_free(b);
}

static void
recap_keeps_to_its_lines(void **state)
{
	struct bench *b =
	    bench_new("{\"meta_locus\":{\"accepted\":true,\"review_queue\":[\"one two three four\","
		      "\"b\",\"c\"]},\"aim\":\"a b c d e f\"}");

	(void)state;
	const struct json *r =
	    bench_call(b, "recap.spec",
		       "{\"include\":[\"summary\",\"open_questions\"],\"max_items\":2,"
		       "\"max_words_line\":3}");
	assert_true(b->last.ok);
	assert_str(json_str(json_pointer(r, S("/summary/aim_line"))), "a b c");
	assert_int_equal(json_len(json_get(r, S("open_questions"))), 2);
	assert_str(json_str(json_pointer(r, S("/open_questions/0"))), "in review: one");
	assert_null(json_get(r, S("flags")));
	assert_true(json_bool(json_pointer(r, S("/meta_locus/fracture_active"))));
	bench_free(b);
}

static void
spiral_tells_the_session_in_a_line(void **state)
{
	struct bench *b = bench_new(ACCEPTED);

	(void)state;
	bench_call(b, "policy.enforce", "{\"target\":\"export.request\"}");
	const struct json *r = bench_call(b, "closure.spiral", "{\"scope\":\"session\"}");
	assert_non_null(strstr(json_str(json_get(r, S("diff_log"))).ptr, "1 blocked"));
	bench_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(policy_keeps_to_the_vectors),
	    cmocka_unit_test(preconditions_keep_to_the_vectors),
	    cmocka_unit_test(recap_keeps_to_the_vectors_of_its_validator),
	    cmocka_unit_test(has_the_fields_of_the_document),
	    cmocka_unit_test(policy_report_counts_what_was_enforced),
	    cmocka_unit_test(policy_counts_characters),
	    cmocka_unit_test(archive_gives_what_was_asked_for),
	    cmocka_unit_test(lens_and_move_look_at_words),
	    cmocka_unit_test(test_8_nothing_is_left_of_a_longer_aim),
	    cmocka_unit_test(test_8_a_long_word_does_not_come_before_itself),
	    cmocka_unit_test(recap_keeps_to_its_lines),
	    cmocka_unit_test(spiral_tells_the_session_in_a_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
