/* ledger.c - the file, from its opening to its end, and what is asked of it. */

#include "effect/inside.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * synchronous=FULL: what is committed is on the disk, whatever happens then. What a person or a
 * tool did not want kept is overwritten when it goes.
 */
static const char open_sql[] = "PRAGMA page_size = 4096;"
			       "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = FULL;"
			       "PRAGMA temp_store = MEMORY;"
			       "PRAGMA secure_delete = ON;"
			       "PRAGMA trusted_schema = OFF;";

#define FORM_VERSION 2

/* `claim` is the key for as long as this effect stands under it. */
static const char form_sql[] =
    "CREATE TABLE IF NOT EXISTS effects ("
    " id TEXT PRIMARY KEY, claim TEXT UNIQUE, key TEXT, digest TEXT,"
    " call TEXT, session TEXT, turn TEXT, turn_group TEXT, tenant TEXT, agent TEXT, tool TEXT,"
    " policy TEXT, args TEXT, state TEXT, result TEXT, error TEXT,"
    " started_us INTEGER, ended_us INTEGER, expires_us INTEGER, owner INTEGER,"
    " resolved_by TEXT, note TEXT," /* who found out what became of an unknown one */
    " compensation_tool TEXT, compensates TEXT,"
    " compensation_id TEXT, compensation_state TEXT, compensation_result TEXT);"
    "CREATE INDEX IF NOT EXISTS effects_started ON effects (owner) WHERE state = 'started';"
    "CREATE INDEX IF NOT EXISTS effects_unknown ON effects (id)"
    " WHERE state = 'unknown' AND resolved_by IS NULL;"
    "CREATE INDEX IF NOT EXISTS effects_call ON effects (call);"
    "CREATE INDEX IF NOT EXISTS effects_turn ON effects (turn);"
    /* What a tool gave, unredacted: for taking the effect back, and gone when that is done. */
    "CREATE TABLE IF NOT EXISTS given (effect TEXT PRIMARY KEY, given TEXT);"
    "CREATE TABLE IF NOT EXISTS log ("
    " seq INTEGER PRIMARY KEY, effect TEXT, at_us INTEGER, kind TEXT, body TEXT, hash BLOB);"
    "CREATE TABLE IF NOT EXISTS anchor (one INTEGER PRIMARY KEY, seq INTEGER, hash BLOB);";

static const char *const states[CLAIM__COUNT] = {
    [CLAIM_NONE] = "none",     [CLAIM_STARTED] = "started", [CLAIM_DONE] = "done",
    [CLAIM_FAILED] = "failed", [CLAIM_UNKNOWN] = "unknown",
};

const char *
claim_state_name(enum claim_state s)
{
	CHECK((size_t)s < ARRAY_LEN(states));
	return states[s];
}

bool
claim_state_parse(struct str name, enum claim_state *ret)
{
	for (size_t i = CLAIM_STARTED; i < ARRAY_LEN(states); i++) {
		if (!str_is(name, states[i]))
			continue;
		*ret = (enum claim_state)i;
		return true;
	}
	return false;
}

int
ledger__connect(const struct ledger *l, sqlite3 **ret, struct err *e)
{
	return db_open(&(struct db_spec){.path = l->path, .name = l->name, .settings = open_sql},
		       ret, e);
}

static int
form(struct ledger *l, struct err *e)
{
	int code = db_form(l->db, FORM_VERSION, form_sql, e);

	return code < 0 ? code : db_prepare(l->db, ledger__sql, ST__COUNT, l->st, e);
}

/* What was under way when somebody died is looked into before anything new begins. */
static int
first_sweep(struct ledger *l, struct err *e)
{
	int rc = db_run(l->st[ST_BEGIN], NULL, 0);

	if (rc == SQLITE_OK)
		rc = ledger__chain_load(l);
	l->in_write = true;
	if (rc == SQLITE_OK)
		rc = ledger__sweep_now(l);
	if (rc == SQLITE_OK)
		rc = ledger__commit(l);
	if (rc == SQLITE_OK)
		return 0;
	db_error(l->db, "recovery", e);
	if (!sqlite3_get_autocommit(l->db))
		db_run(l->st[ST_ROLLBACK], NULL, 0);
	return E_STORE;
}

static void
deliver(void *arg)
{
	struct ledger *l = arg;

	pthread_mutex_lock(&l->lock);
	struct recovered *r = l->recovered;
	l->recovered = NULL;
	l->recovered_end = &l->recovered;
	pthread_mutex_unlock(&l->lock);
	for (const struct recovered *one = r; one && l->spec.recovered; one = one->next)
		l->spec.recovered(&one->orphan, one->state, l->spec.arg);
	recovered__free(r);
	ledger__deliver(l);
}

static struct ledger *
ledger_new(const struct ledger_spec *spec)
{
	static atomic_uint count;
	pthread_condattr_t monotonic;
	struct ledger *l = calloc(1, sizeof(*l));

	if (!l || (spec->path && !(l->path = strdup(spec->path)))) {
		free(l);
		return NULL;
	}
	l->spec = *spec;
	l->spec.path = l->path;
	snprintf(l->name, sizeof(l->name), "holdfast-effects-%u", atomic_fetch_add(&count, 1));
	l->lock_fd = -1;
	buf_init(&l->body, LIMIT_EFFECT_FOUND);
	l->queue_end = &l->queue;
	l->answered_end = &l->answered;
	l->recovered_end = &l->recovered;
	l->fresh_end = &l->fresh;
	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->read_lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->news, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return l;
}

int
ledger_open(const struct ledger_spec *spec, struct ledger **ret, struct err *e)
{
	struct ledger *l = ledger_new(spec);
	int code;

	if (!l)
		return err_plain(e, E_NOMEM);
	claims__sqlite_init(l);
	if ((code = mailbox_init(spec->loop, &l->box, deliver, l, e)) == 0)
		l->boxed = true;
	if (code == 0)
		code = ledger__connect(l, &l->db, e);
	if (code < 0 || (code = form(l, e)) < 0 || (code = ledger__own(l, e)) < 0 ||
	    (code = first_sweep(l, e)) < 0 || (code = ledger__start(l, e)) < 0) {
		ledger_free(l);
		return code;
	}
	if (l->fresh) {
		pthread_mutex_lock(&l->lock);
		*l->recovered_end = l->fresh;
		l->recovered_end = l->fresh_end;
		l->fresh = NULL;
		l->fresh_end = &l->fresh;
		pthread_mutex_unlock(&l->lock);
		mailbox_post(&l->box);
	}
	*ret = l;
	return 0;
}

void
ledger_free(struct ledger *l)
{
	if (!l)
		return;
	ledger__stop(l);
	if (l->boxed)
		mailbox_done(&l->box);
	ledger__deliver_all(l);
	recovered__free(l->recovered);
	recovered__free(l->fresh);
	for (size_t i = 0; i < ST__COUNT; i++)
		sqlite3_finalize(l->st[i]);
	sqlite3_close(l->reader);
	sqlite3_close(l->db);
	ledger__disown(l); /* last: what was started is ours until everything is written */
	pthread_cond_destroy(&l->news);
	pthread_mutex_destroy(&l->read_lock);
	pthread_mutex_destroy(&l->lock);
	buf_done(&l->body);
	free(l->path);
	free(l);
}

struct claims *
ledger_claims(struct ledger *l)
{
	return &l->claims;
}

int
ledger_health(struct ledger *l, struct err *e)
{
	pthread_mutex_lock(&l->lock);
	bool fails = l->failures > 0;
	if (fails && e)
		*e = l->failure;
	pthread_mutex_unlock(&l->lock);
	return fails ? E_STORE : 0;
}

uint64_t
ledger_unknown(const struct ledger *l)
{
	return atomic_load(&l->unknown);
}

void
ledger_release(struct ledger *l)
{
	sqlite3_db_release_memory(l->db);
	pthread_mutex_lock(&l->read_lock);
	if (l->reader)
		sqlite3_db_release_memory(l->reader);
	pthread_mutex_unlock(&l->read_lock);
}

/* What cannot be queued now is done the next time. */
void
ledger_sweep(struct ledger *l)
{
	(void)ledger__put(l, OP_SWEEP, &(struct op){0});
}

void
ledger_prune(struct ledger *l, int64_t before_us)
{
	(void)ledger__put(l, OP_PRUNE, &(struct op){.at_us = before_us});
}

int
ledger_compensate(struct ledger *l, const struct compensation *c, claims_fn done, void *arg)
{
	struct op op = {.step = c->step, .done = done, .arg = arg};

	op.texts[T_EFFECT] = c->effect;
	op.texts[T_BY] = c->by;
	op.texts[T_RESULT] = c->result;
	return ledger__put(l, OP_COMPENSATE, &op);
}
