/* test_tenant.c - who there is, what each may use, and what is left of it after a restart. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tenant/tenant.h"

static struct loop *loop;
static struct store *store;
static struct tenants *all;
static char path[] = "/tmp/holdfast-tenants-XXXXXX";

static int
open_all(void)
{
	struct err e;

	assert_int_equal(store_open(loop, path, &store, &e), 0);
	return tenants_new(store, &all, &e);
}

static int
setup(void **state)
{
	struct err e;

	(void)state;
	strcpy(path + strlen(path) - 6, "XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(loop_new(&loop, &e), 0);
	assert_int_equal(open_all(), 0);
	return 0;
}

static void
close_all(void)
{
	tenants_free(all);
	store_free(store);
	all = NULL;
	store = NULL;
}

static int
teardown(void **state)
{
	char side[64];

	(void)state;
	close_all();
	loop_free(loop);
	unlink(path);
	snprintf(side, sizeof(side), "%s-wal", path), unlink(side);
	snprintf(side, sizeof(side), "%s-shm", path), unlink(side);
	return 0;
}

/* As the gateway would after it was ended and started again. */
static void
restart(void)
{
	close_all();
	assert_int_equal(open_all(), 0);
}

static struct agent *
named(const char *tenant, const char *agent)
{
	struct agent *a = NULL;
	struct err e;

	return agent_named(all, str_of(tenant), str_of(agent), &a, &e) == 0 ? a : NULL;
}

static enum tier
tier(struct agent *a, const char *name, const char *tenant)
{
	struct tool t = {.name = str_of(name), .tenant = str_of(tenant)};

	return agent_tier(a, &t);
}

static int
say(struct agent *a, const char *tool, bool enabled, const char *overrides)
{
	struct json_doc *doc = NULL;
	struct activation *made;
	struct err e;

	if (overrides)
		assert_int_equal(json_parse(str_of(overrides), &json_door, &doc, &e), 0);
	struct activation_says says = {str_of(tool), enabled, doc ? json_root(doc) : NULL};
	int code = activation_put(all, a, &says, &made, &e);
	json_doc_unref(doc);
	return code;
}

static void
one_person_has_everything(void **state)
{
	struct agent *a = named(NULL, NULL);

	(void)state;
	assert_non_null(a);
	assert_true(agent_is_default(a) && agent_is_default(NULL));
	assert_true(tenants_plain(all));
	assert_int_equal(tier(a, "anything", NULL), TIER_AGENT);
	assert_int_equal(tier(NULL, "anything", NULL), TIER_AGENT);
	assert_int_equal(tier(NULL, "theirs", "acme"), TIER_CATALOG);
	assert_false(agent_lacks(a));
	assert_int_equal(agent_standing(a, &(struct tool){.name = S("x")})->requires_confirmation,
			 -1);
}

static void
nobody_is_taken_for_somebody_else(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(tenant_add(all, S("acme"), NULL, &e), 0);
	assert_int_equal(agent_add(all, tenant_find(all, S("acme")), S("support"), &e), 0);
	struct agent *a = named("acme", "support");
	assert_non_null(a);
	assert_ptr_equal(named(NULL, "acme/support"), a);
	assert_ptr_equal(named(NULL, "acme:support"), a);
	assert_ptr_equal(named(NULL, a->id.text), a);
	assert_ptr_equal(named(a->tenant->id.text, "support"), a);
	assert_null(named(NULL, "support"));
	assert_null(named("acme", "nobody"));
	assert_null(named("nobody", "support"));
	assert_null(named("default", "acme/support"));
	assert_null(named(NULL, "acme/"));
	assert_null(named(NULL, "/support"));
	assert_non_null(named("acme", NULL));
	assert_ptr_not_equal(named("acme", NULL), named(NULL, NULL));
}

static void
names_that_mean_a_place_are_none(void **state)
{
	static const char *const wrong[] = {"", ".", "..", "a/b", ".hidden", "-x", "a b", "a:b"};
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(tenant_add(all, str_of(wrong[i]), NULL, &e), E_VALIDATION);
	assert_int_equal(tenant_add(all, S("A.b_c-9"), NULL, &e), 0);
	assert_int_equal(tenant_add(all, S("A.b_c-9"), NULL, &e), E_EXISTS);
}

static void
a_name_is_more_than_a_pattern(void **state)
{
	struct agent *a = named(NULL, NULL);

	(void)state;
	assert_int_equal(say(a, "github__*", false, NULL), 0);
	assert_int_equal(say(a, "github__create_*", true, NULL), 0);
	assert_int_equal(say(a, "github__create_repo", false, NULL), 0);
	assert_int_equal(tier(a, "github__delete_repo", NULL), TIER_TENANT);
	assert_int_equal(tier(a, "github__create_issue", NULL), TIER_AGENT);
	assert_int_equal(tier(a, "github__create_repo", NULL), TIER_TENANT);
	assert_int_equal(tier(a, "shell", NULL), TIER_AGENT);
	assert_true(agent_lacks(a));
	assert_false(agent_has_server(a, S("github")));
	assert_true(agent_has_server(a, S("slack")));
	/* What was found is found again after a change. */
	assert_int_equal(activation_drop(all, a, S("github__*")), 0);
	assert_int_equal(tier(a, "github__delete_repo", NULL), TIER_AGENT);
	assert_int_equal(activation_drop(all, a, S("github__*")), E_NOT_FOUND);
}

static void
what_was_said_is_there_after_a_restart(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(tenant_add(all, S("acme"), NULL, &e), 0);
	assert_int_equal(agent_add(all, tenant_find(all, S("acme")), S("support"), &e), 0);
	assert_int_equal(say(named("acme", "support"), "shell", false,
			     "{\"requires_confirmation\":true,\"more\":1}"),
			 0);
	struct uuid id = named("acme", "support")->activations[0]->id;
	restart();
	struct agent *a = named("acme", "support");
	assert_non_null(a);
	assert_int_equal(tier(a, "shell", NULL), TIER_TENANT);
	assert_int_equal(tier(named("acme", NULL), "shell", NULL), TIER_AGENT);
	assert_string_equal(a->activations[0]->id.text, id.text);
	assert_string_equal(a->activations[0]->overrides,
			    "{\"requires_confirmation\":true,\"more\":1}");
	/* Enabled again, what else was said stays. */
	assert_int_equal(say(a, "shell", true, NULL), 0);
	struct tool shell = {.name = S("shell")};
	assert_int_equal(agent_standing(a, &shell)->requires_confirmation, 1);
	assert_int_equal(tenant_remove(all, S("acme"), &e), 0);
	restart();
	assert_null(named("acme", "support"));
}

static void
what_is_no_override_is_refused(void **state)
{
	struct agent *a = named(NULL, NULL);

	(void)state;
	assert_int_equal(say(a, "shell", true, "[]"), E_VALIDATION);
	assert_int_equal(say(a, "shell", true, "{\"requires_confirmation\":1}"), E_VALIDATION);
	assert_int_equal(say(a, "shell", true, "{\"confirmation_prompt\":1}"), E_VALIDATION);
	assert_int_equal(say(a, "no tool", true, NULL), E_VALIDATION);
	assert_int_equal(say(a, "", true, NULL), E_VALIDATION);
	assert_int_equal(a->activation_count, 0);
}

static void
a_tenant_has_what_its_patterns_name_and_its_own(void **state)
{
	struct json_doc *doc;
	struct err e;

	(void)state;
	assert_int_equal(json_parse(S("[\"read_*\"]"), &json_door, &doc, &e), 0);
	assert_int_equal(tenant_add(all, S("acme"), json_root(doc), &e), 0);
	json_doc_unref(doc);
	struct agent *a = named("acme", NULL);
	assert_int_equal(tier(a, "read_file", NULL), TIER_AGENT);
	assert_int_equal(tier(a, "shell", NULL), TIER_CATALOG);
	assert_int_equal(tier(a, "invoice", "acme"), TIER_AGENT);
	assert_int_equal(tier(a, "invoice", "other"), TIER_CATALOG);
	assert_int_equal(tier(named(NULL, NULL), "invoice", "acme"), TIER_CATALOG);
	restart();
	assert_int_equal(tier(named("acme", NULL), "shell", NULL), TIER_CATALOG);
}

/* {"acme": {"disabled": [...], "agents": {"support": {"disabled": [...]}}}} */
static int
configure(const char *disabled)
{
	struct json_doc *doc;
	struct err e;

	if (!disabled) {
		int none = tenants_configure(all, NULL, 0, &e);
		tenants_drop_unsaid(all);
		return none;
	}
	assert_int_equal(json_parse(str_of(disabled), &json_door, &doc, &e), 0);
	struct agent_says agent = {S("support"), json_root(doc)};
	struct tenant_says says = {.name = S("acme"), .agents = &agent, .agent_count = 1};
	int code = tenants_configure(all, &says, 1, &e);
	json_doc_unref(doc);
	return code;
}

static void
what_the_configuration_disables_stays_so(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(configure("[\"shell\"]"), 0);
	struct agent *a = named("acme", "support");
	assert_int_equal(tier(a, "shell", NULL), TIER_TENANT);
	assert_int_equal(say(a, "shell", true, NULL), E_FORBIDDEN);
	assert_int_equal(agent_remove(all, a, &e), E_FORBIDDEN);
	assert_int_equal(tenant_remove(all, S("acme"), &e), E_FORBIDDEN);
	assert_int_equal(say(a, "read_file", false, NULL), 0);

	/* It goes with the file, and what people said of it comes back with it. */
	struct agent *held = agent_ref(a);
	assert_int_equal(configure(NULL), 0);
	assert_true(held->gone);
	assert_int_equal(tier(held, "read_file", NULL), TIER_CATALOG);
	agent_unref(held);
	assert_null(named("acme", "support"));
	assert_int_equal(configure("[]"), 0);
	a = named("acme", "support");
	assert_int_equal(tier(a, "shell", NULL), TIER_AGENT);
	assert_int_equal(tier(a, "read_file", NULL), TIER_TENANT);
	assert_int_equal(configure("[]"), 0);
	assert_int_equal(named("acme", "support")->activation_count, 1);
}

/* A tenant of the store, which the file names, too. */
static int
configure_tools(const char *tools)
{
	struct json_doc *doc = NULL;
	struct err e;

	if (tools)
		assert_int_equal(json_parse(str_of(tools), &json_door, &doc, &e), 0);
	struct tenant_says says = {.name = S("acme"), .tools = doc ? json_root(doc) : NULL};
	int code = tenants_configure(all, &says, 1, &e);
	json_doc_unref(doc);
	return code;
}

static void
test_7_a_file_that_says_no_tools_leaves_those_of_the_store(void **state)
{
	struct json_doc *doc;
	struct err e;

	(void)state;
	assert_int_equal(json_parse(S("[\"read_file\"]"), &json_door, &doc, &e), 0);
	assert_int_equal(tenant_add(all, S("acme"), json_root(doc), &e), 0);
	json_doc_unref(doc);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(configure_tools(NULL), 0);
		assert_int_equal(tier(named("acme", NULL), "read_file", NULL), TIER_AGENT);
		assert_int_equal(tier(named("acme", NULL), "shell", NULL), TIER_CATALOG);
	}
	/* What the file says goes before it, as long as it does. */
	assert_int_equal(configure_tools("[\"shell\"]"), 0);
	assert_int_equal(tier(named("acme", NULL), "shell", NULL), TIER_AGENT);
	assert_int_equal(tier(named("acme", NULL), "read_file", NULL), TIER_CATALOG);
	assert_int_equal(configure_tools(NULL), 0);
	assert_int_equal(tier(named("acme", NULL), "shell", NULL), TIER_CATALOG);
	assert_int_equal(configure_tools("[\"shell\"]"), 0);
	assert_int_equal(configure(NULL), 0);
	assert_int_equal(tier(named("acme", NULL), "read_file", NULL), TIER_AGENT);
	assert_int_equal(tier(named("acme", NULL), "shell", NULL), TIER_CATALOG);
}

static void
test_7_an_agent_with_all_it_can_have_lets_the_file_be_read_again(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(tenant_add(all, S("acme"), NULL, &e), 0);
	struct agent *a = named("acme", NULL);
	assert_false(a->fresh); /* nothing of it is still to be loaded */
	for (int i = 0; i < LIMIT_ACTIVATIONS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "tool_%d", i);
		assert_int_equal(say(a, name, false, NULL), 0);
	}
	assert_int_equal(configure("[]"), 0);
	a->fresh = true; /* and if something were, it would come instead of what is there */
	assert_int_equal(configure("[]"), 0);
	assert_int_equal(a->activation_count, LIMIT_ACTIVATIONS);
}

/* By its name and by its UUID, in either order. */
static void
test_7_a_file_says_nobody_twice(void **state)
{
	struct json_doc *doc;
	struct err e;

	(void)state;
	assert_int_equal(json_parse(S("[\"shell\"]"), &json_door, &doc, &e), 0);
	const struct json *shell = json_root(doc);
	struct uuid acme = uuid_of(S("tenant"), S("acme"), (struct str){NULL, 0});
	struct uuid bot = uuid_of(S("agent"), S("acme"), S("bot"));
	for (int i = 0; i < 4; i++) {
		struct agent_says agents[] = {{S("bot"), shell}, {uuid_str(&bot), NULL}};
		struct tenant_says says[] = {
		    {.name = S("acme"), .disabled = shell, .agents = agents, .agent_count = 2},
		    {.name = uuid_str(&acme)}};
		if (i % 2) {
			agents[0].name = uuid_str(&bot), agents[1].name = S("bot");
			says[0].name = uuid_str(&acme), says[1].name = S("acme");
		}
		if (i < 2) {
			says[0].agent_count = 0;
			assert_int_equal(tenants_configure(all, says, 2, &e), E_CONFIG);
		} else {
			says[0].name = S("acme");
			assert_int_equal(tenants_configure(all, says, 1, &e), E_CONFIG);
		}
		assert_int_equal(configure(NULL), 0);
	}
	/* Once by either is fine. */
	assert_int_equal(tenant_add(all, S("acme"), NULL, &e), 0);
	struct tenant_says once = {.name = uuid_str(&acme), .disabled = shell};
	assert_int_equal(tenants_configure(all, &once, 1, &e), 0);
	assert_int_equal(tier(named("acme", NULL), "shell", NULL), TIER_TENANT);
	json_doc_unref(doc);
}

/* A configuration that comes to nothing further on: sessions have their agents as before. */
static void
test_7_agents_are_there_until_a_file_is_in_force(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(configure("[\"shell\"]"), 0);
	struct agent *a = named("acme", "support"), *held = agent_ref(a);
	assert_int_equal(tenants_configure(all, NULL, 0, &e), 0);
	assert_false(tenant_stays(a->tenant));
	assert_int_equal(configure("[\"shell\"]"), 0);
	tenants_drop_unsaid(all);
	assert_false(held->gone);
	assert_ptr_equal(named("acme", "support"), held);
	assert_int_equal(tier(held, "shell", NULL), TIER_TENANT);
	assert_int_equal(tier(held, "read_file", NULL), TIER_AGENT);
	agent_unref(held);
}

static void
the_default_ones_stay(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(tenant_remove(all, S("default"), &e), E_FORBIDDEN);
	assert_int_equal(agent_remove(all, named(NULL, NULL), &e), E_FORBIDDEN);
	assert_int_equal(tenant_remove(all, S("nobody"), &e), E_NO_TENANT);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(one_person_has_everything),
	    TEST(nobody_is_taken_for_somebody_else),
	    TEST(names_that_mean_a_place_are_none),
	    TEST(a_name_is_more_than_a_pattern),
	    TEST(what_was_said_is_there_after_a_restart),
	    TEST(what_is_no_override_is_refused),
	    TEST(a_tenant_has_what_its_patterns_name_and_its_own),
	    TEST(what_the_configuration_disables_stays_so),
	    TEST(test_7_a_file_that_says_no_tools_leaves_those_of_the_store),
	    TEST(test_7_an_agent_with_all_it_can_have_lets_the_file_be_read_again),
	    TEST(test_7_a_file_says_nobody_twice),
	    TEST(test_7_agents_are_there_until_a_file_is_in_force),
	    TEST(the_default_ones_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
