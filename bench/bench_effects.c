/*
 * bench_effects.c - calls that change something, each on the disk before and after its job, beside
 * what SQLite can do with the same rows on the same disk in the same run.
 *
 * The limit is the same inserts and updates in the same tables, with one synchronous commit for
 * all that begin together and one for all that end together, and nothing else around them. Rounds
 * of both take turns, because a disk is not as fast all the time.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/hf.h"
#include "effect/inside.h"

#define SESSIONS 64
#define ROUNDS 5

#define CARD(name, reversibility)                                                                  \
	"{\"name\":\"" name "\",\"description\":\"Does nothing.\",\"capability\":\"none\","        \
	"\"reversibility\":\"" reversibility "\",\"input_schema\":{\"type\":\"object\","           \
	"\"properties\":{\"path\":{\"type\":\"string\",\"maxLength\":4096}},"                      \
	"\"required\":[\"path\"],\"additionalProperties\":false}}"

static void *
noop_make(void *arg)
{
	return arg;
}

static void
noop_free(void *instance)
{
	(void)instance;
}

static void
noop_start(void *instance, struct job *j)
{
	(void)instance;
	j->out.success = true;
	output_text(&j->out, S("nothing"));
	job_report_soon(j);
}

static const struct builtin_ops noop = {.make = noop_make, .free = noop_free, .start = noop_start};

struct bench {
	struct hf *hf;
	struct session *sessions[SESSIONS];
	struct json_doc *input;
	struct str tool;
	size_t to_start, running;
};

static void
die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static void one_more(struct bench *b);

static void
over(struct turn *t, void *arg)
{
	struct bench *b = arg;

	if (t->results[0].is_error)
		die("a call failed");
	b->running--;
	one_more(b);
}

static void
one_more(struct bench *b)
{
	if (b->to_start == 0) {
		if (b->running == 0)
			loop_stop(b->hf->loop);
		return;
	}
	b->to_start--;
	b->running++;
	struct call_spec call = {.tool = b->tool,
				 .input_doc = b->input,
				 .input = json_root(b->input)};
	struct turn_spec spec = {.calls = &call, .count = 1, .done = over, .arg = b};
	struct turn *turn;
	struct err e;
	if (gateway_submit(&b->hf->gw, b->sessions[b->to_start % SESSIONS], &spec, &turn, &e) < 0)
		die(err_text(&e));
}

static double
calls_per_s(struct bench *b, struct str tool, size_t calls, size_t together)
{
	b->tool = tool;
	b->to_start = calls;
	uint64_t start_us = clock_mono_us();
	for (size_t i = 0; i < together; i++)
		one_more(b);
	loop_run(b->hf->loop);
	return (double)calls * 1e6 / (double)(clock_mono_us() - start_us);
}

/* ---- SQLite alone ---- */

struct raw {
	struct ledger *ledger; /* for its tables; its own thread rests */
	sqlite3 *db;
	sqlite3_stmt *st[ST__COUNT];
	int64_t seq;
};

static void
step(int rc)
{
	if (rc != SQLITE_OK)
		die("sqlite");
}

static void
log_add(struct raw *r, const char *id, const char *kind, const char *body)
{
	static const unsigned char hash[SHA256_BYTES];
	const struct value values[] = {value_int(++r->seq),
				       value_z(id),
				       value_int(clock_wall_us()),
				       value_z(kind),
				       value_z(body),
				       value_blob((struct str){(const char *)hash, sizeof(hash)})};

	step(db_run(r->st[ST_LOG_ADD], values, ARRAY_LEN(values)));
}

static const char digest[] = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";

static void
begin_one(struct raw *r, const struct id *id)
{
	const struct value none = {0};
	const struct value values[] = {value_z(id->text),
				       none,
				       value_z(digest),
				       value_z("call_01M7K9J8CYV9FMDGE7DGGJBY8Y"),
				       value_z("sess_01M7K9J8CXYFQD8HD37K7HXC5S"),
				       value_z("turn_01M7K9J8CYV9FMDGE7DGGJBY8X"),
				       none,
				       value_z("default"),
				       value_z("default"),
				       value_z("change"),
				       value_z("irreversible"),
				       value_z("{\"path\":\"README.md\"}"),
				       none,
				       none,
				       value_z("started"),
				       none,
				       value_int(clock_wall_us()),
				       none,
				       value_int(clock_wall_us()),
				       value_int(1)};

	step(db_run(r->st[ST_INSERT], values, ARRAY_LEN(values)));
	log_add(r, id->text, "started",
		"{\"agent\":\"default\",\"call\":\"call_01M7K9J8CYV9FMDGE7DGGJBY8Y\",\"digest\":"
		"\"015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862\",\"policy\":"
		"\"irreversible\",\"session\":\"sess_01M7K9J8CXYFQD8HD37K7HXC5S\",\"tenant\":"
		"\"default\",\"tool\":\"change\",\"turn\":\"turn_01M7K9J8CYV9FMDGE7DGGJBY8X\"}");
}

static void
end_one(struct raw *r, const struct id *id)
{
	const struct value none = {0};
	const struct value values[] = {
	    value_z(id->text),
	    value_z("done"),
	    value_z("{\"parts\":[32,0,0,0],\"content\":[{\"type\":\"text\",\"text\":\"nothing\"}],"
		    "\"extra\":{},\"modified\":[],\"artifacts\":[]}"),
	    none,
	    value_int(clock_wall_us()),
	    none,
	    none};

	step(db_run(r->st[ST_SETTLE], values, ARRAY_LEN(values)));
	log_add(r, id->text, "done",
		"{\"result\":\"015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862\","
		"\"state\":\"done\"}");
}

static double
raw_per_s(struct raw *r, size_t calls, size_t together)
{
	struct id ids[SESSIONS];
	uint64_t start_us = clock_mono_us();

	for (size_t done = 0; done < calls; done += together) {
		step(db_run(r->st[ST_BEGIN], NULL, 0));
		for (size_t i = 0; i < together; i++) {
			ids[i] = id_new("eff_");
			begin_one(r, &ids[i]);
		}
		step(db_run(r->st[ST_COMMIT], NULL, 0));
		step(db_run(r->st[ST_BEGIN], NULL, 0));
		for (size_t i = 0; i < together; i++)
			end_one(r, &ids[i]);
		step(db_run(r->st[ST_COMMIT], NULL, 0));
	}
	return (double)calls * 1e6 / (double)(clock_mono_us() - start_us);
}

static void
raw_open(struct raw *r, struct bench *b, const char *dir)
{
	char path[96];
	struct err e;

	snprintf(path, sizeof(path), "%s/raw.db", dir);
	if (ledger_open(&(struct ledger_spec){.loop = b->hf->loop, .path = path}, &r->ledger, &e) <
		0 ||
	    ledger__connect(r->ledger, &r->db, &e) < 0 ||
	    db_prepare(r->db, ledger__sql, ST__COUNT, r->st, &e) < 0)
		die(err_text(&e));
}

static void
raw_close(struct raw *r)
{
	for (size_t i = 0; i < ST__COUNT; i++)
		sqlite3_finalize(r->st[i]);
	sqlite3_close(r->db);
	ledger_free(r->ledger);
}

/* ---- both ---- */

static void
open_bench(struct bench *b, const char *dir)
{
	static const char *const cards[] = {CARD("change", "irreversible"), CARD("look", "pure")};
	struct err e;
	char id[40], state[64], config[64];

	snprintf(state, sizeof(state), "%s/state", dir);
	snprintf(config, sizeof(config), "%s/config.yaml", dir);
	FILE *f = fopen(config, "w");
	if (!f || fputs("tools: {defaults: {repeat_limit: 0}}\n", f) < 0 || fclose(f) != 0)
		die(config);
	if (hf_open(&(struct hf_options){.state = state, .config = config, .no_builtins = true},
		    &b->hf) < 0)
		die(hf_error(NULL));
	for (size_t i = 0; i < ARRAY_LEN(cards); i++) {
		struct builtin_spec spec = {.card = str_of(cards[i]), .ops = &noop, .arg = b};
		if (builtin_register(b->hf->builtins, b->hf->catalog, &spec, &e) < 0)
			die(err_text(&e));
	}
	if (json_parse(S("{\"path\":\"README.md\"}"), &json_door, &b->input, &e) < 0)
		die(err_text(&e));
	for (size_t i = 0; i < SESSIONS; i++) {
		if (hf_session_open(b->hf, dir, false, id) < 0)
			die(hf_error(b->hf));
		b->sessions[i] = session_find(b->hf->sessions, str_of(id));
	}
}

static void
compare(struct bench *b, struct raw *r, size_t calls, size_t together)
{
	double ours = 0, limit = 0, most = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double one = calls_per_s(b, S("change"), calls, together);
		double raw = raw_per_s(r, calls, together);
		ours += one;
		limit += raw;
		most = one / raw > most ? one / raw : most;
	}
	printf("effects: %zu session%s: %.0f durable calls/s; SQLite alone, same rows: %.0f/s; "
	       "%.0f %% of it (best round %.0f %%)\n",
	       together, together > 1 ? "s" : "", ours / ROUNDS, limit / ROUNDS, 100 * ours / limit,
	       100 * most);
}

int
main(void)
{
	char dir[] = "/var/tmp/holdfast-bench-XXXXXX";
	struct bench b = {0};
	struct raw r = {0};
	char command[64];

	if (!mkdtemp(dir))
		die("no directory");
	open_bench(&b, dir);
	raw_open(&r, &b, dir);
	calls_per_s(&b, S("change"), 2000, SESSIONS); /* warm */
	compare(&b, &r, 500, 1);
	compare(&b, &r, 12800, SESSIONS);
	printf("effects: pure calls beside them: %.0f calls/s, one after the other; %.0f with 64 "
	       "together\n",
	       calls_per_s(&b, S("look"), 20000, 1), calls_per_s(&b, S("look"), 50000, SESSIONS));
	raw_close(&r);
	json_doc_unref(b.input);
	hf_close(b.hf);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) == 0 ? 0 : 1;
}
