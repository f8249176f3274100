/*
 * regex.c - ECMA 262 regular expressions (with the u flag) written the way PCRE2 reads them.
 *
 * One pass over the pattern, one function per kind of thing in it. What both engines read alike
 * is copied; the rest is said in words that PCRE2 cannot take otherwise: sets as ranges, characters
 * as themselves, references by number in braces. Nothing reaches PCRE2 that is not known here, so
 * that no verb, callout or recursion gets in.
 *
 * Left to PCRE2, which refuses them: lookbehind without a fixed length, {n} over 65535, names with
 * a '$' or over 32 bytes. Not the same in PCRE2: a group repeated keeps what it captured in an
 * earlier round and may capture nothing in a last one, properties have their case under the flag i,
 * and ^ and $ under the flag m know only \n as the end of a line.
 */

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>

#include "base/limits.h"
#include "schema/format.h"

struct flags {
	bool dotall, caseless; /* s, i */
};

struct group {
	struct flags flags; /* outside of it */
	size_t begin;       /* in out */
	bool repeatable;    /* no lookaround */
};

struct regex {
	struct str in;
	size_t at;
	bool strict;
	struct buf *out;
	struct err *e;

	struct flags flags;
	bool repeatable;    /* a quantifier may follow */
	size_t begin, last; /* in out: of what is being read, and of what stands before it */
	struct group groups[LIMIT_PATTERN_GROUPS];
	unsigned depth;
	unsigned captures, farthest; /* groups, and the highest number referred to */
	struct str names[LIMIT_PATTERN_NAMES], named[LIMIT_PATTERN_NAMES]; /* given, referred to */
	unsigned name_count, named_count;
};

static int
wrong(struct regex *r, const char *why)
{
	return err_set(r->e, E_VALIDATION, "%s, at byte %zu of the pattern", why, r->at);
}

/* For what other engines have and ECMA 262 has not. */
static int
foreign(struct regex *r, const char *why)
{
	return r->strict ? wrong(r, why) : 0;
}

static struct str
rest(const struct regex *r)
{
	return str_from(r->in, r->at);
}

static char
peek(const struct regex *r) /* NUL at the end, too */
{
	return r->at < r->in.len ? r->in.ptr[r->at] : '\0';
}

static bool
skip(struct regex *r, struct str word)
{
	if (!str_starts(rest(r), word))
		return false;
	r->at += word.len;
	return true;
}

/* ---- characters ---- */

static bool
is_surrogate(uint32_t point)
{
	return point >= 0xd800 && point <= 0xdfff;
}

/* Never matches, and takes a quantifier, which PCRE2 ignores behind a bare []. */
#define NOTHING "(?:[])"

/* A character that means itself, inside and outside of a class. */
static void
point_write(struct buf *out, uint32_t point)
{
	char c = (char)point;

	if (point < 0x20 || (point >= 0x7f && point < 0xa0)) {
		buf_addf(out, "\\u%04x", point);
	} else if (point < 0x80) {
		if (!format_is_alnum(c))
			buf_addc(out, '\\');
		buf_addc(out, c);
	} else if (point < 0x800) {
		buf_addc(out, (char)(0xc0 | point >> 6));
		buf_addc(out, (char)(0x80 | (point & 0x3f)));
	} else {
		if (point < 0x10000) {
			buf_addc(out, (char)(0xe0 | point >> 12));
		} else {
			buf_addc(out, (char)(0xf0 | point >> 18));
			buf_addc(out, (char)(0x80 | (point >> 12 & 0x3f)));
		}
		buf_addc(out, (char)(0x80 | (point >> 6 & 0x3f)));
		buf_addc(out, (char)(0x80 | (point & 0x3f)));
	}
}

/* The next character of the pattern as it stands there. */
static int
plain_read(struct regex *r, uint32_t *ret)
{
	size_t n = str_utf8_char(rest(r), ret);

	if (n == 0)
		return wrong(r, "no UTF-8");
	r->at += n;
	return 0;
}

/* A number of min to max digits; stops before one that makes it larger than any character. */
static bool
number_read(struct regex *r, unsigned base, unsigned min, unsigned max, uint32_t *ret)
{
	unsigned count = 0;

	*ret = 0;
	for (; count < max; count++) {
		int digit = format_hex(peek(r));
		uint32_t more = *ret * base + (uint32_t)digit;
		if (digit < 0 || digit >= (int)base || more > 0x10ffff)
			break;
		*ret = more;
		r->at++;
	}
	return count >= min;
}

/* \u1234, \u{1f432}, \ud83d\udc32; at stands behind the u. */
static int
unicode_read(struct regex *r, uint32_t *ret)
{
	uint32_t low;

	if (skip(r, S("{"))) {
		if (!number_read(r, 16, 1, UINT32_MAX, ret) || !skip(r, S("}")))
			return wrong(r, "\\u{ without a character's number and }");
		return 0;
	}
	if (!number_read(r, 16, 4, 4, ret))
		return wrong(r, "\\u without four hexadecimal digits");
	size_t behind = r->at;
	if (*ret >= 0xd800 && *ret <= 0xdbff && skip(r, S("\\u")) &&
	    number_read(r, 16, 4, 4, &low) && low >= 0xdc00 && low <= 0xdfff)
		*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
	else
		r->at = behind;
	return 0;
}

/* \x41, and the \x{1f432} of other engines. */
static int
hex_read(struct regex *r, uint32_t *ret)
{
	if (peek(r) == '{' && !r->strict)
		return unicode_read(r, ret);
	if (!number_read(r, 16, 2, 2, ret))
		return wrong(r, "\\x without two hexadecimal digits");
	return 0;
}

static int
control_read(struct regex *r, uint32_t *ret)
{
	if (!format_is_letter(peek(r)))
		return wrong(r, "\\c without a letter");
	*ret = (uint32_t)r->in.ptr[r->at++] & 0x1f;
	return 0;
}

/* \0, and the \012 of other engines. at stands before the first digit. */
static int
octal_read(struct regex *r, uint32_t *ret)
{
	struct str digits = rest(r);
	bool lone_zero =
	    digits.ptr[0] == '0' && !(digits.len > 1 && format_is_digit(digits.ptr[1]));

	if (!lone_zero && foreign(r, "a character by its octal number") < 0)
		return E_VALIDATION;
	if (!number_read(r, 8, 1, 3, ret))
		return wrong(r, "a backslash before a digit");
	return 0;
}

/* An escape that stands for one character; at stands behind the backslash. */
static int
escape_read(struct regex *r, bool in_class, uint32_t *ret)
{
	static const struct {
		char letter;
		bool foreign;
		uint32_t point;
		int (*read)(struct regex *r, uint32_t *ret);
	} rows[] = {
	    {'t', false, '\t', NULL},      {'n', false, '\n', NULL},  {'v', false, '\v', NULL},
	    {'f', false, '\f', NULL},      {'r', false, '\r', NULL},  {'a', true, '\a', NULL},
	    {'u', false, 0, unicode_read}, {'x', false, 0, hex_read}, {'c', false, 0, control_read},
	};
	char c = peek(r);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (c != rows[i].letter || (rows[i].foreign && r->strict))
			continue;
		r->at++;
		*ret = rows[i].point;
		return rows[i].read ? rows[i].read(r, ret) : 0;
	}
	if (format_is_digit(c))
		return octal_read(r, ret);
	/* A letter that nobody knows may mean anything in the author's engine. */
	if (format_is_letter(c))
		return wrong(r, "an unknown letter behind a backslash");
	bool syntax = c && strchr("^$\\.*+?()[]{}|/", c);
	if (!syntax && !(in_class && c == '-') &&
	    foreign(r, "a backslash before what needs none") < 0)
		return E_VALIDATION;
	return plain_read(r, ret);
}

/* ---- sets ---- */

/* White space and ends of lines (ECMA 262 section 12.2 and 12.3), and everything else. */
#define SPACE "\\t-\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
#define NO_SPACE                                                                                   \
	"\\u0000-\\u0008\\u000e-\\u001f!-\\u009f\\u00a1-\\u167f\\u1681-\\u1fff\\u200b-\\u2027"     \
	"\\u202a-\\u202e\\u2030-\\u205e\\u2060-\\u2fff\\u3001-\\ufefe\\uff00-\U0010ffff"

/* Written out, since PCRE2 forgets what its own \D and \W have over 255 beside \p in a class. */
#define NO_DIGIT "\\u0000-/:-\U0010ffff"
#define WORD "0-9A-Z_a-z"
#define NO_WORD_ASCII "\\u0000-/:-@\\[-\\^`{-"
#define NO_WORD NO_WORD_ASCII "\U0010ffff"

/* Without regard to case \u017f is an s, and \u212a a k (ECMA 262, WordCharacters). */
#define NO_WORD_CASELESS NO_WORD_ASCII "\\u017e\\u0180-\\u2129\\u212b-\U0010ffff"
#define BORDER_CASELESS "(?:(?<=[" WORD "])(?![" WORD "])|(?<![" WORD "])(?=[" WORD "]))"
#define NO_BORDER_CASELESS "(?:(?<=[" WORD "])(?=[" WORD "])|(?<![" WORD "])(?![" WORD "]))"

enum {
	CASELESS = 1,  /* only where case does not count; before the row for where it does */
	FOREIGN = 2,   /* not in ECMA 262 */
	ASSERTION = 4, /* takes no quantifier */
};

static const struct {
	char letter;
	int kind;
	const char *outside, *inside; /* of a class; NULL: not there */
} sets[] = {
    {'d', 0, "\\d", "0-9"},
    {'D', 0, "\\D", NO_DIGIT},
    {'w', 0, "[" WORD "]", WORD},
    {'W', CASELESS, "[^" WORD "]", NO_WORD_CASELESS},
    {'W', 0, "[^" WORD "]", NO_WORD},
    {'s', 0, "[" SPACE "]", SPACE},
    {'S', 0, "[^" SPACE "]", NO_SPACE},
    {'b', CASELESS | ASSERTION, BORDER_CASELESS, NULL},
    {'b', ASSERTION, "\\b", NULL},
    {'B', CASELESS | ASSERTION, NO_BORDER_CASELESS, NULL},
    {'B', ASSERTION, "\\B", NULL},
    {'A', FOREIGN | ASSERTION, "\\A", NULL},
    {'z', FOREIGN | ASSERTION, "\\z", NULL},
    {'Z', FOREIGN | ASSERTION, "\\z", NULL}, /* Python's; Perl's would let a newline through */
};

/* General categories by their long names (PropertyValueAliases.txt); PCRE2 has the short ones. */
static const struct {
	const char *name, *names; /* short, the others with blanks around */
} categories[] = {
    {"C", " Other "},
    {"Cc", " Control cntrl "},
    {"Cf", " Format "},
    {"Cn", " Unassigned "},
    {"Co", " Private_Use "},
    {"Cs", " Surrogate "},
    {"L", " Letter "},
    {"L&", " LC Cased_Letter "},
    {"Ll", " Lowercase_Letter "},
    {"Lm", " Modifier_Letter "},
    {"Lo", " Other_Letter "},
    {"Lt", " Titlecase_Letter "},
    {"Lu", " Uppercase_Letter "},
    {"M", " Mark Combining_Mark "},
    {"Mc", " Spacing_Mark "},
    {"Me", " Enclosing_Mark "},
    {"Mn", " Nonspacing_Mark "},
    {"N", " Number "},
    {"Nd", " Decimal_Number digit "},
    {"Nl", " Letter_Number "},
    {"No", " Other_Number "},
    {"P", " Punctuation punct "},
    {"Pc", " Connector_Punctuation "},
    {"Pd", " Dash_Punctuation "},
    {"Pe", " Close_Punctuation "},
    {"Pf", " Final_Punctuation "},
    {"Pi", " Initial_Punctuation "},
    {"Po", " Other_Punctuation "},
    {"Ps", " Open_Punctuation "},
    {"S", " Symbol "},
    {"Sc", " Currency_Symbol "},
    {"Sk", " Modifier_Symbol "},
    {"Sm", " Math_Symbol "},
    {"So", " Other_Symbol "},
    {"Z", " Separator "},
    {"Zl", " Line_Separator "},
    {"Zp", " Paragraph_Separator "},
    {"Zs", " Space_Separator "},
};

/*
 * ECMA 262's binary properties; PCRE2 has them by the same names, all but
 * Changes_When_NFKC_Casefolded.
 */
static const char binaries[] =
    " ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Bidi_Control Bidi_C Bidi_Mirrored Bidi_M "
    "Case_Ignorable CI Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM "
    "Changes_When_Lowercased CWL Changes_When_Titlecased CWT "
    "Changes_When_Uppercased CWU Dash Default_Ignorable_Code_Point DI Deprecated Dep Diacritic Dia "
    "Emoji Emoji_Component EComp Emoji_Modifier EMod Emoji_Modifier_Base EBase "
    "Emoji_Presentation EPres Extended_Pictographic ExtPict Extender Ext Grapheme_Base Gr_Base "
    "Grapheme_Extend Gr_Ext Hex_Digit Hex IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST "
    "ID_Continue IDC ID_Start IDS Ideographic Ideo Join_Control Join_C Logical_Order_Exception LOE "
    "Lowercase Lower Math Noncharacter_Code_Point NChar Pattern_Syntax Pat_Syn "
    "Pattern_White_Space Pat_WS Quotation_Mark QMark Radical Regional_Indicator RI "
    "Sentence_Terminal STerm Soft_Dotted SD Terminal_Punctuation Term Unified_Ideograph UIdeo "
    "Uppercase Upper Variation_Selector VS White_Space space XID_Continue XIDC XID_Start XIDS ";

/* Is the name, which has no blanks, one of names, which have one before and behind each? */
static bool
name_among(const char *names, struct str name)
{
	const char *at = names;

	while (name.len > 0 && (at = memmem(at, strlen(at), name.ptr, name.len))) {
		if (at[-1] == ' ' && at[name.len] == ' ')
			return true;
		at += name.len;
	}
	return false;
}

static const char *
category_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(categories); i++)
		if (str_is(name, categories[i].name) || name_among(categories[i].names, name))
			return categories[i].name;
	return NULL;
}

/* PCRE2 has the list of scripts, of which there are more each year. */
static bool
script_is_known(struct str name)
{
	char text[64];
	int wrong_code;
	size_t wrong_at;
	int len = snprintf(text, sizeof(text), "\\p{sc:%.*s}", STR_ARG(name));

	if (name.len == 0 || name.ptr[0] < 'A' || name.ptr[0] > 'Z' || len >= (int)sizeof(text))
		return false;
	pcre2_code *code =
	    pcre2_compile((PCRE2_SPTR)text, (size_t)len, 0, &wrong_code, &wrong_at, NULL);
	pcre2_code_free(code);
	return code != NULL;
}

static struct str
word_read(struct regex *r)
{
	struct str word = rest(r);
	size_t n = 0;

	while (n < word.len && format_is_among(word.ptr[n], "_"))
		n++;
	r->at += n;
	return str_upto(word, n);
}

/* What PCRE2 wants before the name, which may become another; NULL: no such property. */
static const char *
property_prefix(const struct regex *r, struct str kind, struct str *name)
{
	const char *category = category_find(*name);

	if (category && (!kind.ptr || name_among(" General_Category gc ", kind))) {
		*name = str_of(category);
		return "";
	}
	if (kind.ptr) {
		bool known = !r->strict || script_is_known(*name);
		if (known && name_among(" Script sc ", kind))
			return "sc:";
		return known && name_among(" Script_Extensions scx ", kind) ? "scx:" : NULL;
	}
	if (str_is(*name, "Assigned")) {
		*name = S("Cn");
		return "^";
	}
	if (name_among(binaries, *name))
		return "";
	/* Go's \p{Greek}; without "sc:" PCRE2 would take what Greek shares with others, too. */
	return r->strict ? NULL : "sc:";
}

/*
 * \p{Name}, \p{Kind=Name} and Go's \pL; at stands behind the p. Alone it becomes a class, too:
 * PCRE2 takes \P{Lu} and \P{Nd} for sets without a common character, and never goes back from
 * the one to the other in \P{Lu}+\P{Nd}.
 */
static int
property_read(struct regex *r, char letter, bool in_class)
{
	struct str kind = {NULL, 0}, name = str_upto(rest(r), 1);

	if (format_is_letter(peek(r)) && !r->strict) {
		r->at++;
	} else {
		if (!skip(r, S("{")))
			return wrong(r, "\\p without {");
		name = word_read(r);
		if (skip(r, S("="))) {
			kind = name;
			name = word_read(r);
		}
		if (!skip(r, S("}")))
			return wrong(r, "\\p{ without }");
	}
	const char *prefix = property_prefix(r, kind, &name);
	if (!prefix)
		return wrong(r, "an unknown Unicode property");
	buf_addf(r->out, in_class ? "\\%c{%s%.*s}" : "[\\%c{%s%.*s}]", letter, prefix,
		 STR_ARG(name));
	return 0;
}

/* A set behind a backslash: 1 when it was one and is written, 0 when it is none. */
static int
set_read(struct regex *r, bool in_class)
{
	char c = peek(r);

	if (c == 'p' || c == 'P') {
		r->at++;
		r->repeatable = true;
		int code = property_read(r, c, in_class);
		return code < 0 ? code : 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		const char *text = in_class ? sets[i].inside : sets[i].outside;
		int kind = sets[i].kind;
		if (c != sets[i].letter || !text || (kind & FOREIGN && r->strict) ||
		    (kind & CASELESS && !r->flags.caseless))
			continue;
		r->at++;
		r->repeatable = !(kind & ASSERTION);
		buf_addz(r->out, text);
		return 1;
	}
	return 0;
}

/* ---- classes ---- */

/* One end of a range, or a set (already written). */
struct atom {
	bool set;
	uint32_t point;
};

static int
atom_read(struct regex *r, struct atom *ret)
{
	ret->set = false;
	if (!skip(r, S("\\")))
		return plain_read(r, &ret->point);
	if (skip(r, S("b"))) {
		ret->point = '\b';
		return 0;
	}
	int code = set_read(r, true);
	ret->set = code > 0;
	return code != 0 ? (code < 0 ? code : 0) : escape_read(r, true, &ret->point);
}

/* Halves of surrogate pairs do not occur in UTF-8: what there is of a range beside them. */
static void
range_write(struct buf *out, uint32_t low, uint32_t high)
{
	if (is_surrogate(low))
		low = 0xe000;
	if (is_surrogate(high))
		high = 0xd7ff;
	if (low > high)
		return;
	point_write(out, low);
	if (low < high) {
		buf_addc(out, '-');
		point_write(out, high);
	}
}

static void
atom_write(struct buf *out, const struct atom *a)
{
	if (!a->set)
		range_write(out, a->point, a->point);
}

static int
class_item_read(struct regex *r)
{
	struct atom low, high;
	int code = atom_read(r, &low);

	if (code < 0)
		return code;
	if (peek(r) != '-' || str_starts(rest(r), S("-]"))) {
		atom_write(r->out, &low);
		return 0;
	}
	r->at++;
	if ((code = atom_read(r, &high)) < 0)
		return code;
	if (low.set || high.set) { /* [\w-.], where all others take the - as one more character */
		atom_write(r->out, &low);
		point_write(r->out, '-');
		atom_write(r->out, &high);
		return foreign(r, "a range from or to a set");
	}
	if (low.point > high.point)
		return wrong(r, "a range that ends before it begins");
	range_write(r->out, low.point, high.point);
	return 0;
}

static int
class_read(struct regex *r)
{
	bool negated = str_starts(rest(r), S("[^"));
	int code;

	r->at += negated ? 2 : 1;
	buf_addz(r->out, negated ? "[^" : "[");
	size_t begin = r->out->len;
	while (peek(r) != ']') {
		if (r->at >= r->in.len)
			return wrong(r, "a [ without its ]");
		if ((code = class_item_read(r)) < 0)
			return code;
	}
	r->at++;
	if (!negated && !buf_failed(r->out) && r->out->len == begin) {
		r->out->len--;
		buf_addz(r->out, NOTHING);
	} else {
		buf_addc(r->out, ']');
	}
	r->repeatable = true;
	return 0;
}

/* ---- groups and references ---- */

/* A group's name and the character behind it. */
static int
name_read(struct regex *r, struct str end, struct str *ret)
{
	size_t start = r->at;

	while (format_is_among(peek(r), "_$") || (unsigned char)peek(r) >= 0x80)
		r->at++;
	*ret = (struct str){r->in.ptr + start, r->at - start};
	if (ret->len == 0 || format_is_digit(ret->ptr[0]) || !skip(r, end))
		return wrong(r, "no name for a group");
	return 0;
}

static bool
str_among(const struct str *list, unsigned count, struct str s)
{
	for (unsigned i = 0; i < count; i++)
		if (str_eq(list[i], s))
			return true;
	return false;
}

/*
 * A reference is a group of its own: PCRE2's machine code has a quantifier behind a bare one fail
 * where the group it means has not matched.
 */
static int
reference_write(struct regex *r, struct str name)
{
	if (r->named_count == LIMIT_PATTERN_NAMES)
		return wrong(r, "too many references to named groups");
	r->named[r->named_count++] = name;
	buf_addf(r->out, "(?:\\k<%.*s>)", STR_ARG(name));
	r->repeatable = true;
	return 0;
}

static int
name_write(struct regex *r, struct str name)
{
	if (r->name_count == LIMIT_PATTERN_NAMES)
		return wrong(r, "too many named groups");
	if (str_among(r->names, r->name_count, name))
		return wrong(r, "two groups of the same name");
	r->names[r->name_count++] = name;
	buf_addf(r->out, "(?<%.*s>", STR_ARG(name));
	r->captures++;
	return 0;
}

/* \1 to \99...; at stands before the digit. */
static int
backreference_read(struct regex *r)
{
	uint32_t number;

	number_read(r, 10, 1, UINT32_MAX, &number);
	if (number > r->farthest)
		r->farthest = number;
	buf_addf(r->out, "(?:\\g{%u})", number);
	r->repeatable = true;
	return 0;
}

static int
group_push(struct regex *r, bool repeatable)
{
	if (r->depth == LIMIT_PATTERN_GROUPS)
		return wrong(r, "groups too deep inside each other");
	r->groups[r->depth++] = (struct group){r->flags, r->begin, repeatable};
	r->repeatable = false;
	return 0;
}

/*
 * (?i:...), (?s-i:...), and the (?i) of other engines for what follows; at stands behind "(?".
 * Python's a and u have no effect on sets that are ASCII anyway. x is not among them: with it
 * blanks and comments would have to be told from characters.
 */
static int
flags_read(struct regex *r)
{
	char seen[8] = "";
	size_t count = 0;
	bool off = false;
	struct flags flags = r->flags;

	buf_addz(r->out, "(?");
	for (char c = peek(r); c && strchr(r->strict ? "ims-" : "ims-au", c); c = peek(r)) {
		if (strchr(seen, c))
			return wrong(r, "the same flag twice");
		seen[count++] = c;
		off |= c == '-';
		flags.dotall = c == 's' ? !off : flags.dotall;
		flags.caseless = c == 'i' ? !off : flags.caseless;
		if (c != 'a' && c != 'u')
			buf_addc(r->out, c);
		r->at++;
	}
	if (count == 0 || str_is((struct str){seen, count}, "-") ||
	    (peek(r) != ':' && peek(r) != ')'))
		return wrong(r, "an unknown kind of group");
	char end = peek(r);
	buf_addc(r->out, end);
	if (end == ')' && foreign(r, "flags for the rest of the pattern") < 0)
		return E_VALIDATION;
	r->at++;
	int code = end == ':' ? group_push(r, true) : 0;
	r->repeatable = false;
	r->flags = flags;
	return code;
}

/* (?<name>, and the (?P<name> and (?P=name) of other engines; at stands behind the < or =. */
static int
named_read(struct regex *r, bool group)
{
	struct str name;
	int code = name_read(r, group ? S(">") : S(")"), &name);

	if (code < 0)
		return code;
	if (!group)
		return reference_write(r, name);
	code = name_write(r, name);
	return code < 0 ? code : group_push(r, true);
}

static int
group_read(struct regex *r)
{
	static const struct {
		struct str opening;
		bool foreign, repeatable;
	} plain[] = {{{"(?:", 3}, false, true},   {{"(?=", 3}, false, false},
		     {{"(?!", 3}, false, false},  {{"(?<=", 4}, false, false},
		     {{"(?<!", 4}, false, false}, {{"(?>", 3}, true, true}};

	if (str_starts(rest(r), S("(*")))
		return wrong(r, "nothing to repeat");
	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		if ((plain[i].foreign && r->strict) || !skip(r, plain[i].opening))
			continue;
		buf_add(r->out, plain[i].opening);
		return group_push(r, plain[i].repeatable);
	}
	if (skip(r, S("(?<")) || (!r->strict && skip(r, S("(?P<"))))
		return named_read(r, true);
	if (!r->strict && skip(r, S("(?P=")))
		return named_read(r, false);
	if (!r->strict && skip(r, S("(?#"))) { /* a comment: a quantifier means what is before it */
		r->begin = r->last;
		ptrdiff_t end = str_index(rest(r), ')');
		r->at += end < 0 ? 0 : (size_t)end + 1;
		return end < 0 ? wrong(r, "a comment without its )") : 0;
	}
	if (skip(r, S("(?")))
		return flags_read(r);
	r->at++;
	r->captures++;
	buf_addc(r->out, '(');
	return group_push(r, true);
}

static int
group_end_read(struct regex *r)
{
	if (r->depth == 0)
		return wrong(r, "a ) without its (");
	r->depth--;
	r->flags = r->groups[r->depth].flags;
	r->begin = r->groups[r->depth].begin;
	r->repeatable = r->groups[r->depth].repeatable;
	r->at++;
	buf_addc(r->out, ')');
	return 0;
}

/* ---- the rest ---- */

static int
backslash_read(struct regex *r)
{
	uint32_t point;
	struct str name;

	r->at++;
	if (peek(r) >= '1' && peek(r) <= '9')
		return backreference_read(r);
	if (skip(r, S("k"))) {
		if (!skip(r, S("<")))
			return wrong(r, "\\k without <");
		int code = name_read(r, S(">"), &name);
		return code < 0 ? code : reference_write(r, name);
	}
	int code = set_read(r, false);
	if (code != 0)
		return code < 0 ? code : 0;
	if ((code = escape_read(r, false, &point)) < 0)
		return code;
	if (is_surrogate(point))
		buf_addz(r->out, NOTHING); /* not in any UTF-8 */
	else
		point_write(r->out, point);
	r->repeatable = true;
	return 0;
}

static size_t
digits_count(struct str s, size_t from)
{
	size_t n = 0;

	while (from + n < s.len && format_is_digit(s.ptr[from + n]))
		n++;
	return n;
}

/* {2}, {2,} or {2,3} at the front of s: its length, or 0. */
static size_t
braces_length(struct str s, uint64_t *ret_min, uint64_t *ret_max)
{
	size_t min_len = digits_count(s, 1), at = 1 + min_len, max_len = 0;
	bool comma = at < s.len && s.ptr[at] == ',';

	if (comma) {
		max_len = digits_count(s, at + 1);
		at += 1 + max_len;
	}
	if (min_len == 0 || at >= s.len || s.ptr[at] != '}')
		return 0;
	/* A number that is too large for us is too large for PCRE2, which will say so. */
	if (!str_to_u64((struct str){s.ptr + 1, min_len}, ret_min))
		*ret_min = UINT64_MAX;
	struct str max = {s.ptr + at - max_len, max_len};
	if (!comma)
		*ret_max = *ret_min;
	else if (!str_to_u64(max, ret_max))
		*ret_max = UINT64_MAX;
	return at + 1;
}

/*
 * What is left out by {0} becomes a group of its own: PCRE2, looking for what a match begins with,
 * would leave out only the first of its alternatives.
 */
static void
last_wrap(struct regex *r)
{
	static const struct str opening = {"(?:", 3};
	struct buf *out = r->out;
	size_t len = out->len - r->last;

	if (!buf_room(out, opening.len + 1))
		return;
	memmove(out->ptr + r->last + opening.len, out->ptr + r->last, len);
	memcpy(out->ptr + r->last, opening.ptr, opening.len);
	out->len += opening.len;
	buf_addc(out, ')');
}

static int
quantifier_read(struct regex *r)
{
	uint64_t min = 0, max = UINT64_MAX;
	size_t len = peek(r) == '{' ? braces_length(rest(r), &min, &max) : 1;

	if (len == 0) { /* "a{" and "{x}" are text in most engines */
		buf_addz(r->out, "\\{");
		r->repeatable = true;
		int code = foreign(r, "a { that is no quantifier");
		r->at++;
		return code;
	}
	if (min > max)
		return wrong(r, "a quantifier that ends before it begins");
	if (!r->repeatable && foreign(r, "nothing to repeat") < 0)
		return E_VALIDATION;
	if (r->repeatable && max == 0)
		last_wrap(r);
	buf_add(r->out, str_upto(rest(r), len));
	r->at += len;
	if (skip(r, S("?")))
		buf_addc(r->out, '?');
	r->repeatable = false;
	return 0;
}

static int
dot_read(struct regex *r)
{
	r->at++;
	r->repeatable = true;
	buf_addz(r->out, r->flags.dotall ? "[^]" : "[^\\n\\r\\u2028\\u2029]");
	return 0;
}

static int
bracket_read(struct regex *r) /* ] or } alone */
{
	int code = foreign(r, "a closing bracket without its opening one");

	point_write(r->out, (uint32_t)peek(r));
	r->repeatable = true;
	r->at++;
	return code;
}

static int
border_read(struct regex *r)
{
	buf_addc(r->out, peek(r));
	r->at++;
	r->repeatable = false;
	return 0;
}

static int
literal_read(struct regex *r)
{
	struct str from = rest(r);
	uint32_t point;
	int code = plain_read(r, &point);

	r->repeatable = true;
	if (code == 0)
		buf_add(r->out, str_upto(from, from.len - rest(r).len));
	return code;
}

/* What only the end shows: every ( closed, every reference to a group that is there. */
static int
end_check(struct regex *r)
{
	if (r->depth > 0)
		return wrong(r, "a ( without its )");
	if (r->farthest > r->captures)
		return wrong(r, "a reference to a group that is not there");
	for (unsigned i = 0; i < r->named_count; i++)
		if (!str_among(r->names, r->name_count, r->named[i]))
			return wrong(r, "a reference to a name that no group has");
	return 0;
}

int
schema__regex_write(struct buf *out, struct str ecma, bool strict, struct err *e)
{
	static int (*const readers[128])(struct regex *) = {
	    ['\\'] = backslash_read, ['['] = class_read,      ['('] = group_read,
	    [')'] = group_end_read,  ['*'] = quantifier_read, ['+'] = quantifier_read,
	    ['?'] = quantifier_read, ['{'] = quantifier_read, ['.'] = dot_read,
	    ['|'] = border_read,     ['^'] = border_read,     ['$'] = border_read,
	    [']'] = bracket_read,    ['}'] = bracket_read,
	};
	struct regex r = {.in = ecma, .strict = strict, .out = out, .e = e};

	while (r.at < ecma.len) {
		unsigned char c = (unsigned char)ecma.ptr[r.at];
		int (*read)(struct regex *) = c < 128 ? readers[c] : NULL;
		r.last = r.begin;
		r.begin = out->len;
		int code = read ? read(&r) : literal_read(&r);
		if (code < 0)
			return code;
	}
	return end_check(&r);
}
