/* test_path.c - every tool has a path, and paths lead where the document says. */

#include "unit.h"

#include <stdio.h>

#include "catalog/path.h"
#include "vectors.h"

/* A tree of "ns:name" tools. */
struct wood {
	struct path_tree tree;
	struct path_leaf *leaves;
	struct buf *texts;
	size_t count;
};

static int
compare(const void *a, const void *b)
{
	return path_leaf_cmp(*(const struct path_leaf *const *)a,
			     *(const struct path_leaf *const *)b);
}

static struct wood
wood_of(const char *const *ids, size_t count)
{
	struct wood w = {.count = count};

	w.leaves = calloc(count + 1, sizeof(*w.leaves));
	w.texts = calloc(2 * count + 1, sizeof(*w.texts));
	w.tree = (struct path_tree){calloc(count + 1, sizeof(*w.tree.leaves)), count};
	for (size_t i = 0; i < count; i++) {
		struct str id = str_of(ids[i]), ns = str_upto(id, (size_t)str_index(id, ':'));
		struct buf *segment = &w.texts[2 * i], *key = &w.texts[2 * i + 1];
		buf_init(segment, 1000);
		buf_init(key, 1000);
		path_segment(segment, ns, str_from(id, ns.len + 1));
		path_key(key, ns, buf_str(segment));
		w.leaves[i] = (struct path_leaf){id, buf_str(key), buf_str(segment)};
		w.tree.leaves[i] = &w.leaves[i];
	}
	qsort(w.tree.leaves, count, sizeof(*w.tree.leaves), compare);
	return w;
}

static void
wood_done(struct wood *w)
{
	for (size_t i = 0; i < 2 * w->count; i++)
		buf_done(&w->texts[i]);
	free(w->texts);
	free(w->leaves);
	free(w->tree.leaves);
}

/* What a path lists: ids, and groups as "/key words*count", with blanks between; or the error. */
static struct buf
listed(const struct wood *w, const char *path)
{
	struct buf out = BUF_INIT(64 * KIB);
	struct path_node n;
	struct err e = ERR_NONE;

	if (path_find(&w->tree, str_of(path), &n, &e) < 0) {
		buf_addz(&out, err_row(e.code)->gateway);
		return out;
	}
	for (struct path_child c = {.to = n.from}; path_next(&w->tree, &n, &c);) {
		buf_addz(&out, out.len ? ", " : "");
		if (c.tool)
			buf_add(&out, c.tool->id);
		else
			buf_addf(&out, "<%.*s>%zu", STR_ARG(c.key), c.to - c.from);
	}
	return out;
}

static void
check(const struct wood *w, const char *path, const char *expected)
{
	struct buf got = listed(w, path);

	if (!str_is(buf_str(&got), expected))
		fail_msg("%s: %s, not %s", path, buf_z(&got), expected);
	buf_done(&got);
}

static void
agrees_with_the_gateways_grammar(void **state)
{
	char path[512];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_path.json", path);
	struct json_doc *doc = vectors(path);
	assert_true(json_len(json_root(doc)) > 0);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		bool ok = json_bool(json_get(it.value, S("ok")));
		struct err e = ERR_NONE;
		int rc = path_check(text_of(it.value, "path"), &e);
		if (rc != (ok ? 0 : E_BAD_PATH))
			fail_msg("%.*s: %s", STR_ARG(text_of(it.value, "path")), e.text);
		if (!ok)
			assert_true(str_is(text_of(it.value, "code"), err_row(rc)->gateway));
	}
	json_doc_unref(doc);
}

static void
malformed_paths_are_told_from_missing_ones(void **state)
{
	static const char *const bad[] = {"",       "a",    "//",   "/a/",  "/a//b",  "/*/a",
					  "/a/*/b", "/A",   "/a/B", "/a b", "/a/b?c", "/0",
					  "/_",     "/a/_", "/a/.", "/a\n", "/a/*x",  "/a/\x80",
					  "/a/é",   " /a",  "/a/**"};
	char wide[80] = "/a/";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(path_check(str_of(bad[i]), NULL), E_BAD_PATH);
	assert_int_equal(path_check(S("/a\0b"), NULL), E_BAD_PATH);
	assert_int_equal(path_check(S("/*"), NULL), 0);
	memset(wide + 3, 'b', 65);
	assert_int_equal(path_check(str_of(wide), NULL), E_BAD_PATH);
	wide[3 + 64] = '\0';
	assert_int_equal(path_check(str_of(wide), NULL), 0);
}

static const char *const few[] = {
    "github:create_issue",      "github:list_issues", "github:get_pull_request",
    "slack:slack_send_message", "mcp:audit.Export",   "mcp:auditQuery",
};

/* The examples of section 3.3, in a catalog that is too small for the origin to have a tree. */
static void
every_catalog_has_namespaces_groups_and_tools(void **state)
{
	struct wood w = wood_of(few, ARRAY_LEN(few));

	(void)state;
	check(&w, "/", "<github>3, <mcp>2, <slack>1");
	check(&w, "/*", "<github>3, <mcp>2, <slack>1");
	check(&w, "/github", "github:create_issue, github:list_issues, github:get_pull_request");
	check(&w, "/github/*", "github:create_issue, github:list_issues, github:get_pull_request");
	check(&w, "/github/issues", "github:create_issue, github:list_issues");
	check(&w, "/github/issue", "github:create_issue, github:list_issues");
	check(&w, "/github/issues/*", "github:create_issue, github:list_issues");
	check(&w, "/github/issues/create_issue", "github:create_issue");
	check(&w, "/github/create_issue", "github:create_issue");
	check(&w, "/github/create_issue/*", "github:create_issue");
	check(&w, "/slack/slack_send_message", "slack:slack_send_message");
	check(&w, "/slack/send_message", "slack:slack_send_message");
	check(&w, "/github/nothing", "PATH_NOT_FOUND");
	check(&w, "/github/create_issue/more", "PATH_NOT_FOUND");
	check(&w, "/github/pull/create_issue", "PATH_NOT_FOUND");
	check(&w, "/git", "PATH_NOT_FOUND");
	check(&w, "/GitHub", "PATH_INVALID");
	wood_done(&w);
}

static void
names_with_dots_and_capitals_can_be_reached(void **state)
{
	struct wood w = wood_of(few, ARRAY_LEN(few));

	(void)state;
	check(&w, "/mcp/audit_export", "mcp:audit.Export");
	check(&w, "/mcp/audit-export", "mcp:audit.Export");
	check(&w, "/mcp/audit/audit_query", "mcp:auditQuery");
	check(&w, "/mcp/audit", "mcp:audit.Export, mcp:auditQuery");
	wood_done(&w);
}

static void
an_empty_catalog_has_a_root(void **state)
{
	struct wood w = wood_of(NULL, 0);

	(void)state;
	check(&w, "/", "");
	check(&w, "/a", "PATH_NOT_FOUND");
	wood_done(&w);
}

static void
a_tool_named_like_a_group_is_where_lists_show_it(void **state)
{
	static const char *const ids[] = {"a:issue", "a:create_issue", "a:issue_Label",
					  "a:issue-label"};
	struct wood w = wood_of(ids, ARRAY_LEN(ids));

	(void)state;
	check(&w, "/a/issue", "a:issue");
	check(&w, "/a/issues", "a:issue, a:create_issue, a:issue-label, a:issue_Label");
	check(&w, "/a/issue_label", "a:issue-label, a:issue_Label"); /* one segment, both tools */
	wood_done(&w);
}

/* 60 tools: five things with eleven tools each, a verb alone, and four others. */
static void
many_tools_are_listed_in_groups(void **state)
{
	static const char *const things[] = {"issue", "pull_request", "branch", "repository",
					     "release"};
	static const char *const verbs[] = {"create", "delete", "get", "list",   "update", "close",
					    "open",   "lock",   "pin", "search", "archive"};
	char names[60][64];
	const char *ids[60];
	size_t count = 0;
	struct wood w;

	(void)state;
	for (size_t t = 0; t < ARRAY_LEN(things); t++)
		for (size_t v = 0; v < ARRAY_LEN(verbs); v++)
			snprintf(names[count++], 64, "gh:%s_%s", verbs[v], things[t]);
	snprintf(names[count++], 64, "gh:list_issues");
	snprintf(names[count++], 64, "gh:list_branches");
	snprintf(names[count++], 64, "gh:search");
	snprintf(names[count++], 64, "gh:whoami");
	snprintf(names[count++], 64, "gh:merge_queue_status");
	for (size_t i = 0; i < count; i++)
		ids[i] = names[i];
	w = wood_of(ids, count);
	check(&w, "/", "<gh>60");
	check(&w, "/gh",
	      "<gh branch>12, <gh issue>12, <gh pull>11, gh:merge_queue_status, <gh release>11, "
	      "<gh repository>11, gh:search, gh:whoami");
	check(&w, "/gh/pull/request/create_pull_request", "gh:create_pull_request");
	check(&w, "/gh/repositories/get_repository", "gh:get_repository");
	check(&w, "/gh/get_repository", "gh:get_repository");
	check(&w, "/gh/branches/list", "gh:list_branch, gh:list_branches");
	check(&w, "/gh/search", "gh:search");
	wood_done(&w);
}

/* A namespace where all tools share a word is grouped by the next one. */
static void
a_word_that_all_share_makes_no_group(void **state)
{
	char names[120][32];
	const char *ids[120];
	struct wood w;

	(void)state;
	for (size_t i = 0; i < 120; i++) {
		snprintf(names[i], 32, "a:job_%c_n%zu", "xy"[i % 2], i);
		ids[i] = names[i];
	}
	w = wood_of(ids, 120);
	check(&w, "/a", "<a job x>60, <a job y>60");
	struct buf x = listed(&w, "/a/x"), jobs = listed(&w, "/a/jobs/x");
	assert_true(str_starts(buf_str(&x), S("a:job_x_n0, a:job_x_n10")));
	assert_true(str_eq(buf_str(&x), buf_str(&jobs)));
	buf_done(&x);
	buf_done(&jobs);
	wood_done(&w);
}

static void
long_and_empty_names_have_segments(void **state)
{
	char name[2][128];
	struct buf segment[2] = {BUF_INIT(1000), BUF_INIT(1000)}, again = BUF_INIT(1000);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; j < sizeof(name[i]); j++)
			name[i][j] = "get_"[j % 4];
		name[i][127] = (char)('x' + i);
		path_segment(&segment[i], S("ns"), (struct str){name[i], 128});
		assert_in_range(segment[i].len, 50, PATH_SEGMENT);
	}
	assert_false(str_eq(buf_str(&segment[0]), buf_str(&segment[1])));
	path_segment(&again, S("ns"), buf_str(&segment[0]));
	assert_true(str_eq(buf_str(&again), buf_str(&segment[0])));
	buf_reset(&again);
	path_segment(&again, S("ns"), S("_._"));
	assert_string_equal(buf_z(&again), "tool");
	buf_done(&segment[0]);
	buf_done(&segment[1]);
	buf_done(&again);
}

/* From the root down every list, every tool is met once; and is at its own path. */
static size_t
walk(const struct wood *w, const struct path_node *n, bool *met, unsigned depth)
{
	size_t tools = 0;

	assert_true(depth < 100);
	for (struct path_child c = {.to = n->from}; path_next(&w->tree, n, &c);) {
		if (c.tool) {
			size_t i = (size_t)(c.tool - w->leaves);
			assert_false(met[i]);
			met[i] = true;
			tools++;
			continue;
		}
		char path[512] = "/";
		struct path_node inner;
		struct err e = ERR_NONE;
		snprintf(path + 1, sizeof(path) - 1, "%.*s", STR_ARG(c.key));
		for (char *p = path; *p; p++)
			*p = *p == ' ' ? '/' : *p;
		if (path_find(&w->tree, str_of(path), &inner, &e) < 0)
			fail_msg("%s: %s", path, e.text);
		assert_int_equal(inner.from, c.from);
		assert_int_equal(inner.to, c.to);
		tools += walk(w, &inner, met, depth + 1);
	}
	return tools;
}

static void
every_tool_is_listed_once_and_found(void **state)
{
	enum { COUNT = 3000 };
	static const char *const words[] = {"get",   "List",   "issues", "issue",  "HTTP",
					    "v2",    "branch", "Es",     "x",      "user",
					    "users", "bus",    "1",      "status", "search"};
	static const char *const joints[] = {"_", ".", "-", ""};
	char(*names)[64] = calloc(COUNT, sizeof(*names));
	const char **ids = calloc(COUNT, sizeof(*ids));
	bool *met = calloc(COUNT, sizeof(*met));
	uint64_t seed = 9;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		size_t len = (size_t)snprintf(names[i], 64, "%s:_",
					      next_random(&seed) % 9 ? "big" : "small");
		for (size_t n = 1 + next_random(&seed) % 4; n > 0; n--)
			len += (size_t)snprintf(names[i] + len, 64 - len, "%s%s",
						joints[next_random(&seed) % 4],
						words[next_random(&seed) % ARRAY_LEN(words)]);
		ids[i] = names[i];
	}
	struct wood w = wood_of(ids, COUNT);
	struct path_node root;
	assert_int_equal(path_find(&w.tree, S("/"), &root, NULL), 0);
	assert_int_equal(walk(&w, &root, met, 0), COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		char path[200];
		struct path_node n;
		bool found = false;
		struct str ns = str_upto(w.leaves[i].id, (size_t)str_index(w.leaves[i].id, ':'));
		snprintf(path, sizeof(path), "/%.*s/%.*s", STR_ARG(ns),
			 STR_ARG(w.leaves[i].segment));
		assert_int_equal(path_find(&w.tree, str_of(path), &n, NULL), 0);
		for (size_t j = n.from; j < n.to; j++)
			found = found || w.tree.leaves[j] == &w.leaves[i];
		assert_true(found);
	}
	wood_done(&w);
	free(names);
	free(ids);
	free(met);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(agrees_with_the_gateways_grammar),
	    cmocka_unit_test(malformed_paths_are_told_from_missing_ones),
	    cmocka_unit_test(every_catalog_has_namespaces_groups_and_tools),
	    cmocka_unit_test(names_with_dots_and_capitals_can_be_reached),
	    cmocka_unit_test(an_empty_catalog_has_a_root),
	    cmocka_unit_test(a_tool_named_like_a_group_is_where_lists_show_it),
	    cmocka_unit_test(many_tools_are_listed_in_groups),
	    cmocka_unit_test(a_word_that_all_share_makes_no_group),
	    cmocka_unit_test(long_and_empty_names_have_segments),
	    cmocka_unit_test(every_tool_is_listed_once_and_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
