/* clock.c - asking the kernel for the time. */

#include "base/clock.h"

#include <stdio.h>
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
	return clock_mono_us() / 1000u;
}

int64_t
clock_wall_us(void)
{
	return (int64_t)now_us(CLOCK_REALTIME);
}

/* Days to a civil date by counting 400-year eras: no libc call, no lock, no time zone. */
void
clock_text(int64_t wall_us, char out[static CLOCK_TEXT])
{
	int64_t sec = wall_us / 1000000, us = wall_us % 1000000;
	int64_t z = sec / 86400 + 719468, era = z / 146097;
	unsigned doe = (unsigned)(z - era * 146097);
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned mp = (5 * doy + 2) / 153;
	unsigned day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;
	unsigned year = (unsigned)(era * 400) + yoe + (month <= 2);
	unsigned tod = (unsigned)(sec % 86400);

	snprintf(out, CLOCK_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", year % 10000u, month % 13u,
		 day % 32u, tod / 3600 % 24u, tod / 60 % 60, tod % 60, (unsigned)us % 1000000u);
}
