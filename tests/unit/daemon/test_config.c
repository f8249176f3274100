/* test_config.c - configuration files: servers of all clients, variables, and what is told of
 * mistakes (issue 5). */

#include "unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/config_inside.h"

#define WORKSPACE "/work/space"

/* A file with this text. */
struct file {
	char path[64];
};

static struct file
file_of(const char *text)
{
	struct file f = {"/tmp/holdfast-config-XXXXXX"};
	int fd = mkstemp(f.path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return f;
}

static int
load_in(const char *text, const char *workspace, struct config *c, struct err *e)
{
	struct file f = file_of(text);
	int code =
	    config_load(&(struct config_source){.path = f.path, .workspace = workspace}, c, e);

	unlink(f.path);
	return code;
}

static struct config
good(const char *text)
{
	struct config c;
	struct err e;

	if (load_in(text, WORKSPACE, &c, &e) < 0)
		fail_msg("%s", err_text(&e));
	return c;
}

/* What is told of a file that is refused, without its name. */
static void
assert_refused(const char *text, const char *want)
{
	struct config c;
	struct err e = ERR_NONE;

	assert_int_equal(load_in(text, WORKSPACE, &c, &e), E_CONFIG);
	const char *said = strstr(e.text, ": line");
	assert_non_null(said);
	if (strncmp(said + 2, want, strlen(want)) != 0)
		fail_msg("said: %s\nwanted: %s", said + 2, want);
	config_done(&c);
}

static const char *
env_of(const struct upstream_spec *s, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; s->env && s->env[i]; i++)
		if (strncmp(s->env[i], name, len) == 0 && s->env[i][len] == '=')
			return s->env[i] + len + 1;
	return NULL;
}

static void
assert_str(struct str got, const char *want)
{
	if (!str_is(got, want))
		fail_msg("got '%.*s', wanted '%s'", STR_ARG(got), want);
}

/* The problem of the only server. */
static void
assert_problem(const char *text, const char *want)
{
	struct config c = good(text);

	assert_int_equal(c.server_count, 1);
	assert_str(c.servers[0].problem, want);
	config_done(&c);
}

static void
a_server_has_everything_the_file_says(void **state)
{
	struct config c = good("mcpServers:\n"
			       "  files:\n"
			       "    command: npx\n"
			       "    args: [-y, server-files, '${workspaceFolder}/notes']\n"
			       "    env: {A: one, PORT: 8080, ON: true}\n"
			       "    cwd: sub\n"
			       "    timeout: 1.5\n"
			       "    max_timeout: 60\n"
			       "    startup_timeout: 3\n"
			       "    idle_stop: false\n"
			       "    concurrency: 7\n"
			       "    enabled_tools: ['read_*', list]\n"
			       "    disabled_tools: [rm]\n"
			       "    trust: true\n"
			       "    namespace: disk\n"
			       "    prefix: fs\n"
			       "    confirm: prompt_once\n"
			       "    repair_arguments: true\n"
			       "    roots: ['${workspaceFolder}']\n"
			       "    protocol: legacy\n");
	const struct upstream_spec *s = &c.servers[0];
	const struct mcp_settings *m = &c.settings[0];

	(void)state;
	assert_int_equal(c.server_count, 1);
	assert_str(s->name, "files");
	assert_int_equal(s->kind, UPSTREAM_STDIO);
	assert_null(s->problem.ptr);
	assert_string_equal(s->argv[0], "npx");
	assert_string_equal(s->argv[3], WORKSPACE "/notes");
	assert_null(s->argv[4]);
	assert_string_equal(env_of(s, "A"), "one");
	assert_string_equal(env_of(s, "PORT"), "8080");
	assert_string_equal(env_of(s, "ON"), "true");
	assert_string_equal(s->cwd, WORKSPACE "/sub");
	assert_int_equal(s->timeout_ms, 1500);
	assert_int_equal(s->max_ms, 60000);
	assert_int_equal(s->start_ms, 3000);
	assert_int_equal(s->idle_ms, UINT_MAX);
	assert_int_equal(s->concurrency, 7);
	assert_true(s->no_probe);
	assert_string_equal(s->roots[0], WORKSPACE);
	assert_str(m->server, "files");
	assert_str(m->ns, "disk");
	assert_str(m->prefix, "fs");
	assert_true(m->trust && m->repair_arguments);
	assert_int_equal(m->confirm, MODE_PROMPT_ONCE);
	assert_string_equal(m->enabled[0], "read_*");
	assert_string_equal(m->disabled[0], "rm");
	assert_int_equal(m->timeout_ms, 1500);
	config_done(&c);
}

static void
what_is_not_said_is_the_default(void **state)
{
	struct config c = good("{\"mcpServers\": {\"x\": {\"command\": \"a\"}}}");

	(void)state;
	assert_int_equal(c.servers[0].timeout_ms, 0);
	assert_int_equal(c.servers[0].idle_ms, 0);
	assert_null(c.servers[0].cwd);
	assert_null(c.servers[0].roots);
	assert_null(c.settings[0].prefix.ptr);
	assert_null(c.settings[0].enabled);
	assert_int_equal(c.settings[0].confirm, -1);
	assert_false(c.settings[0].trust);
	config_done(&c);
}

static void
prefix_can_be_none(void **state)
{
	struct config c = good("mcpServers:\n  x: {command: a, prefix: false}\n"
			       "  y: {command: a, prefix: true}\n");

	(void)state;
	assert_non_null(c.settings[0].prefix.ptr);
	assert_int_equal(c.settings[0].prefix.len, 0);
	assert_null(c.settings[1].prefix.ptr);
	config_done(&c);
}

static void
a_server_elsewhere_has_its_headers(void **state)
{
	setenv("HF_TEST_TOKEN", "s3cret", 1);
	struct config c = good("servers:\n"
			       "  far:\n"
			       "    type: streamable-http\n"
			       "    url: https://example.com/${HF_TEST_PATH:-mcp}\n"
			       "    headers: {Authorization: 'Bearer ${env:HF_TEST_TOKEN}'}\n"
			       "inputs: [{id: x}]\n");
	const struct upstream_spec *s = &c.servers[0];

	(void)state;
	assert_int_equal(s->kind, UPSTREAM_HTTP);
	assert_string_equal(s->url, "https://example.com/mcp");
	assert_string_equal(s->headers[0], "Authorization: Bearer s3cret");
	assert_null(s->headers[1]);
	config_done(&c);
	unsetenv("HF_TEST_TOKEN");
}

static void
both_keys_are_merged_and_a_name_counts_once(void **state)
{
	struct config c = good("mcpServers: {a: {command: x}}\nservers: {b: {command: y}}\n");

	(void)state;
	assert_int_equal(c.server_count, 2);
	config_done(&c);
	assert_refused("mcpServers:\n  a: {command: x}\nservers:\n  a: {command: y}\n",
		       "line 4: servers.a: there is one of this name under mcpServers");
}

static void
disabled_ones_are_only_named(void **state)
{
	struct config c = good("mcpServers:\n  a: {command: x, disabled: true}\n"
			       "  b: {command: x, enabled: false}\n  c: {command: x}\n");

	(void)state;
	assert_int_equal(c.server_count, 1);
	assert_int_equal(c.disabled_count, 2);
	assert_string_equal(c.disabled[0], "a");
	config_done(&c);
}

/* Files of other clients work as they are. */
static void
keys_of_other_clients_are_taken_with_a_word(void **state)
{
	struct config c = good("{\"mcpServers\": {\"a\": {\"command\": \"x\",\n"
			       "\"autoApprove\": [\"y\"], \"type\": \"stdio\",\n"
			       "\"timeout\": 600000}},\n\"globalShortcut\": \"\", \"inputs\": []}");

	(void)state;
	assert_int_equal(c.server_count, 1);
	assert_int_equal(c.warning_count, 4);
	assert_string_equal(c.warnings[0], "line 4: globalShortcut: has no effect here");
	assert_string_equal(c.warnings[1], "line 4: inputs: has no effect here"); /* issue 5 */
	assert_string_equal(c.warnings[2], "line 2: mcpServers.a.autoApprove: has no effect here");
	assert_int_equal(c.servers[0].timeout_ms, 600000); /* some write milliseconds */
	config_done(&c);
}

/* Issue 5: VS Code keeps its files so. */
static void
json_may_have_comments_and_commas_too_many(void **state)
{
	static const char *const texts[] = {
	    "// mine\n/* all\n of it */ {\n\"servers\": { // \"x\": {\n"
	    "\"a\": {\"type\": \"http\", \"url\": \"http://h/*//x\", /* } */},},\n"
	    "\"inputs\": [\"\\\"// \", 2,],// the end\n}// never ends",
	    "{servers: {a: {url: http://h/*//x, }}, # don't \" worry\n'inputs': ['it''s // no "
	    "comment', \" // \"]}",
	};
	static const char *const warnings[] = {"line 6: inputs: has no effect here",
					       "line 2: inputs: has no effect here"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct config c = good(texts[i]);
		assert_int_equal(c.server_count, 1);
		assert_string_equal(c.servers[0].url, "http://h/*//x");
		assert_int_equal(c.warning_count, 1);
		assert_string_equal(c.warnings[0], warnings[i]);
		config_done(&c);
	}
}

/* Issue 5: 60000 was meant to be a minute. */
static void
a_timeout_of_more_than_an_hour_is_told(void **state)
{
	struct config c = good("mcpServers:\n  a:\n    command: x\n    timeout: 60000\n"
			       "    max_timeout: 3600\n    startup_timeout: 3601\n"
			       "    idle_stop: 7200\n");

	(void)state;
	assert_int_equal(c.servers[0].timeout_ms, 60000000);
	assert_int_equal(c.warning_count, 2);
	assert_string_equal(c.warnings[0], "line 4: mcpServers.a.timeout: more than an hour; it is "
					   "in seconds here, some clients write milliseconds");
	assert_non_null(strstr(c.warnings[1], "mcpServers.a.startup_timeout"));
	config_done(&c);
}

static void
a_variable_that_is_missing_disables_one_server_and_names_the_field(void **state)
{
	(void)state;
	unsetenv("HF_TEST_NONE");
	assert_problem("mcpServers:\n  a:\n    command: x\n    env: {TOKEN: '${HF_TEST_NONE}'}\n",
		       "env.TOKEN: the variable HF_TEST_NONE is not set");
	assert_problem("mcpServers: {a: {command: x, args: [b, '-${env:HF_TEST_NONE}']}}",
		       "args[1]: the variable HF_TEST_NONE is not set");
	assert_problem("mcpServers: {a: {url: '${HF_TEST_NONE}'}}",
		       "url: the variable HF_TEST_NONE is not set");
	assert_problem("mcpServers: {a: {url: 'http://x', headers: {A: '${HF_TEST_NONE}'}}}",
		       "headers.A: the variable HF_TEST_NONE is not set");
	assert_problem("servers: {a: {command: '${input:prog}'}}",
		       "command: ${input:prog}: nobody is asked for inputs here; use a variable");
	/* What stands behind it may be a secret. */
	assert_problem("mcpServers: {a: {command: x, env: {K: '${not a name:-s3cret}'}}}",
		       "env.K: ${not a name}: not known here; there are ${VAR}, ${VAR:-default}, "
		       "${env:VAR}, ${workspaceFolder}, ${userHome}");
	assert_problem("mcpServers: {a: {command: '${HF_TEST'}}", "command: a ${ is not closed");
	assert_problem("mcpServers: {a: {command: x, envFile: /nowhere/at/all}}",
		       "envFile: the file: No such file or directory");
	assert_problem("mcpServers: {a: {command: x, envFile: /dev/zero}}",
		       "envFile: the file: no regular file");
}

static void
there_may_be_no_workspace(void **state)
{
	struct config c;
	struct err e;

	(void)state;
	assert_int_equal(load_in("mcpServers: {a: {command: x, cwd: '${workspaceFolder}'}}", NULL,
				 &c, &e),
			 0);
	assert_null(c.workspace);
	assert_true(str_starts(c.servers[0].problem, S("cwd: ${workspaceFolder}: there is no")));
	config_done(&c);
	assert_int_equal(
	    load_in("workspace: /a/b\nmcpServers: {a: {command: '${workspaceFolder}'}}", NULL, &c,
		    &e),
	    0);
	assert_string_equal(c.workspace, "/a/b");
	assert_string_equal(c.servers[0].argv[0], "/a/b");
	config_done(&c);
}

/* A value that was filled in is in no sentence. */
static void
secrets_are_not_repeated(void **state)
{
	struct config c;
	struct err e = ERR_NONE;

	(void)state;
	setenv("HF_TEST_TOKEN", "s3cret\n", 1);
	c = good("mcpServers: {a: {url: 'http://x', headers: {A: '${HF_TEST_TOKEN}'}}}");
	assert_str(c.servers[0].problem, "headers.A: has a control character in it");
	config_done(&c);
	assert_int_equal(load_in("mcpServers: {a: {command: x, env: {A: [s3cret]}}}", NULL, &c, &e),
			 E_CONFIG);
	assert_null(strstr(e.text, "s3cret"));
	assert_non_null(strstr(e.text, "mcpServers.a.env.A"));
	config_done(&c);
	unsetenv("HF_TEST_TOKEN");
}

/* Issue 5: what must not be in the log is known by where it came from. */
static void
values_that_were_filled_in_are_secrets(void **state)
{
	(void)state;
	setenv("HF_TEST_TOKEN", "s3cret-1\nline-2\nx\n", 1);
	struct config c =
	    good("mcpServers: {a: {command: x, args: ['-t', 'is ${HF_TEST_TOKEN}', "
		 "'${HOME}', '${workspaceFolderBasename:-}'], env: {API_KEY: literal, "
		 "MODE: production, B: '${NONE:-otherwise}', C: '${HF_TEST_TOKEN}'}}}");
	static const char *const expected[] = {"s3cret-1", "line-2", "otherwise", "literal"};
	const char *const *at = c.servers[0].secrets;
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		size_t n = 0;
		for (size_t k = 0; at[k]; k++)
			n += strcmp(at[k], expected[i]) == 0;
		if (n != 1)
			fail_msg("%s: %zu times", expected[i], n);
	}
	assert_null(at[ARRAY_LEN(expected)]);
	config_done(&c);
	unsetenv("HF_TEST_TOKEN");
}

static void
the_environment_is_built_not_inherited(void **state)
{
	(void)state;
	setenv("HF_TEST_TOKEN", "s3cret", 1);
	setenv("XDG_HF_TEST", "yes", 1);
	setenv("XDG_HF_TEST_KEY", "no", 1);
	setenv("LC_HF_TEST", "yes", 1);
	struct config c = good("mcpServers: {a: {command: x, env: {LC_HF_TEST: mine}}}");
	const struct upstream_spec *s = &c.servers[0];
	assert_null(env_of(s, "HF_TEST_TOKEN"));
	assert_null(env_of(s, "XDG_HF_TEST_KEY"));
	assert_string_equal(env_of(s, "XDG_HF_TEST"), "yes");
	assert_string_equal(env_of(s, "LC_HF_TEST"), "mine");
	assert_non_null(env_of(s, "PATH"));
	assert_non_null(env_of(s, "HOME"));
	config_done(&c);
	unsetenv("HF_TEST_TOKEN");
	unsetenv("XDG_HF_TEST");
	unsetenv("XDG_HF_TEST_KEY");
	unsetenv("LC_HF_TEST");
}

static void
a_file_of_variables_is_read(void **state)
{
	struct file f = file_of("# one\nA=1\nexport B = two words # not this\nC='x # y'\n"
				"D=\"a\\nb\"\n\nE=\nA2=x#y\n");
	char text[256];

	(void)state;
	snprintf(text, sizeof(text), "mcpServers: {a: {command: x, envFile: %s, env: {A: 9}}}",
		 f.path);
	struct config c = good(text);
	const struct upstream_spec *s = &c.servers[0];
	assert_string_equal(env_of(s, "A"), "9");
	assert_string_equal(env_of(s, "B"), "two words");
	assert_string_equal(env_of(s, "C"), "x # y");
	assert_string_equal(env_of(s, "D"), "a\nb");
	assert_string_equal(env_of(s, "E"), "");
	assert_string_equal(env_of(s, "A2"), "x#y");
	config_done(&c);
	unlink(f.path);
}

static void
mistakes_are_told_with_line_and_key(void **state)
{
	static const struct {
		const char *text, *said;
	} wrong[] = {
	    {"mcpServers:\n  a:\n    comand: x\n",
	     "line 3: mcpServers.a.comand: unknown property; did you mean command?"},
	    {"mcpServers:\n  a:\n    args: [x]\n",
	     "line 2: mcpServers.a: needs a command or a url"},
	    {"mcpServers:\n  a: {command: x, url: y}\n", "line 2: mcpServers.a: has a command and"},
	    {"mcpServers:\n  a: {type: http, command: x}\n", "line 2: mcpServers.a: needs a url"},
	    {"mcpServers:\n  a:\n    command: x\n    timeout: 0\n",
	     "line 4: mcpServers.a.timeout: must be greater than 0, got 0"},
	    {"mcpServers:\n  a:\n    command: x\n    args:\n      - 1\n",
	     "line 5: mcpServers.a.args[0]: must be a string"},
	    {"mcpServers:\n  a:\n    command: x\n    confirm: maybe\n",
	     "line 4: mcpServers.a.confirm: must be one of"},
	    {"mcpServers:\n  builtin: {command: x}\n",
	     "line 2: mcpServers.builtin: the built-in tools have this name"},
	    {"mcpServers: [a]\n", "line 1: mcpServers: must be"},
	    {"mcpServer: {}\n", "line 1: mcpServer: there is no such setting; did you mean "
				"'mcpServers'?"},
	    {"workspace: x\n", "line 1: workspace: must begin with '/' or '~/'"},
	    {"workspace: 3\n", "line 1: workspace: must be a string"},
	    {"retention_days: 0\n", "line 1: retention_days: must be a whole number"},
	    {"results: {max: 1}\n", "line 1: results.max: there is no such key"},
	    {"tool_confirmation:\n  default: {WRITE: maybe}\n",
	     "line 2: tool_confirmation.default.WRITE: 'maybe' is not one of"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_refused(wrong[i].text, wrong[i].said);
}

/* Every key of the table stands in the schema, with a description. */
static void
the_schema_knows_every_setting(void **state)
{
	static const char *const keys[] = {
#define KEY(name, sentence) #name,
#include "../../../tbl/config.def"
#undef KEY
	};
	struct json_doc *doc;
	struct err e;

	(void)state;
	assert_int_equal(json_parse(config_schema(), &json_door, &doc, &e), 0);
	const struct json *properties = json_get(json_root(doc), S("properties"));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_true(
		    json_str(json_get(json_get(properties, str_of(keys[i])), S("description")))
			.len > 0);
	json_doc_unref(doc);
}

static void
texts_are_filled_in(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: a problem */
	} rows[] = {
	    {"plain", "plain"},
	    {"costs $5", "costs $5"},
	    {"${HF_A}", "a"},
	    {"x${HF_A}y${HF_A}", "xaya"},
	    {"${HF_EMPTY}", ""},
	    {"${HF_EMPTY:-d}", "d"},
	    {"${HF_NONE:-}", ""},
	    {"${HF_NONE:-a:-b}", "a:-b"},
	    {"${env:HF_A}", "a"},
	    {"${env:HF_NONE:-d}", "d"},
	    {"${userHome}${/}x", "/home/ann/x"},
	    {"${workspaceFolderBasename}", "space"},
	    {"$${HF_A}", "$a"},
	    {"${HF_NONE}", NULL},
	    {"${}", NULL},
	    {"${1}", NULL},
	    {"${config:x}", NULL},
	    {"${HF_A", NULL},
	};
	struct vars v = {.workspace = WORKSPACE, .home = "/home/ann"};

	(void)state;
	setenv("HF_A", "a", 1);
	setenv("HF_EMPTY", "", 1);
	unsetenv("HF_NONE");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf out = BUF_INIT(256), problem = BUF_INIT(512);
		assert_int_equal(vars_fill(&v, str_of(rows[i].text), &out, &problem),
				 rows[i].want != NULL);
		assert_int_equal(problem.len == 0, rows[i].want != NULL);
		if (rows[i].want)
			assert_str(buf_str(&out), rows[i].want);
		buf_done(&out);
		buf_done(&problem);
	}
}

static void
no_file_is_the_defaults(void **state)
{
	struct config c;
	struct err e;

	(void)state;
	setenv("XDG_CONFIG_HOME", "/nowhere/at/all", 1);
	assert_int_equal(config_load(&(struct config_source){0}, &c, &e), 0);
	assert_int_equal(c.server_count, 0);
	assert_string_equal(c.digest, "");
	config_done(&c);
	assert_int_equal(config_load(&(struct config_source){.path = "/nowhere/x"}, &c, &e),
			 E_CONFIG);
	config_done(&c);
	unsetenv("XDG_CONFIG_HOME");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_server_has_everything_the_file_says),
	    cmocka_unit_test(what_is_not_said_is_the_default),
	    cmocka_unit_test(prefix_can_be_none),
	    cmocka_unit_test(a_server_elsewhere_has_its_headers),
	    cmocka_unit_test(both_keys_are_merged_and_a_name_counts_once),
	    cmocka_unit_test(disabled_ones_are_only_named),
	    cmocka_unit_test(keys_of_other_clients_are_taken_with_a_word),
	    cmocka_unit_test(json_may_have_comments_and_commas_too_many),
	    cmocka_unit_test(a_timeout_of_more_than_an_hour_is_told),
	    cmocka_unit_test(a_variable_that_is_missing_disables_one_server_and_names_the_field),
	    cmocka_unit_test(there_may_be_no_workspace),
	    cmocka_unit_test(secrets_are_not_repeated),
	    cmocka_unit_test(the_environment_is_built_not_inherited),
	    cmocka_unit_test(a_file_of_variables_is_read),
	    cmocka_unit_test(mistakes_are_told_with_line_and_key),
	    cmocka_unit_test(the_schema_knows_every_setting),
	    cmocka_unit_test(values_that_were_filled_in_are_secrets),
	    cmocka_unit_test(texts_are_filled_in),
	    cmocka_unit_test(no_file_is_the_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
