/*
 * format_host.c - host names, in ASCII and international (IDNA 2008: RFC 5890 to 5893).
 *
 * The structure, Punycode, the contextual rules and the Bidi rule are checked as the RFCs say. Of
 * the derived property of RFC 5892, some 850 ranges that grow with Unicode, the table here has
 * those in which long runs are disallowed. So these pass: a disallowed character that stands alone
 * among allowed ones (a capital in Latin Extended-A), an unassigned one, a label that is not in
 * NFC. And these are refused: a zero width non-joiner between letters that join and are not Arabic.
 */

#include "schema/format.h"

enum {
	LABEL_MAX = 63,
	HOST_MAX = 253,
	PREFIX = 4, /* xn-- */
};

struct label {
	uint32_t points[LABEL_MAX];
	size_t count;
};

struct range {
	uint32_t first, last;
};

/* Combining marks of the Basic Multilingual Plane; gaps that no character fills are left out. */
static const struct range marks[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x5bf, 0x5bf},   {0x5c1, 0x5c2},
    {0x5c4, 0x5c5},   {0x5c7, 0x5c7},   {0x610, 0x61a},   {0x64b, 0x65f},   {0x670, 0x670},
    {0x6d6, 0x6dc},   {0x6df, 0x6e4},   {0x6e7, 0x6e8},   {0x6ea, 0x6ed},   {0x711, 0x711},
    {0x730, 0x74a},   {0x7a6, 0x7b0},   {0x7eb, 0x7f3},   {0x7fd, 0x7fd},   {0x816, 0x819},
    {0x81b, 0x823},   {0x825, 0x827},   {0x829, 0x82d},   {0x859, 0x85b},   {0x898, 0x89f},
    {0x8ca, 0x8e1},   {0x8e3, 0x903},   {0x93a, 0x93c},   {0x93e, 0x94f},   {0x951, 0x957},
    {0x962, 0x963},   {0x981, 0x983},   {0x9bc, 0x9bc},   {0x9be, 0x9cd},   {0x9d7, 0x9d7},
    {0x9e2, 0x9e3},   {0x9fe, 0xa03},   {0xa3c, 0xa51},   {0xa70, 0xa71},   {0xa75, 0xa75},
    {0xa81, 0xa83},   {0xabc, 0xabc},   {0xabe, 0xacd},   {0xae2, 0xae3},   {0xafa, 0xb03},
    {0xb3c, 0xb3c},   {0xb3e, 0xb57},   {0xb62, 0xb63},   {0xb82, 0xb82},   {0xbbe, 0xbcd},
    {0xbd7, 0xbd7},   {0xc00, 0xc04},   {0xc3c, 0xc3c},   {0xc3e, 0xc56},   {0xc62, 0xc63},
    {0xc81, 0xc83},   {0xcbc, 0xcbc},   {0xcbe, 0xcd6},   {0xce2, 0xce3},   {0xd00, 0xd03},
    {0xd3b, 0xd3c},   {0xd3e, 0xd4d},   {0xd57, 0xd57},   {0xd62, 0xd63},   {0xd81, 0xd83},
    {0xdca, 0xddf},   {0xdf2, 0xdf3},   {0xe31, 0xe31},   {0xe34, 0xe3a},   {0xe47, 0xe4e},
    {0xeb1, 0xeb1},   {0xeb4, 0xebc},   {0xec8, 0xecd},   {0xf18, 0xf19},   {0xf35, 0xf35},
    {0xf37, 0xf37},   {0xf39, 0xf39},   {0xf3e, 0xf3f},   {0xf71, 0xf84},   {0xf86, 0xf87},
    {0xf8d, 0xfbc},   {0xfc6, 0xfc6},   {0x102b, 0x103e}, {0x1056, 0x1059}, {0x105e, 0x1060},
    {0x1062, 0x1064}, {0x1067, 0x106d}, {0x1071, 0x1074}, {0x1082, 0x108d}, {0x108f, 0x108f},
    {0x109a, 0x109d}, {0x135d, 0x135f}, {0x1712, 0x1715}, {0x1732, 0x1734}, {0x1752, 0x1753},
    {0x1772, 0x1773}, {0x17b4, 0x17d3}, {0x17dd, 0x17dd}, {0x180b, 0x180d}, {0x180f, 0x180f},
    {0x1885, 0x1886}, {0x18a9, 0x18a9}, {0x1920, 0x193b}, {0x1a17, 0x1a1b}, {0x1a55, 0x1a7f},
    {0x1ab0, 0x1b04}, {0x1b34, 0x1b44}, {0x1b6b, 0x1b73}, {0x1b80, 0x1b82}, {0x1ba1, 0x1bad},
    {0x1be6, 0x1bf3}, {0x1c24, 0x1c37}, {0x1cd0, 0x1cd2}, {0x1cd4, 0x1ce8}, {0x1ced, 0x1ced},
    {0x1cf4, 0x1cf4}, {0x1cf7, 0x1cf9}, {0x1dc0, 0x1dff}, {0x20d0, 0x20f0}, {0x2cef, 0x2cf1},
    {0x2d7f, 0x2d7f}, {0x2de0, 0x2dff}, {0x302a, 0x302f}, {0x3099, 0x309a}, {0xa66f, 0xa672},
    {0xa674, 0xa67d}, {0xa69e, 0xa69f}, {0xa6f0, 0xa6f1}, {0xa802, 0xa802}, {0xa806, 0xa806},
    {0xa80b, 0xa80b}, {0xa823, 0xa827}, {0xa82c, 0xa82c}, {0xa880, 0xa881}, {0xa8b4, 0xa8c5},
    {0xa8e0, 0xa8f1}, {0xa8ff, 0xa8ff}, {0xa926, 0xa92d}, {0xa947, 0xa953}, {0xa980, 0xa983},
    {0xa9b3, 0xa9c0}, {0xa9e5, 0xa9e5}, {0xaa29, 0xaa36}, {0xaa43, 0xaa43}, {0xaa4c, 0xaa4d},
    {0xaa7b, 0xaa7d}, {0xaab0, 0xaab0}, {0xaab2, 0xaab4}, {0xaab7, 0xaab8}, {0xaabe, 0xaabf},
    {0xaac1, 0xaac1}, {0xaaeb, 0xaaef}, {0xaaf5, 0xaaf6}, {0xabe3, 0xabea}, {0xabec, 0xabed},
    {0xfb1e, 0xfb1e}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

/* Runs of DISALLOWED characters (RFC 5892 section 2). */
static const struct range disallowed[] = {
    {0x0, 0x2c},        {0x2e, 0x2f},        {0x3a, 0x60},       {0x7b, 0xb6},
    {0xb8, 0xde},       {0xf7, 0xf7},        {0x2d2, 0x2eb},     {0x2ef, 0x2ff},
    {0x37e, 0x38f},     {0x391, 0x3ab},      {0x3fd, 0x42f},     {0x531, 0x556},
    {0x600, 0x60f},     {0x640, 0x640},      {0x700, 0x70f},     {0x7f6, 0x7fa},
    {0xfc7, 0xfda},     {0x109e, 0x10cd},    {0x1360, 0x137c},   {0x1390, 0x1400},
    {0x17f0, 0x180a},   {0x19da, 0x19ff},    {0x1b5a, 0x1b6a},   {0x1c7e, 0x1cc7},
    {0x1d3c, 0x1d4d},   {0x1d4f, 0x1d6a},    {0x1d9b, 0x1dbf},   {0x1f7d, 0x1faf},
    {0x1ff7, 0x200b},   {0x200e, 0x20c0},    {0x2100, 0x214d},   {0x214f, 0x2183},
    {0x2185, 0x2c2f},   {0x2e00, 0x2e2e},    {0x2e30, 0x3004},   {0x3008, 0x3029},
    {0x302e, 0x303b},   {0x3131, 0x319f},    {0x31c0, 0x31e3},   {0x3200, 0x33ff},
    {0x4dc0, 0x4dff},   {0xa490, 0xa4c6},    {0xa6f2, 0xa716},   {0xab69, 0xabbf},
    {0xd800, 0xfa0d},   {0xfa2a, 0xfb1d},    {0xfb1f, 0xfdff},   {0xfe30, 0xfe72},
    {0xfe74, 0xfffd},   {0x10100, 0x101fc},  {0x102e1, 0x102fb}, {0x103d0, 0x10427},
    {0x104b0, 0x104d3}, {0x1056f, 0x10595},  {0x10781, 0x107ba}, {0x109c0, 0x109ff},
    {0x10a40, 0x10a58}, {0x10b99, 0x10baf},  {0x10c80, 0x10cb2}, {0x10e60, 0x10e7e},
    {0x11047, 0x11065}, {0x111dd, 0x111f4},  {0x115c1, 0x115d7}, {0x1183b, 0x118bf},
    {0x11c5a, 0x11c71}, {0x11fc0, 0x11fff},  {0x12400, 0x12474}, {0x16e40, 0x16e5f},
    {0x16e80, 0x16e9a}, {0x1cf50, 0x1d164},  {0x1d18c, 0x1d1a9}, {0x1d1ae, 0x1d241},
    {0x1d245, 0x1d9ff}, {0x1e900, 0x1e921},  {0x1e95e, 0x1fbf9}, {0x2f800, 0x2fa1d},
    {0xe0001, 0xe007f}, {0xf0000, 0x10fffd},
};

static const struct range viramas[] = {
    {0x94d, 0x94d},     {0x9cd, 0x9cd},     {0xa4d, 0xa4d},     {0xacd, 0xacd},
    {0xb4d, 0xb4d},     {0xbcd, 0xbcd},     {0xc4d, 0xc4d},     {0xccd, 0xccd},
    {0xd3b, 0xd3c},     {0xd4d, 0xd4d},     {0xdca, 0xdca},     {0xe3a, 0xe3a},
    {0xeba, 0xeba},     {0xf84, 0xf84},     {0x1039, 0x103a},   {0x1714, 0x1715},
    {0x1734, 0x1734},   {0x17d2, 0x17d2},   {0x1a60, 0x1a60},   {0x1b44, 0x1b44},
    {0x1baa, 0x1bab},   {0x1bf2, 0x1bf3},   {0x2d7f, 0x2d7f},   {0xa806, 0xa806},
    {0xa82c, 0xa82c},   {0xa8c4, 0xa8c4},   {0xa953, 0xa953},   {0xa9c0, 0xa9c0},
    {0xaaf6, 0xaaf6},   {0xabed, 0xabed},   {0x10a3f, 0x10a3f}, {0x11046, 0x11046},
    {0x11070, 0x11070}, {0x1107f, 0x1107f}, {0x110b9, 0x110b9}, {0x11133, 0x11134},
    {0x111c0, 0x111c0}, {0x11235, 0x11235}, {0x112ea, 0x112ea}, {0x1134d, 0x1134d},
    {0x11442, 0x11442}, {0x114c2, 0x114c2}, {0x115bf, 0x115bf}, {0x1163f, 0x1163f},
    {0x116b6, 0x116b6}, {0x1172b, 0x1172b}, {0x11839, 0x11839}, {0x1193d, 0x1193e},
    {0x119e0, 0x119e0}, {0x11a34, 0x11a34}, {0x11a47, 0x11a47}, {0x11a99, 0x11a99},
    {0x11c3f, 0x11c3f}, {0x11d44, 0x11d45}, {0x11d97, 0x11d97},
};

static const struct range greek[] = {{0x370, 0x3e1}, {0x3f0, 0x3ff}, {0x1f00, 0x1fff}};
static const struct range hebrew[] = {{0x591, 0x5f4}, {0xfb1d, 0xfb4f}};
static const struct range japanese[] = {
    {0x3005, 0x3005}, {0x3007, 0x3007},   {0x3021, 0x3029},   {0x3041, 0x3096}, {0x309d, 0x309f},
    {0x30a1, 0x30fa}, {0x30fd, 0x30ff},   {0x31f0, 0x31ff},   {0x3400, 0x4dbf}, {0x4e00, 0x9fff},
    {0xf900, 0xfaff}, {0x1b000, 0x1b16f}, {0x20000, 0x3ffff},
};
static const struct range right_to_left[] = {
    {0x590, 0x8ff}, {0xfb1d, 0xfdff}, {0xfe70, 0xfeff}, {0x10800, 0x10fff}, {0x1e800, 0x1efff}};

/* Arabic letters that join their neighbours, and those of them that join only the one before. */
static const struct range joining[] = {
    {0x620, 0x620}, {0x622, 0x63f}, {0x641, 0x64a}, {0x66e, 0x66f}, {0x671, 0x673}, {0x675, 0x6d3},
    {0x6d5, 0x6d5}, {0x6ee, 0x6ef}, {0x6fa, 0x6fc}, {0x6ff, 0x6ff}, {0x750, 0x77f},
};
static const struct range joining_before[] = {
    {0x622, 0x625}, {0x627, 0x627}, {0x629, 0x629}, {0x62f, 0x632}, {0x648, 0x648},
    {0x671, 0x673}, {0x675, 0x677}, {0x688, 0x699}, {0x6c0, 0x6c0}, {0x6c3, 0x6cb},
    {0x6cd, 0x6cd}, {0x6cf, 0x6cf}, {0x6d2, 0x6d3}, {0x6d5, 0x6d5}, {0x6ee, 0x6ef},
    {0x759, 0x75b}, {0x76b, 0x76c}, {0x771, 0x771}, {0x773, 0x774}, {0x778, 0x779},
};

static bool
ranges_have(const struct range *ranges, size_t count, uint32_t point)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (ranges[middle].last < point)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && ranges[low].first <= point;
}
#define IN(ranges, point) ranges_have(ranges, ARRAY_LEN(ranges), point)

/* ---- Punycode (RFC 3492) ---- */

enum { BASE = 36, TMIN = 1, TMAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 0x80 };

static uint32_t
bias_adapt(uint64_t delta, size_t count, bool first)
{
	uint32_t k = 0;

	delta /= first ? DAMP : 2;
	delta += delta / count;
	for (; delta > (BASE - TMIN) * TMAX / 2; k += BASE)
		delta /= BASE - TMIN;
	return k + (uint32_t)((BASE - TMIN + 1) * delta / (delta + SKEW));
}

static uint32_t
threshold(uint32_t k, uint32_t bias)
{
	return k <= bias + TMIN ? TMIN : k >= bias + TMAX ? TMAX : k - bias;
}

/* Digits of one number, appended to out; false: no room. */
static bool
number_encode(uint64_t number, uint32_t bias, struct label *out)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	for (uint32_t k = BASE; out->count < LABEL_MAX; k += BASE) {
		uint32_t t = threshold(k, bias);
		CHECK(t >= TMIN && t <= TMAX);
		if (number < t) {
			out->points[out->count++] = (uint32_t)digits[number];
			return true;
		}
		out->points[out->count++] = (uint32_t)digits[t + (number - t) % (BASE - t)];
		number = (number - t) / (BASE - t);
	}
	return false;
}

/* The A-label of a U-label; false when it has more than 63 characters. */
static bool
label_encode(const struct label *in, struct label *out)
{
	uint32_t next = FIRST, bias = BIAS;
	uint64_t delta = 0;
	size_t basic = 0;

	*out = (struct label){{'x', 'n', '-', '-'}, PREFIX};
	for (size_t i = 0; i < in->count; i++)
		if (in->points[i] < FIRST) {
			if (out->count == LABEL_MAX)
				return false;
			out->points[out->count++] = in->points[i];
			basic++;
		}
	if (basic > 0 && out->count < LABEL_MAX)
		out->points[out->count++] = '-';
	for (size_t done = basic; done < in->count; next++, delta++) {
		uint32_t least = UINT32_MAX;
		for (size_t i = 0; i < in->count; i++)
			if (in->points[i] >= next && in->points[i] < least)
				least = in->points[i];
		delta += (uint64_t)(least - next) * (done + 1);
		next = least;
		for (size_t i = 0; i < in->count; i++) {
			delta += in->points[i] < next;
			if (in->points[i] != next)
				continue;
			if (!number_encode(delta, bias, out))
				return false;
			bias = bias_adapt(delta, done + 1, done == basic);
			delta = 0;
			done++;
		}
	}
	return true;
}

/* One number from its digits at *at; false: no such digits, or a number out of all proportion. */
static bool
number_decode(const struct label *in, size_t *at, uint32_t bias, uint64_t *ret)
{
	uint64_t weight = 1;

	*ret = 0;
	for (uint32_t k = BASE; *at < in->count && weight < UINT32_MAX; k += BASE) {
		uint32_t c = in->points[(*at)++], t = threshold(k, bias);
		uint32_t digit = c >= 'a' && c <= 'z'   ? c - 'a'
				 : c >= '0' && c <= '9' ? c - '0' + 26
							: BASE;
		if (digit == BASE)
			return false;
		*ret += digit * weight;
		if (digit < t)
			return true;
		weight *= BASE - t;
	}
	return false;
}

/* The U-label of an A-label in lower case. */
static bool
label_decode(const struct label *in, struct label *out)
{
	uint64_t next = FIRST, where = 0, number;
	uint32_t bias = BIAS;
	size_t at = PREFIX;

	out->count = 0;
	for (size_t i = in->count; i > PREFIX; i--)
		if (in->points[i - 1] == '-') { /* what stands before the last one is text */
			for (; at < i - 1; at++)
				out->points[out->count++] = in->points[at];
			at = i;
			break;
		}
	for (bool first = true; at < in->count; first = false) {
		if (!number_decode(in, &at, bias, &number))
			return false;
		bias = bias_adapt(number, out->count + 1, first);
		next += (where + number) / (out->count + 1);
		where = (where + number) % (out->count + 1);
		if (next > 0x10ffff || out->count == LABEL_MAX)
			return false;
		memmove(out->points + where + 1, out->points + where,
			(out->count - where) * sizeof(out->points[0]));
		out->points[where++] = (uint32_t)next;
		out->count++;
	}
	return true;
}

/* ---- what may stand in a label ---- */

static uint32_t
point_at(const struct label *l, size_t i)
{
	return i < l->count ? l->points[i] : 0;
}

/* The next character that is no mark, in steps of 1 or -1; 0: none. */
static uint32_t
beyond_marks(const struct label *l, size_t i, size_t step)
{
	do
		i += step; /* wraps behind 0 to what is past the end */
	while (IN(marks, point_at(l, i)));
	return point_at(l, i);
}

/* RFC 5892 appendix A.1 */
static bool
non_joiner_fits(const struct label *l, size_t i)
{
	uint32_t before = beyond_marks(l, i, (size_t)-1), after = beyond_marks(l, i, 1);

	return IN(viramas, point_at(l, i - 1)) ||
	       (IN(joining, before) && !IN(joining_before, before) && IN(joining, after));
}

static bool
label_has(const struct label *l, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < l->count; i++)
		if (ranges_have(ranges, count, l->points[i]))
			return true;
	return false;
}

/* RFC 5892 appendix A: characters that are allowed only where they belong. */
static bool
point_fits(const struct label *l, size_t i)
{
	static const struct range arabic_digits[] = {{0x660, 0x669}};
	static const struct range persian_digits[] = {{0x6f0, 0x6f9}};
	uint32_t point = l->points[i], before = point_at(l, i - 1), after = point_at(l, i + 1);

	switch (point) {
	case 0xb7: return before == 'l' && after == 'l';
	case 0x375: return IN(greek, after);
	case 0x5f3:
	case 0x5f4: return IN(hebrew, before);
	case 0x30fb: return label_has(l, japanese, ARRAY_LEN(japanese));
	case 0x200c: return non_joiner_fits(l, i);
	case 0x200d: return IN(viramas, before);
	}
	if (IN(arabic_digits, point))
		return !label_has(l, persian_digits, 1);
	return !IN(disallowed, point);
}

/* The classes of UAX 9 as far as the rule tells them apart: R is AL too, ON is ES and BN too. */
enum bidi { L = 1, R = 2, EN = 4, AN = 8, NSM = 16, ON = 32 };

static enum bidi
bidi_class(uint32_t point)
{
	if ((point >= '0' && point <= '9') || (point >= 0x6f0 && point <= 0x6f9))
		return EN;
	if (point >= 0x660 && point <= 0x669)
		return AN;
	if (IN(marks, point)) /* those of Indic scripts are not all L, but none belongs to an R */
		return point < 0x900 ? NSM : L;
	if (point == '-' || point == 0x200c || point == 0x200d)
		return ON;
	return IN(right_to_left, point) ? R : L;
}

/* RFC 5893 section 2; *ret_right is set for a label that makes the whole name obey it. */
static bool
label_obeys_bidi(const struct label *l, bool *ret_right)
{
	unsigned seen = 0, last = 0;

	for (size_t i = 0; i < l->count; i++) {
		unsigned class = bidi_class(l->points[i]);
		seen |= class;
		last = class == NSM ? last : class;
	}
	*ret_right |= (seen & (R | AN)) != 0;
	switch (bidi_class(l->points[0])) {
	case L: return !(seen & (R | AN)) && (last & (L | EN));
	case R: return !(seen & L) && (last & (R | EN | AN)) && (~seen & (EN | AN));
	default: return false;
	}
}

static bool
label_is_ascii(const struct label *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->points[i] >= 0x80)
			return false;
	return true;
}

/* RFC 5891 section 4.2.3 */
static bool
label_is_international(const struct label *l)
{
	if (IN(marks, l->points[0]) || (point_at(l, 2) == '-' && point_at(l, 3) == '-'))
		return false;
	for (size_t i = 0; i < l->count; i++)
		if (!point_fits(l, i))
			return false;
	return true;
}

/* Letters, digits and hyphens, made lower case. */
static bool
label_lower(struct label *l)
{
	for (size_t i = 0; i < l->count; i++) {
		if (!format_is_among((char)l->points[i], "-"))
			return false;
		if (l->points[i] >= 'A' && l->points[i] <= 'Z')
			l->points[i] += 'a' - 'A';
	}
	return true;
}

static bool
label_is_encoded(const struct label *l)
{
	return l->count > PREFIX && l->points[0] == 'x' && l->points[1] == 'n' &&
	       l->points[2] == '-' && l->points[3] == '-';
}

/* The label, as U-label where it is not plain ASCII, and the bytes it has in the DNS. */
static bool
label_check(struct label *l, size_t *ret_bytes)
{
	struct label encoded, decoded;

	if (l->count == 0 || l->points[0] == '-' || l->points[l->count - 1] == '-')
		return false;
	*ret_bytes = l->count;
	if (label_is_ascii(l)) {
		if (!label_lower(l))
			return false;
		if (!label_is_encoded(l))
			return true;
		/* Decoded and encoded again it must be the same, or two names would be one. */
		if (!label_decode(l, &decoded) || label_is_ascii(&decoded) ||
		    !label_encode(&decoded, &encoded) || encoded.count != l->count ||
		    memcmp(encoded.points, l->points, l->count * sizeof(l->points[0])) != 0)
			return false;
		*l = decoded;
		if (l->points[0] == '-' || l->points[l->count - 1] == '-')
			return false;
	} else {
		if (!label_encode(l, &encoded))
			return false;
		*ret_bytes = encoded.count;
	}
	return label_is_international(l);
}

/* Read one label; *ret_more tells whether a separator stood behind it (RFC 3490 section 3.1). */
static bool
label_take(struct str *rest, struct label *l, bool *ret_more)
{
	uint32_t point;

	l->count = 0;
	*ret_more = false;
	while (rest->len > 0) {
		size_t n = str_utf8_char(*rest, &point);
		if (n == 0)
			return false;
		*rest = str_from(*rest, n);
		if (point == '.' || point == 0x3002 || point == 0xff0e || point == 0xff61) {
			*ret_more = true;
			return true;
		}
		if (l->count == LABEL_MAX)
			return false;
		l->points[l->count++] = point;
	}
	return true;
}

bool
schema__is_idn_hostname(struct str text)
{
	struct label l;
	size_t bytes, total = 0;
	bool more = true, right = false, unruly = false;

	while (more) {
		if (!label_take(&text, &l, &more) || !label_check(&l, &bytes))
			return false;
		total += bytes + more;
		if (total > HOST_MAX)
			return false;
		unruly |= !label_obeys_bidi(&l, &right);
	}
	return !(right && unruly);
}

/* RFC 1123 section 2.1, where an A-label must be a real one (RFC 5890 section 2.3.2.1). */
bool
schema__is_hostname(struct str text)
{
	if (text.len > HOST_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!format_is_among(text.ptr[i], "-."))
			return false;
	return schema__is_idn_hostname(text);
}
