/* format_time.c - dates, times and durations (RFC 3339). */

#include "schema/format.h"

#include "base/clock.h"

/* Take count digits off the front; false when they are not there or not in min..max. */
static bool
digits_take(struct str *rest, size_t count, unsigned min, unsigned max, unsigned *ret)
{
	*ret = 0;
	if (rest->len < count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!format_is_digit(rest->ptr[i]))
			return false;
		*ret = *ret * 10 + (unsigned)(rest->ptr[i] - '0');
	}
	*rest = str_from(*rest, count);
	return *ret >= min && *ret <= max;
}

static bool
char_take(struct str *rest, const char *any_of)
{
	if (rest->len == 0 || !rest->ptr[0] || !strchr(any_of, rest->ptr[0]))
		return false;
	*rest = str_from(*rest, 1);
	return true;
}

static bool
date_take(struct str *rest)
{
	unsigned year, month, day;

	return digits_take(rest, 4, 0, 9999, &year) && char_take(rest, "-") &&
	       digits_take(rest, 2, 1, 12, &month) && char_take(rest, "-") &&
	       digits_take(rest, 2, 1, 31, &day) && clock_is_date(year, month, day);
}

/* Minutes to take away from the time to have it in UTC. */
static bool
offset_take(struct str *rest, int *ret)
{
	unsigned hours, minutes;
	int sign = str_starts(*rest, S("-")) ? -1 : 1;

	*ret = 0;
	if (char_take(rest, "Zz"))
		return true;
	if (!char_take(rest, "+-") || !digits_take(rest, 2, 0, 23, &hours) ||
	    !char_take(rest, ":") || !digits_take(rest, 2, 0, 59, &minutes))
		return false;
	*ret = sign * (int)(hours * 60 + minutes);
	return true;
}

static bool
time_take(struct str *rest)
{
	enum { DAY = 24 * 60 };
	unsigned hour, minute, second, digit;
	int offset;

	if (!digits_take(rest, 2, 0, 23, &hour) || !char_take(rest, ":") ||
	    !digits_take(rest, 2, 0, 59, &minute) || !char_take(rest, ":") ||
	    !digits_take(rest, 2, 0, 60, &second))
		return false;
	if (char_take(rest, ".")) {
		if (!digits_take(rest, 1, 0, 9, &digit))
			return false;
		while (rest->len > 0 && format_is_digit(rest->ptr[0]))
			*rest = str_from(*rest, 1);
	}
	if (!offset_take(rest, &offset))
		return false;
	/* A leap second is the last of a day in UTC. */
	int utc = ((int)(hour * 60 + minute) - offset + DAY) % DAY;
	return second < 60 || utc == DAY - 1;
}

bool
schema__is_date(struct str text)
{
	return date_take(&text) && text.len == 0;
}

bool
schema__is_time(struct str text)
{
	return time_take(&text) && text.len == 0;
}

bool
schema__is_date_time(struct str text)
{
	return date_take(&text) && char_take(&text, "Tt") && time_take(&text) && text.len == 0;
}

/* Numbers with units, each the one right behind the one before: 1Y2M, not 1Y2D. */
static bool
amounts_take(struct str *rest, const char *units)
{
	const char *next = NULL;

	while (rest->len > 0 && format_is_digit(rest->ptr[0])) {
		while (rest->len > 0 && format_is_digit(rest->ptr[0]))
			*rest = str_from(*rest, 1);
		const char *unit =
		    rest->len > 0 && rest->ptr[0] ? strchr(units, rest->ptr[0]) : NULL;
		if (!unit || (next && unit != next))
			return false;
		next = unit + 1;
		*rest = str_from(*rest, 1);
	}
	return next != NULL;
}

/* Appendix A */
bool
schema__is_duration(struct str text)
{
	if (!char_take(&text, "P"))
		return false;
	struct str weeks = text;
	if (amounts_take(&weeks, "W") && weeks.len == 0)
		return true;
	if (!str_starts(text, S("T")) && !amounts_take(&text, "YMD"))
		return false;
	return text.len == 0 ||
	       (char_take(&text, "T") && amounts_take(&text, "HMS") && text.len == 0);
}
