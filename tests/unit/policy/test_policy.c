/* test_policy.c - which rule decides, and what a wrong file is told. */

#include "unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "policy/policy.h"

#define HOME "/home/ann"

/* The policy of a file; NULL and the error's text in *ret_text when it is refused. */
static struct policy *
policy_of(const char *yaml, const char *home, struct err *e)
{
	struct yaml y = {0};
	struct policy *p = NULL;

	*e = ERR_NONE;
	if (yaml_parse(str_of(yaml), LIMIT_CONFIG_BYTES, &y, e) < 0)
		return NULL;
	int code = policy_new(&y, json_get(json_root(y.doc), S("tool_confirmation")), home, &p, e);
	assert_int_equal(code, p ? 0 : e->code);
	yaml_done(&y);
	return p;
}

static struct policy *
policy_good(const char *yaml)
{
	struct err e;
	struct policy *p = policy_of(yaml, HOME, &e);

	if (!p)
		fail_msg("%s", e.text);
	return p;
}

static void
assert_ruling(struct policy *p, const char *tool, enum capability cap, const char *workspace,
	      const char *want)
{
	struct ruling r = policy_decide(p, str_of(tool), cap, workspace);
	char got[128];

	snprintf(got, sizeof(got), "%s by %.*s", policy_mode_name(r.mode), STR_ARG(r.rule));
	assert_string_equal(got, want);
}

static void
the_defaults_are_conservative(void **state)
{
	struct policy *policies[] = {policy_default(), policy_good("{}"),
				     policy_good("tool_confirmation:\n"),
				     policy_good("tool_confirmation:\n  default:\n  per_tool:\n"
						 "  trusted_workspaces:\n")};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		struct policy *p = policies[i];
		assert_ruling(p, "x", CAP_NONE, "/w", "auto by default.NONE");
		assert_ruling(p, "x", CAP_READ, "/w", "auto by default.READ");
		assert_ruling(p, "x", CAP_WRITE, "/w", "prompt by default.WRITE");
		assert_ruling(p, "x", CAP_EXECUTE, "/w", "prompt by default.EXECUTE");
		assert_ruling(p, "x", CAP_NETWORK, NULL, "prompt by default.NETWORK");
		assert_int_equal(policy_confirm_ms(p), 300000);
		policy_free(p);
	}
	policy_free(NULL);
}

static void
a_class_that_does_not_exist_is_denied(void **state)
{
	struct policy *p = policy_default();

	(void)state;
	assert_ruling(p, "x", CAP__COUNT, "/w", "deny by unknown class");
	assert_ruling(p, "x", (enum capability)77, "/w", "deny by unknown class");
	policy_free(p);
}

/* Seed 000 section 5.2, word for word. */
static void
the_document_s_example_decides_as_written(void **state)
{
	struct policy *p = policy_good("tool_confirmation:\n"
				       "  default:\n"
				       "    NONE: auto         # never prompt\n"
				       "    READ: auto\n"
				       "    WRITE: prompt      # prompt by default\n"
				       "    EXECUTE: prompt\n"
				       "    NETWORK: prompt\n"
				       "  per_tool:\n"
				       "    git_status: auto\n"
				       "    npm_install: prompt\n"
				       "  trusted_workspaces:\n"
				       "    - ~/code/myproject\n"
				       "  trusted_workspace_overrides:\n"
				       "    EXECUTE: prompt\n");

	(void)state;
	assert_ruling(p, "git_status", CAP_EXECUTE, "/w", "auto by per_tool.git_status");
	assert_ruling(p, "npm_install", CAP_EXECUTE, HOME "/code/myproject",
		      "prompt by per_tool.npm_install");
	assert_ruling(p, "write_file", CAP_WRITE, "/w", "prompt by default.WRITE");
	assert_ruling(p, "write_file", CAP_WRITE, HOME "/code/myproject",
		      "auto by trusted_workspaces");
	assert_ruling(p, "shell", CAP_EXECUTE, HOME "/code/myproject",
		      "prompt by trusted_workspace_overrides.EXECUTE");
	assert_ruling(p, "read_file", CAP_READ, HOME "/code/myproject", "auto by default.READ");
	assert_ruling(p, "post", CAP_NETWORK, HOME "/code/myproject", "prompt by default.NETWORK");
	policy_free(p);
}

static void
precedence_is_tool_then_trust_then_class(void **state)
{
	struct policy *p =
	    policy_good("tool_confirmation:\n"
			"  default: {READ: prompt_once, WRITE: deny, NETWORK: prompt}\n"
			"  per_tool: {never: deny, always: auto}\n"
			"  trusted_workspaces: [/t]\n"
			"  trusted_workspace_overrides: {WRITE: auto, NETWORK: auto,"
			" NONE: deny}\n"
			"  confirmation_timeout_seconds: 86400\n");

	(void)state;
	assert_ruling(p, "never", CAP_NONE, "/t", "deny by per_tool.never");
	assert_ruling(p, "always", CAP_WRITE, "/w", "auto by per_tool.always");
	assert_ruling(p, "Never", CAP_READ, "/w", "prompt_once by default.READ");
	assert_ruling(p, "x", CAP_READ, "/w", "prompt_once by default.READ");
	assert_ruling(p, "x", CAP_READ, "/t", "auto by trusted_workspaces");
	/* deny is never lowered by trust, not even by an override */
	assert_ruling(p, "x", CAP_WRITE, "/t", "deny by default.WRITE");
	/* what the person wrote for NETWORK counts; trust alone would not */
	assert_ruling(p, "x", CAP_NETWORK, "/t", "auto by trusted_workspace_overrides.NETWORK");
	assert_ruling(p, "x", CAP_NONE, "/t", "deny by trusted_workspace_overrides.NONE");
	assert_ruling(p, "x", CAP_NONE, "/w", "auto by default.NONE");
	assert_ruling(p, "x", CAP_EXECUTE, "/t", "auto by trusted_workspaces");
	assert_int_equal(policy_confirm_ms(p), 86400000);
	policy_free(p);
}

static void
trust_goes_by_whole_components(void **state)
{
	struct policy *p =
	    policy_good("tool_confirmation: {trusted_workspaces: [/nowhere/a/b/, '~']}\n");
	const struct {
		const char *workspace;
		bool trusted;
	} cases[] = {
	    {"/nowhere/a/b", true},
	    {"/nowhere/a/b/c", true},
	    {"/nowhere/a/bc", false},
	    {"/nowhere/a", false},
	    {"/", false},
	    {"", false},
	    {"nowhere/a/b", false},
	    {NULL, false},
	    {HOME, true},
	    {HOME "/x", true},
	    {HOME "x", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_ruling(p, "x", CAP_WRITE, cases[i].workspace,
			      cases[i].trusted ? "auto by trusted_workspaces"
					       : "prompt by default.WRITE");
	policy_free(p);
	p = policy_good("tool_confirmation: {trusted_workspaces: [/]}\n");
	assert_ruling(p, "x", CAP_WRITE, "/anything", "auto by trusted_workspaces");
	assert_ruling(p, "x", CAP_WRITE, "/", "auto by trusted_workspaces");
	policy_free(p);
}

static void
a_trusted_path_that_exists_is_the_real_one(void **state)
{
	char dir[] = "/tmp/unit_policy.XXXXXX", path[PATH_MAX], real[PATH_MAX], yaml[512];
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/real", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_non_null(realpath(path, real));
	snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink("real", path), 0);

	snprintf(yaml, sizeof(yaml),
		 "tool_confirmation: {trusted_workspaces: ['~/../%s/link/.']}\n",
		 dir + strlen("/tmp/"));
	struct policy *p = policy_of(yaml, dir, &e);
	assert_non_null(p);
	assert_ruling(p, "x", CAP_WRITE, real, "auto by trusted_workspaces");
	assert_ruling(p, "x", CAP_WRITE, path, "prompt by default.WRITE");
	policy_free(p);

	snprintf(path, sizeof(path), "%s/link", dir);
	unlink(path);
	rmdir(real);
	rmdir(dir);
}

static void
errors_name_line_and_key(void **state)
{
	static const struct {
		const char *yaml, *text;
	} cases[] = {
	    {"a: 1\nb: 2\ntool_confirmation:\n  default: {WRITE: maybe}\n",
	     "line 4: tool_confirmation.default.WRITE: 'maybe' is not one of auto, prompt, "
	     "prompt_once, "
	     "deny"},
	    {"tool_confirmation:\n  default:\n    READ: auto\n    WRIT: auto\n",
	     "line 4: tool_confirmation.default.WRIT: there is no such key; did you mean 'WRITE'?"},
	    {"tool_confirmation:\n  default:\n    write: auto\n",
	     "line 3: tool_confirmation.default.write: there is no such key; did you mean "
	     "'WRITE'?"},
	    {"tool_confirmation:\n  default:\n    WRITE: true\n",
	     "line 3: tool_confirmation.default.WRITE: must be one of auto, prompt, prompt_once, "
	     "deny, "
	     "got boolean"},
	    {"tool_confirmation:\n  default:\n    WRITE:\n",
	     "line 3: tool_confirmation.default.WRITE: must be one of auto, prompt, prompt_once, "
	     "deny, "
	     "got null"},
	    {"tool_confirmation:\n  pertool:\n    x: auto\n",
	     "line 2: tool_confirmation.pertool: there is no such key; did you mean 'per_tool'?"},
	    {"tool_confirmation:\n  trusted_workspace:\n    - /x\n",
	     "line 2: tool_confirmation.trusted_workspace: there is no such key; did you mean "
	     "'trusted_workspaces'?"},
	    {"tool_confirmation:\n  zzz: 1\n",
	     "line 2: tool_confirmation.zzz: there is no such key"},
	    {"tool_confirmation: [1]\n", "line 1: tool_confirmation: must be an object, got array"},
	    {"tool_confirmation: auto\n",
	     "line 1: tool_confirmation: must be an object, got string"},
	    {"tool_confirmation:\n  default: auto\n",
	     "line 2: tool_confirmation.default: must be an object, got string"},
	    {"tool_confirmation:\n  per_tool:\n    - x\n",
	     "line 2: tool_confirmation.per_tool: must be an object, got array"},
	    {"tool_confirmation:\n  per_tool:\n    x: allow\n",
	     "line 3: tool_confirmation.per_tool.x: 'allow' is not one of auto, prompt, "
	     "prompt_once, deny"},
	    {"tool_confirmation:\n  trusted_workspaces: [not/there]\n",
	     "line 2: tool_confirmation.trusted_workspaces[0]: must begin with '/' or '~/'"},
	    {"tool_confirmation:\n  trusted_workspaces: /x\n",
	     "line 2: tool_confirmation.trusted_workspaces: must be an array, got string"},
	    {"tool_confirmation:\n  trusted_workspaces:\n    - /x\n    - 7\n",
	     "line 4: tool_confirmation.trusted_workspaces[1]: must be a string"},
	    {"tool_confirmation:\n  trusted_workspaces: ['']\n",
	     "line 2: tool_confirmation.trusted_workspaces[0]: is no path"},
	    {"tool_confirmation:\n  trusted_workspaces: [~bob/x]\n",
	     "line 2: tool_confirmation.trusted_workspaces[0]: '~' of another user is not known; "
	     "write "
	     "the whole path"},
	    {"tool_confirmation:\n  trusted_workspace_overrides: {EXEC: prompt}\n",
	     "line 2: tool_confirmation.trusted_workspace_overrides.EXEC: there is no such key; "
	     "did you "
	     "mean 'EXECUTE'?"},
	    {"tool_confirmation:\n  confirmation_timeout_seconds: 0\n",
	     "line 2: tool_confirmation.confirmation_timeout_seconds: must be a whole number from "
	     "1 to "
	     "86400"},
	    {"tool_confirmation:\n  confirmation_timeout_seconds: 86401\n",
	     "line 2: tool_confirmation.confirmation_timeout_seconds: must be a whole number from "
	     "1 to "
	     "86400"},
	    {"tool_confirmation:\n  confirmation_timeout_seconds: 1.5\n",
	     "line 2: tool_confirmation.confirmation_timeout_seconds: must be a whole number from "
	     "1 to "
	     "86400"},
	    {"tool_confirmation:\n  confirmation_timeout_seconds: soon\n",
	     "line 2: tool_confirmation.confirmation_timeout_seconds: must be a whole number from "
	     "1 to "
	     "86400"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e;
		assert_null(policy_of(cases[i].yaml, HOME, &e));
		assert_int_equal(e.code, E_CONFIG);
		assert_string_equal(e.text, cases[i].text);
	}
}

static void
what_is_no_yaml_names_its_line(void **state)
{
	static const char *const broken[] = {
	    "tool_confirmation:\n  default: {WRITE: auto\n",
	    "tool_confirmation:\n  default:\n\tWRITE: auto\n",
	    "tool_confirmation:\n  default: {WRITE: auto, WRITE: deny}\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		struct err e;
		assert_null(policy_of(broken[i], HOME, &e));
		assert_int_equal(e.code, E_CONFIG);
		assert_memory_equal(e.text, "line ", 5);
	}
}

static void
a_home_that_is_not_known_is_no_path(void **state)
{
	struct err e;

	(void)state;
	assert_null(policy_of("tool_confirmation: {trusted_workspaces: ['~/x']}\n", NULL, &e));
	assert_non_null(strstr(e.text, "'~' is not known here"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_defaults_are_conservative),
	    cmocka_unit_test(a_class_that_does_not_exist_is_denied),
	    cmocka_unit_test(the_document_s_example_decides_as_written),
	    cmocka_unit_test(precedence_is_tool_then_trust_then_class),
	    cmocka_unit_test(trust_goes_by_whole_components),
	    cmocka_unit_test(a_trusted_path_that_exists_is_the_real_one),
	    cmocka_unit_test(errors_name_line_and_key),
	    cmocka_unit_test(what_is_no_yaml_names_its_line),
	    cmocka_unit_test(a_home_that_is_not_known_is_no_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
