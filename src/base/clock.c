/* clock.c - asking the kernel for the time. */

#include "base/clock.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

static uint64_t
now_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

uint64_t
clock_mono_us(void)
{
	return now_us(CLOCK_MONOTONIC);
}

uint64_t
clock_mono_ms(void)
{
	return now_us(CLOCK_MONOTONIC_COARSE) / 1000u;
}

int64_t
clock_wall_us(void)
{
	return (int64_t)now_us(CLOCK_REALTIME);
}

int64_t
clock_wall_ms(void)
{
	return (int64_t)now_us(CLOCK_REALTIME_COARSE) / 1000;
}

bool
clock_is_date(unsigned year, unsigned month, unsigned day)
{
	static const unsigned char days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	if (month < 1 || month > 12 || day < 1 || day > days[month - 1])
		return false;
	return day != 29 || month != 2 || leap;
}

#define DAY_US INT64_C(86400000000)
#define FIRST_US (-62167219200 * 1000000)    /* 0000-01-01 */
#define LAST_US (253402300800 * 1000000 - 1) /* the end of 9999 */
#define MARCH_0000_DAYS 719468               /* from 0000-03-01 to 1970 */

static void
digits(char *out, size_t width, unsigned n)
{
	for (; width > 0; n /= 10)
		out[--width] = (char)('0' + n % 10);
}

/*
 * Days to a civil date by counting 400-year eras from a first of March: no libc
 * call, no lock, no time zone. Eras begin at -400, so that nothing is negative.
 */
static void
second_text(uint64_t sec, char out[static CLOCK_TEXT])
{
	uint64_t z = sec / 86400, era = z / 146097;
	unsigned doe = (unsigned)(z - era * 146097);
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned mp = (5 * doy + 2) / 153;
	unsigned day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;
	unsigned year = (unsigned)(era * 400) + yoe + (month <= 2) - 400;
	unsigned tod = (unsigned)(sec % 86400);

	memcpy(out, "0000-00-00T00:00:00.000000Z", CLOCK_TEXT);
	digits(out, 4, year);
	digits(out + 5, 2, month);
	digits(out + 8, 2, day);
	digits(out + 11, 2, tod / 3600);
	digits(out + 14, 2, tod / 60 % 60);
	digits(out + 17, 2, tod % 60);
}

/* Every event carries one, and most are of the same second as the one before. */
void
clock_text(int64_t wall_us, char out[static CLOCK_TEXT])
{
	static _Thread_local char text[CLOCK_TEXT];
	static _Thread_local uint64_t second; /* of the text; never 0: eras begin before */

	wall_us = wall_us < FIRST_US ? FIRST_US : wall_us > LAST_US ? LAST_US : wall_us;
	uint64_t since_us = (uint64_t)(wall_us + (MARCH_0000_DAYS + 146097) * DAY_US);
	uint64_t sec = since_us / 1000000;

	if (sec != second) {
		second_text(sec, text);
		second = sec;
	}
	memcpy(out, text, CLOCK_TEXT);
	digits(out + 20, 6, (unsigned)(since_us - sec * 1000000));
}
