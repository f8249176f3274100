/* test_catalog.c - tools are found by name and always stand in the same order. */

#include "unit.h"

#include <stdio.h>

#include "catalog/catalog.h"

static struct tool *
tool_named(const char *name)
{
	struct tool *t = NULL;
	struct err e;
	char card[256];

	snprintf(card, sizeof(card),
		 "{\"name\": \"%s\", \"description\": \"d\", \"capability\": \"none\", "
		 "\"reversibility\": \"pure\", \"input_schema\": {\"type\": \"object\"}}",
		 name);
	assert_int_equal(tool_new(str_of(card), &t, &e), 0);
	return t;
}

static int
add(struct catalog *c, const char *name, struct err *e)
{
	struct tool *t = tool_named(name);
	int rc = catalog_add(c, t, e);

	tool_unref(t);
	return rc;
}

static void
names_stand_in_order_however_they_came(void **state)
{
	static const char *const names[] = {"m", "b", "z", "a", "B", "mm"};
	static const char *const sorted[] = {"B", "a", "b", "m", "mm", "z"};
	struct catalog *c = catalog_new(10);
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(add(c, names[i], &e), 0);
	assert_int_equal(catalog_count(c), ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(sorted); i++)
		assert_true(str_is(catalog_at(c, i)->name, sorted[i]));
	catalog_free(c);
}

/* Required test 2 of the dispatcher's document. */
static void
a_second_tool_of_one_name_is_refused_by_name(void **state)
{
	struct catalog *c = catalog_new(10);
	struct err e;

	(void)state;
	assert_int_equal(add(c, "twin", &e), 0);
	assert_int_equal(add(c, "twin", &e), E_EXISTS);
	assert_string_equal(e.text, "twin: there is a tool of this name already");
	assert_int_equal(catalog_count(c), 1);
	catalog_free(c);
}

static void
more_than_the_maximum_is_refused(void **state)
{
	struct catalog *c = catalog_new(1);
	struct err e;

	(void)state;
	assert_int_equal(add(c, "a", &e), 0);
	assert_int_equal(add(c, "b", &e), E_LIMIT);
	assert_int_equal(catalog_count(c), 1);
	catalog_free(c);
}

static void
a_removed_tool_is_gone_but_holders_keep_it(void **state)
{
	struct catalog *c = catalog_new(10);
	struct err e;

	(void)state;
	for (const char *name = "abc"; *name; name++)
		assert_int_equal(add(c, (char[]){*name, 0}, &e), 0);
	struct tool *held = tool_ref(catalog_find(c, S("b")));
	uint64_t changes = catalog_version(c);
	assert_int_equal(add(c, "a", &e), E_EXISTS);
	assert_true(catalog_version(c) == changes);
	assert_int_equal(catalog_remove(c, S("b")), 0);
	assert_true(catalog_version(c) != changes);
	assert_int_equal(catalog_remove(c, S("b")), E_NOT_FOUND);
	assert_null(catalog_find(c, S("b")));
	assert_int_equal(catalog_count(c), 2);
	assert_true(str_is(catalog_at(c, 1)->name, "c"));
	assert_true(str_is(held->name, "b"));
	assert_int_equal(add(c, "b", &e), 0); /* a new one of that name */
	assert_ptr_not_equal(catalog_find(c, S("b")), held);
	tool_unref(held);
	catalog_free(c);
}

static void
a_near_name_is_suggested_and_a_far_one_is_not(void **state)
{
	static const struct {
		const char *asked, *near;
	} cases[] = {
	    {"readfile", "read_file"},
	    {"ReadFile", "read_file"},
	    {"raed_file", "read_file"},
	    {"write-file", "write_file"},
	    {"shel", "shell"},
	    {"ls", NULL},
	    {"", NULL},
	    {"something_else", NULL},
	};
	struct catalog *c = catalog_new(10);
	struct err e;

	(void)state;
	assert_null(catalog_near(c, S("shell")));
	add(c, "read_file", &e), add(c, "write_file", &e), add(c, "shell", &e);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct tool *t = catalog_near(c, str_of(cases[i].asked));
		if (cases[i].near)
			assert_true(t && str_is(t->name, cases[i].near));
		else
			assert_null(t);
	}
	char longest[200];
	memset(longest, 'a', sizeof(longest));
	assert_null(catalog_near(c, (struct str){longest, sizeof(longest)}));
	catalog_free(c);
}

static void
a_tool_is_found_by_its_id_too(void **state)
{
	struct catalog *c = catalog_new(10);
	struct err e;

	(void)state;
	add(c, "read_file", &e);
	const struct tool *t = catalog_find(c, S("read_file"));
	assert_true(str_starts(t->id, S("builtin:read_file#")));
	assert_ptr_equal(catalog_find(c, t->id), t);
	catalog_free(c);
}

static void
check_shelf(struct catalog *c, const char *names)
{
	struct shelf *s;
	struct buf got = BUF_INIT(1024);

	assert_int_equal(catalog_shelf(c, &s, NULL), 0);
	for (size_t i = 0; i < shelf_count(s); i++)
		buf_add(&got, shelf_at(s, i)->card.name);
	assert_string_equal(buf_z(&got), names);
	buf_done(&got);
}

/* The shelf follows, whatever came and went between two looks; an old one stays as it was. */
static void
the_shelf_has_what_there_is(void **state)
{
	struct catalog *c = catalog_new(100);
	struct shelf *old, *same;
	struct err e;

	(void)state;
	check_shelf(c, "");
	add(c, "b", &e), add(c, "a", &e);
	check_shelf(c, "ab");
	assert_int_equal(catalog_shelf(c, &old, &e), 0);
	assert_int_equal(catalog_shelf(c, &same, &e), 0);
	assert_ptr_equal(old, same);
	shelf_ref(old);
	add(c, "d", &e), add(c, "c", &e);
	catalog_remove(c, S("d"));
	catalog_remove(c, S("a"));
	check_shelf(c, "bc");
	catalog_remove(c, S("b")), add(c, "b", &e); /* another one, the same id */
	check_shelf(c, "bc");
	for (char name[2] = "e"; *name <= 'z'; ++*name)
		add(c, name, &e);
	for (char name[2] = "e"; *name < 'y'; ++*name)
		catalog_remove(c, str_of(name));
	check_shelf(c, "bcyz");
	catalog_remove(c, S("b")), catalog_remove(c, S("c")), catalog_remove(c, S("y"));
	check_shelf(c, "z");
	assert_int_equal(shelf_count(old), 2);
	shelf_unref(old);
	catalog_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_stand_in_order_however_they_came),
	    cmocka_unit_test(a_second_tool_of_one_name_is_refused_by_name),
	    cmocka_unit_test(more_than_the_maximum_is_refused),
	    cmocka_unit_test(a_removed_tool_is_gone_but_holders_keep_it),
	    cmocka_unit_test(a_tool_is_found_by_its_id_too),
	    cmocka_unit_test(the_shelf_has_what_there_is),
	    cmocka_unit_test(a_near_name_is_suggested_and_a_far_one_is_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
