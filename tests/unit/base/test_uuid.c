/* test_uuid.c - ids by chance, ids of names, and what is one. */

#include "unit.h"

#include "base/uuid.h"

static void
chance_never_repeats_and_is_version_4(void **state)
{
	struct uuid a = uuid_new(), b = uuid_new(), again;

	(void)state;
	assert_string_not_equal(a.text, b.text);
	assert_int_equal(a.text[14], '4');
	assert_non_null(strchr("89ab", a.text[19]));
	assert_true(uuid_read(uuid_str(&a), &again));
	assert_string_equal(a.text, again.text);
}

static void
names_have_one_id_each(void **state)
{
	struct str none = {NULL, 0};
	struct uuid a = uuid_of(S("agent"), S("acme"), S("support"));
	struct uuid same = uuid_of(S("agent"), S("acme"), S("support"));
	struct uuid shifted = uuid_of(S("agent"), S("acmes"), S("upport"));
	struct uuid fewer = uuid_of(S("agent"), S("acme"), none);

	(void)state;
	/* They are in files and in other people's notes: they must never change. */
	assert_string_equal(a.text, "57ad6c97-1065-87c4-a4fb-299746082b13");
	assert_string_equal(a.text, same.text);
	assert_string_not_equal(a.text, shifted.text);
	assert_string_not_equal(a.text, fewer.text);
	assert_int_equal(a.text[14], '8');
}

static void
only_uuids_are_read(void **state)
{
	static const char *const wrong[] = {
	    "",
	    "support",
	    "0a1b2c3d-0a1b-4c2d-8e3f-0a1b2c3d4e5",
	    "0a1b2c3d-0a1b-4c2d-8e3f-0a1b2c3d4e5ff",
	    "0a1b2c3d-0a1b-4c2d-8e3f-0a1b2c3d4e5g",
	    "0a1b2c3d00a1b-4c2d-8e3f-0a1b2c3d4e5f",
	};
	struct uuid u;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(uuid_read(str_of(wrong[i]), &u));
	assert_true(uuid_read(S("0A1B2C3D-0a1b-4C2D-8e3f-0a1b2c3d4e5f"), &u));
	assert_string_equal(u.text, "0a1b2c3d-0a1b-4c2d-8e3f-0a1b2c3d4e5f");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chance_never_repeats_and_is_version_4),
	    cmocka_unit_test(names_have_one_id_each),
	    cmocka_unit_test(only_uuids_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
