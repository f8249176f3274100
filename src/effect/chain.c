/* chain.c - the log: each record carries the hash of all before it. */

#include "effect/inside.h"

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
	struct buf head = BUF_INIT(512);

	buf_addf(&head, "%lld\n%.*s\n%lld\n%.*s\n", (long long)seq, STR_ARG(t->effect),
		 (long long)t->at_us, STR_ARG(t->kind));
	sha256_begin(&s);
	sha256_add(&s, (struct str){(const char *)before->hash, SHA256_BYTES});
	sha256_add(&s, buf_str(&head));
	sha256_add(&s, t->body);
	sha256_end(&s, out);
	buf_done(&head);
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
