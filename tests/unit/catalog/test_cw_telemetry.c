/*
 * test_cw_telemetry.c - the origin's recorded events against the origin's schema of them.
 *
 * Holdfast's own events have another shape. What is tested is the validator, on a schema and
 * values that a stranger published together; and that each rule of it can fail.
 */

#include "unit.h"

#include <stdio.h>

#include "schema/schema.h"
#include "vectors.h"

struct telemetry {
	struct json_doc *doc;
	struct schema *schema;
};

static struct telemetry
telemetry_schema(const char *path)
{
	struct telemetry t = {.doc = vectors(path)};
	struct schema_options formats = {.assert_formats = true};
	struct err e = ERR_NONE;

	if (schema_compile(t.doc, json_root(t.doc), &formats, &t.schema, &e) < 0)
		fail_msg("%s", err_text(&e));
	return t;
}

static void
telemetry_done(struct telemetry *t)
{
	schema_free(t->schema);
	json_doc_unref(t->doc);
}

/* What is wrong with it; "" when it fits. */
static struct buf
wrong_with(const struct telemetry *t, struct str line)
{
	struct buf errors = BUF_INIT(64 * KIB);
	struct json_doc *doc = NULL;

	assert_int_equal(json_parse(line, &json_door, &doc, NULL), 0);
	int rc = schema_validate(t->schema, json_root(doc), SCHEMA_LINES, &errors);
	assert_int_equal(rc<0, errors.len> 0);
	assert_int_equal(schema_fits(t->schema, json_root(doc)), rc == 0);
	json_doc_unref(doc);
	return errors;
}

static void
every_recorded_event_fits(void **state)
{
	char schema[512], sample[512];
	size_t lines = 0;

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_diagnostic_event.schema.json", schema);
	TESTDATA_OR_SKIP("vectors/cw_telemetry_sample.jsonl", sample);
	struct telemetry t = telemetry_schema(schema);
	struct str text = testdata_read(sample);
	for (struct str rest = text; rest.len > 0; lines++) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
		struct buf errors = wrong_with(&t, str_upto(rest, len));
		if (errors.len > 0)
			fail_msg("line %zu: %s", lines + 1, buf_z(&errors));
		buf_done(&errors);
		rest = str_from(rest, end ? len + 1 : len);
	}
	assert_true(lines > 5);
	free((char *)text.ptr);
	telemetry_done(&t);
}

#define EVENT(version, event, time, success, more)                                                 \
	"{\"version\":" version ",\"event\":" event ",\"timestamp\":" time ",\"success\":" success \
	",\"session_id\":\"s\"" more "}"
#define TIME "\"2026-07-11T09:15:02.104318+00:00\""

static void
each_rule_of_the_schema_refuses(void **state)
{
	static const struct {
		const char *line;
		const char *place;
	} rows[] = {
	    {EVENT("1", "\"a\"", TIME, "true", ",\"more\":1"), NULL},
	    {EVENT("2", "\"a\"", TIME, "true", ""), "/version"},
	    {EVENT("1", "\"\"", TIME, "true", ""), "/event"},
	    {EVENT("1", "\"a\"", "\"yesterday\"", "true", ""), "/timestamp"},
	    {EVENT("1", "\"a\"", TIME, "1", ""), "/success"},
	    {EVENT("1", "\"a\"", TIME, "true", ",\"duration_ms\":-0.5"), "/duration_ms"},
	    {EVENT("1", "\"a\"", TIME, "true", ",\"tool_id\":3"), "/tool_id"},
	    {EVENT("1", "\"a\"", TIME, "true", ",\"attributes\":[]"), "/attributes"},
	    {"{\"version\":1,\"event\":\"a\",\"timestamp\":" TIME ",\"success\":true}",
	     "session_id"},
	};
	char path[512];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_diagnostic_event.schema.json", path);
	struct telemetry t = telemetry_schema(path);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf errors = wrong_with(&t, str_of(rows[i].line));
		if (rows[i].place ? !strstr(buf_z(&errors), rows[i].place) : errors.len > 0)
			fail_msg("%s: %s", rows[i].line, buf_z(&errors));
		buf_done(&errors);
	}
	telemetry_done(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_recorded_event_fits),
	    cmocka_unit_test(each_rule_of_the_schema_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
