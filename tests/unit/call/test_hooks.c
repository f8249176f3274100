/* test_hooks.c - functions and programs around a call: their order, what they may do, and what not.
 */

#include "world.h"

#include "call/hooks.h"
#include "testdata.h"

#define CARD(name, capability)                                                                     \
	"{\"name\":\"" name "\",\"description\":\"For tests.\",\"capability\":\"" capability       \
	"\",\"reversibility\":\"pure\",\"input_schema\":{\"type\":\"object\",\"properties\":{"     \
	"\"n\":{\"type\":\"integer\"}},\"additionalProperties\":false}}"

/* What came by, one after the other. */
static char trace[512];
static char seen_input[128];

static void
note(const char *what)
{
	strcat(trace, trace[0] ? " " : "");
	strcat(trace, what);
}

static int
run_tool(void *instance, struct hf_job *job)
{
	(void)instance;
	snprintf(seen_input, sizeof(seen_input), "%s", hf_job_input(job));
	note("run");
	hf_job_text(job, "plain", 5);
	return 0;
}
static const struct hf_tool tool = {.run = run_tool};

static struct world *
begin(const char *config)
{
	struct world *w = world_new(config);

	trace[0] = seen_input[0] = '\0';
	assert_int_equal(hf_register(w->hf, CARD("thing", "none"), &tool, NULL), 0);
	assert_int_equal(hf_register(w->hf, CARD("other", "none"), &tool, NULL), 0);
	return w;
}

static void
note_it(struct hf_call *call, void *arg)
{
	(void)call;
	note(arg);
}

static void
pre(struct world *w, const char *matcher, hf_hook_fn hook, const char *arg)
{
	assert_int_equal(hf_hook_pre(w->hf, matcher, hook, (void *)arg), 0);
}

static void
post(struct world *w, const char *matcher, hf_hook_fn hook, const char *arg)
{
	assert_int_equal(hf_hook_post(w->hf, matcher, hook, (void *)arg), 0);
}

/* The words of a vector, in one line. */
static void
join(const struct json *list, char *out)
{
	for (struct json_iter it = json_iter(list); json_next(&it);) {
		strcat(out, out[0] ? " " : "");
		strncat(out, json_str(it.value).ptr, json_str(it.value).len);
	}
}

static void
hooks_run_in_the_order_of_the_vectors(void **state)
{
	char path[512], expected[512] = "*[0] *[1] tool[0] tool[1] run tool[1] tool[0] *[1] *[0]";
	struct world *w = begin(NULL);

	(void)state;
	if (testdata_find("vectors/buckley_vectors.json", path, sizeof(path))) {
		struct str text = testdata_read(path);
		struct json_doc *doc;
		assert_int_equal(json_parse(text, &json_door, &doc, NULL), 0);
		const struct json *order = json_get(json_root(doc), S("hook_order"));
		expected[0] = '\0';
		join(json_get(order, S("pre")), expected);
		strcat(expected, " run");
		join(json_get(order, S("post")), expected);
		json_doc_unref(doc);
		free((char *)text.ptr);
	}
	/* Mixed, so that the order is theirs and not ours. "" is "*". */
	static const struct {
		const char *tool, *name;
	} added[] = {{"thing", "tool[0]"}, {"*", "*[0]"}, {"thing", "tool[1]"}, {"", "*[1]"}};
	for (size_t i = 0; i < ARRAY_LEN(added); i++) {
		pre(w, added[i].tool, note_it, added[i].name);
		post(w, added[i].tool, note_it, added[i].name);
	}
	pre(w, "other", note_it, "never");
	struct result r = world_call(w, "thing", "{}");
	assert_false(r.is_error);
	assert_string_equal(trace, expected);
	result_free(&r);
	world_free(w);
}

static void
a_matcher_is_names_and_patterns(void **state)
{
	static const struct {
		const char *matcher, *tool;
		bool fits;
	} rows[] = {
	    {"", "x", true},
	    {"*", "x", true},
	    {"x", "x", true},
	    {"x", "xy", false},
	    {"a|x", "x", true},
	    {"a | x", "x", true},
	    {"git__*", "git__x", true},
	    {"git__*", "hub__x", false},
	    {"read_?ile", "read_file", true},
	    {"a||b", "", true},
	    {"Write|Edit", "write", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct hook *h = hook_new(HOOK_PRE, str_of(rows[i].matcher), S("h"));
		if (hook_fits(h, str_of(rows[i].tool)) != rows[i].fits)
			fail_msg("'%s' and '%s'", rows[i].matcher, rows[i].tool);
		hook_unref(h);
	}
}

static void
abort_it(struct hf_call *call, void *arg)
{
	note("abort");
	assert_int_equal(hf_call_abort(call, arg, NULL), 0);
}

static void
nothing_runs_after_an_abort(void **state)
{
	struct world *w = begin(NULL);

	(void)state;
	pre(w, "*", abort_it, "not today");
	pre(w, "*", note_it, "second");
	post(w, "*", note_it, "post");
	struct result r = world_call(w, "thing", "{}");
	assert_true(r.is_error);
	assert_true(str_is(result_text(&r), "aborted by hook: not today"));
	assert_string_equal(trace, "abort");
	assert_member(world_last(w, "tool.failed"), "error_class", "permission_denied");
	assert_member(world_last(w, "tool.hooked"), "outcome", "blocked");
	assert_tool_events(w, "hooked failed");
	result_free(&r);
	world_free(w);
}

static void
fail_it(struct hf_call *call, void *arg)
{
	note("fail");
	hf_call_fail(call, arg);
}

/* Issue 6: what a stage would return, said by a hook: the tool ran, and the agent heard that it had
 * not. */
static void
a_hook_that_fails_a_call_means_it(void **state)
{
	struct world *w = begin(NULL);

	(void)state;
	pre(w, "*", fail_it, "no");
	post(w, "*", note_it, "post");
	struct result r = world_call(w, "thing", "{}");
	assert_true(r.is_error && str_is(result_text(&r), "no"));
	assert_string_equal(trace, "fail");
	result_free(&r);
	world_free(w);
}

static void
change_twice(struct hf_call *call, void *arg)
{
	(void)arg;
	assert_int_equal(hf_call_set_input(call, "{\"n\":1}"), 0);
	assert_int_equal(hf_call_set_input(call, "{\"n\":2}"), 0);
}

static void
the_last_change_of_arguments_counts(void **state)
{
	struct world *w = begin(NULL);

	(void)state;
	pre(w, "*", change_twice, NULL);
	struct result r = world_call(w, "thing", "{}");
	assert_string_equal(seen_input, "{\"n\":2}");
	assert_tool_events(w, "hooked called completed");
	result_free(&r);
	world_free(w);
}

static void
change_and_abort(struct hf_call *call, void *arg)
{
	(void)arg;
	assert_int_equal(hf_call_set_input(call, "{\"n\":7}"), 0);
	assert_string_equal(hf_call_input(call), "{\"n\":7}");
	assert_int_equal(hf_call_abort(call, NULL, "password=hunter2hunter2 kept"), 0);
}

/* Seed 002's own bug: a hook that did both lost the arguments. */
static void
changed_arguments_count_also_when_it_aborts(void **state)
{
	struct world *w = begin(NULL);

	(void)state;
	pre(w, "thing", change_and_abort, NULL);
	struct result r = world_call(w, "thing", "{\"n\":1}");
	assert_true(r.is_error);
	assert_true(str_is(result_text(&r), "aborted by hook"));
	const struct json *second = json_at(json_get(json_root(r.doc), S("content")), 1);
	assert_true(contains(json_str(json_get(second, S("text"))), "kept"));
	assert_false(contains(json_str(json_get(second, S("text"))), "hunter2"));
	assert_member(world_last(w, "tool.hooked"), "outcome", "blocked");
	assert_int_equal(world_count(w, "tool.hooked"), 2);
	result_free(&r);
	world_free(w);
}

static void
set_input(struct hf_call *call, void *arg)
{
	hf_call_set_input(call, arg);
}

static void
note_input(struct hf_call *call, void *arg)
{
	(void)arg;
	note(hf_call_input(call));
}

static void
changed_arguments_are_checked_and_run(void **state)
{
	struct world *w = begin(NULL);

	(void)state;
	pre(w, "thing", set_input, "{\"n\":2}");
	pre(w, "thing", note_input, NULL);
	struct result r = world_call(w, "thing", "{\"n\":1}");
	assert_false(r.is_error);
	assert_string_equal(trace, "{\"n\":2} run");
	assert_string_equal(seen_input, "{\"n\":2}");
	result_free(&r);

	pre(w, "thing", set_input, "{\"n\":\"two\"}");
	r = world_call(w, "thing", "{\"n\":1}");
	assert_true(r.is_error);
	assert_true(str_is(result_text(&r), "/n: must be an integer, got \"two\""));
	result_free(&r);
	world_free(w);
}

static void
arguments_that_are_none_end_the_call(void **state)
{
	static const char *const bad[] = {"{", "[1]", "7", ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct world *w = begin(NULL);
		pre(w, "*", set_input, bad[i]);
		pre(w, "*", note_it, "second");
		post(w, "*", note_it, "post");
		struct result r = world_call(w, "thing", "{}");
		assert_true(r.is_error);
		assert_true(contains(result_text(&r), "cannot be read"));
		assert_string_equal(trace, "");
		result_free(&r);
		world_free(w);
	}
}

static void
set_result(struct hf_call *call, void *arg)
{
	note(hf_call_result(call));
	assert_int_equal(hf_call_set_result(call, arg, strlen(arg), false), 0);
	assert_true(hf_call_set_input(call, "{}") < 0);
	assert_true(hf_call_abort(call, "too late", NULL) < 0);
}

static void
a_changed_result_loses_its_secrets(void **state)
{
	struct world *w = begin(NULL);

	(void)state;
	post(w, "*", set_result, "last word");
	post(w, "*", set_result, "token: ghp_0123456789abcdefghijABCDEFGHIJ012345");
	struct result r = world_call(w, "thing", "{}");
	assert_false(r.is_error);
	assert_true(str_is(result_text(&r), "last word"));
	assert_non_null(strstr(trace, "run plain"));
	assert_non_null(strstr(trace, "REDACTED"));
	assert_null(strstr(trace, "ghp_"));
	result_free(&r);
	world_free(w);
}

static void
no_post_hook_without_a_tool(void **state)
{
	struct world *w = begin("tool_confirmation: {per_tool: {other: deny}}");

	(void)state;
	post(w, "*", note_it, "post");
	struct result r = world_call(w, "thing", "{\"n\":\"x\"}");
	assert_true(r.is_error);
	result_free(&r);
	r = world_call(w, "other", "{}");
	assert_true(r.is_error);
	result_free(&r);
	assert_string_equal(trace, "");
	world_free(w);
}

/* ---- programs ---- */

#define ALLOW                                                                                      \
	"hooks:\n  PreToolUse:\n    - command: >-\n        echo '{\"hookSpecificOutput\":{"        \
	"\"permissionDecision\":\"allow\"},\"decision\":\"approve\"}'\n"

static void
a_hook_cannot_make_the_policy_milder(void **state)
{
	struct world *w = begin("tool_confirmation: {per_tool: {thing: deny}}\n" ALLOW);

	(void)state;
	struct result r = world_call(w, "thing", "{}");
	assert_true(r.is_error);
	assert_member(world_last(w, "tool.failed"), "error_class", "user_denied");
	assert_string_equal(trace, "");
	result_free(&r);
	world_free(w);
}

static void
replace_config(struct world *w, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/config.yaml", w->dir);
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	size_t before = world_count(w, "config.reloaded") + world_count(w, "config.rejected");
	hf_reload(w->hf);
	UNTIL(w, world_count(w, "config.reloaded") + world_count(w, "config.rejected") > before);
}

/* The list is replaced while a program of the old one runs; the call keeps what it has met. */
static void
a_call_keeps_its_hooks_over_a_reload(void **state)
{
	struct world *w = begin("hooks:\n"
				"  PreToolUse:\n"
				"    - command: touch began; until [ -e go ]; do sleep 0.05; done\n"
				"    - command: touch second\n");
	struct result r;
	char path[160];

	(void)state;
	pre(w, "*", note_it, "function");
	world_start(w, "thing", "{}", &r);
	snprintf(path, sizeof(path), "%s/began", w->workspace);
	UNTIL(w, access(path, F_OK) == 0);
	assert_int_equal(w->hf->gw.at[PLACE_HOOKING].len, 1);
	replace_config(w, "retention_days: 30\n");
	assert_int_equal(w->hf->gw.hooks->count[HOOK_PRE], 1); /* the function */
	world_write(w, "go", "");
	UNTIL(w, r.here);
	assert_false(r.is_error);
	snprintf(path, sizeof(path), "%s/second", w->workspace);
	assert_int_equal(access(path, F_OK), 0);
	assert_string_equal(trace, "function run");
	result_free(&r);
	/* And the next one has none of them. */
	unlink(path);
	r = world_call(w, "thing", "{}");
	assert_int_equal(access(path, F_OK), -1);
	assert_string_equal(trace, "function run function run");
	result_free(&r);
	world_free(w);
}

static void
a_wrong_hook_keeps_the_old_ones(void **state)
{
	struct world *w = begin("hooks: {PreToolUse: [{command: exit 2}]}\n");

	(void)state;
	replace_config(w, "hooks: {PreToolUse: [{command: exit 0, matcher: 'a.*'}]}\n");
	assert_int_equal(world_count(w, "config.rejected"), 1);
	struct result r = world_call(w, "thing", "{}");
	assert_true(r.is_error);
	result_free(&r);
	world_free(w);
}

/* Cancelled while its program runs, and the gateway closed at once: nothing is left of either. */
static void
closing_ends_a_program(void **state)
{
	struct world *w = begin("hooks: {PreToolUse: [{command: touch began; sleep 600}]}\n");
	struct result r;
	char path[160];

	(void)state;
	world_start(w, "thing", "{}", &r);
	snprintf(path, sizeof(path), "%s/began", w->workspace);
	UNTIL(w, access(path, F_OK) == 0);
	assert_int_equal(hf_cancel_session(w->hf, w->session), 0);
	UNTIL(w, r.here);
	assert_true(contains(result_text(&r), "cancelled"));
	result_free(&r);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hooks_run_in_the_order_of_the_vectors),
	    cmocka_unit_test(a_matcher_is_names_and_patterns),
	    cmocka_unit_test(nothing_runs_after_an_abort),
	    cmocka_unit_test(a_hook_that_fails_a_call_means_it),
	    cmocka_unit_test(the_last_change_of_arguments_counts),
	    cmocka_unit_test(changed_arguments_count_also_when_it_aborts),
	    cmocka_unit_test(changed_arguments_are_checked_and_run),
	    cmocka_unit_test(arguments_that_are_none_end_the_call),
	    cmocka_unit_test(a_changed_result_loses_its_secrets),
	    cmocka_unit_test(no_post_hook_without_a_tool),
	    cmocka_unit_test(a_hook_cannot_make_the_policy_milder),
	    cmocka_unit_test(a_call_keeps_its_hooks_over_a_reload),
	    cmocka_unit_test(a_wrong_hook_keeps_the_old_ones),
	    cmocka_unit_test(closing_ends_a_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
