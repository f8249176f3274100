/* test_router.c - envelopes in, emissions out: order of steps, every code, replays, latency. */

#include "kernel_unit.h"

#include "kernel/replay.h"

#define ID "9f1f3f0c-9e6d-4d5b-9a1d-9d9f2c1a8a77"

static void
takes_the_valid_example_of_the_document(void **state)
{
	struct bench *b = bench_new(NULL);

	(void)state;
	bench_take(b, "tool.call:\n"
		      "  id: \"recap.spec\"\n"
		      "  payload:\n"
		      "    include: [\"last_moves\",\"flags\"]\n"
		      "    max_items: 5\n"
		      "  meta:\n"
		      "    request_id: \"" ID "\"\n"
		      "    trace: false\n");
	assert_true(b->last.ok);
	assert_str(
	    b->last.text,
	    "{\"tool.emit\":{\"id\":\"recap.spec\",\"ok\":true,\"result\":{"
	    "\"ts\":\"2026-01-01T00:00:00.000000Z\",\"kernel\":{\"version\":\"1.6.0-dev\","
	    "\"accepted\":false},\"meta_locus\":{\"accepted\":false,\"fracture_active\":false,"
	    "\"containment\":false,\"review_queue\":[]},\"last_moves\":[],\"flags\":{\"drift\":"
	    "\"none\",\"zone\":\"insight\",\"uncertainty\":\"low\"},\"note\":\"session-local; "
	    "nothing of this is exported\"}}}");
	bench_free(b);
}

static void
refuses_the_rejected_example_of_the_document(void **state)
{
	struct bench *b = bench_new(NULL);

	(void)state;
	bench_take(b, "tool.call:\n"
		      "  id: \"cards.draw\"      # not in allow-list\n"
		      "  payload: { n: 3 }\n");
	assert_false(b->last.ok);
	assert_str(b->last.text, "{\"tool.error\":{\"id\":\"cards.draw\",\"ok\":false,\"code\":"
				 "\"E_NAMESPACE\",\"reason\":\"namespace 'cards' not allowed\"}}");
	bench_free(b);
}

/* A state whose ledger has so many entries. */
static char *
state_with_ledger(size_t entries)
{
	struct buf b = BUF_INIT(LIMIT_KERNEL_STATE);

	buf_addz(&b, "{\"meta_locus\":{\"accepted\":true},\"ledger\":[");
	for (size_t i = 0; i < entries; i++)
		buf_addf(&b,
			 "%s{\"entry_id\":\"e%zu\",\"ts\":\"2026-01-01T00:00:00Z\",\"type\":"
			 "\"archive\",\"ref\":null,\"meta\":{}}",
			 i ? "," : "", i + 1);
	buf_addz(&b, "]}");
	char *text = str_dup(buf_str(&b));
	buf_done(&b);
	return text;
}

static struct kernel_index *
index_with(const char *entry)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct kernel_index *x = NULL;
	struct json_doc *doc;
	struct err e;

	buf_addf(&text,
		 "{\"tool.index\":[%s],\"schemas\":{\"any\":{\"type\":\"object\","
		 "\"additionalProperties\":false,\"properties\":{\"target\":{\"type\":\"string\","
		 "\"maxLength\":64},\"scope\":{\"type\":\"string\",\"maxLength\":64}}},"
		 "\"decided\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
		 "\"decision\":{\"type\":\"string\",\"maxLength\":9},\"violations\":{\"type\":"
		 "\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
		 "\"properties\":{\"code\":{\"type\":\"string\",\"maxLength\":32},\"reason\":{"
		 "\"type\":\"string\",\"maxLength\":256}}}}}}}}",
		 entry);
	doc = parsed(buf_z(&text));
	if (kernel_index_new(doc, NULL, &x, &e) < 0)
		fail_msg("%s", err_text(&e));
	json_doc_unref(doc);
	buf_done(&text);
	return x;
}

#define ENTRY(id, result, more)                                                                    \
	"{\"id\":\"" id "\",\"payload_schema_ref\":\"any\",\"result_schema_ref\":\"" result        \
	"\"" more "}"

static void
reaches_every_code(void **state)
{
	char *full = state_with_ledger(LIMIT_KERNEL_LEDGER);
	struct bench *b = bench_new(NULL);

	(void)state;
	bench_call(b, "menu.open", "{}");
	assert_code(b, "E_NAMESPACE");
	bench_call(b, "policy.nothing", "{}");
	assert_code(b, "E_TOOL");
	bench_call(b, "closure.spiral", "{\"scope\":\"world\"}");
	assert_code(b, "E_PAYLOAD");
	bench_call(b, "policy.query", "{\"target\":\"ledger.append\"}");
	assert_code(b, "E_PRECONDITION");
	assert_str(bench_reason(b), "precondition not met: meta_locus.accepted == true");
	bench_free(b);

	b = bench_new(full);
	bench_call(b, "policy.enforce", "{\"target\":\"ledger.append\"}");
	assert_code(b, "E_QUOTA");
	bench_call(b, "closure.archive", "{}");
	assert_code(b, "E_QUOTA");
	assert_int_equal(kernel_state(b->kernel)->ledger_len, LIMIT_KERNEL_LEDGER);
	bench_free(b);

	b = bench_with(index_with(ENTRY("policy.query", "any", ",\"disabled\":true")), ACCEPTED);
	bench_call(b, "policy.query", "{\"target\":\"ledger.append\"}");
	assert_code(b, "E_DISABLED");
	bench_free(b);

	/* A result that does not fit its schema never leaves. */
	b = bench_with(index_with(ENTRY("policy.query", "any", "")), ACCEPTED);
	bench_call(b, "policy.query", "{\"target\":\"ledger.append\"}");
	assert_code(b, "E_INVARIANT");
	bench_free(b);
	free(full);
}

/* What could be wrong in two ways is refused for the first of them. */
static void
keeps_the_order_of_the_document(void **state)
{
	struct bench *b = bench_new(NULL);

	(void)state;
	bench_take(b, "{\"tool.call\":{\"id\":\"menu.x\",\"payload\":{},\"more\":1}}");
	assert_code(b, "E_PAYLOAD"); /* envelope before namespace */
	bench_call(b, "menu.x", "{\"a\":{\"b\":{\"c\":{}}}}");
	assert_code(b, "E_NAMESPACE"); /* namespace before caps */
	bench_call(b, "policy.none", "{\"a\":{\"b\":{\"c\":{}}}}");
	assert_code(b, "E_TOOL"); /* index before caps */
	bench_call(b, "policy.query", "{\"a\":{\"b\":{\"c\":{}}}}");
	assert_str(bench_reason(b), "caps: deeper than 3"); /* caps before the schema */
	bench_call(b, "policy.query", "{\"target\":\"nonsense\"}");
	assert_code(b, "E_PAYLOAD"); /* the schema before preconditions */
	bench_free(b);

	/* Preconditions before idempotency: a replay whose condition no longer holds is refused. */
	b = bench_with(standard_index(), ACCEPTED);
	const char *call = "{\"tool.call\":{\"id\":\"closure.archive\",\"payload\":{},\"meta\":{"
			   "\"request_id\":\"" ID "\"}}}";
	bench_take(b, call);
	assert_true(b->last.ok);
	((struct kernel_state *)kernel_state(b->kernel))->accepted = false;
	bench_take(b, call);
	assert_code(b, "E_PRECONDITION");
	bench_free(b);
}

static void
a_custom_index_reaches_an_unknown_target(void **state)
{
	struct bench *b = bench_with(index_with(ENTRY("policy.query", "decided", "")), NULL);
	const struct json *result = bench_call(b, "policy.query", "{\"target\":\"moon\"}");

	(void)state;
	assert_str(json_str(json_pointer(result, S("/violations/0/code"))), "V_UNKNOWN_TARGET");
	bench_free(b);
}

static void
tells_how_it_came_when_asked(void **state)
{
	struct bench *b = bench_new(ACCEPTED);

	(void)state;
	bench_take(b, "{\"tool.call\":{\"id\":\"policy.query\",\"payload\":{\"target\":"
		      "\"ledger.append\"},\"meta\":{\"trace\":true}}}");
	const struct json *trace = json_pointer(json_root(b->doc), S("/tool.emit/trace"));
	assert_int_equal(json_len(trace), 10);
	assert_str(json_str(json_at(trace, 0)), "envelope: ok");
	bench_take(b, "{\"tool.call\":{\"id\":\"policy.query\",\"payload\":{},\"meta\":{\"trace\":"
		      "true}}}");
	trace = json_pointer(json_root(b->doc), S("/tool.error/trace"));
	assert_str(json_str(json_at(trace, 4)), "payload: E_PAYLOAD");
	bench_take(b, "{\"tool.call\":{\"id\":\"policy.query\",\"payload\":{},\"meta\":{\"trace\":"
		      "false}}}");
	assert_null(json_pointer(json_root(b->doc), S("/tool.error/trace")));
	bench_free(b);
}

/* ---- idempotency ---- */

static void
envelope_text(char *out, size_t size, unsigned n, const char *target, const char *more)
{
	snprintf(out, size,
		 "{\"tool.call\":{\"id\":\"policy.enforce\",\"payload\":{\"target\":\"%s\"},"
		 "\"meta\":{\"request_id\":\"9f1f3f0c-9e6d-4d5b-9a1d-%012u\"%s}}}",
		 target, n, more);
}

static void
replays_byte_for_byte_and_does_nothing_twice(void **state)
{
	struct bench *b = bench_new(ACCEPTED);
	char text[512], first[4096];

	(void)state;
	envelope_text(text, sizeof(text), 1, "export.request", "");
	bench_take(b, text);
	snprintf(first, sizeof(first), "%.*s", STR_ARG(b->last.text));
	b->wall_us += 5000000; /* later, with a trace, and the id in capitals */
	envelope_text(text, sizeof(text), 1, "export.request", ",\"trace\":true");
	for (char *c = strstr(text, "9f1f"); *c != '"'; c++)
		*c = (char)(*c >= 'a' && *c <= 'f' ? *c - 32 : *c);
	bench_take(b, text);
	assert_str(b->last.text, first);
	assert_int_equal(kernel_state(b->kernel)->ledger_len, 1);

	envelope_text(text, sizeof(text), 1, "recap.export", "");
	bench_take(b, text);
	assert_code(b, "E_INVARIANT");
	assert_str(bench_reason(b), "request_id_reuse_mismatch");
	envelope_text(text, sizeof(text), 1, "export.request", "");
	bench_take(b, text);
	assert_str(b->last.text, first); /* the mismatch took nothing away */
	assert_int_equal(kernel_state(b->kernel)->ledger_len, 1);
	bench_free(b);
}

static void
remembers_the_last_128(void **state)
{
	struct bench *b = bench_new(ACCEPTED);
	char text[512];

	(void)state;
	for (unsigned i = 0; i < LIMIT_KERNEL_REPLAYS; i++) {
		envelope_text(text, sizeof(text), i, "ledger.append", "");
		bench_take(b, text);
		assert_true(b->last.ok);
	}
	envelope_text(text, sizeof(text), 0, "ledger.append", "");
	bench_take(b, text); /* asked for again: it stays */
	assert_int_equal(kernel_state(b->kernel)->ledger_len, LIMIT_KERNEL_REPLAYS);
	envelope_text(text, sizeof(text), 1000, "ledger.append", "");
	bench_take(b, text); /* one more: number 1 goes */
	envelope_text(text, sizeof(text), 0, "ledger.append", "");
	bench_take(b, text);
	assert_int_equal(kernel_state(b->kernel)->ledger_len, LIMIT_KERNEL_REPLAYS + 1);
	envelope_text(text, sizeof(text), 1, "ledger.append", "");
	bench_take(b, text);
	assert_int_equal(kernel_state(b->kernel)->ledger_len, LIMIT_KERNEL_REPLAYS + 2);
	bench_free(b);
}

/* ---- latency ---- */

static void
halts_and_warns_by_the_clock_it_is_given(void **state)
{
	static const struct {
		const char *mode;
		uint64_t took_us;
		enum latency_status status;
	} cases[] = {
	    {"lite", 4000000, LATENCY_OK},          {"lite", 4100000, LATENCY_ERROR},
	    {"standard", 7200000, LATENCY_WARNING}, {"standard", 6000000, LATENCY_OK},
	    {"strict", 12000000, LATENCY_OK},       {"strict", 12000001, LATENCY_WARNING},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[128];
		snprintf(text, sizeof(text),
			 "{\"meta_locus\":{\"accepted\":true,\"latency_mode\":\"%s\"}}",
			 cases[i].mode);
		struct bench *b = bench_new(text);
		b->step_us = cases[i].took_us;
		bench_call(b, "policy.enforce", "{\"target\":\"ledger.append\"}");
		const struct kernel_state *s = kernel_state(b->kernel);
		assert_int_equal(b->last.latency.status, cases[i].status);
		assert_int_equal(b->last.ok, cases[i].status != LATENCY_ERROR);
		if (cases[i].status == LATENCY_ERROR)
			assert_str(b->last.text,
				   "{\"kernel.error\":{\"code\":\"E_LATENCY_INVARIANT\"}}");
		/* What was halted changed nothing; a breach is entered. */
		assert_int_equal(s->ledger_len, cases[i].status == LATENCY_WARNING ? 2 : 1);
		if (cases[i].status != LATENCY_OK)
			assert_int_equal(s->ledger[s->ledger_len - 1].type, LEDGER_LATENCY);
		bench_free(b);
	}
}

static void
a_heavy_tool_is_too_much_for_lite(void **state)
{
	static const char *const expected[] = {"E_LATENCY_INVARIANT", "W_LATENCY_EXTRA", NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		char text[128];
		snprintf(text, sizeof(text), "{\"meta_locus\":{\"latency_mode\":\"%s\"}}",
			 mode_names[i]);
		struct bench *b =
		    bench_with(index_with(ENTRY("policy.query", "decided", ",\"heavy\":true")),
			       text);
		bench_call(b, "policy.query", "{\"target\":\"ledger.append\"}");
		if (expected[i])
			assert_string_equal(b->last.latency.code, expected[i]);
		else
			assert_null(b->last.latency.code);
		bench_free(b);
	}
}

static void
a_warning_stands_in_the_trace(void **state)
{
	struct bench *b = bench_new(ACCEPTED);

	(void)state;
	b->step_us = 7200000;
	bench_take(b, "{\"tool.call\":{\"id\":\"closure.spiral\",\"payload\":{},\"meta\":{"
		      "\"trace\":true}}}");
	const struct json *trace = json_pointer(json_root(b->doc), S("/tool.emit/trace"));
	assert_str(json_str(json_at(trace, json_len(trace) - 1)),
		   "[LATENCY WARNING] W_LATENCY_BREACH: 7.200 s, ceiling 6 s");
	bench_free(b);
}

/* ---- orders ---- */

static void
an_order_is_settled_once_it_was_run(void **state)
{
	struct kernel_index *x = index_with(
	    "{\"id\":\"policy.files\",\"tool\":\"files:read_file#0123abcd\",\"payload_schema_ref\":"
	    "\"any\",\"result_schema_ref\":\"any\"}");
	struct bench *b = bench_with(x, NULL);
	const char *call = "{\"tool.call\":{\"id\":\"policy.files\",\"payload\":{\"scope\":\"a\"},"
			   "\"meta\":{\"request_id\":\"" ID "\"}}}";
	struct kernel_order order;
	struct emission out;

	(void)state;
	assert_false(kernel_take(b->kernel, str_of(call), &out, &order));
	assert_str(order.tool, "files:read_file#0123abcd");
	assert_str(json_str(json_get(order.input, S("scope"))), "a");
	kernel_settle(b->kernel, &(struct kernel_outcome){.result = S("{\"scope\":\"b\"}")}, &out);
	assert_true(out.ok);
	assert_str(out.text, "{\"tool.emit\":{\"id\":\"policy.files\",\"ok\":true,\"result\":{"
			     "\"scope\":\"b\"}}}");
	assert_true(kernel_take(b->kernel, str_of(call), &out, &order)); /* replayed, not run */
	assert_true(out.ok);

	static const struct {
		struct kernel_outcome came;
		const char *code;
	} cases[] = {
	    {{.result = S("{\"other\":1}")}, "E_INVARIANT"},
	    {{.result = S("no JSON")}, "E_INVARIANT"},
	    {{.error = E_NOT_FOUND, .reason = S("gone")}, "E_TOOL"},
	    {{.error = E_VALIDATION, .reason = S("x")}, "E_PAYLOAD"},
	    {{.error = E_USER_DENIED, .reason = S("x")}, "E_PRECONDITION"},
	    {{.error = E_CONFIRM_TIMEOUT, .reason = S("x")}, "E_PRECONDITION"},
	    {{.error = E_PERMISSION, .reason = S("x")}, "E_DISABLED"},
	    {{.error = E_RATE, .reason = S("x")}, "E_QUOTA"},
	    {{.error = E_TIMEOUT, .reason = S("x")}, "E_INVARIANT"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_false(
		    kernel_take(b->kernel,
				S("{\"tool.call\":{\"id\":\"policy.files\",\"payload\":{}}}"), &out,
				&order));
		kernel_settle(b->kernel, &cases[i].came, &out);
		json_doc_unref(b->doc);
		b->last = out;
		char text[1024];
		snprintf(text, sizeof(text), "%.*s", STR_ARG(out.text));
		b->doc = parsed(text);
		assert_true(schema_fits(x->emission, json_root(b->doc)));
		assert_code(b, cases[i].code);
	}
	bench_free(b);
}

static void
every_error_of_the_table_has_a_code_that_emissions_know(void **state)
{
	static const char *const codes[] = {"E_NAMESPACE",    "E_TOOL",  "E_PAYLOAD",
					    "E_PRECONDITION", "E_QUOTA", "E_DISABLED",
					    "E_INVARIANT"};

	(void)state;
	for (int code = E__FIRST + 1; code < E__END; code++) {
		bool known = false;
		for (size_t i = 0; i < ARRAY_LEN(codes); i++)
			known |= strcmp(err_row(code)->kernel, codes[i]) == 0;
		if (!known)
			fail_msg("%s", err_row(code)->kernel);
	}
}

/* ---- properties ---- */

static const char *const valid[] = {
    "{\"tool.call\":{\"id\":\"policy.enforce\",\"payload\":{\"target\":\"spiral.diff_log\","
    "\"value\":\"v\"},\"meta\":{\"request_id\":\"" ID "\",\"trace\":true,\"origin\":\"o\"}}}",
    ("{\"tool.call\":{\"id\":\"recap.spec\",\"payload\":{\"include\":[\"summary\"],"
     "\"max_items\":3}}}"),
    "{\"tool.call\":{\"id\":\"lens.edge\",\"payload\":{\"statement\":\"never\",\"topic\":\"t\"}}}",
    "{\"tool.call\":{\"id\":\"closure.archive\",\"payload\":{\"include\":[\"summary\"]}}}",
};

static void
the_same_state_and_input_give_the_same_bytes(void **state)
{
	struct bench *a = bench_new(ACCEPTED), *b = bench_new(ACCEPTED);
	struct buf one = BUF_INIT(MIB), two = BUF_INIT(MIB);
	struct jw w1 = jw(&one), w2 = jw(&two);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(valid); i++) {
		bench_take(a, valid[i]);
		bench_take(b, valid[i]);
		assert_true(a->last.ok);
		assert_true(str_eq(a->last.text, b->last.text));
	}
	state_write(&w1, kernel_state(a->kernel));
	state_write(&w2, kernel_state(b->kernel));
	assert_true(str_eq(buf_str(&one), buf_str(&two)));

	/* A state that was written goes on where it was. */
	struct bench *c = bench_new(buf_z(&one));
	bench_call(a, "recap.spec", "{\"include\":[\"summary\",\"last_moves\",\"ledger_refs\"]}");
	bench_call(c, "recap.spec", "{\"include\":[\"summary\",\"last_moves\",\"ledger_refs\"]}");
	assert_true(str_eq(a->last.text, c->last.text));
	bench_free(a);
	bench_free(b);
	bench_free(c);
	buf_done(&one);
	buf_done(&two);
}

/* v with one member more in the object number `at`, in reading order. */
static void
write_with_more(struct jw *w, const struct json *v, int *at)
{
	if (json_is(v, JSON_OBJECT)) {
		jw_object(w);
		if ((*at)-- == 0)
			jw_member_int(w, "zz_unknown", 1);
		for (struct json_iter it = json_iter(v); json_next(&it);)
			jw_key_str(w, it.key), write_with_more(w, it.value, at);
		jw_end(w);
	} else {
		jw_value(w, v);
	}
}

/* The objects of an envelope in reading order: itself, tool.call, payload, meta. */
static void
any_unknown_field_but_in_meta_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(valid); i++)
		for (int at = 0; at < 4; at++) {
			struct bench *b = bench_new(ACCEPTED);
			struct json_doc *doc = parsed(valid[i]);
			struct buf text = BUF_INIT(64 * KIB);
			struct jw w = jw(&text);
			int left = at;
			write_with_more(&w, json_root(doc), &left);
			if (left < 0) {
				bench_take_text(b, buf_str(&text));
				assert_int_equal(b->last.ok, at == 3);
				if (at < 3)
					assert_code(b, "E_PAYLOAD");
			}
			buf_done(&text);
			json_doc_unref(doc);
			bench_free(b);
		}
}

static uint64_t seed = 88172645463325252u;

static unsigned
chance(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % n);
}

static void
random_value(struct jw *w, unsigned depth)
{
	static const char *const words[] = {"target", "value",   "include",   "summary",
					    "scope",  "session", "statement", "aim",
					    "flags",  "\xc3\xa9"};

	switch (chance(depth < 5 ? 8 : 6)) {
	case 0: jw_null(w); break;
	case 1: jw_bool(w, chance(2)); break;
	case 2: jw_int(w, (int64_t)chance(2000) - 1000); break;
	case 3: jw_double(w, (double)chance(1000) / 7); break;
	case 4:
	case 5: jw_z(w, words[chance(ARRAY_LEN(words))]); break;
	case 6:
		jw_array(w);
		for (unsigned n = chance(40); n > 0; n--)
			random_value(w, depth + 2);
		jw_end(w);
		break;
	default:
		jw_object(w);
		for (unsigned i = 0; i < ARRAY_LEN(words); i++)
			if (chance(4) == 0)
				jw_key(w, words[i]), random_value(w, depth + 1);
		jw_end(w);
	}
}

static void
random_envelope(struct buf *out)
{
	static const char *const ids[] = {
	    "lens.edge",    "move.align_scan", "closure.spiral",       "closure.archive",
	    "policy.query", "policy.enforce",  "closure.waiting_with", "policy.report",
	    "recap.spec",   "menu.x",          "policy.none",          "Bad.Id"};
	struct jw w = jw(out);

	jw_object(&w);
	jw_key(&w, chance(20) ? "tool.call" : "tool.calls");
	jw_object(&w);
	jw_member_z(&w, "id", ids[chance(ARRAY_LEN(ids))]);
	jw_key(&w, "payload");
	if (chance(3) == 0)
		jw_raw(&w, S("{}"));
	else
		random_value(&w, 0);
	if (chance(2)) {
		jw_key(&w, "meta");
		jw_object(&w);
		jw_member_bool(&w, "trace", chance(2));
		if (chance(2))
			jw_member_z(&w, "request_id", chance(4) ? ID : "none");
		if (chance(3) == 0)
			jw_key(&w, "odd"), random_value(&w, 2);
		jw_end(&w);
	}
	if (chance(20) == 0)
		jw_member_int(&w, "more", 1);
	jw_end(&w);
	jw_end(&w);
	/* And some that are broken. */
	if (chance(5) == 0 && out->len > 0)
		out->ptr[chance((unsigned)out->len)] = (char)chance(256);
	if (chance(10) == 0)
		out->len = chance((unsigned)out->len + 1);
}

/* bench_take_text holds each to the schema of emissions. */
static void
ten_thousand_random_envelopes_give_emissions(void **state)
{
	struct bench *b = bench_new(ACCEPTED);
	size_t good = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		struct buf text = BUF_INIT(MIB);
		random_envelope(&text);
		bench_take_text(b, buf_str(&text));
		good += b->last.ok;
		buf_done(&text);
	}
	assert_true(good > 100 && good < 9000);
	bench_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(takes_the_valid_example_of_the_document),
	    cmocka_unit_test(refuses_the_rejected_example_of_the_document),
	    cmocka_unit_test(reaches_every_code),
	    cmocka_unit_test(keeps_the_order_of_the_document),
	    cmocka_unit_test(a_custom_index_reaches_an_unknown_target),
	    cmocka_unit_test(tells_how_it_came_when_asked),
	    cmocka_unit_test(replays_byte_for_byte_and_does_nothing_twice),
	    cmocka_unit_test(remembers_the_last_128),
	    cmocka_unit_test(halts_and_warns_by_the_clock_it_is_given),
	    cmocka_unit_test(a_heavy_tool_is_too_much_for_lite),
	    cmocka_unit_test(a_warning_stands_in_the_trace),
	    cmocka_unit_test(an_order_is_settled_once_it_was_run),
	    cmocka_unit_test(every_error_of_the_table_has_a_code_that_emissions_know),
	    cmocka_unit_test(the_same_state_and_input_give_the_same_bytes),
	    cmocka_unit_test(any_unknown_field_but_in_meta_is_refused),
	    cmocka_unit_test(ten_thousand_random_envelopes_give_emissions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
