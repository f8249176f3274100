/* test_clock.c - clocks go forward, and dates are right. */

#include "unit.h"

#include <string.h>
#include <time.h>

#include "base/bug.h"
#include "base/clock.h"

static void
tells_dates(void **state)
{
	static const struct {
		int64_t us;
		const char *text;
	} cases[] = {
	    {0, "1970-01-01T00:00:00.000000Z"},
	    {-1, "1969-12-31T23:59:59.999999Z"},
	    {951782400000000, "2000-02-29T00:00:00.000000Z"},
	    {951868799999999, "2000-02-29T23:59:59.999999Z"},
	    {1778241600123456, "2026-05-08T12:00:00.123456Z"},
	    {4107542400000000, "2100-03-01T00:00:00.000000Z"},
	    {INT64_MAX, "9999-12-31T23:59:59.999999Z"},
	    {INT64_MIN, "0000-01-01T00:00:00.000000Z"},
	};
	char text[CLOCK_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		clock_text(cases[i].us, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void
agrees_with_the_c_library(void **state)
{
	char text[CLOCK_TEXT], expected[64];

	(void)state;
	for (int64_t sec = -62167219200; sec < 253402300800; sec += 12345678) {
		struct tm tm;
		gmtime_r(&(time_t){sec}, &tm);
		tm.tm_year += 1900; /* strftime does not pad years before 1000 */
		strftime(expected, sizeof(expected), "-%m-%dT%H:%M:%S.000000Z", &tm);
		clock_text(sec * 1000000, text);
		assert_string_equal(text + 4, expected);
		assert_int_equal((text[0] - '0') * 1000 + (text[1] - '0') * 100 +
				     (text[2] - '0') * 10 + (text[3] - '0'),
				 tm.tm_year);
	}
}

static void
knows_the_calendar(void **state)
{
	static const struct {
		unsigned year, month, day;
		bool is;
	} dates[] = {{2024, 2, 29, true},  {2023, 2, 29, false}, {1900, 2, 29, false},
		     {2000, 2, 29, true},  {2026, 4, 31, false}, {2026, 12, 31, true},
		     {2026, 13, 1, false}, {2026, 0, 1, false},  {2026, 1, 0, false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(dates); i++)
		assert_int_equal(clock_is_date(dates[i].year, dates[i].month, dates[i].day),
				 dates[i].is);
}

static void
goes_forward(void **state)
{
	uint64_t us = clock_mono_us(), ms = clock_mono_ms();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t now = clock_mono_us();
		assert_true(now >= us);
		us = now;
	}
	assert_true(clock_mono_ms() >= ms);
	assert_true(clock_wall_us() > 1700000000000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tells_dates),
	    cmocka_unit_test(agrees_with_the_c_library),
	    cmocka_unit_test(knows_the_calendar),
	    cmocka_unit_test(goes_forward),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
