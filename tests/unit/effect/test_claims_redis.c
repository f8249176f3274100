/* test_claims_redis.c - two machines on one real Redis: who may begin, and what the other sees. */

#include "redis_house.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "effect/claims_redis.h"
#include "effect/ledger.h"
#include "net/redis.h"

struct machine {
	struct ledger *ledger;
	struct claims *claims;
};

struct place {
	struct loop *loop;
	struct redis_house redis;
	struct machine a, b;
	struct redis_address address;
	struct redis *direct; /* the test's own connection */
	bool up;
};

struct answer {
	bool here;
	int code;
	char text[512];
	enum claim_state state;
	char digest[64], effect[64], result[64];
	bool has_result;
};

static void
ring(void *arg)
{
	loop_stop(arg);
}

#define UNTIL(p, cond)                                                                             \
	do {                                                                                       \
		uint64_t end_ms = clock_mono_ms() + 30000;                                         \
		while (!(cond)) {                                                                  \
			struct timer turn = {0};                                                   \
			assert_true(clock_mono_ms() < end_ms);                                     \
			timer_start((p)->loop, &turn, 2, ring, (p)->loop);                         \
			loop_run((p)->loop);                                                       \
			timer_stop((p)->loop, &turn);                                              \
		}                                                                                  \
	} while (0)

static void
put(char *out, size_t size, struct str s)
{
	snprintf(out, size, "%.*s", STR_ARG(s));
}

static void
answered(const struct err *e, const struct claim_found *f, void *arg)
{
	struct answer *a = arg;

	assert_false(a->here);
	a->here = true;
	a->code = e->code;
	if (e->code < 0) {
		snprintf(a->text, sizeof(a->text), "%s", err_text(e));
		return;
	}
	a->state = f->state;
	put(a->digest, sizeof(a->digest), f->digest);
	put(a->effect, sizeof(a->effect), f->effect);
	put(a->result, sizeof(a->result), f->result);
	a->has_result = f->result.ptr != NULL;
}

static struct claim_ask
ask_of(const char *key, const char *effect)
{
	static const struct effect_record record = {.call = S("call_1"),
						    .tenant = S("t"),
						    .agent = S("a"),
						    .tool = S("pay"),
						    .policy = "irreversible"};

	return (struct claim_ask){.key = str_of(key),
				  .digest = S("digest"),
				  .effect = str_of(effect),
				  .keep_ms = 60000,
				  .record = &record};
}

static struct answer
take(struct place *p, struct machine *m, const char *key, const char *effect)
{
	struct answer a = {0};
	struct claim_ask ask = ask_of(key, effect);

	assert_int_equal(m->claims->ops->take(m->claims, &ask, answered, &a), 0);
	assert_false(a.here);
	UNTIL(p, a.here);
	return a;
}

static struct answer
look(struct place *p, struct machine *m, const char *key)
{
	struct answer a = {0};

	assert_int_equal(m->claims->ops->look(m->claims, str_of(key), answered, &a), 0);
	UNTIL(p, a.here);
	return a;
}

static struct answer
settle(struct place *p, struct machine *m, const char *key, const char *effect,
       enum claim_state state, const char *result)
{
	struct answer a = {0};
	struct claim_end end = {.key = str_of(key),
				.effect = str_of(effect),
				.state = state,
				.result = str_of(result)};

	assert_int_equal(m->claims->ops->settle(m->claims, &end, answered, &a), 0);
	UNTIL(p, a.here);
	return a;
}

/* ---- the place ---- */

static bool
is_ready(struct machine *m)
{
	return claims_redis_health(m->claims, NULL) == 0;
}

static void
machine_open(struct place *p, struct machine *m, const char *name)
{
	char file[128], db[128];
	struct err e = ERR_NONE;

	snprintf(file, sizeof(file), "%s/%s.json", p->redis.dir, name);
	snprintf(db, sizeof(db), "%s/%s.db", p->redis.dir, name);
	if (ledger_open(&(struct ledger_spec){.loop = p->loop, .path = db}, &m->ledger, &e) < 0)
		fail_msg("%s %s", err_text(&e), e.inside);
	struct claims_redis_spec spec = {.loop = p->loop,
					 .ledger = ledger_claims(m->ledger),
					 .file = file,
					 .url = str_of(p->redis.url),
					 .prefix = S("tool_idem")};
	if (claims_redis_open(&spec, &m->claims, &e) < 0)
		fail_msg("%s %s", err_text(&e), e.inside);
}

static void
machine_close(struct machine *m)
{
	if (!m->claims)
		return;
	m->claims->ops->free(m->claims);
	ledger_free(m->ledger);
	*m = (struct machine){0};
}

static void
direct_changed(bool up, const struct err *why, void *arg)
{
	(void)why;
	((struct place *)arg)->up = up;
}

static void
place_open(struct place *p, const char *appendonly)
{
	struct err e;

	*p = (struct place){0};
	if (!redis_house_is_there())
		skip();
	log_set_level(LOG_ERROR + 1);
	assert_int_equal(loop_new(&p->loop, &e), 0);
	redis_house_open(&p->redis);
	redis_house_start(&p->redis, appendonly);
	assert_int_equal(redis_address_read(str_of(p->redis.url), &p->address, &e), 0);
	assert_int_equal(redis_new(&(struct redis_spec){p->loop, &p->address, direct_changed, p},
				   &p->direct, &e),
			 0);
	machine_open(p, &p->a, "a");
	machine_open(p, &p->b, "b");
	UNTIL(p, p->up && is_ready(&p->a) && is_ready(&p->b));
}

static void
place_close(struct place *p)
{
	machine_close(&p->a);
	machine_close(&p->b);
	redis_free(p->direct);
	redis_address_done(&p->address);
	loop_free(p->loop);
	redis_house_close(&p->redis);
}

struct said {
	bool here;
	int64_t number;
	char text[128];
};

static void
heard(const struct err *e, const struct redis_answer *a, void *arg)
{
	struct said *s = arg;

	assert_null(e);
	assert_int_not_equal(a->kind, REDIS_ERROR);
	s->here = true;
	s->number = a->number;
	put(s->text, sizeof(s->text), a->text);
}

/* A command of the test's own, words separated by blanks. */
static struct said
command(struct place *p, const char *line)
{
	struct str words[16], rest = str_of(line);
	struct said s = {0};
	size_t n = 0;

	while (n < 16 && str_split(&rest, ' ', &words[n]))
		n++;
	UNTIL(p, p->up);
	assert_int_equal(redis_ask(p->direct, words, n, heard, &s), 0);
	UNTIL(p, s.here);
	return s;
}

/* ---- tests ---- */

static void
test_7_one_takes_and_the_other_sees(void **state)
{
	struct place p;

	(void)state;
	place_open(&p, "no");
	assert_int_equal(look(&p, &p.b, "k").state, CLAIM_NONE);
	assert_int_equal(take(&p, &p.a, "k", "eff_1").state, CLAIM_NONE);
	struct answer seen = take(&p, &p.b, "k", "eff_2");
	assert_int_equal(seen.state, CLAIM_STARTED);
	assert_string_equal(seen.digest, "digest");
	assert_string_equal(seen.effect, "eff_1");
	/* It does not run out while it is at work. */
	assert_int_equal(command(&p, "PTTL tool_idem:k").number, -1);
	/* The other cannot settle what it did not take. */
	settle(&p, &p.b, "k", "eff_2", CLAIM_FAILED, NULL);
	assert_int_equal(look(&p, &p.b, "k").state, CLAIM_STARTED);
	assert_int_equal(settle(&p, &p.a, "k", "eff_1", CLAIM_DONE, "{}").code, 0);
	seen = take(&p, &p.b, "k", "eff_3");
	assert_int_equal(seen.state, CLAIM_DONE);
	assert_true(seen.has_result);
	assert_string_equal(seen.result, "{}");
	assert_true(command(&p, "PTTL tool_idem:k").number > 0);
	assert_int_equal(look(&p, &p.a, "k").state, CLAIM_DONE);
	place_close(&p);
}

static void
test_7_what_failed_may_be_taken_by_anybody(void **state)
{
	struct place p;

	(void)state;
	place_open(&p, "no");
	assert_int_equal(take(&p, &p.a, "k", "eff_1").state, CLAIM_NONE);
	settle(&p, &p.a, "k", "eff_1", CLAIM_FAILED, NULL);
	assert_int_equal(look(&p, &p.a, "k").state, CLAIM_NONE);
	assert_int_equal(take(&p, &p.b, "k", "eff_2").state, CLAIM_NONE);
	assert_int_equal(take(&p, &p.a, "k", "eff_3").state, CLAIM_STARTED);
	place_close(&p);
}

static void
test_7_of_many_who_want_it_one_gets_it(void **state)
{
	enum { KEYS = 100, EACH = 4 };
	struct place p;
	struct answer *all = calloc((size_t)KEYS * EACH, sizeof(*all));
	char key[16], effect[32];

	(void)state;
	place_open(&p, "no");
	for (int i = 0; i < KEYS * EACH; i++) {
		struct machine *m = i % 2 ? &p.a : &p.b;
		snprintf(key, sizeof(key), "k%d", i / EACH);
		snprintf(effect, sizeof(effect), "eff_%d", i);
		struct claim_ask ask = ask_of(key, effect);
		assert_int_equal(m->claims->ops->take(m->claims, &ask, answered, &all[i]), 0);
	}
	for (int k = 0; k < KEYS; k++) {
		int won = 0;
		for (int i = 0; i < EACH; i++) {
			UNTIL(&p, all[k * EACH + i].here);
			assert_int_equal(all[k * EACH + i].code, 0);
			won += all[k * EACH + i].state == CLAIM_NONE;
		}
		assert_int_equal(won, 1);
	}
	free(all);
	place_close(&p);
}

static void
test_7_without_redis_nothing_begins_and_what_is_done_gets_through(void **state)
{
	struct place p;

	(void)state;
	place_open(&p, "yes");
	assert_int_equal(take(&p, &p.a, "k", "eff_1").state, CLAIM_NONE);
	redis_house_kill(&p.redis);
	UNTIL(&p, !is_ready(&p.a));
	struct answer refused = take(&p, &p.a, "other", "eff_2");
	assert_int_equal(refused.code, E_STORE);
	assert_non_null(strstr(refused.text, "nothing was begun"));
	assert_int_equal(look(&p, &p.b, "k").code, E_STORE);
	/* It is done all the same, and this machine knows. */
	assert_int_equal(settle(&p, &p.a, "k", "eff_1", CLAIM_DONE, "[1]").code, 0);
	redis_house_start(&p.redis, "yes");
	UNTIL(&p, is_ready(&p.a) && is_ready(&p.b));
	struct answer seen;
	do
		seen = look(&p, &p.b, "k");
	while (seen.state == CLAIM_STARTED);
	assert_int_equal(seen.state, CLAIM_DONE);
	assert_string_equal(seen.result, "[1]");
	assert_int_equal(take(&p, &p.a, "other", "eff_3").state, CLAIM_NONE);
	place_close(&p);
}

static void
test_7_a_redis_that_forgot_is_not_believed(void **state)
{
	struct place p;
	struct err e;

	(void)state;
	place_open(&p, "no");
	assert_int_equal(claims_redis_accept(p.a.claims, &e), E_FORBIDDEN);
	assert_int_equal(take(&p, &p.a, "k", "eff_1").state, CLAIM_NONE);
	settle(&p, &p.a, "k", "eff_1", CLAIM_DONE, "1");
	redis_house_kill(&p.redis);
	redis_house_start(&p.redis, "no");
	UNTIL(&p, p.up);
	UNTIL(&p, claims_redis_health(p.b.claims, &e) < 0 && strstr(err_text(&e), "forgotten"));
	assert_int_equal(take(&p, &p.b, "k", "eff_2").code, E_STORE);
	/* Nor by one that starts again, */
	machine_close(&p.b);
	machine_open(&p, &p.b, "b");
	UNTIL(&p, claims_redis_health(p.b.claims, &e) < 0 && strstr(err_text(&e), "forgotten"));
	/* nor when it loses everything under us. */
	UNTIL(&p, claims_redis_accept(p.b.claims, &e) == 0);
	UNTIL(&p, is_ready(&p.b));
	assert_int_equal(take(&p, &p.b, "new", "eff_4").state, CLAIM_NONE);
	command(&p, "FLUSHALL");
	assert_int_equal(take(&p, &p.b, "new", "eff_5").code, E_STORE);
	assert_false(is_ready(&p.b));
	/* A person says so on each machine; what this one did it still knows. */
	UNTIL(&p, claims_redis_accept(p.a.claims, &e) == 0);
	UNTIL(&p, is_ready(&p.a));
	assert_int_equal(take(&p, &p.a, "k", "eff_6").state, CLAIM_DONE);
	place_close(&p);
}

static void
test_7_what_a_dead_owner_left_is_unknown(void **state)
{
	struct place p;
	char alive[160];

	(void)state;
	place_open(&p, "no");
	assert_int_equal(take(&p, &p.a, "k", "eff_1").state, CLAIM_NONE);
	struct said owner = command(&p, "HGET tool_idem:k o");
	machine_close(&p.a);
	assert_int_equal(take(&p, &p.b, "k", "eff_2").state, CLAIM_STARTED);
	/* Its sign of life runs out. */
	snprintf(alive, sizeof(alive), "DEL tool_idem:alive:%s", owner.text);
	assert_int_equal(command(&p, alive).number, 1);
	assert_int_equal(take(&p, &p.b, "k", "eff_3").state, CLAIM_UNKNOWN);
	/* It comes back, and tells what its ledger says. */
	machine_open(&p, &p.a, "a");
	UNTIL(&p, is_ready(&p.a));
	UNTIL(&p, strcmp(command(&p, "HGET tool_idem:k s").text, "unknown") == 0);
	/* Somebody found out. */
	struct answer a = {0};
	struct claim_end end = {.key = S("k"),
				.effect = S("eff_1"),
				.state = CLAIM_DONE,
				.result = S("2"),
				.by = "person"};
	assert_int_equal(p.a.claims->ops->settle(p.a.claims, &end, answered, &a), 0);
	UNTIL(&p, a.here);
	assert_int_equal(look(&p, &p.b, "k").state, CLAIM_DONE);
	place_close(&p);
}

/* Who finds out later knows the effect, and not its key. */
static void
test_7_resolved_by_its_id_alone(void **state)
{
	struct place p;

	(void)state;
	place_open(&p, "no");
	assert_int_equal(take(&p, &p.a, "k", "eff_1").state, CLAIM_NONE);
	settle(&p, &p.a, "k", "eff_1", CLAIM_UNKNOWN, NULL);
	assert_int_equal(take(&p, &p.b, "k", "eff_2").state, CLAIM_UNKNOWN);
	/* It does not run out: nobody knows for as long as nobody has told. */
	assert_int_equal(command(&p, "PTTL tool_idem:k").number, -1);
	assert_int_equal(command(&p, "PTTL tool_idem:effect:eff_1").number, -1);
	struct answer a = {0};
	struct claim_end end = {.effect = S("eff_1"), .state = CLAIM_FAILED, .by = "person"};
	assert_int_equal(p.a.claims->ops->settle(p.a.claims, &end, answered, &a), 0);
	UNTIL(&p, a.here);
	assert_int_equal(take(&p, &p.b, "k", "eff_3").state, CLAIM_NONE);
	settle(&p, &p.b, "k", "eff_3", CLAIM_UNKNOWN, NULL);
	a = (struct answer){0};
	end.effect = S("eff_3");
	end.state = CLAIM_DONE;
	assert_int_equal(p.b.claims->ops->settle(p.b.claims, &end, answered, &a), 0);
	UNTIL(&p, a.here);
	assert_int_equal(look(&p, &p.a, "k").state, CLAIM_DONE);
	assert_true(command(&p, "PTTL tool_idem:k").number > 0);
	assert_true(command(&p, "PTTL tool_idem:effect:eff_3").number > 0);
	place_close(&p);
}

static void
test_7_doing_it_again_leaves_nothing_of_the_first(void **state)
{
	struct place p;
	struct answer a = {0};
	struct claim_ask ask = ask_of("k", "eff_2");

	(void)state;
	place_open(&p, "no");
	assert_int_equal(take(&p, &p.a, "k", "eff_1").state, CLAIM_NONE);
	settle(&p, &p.a, "k", "eff_1", CLAIM_UNKNOWN, NULL);
	ask.twice = true;
	assert_int_equal(p.b.claims->ops->take(p.b.claims, &ask, answered, &a), 0);
	UNTIL(&p, a.here);
	assert_int_equal(a.state, CLAIM_NONE);
	assert_int_equal(command(&p, "EXISTS tool_idem:effect:eff_1").number, 0);
	assert_int_equal(command(&p, "EXISTS tool_idem:effect:eff_2").number, 1);
	place_close(&p);
}

static void
test_7_what_no_ledger_knows_is_let_go(void **state)
{
	struct place p;
	char line[400];

	(void)state;
	place_open(&p, "no");
	take(&p, &p.a, "k", "eff_1");
	struct said owner = command(&p, "HGET tool_idem:k o");
	settle(&p, &p.a, "k", "eff_1", CLAIM_DONE, "1");
	machine_close(&p.a);
	/* As if it had died between Redis and its ledger. */
	snprintf(line, sizeof(line), "HSET tool_idem:n s started d digest e eff_9 t 1 k 60000 o %s",
		 owner.text);
	command(&p, line);
	snprintf(line, sizeof(line), "SADD tool_idem:mine:%s tool_idem:n", owner.text);
	command(&p, line);
	snprintf(line, sizeof(line), "DEL tool_idem:alive:%s", owner.text);
	command(&p, line);
	assert_int_equal(look(&p, &p.b, "n").state, CLAIM_UNKNOWN);
	machine_open(&p, &p.a, "a");
	UNTIL(&p, is_ready(&p.a));
	UNTIL(&p, command(&p, "EXISTS tool_idem:n").number == 0);
	assert_int_equal(look(&p, &p.b, "k").state, CLAIM_DONE);
	place_close(&p);
}

static void
test_7_a_redis_that_throws_away_is_refused(void **state)
{
	struct place p;
	struct err e;

	(void)state;
	place_open(&p, "no");
	command(&p, "CONFIG SET maxmemory 100mb maxmemory-policy allkeys-lru");
	machine_close(&p.b);
	machine_open(&p, &p.b, "b");
	UNTIL(&p, claims_redis_health(p.b.claims, &e) < 0 && strstr(err_text(&e), "noeviction"));
	assert_int_equal(take(&p, &p.b, "k", "eff_1").code, E_STORE);
	place_close(&p);
}

static void
test_7_a_password_is_asked_for_and_never_told(void **state)
{
	struct place p;
	struct err e;
	char url[200];

	(void)state;
	place_open(&p, "no");
	command(&p, "CONFIG SET requirepass s3cret@word");
	machine_close(&p.b);
	snprintf(url, sizeof(url), "%s", p.redis.url);
	snprintf(p.redis.url, sizeof(p.redis.url), "unix://:wr0ng@%s/s", p.redis.dir);
	machine_open(&p, &p.b, "b");
	UNTIL(&p, claims_redis_health(p.b.claims, &e) < 0 && strstr(err_text(&e), "refuses us"));
	assert_null(strstr(err_text(&e), "wr0ng"));
	machine_close(&p.b);
	snprintf(p.redis.url, sizeof(p.redis.url), "unix://:s3cret%%40word@%s/s", p.redis.dir);
	machine_open(&p, &p.b, "b");
	UNTIL(&p, is_ready(&p.b));
	struct buf b = BUF_INIT(4096);
	struct jw w = jw(&b);
	claims_redis_write(&w, p.b.claims);
	assert_non_null(strstr(buf_z(&b), "\"state\":\"ready\""));
	assert_null(strstr(buf_z(&b), "s3cret"));
	buf_done(&b);
	place_close(&p);
}

static void
test_7_addresses(void **state)
{
	static const struct {
		const char *url, *text;
		unsigned db;
	} good[] = {
	    {"redis://localhost", "localhost:6379", 0},
	    {"redis://10.0.0.1:7000/3", "10.0.0.1:7000", 3},
	    {"redis://[::1]:7000", "[::1]:7000", 0},
	    {"redis://[::1]", "[::1]:6379", 0},
	    {"redis://u:p%40@h:1/2", "h:1", 2},
	    {"unix:///run/r.sock", "/run/r.sock", 0},
	    {"unix://:p@/run/r.sock?db=5", "/run/r.sock", 5},
	};
	static const char *const bad[] = {"",
					  "http://x",
					  "redis://",
					  "rediss://x",
					  "redis://h:0",
					  "redis://h:99999",
					  "redis://h/x",
					  "redis://:%zz@h",
					  "redis://:%00@h",
					  "unix://relative",
					  "unix:///x?y=1"};
	struct redis_address a;
	struct err e;
	char text[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(redis_address_read(str_of(good[i].url), &a, &e), 0);
		redis_address_text(&a, text, sizeof(text));
		assert_string_equal(text, good[i].text);
		assert_int_equal(a.db, good[i].db);
		redis_address_done(&a);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(redis_address_read(str_of(bad[i]), &a, &e), E_CONFIG);
	assert_int_equal(redis_address_read(S("redis://u:p%40@h"), &a, &e), 0);
	assert_string_equal(a.user, "u");
	assert_string_equal(a.password, "p@");
	redis_address_done(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_7_addresses),
	    cmocka_unit_test(test_7_one_takes_and_the_other_sees),
	    cmocka_unit_test(test_7_what_failed_may_be_taken_by_anybody),
	    cmocka_unit_test(test_7_of_many_who_want_it_one_gets_it),
	    cmocka_unit_test(test_7_without_redis_nothing_begins_and_what_is_done_gets_through),
	    cmocka_unit_test(test_7_a_redis_that_forgot_is_not_believed),
	    cmocka_unit_test(test_7_what_a_dead_owner_left_is_unknown),
	    cmocka_unit_test(test_7_what_no_ledger_knows_is_let_go),
	    cmocka_unit_test(test_7_resolved_by_its_id_alone),
	    cmocka_unit_test(test_7_doing_it_again_leaves_nothing_of_the_first),
	    cmocka_unit_test(test_7_a_redis_that_throws_away_is_refused),
	    cmocka_unit_test(test_7_a_password_is_asked_for_and_never_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
