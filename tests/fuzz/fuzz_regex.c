/*
 * fuzz_regex.c - any text as a regular expression of ECMA 262: what is written for PCRE2 is
 * compiled or refused by it, and matching ends at the limits.
 */

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "fuzz.h"
#include "schema/parts.h"

#define FLAGS                                                                                      \
	(PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS |  \
	 PCRE2_ALT_BSUX | PCRE2_NEVER_BACKSLASH_C)

static const struct str subjects[] = {S(""), S("a"), S("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"),
				      S("\xf0\x9f\x98\x80 \xc3\xa9\n-1_")};

static void
match(const pcre2_code *regex)
{
	pcre2_match_data *found = pcre2_match_data_create(1, NULL);
	pcre2_match_context *limits = pcre2_match_context_create(NULL);

	CHECK(found && limits);
	pcre2_set_match_limit(limits, LIMIT_PATTERN_STEPS);
	pcre2_set_depth_limit(limits, LIMIT_PATTERN_DEPTH);
	pcre2_set_heap_limit(limits, LIMIT_PATTERN_HEAP_KIB);
	for (size_t i = 0; i < ARRAY_LEN(subjects); i++)
		pcre2_match(regex, (PCRE2_SPTR)subjects[i].ptr, subjects[i].len, 0, 0, found,
			    limits);
	pcre2_match_context_free(limits);
	pcre2_match_data_free(found);
}

static void
compile(struct str pattern)
{
	int code;
	PCRE2_SIZE at;
	pcre2_code *regex =
	    pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, FLAGS, &code, &at, NULL);

	if (regex)
		match(regex);
	pcre2_code_free(regex); /* takes NULL */
}

/* True: it was taken. */
static bool
translate(struct str ecma, bool strict)
{
	struct buf out = BUF_INIT(MIB);
	struct err e = ERR_NONE;
	int rc = schema__regex_write(&out, ecma, strict, &e);

	CHECK(rc == 0 || rc == E_VALIDATION);
	CHECK(!buf_failed(&out));
	if (rc == 0)
		compile(buf_str(&out));
	else
		CHECK(e.text[0] && str_is_utf8(str_of(e.text)));
	buf_done(&out);
	return rc == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str ecma = {(const char *)bytes, size};

	if (size > LIMIT_PATTERN_BYTES || !str_is_utf8(ecma))
		return 0;
	bool lax = translate(ecma, false), strict = translate(ecma, true);
	CHECK(lax || !strict);
	return 0;
}
