/* chain.c - the log: each record carries the hash of all before it. */

#include "effect/inside.h"

static void
add_number(struct sha256 *s, int64_t n)
{
	char digits[24], *at = digits + sizeof(digits);
	uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	*--at = '\n';
	do
		*--at = (char)('0' + rest % 10);
	while (rest /= 10);
	if (n < 0)
		*--at = '-';
	sha256_add(s, (struct str){at, (size_t)(digits + sizeof(digits) - at)});
}

static void
add_line(struct sha256 *s, struct str text)
{
	sha256_add(s, text);
	sha256_add(s, S("\n"));
}

/*
 * SHA-256 of the hash before (32 bytes; zeroes before the first), and of the record as text: five
 * lines, none of which has a line end in it. The body is JSON in the form of RFC 8785, so that
 * whoever has the exported record can write the same bytes.
 */
void
ledger__hash(const struct chain *before, int64_t seq, const struct link_text *t,
	     unsigned char out[static SHA256_BYTES])
{
	struct sha256 s;

	sha256_begin(&s);
	sha256_add(&s, (struct str){(const char *)before->hash, SHA256_BYTES});
	add_number(&s, seq);
	add_line(&s, t->effect);
	add_number(&s, t->at_us);
	add_line(&s, t->kind);
	sha256_add(&s, t->body);
	sha256_end(&s, out);
}

static int
last_read(sqlite3_stmt *st, struct chain *ret)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW && sqlite3_column_bytes(st, 1) == SHA256_BYTES) {
		ret->seq = sqlite3_column_int64(st, 0);
		memcpy(ret->hash, sqlite3_column_blob(st, 1), SHA256_BYTES);
	}
	sqlite3_reset(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Others append to it, too: where it ends is known inside a transaction only. */
int
ledger__chain_load(struct ledger *l)
{
	l->chain = (struct chain){0};
	int rc = last_read(l->st[ST_LOG_LAST], &l->chain);
	return rc == SQLITE_OK && l->chain.seq == 0 ? last_read(l->st[ST_ANCHOR], &l->chain) : rc;
}

int
ledger__chain_add(struct ledger *l, const struct link_text *t)
{
	struct chain next = {.seq = l->chain.seq + 1};

	ledger__hash(&l->chain, next.seq, t, next.hash);
	const struct value values[] = {
	    value_int(next.seq), value_str(t->effect),
	    value_int(t->at_us), value_str(t->kind),
	    value_str(t->body),  value_blob((struct str){(const char *)next.hash, SHA256_BYTES}),
	};
	int rc = db_run(l->st[ST_LOG_ADD], values, ARRAY_LEN(values));
	if (rc == SQLITE_OK)
		l->chain = next;
	return rc;
}
