/* number.c - the shortest text of a double, in the manner of three languages. */

#include "json/inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* yyjson finds the shortest digits that read back; the rest of this file only arranges them. */
static void
shortest(double d, char out[static REAL_TEXT])
{
	_Alignas(max_align_t) char room[512];
	yyjson_val v = {.tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL, .uni.f64 = d};
	yyjson_alc pool;
	size_t len;

	CHECK(isfinite(d) && yyjson_alc_pool_init(&pool, room, sizeof(room)));
	const char *text = yyjson_val_write_opts(&v, 0, &pool, &len, NULL);
	CHECK(text && len < REAL_TEXT);
	memcpy(out, text, len);
	out[len] = '\0';
}

struct digits {
	char text[24]; /* no zeros at either end, but "0" for 0 */
	int count;
	int point; /* value = 0.text * 10^point */
};

static struct digits
digits_of(const char *z)
{
	struct digits d = {0};
	bool fraction = false;

	for (; *z && *z != 'e'; z++) {
		if (*z == '.') {
			fraction = true;
		} else if (*z == '0' && d.count == 0) {
			d.point -= fraction;
		} else {
			CHECK(d.count < (int)sizeof(d.text) - 1);
			d.text[d.count++] = *z;
			d.point += !fraction;
		}
	}
	if (d.count == 0)
		return (struct digits){"0", 1, 1};
	if (*z == 'e')
		d.point += atoi(z + 1);
	while (d.text[d.count - 1] == '0')
		d.text[--d.count] = '\0';
	return d;
}

/* Where a language writes digits with a point, and how it writes the rest. */
static const struct manner {
	int fixed_above, fixed_upto; /* of the point */
	int exponent_width;          /* with its sign */
	const char *whole;           /* behind a number without a fraction */
	bool minus_zero;
} manners[] = {
    [REAL_ES6] = {-6, 21, 0, "", false},
    [REAL_PYTHON] = {-4, 16, 3, ".0", true},
};

void
json__real(double real, enum real_form form, char out[static REAL_TEXT])
{
	static const char zeros[] = "000000000000000000000"; /* as many as a manner may ask for */
	char text[REAL_TEXT];

	shortest(real, text);
	if (form == REAL_SHORT) {
		memcpy(out, text, sizeof(text));
		return;
	}
	const struct manner *m = &manners[form];
	const char *minus = text[0] == '-' && (real != 0 || m->minus_zero) ? "-" : "";
	struct digits d = digits_of(text + (text[0] == '-'));

	if (d.point <= m->fixed_above || d.point > m->fixed_upto)
		snprintf(out, REAL_TEXT, "%s%c%s%se%+0*d", minus, d.text[0], d.count > 1 ? "." : "",
			 d.text + 1, m->exponent_width, d.point - 1);
	else if (d.point <= 0)
		snprintf(out, REAL_TEXT, "%s0.%.*s%s", minus, -d.point, zeros, d.text);
	else if (d.count <= d.point)
		snprintf(out, REAL_TEXT, "%s%s%.*s%s", minus, d.text, d.point - d.count, zeros,
			 m->whole);
	else
		snprintf(out, REAL_TEXT, "%s%.*s.%s", minus, d.point, d.text, d.text + d.point);
}
