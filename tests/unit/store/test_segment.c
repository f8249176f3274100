/* test_segment.c - records side by side: what goes together, and what is found in them again. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "json/json.h"
#include "store/record.h"
#include "store/segment.h"

static void
add(struct segment *s, const char *id, const char *session, const char *json)
{
	struct record r = {.id = str_of(id), .session = str_of(session), .json = str_of(json)};

	assert_int_equal(segment__add(s, &r), 0);
}

static void
records_come_out_as_they_went_in(void **state)
{
	struct segment *s = segment__new(LANE_EVENTS);
	struct str json;

	(void)state;
	add(s, "02", NULL, "{\"a\":\n1}");
	add(s, "01", NULL, "{}");
	assert_true(str_eq(buf_str(&s->lines), S("\x1e{\"a\":\n1}\n\x1e{}\n")));
	assert_string_equal(s->first, "01");
	assert_string_equal(s->last, "02");
	struct str lines = buf_str(&s->lines);
	assert_true(segment__next(&lines, &json));
	assert_true(str_is(json, "{\"a\":\n1}"));
	assert_true(segment__next(&lines, &json));
	assert_true(str_is(json, "{}"));
	assert_false(segment__next(&lines, &json));
	segment__free(s);
	segment__free(NULL);
}

static void
what_begins_alike_goes_together_until_it_is_full(void **state)
{
	struct segment *events = segment__new(LANE_AUDIT), *calls = segment__new(LANE_CALLS);
	char *large = calloc(1, LIMIT_STORE_SEGMENT + 1);

	(void)state;
	assert_true(segment__takes(events, S("anything")));
	add(events, "01ARZ3NDEK", NULL, "{}");
	assert_true(segment__takes(events, S("01ARZ3N")));
	assert_true(segment__takes(events, S("01ARZ3NZZZ")));
	assert_false(segment__takes(events, S("01ARZ3MZZZ")));
	assert_false(segment__takes(events, S("01ARZ3")));
	add(calls, "call_01ARZ3NDEK", NULL, "{}");
	assert_true(segment__takes(calls, S("call_01ARZ3NZZZ")));
	assert_false(segment__takes(calls, S("call_01ARZ3MZZZ")));

	memset(large, ' ', LIMIT_STORE_SEGMENT);
	add(calls, "call_01ARZ3NDEL", NULL, large);
	assert_false(segment__takes(calls, S("call_01ARZ3NDEM")));
	segment__reset(calls, LANE_CALLS);
	assert_true(segment__takes(calls, S("call_01ARZ3MZZZ")));
	free(large);
	segment__free(events);
	segment__free(calls);
}

/* Ids of one millisecond differ in a letter or two: their keys must not. */
static void
every_session_is_noted_and_most_only_once(void **state)
{
	struct segment *s = segment__new(LANE_EVENTS);
	char session[40];

	(void)state;
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 16; i++) {
			snprintf(session, sizeof(session), "sess_01M7JDM4PVM6ASDMZ2K0JANM%02d", i);
			add(s, "01", session, "{}");
			assert_true(
			    segment__has(buf_str(&s->sessions), segment__key(str_of(session))));
		}
	}
	assert_in_range(s->sessions.len, 16 * 4, 50 * 16 * 4 / 3);
	assert_false(segment__has(buf_str(&s->sessions),
				  segment__key(S("sess_01M7JDM4PVM6ASDMZ2K0JANM16"))));
	segment__free(s);
}

/* They are in files that others have written: the same for ever. */
static void
keys_do_not_change(void **state)
{
	(void)state;
	assert_int_equal(segment__key(S("sess_01M7JDM4PVM6ASDMZ2K0JANMF6")), 0x81121c45);
	assert_int_equal(segment__key(S("")), 0);
	assert_int_not_equal(segment__key(S("a")), segment__key(S("a\0")));
}

static void
the_head_of_a_record_is_read_whatever_is_in_it(void **state)
{
	struct buf json = BUF_INIT(1 * MIB), decoded = BUF_INIT(1 * MIB);
	struct str head[HEAD__COUNT];

	(void)state;
	record_event(&json, &(struct store_event){.id = S("01A"),
						  .session = S("a\"b\\c\n\xc3\xa4"),
						  .parent = S("\\\""),
						  .type = "tool.called",
						  .payload = S("{\"id\":\"02\"}")});
	assert_true(segment__head(LOG_EVENTS, buf_str(&json), &decoded, head));
	assert_true(str_is(head[HEAD_ID], "01A"));
	assert_true(str_is(head[HEAD_SESSION], "a\"b\\c\n\xc3\xa4"));
	assert_true(str_is(head[HEAD_TYPE], "tool.called"));
	assert_null(head[HEAD_TURN].ptr);

	buf_reset(&json);
	record_call(&json, &(struct store_call){.id = S("call_1"),
						.tool_use_id = S("\",\"session_id\":\"other"),
						.session = S("s"),
						.turn = S(""),
						.input = S("{}")});
	assert_true(segment__head(LOG_CALLS, buf_str(&json), &decoded, head));
	assert_true(str_is(head[HEAD_USE], "\",\"session_id\":\"other"));
	assert_true(str_is(head[HEAD_SESSION], "s"));
	assert_true(str_is(head[HEAD_TURN], "") && head[HEAD_TURN].ptr);
	buf_done(&json);
	buf_done(&decoded);
}

/* Marks are in files: what they stand for can never be another. */
static void
a_record_is_shown_with_its_keys(void **state)
{
	static const char plain[] = "{\"id\":\"01\",\n\t\"payload\":{\"a\": 1}}";
	struct buf kept = BUF_INIT(1 * MIB), shown = BUF_INIT(1 * MIB);
	struct json_doc *doc = NULL;

	(void)state;
	record_event(&kept, &(struct store_event){.id = S("01A"),
						  .session = S("s\x01"),
						  .type = "t",
						  .actor = "a",
						  .sensitivity = "p",
						  .payload = S("{}")});
	assert_true(str_is(buf_str(&kept),
			   "\x01\"01A\"\x02\"1970-01-01T00:00:00.000000Z\"\x03\"s\\u0001\"\x04"
			   "null\x05null\x06\"t\"\x07\"a\"\x08{}\x0b\"p\"}"));
	record_show(&shown, LOG_EVENTS, buf_str(&kept));
	assert_true(str_is(buf_str(&shown),
			   "{\"id\":\"01A\",\"timestamp\":\"1970-01-01T00:00:00.000000Z\","
			   "\"session_id\":\"s\\u0001\",\"turn_id\":null,\"parent_event_id\":null,"
			   "\"type\":\"t\",\"actor\":\"a\",\"payload\":{},\"sensitivity\":\"p\"}"));

	buf_reset(&kept), buf_reset(&shown);
	record_call(&kept, &(struct store_call){.id = S("call_1"), .input = S("{}")});
	record_show(&shown, LOG_CALLS, buf_str(&kept));
	assert_true(str_starts(buf_str(&shown), S("{\"call_id\":\"call_1\",\"tool_use_id\":")));
	assert_int_equal(json_parse(buf_str(&shown), &json_door, &doc, NULL), 0);
	assert_true(kept.len < shown.len / 2);
	json_doc_unref(doc);

	buf_reset(&shown);
	record_show(&shown, LOG_EVENTS, str_of(plain));
	assert_true(str_is(buf_str(&shown), plain));
	buf_done(&kept);
	buf_done(&shown);
}

/* What a row of these shows as its input_hash. */
static void
assert_hash(const struct store_call *row, size_t most, const char *expected)
{
	struct buf kept = BUF_INIT(1 * MIB), shown = BUF_INIT(1 * MIB);
	struct json_doc *doc = NULL;

	record_call(&kept, row);
	record_show(&shown, LOG_CALLS, buf_str(&kept));
	assert_int_equal(json_parse(buf_str(&shown), &json_door, &doc, NULL), 0);
	struct str hash = json_str(json_get(json_root(doc), S("input_hash")));
	assert_true(expected ? str_is(hash, expected) : !hash.ptr);
	assert_true(kept.len <= most);
	json_doc_unref(doc);
	buf_done(&kept);
	buf_done(&shown);
}

/* Sixty-four letters that can be told again need not be kept, and are the same. */
static void
a_digest_is_told_by_the_input(void **state)
{
	static const char of_input[] =
	    "dc77cffb208f3d24af965b690a4ae23f1281bdcecd8ed85068ee7f32f267a185";
	static const char given[] =
	    "0000000000000000000000000000000000000000000000000000000000000000";
	struct store_call row = {.id = S("call_1"),
				 .input = S("{\"b\":[1,2],\"a\":\"\\u00e4\"}"),
				 .input_is_json = true,
				 .input_hash = str_of(of_input),
				 .hash_is_of_input = true};

	(void)state;
	assert_hash(&row, 200, of_input);
	row.hash_is_of_input = false;
	row.input_hash = str_of(given);
	assert_hash(&row, 300, given);
	row.hash_is_of_input = true;
	row.input_hash = (struct str){NULL, 0};
	assert_hash(&row, 200, NULL); /* there was none: nothing is made up */
}

/* What a journal row says of nothing takes a byte or two; as it once was it is read as well. */
static void
test_5_nulls_of_a_call_are_shown_and_not_written(void **state)
{
	static const char *const keys[] = {"turn_id",     "success",    "error_class",
					   "message",     "command",    "reviewed_by",
					   "reviewed_at", "shown_hash", "confinement"};
	static const char before[] = "\x01\"call_1\"\x02null\x03\"s\"\x04null\x1d"
				     "null,\"shown_hash\":null,\"confinement\":\"open\"}";
	struct buf kept = BUF_INIT(1 * MIB), shown = BUF_INIT(1 * MIB);
	struct str head[HEAD__COUNT];
	struct json_doc *doc = NULL;

	(void)state;
	record_call(&kept, &(struct store_call){.id = S("call_1"), .session = S("s")});
	assert_true(str_index(buf_str(&kept), 'n') < 0);
	assert_true(segment__head(LOG_CALLS, buf_str(&kept), &shown, head));
	assert_true(str_is(head[HEAD_SESSION], "s") && !head[HEAD_TURN].ptr);
	buf_reset(&shown);
	record_show(&shown, LOG_CALLS, buf_str(&kept));
	assert_int_equal(json_parse(buf_str(&shown), &json_door, &doc, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_true(json_is(json_get(json_root(doc), str_of(keys[i])), JSON_NULL));
	json_doc_unref(doc);

	buf_reset(&kept), buf_reset(&shown);
	record_call(&kept, &(struct store_call){.id = S("call_1"), .confinement = S("open")});
	record_show(&shown, LOG_CALLS, buf_str(&kept));
	assert_non_null(strstr(buf_z(&shown), ",\"shown_hash\":null,\"confinement\":\"open\"}"));

	assert_true(segment__head(LOG_CALLS, str_of(before), &kept, head));
	assert_true(str_is(head[HEAD_SESSION], "s") && !head[HEAD_TURN].ptr);
	buf_reset(&shown);
	record_show(&shown, LOG_CALLS, str_of(before));
	assert_string_equal(buf_z(&shown),
			    "{\"call_id\":\"call_1\",\"tool_use_id\":null,\"session_id\":\"s\","
			    "\"turn_id\":null,\"reviewed_at\":null,\"shown_hash\":null,"
			    "\"confinement\":\"open\"}");
	buf_done(&kept);
	buf_done(&shown);
}

/* One byte for each key: two that share one would be shown as the same. */
static void
every_mark_has_a_key_of_its_own(void **state)
{
	(void)state;
	for (unsigned log = 0; log < LOG__COUNT; log++)
		for (unsigned a = 0; a < 256; a++) {
			char mark = (char)a, other;
			struct str key = record_key((enum log)log, (struct str){&mark, 1});
			bool usable = a > 0 && a < 0x1e && a != '\t' && a != '\n' && a != '\r';
			assert_true(usable || !key.ptr);
			for (unsigned b = 0; b < a && key.ptr; b++) {
				other = (char)b;
				assert_false(str_eq(key, record_key((enum log)log,
								    (struct str){&other, 1})));
			}
		}
}

static void
what_is_no_record_is_not_taken_for_one(void **state)
{
	static const char whole[] = "{\"id\":\"01\",\"timestamp\":null,\"session_id\":null,"
				    "\"turn_id\":null,\"parent_event_id\":null,\"type\":\"t\\n\"";
	struct buf decoded = BUF_INIT(1 * KIB);
	struct str head[HEAD__COUNT];

	(void)state;
	for (size_t len = 0; len < strlen(whole); len++) {
		char *part = strndup(whole, len); /* its end is where it seems */
		assert_false(segment__head(LOG_EVENTS, (struct str){part, len}, &decoded, head));
		free(part);
	}
	assert_true(segment__head(LOG_EVENTS, str_of(whole), &decoded, head));
	assert_false(segment__head(LOG_CALLS, str_of(whole), &decoded, head));
	assert_false(
	    segment__head(LOG_EVENTS,
			  S("{\"id\":null,\"timestamp\":null,\"session_id\":null,\"turn_id\":null,"
			    "\"parent_event_id\":null,\"type\":null"),
			  &decoded, head));
	buf_done(&decoded);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(records_come_out_as_they_went_in),
	    cmocka_unit_test(what_begins_alike_goes_together_until_it_is_full),
	    cmocka_unit_test(every_session_is_noted_and_most_only_once),
	    cmocka_unit_test(keys_do_not_change),
	    cmocka_unit_test(the_head_of_a_record_is_read_whatever_is_in_it),
	    cmocka_unit_test(a_record_is_shown_with_its_keys),
	    cmocka_unit_test(a_digest_is_told_by_the_input),
	    cmocka_unit_test(every_mark_has_a_key_of_its_own),
	    cmocka_unit_test(test_5_nulls_of_a_call_are_shown_and_not_written),
	    cmocka_unit_test(what_is_no_record_is_not_taken_for_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
