/* test_progress.c - rows in order, told with restraint, and the last word always. */

#include "unit.h"

#include <math.h>
#include <stdio.h>

#include "base/limits.h"
#include "event/progress.h"

static struct loop *loop;
static struct bus *bus;
static struct progresses *all;
static struct bus_reader reader;
static uint64_t now;

static uint64_t
clock_here(void)
{
	return now;
}

static void
nothing(void *arg)
{
	(void)arg;
}

static int
setup(void **state)
{
	struct err e;

	(void)state;
	now = 1000;
	assert_int_equal(loop_new(&loop, &e), 0);
	assert_int_equal(bus_new(loop, NULL, &bus, &e), 0);
	all = progresses_new(&(struct progresses_spec){loop, bus, clock_here});
	assert_non_null(all);
	reader = (struct bus_reader){.news = nothing};
	bus_attach(bus, &reader);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	progresses_free(all);
	bus_detach(bus, &reader);
	bus_free(bus);
	loop_free(loop);
	return 0;
}

static struct progress *
begin(const char *id, int64_t started_us, double current, double total)
{
	return progress_begin(all,
			      &(struct progress_about){.id = str_of(id),
						       .tool = S("tool"),
						       .session = S("s"),
						       .started_us = started_us,
						       .cancellable = true},
			      &(struct progress_news){S("label"), current, total});
}

static void
tell(struct progress *p, double current, double total)
{
	progress_tell(all, p, &(struct progress_news){{NULL, 0}, current, total});
}

/* The next event's type and current; "" when there is none. */
static const char *
heard(double *ret_current)
{
	uint64_t missed;
	const struct event *ev = bus_next(bus, &reader, &missed);
	struct json_doc *doc;

	if (!ev)
		return "";
	const char *type = event_row(ev->type)->type;
	assert_int_equal(json_parse(ev->json, &json_door, &doc, NULL), 0);
	assert_true(json_double(json_pointer(json_root(doc), S("/payload/current")), ret_current));
	json_doc_unref(doc);
	return type;
}

static struct json_doc *
rows(void)
{
	struct buf b = BUF_INIT(64 * KIB);
	struct json_doc *doc;
	struct jw w = jw(&b);

	progresses_write(&w, all);
	assert_int_equal(json_parse(buf_str(&b), &json_door, &doc, NULL), 0);
	buf_done(&b);
	return doc;
}

static bool
is_at(const struct json_doc *doc, const char *pointer, const char *text)
{
	return str_is(json_str(json_pointer(json_root(doc), str_of(pointer))), text);
}

static void
snapshot_is_sorted_by_start_and_done_removes(void **state)
{
	struct progress *b = begin("b", 200, 1, 2), *c = begin("c", 300, 0, 0),
			*a = begin("a", 100, 50, 200);
	struct json_doc *doc = rows();
	double percent;

	(void)state;
	assert_int_equal(progresses_count(all), 3);
	assert_true(is_at(doc, "/0/call_id", "a") && is_at(doc, "/1/call_id", "b") &&
		    is_at(doc, "/2/call_id", "c"));
	assert_true(is_at(doc, "/0/kind", "determinate") && is_at(doc, "/1/kind", "steps") &&
		    is_at(doc, "/2/kind", "indeterminate"));
	assert_true(json_double(json_pointer(json_root(doc), S("/0/percent")), &percent));
	assert_true(percent == 0.25); /* of 1, not of 100 */
	assert_true(json_is(json_pointer(json_root(doc), S("/2/percent")), JSON_NULL));
	assert_true(is_at(doc, "/0/started_at", "1970-01-01T00:00:00.000100Z"));
	json_doc_unref(doc);
	progress_end(all, &b);
	assert_null(b);
	progress_end(all, &b); /* again does nothing */
	doc = rows();
	assert_true(is_at(doc, "/0/call_id", "a") && is_at(doc, "/1/call_id", "c"));
	json_doc_unref(doc);
	progress_end(all, &a);
	progress_end(all, &c);
	assert_int_equal(progresses_count(all), 0);
}

static void
updates_keep_their_distance_and_the_last_is_told(void **state)
{
	struct progress *p = begin("a", 1, 0, 1000);
	double at;

	(void)state;
	assert_string_equal(heard(&at), "progress.started");
	for (int i = 1; i <= 50; i++)
		tell(p, i, 1000);
	assert_string_equal(heard(&at), "");
	progresses_tick(all); /* not yet */
	assert_string_equal(heard(&at), "");
	now += LIMIT_PROGRESS_GAP_MS;
	progresses_tick(all);
	assert_string_equal(heard(&at), "progress.updated");
	assert_true(at == 50);
	progresses_tick(all);
	assert_string_equal(heard(&at), "");
	now += LIMIT_PROGRESS_GAP_MS;
	tell(p, 60, 1000); /* long enough after the last: at once */
	assert_string_equal(heard(&at), "progress.updated");
	assert_true(at == 60);
	tell(p, 999, 1000);
	progress_end(all, &p);
	assert_string_equal(heard(&at), "progress.ended");
	assert_true(at == 999);
	progresses_tick(all); /* nothing is owed any more */
	assert_string_equal(heard(&at), "");
}

static void
one_second_of_news_is_ten_updates(void **state)
{
	struct progress *p = begin("a", 1, 0, 0);
	double at;
	int updates = 0;

	(void)state;
	heard(&at);
	for (int i = 0; i < 1000; i++) {
		now++;
		tell(p, i, 0);
		progresses_tick(all);
	}
	while (strcmp(heard(&at), "progress.updated") == 0)
		updates++;
	assert_int_equal(updates, 10);
	progress_end(all, &p);
}

static void
the_timer_tells_what_is_owed(void **state)
{
	struct progress *p = begin("a", 1, 0, 9);
	double at;

	(void)state;
	heard(&at);
	tell(p, 4, 9);
	now += LIMIT_PROGRESS_GAP_MS;
	for (int i = 0; i < 1000 && strcmp(heard(&at), "progress.updated") != 0; i++)
		uv_run(loop_uv(loop), UV_RUN_ONCE);
	assert_true(at == 4);
	progress_end(all, &p);
}

static void
numbers_of_a_peer_are_made_sense_of(void **state)
{
	static const struct {
		double current, total;
		const char *kind;
		double percent;
	} cases[] = {
	    {INFINITY, INFINITY, "indeterminate", -1},
	    {-5, 10, "steps", 0},
	    {20, 10, "steps", 1},
	    {NAN, 4, "steps", 0},
	    {1, -1, "indeterminate", -1},
	    {0.5, 1, "determinate", 0.5},
	    {50, 100, "determinate", 0.5},
	    {1.5, 3, "determinate", 0.5},
	    {1e300, 1e308, "determinate", 1e-8},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct progress *p = begin("a", 1, cases[i].current, cases[i].total);
		struct json_doc *doc = rows();
		double percent = -1;
		json_double(json_pointer(json_root(doc), S("/0/percent")), &percent);
		assert_true(is_at(doc, "/0/kind", cases[i].kind));
		assert_true(fabs(percent - cases[i].percent) < 1e-9);
		json_doc_unref(doc);
		progress_end(all, &p);
	}
}

static void
labels_are_cut_between_characters_and_stay_when_none_is_given(void **state)
{
	char text[2 * LIMIT_PROGRESS_LABEL + 2];
	struct progress *p = begin("a", 1, 0, 0);

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = i % 2 ? "ä"[1] : "ä"[0];
	text[sizeof(text) - 1] = '\0';
	progress_tell(all, p, &(struct progress_news){str_of(text + 1), 1, 0});
	progress_tell(all, p, &(struct progress_news){str_of(text), 1, 0});
	tell(p, 2, 0);
	struct json_doc *doc = rows();
	struct str label = json_str(json_pointer(json_root(doc), S("/0/label")));
	assert_int_equal(label.len, LIMIT_PROGRESS_LABEL);
	assert_true(str_is_utf8(label));
	json_doc_unref(doc);
	progress_end(all, &p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(snapshot_is_sorted_by_start_and_done_removes, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(updates_keep_their_distance_and_the_last_is_told, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(one_second_of_news_is_ten_updates, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_timer_tells_what_is_owed, setup, teardown),
	    cmocka_unit_test_setup_teardown(numbers_of_a_peer_are_made_sense_of, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		labels_are_cut_between_characters_and_stay_when_none_is_given, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
