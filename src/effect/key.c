/* key.c - which calls are the same one. */

#include "effect/key.h"

#include "base/limits.h"
#include "json/canon.h"

#define BUSINESS_DIGITS 16
#define PART_MOST 256 /* a longer one is its digest */

static void
escape(struct buf *out, struct str part)
{
	for (size_t i = 0; i < part.len; i++) {
		char c = part.ptr[i];
		if (c == ':')
			buf_addz(out, "%3A");
		else if (c == '%')
			buf_addz(out, "%25");
		else
			buf_addc(out, c);
	}
}

/* "%s" stands in no escaped text, so a digest is no other part. */
static void
part_add(struct buf *out, struct str part)
{
	char digest[DIGEST_TEXT];

	if (part.len <= PART_MOST) {
		escape(out, part);
		return;
	}
	digest_bytes(part, digest);
	buf_addf(out, "%%sha256-%s", digest);
}

/* Python's repr() of a text, as far as it is ASCII; what is not stays as it is. */
static void
repr_str(struct buf *out, struct str s)
{
	char quote = memchr(s.ptr, '\'', s.len) && !memchr(s.ptr, '"', s.len) ? '"' : '\'';
	static const char *const named[128] = {
	    ['\\'] = "\\\\", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"};

	buf_addc(out, quote);
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (c < 128 && named[c])
			buf_addz(out, named[c]);
		else if (c == (unsigned char)quote)
			buf_addf(out, "\\%c", c);
		else if (c < ' ' || c == 127)
			buf_addf(out, "\\x%02x", c);
		else
			buf_addc(out, (char)c);
	}
	buf_addc(out, quote);
}

/* As Python's str() has it: the documents' keys were made by that. */
static void
repr_add(struct buf *out, const struct json *v)
{
	const char *between = "";
	bool object = json_is(v, JSON_OBJECT);

	switch (json_type(v)) {
	case JSON_NULL: buf_addz(out, "None"); return;
	case JSON_BOOL: buf_addz(out, json_bool(v) ? "True" : "False"); return;
	case JSON_NUMBER: canon_write(out, v, CANON_SPACED); return;
	case JSON_STRING: repr_str(out, json_str(v)); return;
	case JSON_ARRAY:
	case JSON_OBJECT: break;
	}
	buf_addc(out, object ? '{' : '[');
	for (struct json_iter it = json_iter(v); json_next(&it); between = ", ") {
		buf_addz(out, between);
		if (object) {
			repr_str(out, it.key);
			buf_addz(out, ": ");
		}
		repr_add(out, it.value);
	}
	buf_addc(out, object ? '}' : ']');
}

static void
field_add(struct buf *out, const struct json *v)
{
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES * 6);

	if (v && !json_is(v, JSON_STRING))
		repr_add(&text, v);
	part_add(out, v && json_is(v, JSON_STRING) ? json_str(v) : buf_str(&text));
	out->failed = out->failed || buf_failed(&text);
	buf_done(&text);
}

void
effect_business_key(struct buf *out, const struct json *fields, const struct json *args)
{
	const char *between = "";
	char digest[DIGEST_TEXT];

	if (!fields || json_len(fields) == 0) {
		if (digest_value(args, CANON_SPACED, digest, NULL) < 0)
			out->failed = true;
		buf_add(out, (struct str){digest, BUSINESS_DIGITS});
		return;
	}
	for (struct json_iter it = json_iter(fields); json_next(&it); between = ":") {
		buf_addz(out, between);
		field_add(out, json_get(args, json_str(it.value)));
	}
}

void
effect_key_write(struct buf *out, const struct effect_key *k)
{
	const struct str who[] = {k->tenant, k->agent, k->tool};

	for (size_t i = 0; i < ARRAY_LEN(who); i++) {
		part_add(out, who[i]);
		buf_addc(out, ':');
	}
	if (k->given.ptr) {
		buf_addz(out, "key:");
		part_add(out, k->given);
		return;
	}
	effect_business_key(out, k->fields, k->args);
	buf_addz(out, ":turn_group:");
	part_add(out, k->group);
}
