/*
 * secrets.h - what looks like a password or a key is taken out of text that streams by.
 *
 * A secret becomes SECRET_MARK; everything else passes byte by byte. Where the stream is cut makes
 * no difference: bytes that could still become a secret wait for the next piece, never more than
 * some two thousand. Linear in the text, whatever it is; no allocation but that of the output.
 *
 * Found are tokens with a prefix of their own (AKIA..., ghp_..., sk-ant-...), JSON Web Tokens,
 * private keys (as text, with something before each line, and in base64), passwords in URLs,
 * bearer tokens and basic authorization, and values given to names like password or api_key;
 * also behind an escape (\nAKIA...) and between a terminal's colours. The last is a guess, and made
 * so that program text stays readable: a plain word, a path, a call or a placeholder
 * (${DB_PASSWORD}) is no secret, and a page token is none either.
 */

#ifndef TEXT_SECRETS_H
#define TEXT_SECRETS_H

#include "base/buf.h"

#define SECRET_MARK "[REDACTED-SECRET]"

enum secret_kind {
	SECRET_AWS_KEY,
	SECRET_GITHUB,
	SECRET_GITLAB,
	SECRET_MODEL_KEY, /* of Anthropic, OpenAI, Hugging Face */
	SECRET_SLACK,
	SECRET_GOOGLE,
	SECRET_STRIPE,
	SECRET_PACKAGES, /* of npm, PyPI */
	SECRET_SERVICE,  /* of others that give their tokens a prefix */
	SECRET_JWT,
	SECRET_PRIVATE_KEY,
	SECRET_URL_PASSWORD,
	SECRET_BEARER,
	SECRET_ASSIGNED, /* password = ... */
	SECRET__COUNT
};
const char *secret_kind_name(enum secret_kind k); /* "aws_key" */

#define SECRETS_WINDOW 8192
#define SECRETS_GROWTH                                                                             \
	4 /* times the text: more than the output ever has, marks for short secrets */

struct secrets {
	size_t found[SECRET__COUNT];

	/* private */
	unsigned swallowing; /* class of the bytes that still belong to the last secret */
	size_t in_key;       /* bytes of a private key's body so far; 0 = not in one */
	size_t near;         /* bytes from at on, where another line of it may begin */
	bool escaped;        /* what ends at `at` is an escape, and no word */
	size_t at; /* in the window: what is before is written, and kept to look back at */
	size_t len;
	char window[SECRETS_WINDOW];
};

void secrets_begin(struct secrets *s);
void secrets_feed(struct secrets *s, struct str piece, struct buf *out);
void secrets_end(struct secrets *s, struct buf *out); /* what still waited */
size_t secrets_total(const struct secrets *s);

/* A whole text. How many there were; out fails by its maximum alone. */
size_t secrets_redact(struct str text, struct buf *out);

/* Would there be any? Reads the text once and writes nothing. */
bool secrets_in(struct str text);

/* The same for who has little time: unsure after so many looks at places where one might be. What
 * is no such place is passed over quickly. */
enum secrets_seen { SECRETS_NONE, SECRETS_SOME, SECRETS_UNSURE };
enum secrets_seen secrets_glance(struct str text, size_t looks);

#endif
