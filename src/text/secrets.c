/*
 * secrets.c - scanners that look at one place of the text each, and answer yes, no, or "more".
 *
 * "More" is only said while the answer depends on bytes that are not there yet. So the answer never
 * depends on where the stream was cut, and since every scanner looks a bounded way ahead, neither
 * time nor memory depends on what the text is.
 */

#include "text/secrets.h"

#include "text/secret_place.h"

#define LOOK_BACK 96    /* bytes before a place that scanners may see */
#define NAME_MAX 64     /* of them, a name that a value is given to */
#define FIRST_PART 1024 /* of a token in parts */
#define VALUE_SEEN 256  /* of a value; what follows belongs to it, too */
#define VALUE_LEAST 8
#define USER_MAX 512 /* user and password in a URL */
#define TITLE_MAX 64 /* between the dashes of a private key */
#define KEY_MAX 65536
#define KEY_NEAR 64   /* between two lines of a private key: what a log puts before each */
#define KEY_LINE 24   /* so many letters of base64 are one there */
#define ESCAPE_MAX 24 /* numbers of a colour */

_Static_assert(SECRETS_WINDOW > 2 * (LOOK_BACK + FIRST_PART + VALUE_SEEN + USER_MAX),
	       "what waits for more leaves no room for it");

static const char *const kind_names[] = {
    [SECRET_AWS_KEY] = "aws_key",         [SECRET_GITHUB] = "github_token",
    [SECRET_GITLAB] = "gitlab_token",     [SECRET_MODEL_KEY] = "model_key",
    [SECRET_SLACK] = "slack_token",       [SECRET_GOOGLE] = "google_key",
    [SECRET_STRIPE] = "stripe_key",       [SECRET_PACKAGES] = "package_token",
    [SECRET_SERVICE] = "service_token",   [SECRET_JWT] = "jwt",
    [SECRET_PRIVATE_KEY] = "private_key", [SECRET_URL_PASSWORD] = "url_password",
    [SECRET_BEARER] = "bearer_token",     [SECRET_ASSIGNED] = "assigned_value",
};

const char *
secret_kind_name(enum secret_kind k)
{
	return kind_names[k];
}

/* ---- characters ---- */

enum {
	UPPER = 1 << 0,
	LOWER = 1 << 1,
	DIGIT = 1 << 2,
	UNDER = 1 << 3,
	DASH = 1 << 4,
	DOT = 1 << 5,
	BLANK = 1 << 6,     /* space and tab */
	BARE = 1 << 7,      /* in a value without quotes */
	QUOTED = 1 << 8,    /* in one with */
	TELLING = 1 << 9,   /* what a password has and a plain word has not */
	LOGIN = 1 << 10,    /* in the user and password of a URL */
	KEY_BODY = 1 << 11, /* of a private key */
	BASE64 = 1 << 12,   /* what tokens in headers are made of, beside letters and digits */
	ESCAPE = 1 << 13,   /* begins what ends in a letter and is no word */
	HEX = 1 << 14,
	SEMICOLON = 1 << 15,
	ALNUM = UPPER | LOWER | DIGIT,
	WORD = ALNUM | UNDER,
	SLUG = WORD | DASH,
	HEADER = SLUG | DOT | BASE64,
};

#define IN_ALL (BARE | QUOTED | LOGIN)
static const uint16_t classes[256] = {
    ['A' ... 'F'] = UPPER | IN_ALL | KEY_BODY | HEX,
    ['G' ... 'Z'] = UPPER | IN_ALL | KEY_BODY,
    ['a' ... 'f'] = LOWER | IN_ALL | KEY_BODY | HEX,
    ['g' ... 'z'] = LOWER | IN_ALL | KEY_BODY,
    ['0' ... '9'] = DIGIT | IN_ALL | TELLING | KEY_BODY | HEX,
    ['_'] = UNDER | IN_ALL,
    ['-'] = DASH | IN_ALL | KEY_BODY,
    ['.'] = DOT | IN_ALL | KEY_BODY,
    ['+'] = IN_ALL | TELLING | KEY_BODY | BASE64,
    ['='] = IN_ALL | TELLING | KEY_BODY | BASE64,
    ['~'] = IN_ALL | TELLING | BASE64,
    ['!'] = IN_ALL | TELLING,
    ['@'] = IN_ALL | TELLING,
    ['$'] = IN_ALL | TELLING,
    ['%'] = IN_ALL | TELLING | ESCAPE,
    ['^'] = IN_ALL | TELLING,
    ['*'] = IN_ALL | TELLING,
    ['#'] = BARE | QUOTED | TELLING,
    ['?'] = BARE | QUOTED | TELLING,
    ['/'] = BARE | QUOTED | KEY_BODY | BASE64,
    [':'] = IN_ALL | KEY_BODY,
    ['&'] = QUOTED | LOGIN,
    [','] = QUOTED | LOGIN | KEY_BODY,
    [';'] = QUOTED | LOGIN | SEMICOLON,
    ['|'] = QUOTED | LOGIN,
    ['('] = QUOTED | LOGIN,
    [')'] = QUOTED | LOGIN,
    ['['] = QUOTED | LOGIN | ESCAPE,
    [']'] = QUOTED | LOGIN,
    ['{'] = QUOTED | LOGIN,
    ['}'] = QUOTED | LOGIN,
    ['<'] = QUOTED,
    ['>'] = QUOTED,
    ['`'] = QUOTED,
    ['\\'] = KEY_BODY | ESCAPE, /* \n, where the key stands in JSON */
    [' '] = BLANK | KEY_BODY,
    ['\t'] = BLANK | KEY_BODY,
    ['\r'] = KEY_BODY,
    ['\n'] = KEY_BODY,
    [0x80 ... 0xff] = IN_ALL,
};

static bool
is(char c, unsigned class)
{
	return classes[(unsigned char)c] & class;
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* ---- looking ---- */

enum answer { NO, YES, MORE };

/* One place of the text, and what may be seen from it. */
struct place {
	const char *first; /* LOOK_BACK bytes before it, or where the text begins */
	const char *at;
	const char *end;
	bool last; /* nothing comes behind end */
};

struct finding {
	enum secret_kind kind;
	size_t keep;      /* bytes that stay before the mark */
	size_t eat;       /* and those it stands for */
	unsigned swallow; /* with all of this class that follow */
	bool opens_key;   /* and the body of the private key */
	size_t near;      /* or other lines of it, the next within so many bytes */
};

/* Does this stand `from` bytes ahead? fold: in any case. */
static enum answer
stands(const struct place *p, size_t from, struct str text, bool fold)
{
	size_t left = (size_t)(p->end - p->at) - from;

	for (size_t i = 0; i < text.len; i++) {
		if (i == left)
			return p->last ? NO : MORE;
		char c = p->at[from + i];
		if ((fold ? lower(c) : c) != text.ptr[i])
			return NO;
	}
	return YES;
}

/* How many bytes of the class stand there, up to max; MORE while there may be others. */
static enum answer
count(const struct place *p, size_t from, unsigned class, size_t max, size_t *ret)
{
	size_t left = (size_t)(p->end - p->at) - from, n = 0;

	while (n < max && n < left && is(p->at[from + n], class))
		n++;
	*ret = n;
	return n < max && n == left && !p->last ? MORE : YES;
}

/* The byte there; NUL behind the last one. */
static enum answer
peek(const struct place *p, size_t from, char *ret)
{
	size_t left = (size_t)(p->end - p->at);

	*ret = from < left ? p->at[from] : '\0';
	return from >= left && !p->last ? MORE : YES;
}

/* Propagates "no" and "more"; goes on after a "yes". */
#define NEED(asked)                                                                                \
	do {                                                                                       \
		enum answer need_ = (asked);                                                       \
		if (need_ != YES)                                                                  \
			return need_;                                                              \
	} while (0)

/*
 * What ends in a letter or a digit and is no part of the word behind it: \n and \u0026 in JSON, %3D
 * in a URL, [31m and [K in a terminal. How long; 0: none begins there.
 */
static enum answer
escape(const struct place *p, size_t from, size_t *ret)
{
	char c = p->at[from], next;
	size_t n, hex = c == '%' ? 2 : 0, head = c == '%' ? 1 : 2;

	*ret = 0;
	if (c == '[') {
		NEED(count(p, from + 1, DIGIT | SEMICOLON, ESCAPE_MAX, &n));
		NEED(peek(p, from + 1 + n, &next));
		*ret = next == 'm' || next == 'K' ? n + 2 : 0;
		return YES;
	}
	if (c == '\\') {
		NEED(peek(p, from + 1, &next));
		hex = next == 'u' ? 4 : next == 'x' ? 2 : 0;
		if (next && strchr("nrtbfv", next))
			*ret = 2;
	}
	if (hex) {
		NEED(count(p, from + head, HEX, hex, &n));
		*ret = n == hex ? head + n : 0;
	}
	return YES;
}

/* Blanks and colours from *at on are passed over. */
static enum answer
blanks(const struct place *p, size_t *at)
{
	size_t n;
	char c;

	for (int i = 0; i < 4; i++) {
		NEED(count(p, *at, BLANK, 8, &n));
		*at += n;
		NEED(peek(p, *at, &c));
		if (c != '\033')
			break;
		NEED(peek(p, *at + 1, &c));
		if (c != '[')
			break;
		NEED(escape(p, *at + 1, &n));
		*at += 1 + n;
	}
	return YES;
}

/* ---- tokens that say what they are ---- */

#define KEY64 ALNUM | BASE64, KEY_LINE, {NULL, 0}, 0, 0, 3 /* line by line, if it is in lines */

static const struct token {
	struct str prefix;
	enum secret_kind kind;
	unsigned class;
	size_t least;
	struct str joint; /* before a second part, or {NULL,0} */
	size_t least_behind;
	unsigned class_behind;
	size_t near; /* as in struct finding */
} tokens[] = {
    /* by the first letter */
    {S("AKIA"), SECRET_AWS_KEY, UPPER | DIGIT, 16},
    {S("ASIA"), SECRET_AWS_KEY, UPPER | DIGIT, 16},
    {S("ABIA"), SECRET_AWS_KEY, UPPER | DIGIT, 16},
    {S("AIza"), SECRET_GOOGLE, SLUG, 35},
    {S("AGE-SECRET-KEY-1"), SECRET_SERVICE, UPPER | DIGIT, 50},
    {S("GOCSPX-"), SECRET_GOOGLE, SLUG, 20},
    /* "-----BEGIN PRIVATE" and so on, in base64; clusters keep keys so. */
    {S("LS0tLS1CRUdJTiBQUklWQVRF"), SECRET_PRIVATE_KEY, KEY64},
    {S("LS0tLS1CRUdJTiBSU0EgUFJJ"), SECRET_PRIVATE_KEY, KEY64},
    {S("LS0tLS1CRUdJTiBFQyBQUklW"), SECRET_PRIVATE_KEY, KEY64},
    {S("LS0tLS1CRUdJTiBPUEVOU1NI"), SECRET_PRIVATE_KEY, KEY64},
    {S("LS0tLS1CRUdJTiBFTkNSWVBU"), SECRET_PRIVATE_KEY, KEY64},
    {S("SG."), SECRET_SERVICE, SLUG, 16, S("."), 16, SLUG},
    {S("dapi"), SECRET_SERVICE, ALNUM, 32},
    {S("dop_v1_"), SECRET_SERVICE, ALNUM, 40},
    {S("eyJ"), SECRET_JWT, SLUG, 4, S(".eyJ"), 4, SLUG | DOT},
    {S("ghp_"), SECRET_GITHUB, ALNUM, 36},
    {S("gho_"), SECRET_GITHUB, ALNUM, 36},
    {S("ghu_"), SECRET_GITHUB, ALNUM, 36},
    {S("ghs_"), SECRET_GITHUB, ALNUM, 36},
    {S("ghr_"), SECRET_GITHUB, ALNUM, 36},
    {S("github_pat_"), SECRET_GITHUB, WORD, 22},
    {S("glpat-"), SECRET_GITLAB, SLUG, 20},
    {S("hf_"), SECRET_MODEL_KEY, ALNUM, 30},
    {S("hvs."), SECRET_SERVICE, SLUG, 24},
    {S("npm_"), SECRET_PACKAGES, ALNUM, 36},
    {S("pypi-AgE"), SECRET_PACKAGES, SLUG, 40},
    {S("rk_live_"), SECRET_STRIPE, ALNUM, 16},
    {S("shpat_"), SECRET_SERVICE, ALNUM, 32},
    {S("sk-ant-"), SECRET_MODEL_KEY, SLUG, 20},
    {S("sk-proj-"), SECRET_MODEL_KEY, SLUG, 20},
    {S("sk-svcacct-"), SECRET_MODEL_KEY, SLUG, 20},
    {S("sk-"), SECRET_MODEL_KEY, ALNUM, 32},
    {S("sk_live_"), SECRET_STRIPE, ALNUM, 16},
    {S("sk_test_"), SECRET_STRIPE, ALNUM, 16},
    {S("whsec_"), SECRET_STRIPE, ALNUM, 24},
    {S("xapp-"), SECRET_SLACK, ALNUM | DASH, 10},
    {S("xoxa-"), SECRET_SLACK, ALNUM | DASH, 10},
    {S("xoxb-"), SECRET_SLACK, ALNUM | DASH, 10},
    {S("xoxp-"), SECRET_SLACK, ALNUM | DASH, 10},
    {S("xoxr-"), SECRET_SLACK, ALNUM | DASH, 10},
    {S("xoxs-"), SECRET_SLACK, ALNUM | DASH, 10},
    {S("ya29."), SECRET_GOOGLE, SLUG, 20},
};

static enum answer
one_token(const struct place *p, const struct token *t, struct finding *f)
{
	size_t at = t->prefix.len, n;

	NEED(stands(p, 0, t->prefix, false));
	NEED(count(p, at, t->class, t->joint.ptr ? FIRST_PART : t->least, &n));
	if (n < t->least)
		return NO;
	at += n;
	if (t->joint.ptr) {
		NEED(stands(p, at, t->joint, false));
		at += t->joint.len;
		NEED(count(p, at, t->class_behind, t->least_behind, &n));
		if (n < t->least_behind)
			return NO;
		at += n;
	}
	*f = (struct finding){.kind = t->kind,
			      .eat = at,
			      .swallow = t->joint.ptr ? t->class_behind : t->class,
			      .near = t->near};
	return YES;
}

/* That begins with this letter or a later one. */
static size_t
first_token(char letter)
{
	size_t from = 0, to = ARRAY_LEN(tokens);

	while (from < to) {
		size_t middle = (from + to) / 2;
		if (tokens[middle].prefix.ptr[0] < letter)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static enum answer
token(const struct place *p, struct finding *f)
{
	for (size_t i = first_token(*p->at);
	     i < ARRAY_LEN(tokens) && tokens[i].prefix.ptr[0] == *p->at; i++) {
		enum answer a = one_token(p, &tokens[i], f);
		if (a != NO)
			return a;
	}
	return NO;
}

/* ---- names ---- */

static bool
ends_with(struct str name, const char *word)
{
	size_t n = strlen(word);

	return name.len >= n && lower(name.ptr[name.len - 1]) == word[n - 1] &&
	       str_eq_nocase(str_from(name, name.len - n), str_of(word));
}

static bool
has(struct str name, const char *word)
{
	for (size_t i = 0; i < name.len; i++)
		if (str_eq_nocase(str_upto(str_from(name, i), strlen(word)), str_of(word)))
			return true;
	return false;
}

/* Does what is given to this name have to be kept secret? Page tokens have to be passed on. */
static bool
secret_name(struct str name)
{
	static const char *const ends[] = {
	    "password",   "passwd",         "passphrase",  "pwd",        "secret",
	    "token",      "api_key",        "apikey",      "api-key",    "access_key",
	    "access-key", "accesskey",      "auth_key",    "secret_key", "secret-key",
	    "secretkey",  "private_key",    "account_key", "accountkey", "_pass",
	    "-pass",      "secret_key_base"};
	static const char *const public[] = {"page", "next", "cursor", "continu", "sync"};

	bool secret = false;

	for (size_t i = 0; i < ARRAY_LEN(ends) && !secret; i++)
		secret = ends_with(name, ends[i]);
	for (size_t i = 0; i < ARRAY_LEN(public) && secret; i++)
		secret = !has(name, public[i]);
	return secret;
}

/* Where colours that end there begin. */
static const char *
before_colours(const char *first, const char *end)
{
	const char *at = end;

	while (at - first >= 3 && (at[-1] == 'm' || at[-1] == 'K')) {
		for (at--; at > first && is(at[-1], DIGIT | SEMICOLON);)
			at--;
		if (at - first < 2 || at[-1] != '[' || at[-2] != '\033')
			break;
		end = at -= 2;
	}
	return end;
}

static const char *
before_blanks(const char *first, const char *end)
{
	for (int i = 0; i < 8 && end > first && is(end[-1], BLANK); i++)
		end--;
	return end;
}

static bool
is_quote(char c)
{
	return c == '"' || c == '\'';
}

static const char *
before_quote(const char *first, const char *end)
{
	if (end > first && is_quote(end[-1]))
		end--;
	for (int i = 0; i < 8 && end > first && end[-1] == '\\'; i++)
		end--;
	return end;
}

/*
 * The name before ":" or "=", perhaps in quotes or coloured: p stands at the sign; or behind it,
 * perhaps behind a blank and a quote, and it is this one.
 */
static struct str
name_before(const struct place *p, char sign)
{
	const char *first = p->first, *end = p->at, *from;

	if (sign) {
		end = before_blanks(first, before_quote(first, end));
		if (end == first || *--end != sign)
			return (struct str){NULL, 0};
	}
	end = before_blanks(first, before_colours(first, end));
	end = before_quote(first, end);
	for (from = end; from > first && end - from < NAME_MAX && is(from[-1], SLUG);)
		from--;
	return (struct str){from, (size_t)(end - from)};
}

/* ---- values ---- */

static bool
telling(const char *value, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (is(value[i], TELLING))
			return true;
	return false;
}

/* "Bearer abc123...", and behind the name of the header also "Basic abc123..." */
static enum answer
scheme(const struct place *p, struct finding *f)
{
	char second;

	NEED(peek(p, 1, &second));
	bool bearer = lower(second) == 'e';
	struct str word = bearer ? S("bearer") : S("basic");
	size_t at = word.len, blank, n;

	NEED(stands(p, 0, word, true));
	NEED(count(p, at, BLANK, 2, &blank));
	NEED(count(p, at += blank, HEADER, VALUE_SEEN, &n));
	if (blank == 0 || n < VALUE_LEAST)
		return NO;
	if (bearer ? !telling(p->at + at, n) : !ends_with(name_before(p, ':'), "authorization"))
		return NO;
	*f = (struct finding){SECRET_BEARER, at, n, HEADER};
	return YES;
}

/* A path, a variable, asterisks. An AWS secret may begin like a path; it has its own length. */
static bool
no_secret(const char *value, size_t len)
{
	size_t n = 0;

	while (n < len && is(value[n], ALNUM | BASE64))
		n++;
	return strchr("/.~$*%", value[0]) && !(len == 40 && n == len);
}

static enum answer
bare_value(const struct place *p, size_t at, struct finding *f)
{
	size_t n;
	char behind;

	NEED(count(p, at, BARE, VALUE_SEEN, &n));
	if (n < VALUE_LEAST || no_secret(p->at + at, n) || !telling(p->at + at, n))
		return NO;
	NEED(peek(p, at + n, &behind));
	if (n < VALUE_SEEN && (behind == '(' || behind == '['))
		return NO; /* a call, an index: program text */
	*f = (struct finding){SECRET_ASSIGNED, at, n, BARE};
	return YES;
}

/* Up to its own quote; `close` is what that begins with: a backslash where the text is escaped. */
static enum answer
quoted_value(const struct place *p, size_t at, char quote, char close, struct finding *f)
{
	size_t left = (size_t)(p->end - p->at) - at, n = 0;
	char c;

	for (;; n++) {
		NEED(peek(p, at + n, &c));
		if (n >= VALUE_SEEN || c == close)
			break;
		if (c == '\\')
			NEED(peek(p, at + ++n, &c)); /* whatever it is */
		else if (!is(c, QUOTED) && (!is_quote(c) || c == quote))
			break;
	}
	n = n < left ? n : left; /* a backslash may be the last byte */
	if (n < VALUE_LEAST || strchr("$*%{[(<", p->at[at]))
		return NO;
	if (n < VALUE_SEEN && c && c != close)
		return NO; /* a sentence */
	*f = (struct finding){SECRET_ASSIGNED, at, n, QUOTED};
	return YES;
}

/* Of every environment: where the shell is and was, which only looks like a password's name. */
static bool
directory_name(struct str name)
{
	return str_is(name, "PWD") || str_is(name, "OLDPWD");
}

/* password = "...", "api_key": "...", token:=..., 'secret' => '...' */
static enum answer
assigned(const struct place *p, struct finding *f)
{
	struct str name = name_before(p, '\0');
	size_t at = 1, slashes = 0;
	char c, first;

	if (!secret_name(name))
		return NO;
	for (int i = 0; i < 2; i++, at++) {
		NEED(peek(p, at, &c));
		if (c != '=' && c != '>')
			break;
	}
	NEED(blanks(p, &at));
	NEED(peek(p, at, &c));
	for (; c == '\\' && slashes < 8; slashes++)
		NEED(peek(p, ++at, &c));
	NEED(peek(p, at + is_quote(c), &first));
	if (directory_name(name) && first == '/')
		return NO;
	if (is_quote(c))
		return quoted_value(p, at + 1, c, slashes ? '\\' : c, f);
	return bare_value(p, at, f);
}

/* scheme://user:password@host; a password may have an "@", so the last one counts. */
static enum answer
url_password(const struct place *p, struct finding *f)
{
	size_t n;

	if (p->at == p->first || !is(p->at[-1], ALNUM))
		return NO;
	NEED(stands(p, 0, S("://"), false));
	NEED(count(p, 3, LOGIN, USER_MAX, &n));
	if (n == USER_MAX)
		return NO;
	const char *login = p->at + 3, *colon = memchr(login, ':', n);
	const char *host = memrchr(login, '@', n);
	if (!colon || !host || host <= colon + 1 || strchr("$*%{[(", colon[1]))
		return NO;
	*f = (struct finding){SECRET_URL_PASSWORD, (size_t)(colon + 1 - p->at),
			      (size_t)(host - colon) - 1, 0};
	return YES;
}

static enum answer
after_sign(const struct place *p, struct finding *f)
{
	enum answer a = *p->at == ':' ? url_password(p, f) : NO;

	return a == NO ? assigned(p, f) : a;
}

/* ---- private keys ---- */

/* "-----BEGIN RSA PRIVATE KEY-----", or the same with END; how long it is. */
static enum answer
key_line(const struct place *p, struct str dashes, size_t *ret)
{
	size_t n;

	NEED(stands(p, 0, dashes, false));
	NEED(count(p, dashes.len, UPPER | DIGIT | BLANK, TITLE_MAX, &n));
	struct str title = {p->at + dashes.len, n};
	if (!str_ends(title, S("PRIVATE KEY")) && !str_ends(title, S("PRIVATE KEY BLOCK")))
		return NO;
	NEED(stands(p, dashes.len + n, S("-----"), false));
	*ret = dashes.len + n + 5;
	return YES;
}

static enum answer
private_key(const struct place *p, struct finding *f)
{
	size_t n;

	NEED(key_line(p, S("-----BEGIN "), &n));
	*f = (struct finding){.kind = SECRET_PRIVATE_KEY, .eat = n, .opens_key = true};
	return YES;
}

/* A line of one, near to where its body seemed to end. */
static enum answer
key_rest(const struct place *p, struct finding *f)
{
	size_t n;

	NEED(count(p, 0, ALNUM | BASE64, KEY_LINE, &n));
	if (n < KEY_LINE)
		return NO;
	*f = (struct finding){.kind = SECRET_PRIVATE_KEY,
			      .eat = n,
			      .swallow = ALNUM | BASE64,
			      .near = KEY_NEAR};
	return YES;
}

/* Inside one: YES while the byte belongs to it. */
static enum answer
key_goes_on(struct secrets *s, const struct place *p, size_t *ret)
{
	size_t n;
	enum answer a = *p->at == '-' ? key_line(p, S("-----END "), &n) : NO;

	*ret = 1;
	if (a == MORE)
		return MORE;
	if (a == YES) {
		*ret = n;
		s->in_key = 0;
		return YES;
	}
	if (!is(*p->at, KEY_BODY) || s->in_key >= KEY_MAX) {
		s->in_key = 0;
		s->near = KEY_NEAR;
		return NO;
	}
	s->in_key++;
	return YES;
}

/* ---- the stream ---- */

/* Who looks at a place that begins so; everybody else is passed over. */
static enum answer (*const lookers[256])(const struct place *p, struct finding *f) = {
    ['A'] = token,  ['G'] = token,  ['L'] = token,      ['S'] = token,      ['d'] = token,
    ['e'] = token,  ['g'] = token,  ['h'] = token,      ['n'] = token,      ['p'] = token,
    ['r'] = token,  ['s'] = token,  ['w'] = token,      ['x'] = token,      ['y'] = token,
    ['B'] = scheme, ['b'] = scheme, [':'] = after_sign, ['='] = after_sign, ['-'] = private_key,
};

/* Bytes that still belong to the last secret. False: more of the stream is needed. */
static bool
swallow(struct secrets *s, bool last)
{
	while (s->swallowing && s->at < s->len) {
		if (is(s->window[s->at], s->swallowing))
			s->at++;
		else
			s->swallowing = 0;
	}
	while (s->in_key && s->at < s->len) {
		struct place p = {s->window, s->window + s->at, s->window + s->len, last};
		size_t n;
		enum answer a = key_goes_on(s, &p, &n);
		if (a == MORE)
			return false;
		s->at += a == YES ? n : 0;
	}
	return s->at < s->len;
}

static enum answer
look(const struct place *p, bool near_key, struct finding *f)
{
	enum answer a = near_key && is(*p->at, ALNUM | BASE64) ? key_rest(p, f) : NO;

	return a == NO && lookers[(unsigned char)*p->at] ? lookers[(unsigned char)*p->at](p, f) : a;
}

/* What is looked through: from `at` on; bytes before it are only looked back at. */
struct stretch {
	const char *first, *at, *end;
	const char *near; /* up to there another line of a private key may begin */
	bool escaped;     /* as in struct secrets */
	bool last;
	size_t looks; /* that may still be taken */
};

/* The next secret, and t->at stands at it: YES; NO when there is none; MORE where one may begin. */
static enum answer
search(struct stretch *t, struct finding *f)
{
	bool in_word = t->at > t->first && !t->escaped && is(t->at[-1], WORD);
	enum answer a;
	size_t n = 0;

	for (;; t->at++) {
		const char *from = t->at;
		/* Near a key every word may be a line of it. */
		if (t->at >= t->near)
			t->at = secret_place(t->at, t->end, in_word);
		else
			while (in_word && t->at < t->end && is(*t->at, WORD))
				t->at++;
		t->escaped = t->escaped && t->at == from;
		if (t->at == t->end)
			return NO;
		if (t->looks-- == 0)
			return MORE;
		bool escapes = is(*t->at, ESCAPE);
		struct place p = {t->at - t->first > LOOK_BACK ? t->at - LOOK_BACK : t->first,
				  t->at, t->end, t->last};
		if ((a = look(&p, t->at < t->near, f)) != NO)
			return a;
		if (escapes && (a = escape(&p, 0, &n)) == MORE)
			return a;
		t->escaped = escapes && n > 0;
		in_word = is(*t->at, WORD);
		if (t->escaped) {
			t->at += n - 1;
			in_word = false;
		}
	}
}

/* Everything of the window that can be decided. */
static void
scan(struct secrets *s, bool last, struct buf *out)
{
	struct finding f = {0};

	while (swallow(s, last)) {
		size_t from = s->at, near = s->at + s->near;
		struct stretch t = {.first = s->window,
				    .at = s->window + s->at,
				    .end = s->window + s->len,
				    .near = s->window + (near < s->len ? near : s->len),
				    .escaped = s->escaped,
				    .last = last,
				    .looks = SIZE_MAX};
		bool found = search(&t, &f) == YES;
		s->at = (size_t)(t.at - s->window);
		s->near = s->at < near ? near - s->at : 0;
		s->escaped = t.escaped;
		s->at += found ? f.keep : 0;
		buf_add(out, (struct str){s->window + from, s->at - from});
		if (!found)
			return;
		buf_addz(out, SECRET_MARK);
		s->at += f.eat;
		s->found[f.kind]++;
		s->escaped = false;
		s->swallowing = f.swallow;
		s->in_key = f.opens_key;
		s->near = f.near;
	}
}

void
secrets_begin(struct secrets *s)
{
	memset(s, 0, offsetof(struct secrets, window));
}

/* Keep what can still be looked back at, and what waits. */
static void
slide(struct secrets *s)
{
	size_t drop = s->at > LOOK_BACK ? s->at - LOOK_BACK : 0;

	memmove(s->window, s->window + drop, s->len - drop);
	s->at -= drop;
	s->len -= drop;
}

void
secrets_feed(struct secrets *s, struct str piece, struct buf *out)
{
	while (piece.len) {
		slide(s);
		struct str part = str_upto(piece, sizeof(s->window) - s->len);
		CHECK(part.len > 0);
		memcpy(s->window + s->len, part.ptr, part.len);
		s->len += part.len;
		piece = str_from(piece, part.len);
		scan(s, false, out);
	}
}

void
secrets_end(struct secrets *s, struct buf *out)
{
	scan(s, true, out);
	CHECK(s->at == s->len);
}

size_t
secrets_total(const struct secrets *s)
{
	size_t n = 0;

	for (size_t i = 0; i < SECRET__COUNT; i++)
		n += s->found[i];
	return n;
}

size_t
secrets_redact(struct str text, struct buf *out)
{
	struct secrets s;

	secrets_begin(&s);
	secrets_feed(&s, text, out);
	secrets_end(&s, out);
	return secrets_total(&s);
}

enum secrets_seen
secrets_glance(struct str text, size_t looks)
{
	struct stretch t = {.first = text.ptr,
			    .at = text.ptr,
			    .end = text.ptr + text.len,
			    .near = text.ptr,
			    .last = true,
			    .looks = looks};
	struct finding f;

	switch (text.len ? search(&t, &f) : NO) {
	case NO: return SECRETS_NONE;
	case YES: return SECRETS_SOME;
	case MORE: return SECRETS_UNSURE; /* by looks alone: nothing comes behind the text */
	}
	BUG("an answer of no kind");
}

bool
secrets_in(struct str text)
{
	return secrets_glance(text, SIZE_MAX) == SECRETS_SOME;
}
