/* test_mcp_offer.c - resources and prompts of several servers: one list, and each one's owner. */

#include "mcp_world.h"

#define ABOUT(capabilities)                                                                        \
	"\"version\":1,\"of\":\"\",\"seen\":true,\"about\":{\"protocol\":\"2025-11-25\","          \
	"\"server\":{\"name\":\"s\",\"version\":\"1\"},\"capabilities\":" capabilities             \
	",\"instructions\":\"Be kind.\"},\"shelf\":{\"tools\":[],\"pins\":[],\"gone\":[]}"
#define EVERYTHING "{\"resources\":{\"subscribe\":true},\"prompts\":{},\"completions\":{}}"

static const struct {
	const char *name, *known;
} servers[] = {
    {"alpha",
     "{\"name\":\"alpha\"," ABOUT(
	 EVERYTHING) ",\"resources\":["
		     "{\"uri\":\"x://both\",\"name\":\"A\",\"x-more\":[1]},{\"uri\":\"x://"
		     "a\",\"name\":\"a\"},"
		     "{\"name\":\"without\"}],"
		     "\"templates\":[{\"uriTemplate\":\"x://{id}\",\"name\":\"any\"}],"
		     "\"prompts\":[{\"name\":\"greet\",\"arguments\":[]},{\"name\":\"odd one\"}]}"},
    {"beta", "{\"name\":\"beta\"," ABOUT(
		 EVERYTHING) ",\"resources\":["
			     "{\"uri\":\"x://both\",\"name\":\"B\"}],"
			     "\"templates\":[{\"uriTemplate\":\"x://deep/{id}\",\"name\":\"deep\"},"
			     "{\"uriTemplate\":\"x://b{id}\",\"name\":\"near\"}],"
			     "\"prompts\":[{\"name\":\"greet\",\"title\":\"Greet\"}]}"},
    {"poor",
     "{\"name\":\"poor\"," ABOUT(
	 "{\"tools\":{}}") ",\"resources\":["
			   "{\"uri\":\"x://"
			   "poor\",\"name\":\"never\"}],\"prompts\":[{\"name\":\"never\"}]}"},
};

struct scene {
	struct world *world;
	struct upstreams *was, *us;
	bool over;
};

static void
write_known(const char *dir, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.json", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* What is known of them is on disk; none of them is ever started. */
static struct scene
scene_new(void)
{
	static const char *const argv[] = {"/nonexistent/server", NULL}, *const env[] = {NULL};
	struct upstream_spec specs[ARRAY_LEN(servers) + 1] = {0};
	struct scene at = {.world = world_new(NULL)};
	char dir[128];
	struct err e;

	snprintf(dir, sizeof(dir), "%s/known", at.world->dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
		write_known(dir, servers[i].name, servers[i].known);
		specs[i] = (struct upstream_spec){.name = str_of(servers[i].name),
						  .argv = argv,
						  .env = env};
	}
	/* Of this one nothing is known, and nothing will be. */
	specs[ARRAY_LEN(servers)] =
	    (struct upstream_spec){.name = S("unknown"), .argv = argv, .env = env};
	struct upstreams_spec spec = {.loop = at.world->hf->loop, .dir = dir};
	if (upstreams_new(&spec, &at.us, &e) < 0 ||
	    upstreams_set(at.us, specs, ARRAY_LEN(specs), &e) < 0)
		fail_msg("%s", err_text(&e));
	at.was = at.world->hf->gw.upstreams;
	at.world->hf->gw.upstreams = at.us;
	return at;
}

static void
stopped(void *arg)
{
	*(bool *)arg = true;
}

static void
scene_free(struct scene *at)
{
	upstreams_stop(at->us, stopped, &at->over);
	UNTIL(at->world, at->over);
	at->world->hf->gw.upstreams = at->was;
	upstreams_free(at->us);
	world_free(at->world);
}

static struct str
owner(const struct peer *p, const char *uri)
{
	struct upstream *u = mcp_upstream_of_uri(&p->client, str_of(uri));

	return u ? upstream_name(u) : S("nobody");
}

static void
resources_of_all_are_listed_once(void **state)
{
	struct scene at = scene_new();
	struct peer *p = peer_new(at.world, "gateway", MCP_2026_07_28);

	(void)state;
	const struct json *list = json_get(peer_ask(p, "resources/list", ""), S("resources"));
	assert_string_equal(names_of(list, "uri"), "x://a x://both");
	assert_member(json_at(list, 1), "name", "A");
	assert_int_equal(json_len(json_get(json_at(list, 1), S("x-more"))), 1);
	list = json_get(peer_ask(p, "resources/templates/list", ""), S("resourceTemplates"));
	assert_string_equal(names_of(list, "uriTemplate"), "x://b{id} x://deep/{id} x://{id}");
	assert_non_null(strstr(at.world->log, "two servers claim one name"));
	peer_free(p);
	scene_free(&at);
}

static void
a_resource_belongs_to_one_server(void **state)
{
	struct scene at = scene_new();
	struct peer *p = peer_new(at.world, "all", MCP_2025_11_25);

	(void)state;
	assert_true(str_is(owner(p, "x://both"), "alpha"));
	assert_true(str_is(owner(p, "x://whatever"), "alpha"));
	assert_true(str_is(owner(p, "x://bee"), "beta"));
	assert_true(str_is(owner(p, "x://deep/7"), "beta"));
	assert_true(str_is(owner(p, "x://deep/7/8"), "nobody"));
	assert_true(str_is(owner(p, "y://a"), "nobody"));
	assert_true(str_is(owner(p, ""), "nobody"));
	p->client.surface = (struct mcp_surface){.kind = SURFACE_SERVER, .server = "beta"};
	assert_true(str_is(owner(p, "x://both"), "beta"));
	assert_true(str_is(owner(p, "y://a"), "beta"));
	strcpy(p->client.surface.server, "poor");
	assert_true(str_is(owner(p, "x://poor"), "nobody"));
	strcpy(p->client.surface.server, "builtin");
	assert_true(str_is(owner(p, "x://a"), "nobody"));
	peer_free(p);
	scene_free(&at);
}

static void
a_resource_nobody_has_is_told_as_the_era_does(void **state)
{
	struct scene at = scene_new();
	struct peer *old = peer_new(at.world, "gateway", MCP_2025_11_25);
	struct peer *modern = peer_new(at.world, "gateway", MCP_2026_07_28);

	(void)state;
	const struct json *error = peer_ask(old, "resources/read", "\"uri\":\"no://where\"");
	assert_int_equal(code_of(error), RPC_LEGACY_NO_RESOURCE);
	error = peer_ask(modern, "resources/read", "\"uri\":\"no://where\"");
	assert_int_equal(code_of(error), RPC_PARAMS);
	assert_member(json_get(error, S("data")), "uri", "no://where");
	assert_int_equal(modern->status, 200);
	assert_int_equal(code_of(peer_ask(modern, "resources/read", "\"uri\":3")), RPC_PARAMS);
	peer_free(old);
	peer_free(modern);
	scene_free(&at);
}

static void
prompts_say_whose_they_are(void **state)
{
	struct scene at = scene_new();
	struct peer *p = peer_new(at.world, "all", MCP_2025_11_25);
	struct str plain;

	(void)state;
	const struct json *list = json_get(peer_ask(p, "prompts/list", ""), S("prompts"));
	assert_int_equal(json_len(list), 3);
	assert_member(json_at(list, 0), "name", "alpha__greet");
	assert_member(json_at(list, 2), "name", "beta__greet");
	assert_member(json_at(list, 2), "title", "Greet");
	struct str odd = json_str(json_get(json_at(list, 1), S("name")));
	assert_true(str_starts(odd, S("alpha__odd_one")));
	struct upstream *u = mcp_upstream_of_prompt(&p->client, odd, &plain);
	assert_true(str_is(upstream_name(u), "alpha") && str_is(plain, "odd one"));
	u = mcp_upstream_of_prompt(&p->client, S("beta__greet"), &plain);
	assert_true(str_is(upstream_name(u), "beta") && str_is(plain, "greet"));
	assert_null(mcp_upstream_of_prompt(&p->client, S("greet"), &plain));
	assert_null(mcp_upstream_of_prompt(&p->client, S("poor__never"), &plain));
	assert_int_equal(code_of(peer_ask(p, "prompts/get", "\"name\":\"greet\"")), RPC_PARAMS);

	p->client.surface = (struct mcp_surface){.kind = SURFACE_SERVER, .server = "beta"};
	list = json_get(peer_ask(p, "prompts/list", ""), S("prompts"));
	assert_string_equal(names_of(list, "name"), "greet");
	peer_free(p);
	scene_free(&at);
}

static void
what_cannot_be_completed(void **state)
{
	struct scene at = scene_new();
	struct peer *p = peer_new(at.world, "all", MCP_2025_11_25);

	(void)state;
	static const char *const bad[] = {
	    "\"ref\":{\"type\":\"ref/other\"}",
	    "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"nobody__has\"}",
	    "\"ref\":{\"type\":\"ref/prompt\"}",
	    "\"argument\":{}",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(code_of(peer_ask(p, "completion/complete", bad[i])), RPC_PARAMS);
	assert_int_equal(code_of(peer_ask(p, "completion/complete",
					  "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"y://\"}")),
			 RPC_LEGACY_NO_RESOURCE);
	peer_free(p);
	scene_free(&at);
}

static const char *
about(const struct peer *p)
{
	static char text[4096];
	struct buf b = BUF_INIT(sizeof(text) - 1);
	struct jw w = jw(&b);

	jw_object(&w);
	mcp_write_capabilities(&w, &p->client, ERA_LEGACY);
	mcp_write_instructions(&w, &p->client);
	jw_end(&w);
	snprintf(text, sizeof(text), "%s", buf_z(&b));
	buf_done(&b);
	return text;
}

static void
a_surface_says_what_it_has(void **state)
{
	struct scene at = scene_new();
	struct peer *p = peer_new(at.world, "gateway", MCP_2025_11_25);

	(void)state;
	assert_true(
	    str_starts(str_of(about(p)),
		       S("{\"capabilities\":{\"tools\":{}," /* the same three, for good */
			 "\"resources\":{\"subscribe\":true,\"listChanged\":true},"
			 "\"prompts\":{\"listChanged\":true},\"completions\":{},\"logging\":{}},"
			 "\"instructions\":\"")));
	p->client.surface = (struct mcp_surface){.kind = SURFACE_SERVER, .server = "alpha"};
	assert_string_equal(about(p), "{\"capabilities\":{\"tools\":{\"listChanged\":true},"
				      "\"resources\":{\"subscribe\":true,\"listChanged\":true},"
				      "\"prompts\":{\"listChanged\":true},\"completions\":{}},"
				      "\"instructions\":\"Be kind.\"}");
	strcpy(p->client.surface.server, "poor");
	assert_true(str_starts(str_of(about(p)),
			       S("{\"capabilities\":{\"tools\":{\"listChanged\":true}},")));
	strcpy(p->client.surface.server, "builtin");
	assert_true(str_starts(str_of(about(p)),
			       S("{\"capabilities\":{\"tools\":{\"listChanged\":true}},")));
	peer_free(p);
	scene_free(&at);
}

static void
a_server_can_be_a_surface(void **state)
{
	struct scene at = scene_new();
	struct mcp_surface s;
	struct err e;

	(void)state;
	assert_int_equal(mcp_surface_parse(at.world->hf->front, S("beta"), &s, &e), 0);
	assert_int_equal(s.kind, SURFACE_SERVER);
	assert_string_equal(s.server, "beta");
	assert_int_equal(mcp_surface_parse(at.world->hf->front, S("gamma"), &s, &e), E_NO_ROUTE);
	assert_non_null(strstr(e.text, "builtin, alpha, beta, poor, unknown"));
	scene_free(&at);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(resources_of_all_are_listed_once),
	    cmocka_unit_test(a_resource_belongs_to_one_server),
	    cmocka_unit_test(a_resource_nobody_has_is_told_as_the_era_does),
	    cmocka_unit_test(prompts_say_whose_they_are),
	    cmocka_unit_test(what_cannot_be_completed),
	    cmocka_unit_test(a_surface_says_what_it_has),
	    cmocka_unit_test(a_server_can_be_a_surface),
	};
	return cmocka_run_group_tests_name("mcp_offer", tests, NULL, NULL);
}
