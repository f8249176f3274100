/* test_regex.c - ECMA 262 patterns, run by PCRE2. */

#include "unit.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/limits.h"
#include "json/json.h"
#include "schema/parts.h"
#include "testdata.h"

/* NULL: refused, by the translation or by PCRE2. */
static pcre2_code *
compiled(struct str pattern)
{
	struct buf out = BUF_INIT(64 * KIB);
	struct err e = ERR_NONE;
	int wrong;
	size_t at;
	pcre2_code *code = NULL;

	if (schema__regex_write(&out, pattern, false, &e) == 0)
		code = pcre2_compile((PCRE2_SPTR)buf_str(&out).ptr, out.len,
				     PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF |
					 PCRE2_ALLOW_EMPTY_CLASS | PCRE2_ALT_BSUX |
					 PCRE2_NEVER_BACKSLASH_C,
				     &wrong, &at, NULL);
	if (code)
		(void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* where there is one */
	assert_false(buf_failed(&out));
	buf_done(&out);
	return code;
}

static bool
code_matches(pcre2_code *code, struct str text, uint32_t options)
{
	pcre2_match_data *match = pcre2_match_data_create(1, NULL);
	int n = pcre2_match(code, (PCRE2_SPTR)text.ptr, text.len, 0, options, match, NULL);

	pcre2_match_data_free(match);
	assert_true(n >= 0 || n == PCRE2_ERROR_NOMATCH);
	return n >= 0;
}

/* By machine code and by the interpreter, which have bugs of their own each. */
static void
check_match(const char *pattern, struct str text, bool expected)
{
	pcre2_code *code = compiled(str_of(pattern));

	if (!code)
		fail_msg("%s: refused", pattern);
	if (code_matches(code, text, 0) != expected ||
	    code_matches(code, text, PCRE2_NO_JIT) != expected)
		fail_msg("%s on \"%.*s\": %s", pattern, STR_ARG(text),
			 expected ? "does not match" : "matches");
	pcre2_code_free(code);
}

static void
check_strict(const char *pattern, bool expected)
{
	struct buf out = BUF_INIT(64 * KIB);
	struct err e = ERR_NONE;
	int code = schema__regex_write(&out, str_of(pattern), true, &e);

	if (code != (expected ? 0 : E_VALIDATION))
		fail_msg("%s: %s", pattern, expected ? e.text : "is not refused");
	assert_int_equal(e.code, code);
	buf_done(&out);
}

static void
check_refused(const char *pattern)
{
	if (compiled(str_of(pattern)))
		fail_msg("%s: is not refused", pattern);
}

struct match {
	const char *pattern, *yes, *no; /* texts; NULL: none */
};

static void
check_matches(const struct match *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (cases[i].yes)
			check_match(cases[i].pattern, str_of(cases[i].yes), true);
		if (cases[i].no)
			check_match(cases[i].pattern, str_of(cases[i].no), false);
	}
}

static void
sets_are_those_of_ecma(void **state)
{
	static const struct match cases[] = {
	    {"^\\s+$", " \t\n\v\f\r\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
	     ""},
	    {"\\s", NULL, "a\u200b\u180e\xc2\x85"},
	    {"^[\\s]$", "\u3000", "\u200b"},
	    {"^[^\\s]$", "\u200b", "\u3000"},
	    {"^[\\S]+$", "a\u200b\u180e\xc2\x85\U0001f432\x01", "\ufeff"},
	    {"^[\\S]+$", "!", "\u00a0"},
	    {"^[\\s\\S]$", "\u2028", ""},
	    {"^[^\\S]$", "\u2028", "x"},
	    {"^\\S$", "\U0001f432", "\u2003"},
	    {"^\\d$", "7", "\u0667"},
	    {"^[\\D]$", "\u0667", "7"},
	    {"^\\w$", "_", "\u00e9"},
	    {"^[^\\w]$", "\u00e9", "_"},
	    {"^[\\w\\p{Lo}]+$", "azAZ09_\u3042", "\u00e9"},
	    {"a\\b", "a\u00e9", "ab"},
	    {"a\\B", "ab", "a\u00e9"},
	    {"^.$", "\U0001f432", "\n"},
	    {"^.$", "\xc2\x85", "\r"},
	    {"^.$", "\v", "\u2028"},
	    {"^.$", "]", "\u2029"},
	    {"^[.]$", ".", "x"},
	    {"^[^]$", "\n", ""},
	    {"^[]?$", "", "x"},
	    {"[]", NULL, "[]"},
	    {"x$", "\nx", "x\n"},
	    {"^x", "x\n", "\nx"},
	};

	(void)state;
	check_matches(cases, ARRAY_LEN(cases));
}

/* PCRE2 forgets the characters over 255 of its own \D and \W there. */
static void
sets_stand_beside_properties_in_a_class(void **state)
{
	static const struct match cases[] = {
	    {"^[^\\D\\p{Lu}]$", "7", "\u03c2"},
	    {"^[^\\W\\p{Lu}]$", "a", "\u03c2"},
	    {"^[^\\S\\p{Lu}]$", "\u2028", "\u03c2"},
	    {"^[\\D\\p{Lu}]$", "\u03c2", "7"},
	    {"^[\\W\\p{Lu}]$", "\u03c2", "a"},
	    {"^[\\W\\p{Nd}]+$",
	     "/:@[^`{\U0001f432"
	     "7",
	     "_"},
	    {"^[^\\d\\p{Lu}]$", "\u03c2", "7"},
	    {"^[^\\w\\P{Lu}]$", "\u00c9", "A"},
	};

	(void)state;
	check_matches(cases, ARRAY_LEN(cases));
}

static void
characters_can_be_written_in_many_ways(void **state)
{
	static const struct match cases[] = {
	    {"^\\cC\\cz$", "\x03\x1a", "cC"},
	    {"^\\x41\\u0042\\u{43}\\u{00000044}$", "ABCD", "A"},
	    {"^\\u{1F600}$", "\U0001f600", "u"},
	    {"^\\uD83D\\uDC32+$", "\U0001f432\U0001f432", "\U0001f433"},
	    {"^[\\uD83D\\uDC32-\\u{1f434}]$", "\U0001f433", "\U0001f435"},
	    {"^[\u00e0-\u00e3]$", "\u00e1", "\u00e4"},
	    {"^\\t\\n\\v\\f\\r$", "\t\n\v\f\r", "tnvfr"},
	    {"^[\\b]$", "\b", "b"},
	    {"^[\\x00-\\x1f\\]\\\\\\-^]+$", "\x01]\\-^", "x"},
	    {"^[\\^a]$", "^", "b"},
	    {"^[a^]$", "^", "b"},
	    {"^[-a]$", "-", "b"},
	    {"^[a-]$", "-", "b"},
	    {"^[+--]$", ",", "."},
	    {"^[[:alpha:]]$", "a]", "a"},
	    {"^[\\[-\\]]$", "\\", "-"},
	    {"^\\/\\.\\*$", "/.*", "/x*"},
	    {"^\\(\\)\\[\\]\\{\\}\\|\\^\\$\\?\\+\\\\$", "()[]{}|^$?+\\", "x"},
	    {"^[\\u2028\\u00ad]$", "\u2028", "u"},
	    {"^\\u0023 \\u0020$", "#  ", "#"},
	    {"^\u00e9{2}$", "\u00e9\u00e9", "\u00e9"},
	};

	(void)state;
	check_matches(cases, ARRAY_LEN(cases));
	check_match("^a\\0b$", (struct str){"a\0b", 3}, true);
	check_match("^[\\0-\\x02]$", (struct str){"\0", 1}, true);
}

static void
half_a_surrogate_pair_matches_nothing(void **state)
{
	static const struct match cases[] = {
	    {"\\uD83D", NULL, "\U0001f432"},
	    {"^a\\uD83D?$", "a", "D"},
	    {"^[\\uD800-\\uDFFF]$", NULL, "\U0001f432"},
	    {"^[^\\uD800-\\uDFFF]$", "\U0001f432", ""},
	    {"^[\\u0000-\\uDFFF]$", "\ud7ff", "\ue000"},
	    {"^[\\uD800-\\uFFFF]$", "\ue000", "\ud7ff"},
	    {"^[\\uD800]?$", "", "x"},
	    {"^\\uDC32\\uD83D|x$", "x", "\U0001f432"},
	};

	(void)state;
	check_matches(cases, ARRAY_LEN(cases));
}

static void
properties_go_by_their_unicode_names(void **state)
{
	static const struct match cases[] = {
	    {"^\\p{Letter}$", "\u00e9", "1"},
	    {"^\\p{L}\\p{Lu}\\p{Uppercase_Letter}$", "aBC", "abc"},
	    {"^\\p{gc=Decimal_Number}\\p{General_Category=Nd}\\p{digit}$", "1\u09ea\u0667", "ab"},
	    {"^\\p{Script=Greek}\\p{sc=Grek}$", "\u03b1\u03b2", "ab"},
	    {"^\\p{sc=Hiragana}$", "\u3042", "\u30fc"}, /* shared with Katakana */
	    {"^\\p{scx=Hira}$", "\u30fc", "a"},
	    {"^\\P{L}$", "1", "a"},
	    {"^[^\\p{L}\\P{ASCII}]$", "1", "\u00e9"},
	    {"^[\\p{Lu}\\d_-]+$", "A1_-", "a"},
	    {"^\\p{ASCII}$", "a", "\u00e9"},
	    {"^\\p{Any}$", "\n", ""},
	    {"^\\p{Assigned}$", "a", "\u0378"},
	    {"^\\P{Assigned}$", "\u0378", "a"},
	    {"^\\p{LC}\\p{Cased_Letter}$", "aA", "a1"},
	    {"^\\p{Emoji_Presentation}$", "\U0001f432", "a"},
	    {"^\\p{White_Space}\\p{space}$", " \u3000", "ab"},
	    {"^\\p{ID_Start}\\p{IDC}$", "a1", "1a"},
	    {"^\\p{Uppercase}\\p{Alpha}$", "Aa", "aA"},
	    {"^\\P{Lu}+\\P{Nd}$", "aa", "a7"},
	    {"^\\P{sc=Latin}*\\P{sc=Greek}$", "11", "1\u03b1"},
	    {"^\\p{Assigned}+?\\P{L}{2}$", "a11", "aa1"},
	    {"^\\pL\\p{Greek}$", "a\u03b1", "aa"}, /* Go */
	};

	(void)state;
	check_matches(cases, ARRAY_LEN(cases));
}

/* ECMA 262's binary properties and general categories, as far as PCRE2 has them. */
static const char properties[] =
    "ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored "
    "Bidi_M Case_Ignorable CI Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM "
    "Changes_When_Lowercased CWL Changes_When_Titlecased CWT Changes_When_Uppercased CWU Dash "
    "Default_Ignorable_Code_Point DI Deprecated Dep Diacritic Dia Emoji Emoji_Component EComp "
    "Emoji_Modifier EMod Emoji_Modifier_Base EBase Emoji_Presentation EPres "
    "Extended_Pictographic ExtPict Extender Ext Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext "
    "Hex_Digit Hex IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST ID_Continue IDC ID_Start "
    "IDS Ideographic Ideo Join_Control Join_C Logical_Order_Exception LOE Lowercase Lower Math "
    "Noncharacter_Code_Point NChar Pattern_Syntax Pat_Syn Pattern_White_Space Pat_WS "
    "Quotation_Mark QMark Radical Regional_Indicator RI Sentence_Terminal STerm Soft_Dotted SD "
    "Terminal_Punctuation Term Unified_Ideograph UIdeo Uppercase Upper Variation_Selector VS "
    "White_Space space XID_Continue XIDC XID_Start XIDS "
    "Cased_Letter LC gc=LC Close_Punctuation Pe Connector_Punctuation Pc Control Cc cntrl "
    "Currency_Symbol Sc Dash_Punctuation Pd Decimal_Number Nd digit Enclosing_Mark Me "
    "Final_Punctuation Pf Format Cf Initial_Punctuation Pi Letter L Letter_Number Nl "
    "Line_Separator Zl Lowercase_Letter Ll Mark M Combining_Mark Math_Symbol Sm Modifier_Letter "
    "Lm Modifier_Symbol Sk Nonspacing_Mark Mn Number N Open_Punctuation Ps Other C Other_Letter "
    "Lo Other_Number No Other_Punctuation Po Other_Symbol So Paragraph_Separator Zp Private_Use "
    "Co Punctuation P punct Separator Z Space_Separator Zs Spacing_Mark Mc Surrogate Cs Symbol S "
    "Titlecase_Letter Lt Unassigned Cn Uppercase_Letter Lu General_Category=Lu";

static void
every_property_that_is_taken_can_be_matched(void **state)
{
	struct str rest = str_of(properties), name;
	char pattern[128];

	(void)state;
	while (str_split(&rest, ' ', &name)) {
		snprintf(pattern, sizeof(pattern), "^[\\p{%.*s}\\P{%.*s}]$", STR_ARG(name),
			 STR_ARG(name));
		check_strict(pattern, true);
		check_match(pattern, S("\u03c2"), true);
	}
	check_refused("\\p{Changes_When_NFKC_Casefolded}");
	check_refused("\\p{CWKCF}");
	check_strict("\\p{Changes_When_NFKC_Casefolded}", false);
	check_strict("\\p{CWKCF}", false);
}

static void
groups_and_references_work(void **state)
{
	static const struct match cases[] = {
	    {"^(?<q>['\"]).*\\k<q>$", "'a'", "'a\""},
	    {"^\\k<q>(?<q>a)$", "a", "aa"},
	    {"^(a|b)\\1$", "bb", "ab"},
	    {"^(a)?b\\1$", "b", "ba"},
	    {"^(?:(a)|b)\\1+c$", "bc", "ac"},
	    {"^(?:(?<n>a)|b)\\k<n>{2}c$", "bc", "aac"},
	    {"^(?:(a)|b)(?:\\1+?c)*$", "bcc", "ac"},
	    {"^(\u00e9)\\1*$", "\u00e9\u00e9\u00e9", "\u00e9e"},
	    {"^(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\\10$", "abcdefghijj", "abcdefghija0"},
	    {"^(a)\\1(?:0)$", "aa0", "a0"},
	    {"(?<=\\$)\\d+", "$5", "5"},
	    {"(?<!\\$)5", "5", "$5"},
	    {"^(?=.*\\d)(?!.*x).{3}$", "ab1", "ax1"},
	    {"^(?:ab)+?$", "abab", "aba"},
	    {"^a{2,3}$", "aaa", "aaaa"},
	    {"^(?i:a)b$", "Ab", "AB"},
	    {"^(?i:\\w\\W)$", "\u017f\u00e9", "ss"},
	    {"^(?i:[\\w][\\W])$", "\u212a\u00e9", "kk"},
	    {"^(?i:[^\\W])$", "s", "\u00e9"},
	    {"^(?i:k)[\\W]$", "\u212a\u017f", "ks"},
	    {"(?i:\\b)", "\u017f", "\u00e9"},
	    {"(?i:^\\B)", "\u00e9", "\u017f"},
	    {"^(?i:(?-i:[\\W]))$", "\u017f", "s"},
	    {"^(?s:.)$", "\n", ""},
	    {"^(?s:.(?-s:.).)$", "\na\n", "\n\n\n"},
	    {"^(?s:.).$", "\na", "\n\n"},
	};

	(void)state;
	check_matches(cases, ARRAY_LEN(cases));
}

static void
what_is_left_out_by_zero_has_no_say_in_where_to_begin(void **state)
{
	static const struct match cases[] = {
	    {"(?=(?:c|d){0})", "x", NULL},
	    {"(?=(c|d){0,0}?)x", "x", "d"},
	    {"(?:y|^d){0}c", "xc", "x"},
	    {"(?:(?<n>y|^d){0}|(?:a|b){0})c\\k<n>", "xc", "x"},
	    {"(?:y|^d)(?#no)(?# no){0}c", "xc", "x"},
	    {"^a{0}b$", "b", "ab"},
	};

	(void)state;
	check_matches(cases, ARRAY_LEN(cases));
}

static void
dialects_of_others_mean_what_they_mean_there(void **state)
{
	static const struct match cases[] = {
	    {"(?i)abc", "ABC", "abd"},
	    {"^(?u)a(?a)b$", "ab", "a"},
	    {"(?s)^.$", "\n", ""},
	    {"^((?s).)(.)$", "\na", "\n\n"},
	    {"(?m)^b$", "a\nb", "ab"},
	    {"\\Aabc\\z", "abc", "abc\n"},
	    {"\\Aabc\\Z", "abc", "abc\n"},
	    {"^(?P<n>a)(?P=n)$", "aa", "a"},
	    {"^a(?#no [ matter)b$", "ab", "a"},
	    {"^(?>a+)b$", "aab", "aa"},
	    {"^a++b$", "aab", "aa"},
	    {"^\\-\\_\\@\\ \\'\\\"\\#\\~\\:$", "-_@ '\"#~:", "x"},
	    {"^[\\w-.]+$", "a-.", "/"},
	    {"^[\\w-a-z]+$", "-", "@"},
	    {"^[\\d-x]+$", "1-x", "y"},
	    {"^[\\000-\\037]$", "\x1f", "7"},
	    {"^\\x{1f432}$", "\U0001f432", "x"},
	    {"^a{$", "a{", "a"},
	    {"^{x}$", "{x}", "x"},
	    {"^a{,2}$", "a{,2}", "aa"},
	    {"^]}$", "]}", "]"},
	    {"^\\a$", "\a", "a"},
	    {"^\\\u00e9$", "\u00e9", "e"},
	};

	(void)state;
	check_matches(cases, ARRAY_LEN(cases));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_strict(cases[i].pattern, false);
}

static void
what_could_mean_more_than_meant_is_refused(void **state)
{
	static const char *const patterns[] = {
	    "(*UCP)a",
	    "(*ACCEPT)a",
	    "(*LIMIT_MATCH=1)a",
	    "a|(*F)",
	    "(?R)",
	    "(?1)(a)",
	    "(?&n)",
	    "(?P>n)",
	    "(?C1)a",
	    "(?(1)a|b)",
	    "(?x) a # b",
	    "(?ix:a)",
	    "(?|a|b)",
	    "(?^i)a",
	    "\\Qa\\E",
	    "\\Ga",
	    "a\\K",
	    "\\Ca",
	    "\\Na",
	    "\\Ra",
	    "\\X",
	    "\\h",
	    "\\ya",
	    "\\i",
	    "\\U00000041",
	    "\\g1(a)",
	    "\\o{101}",
	    "\\c1",
	    "\\u12",
	    "\\u{110000}",
	    "\\u{}",
	    "\\xz",
	    "\\p",
	    "\\p{}",
	    "\\p{L",
	    "\\p{^L}",
	    "\\p{gc=Greek}",
	    "\\p{No_Such_Thing}",
	    "\\p{a=b}",
	    "\\p{Script=Nowhere}",
	    "[b-a]",
	    "a{3,2}",
	    "(",
	    ")",
	    "(?<a",
	    "[a",
	    "[^",
	    "[\\",
	    "\\",
	    "*",
	    "a\\2(b)",
	    "\\k<n>",
	    "\\k",
	    "(?<n>a)(?<n>b)",
	    "(?<1>a)",
	    "(?<>a)",
	    "(?",
	    "(?-)",
	    "(?ii)a",
	    "[\\8]",
	    "(?#a",
	    "(?<n",
	    "(?P=n)",
	    "\\99999999999(a)",
	    "[\\d-",
	    "[a-",
	    "a{99999999999999999999}",
	    "(?",
	    "(?<=a+)b",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
		check_refused(patterns[i]);
}

static void
strict_takes_what_ecma_has(void **state)
{
	static const char *const patterns[] = {
	    "",
	    "([abc])+\\s+$",
	    "(?<name>x)",
	    "(?<n>a)\\k<n>",
	    "\\k<n>(?<n>a)",
	    "(?<=a+)b",
	    "(?<!a|bc)",
	    "[]",
	    "[^]",
	    "\\cA",
	    "[\\b\\-]",
	    "\\0",
	    "[\\0]",
	    "a{2}?b{2,}c{2,3}?",
	    "(a)\\1",
	    "\\1(a)",
	    "\\p{Script=Thai}",
	    "\\p{scx=Deva}",
	    "(?i:a)",
	    "(?i-s:a)",
	    "(?-m:a)",
	    "\\u{10ffff}",
	    "\\ud83d",
	    "a|",
	    "(|)",
	    "(?:)*",
	    "(?<$\u00fc_1>a)",
	    "-=!<>:#,'\" ",
	    "[[(|*]",
	    "[\\u{1f432}-\\u{1f433}]",
	    "a{99999999999999999999999}",
	    "[\\w-]",
	    "[-\\w]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
		check_strict(patterns[i], true);
}

static void
strict_refuses_what_ecma_has_not(void **state)
{
	static const char *const patterns[] = {
	    "^(abc]",
	    "a**",
	    "+",
	    "a|*",
	    "(?=a)*",
	    "(?<=a)+",
	    "^*",
	    "\\b+",
	    "(*)",
	    "a{2}{3}",
	    "\\00",
	    "[\\1]",
	    "\\p{Greek}",
	    "\\p{letter}",
	    "\\p{script=Greek}",
	    "\\p{Script=greek}",
	    "\\p{Script=}",
	    "\\p{sc=Xyzw}",
	    "\\p{IsGreek}",
	    "\\pL",
	    "(?<n>a)\\k<m>",
	    "(?<n>a)|(?<n>b)",
	    "(?i)a",
	    "(?-:a)",
	    "(?i-i:a)",
	    "[a-\\d]",
	    "\\e",
	    "a\\-b",
	    "{1}",
	    "a{1",
	    "x{2,1}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
		check_strict(patterns[i], false);
}

static void
errors_say_what_and_where(void **state)
{
	struct buf out = BUF_INIT(KIB);
	struct err e = ERR_NONE;

	(void)state;
	assert_int_equal(schema__regex_write(&out, S("ab[c"), false, &e), E_VALIDATION);
	assert_string_equal(e.text, "a [ without its ], at byte 4 of the pattern");
	buf_done(&out);
}

static void
nesting_and_growth_are_bounded(void **state)
{
	struct buf deep = BUF_INIT(4 * KIB), small = BUF_INIT(16), out = BUF_INIT(64 * KIB);
	struct err e = ERR_NONE;

	(void)state;
	for (int i = 0; i < LIMIT_PATTERN_GROUPS + 1; i++)
		buf_addz(&deep, "(?:");
	for (int i = 0; i < LIMIT_PATTERN_GROUPS + 1; i++)
		buf_addz(&deep, ")");
	assert_int_equal(schema__regex_write(&out, buf_str(&deep), true, &e), E_VALIDATION);
	assert_int_equal(schema__regex_write(&small, S("......"), true, &e), 0);
	assert_true(buf_failed(&small));

	buf_reset(&out);
	assert_int_equal(schema__regex_write(&out, S("[\\S]"), true, &e), 0);
	assert_true(out.len < 4 * 128);
	buf_done(&deep);
	buf_done(&small);
	buf_done(&out);
}

/* Is the instance of a test valid, by the pattern or patternProperties of its schema? */
static bool
instance_fits(const struct json *schema, const struct json *instance)
{
	struct json_iter it = json_iter(json_get(schema, S("patternProperties")));
	bool members = json_next(&it);
	struct str pattern = members ? it.key : json_str(json_get(schema, S("pattern")));
	pcre2_code *code = compiled(pattern);
	bool fits = true;

	if (!code)
		fail_msg("%.*s: refused", STR_ARG(pattern));
	if (!members)
		fits = !json_is(instance, JSON_STRING) || code_matches(code, json_str(instance), 0);
	for (struct json_iter m = json_iter(members ? instance : NULL); json_next(&m);)
		fits &= code_matches(code, m.key, 0)
			    ? json_is(it.value, JSON_BOOL) || json_is(m.value, JSON_NUMBER)
			    : !json_get(schema, S("additionalProperties"));
	pcre2_code_free(code);
	return fits;
}

static void
suite_file_run(const char *name)
{
	char path[512];
	struct json_doc *doc = NULL;
	struct err e = ERR_NONE;

	if (!testdata_find(name, path, sizeof(path)))
		fail_msg("%s: not there", name);
	struct str text = testdata_read(path);
	assert_int_equal(json_parse(text, &json_door, &doc, &e), 0);
	free((char *)text.ptr);
	for (struct json_iter g = json_iter(json_root(doc)); json_next(&g);) {
		const struct json *schema = json_get(g.value, S("schema"));
		for (struct json_iter t = json_iter(json_get(g.value, S("tests"))); json_next(&t);)
			if (instance_fits(schema, json_get(t.value, S("data"))) !=
			    json_bool(json_get(t.value, S("valid"))))
				fail_msg("%s: %.*s: %.*s", name,
					 STR_ARG(json_str(json_get(g.value, S("description")))),
					 STR_ARG(json_str(json_get(t.value, S("description")))));
	}
	json_doc_unref(doc);
}

static void
the_suite_of_json_schema_passes(void **state)
{
#define SUITE "batteries/json-schema/tests/"
	char path[512];

	(void)state;
	TESTDATA_OR_SKIP(SUITE, path);
	suite_file_run(SUITE "draft2020-12/pattern.json");
	suite_file_run(SUITE "draft2020-12/optional/ecmascript-regex.json");
	suite_file_run(SUITE "draft2020-12/optional/non-bmp-regex.json");
	suite_file_run(SUITE "draft7/pattern.json");
	suite_file_run(SUITE "draft7/optional/ecmascript-regex.json");
	suite_file_run(SUITE "draft7/optional/non-bmp-regex.json");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sets_are_those_of_ecma),
	    cmocka_unit_test(sets_stand_beside_properties_in_a_class),
	    cmocka_unit_test(characters_can_be_written_in_many_ways),
	    cmocka_unit_test(half_a_surrogate_pair_matches_nothing),
	    cmocka_unit_test(properties_go_by_their_unicode_names),
	    cmocka_unit_test(every_property_that_is_taken_can_be_matched),
	    cmocka_unit_test(groups_and_references_work),
	    cmocka_unit_test(what_is_left_out_by_zero_has_no_say_in_where_to_begin),
	    cmocka_unit_test(dialects_of_others_mean_what_they_mean_there),
	    cmocka_unit_test(what_could_mean_more_than_meant_is_refused),
	    cmocka_unit_test(strict_takes_what_ecma_has),
	    cmocka_unit_test(strict_refuses_what_ecma_has_not),
	    cmocka_unit_test(errors_say_what_and_where),
	    cmocka_unit_test(nesting_and_growth_are_bounded),
	    cmocka_unit_test(the_suite_of_json_schema_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
