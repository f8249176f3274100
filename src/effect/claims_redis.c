/* claims_redis.c - who may begin, by scripts that Redis runs one after the other. */

#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "effect/claims_redis_inside.h"

/* Each begins so: a server that has forgotten says so, whatever it is asked. */
#define LUA_EPOCH "if redis.call('GET',KEYS[1])~=ARGV[1] then return {'lost'} end "
/* s, what stands there; a started one whose owner is gone is unknown. */
#define LUA_FOUND                                                                                  \
	"local c=redis.call('HMGET',K,'s','d','o','e','r','t') local s=c[1] "                      \
	"if s=='started' and redis.call('EXISTS',ARGV[2]..c[3])==0 then s='unknown' end "
#define LUA_SHOW "if not s then return {'none'} end return {s,c[2],c[3],c[4],c[5],c[6]}"

/* epoch key */
static const char lua_look[] = LUA_EPOCH "local K=KEYS[2] " LUA_FOUND LUA_SHOW;

/* epoch key alive mine homes effect; epoch alive: token digest effect at beat twice keep effect: */
static const char lua_take[] =
    LUA_EPOCH "local K=KEYS[2] " LUA_FOUND
	      "if not s or (s=='unknown' and ARGV[8]=='1' and c[2]==ARGV[4]) then "
	      "redis.call('SET',KEYS[3],'1','PX',ARGV[7]) redis.call('DEL',K) "
	      "if s then redis.call('DEL',ARGV[10]..c[4]) end "
	      "redis.call('HSET',K,'s','started','d',ARGV[4],'o',ARGV[3],'e',ARGV[5],'t',ARGV[6],'"
	      "k',ARGV[9]) "
	      "redis.call('SADD',KEYS[4],K) redis.call('SADD',KEYS[5],ARGV[3]) "
	      "redis.call('SET',KEYS[6],K) return {'none'} end " LUA_SHOW;

/* epoch key mine: effect; epoch alive: effect state at kept result. A key that is "" is that of the
 * effect. An unknown one stays until somebody tells: one that ran out would be done again. */
static const char lua_settle[] =
    LUA_EPOCH "local K=KEYS[2] if K=='' then K=redis.call('GET',KEYS[4]) end "
	      "if not K then return {'none'} end " LUA_FOUND
	      "if not s or c[4]~=ARGV[3] then " LUA_SHOW " end "
	      "if s~='started' and s~='unknown' then " LUA_SHOW " end "
	      "redis.call('SREM',KEYS[3]..c[3],K) "
	      "if ARGV[4]=='none' then redis.call('DEL',K,KEYS[4]) return {'none'} end "
	      "redis.call('HSET',K,'s',ARGV[4],'t',ARGV[5]) "
	      "if ARGV[6]=='1' then redis.call('HSET',K,'r',ARGV[7]) end "
	      "if ARGV[4]~='unknown' then local k=redis.call('HGET',K,'k') "
	      "redis.call('PEXPIRE',K,k) redis.call('PEXPIRE',KEYS[4],k) end return {'none'}";

/* What processes of this state directory that are gone left started: key and effect, in turn.
 * epoch homes; epoch alive: mine: token */
static const char lua_left[] =
    LUA_EPOCH "local out={'left'} "
	      "for _,o in ipairs(redis.call('SMEMBERS',KEYS[2])) do "
	      "if o~=ARGV[4] and redis.call('EXISTS',ARGV[2]..o)==0 then "
	      "local keys=redis.call('SRANDMEMBER',ARGV[3]..o,20) "
	      "if #keys==0 then redis.call('SREM',KEYS[2],o) end "
	      "for _,k in ipairs(keys) do "
	      "local c=redis.call('HMGET',k,'s','o','e') "
	      "if c[1]~='started' or c[2]~=o then redis.call('SREM',ARGV[3]..o,k) "
	      "elseif #out<60 then out[#out+1]=k out[#out+1]=c[3] end end end end return out";

/* One thing to be done: its texts, and where it is on its way. */
struct errand {
	struct node node;     /* in waiting */
	struct deferred soon; /* a refusal */
	struct arena *arena;
	struct claims_redis *c;
	struct claim_ask ask; /* take */
	struct effect_record record;
	struct claim_end end; /* settle; copies */
	struct str key;
	claims_fn done; /* NULL: nobody waits, or they were told */
	void *arg;
	uint64_t sent_ms;
	struct claim_found found; /* what the ledger said */
	bool has_found;
};

/* ---- errands ---- */

static struct errand *
errand_new(struct claims_redis *c, claims_fn done, void *arg)
{
	struct arena *a = c->errands < LIMIT_CLAIM_ERRANDS ? arena_new(LIMIT_CLAIM_ARENA) : NULL;
	struct errand *r = a ? ARENA_NEW(a, struct errand) : NULL;

	if (!r) {
		arena_free(a);
		return NULL;
	}
	r->arena = a;
	r->c = c;
	r->done = done;
	r->arg = arg;
	c->errands++;
	claims__hold(c);
	return r;
}

static void
errand_over(struct errand *r)
{
	struct claims_redis *c = r->c;

	list_remove(&r->node);
	c->errands--;
	arena_free(r->arena);
	claims__release(c);
}

static void
tell(struct errand *r, const struct err *e, const struct claim_found *found)
{
	static const struct err fine = ERR_NONE;
	static const struct claim_found nothing = {.state = CLAIM_NONE};
	claims_fn done = r->done;

	r->done = NULL;
	if (done)
		done(e ? e : &fine, found ? found : &nothing, r->arg);
}

static void
tell_unreachable(struct errand *r, const struct err *why)
{
	struct err e;

	err_set(&e, E_STORE, "the shared claims cannot be reached, so nothing was begun: %s",
		why ? err_text(why) : err_text(&r->c->problem));
	tell(r, &e, NULL);
}

static bool
copy(struct arena *a, struct str *s)
{
	if (!s->ptr)
		return true;
	*s = arena_str(a, *s);
	return s->ptr != NULL;
}

static bool
copy_all(struct arena *a, struct str *const *texts, size_t count)
{
	bool fits = true;

	for (size_t i = 0; i < count; i++)
		fits = fits && copy(a, texts[i]);
	return fits;
}

/* ---- words for Redis ---- */

static struct str
name(struct errand *r, const char *kind, struct str rest)
{
	const char *z = arena_printf(r->arena, "%s:%s%.*s", r->c->prefix, kind, STR_ARG(rest));

	return z ? str_of(z) : (struct str){NULL, 0};
}

int
claims__run(struct claims_redis *c, const char *script, const struct str *keys, size_t key_count,
	    const struct str *args, size_t arg_count, redis_fn done, void *arg)
{
	struct str words[24] = {S("EVAL"), str_of(script)};
	char count[8];
	size_t n = 3;

	snprintf(count, sizeof(count), "%zu", key_count);
	words[2] = str_of(count);
	CHECK(n + key_count + arg_count <= ARRAY_LEN(words));
	for (size_t i = 0; i < key_count; i++)
		words[n++] = keys[i];
	for (size_t i = 0; i < arg_count; i++)
		words[n++] = args[i];
	for (size_t i = 0; i < n; i++)
		if (!words[i].ptr)
			return E_NOMEM;
	return redis_ask(c->redis, words, n, done, arg);
}

/* ---- what Redis says ---- */

static enum claim_state
state_of(struct str word)
{
	static const struct {
		const char *word;
		enum claim_state state;
	} states[] = {
	    {"none", CLAIM_NONE},
	    {"started", CLAIM_STARTED},
	    {"done", CLAIM_DONE},
	    {"unknown", CLAIM_UNKNOWN},
	};

	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		if (str_is(word, states[i].word))
			return states[i].state;
	return CLAIM__COUNT;
}

static struct str
item(const struct redis_answer *a, size_t i)
{
	return i < a->count && a->items[i].kind == REDIS_TEXT ? a->items[i].text
							      : (struct str){NULL, 0};
}

/* 0 and what stands there, or E_STORE: fail closed with what nobody understands. */
static int
found_read(struct claims_redis *c, const struct redis_answer *a, struct claim_found *ret,
	   struct err *e)
{
	uint64_t at_us = 0;

	if (a->kind == REDIS_ERROR)
		return err_set(e, E_STORE, "Redis says: %.*s",
			       STR_ARG(str_utf8_upto(a->text, 160)));
	if (a->kind != REDIS_LIST || !item(a, 0).ptr)
		return err_set(e, E_STORE, "Redis answers what it was not asked");
	if (str_is(item(a, 0), "lost")) {
		claims__lost(c);
		*e = c->problem;
		return e->code;
	}
	*ret = (struct claim_found){.state = state_of(item(a, 0)),
				    .digest = item(a, 1),
				    .owner = item(a, 2),
				    .effect = item(a, 3),
				    .result = item(a, 4)};
	if (item(a, 5).ptr)
		str_to_u64(item(a, 5), &at_us);
	ret->at_us = (int64_t)at_us;
	if (ret->state == CLAIM__COUNT ||
	    (ret->state != CLAIM_NONE && (!ret->digest.ptr || !ret->effect.ptr)))
		return err_set(e, E_STORE, "what stands under this key in Redis is no claim");
	return 0;
}

/* ---- settling ---- */

static void settle_send(struct errand *r);

/* Until it is through: what Redis believes of us is what others go by. */
static void
settle_later(struct errand *r)
{
	struct claims_redis *c = r->c;

	if (r->has_found)
		tell(r, NULL, &r->found);
	if (c->closing) {
		errand_over(r);
		return;
	}
	list_push(&c->waiting, &r->node);
}

static void
settled(const struct err *e, const struct redis_answer *a, void *arg)
{
	struct errand *r = arg;
	struct claim_found there;
	struct err why;

	if (e || found_read(r->c, a, &there, &why) < 0) {
		settle_later(r);
		return;
	}
	if (r->has_found)
		tell(r, NULL, &r->found);
	errand_over(r);
}

static void
settle_send(struct errand *r)
{
	static const char *const words[] = {[CLAIM_NONE] = "none",
					    [CLAIM_STARTED] = "started",
					    [CLAIM_DONE] = "done",
					    [CLAIM_FAILED] = "none",
					    [CLAIM_UNKNOWN] = "unknown"};
	struct claims_redis *c = r->c;
	/* A result that is too long is not shared: it is with whoever has it. */
	bool kept = r->end.state == CLAIM_DONE && r->end.result.ptr &&
		    r->end.result.len <= LIMIT_CLAIM_RESULT;
	char at[24];

	snprintf(at, sizeof(at), "%lld", (long long)clock_wall_us());
	struct str keys[] = {name(r, "epoch", S("")), r->key.ptr ? name(r, "", r->key) : S(""),
			     name(r, "mine:", S("")), name(r, "effect:", r->end.effect)};
	struct str args[] = {str_of(c->epoch),
			     name(r, "alive:", S("")),
			     r->end.effect,
			     str_of(words[r->end.state]),
			     str_of(at),
			     kept ? S("1") : S("0"),
			     kept ? r->end.result : S("")};
	if (!c->ready || claims__run(c, lua_settle, keys, ARRAY_LEN(keys), args, ARRAY_LEN(args),
				     settled, r) < 0)
		settle_later(r);
}

void
claims__settle_waiting(struct claims_redis *c)
{
	size_t n = c->waiting.len;

	for (struct node *at; n-- > 0 && c->ready && (at = list_first(&c->waiting));) {
		list_remove(at);
		settle_send(CONTAINER_OF(at, struct errand, node));
	}
}

static void
settled_here(const struct err *e, const struct claim_found *found, void *arg)
{
	struct errand *r = arg;

	if (e->code < 0) {
		tell(r, e, NULL);
		errand_over(r);
		return;
	}
	r->found = *found;
	struct str *texts[] = {&r->found.digest, &r->found.owner, &r->found.effect,
			       &r->found.result};
	r->has_found = copy_all(r->arena, texts, ARRAY_LEN(texts));
	if (!r->has_found || found->state != r->end.state)
		tell(r, NULL, found);
	if (found->state == r->end.state)
		settle_send(r);
	else
		errand_over(r); /* the ledger knows better */
}

static int
settle(struct claims *claims, const struct claim_end *end, claims_fn done, void *arg)
{
	struct claims_redis *c = claims__of(claims);

	/* What nobody took is no claim of anybody's. Who finds out later knows the effect alone. */
	if (end->untaken || (!end->key.ptr && !end->by))
		return c->ledger->ops->settle(c->ledger, end, done, arg);
	struct errand *r = errand_new(c, done, arg);
	if (!r)
		return c->ledger->ops->settle(c->ledger, end, done,
					      arg); /* known at the next start */
	r->end = *end;
	r->end.given = (struct str){NULL, 0}; /* the ledger's alone */
	r->key = end->key;
	struct str *texts[] = {&r->key, &r->end.effect, &r->end.result};
	if (!copy_all(r->arena, texts, ARRAY_LEN(texts)))
		r->end.result = (struct str){NULL, 0};
	int code = c->ledger->ops->settle(c->ledger, end, settled_here, r);
	if (code < 0)
		errand_over(r);
	return code;
}

/* ---- taking ---- */

/* Redis may have given it to us, and it will not be begun. */
static void
let_go(struct errand *r)
{
	r->done = NULL;
	r->has_found = false;
	r->end = (struct claim_end){.key = r->key, .effect = r->ask.effect, .state = CLAIM_NONE};
	settle_send(r);
}

static void
too_late(const struct err *e, const struct claim_found *found, void *arg)
{
	struct errand *r = arg;

	(void)e;
	(void)found;
	let_go(r);
}

/* It was ours in Redis and is in the ledger; but others may think by now that it is nobody's. */
static void
give_up_late(struct errand *r)
{
	struct claims_redis *c = r->c;
	struct claim_end end = {.key = r->key,
				.effect = r->ask.effect,
				.state = CLAIM_FAILED,
				.error = S("the claim came too late")};
	struct err e;

	err_set(&e, E_STORE, "the disk took so long that the claim ran out; nothing was begun");
	tell(r, &e, NULL);
	if (c->ledger->ops->settle(c->ledger, &end, too_late, r) < 0)
		errand_over(r); /* the ledger has it as started: unknown, after us */
}

static void
taken_here(const struct err *e, const struct claim_found *found, void *arg)
{
	struct errand *r = arg;
	bool late = clock_mono_ms() - r->sent_ms > LIMIT_CLAIM_LEASE_MS;

	if (e->code == 0 && found->state == CLAIM_NONE && !late) {
		tell(r, NULL, found);
		errand_over(r);
	} else if (e->code == 0 && found->state == CLAIM_NONE) {
		give_up_late(r);
	} else {
		/* This machine knows of it from before it shared its claims. */
		bool known =
		    e->code == 0 && (found->state == CLAIM_DONE || found->state == CLAIM_UNKNOWN);
		struct claim_end end = {.effect = r->ask.effect,
					.state = known ? found->state : CLAIM_NONE};
		end.result = known ? found->result : (struct str){NULL, 0};
		if (!copy(r->arena, &end.result))
			end.result = (struct str){NULL, 0};
		tell(r, e, found);
		r->end = end;
		r->end.key = r->key;
		r->has_found = false;
		settle_send(r);
	}
}

/* What a process of this state directory left behind: its ledger knows. */
static void
known_here(const struct err *e, const struct claim_found *found, void *arg)
{
	struct errand *r = arg;
	bool same = e->code == 0 && str_eq(found->effect, r->found.effect) &&
		    found->state != CLAIM_STARTED && found->state != CLAIM_NONE;

	tell(r, NULL, same ? found : &r->found);
	errand_over(r);
}

static bool
is_of_home(const struct claims_redis *c, struct str owner)
{
	return owner.len > ULID_LEN && memcmp(owner.ptr, c->home, ULID_LEN) == 0 &&
	       !str_is(owner, c->token);
}

static void
show(struct errand *r, const struct claim_found *found)
{
	struct claims_redis *c = r->c;
	struct str *texts[] = {&r->found.digest, &r->found.owner, &r->found.effect};
	bool open = found->state == CLAIM_STARTED || found->state == CLAIM_UNKNOWN;

	r->found = *found;
	r->found.result = (struct str){NULL, 0}; /* the answer's own, and none is expected */
	if (open && is_of_home(c, found->owner) && copy_all(r->arena, texts, ARRAY_LEN(texts)) &&
	    c->ledger->ops->look(c->ledger, r->key, known_here, r) == 0)
		return;
	tell(r, NULL, found);
	errand_over(r);
}

static void
took(const struct err *e, const struct redis_answer *a, void *arg)
{
	struct errand *r = arg;
	struct claims_redis *c = r->c;
	struct claim_found found = {0};
	struct err why;

	if (e) {
		tell_unreachable(r, e);
		let_go(r); /* it may have heard us */
		return;
	}
	if (found_read(c, a, &found, &why) < 0) {
		tell_unreachable(r, &why);
		errand_over(r);
	} else if (found.state != CLAIM_NONE) {
		show(r, &found);
	} else if (c->closing || c->ledger->ops->take(c->ledger, &r->ask, taken_here, r) < 0) {
		err_set(&why, E_STORE, "the ledger takes nothing now");
		tell(r, &why, NULL);
		let_go(r);
	}
}

static int
take_send(struct errand *r)
{
	struct claims_redis *c = r->c;
	char at[24], beat[16], keep[24];

	snprintf(at, sizeof(at), "%lld", (long long)clock_wall_us());
	snprintf(keep, sizeof(keep), "%llu", (unsigned long long)r->ask.keep_ms);
	snprintf(beat, sizeof(beat), "%d", LIMIT_CLAIM_ALIVE_MS);
	struct str token = str_of(c->token);
	struct str keys[] = {name(r, "epoch", S("")),
			     name(r, "", r->key),
			     name(r, "alive:", token),
			     name(r, "mine:", token),
			     name(r, "homes:", str_of(c->home)),
			     name(r, "effect:", r->ask.effect)};
	struct str args[] = {str_of(c->epoch),
			     name(r, "alive:", S("")),
			     token,
			     r->ask.digest,
			     r->ask.effect,
			     str_of(at),
			     str_of(beat),
			     r->ask.twice ? S("1") : S("0"),
			     str_of(keep),
			     name(r, "effect:", S(""))};
	r->sent_ms = clock_mono_ms();
	return claims__run(c, lua_take, keys, ARRAY_LEN(keys), args, ARRAY_LEN(args), took, r);
}

static bool
ask_copy(struct errand *r, const struct claim_ask *ask)
{
	struct effect_record *f = &r->record;
	struct str *texts[] = {&r->ask.key,    &r->ask.digest, &r->ask.effect,
			       &f->call,       &f->session,    &f->turn,
			       &f->group,      &f->tenant,     &f->agent,
			       &f->tool,       &f->args,       &f->compensation_tool,
			       &f->compensates};

	r->ask = *ask;
	if (ask->record)
		*f = *ask->record;
	bool fits = copy_all(r->arena, texts, ARRAY_LEN(texts));
	r->ask.record = ask->record ? f : NULL;
	r->key = r->ask.key;
	return fits;
}

static void
refuse_now(void *arg)
{
	struct errand *r = arg;

	tell_unreachable(r, NULL);
	errand_over(r);
}

/* Answers come later, never inside. */
static int
refuse(struct errand *r)
{
	defer(r->c->loop, &r->soon, refuse_now, r);
	return 0;
}

static int
take(struct claims *claims, const struct claim_ask *ask, claims_fn done, void *arg)
{
	struct claims_redis *c = claims__of(claims);

	if (!ask->key.ptr)
		return c->ledger->ops->take(c->ledger, ask, done, arg);
	struct errand *r = errand_new(c, done, arg);
	if (!r)
		return E_LIMIT;
	if (!ask_copy(r, ask)) {
		errand_over(r);
		return E_NOMEM;
	}
	return c->ready && take_send(r) == 0 ? 0 : refuse(r);
}

/* ---- looking ---- */

static void
looked(const struct err *e, const struct redis_answer *a, void *arg)
{
	struct errand *r = arg;
	struct claim_found found = {0};
	struct err why;

	if (e || found_read(r->c, a, &found, &why) < 0) {
		tell_unreachable(r, e ? e : &why);
		errand_over(r);
	} else {
		show(r, &found);
	}
}

static int
look(struct claims *claims, struct str key, claims_fn done, void *arg)
{
	struct claims_redis *c = claims__of(claims);
	struct errand *r = errand_new(c, done, arg);

	if (!r)
		return E_LIMIT;
	r->key = key;
	if (!copy(r->arena, &r->key)) {
		errand_over(r);
		return E_NOMEM;
	}
	struct str keys[] = {name(r, "epoch", S("")), name(r, "", r->key)};
	struct str args[] = {str_of(c->epoch), name(r, "alive:", S(""))};
	if (c->ready && claims__run(c, lua_look, keys, 2, args, 2, looked, r) == 0)
		return 0;
	return refuse(r);
}

/* ---- what was left by processes that are gone ---- */

static void
left_known(const struct err *e, const struct claim_found *found, void *arg)
{
	struct errand *r = arg;
	bool same = e->code == 0 && str_eq(found->effect, r->end.effect);

	if (e->code < 0 || (same && found->state == CLAIM_STARTED)) {
		errand_over(r);
		return;
	}
	/* That no ledger knows of was never begun: it would be there. */
	r->end.state = same ? found->state : CLAIM_NONE;
	r->end.result = same ? found->result : (struct str){NULL, 0};
	if (!copy(r->arena, &r->end.result))
		r->end.result = (struct str){NULL, 0};
	settle_send(r);
}

static void
left_found(const struct err *e, const struct redis_answer *a, void *arg)
{
	struct errand *all = arg;
	struct claims_redis *c = all->c;
	size_t skip = strlen(c->prefix) + 1;

	if (!e && a->kind == REDIS_LIST && str_is(item(a, 0), "lost"))
		claims__lost(c);
	for (size_t i = 1; !e && !c->closing && a->kind == REDIS_LIST && i + 1 < a->count; i += 2) {
		struct errand *r = errand_new(c, NULL, NULL);
		if (!r)
			break;
		r->key = str_from(item(a, i), skip);
		r->end.effect = item(a, i + 1);
		struct str *texts[] = {&r->key, &r->end.effect};
		if (!copy_all(r->arena, texts, 2) ||
		    c->ledger->ops->look(c->ledger, r->key, left_known, r) < 0)
			errand_over(r);
	}
	errand_over(all);
}

void
claims__look_for_left(struct claims_redis *c)
{
	struct errand *r = errand_new(c, NULL, NULL);

	if (!r)
		return;
	struct str keys[] = {name(r, "epoch", S("")), name(r, "homes:", str_of(c->home))};
	struct str args[] = {str_of(c->epoch), name(r, "alive:", S("")), name(r, "mine:", S("")),
			     str_of(c->token)};
	if (claims__run(c, lua_left, keys, 2, args, 4, left_found, r) < 0)
		errand_over(r);
}

/* ---- what is waiting ---- */

void
claims__drop_waiting(struct claims_redis *c)
{
	for (struct node *n; (n = list_first(&c->waiting));)
		errand_over(CONTAINER_OF(n, struct errand, node));
}

const struct claims_ops claims__redis_ops = {
    .name = "redis", .look = look, .take = take, .settle = settle, .free = claims__free};
