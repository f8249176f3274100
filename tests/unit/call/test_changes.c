/* test_changes.c - what calls do to files: who hears of it, and what a person has to see again. */

#include "world.h"

#define AUTO "tool_confirmation: {default: {WRITE: auto}}\n"

struct ear {
	struct world *w;
	size_t count;
	char types[8][16], paths[8][64];
	int id;     /* to be given up at the first, or 0 */
	bool opens; /* makes more events happen */
	char other[40];
};

static void
hear(const struct hf_change *ch, void *arg)
{
	struct ear *e = arg;

	assert_true(e->count < ARRAY_LEN(e->types));
	if (e->opens) /* the events may move: what is told must not */
		assert_int_equal(hf_session_open(e->w->hf, e->w->workspace, false, e->other), 0);
	snprintf(e->types[e->count], sizeof(e->types[0]), "%s", ch->type);
	snprintf(e->paths[e->count++], sizeof(e->paths[0]), "%s", ch->path);
	assert_string_equal(ch->tool, "write_file");
	assert_non_null(ch->call);
	assert_null(ch->old_path);
	assert_true(ch->undoable);
	if (e->id)
		hf_unsubscribe_changes(e->w->hf, e->id);
}

static void
write_file(struct world *w, const char *path, const char *content)
{
	char input[256];

	snprintf(input, sizeof(input), "{\"path\":\"%s\",\"content\":\"%s\"}", path, content);
	struct result r = world_call(w, "write_file", input);
	assert_false(r.is_error);
	result_free(&r);
}

static void
readers_hear_of_the_files_they_asked_for(void **state)
{
	struct world *w = world_new(AUTO);
	struct ear all = {.w = w, .opens = true}, sources = {.w = w}, once = {.w = w};

	(void)state;
	assert_true(hf_subscribe_changes(w->hf, NULL, hear, &all) > 0);
	int id = hf_subscribe_changes(w->hf, "*.c", hear, &sources);
	assert_true(id > 0);
	once.id = hf_subscribe_changes(w->hf, "**/a.*", hear, &once);
	assert_true(once.id > 0 && once.id != id);
	write_file(w, "src/a.c", "1");
	write_file(w, "src/a.h", "2");
	write_file(w, "src/a.c", "3");
	UNTIL(w, all.count == 3);
	assert_int_equal(sources.count, 2);
	assert_string_equal(sources.types[0], "created");
	assert_string_equal(sources.types[1], "modified");
	assert_string_equal(sources.paths[1], "src/a.c");
	assert_int_equal(once.count, 1);
	hf_unsubscribe_changes(w->hf, id);
	hf_unsubscribe_changes(w->hf, id);
	write_file(w, "b.c", "4");
	UNTIL(w, all.count == 4);
	assert_int_equal(sources.count, 2);
	world_free(w);
}

static void
count(const struct hf_change *ch, void *arg)
{
	(void)ch;
	++*(unsigned *)arg;
}

/* Issue 6: whoever watches a folder hears of what was moved out of it. */
static void
a_file_that_is_moved_is_told_by_both_its_names(void **state)
{
	struct world *w = world_new(AUTO);
	unsigned from = 0, to = 0, others = 0;

	(void)state;
	assert_true(hf_subscribe_changes(w->hf, "src/**", count, &from) > 0);
	assert_true(hf_subscribe_changes(w->hf, "*.txt", count, &to) > 0);
	assert_true(hf_subscribe_changes(w->hf, "*.h", count, &others) > 0);
	struct jw *e = bus_begin(w->hf->bus, &(struct event_draft){.type = EVENT_FILE_CHANGED});
	jw_member_z(e, "type", "renamed");
	jw_member_z(e, "path", "a.txt");
	jw_member_z(e, "old_path", "src/a.c");
	bus_end(w->hf->bus, NULL);
	UNTIL(w, from == 1 && to == 1);
	assert_int_equal(others, 0);
	world_free(w);
}

static bool
content_is(struct world *w, const char *name, const char *text)
{
	char path[256], got[64] = "";

	snprintf(path, sizeof(path), "%s/%s", w->workspace, name);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
	fclose(f);
	return strcmp(got, text) == 0;
}

/* The file changes while a person looks at the diff: what they said yes to is not what there is. */
static void
test_6_a_yes_covers_the_file_that_was_shown(void **state)
{
	struct world *w = world_new(NULL);
	struct result r = {0};

	(void)state;
	world_write(w, "a.txt", "shown");
	world_start(w, "write_file", "{\"path\":\"a.txt\",\"content\":\"new\"}", &r);
	UNTIL(w, world_count(w, "tool.confirmation_requested") == 1);
	world_write(w, "a.txt", "changed");
	struct str asked = json_str(
	    json_get(world_last(w, "tool.confirmation_requested"), S("confirmation_request_id")));
	char *id = str_dup(asked);
	assert_int_equal(hf_answer(w->hf, id, true, NULL), 0);
	free(id);
	UNTIL(w, r.here || world_count(w, "tool.confirmation_requested") == 2);
	assert_true(content_is(w, "a.txt", "changed"));
	assert_int_equal(world_count(w, "file.changed"), 0);
	world_free(w);
	result_free(&r); /* it may come with the end */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(readers_hear_of_the_files_they_asked_for),
	    cmocka_unit_test(a_file_that_is_moved_is_told_by_both_its_names),
	    cmocka_unit_test(test_6_a_yes_covers_the_file_that_was_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
