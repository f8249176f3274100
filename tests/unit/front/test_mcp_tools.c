/* test_mcp_tools.c - what each surface lists and runs, and how it says no. */

#include "mcp_world.h"

#define SCHEMA                                                                                     \
	"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}"
#define CARD(name)                                                                                 \
	"{\"name\":\"" name "\",\"description\":\"Tell a number.\",\"capability\":\"none\","       \
	"\"reversibility\":\"pure\",\"input_schema\":" SCHEMA "}"

static int
tell_input(void *instance, struct hf_job *job)
{
	(void)instance;
	hf_job_text(job, hf_job_input(job), strlen(hf_job_input(job)));
	return 0;
}

static int
tell_and_fail(void *instance, struct hf_job *job)
{
	(void)instance;
	hf_job_text(job, "half of it", 10);
	return hf_job_fail(job, "it did not work");
}

static const struct hf_tool strict = {.run = tell_input},
			    tolerant = {.run = tell_input, .repair_arguments = true},
			    failing = {.run = tell_and_fail};

/* A tool as a server has it; nobody runs it. */
static struct tool *
add_tool(struct world *w, const char *server, const char *name, const char *definition)
{
	struct json_doc *doc;
	struct tool *t;
	struct err e;

	assert_int_equal(json_parse(str_of(definition), &json_door, &doc, &e), 0);
	struct tool_origin from = {.server = str_of(server),
				   .ns = str_of(server),
				   .name = str_of(name),
				   .definition = json_root(doc),
				   .doc = doc};
	if (tool_adopt(&from, &t, &e) < 0 || catalog_add(w->hf->catalog, t, &e) < 0)
		fail_msg("%s", err_text(&e));
	json_doc_unref(doc);
	tool_unref(t);
	return t;
}

static struct world *
new_world(void)
{
	struct world *w = world_new(NULL);

	assert_int_equal(hf_register(w->hf, CARD("count"), &strict, NULL), 0);
	assert_int_equal(hf_register(w->hf, CARD("mild"), &tolerant, NULL), 0);
	assert_int_equal(hf_register(w->hf, CARD("broken"), &failing, NULL), 0);
	return w;
}

static const struct json *
list_tools(struct peer *p, const char *params)
{
	return json_get(peer_ask(p, "tools/list", params), S("tools"));
}

static const struct json *
tool_named(const struct json *list, const char *name)
{
	for (struct json_iter it = json_iter(list); json_next(&it);)
		if (str_is(json_str(json_get(it.value, S("name"))), name))
			return it.value;
	fail_msg("%s is not listed", name);
	return NULL;
}

static void
assert_hints(const struct json *tool, bool reads)
{
	const struct json *hints = json_get(tool, S("annotations"));

	assert_int_equal(json_bool(json_get(hints, S("readOnlyHint"))), reads);
	assert_int_equal(json_bool(json_get(hints, S("destructiveHint"))), !reads);
	assert_int_equal(json_bool(json_get(hints, S("idempotentHint"))), reads);
	assert_int_equal(json_bool(json_get(hints, S("openWorldHint"))), !reads);
}

static void
the_gateway_lists_three_tools_whatever_there_is(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "gateway", MCP_2025_11_25);

	(void)state;
	const struct json *list = list_tools(p, "");
	assert_string_equal(names_of(list, "name"), "tool_browse tool_execute tool_view");
	assert_hints(tool_named(list, "tool_browse"), true);
	assert_hints(tool_named(list, "tool_execute"), false);
	assert_hints(tool_named(list, "tool_view"), true);
	assert_true(contains(json_str(json_get(tool_named(list, "tool_browse"), S("description"))),
			     "verb object product, one capability per query"));
	const struct tool *view = catalog_find(w->hf->catalog, S("tool_view"));
	assert_true(json_equal(json_get(tool_named(list, "tool_view"), S("inputSchema")),
			       view->input_schema));
	peer_free(p);
	world_free(w);
}

static void
the_proxy_shows_names_and_hides_schemas(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "proxy", MCP_2026_07_28);

	(void)state;
	add_tool(w, "git", "tool_execute", "{\"name\":\"tool_execute\"}");
	add_tool(w, "git", "git__wide",
		 "{\"name\":\"wide\",\"description\":\"One. Two.\",\"inputSchema\":" SCHEMA "}");
	const struct json *list = list_tools(p, "");
	assert_true(str_starts(str_of(names_of(list, "name")),
			       S("tool_execute tool_hydrate broken count git__wide")));
	assert_hints(tool_named(list, "tool_hydrate"), true);
	const struct json *t = tool_named(list, "git__wide");
	assert_int_equal(json_len(t), 4);
	assert_member(t, "description", "One. Two.");
	assert_int_equal(json_len(json_get(t, S("inputSchema"))), 1);
	assert_member(json_get(t, S("inputSchema")), "type", "object");
	assert_true(str_starts(json_str(json_get(json_get(t, S("_meta")), S(META_TOOL_ID))),
			       S("git:wide#")));
	peer_free(p);
	world_free(w);
}

static void
a_long_description_is_cut_as_on_a_card(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "proxy", MCP_2025_11_25);
	struct buf b = BUF_INIT(64 * KIB);

	(void)state;
	buf_addz(&b, "{\"name\":\"long\",\"inputSchema\":{\"type\":\"object\"},\"description\":\"");
	for (int i = 0; i < 200; i++)
		buf_addf(&b, "Sentence %d. ", i);
	buf_addz(&b, "\"}");
	add_tool(w, "git", "git__long", buf_z(&b));
	struct str said =
	    json_str(json_get(tool_named(list_tools(p, ""), "git__long"), S("description")));
	assert_true(said.len > 20 && said.len < 300);
	assert_true(str_ends(said, S(".")));
	buf_done(&b);
	peer_free(p);
	world_free(w);
}

static void
all_has_every_tool_with_its_schema(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "all", MCP_2025_11_25);

	(void)state;
	add_tool(w, "git", "git__log",
		 "{\"name\":\"log\",\"title\":\"Log\",\"x-odd\":[1.0,12345678901234567890123],"
		 "\"inputSchema\":{\"type\":\"object\",\"$defs\":{\"a\":{}}},\"_meta\":{\"k\":1}}");
	const struct json *list = list_tools(p, "");
	const struct json *t = tool_named(list, "git__log");
	assert_non_null(json_pointer(t, S("/inputSchema/$defs/a")));
	assert_non_null(json_pointer(t, S("/_meta/k")));
	assert_true(contains(buf_str(&p->text), "\"x-odd\":[1.0,12345678901234567890123]"));
	assert_true(json_str(json_get(t, S("description"))).len > 0);
	assert_non_null(json_pointer(tool_named(list, "count"), S("/inputSchema/properties/n")));
	assert_non_null(json_pointer(tool_named(list, "count"), S("/annotations/readOnlyHint")));

	struct buf once = buf_take(&p->text);
	list_tools(p, "");
	assert_true(str_eq(buf_str(&once), buf_str(&p->text)));
	buf_done(&once);
	peer_free(p);
	world_free(w);
}

static void
a_definition_is_fit_for_the_era_that_asks(void **state)
{
	static const char odd[] =
	    "{\"name\":\"odd\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},"
	    "\"outputSchema\":{\"type\":\"array\"},\"execution\":{\"taskSupport\":\"optional\"}}";
	struct world *w = new_world();
	struct peer *old = peer_new(w, "all", MCP_2025_11_25);
	struct peer *modern = peer_new(w, "all", MCP_2026_07_28);

	(void)state;
	add_tool(w, "git", "git__odd", odd);
	const struct json *t = tool_named(list_tools(old, ""), "git__odd");
	assert_null(json_get(t, S("outputSchema")));
	assert_non_null(json_get(t, S("execution")));
	t = tool_named(list_tools(modern, ""), "git__odd");
	assert_non_null(json_get(t, S("outputSchema")));
	assert_null(json_get(t, S("execution")));
	peer_free(old);
	peer_free(modern);
	world_free(w);
}

static void
a_changed_tool_is_listed_as_that(void **state)
{
	static const char *const surfaces[] = {"all", "proxy"};
	struct world *w = new_world();
	struct tool *t = add_tool(w, "git", "git__log",
				  "{\"name\":\"log\",\"_meta\":{\"k\":1,\"" META_CHANGED
				  "\":false},\"execution\":{}}");

	(void)state;
	t->changed = true;
	for (size_t i = 0; i < ARRAY_LEN(surfaces); i++) {
		struct peer *p = peer_new(w, surfaces[i], MCP_2026_07_28);
		const struct json *shown = tool_named(list_tools(p, ""), "git__log");
		const struct json *meta = json_get(shown, S("_meta"));
		assert_true(json_bool(json_get(meta, S(META_CHANGED))));
		assert_null(json_get(shown, S("execution")));
		assert_non_null(json_get(shown, S("inputSchema")));
		assert_non_null(json_get(shown, S("description")));
		if (i == 0)
			assert_non_null(json_get(meta, S("k")));
		peer_free(p);
	}
	world_free(w);
}

static void
pages_go_on_where_the_last_ended(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "all", MCP_2025_11_25);
	char name[32], definition[96], params[4096];
	size_t count = 0, pages = 0;

	(void)state;
	for (int i = 0; i < 2100; i++) {
		snprintf(name, sizeof(name), "x__t%04d", i);
		snprintf(definition, sizeof(definition), "{\"name\":\"t%04d\"}", i);
		add_tool(w, "x", name, definition);
	}
	const struct json *result = peer_ask(p, "tools/list", "\"cursor\":\"\"");
	for (;;) {
		struct str next = json_str(json_get(result, S("nextCursor")));
		count += json_len(json_get(result, S("tools")));
		pages++;
		assert_true(json_len(json_get(result, S("tools"))) <= LIMIT_MCP_PAGE);
		if (!next.ptr)
			break;
		/* Where it ended may be gone by then. */
		struct str last = json_str(
		    json_get(json_at(json_get(result, S("tools")), LIMIT_MCP_PAGE - 1), S("name")));
		assert_int_equal(catalog_remove(w->hf->catalog, last), 0);
		snprintf(params, sizeof(params), "\"cursor\":\"%.*s\"", STR_ARG(next));
		result = peer_ask(p, "tools/list", params);
	}
	assert_int_equal(pages, 3);
	assert_int_equal(count, catalog_count(w->hf->catalog) + 2);
	peer_free(p);
	world_free(w);
}

static void
add_wide_tool(struct world *w, const char *name, size_t bytes)
{
	struct buf b = BUF_INIT(bytes + 256);

	buf_addf(&b, "{\"name\":\"%s\",\"x\":\"", name);
	memset(buf_room(&b, bytes), 'x', bytes);
	b.len += bytes;
	buf_addz(&b, "\"}");
	add_tool(w, "x", name, buf_z(&b));
	buf_done(&b);
}

static void
a_page_ends_before_it_is_too_long_for_a_message(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "all", MCP_2025_11_25);
	char params[1024];

	(void)state;
	add_wide_tool(w, "x__a", LIMIT_MCP_ENTRY + 1); /* would leave no room for others */
	add_wide_tool(w, "x__b", LIMIT_MCP_ENTRY - 256);
	add_wide_tool(w, "x__c", LIMIT_MCP_ENTRY - 256);
	add_wide_tool(w, "x__d", LIMIT_MCP_ENTRY - 256);
	add_wide_tool(w, "x__e", LIMIT_MCP_ENTRY - 256);
	const struct json *result = peer_ask(p, "tools/list", "");
	assert_true(str_ends(str_of(names_of(json_get(result, S("tools")), "name")),
			     S("write_file x__b x__c")) ||
		    str_ends(str_of(names_of(json_get(result, S("tools")), "name")),
			     S("write_file x__b x__c x__d")));
	snprintf(params, sizeof(params), "\"cursor\":\"%.*s\"",
		 STR_ARG(json_str(json_get(result, S("nextCursor")))));
	result = peer_ask(p, "tools/list", params);
	assert_true(str_ends(str_of(names_of(json_get(result, S("tools")), "name")), S("x__e")));
	assert_null(json_get(result, S("nextCursor")));
	peer_free(p);
	world_free(w);
}

static void
a_cursor_that_was_not_given_out_is_refused(void **state)
{
	static const char *const bad[] = {"\"garbage\"", "\"!\"",     "7", "\"dDo=\"",
					  "\"cjp4\"",    "\"dDp4e\"", "{}"};
	struct world *w = new_world();
	struct peer *p = peer_new(w, "all", MCP_2025_11_25);
	char params[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		snprintf(params, sizeof(params), "\"cursor\":%s", bad[i]);
		if (code_of(peer_ask(p, "tools/list", params)) != RPC_PARAMS)
			fail_msg("%s", bad[i]);
	}
	assert_non_null(list_tools(p, "\"cursor\":\"dDpj\"")); /* "t:c" */
	peer_free(p);
	world_free(w);
}

static void
one_server_has_its_own_names(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "builtin", MCP_2025_11_25);

	(void)state;
	add_tool(w, "git", "git__log", "{\"name\":\"log\"}");
	add_tool(w, "git", "odd-name", "{\"name\":\"a b\"}");
	add_tool(w, "hg", "hg__log", "{\"name\":\"log\"}");
	strcpy(p->client.surface.server, "git");
	assert_string_equal(names_of(list_tools(p, ""), "name"), "a b log");
	assert_true(str_is(mcp_tool_of(&p->client, S("log"))->name, "git__log"));
	assert_true(str_is(mcp_tool_of(&p->client, S("a b"))->name, "odd-name"));
	assert_null(mcp_tool_of(&p->client, S("count")));
	assert_null(mcp_tool_of(&p->client, S("git__log")));
	assert_int_equal(code_of(peer_call(p, "count", "{\"n\":1}")), RPC_PARAMS);

	strcpy(p->client.surface.server, "builtin");
	assert_non_null(tool_named(list_tools(p, ""), "read_file"));
	assert_true(str_is(text_of_result(peer_call(p, "count", "{\"n\":1}")), "{\"n\":1}"));
	peer_free(p);
	world_free(w);
}

static void
surfaces_are_known_by_name(void **state)
{
	struct world *w = new_world();
	struct mcp_surface s;
	struct err e;

	(void)state;
	assert_int_equal(mcp_surface_parse(w->hf->front, S("proxy"), &s, &e), 0);
	assert_int_equal(s.kind, SURFACE_PROXY);
	assert_int_equal(mcp_surface_parse(w->hf->front, S("builtin"), &s, &e), 0);
	assert_int_equal(s.kind, SURFACE_SERVER);
	assert_string_equal(s.server, "builtin");
	assert_int_equal(mcp_surface_parse(w->hf->front, S("nowhere"), &s, &e), E_NO_ROUTE);
	assert_non_null(strstr(e.text, "gateway, proxy, all, builtin"));
	assert_int_equal(mcp_surface_parse(w->hf->front, S(""), &s, &e), E_NO_ROUTE);
	world_free(w);
}

/* ---- calls ---- */

static void
assert_refused(const struct json *result, const char *code)
{
	const struct json *object = json_get(result, S("structuredContent"));
	struct json_doc *text;

	assert_true(json_bool(json_get(result, S("isError"))));
	assert_member(object, "error", code);
	assert_true(json_str(json_get(object, S("message"))).len > 0);
	assert_true(json_is(json_get(object, S("path")), JSON_STRING));
	assert_int_equal(json_parse(text_of_result(result), &json_door, &text, NULL), 0);
	assert_true(json_equal(json_root(text), object));
	json_doc_unref(text);
}

static void
browsing_gives_cards_for_eyes_and_programs(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "gateway", MCP_2026_07_28);

	(void)state;
	const struct json *r =
	    peer_call(p, "tool_browse", "{\"query\":\"tell number\",\"top_k\":2}");
	assert_false(json_bool(json_get(r, S("isError"))));
	assert_member(r, "resultType", "complete");
	assert_true(json_len(json_pointer(r, S("/structuredContent/cards"))) <= 2);
	assert_true(str_starts(text_of_result(r), S("[1/")));
	r = peer_call(p, "tool_browse", "{\"path\":\"/\"}");
	assert_member(json_pointer(r, S("/structuredContent/cards/0")), "id", "/builtin");
	peer_call(p, "tool_browse", "{\"path\":\"/builtin\",\"cache_stable\":true}");
	r = peer_call(p, "tool_browse", "{\"query\":\"number\",\"cache_stable\":true}");
	assert_false(json_bool(json_get(r, S("isError"))));
	peer_free(p);
	world_free(w);
}

static void
a_bad_browse_says_what_is_wrong(void **state)
{
	static const struct {
		const char *arguments, *code, *path;
	} rows[] = {
	    {"{}", "ARGS_INVALID", ""},
	    {"null", "ARGS_INVALID", ""},
	    {"\"x\"", "ARGS_INVALID", ""},
	    {"{\"query\":\"x\",\"path\":\"/y\"}", "ARGS_INVALID", "/y"},
	    {"{\"query\":\"\"}", "ARGS_INVALID", ""},
	    {"{\"query\":\"x\",\"top_k\":0}", "ARGS_INVALID", ""},
	    {"{\"query\":\"x\",\"other\":0}", "ARGS_INVALID", ""},
	    {"{\"path\":\"//\"}", "PATH_INVALID", "//"},
	    {"{\"path\":\"/nowhere\"}", "PATH_NOT_FOUND", "/nowhere"},
	};
	struct world *w = new_world();
	struct peer *p = peer_new(w, "gateway", MCP_2025_11_25);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct json *r = peer_call(p, "tool_browse", rows[i].arguments);
		assert_refused(r, rows[i].code);
		assert_member(json_get(r, S("structuredContent")), "path", rows[i].path);
	}
	peer_free(p);
	world_free(w);
}

static void
executing_gives_an_envelope(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "gateway", MCP_2025_11_25);

	(void)state;
	const struct json *r =
	    peer_call(p, "tool_execute", "{\"tool_id\":\"count\",\"args\":{\"n\":4}}");
	assert_false(json_bool(json_get(r, S("isError"))));
	assert_member(json_get(r, S("structuredContent")), "status", "ok");
	assert_member(json_get(r, S("structuredContent")), "summary", "{\"n\":4}");

	/* By its id just as well. */
	struct buf b = BUF_INIT(1024);
	buf_addf(&b, "{\"tool_id\":\"%s\",\"args\":{\"n\":4}}",
		 catalog_find(w->hf->catalog, S("count"))->id.ptr);
	r = peer_call(p, "tool_execute", buf_z(&b));
	assert_member(json_get(r, S("structuredContent")), "status", "ok");
	buf_done(&b);
	peer_free(p);
	world_free(w);
}

static void
what_does_not_fit_is_told_line_by_line(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "gateway", MCP_2025_11_25);

	(void)state;
	const struct json *r =
	    peer_call(p, "tool_execute", "{\"tool_id\":\"count\",\"args\":{\"n\":\"x\"}}");
	assert_refused(r, "ARGS_INVALID");
	const struct json *errors = json_pointer(r, S("/structuredContent/details/errors"));
	assert_int_equal(json_len(errors), 1);
	assert_true(str_is(json_str(json_at(errors, 0)), "/n: must be an integer, got \"x\""));
	assert_tool_events(w, "input_invalid");

	assert_refused(peer_call(p, "tool_execute", "{\"tool_id\":\"count\"}"), "ARGS_INVALID");
	assert_refused(peer_call(p, "tool_execute", "{\"tool_id\":\"count\",\"args\":[]}"),
		       "ARGS_INVALID");
	assert_refused(peer_call(p, "tool_execute", "{\"args\":{}}"), "ARGS_INVALID");
	assert_refused(peer_call(p, "tool_execute", "{\"tool_id\":\"nope\",\"args\":{}}"),
		       "HYDRATE_FAILED");
	assert_refused(peer_call(p, "tool_view", "{}"), "ARGS_INVALID");
	assert_refused(peer_call(p, "tool_view",
				 "{\"handle\":\"art_00000000000000000000000000000000\","
				 "\"selector\":{\"type\":\"head\"}}"),
		       "VIEW_FAILED");
	peer_free(p);
	world_free(w);
}

static void
a_tool_that_fails_is_refused_with_what_it_gave(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "proxy", MCP_2025_11_25);

	(void)state;
	const struct json *r =
	    peer_call(p, "tool_execute", "{\"tool_id\":\"broken\",\"args\":{\"n\":1}}");
	assert_refused(r, "UPSTREAM_ERROR");
	assert_member(json_get(r, S("structuredContent")), "message", "it did not work");
	assert_member(json_at(json_get(r, S("content")), 1), "text", "half of it");
	peer_free(p);
	world_free(w);
}

static void
arguments_in_a_string_are_taken_by_tools_that_repair_them(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "proxy", MCP_2025_11_25);

	(void)state;
	const struct json *r =
	    peer_call(p, "tool_execute", "{\"tool_id\":\"mild\",\"args\":\"{\\\"n\\\":3}\"}");
	assert_true(str_is(text_of_result(r), "{\"n\":3}"));
	assert_non_null(
	    json_get(json_get(json_get(r, S("_meta")), S(META_PROVENANCE)), S("arg_repairs")));
	assert_refused(peer_call(p, "tool_execute", "{\"tool_id\":\"count\",\"args\":\"{}\"}"),
		       "ARGS_INVALID");
	peer_free(p);
	world_free(w);
}

static void
the_proxy_hydrates_and_does_not_run_what_it_lists(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "proxy", MCP_2025_11_25);

	(void)state;
	const struct json *r = peer_call(p, "tool_hydrate", "{\"tool_id\":\"count\"}");
	assert_non_null(json_pointer(r, S("/structuredContent/args_schema/properties/n")));
	assert_refused(peer_call(p, "tool_hydrate", "{\"tool_id\":\"nope\"}"), "HYDRATE_FAILED");
	assert_refused(peer_call(p, "tool_hydrate", "{}"), "ARGS_INVALID");
	r = peer_call(p, "count", "{\"n\":1}");
	assert_refused(r, "ARGS_INVALID");
	assert_true(contains(text_of_result(r), "tool_execute"));
	assert_int_equal(code_of(peer_call(p, "nope", "{}")), RPC_PARAMS);
	assert_int_equal(code_of(peer_call(p, "tool_browse", "{}")), RPC_PARAMS);
	assert_tool_events(w, "");
	peer_free(p);
	world_free(w);
}

static void
the_gateway_runs_nothing_by_its_own_name(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "gateway", MCP_2025_11_25);

	(void)state;
	assert_int_equal(code_of(peer_call(p, "count", "{\"n\":1}")), RPC_PARAMS);
	assert_int_equal(code_of(peer_call(p, "tool_hydrate", "{}")), RPC_PARAMS);
	assert_int_equal(code_of(peer_ask(p, "tools/call", "\"name\":3")), RPC_PARAMS);
	assert_tool_events(w, "");
	peer_free(p);
	world_free(w);
}

static void
all_runs_tools_as_they_are(void **state)
{
	struct world *w = new_world();
	struct peer *p = peer_new(w, "all", MCP_2026_07_28);

	(void)state;
	const struct json *r = peer_call(p, "count", "{\"n\":1}");
	assert_true(str_is(text_of_result(r), "{\"n\":1}"));
	assert_null(json_get(r, S("structuredContent")));
	r = peer_call(p, "count", "{}");
	assert_true(json_bool(json_get(r, S("isError"))));
	assert_true(contains(text_of_result(r), "n: is required") ||
		    contains(text_of_result(r), "n"));
	r = peer_call(p, "broken", "{\"n\":1}");
	assert_true(json_bool(json_get(r, S("isError"))));
	assert_true(str_is(text_of_result(r), "it did not work"));
	r = peer_call(p, "coutn", "{\"n\":1}");
	assert_int_equal(code_of(r), RPC_PARAMS);
	assert_true(contains(json_str(json_get(r, S("message"))), "did you mean 'count'"));
	assert_int_equal(code_of(peer_call(p, "count", "[]")), RPC_PARAMS);
	peer_free(p);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_gateway_lists_three_tools_whatever_there_is),
	    cmocka_unit_test(the_proxy_shows_names_and_hides_schemas),
	    cmocka_unit_test(a_long_description_is_cut_as_on_a_card),
	    cmocka_unit_test(all_has_every_tool_with_its_schema),
	    cmocka_unit_test(a_definition_is_fit_for_the_era_that_asks),
	    cmocka_unit_test(a_changed_tool_is_listed_as_that),
	    cmocka_unit_test(pages_go_on_where_the_last_ended),
	    cmocka_unit_test(a_page_ends_before_it_is_too_long_for_a_message),
	    cmocka_unit_test(a_cursor_that_was_not_given_out_is_refused),
	    cmocka_unit_test(one_server_has_its_own_names),
	    cmocka_unit_test(surfaces_are_known_by_name),
	    cmocka_unit_test(browsing_gives_cards_for_eyes_and_programs),
	    cmocka_unit_test(a_bad_browse_says_what_is_wrong),
	    cmocka_unit_test(executing_gives_an_envelope),
	    cmocka_unit_test(what_does_not_fit_is_told_line_by_line),
	    cmocka_unit_test(a_tool_that_fails_is_refused_with_what_it_gave),
	    cmocka_unit_test(arguments_in_a_string_are_taken_by_tools_that_repair_them),
	    cmocka_unit_test(the_proxy_hydrates_and_does_not_run_what_it_lists),
	    cmocka_unit_test(the_gateway_runs_nothing_by_its_own_name),
	    cmocka_unit_test(all_runs_tools_as_they_are),
	};
	return cmocka_run_group_tests_name("mcp_tools", tests, NULL, NULL);
}
