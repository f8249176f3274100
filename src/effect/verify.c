/*
 * verify.c - has somebody changed what the ledger says?
 *
 * The log is walked once: each record's hash is that of its text and the hash before. What the log
 * comes to is kept for each effect on the way, and compared with its row in the end.
 */

#include "effect/inside.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "json/canon.h"
#include "json/write.h"

/* What the log says of one effect. */
struct told {
	char id[48], state[16], digest[DIGEST_TEXT], result[DIGEST_TEXT], given[DIGEST_TEXT];
	char compensation[16];
	bool seen; /* there is a row */
};

struct verifying {
	struct ledger *l;
	struct map told;
	struct chain chain;
	struct jw w; /* in the array of problems */
	size_t problems;
	int64_t records, effects;
};

static void
problem(struct verifying *v, const char *what, struct str effect, int64_t seq)
{
	if (v->problems++ >= LIMIT_LEDGER_PROBLEMS)
		return;
	jw_object(&v->w);
	jw_member_z(&v->w, "problem", what);
	if (effect.ptr)
		jw_member(&v->w, "effect", effect);
	if (seq)
		jw_member_int(&v->w, "seq", seq);
	jw_end(&v->w);
}

static struct told *
told_of(struct verifying *v, struct str id)
{
	struct told *t = map_find(&v->told, id);

	if (t || id.len >= sizeof(t->id) || !(t = calloc(1, sizeof(*t))))
		return t;
	memcpy(t->id, id.ptr, id.len);
	if (map_put(&v->told, str_of(t->id), t) == 0)
		return t;
	free(t);
	return NULL;
}

static void
copy(char *out, size_t size, struct str from)
{
	if (from.ptr)
		snprintf(out, size, "%.*s", STR_ARG(from));
}

static int
record_take(struct verifying *v, sqlite3_stmt *st)
{
	struct str kind = db_text(st, 3);
	struct told *t = told_of(v, db_text(st, 1));
	struct json_doc *doc = NULL;

	if (!t)
		return E_NOMEM;
	if (json_parse(db_text(st, 4), &json_door, &doc, NULL) < 0) {
		problem(v, "a record is no JSON", db_text(st, 1), sqlite3_column_int64(st, 0));
		return 0;
	}
	const struct json *body = json_root(doc);
	static const char *const steps[][2] = {{"compensating", "running"},
					       {"compensated", "done"},
					       {"compensation_failed", "failed"}};
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (str_is(kind, steps[i][0]))
			copy(t->compensation, sizeof(t->compensation), str_of(steps[i][1]));
	copy(t->compensation, sizeof(t->compensation), json_str(json_get(body, S("compensation"))));
	if (str_is(kind, "started"))
		copy(t->state, sizeof(t->state), S("started"));
	copy(t->digest, sizeof(t->digest), json_str(json_get(body, S("digest"))));
	if (json_get(body, S("state"))) {
		copy(t->state, sizeof(t->state), json_str(json_get(body, S("state"))));
		t->result[0] = '\0';
		copy(t->result, sizeof(t->result), json_str(json_get(body, S("result"))));
		t->given[0] = '\0';
		copy(t->given, sizeof(t->given), json_str(json_get(body, S("given"))));
	}
	json_doc_unref(doc);
	return 0;
}

static int
walk_log(struct verifying *v)
{
	sqlite3_stmt *st = NULL;
	int code = 0,
	    rc = sqlite3_prepare_v2(
		v->l->reader, "SELECT seq, effect, at_us, kind, body, hash FROM log ORDER BY seq",
		-1, &st, NULL);

	while (code == 0 && rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t seq = sqlite3_column_int64(st, 0);
		struct link_text t = {db_text(st, 1), sqlite3_column_int64(st, 2), db_text(st, 3),
				      db_text(st, 4)};
		struct chain next = {.seq = seq};
		if (seq != v->chain.seq + 1)
			problem(v, "records are missing before this one", t.effect, seq);
		ledger__hash(&v->chain, seq, &t, next.hash);
		if (sqlite3_column_bytes(st, 5) != SHA256_BYTES ||
		    memcmp(sqlite3_column_blob(st, 5), next.hash, SHA256_BYTES) != 0)
			problem(v, "the hash does not fit the record and those before it", t.effect,
				seq);
		/* From here on as it stands: each break is told once. */
		if (sqlite3_column_bytes(st, 5) == SHA256_BYTES)
			memcpy(next.hash, sqlite3_column_blob(st, 5), SHA256_BYTES);
		v->chain = next;
		v->records++;
		code = record_take(v, st);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return code < 0 ? code : rc == SQLITE_DONE ? 0 : E_STORE;
}

/* It goes when nobody needs it any more. */
static bool
is_given_right(const struct told *t, struct str given)
{
	char digest[DIGEST_TEXT] = "";

	if (given.ptr)
		digest_bytes(given, digest);
	return strcmp(digest, t->given) == 0 ||
	       (!given.ptr && strcmp(t->compensation, "done") == 0);
}

static void
row_check(struct verifying *v, sqlite3_stmt *st)
{
	struct str id = db_text(st, 0), result = db_text(st, 3);
	struct told *t = map_find(&v->told, id);
	char digest[DIGEST_TEXT] = "";

	if (!t) {
		problem(v, "the log knows nothing of this effect", id, 0);
		return;
	}
	t->seen = true;
	if (!str_is(db_text(st, 1), t->state))
		problem(v, "its state is not what the log comes to", id, 0);
	if (!str_eq(db_text(st, 5), str_of(t->compensation)))
		problem(v, "whether it was taken back is not what the log says", id, 0);
	if (!str_eq(db_text(st, 2), str_of(t->digest)))
		problem(v, "the digest of its arguments is not the log's", id, 0);
	if (result.ptr)
		digest_bytes(result, digest);
	if (strcmp(digest, t->result) != 0)
		problem(v, "its result is not the one in the log", id, 0);
	if (!is_given_right(t, db_text(st, 6)))
		problem(v, "what its tool gave is not what the log says", id, 0);
	struct json_doc *args = NULL;
	if (!db_text(st, 4).ptr)
		return;
	if (json_parse(db_text(st, 4), &json_door, &args, NULL) < 0 ||
	    digest_value(json_root(args), CANON_JCS, digest, NULL) < 0 ||
	    strcmp(digest, t->digest) != 0)
		problem(v, "its arguments are not those of the digest", id, 0);
	json_doc_unref(args);
}

static int
walk_effects(struct verifying *v)
{
	sqlite3_stmt *st = NULL;
	int rc =
	    sqlite3_prepare_v2(v->l->reader,
			       "SELECT id, state, digest, result, args, compensation_state,"
			       " (SELECT given FROM given WHERE effect = effects.id) FROM effects",
			       -1, &st, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		row_check(v, st);
		v->effects++;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : E_STORE;
}

/* What was forgotten is before the anchor: the chain goes on from its hash. */
static int
anchor_read(struct verifying *v)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(v->l->reader, "SELECT seq, hash FROM anchor", -1, &st, NULL);

	if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW &&
	    sqlite3_column_bytes(st, 1) == SHA256_BYTES) {
		v->chain.seq = sqlite3_column_int64(st, 0);
		memcpy(v->chain.hash, sqlite3_column_blob(st, 1), SHA256_BYTES);
	}
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : E_STORE;
}

/* One of which the log tells more than that it was forgotten has a row. */
static void
unseen_check(struct verifying *v, bool pruned)
{
	const struct told *t;

	for (size_t at = 0; (t = map_each(&v->told, &at));)
		if (!t->seen && !pruned)
			problem(v, "the log tells of an effect that is not there", str_of(t->id),
				0);
}

/* Integrity of the file itself: pages, indexes. */
static void
file_check(struct verifying *v)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(v->l->reader, "PRAGMA integrity_check(1)", -1, &st, NULL) !=
		SQLITE_OK ||
	    sqlite3_step(st) != SQLITE_ROW || !str_is(db_text(st, 0), "ok"))
		problem(v, "the file is damaged", (struct str){NULL, 0}, 0);
	sqlite3_finalize(st);
}

int
ledger_verify(struct ledger *l, struct buf *out, bool *ret_ok, struct err *e)
{
	struct verifying v = {.l = l};
	int code = ledger__reader(l, e);
	void *one;

	if (code < 0)
		return code;
	map_init(&v.told, SIZE_MAX / 4);
	struct jw w = jw(out);
	jw_object(&w);
	jw_key(&w, "problems");
	jw_array(&w);
	v.w = w;
	/* One moment of the file: others write meanwhile. */
	(void)sqlite3_exec(l->reader, "BEGIN", NULL, NULL, NULL);
	if ((code = anchor_read(&v)) == 0) {
		int64_t anchor = v.chain.seq;
		if ((code = walk_log(&v)) == 0 && (code = walk_effects(&v)) == 0)
			unseen_check(&v, anchor > 0);
		file_check(&v);
		w = v.w;
		jw_end(&w);
		jw_member_bool(&w, "ok", v.problems == 0);
		jw_member_int(&w, "records", v.records);
		jw_member_int(&w, "effects", v.effects);
		jw_member_int(&w, "anchor", anchor);
		jw_member_int(&w, "last", v.chain.seq);
		jw_end(&w);
	}
	if (code == E_STORE)
		db_error(l->reader, "verify", e);
	else if (code < 0 || buf_failed(out))
		code = err_plain(e, E_NOMEM);
	(void)sqlite3_exec(l->reader, "COMMIT", NULL, NULL, NULL);
	for (size_t at = 0; (one = map_each(&v.told, &at));)
		free(one);
	map_done(&v.told);
	*ret_ok = code == 0 && v.problems == 0;
	ledger__read_end(l);
	return code;
}
