/* claims_redis_server.c - which Redis it is, whether it is to be believed, and showing that we
 * live. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "effect/claims_redis_inside.h"
#include "json/json.h"

/* The server's epoch; where there is none, ours, if we may make one. */
static const char lua_epoch[] =
    "local e=redis.call('GET',KEYS[1]) "
    "if not e and ARGV[1]~='' then redis.call('SET',KEYS[1],ARGV[1]) e=ARGV[1] end return e";

void
claims__not_ready(struct claims_redis *c, const char *why)
{
	c->ready = false;
	err_set(&c->problem, E_STORE, "%s", why);
}

void
claims__lost(struct claims_redis *c)
{
	if (!c->lost)
		log_line(LOG_ERROR, "Redis has forgotten its claims: effects are refused", "server",
			 c->where, "accept", "holdfast claims accept", NULL);
	c->lost = true;
	claims__not_ready(
	    c, "Redis has forgotten what was claimed; when it is sure that nothing of it "
	       "will be asked for again: holdfast claims accept");
}

/* ---- signs of life ---- */

static void meet(struct claims_redis *c);

static void
beaten(const struct err *e, const struct redis_answer *a, void *arg)
{
	struct claims_redis *c = arg;

	if (!e && a->kind == REDIS_ERROR)
		claims__not_ready(c, "Redis takes nothing that is written to it");
	claims__release(c);
}

static void
beat(void *arg)
{
	struct claims_redis *c = arg;
	char key[LIMIT_NAME_BYTES + CLAIMS_TOKEN + 16], ms[16];

	timer_start(c->loop, &c->beat, LIMIT_CLAIM_BEAT_MS, beat, c);
	if (!c->ready) {
		meet(c); /* somebody may have put it right */
		return;
	}
	snprintf(key, sizeof(key), "%s:alive:%s", c->prefix, c->token);
	snprintf(ms, sizeof(ms), "%d", LIMIT_CLAIM_ALIVE_MS);
	struct str words[] = {S("SET"), str_of(key), S("1"), S("PX"), str_of(ms)};
	if (redis_ask(c->redis, words, ARRAY_LEN(words), beaten, c) == 0)
		claims__hold(c);
	claims__settle_waiting(c);
	claims__look_for_left(c);
}

/* ---- who we are, and whom we met ---- */

static int
memory_write(const struct claims_redis *c)
{
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_member_z(&w, "home", c->home);
	jw_member_z(&w, "epoch", c->epoch);
	jw_end(&w);
	int code = c->file ? file_replace(c->file, buf_str(&b)) : 0;
	buf_done(&b);
	return code;
}

static int
memory_read(struct claims_redis *c, struct err *e)
{
	int fd = c->file ? open(c->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct json_doc *doc = NULL;

	ulid_new(c->home);
	if (fd < 0)
		return !c->file || errno == ENOENT ? 0 : err_errno(e, E_CONFIG, errno, c->file);
	bool fine = file_slurp(fd, &b) && json_parse(buf_str(&b), &json_door, &doc, e) == 0;
	close(fd);
	struct str home = fine ? json_str(json_get(json_root(doc), S("home"))) : S("");
	struct str epoch = fine ? json_str(json_get(json_root(doc), S("epoch"))) : S("");
	fine = fine && ulid_valid(home) && epoch.len < sizeof(c->epoch);
	if (fine) {
		memcpy(c->home, home.ptr, home.len);
		memcpy(c->epoch, epoch.ptr ? epoch.ptr : "", epoch.len);
	}
	json_doc_unref(doc);
	buf_done(&b);
	return fine ? 0
		    : err_set(e, E_CONFIG, "%s cannot be read: remove it to begin anew", c->file);
}

/* ---- meeting the server ---- */

static void
become_ready(struct claims_redis *c)
{
	c->ready = c->up;
	c->lost = false;
	c->problem = ERR_NONE;
	if (c->warning[0] && !c->warned)
		log_line(LOG_WARN, c->warning, "server", c->where, NULL);
	c->warned = c->warning[0] != '\0';
	if (c->ready)
		beat(c);
}

static void
save_work(void *arg)
{
	struct claims_redis *c = arg;

	if (memory_write(c) < 0)
		c->epoch[0] = '\0';
}

static void
saved(void *arg)
{
	struct claims_redis *c = arg;

	c->saves = false;
	if (!c->epoch[0])
		claims__not_ready(c, "which Redis this is cannot be written down");
	else if (c->up && !c->closing)
		become_ready(c);
	claims__release(c);
}

/* From now on this is the server's epoch; claims are taken once that is on the disk. */
static void
met(struct claims_redis *c, struct str epoch)
{
	if (c->saves)
		return;
	memcpy(c->epoch, epoch.ptr, epoch.len);
	c->epoch[epoch.len] = '\0';
	c->saves = work_start(c->loop, &c->saving, save_work, saved, c) == 0;
	if (c->saves)
		claims__hold(c);
	else
		claims__not_ready(c, "which Redis this is cannot be written down");
}

static void
epoch_told(const struct err *e, const struct redis_answer *a, void *arg)
{
	struct claims_redis *c = arg;
	bool first = !c->epoch[0] || c->accepting;

	if (!e && !c->closing) {
		if (a->kind == REDIS_ERROR)
			claims__not_ready(c, "Redis takes nothing that is written to it");
		else if (a->kind == REDIS_TEXT && str_is(a->text, c->epoch) && !c->saves)
			become_ready(c);
		else if (first && a->kind == REDIS_TEXT && ulid_valid(a->text))
			met(c, a->text);
		else if (!c->saves)
			claims__lost(c);
	}
	c->accepting = false;
	claims__release(c);
}

static void
epoch_ask(struct claims_redis *c)
{
	char key[LIMIT_NAME_BYTES + 16], fresh[ULID_LEN + 1] = "";

	snprintf(key, sizeof(key), "%s:epoch", c->prefix);
	if (!c->epoch[0] || c->accepting)
		ulid_new(fresh);
	struct str keys[] = {str_of(key)}, args[] = {str_of(fresh)};
	if (claims__run(c, lua_epoch, keys, 1, args, 1, epoch_told, c) == 0)
		claims__hold(c);
}

static bool
info_is(struct str info, const char *line)
{
	const char *at = info.ptr ? memmem(info.ptr, info.len, line, strlen(line)) : NULL;

	return at && at > info.ptr && at[-1] == '\n' &&
	       (at + strlen(line) == info.ptr + info.len || at[strlen(line)] == '\r');
}

/* A server that throws claims away when it is full would let things be done twice. */
static void
info_told(const struct err *e, const struct redis_answer *a, void *arg)
{
	struct claims_redis *c = arg;

	if (!e && !c->closing) {
		struct str info = a->kind == REDIS_TEXT ? a->text : S("");
		c->warning[0] = '\0';
		if (!info_is(info, "aof_enabled:1"))
			snprintf(c->warning, sizeof(c->warning),
				 "Redis forgets claims when it dies: set appendonly yes, and "
				 "appendfsync always");
		if (info.len && !info_is(info, "maxmemory_policy:noeviction") &&
		    !info_is(info, "maxmemory:0"))
			claims__not_ready(
			    c, "Redis may throw claims away when its memory is full: set "
			       "maxmemory-policy noeviction");
		else
			epoch_ask(c);
	}
	claims__release(c);
}

static void
meet(struct claims_redis *c)
{
	if (c->up && !c->saves &&
	    redis_ask(c->redis, (struct str[]){S("INFO")}, 1, info_told, c) == 0)
		claims__hold(c);
}

static void
changed(bool up, const struct err *why, void *arg)
{
	struct claims_redis *c = arg;

	c->up = up;
	if (!up) {
		if (!c->lost) {
			if (c->ready)
				log_line(LOG_WARN,
					 "the shared claims cannot be reached: effects "
					 "are refused",
					 "why", err_text(why), NULL);
			claims__not_ready(c, err_text(why));
		}
		c->ready = false;
		return;
	}
	meet(c);
}

/* ---- the life of it ---- */

void
claims__release(struct claims_redis *c)
{
	if (--c->holds > 0)
		return;
	redis_address_done(&c->address);
	free(c->file);
	free(c->prefix);
	free(c);
}

void
claims__free(struct claims *claims)
{
	struct claims_redis *c = claims__of(claims);

	c->closing = true;
	c->ready = false;
	err_set(&c->problem, E_STORE, "the gateway is shutting down");
	timer_stop(c->loop, &c->beat);
	claims__drop_waiting(c);
	redis_free(c->redis);
	c->redis = NULL;
	claims__release(c);
}

int
claims_redis_open(const struct claims_redis_spec *spec, struct claims **ret, struct err *e)
{
	struct claims_redis *c = calloc(1, sizeof(*c));
	char process[ULID_LEN + 1];
	int code = E_NOMEM;

	if (!c)
		return err_plain(e, E_NOMEM);
	c->claims.ops = &claims__redis_ops;
	c->loop = spec->loop;
	c->ledger = spec->ledger;
	c->holds = 1;
	list_init(&c->waiting);
	c->file = spec->file ? strdup(spec->file) : NULL;
	c->prefix = str_dup(spec->prefix);
	if ((spec->file && !c->file) || !c->prefix)
		err_plain(e, E_NOMEM);
	else if ((code = redis_address_read(spec->url, &c->address, e)) == 0 &&
		 (code = memory_read(c, e)) == 0 &&
		 (code = memory_write(c) < 0 ? err_errno(e, E_CONFIG, errno, c->file) : 0) == 0) {
		ulid_new(process);
		snprintf(c->token, sizeof(c->token), "%s.%s", c->home, process);
		redis_address_text(&c->address, c->where, sizeof(c->where));
		claims__not_ready(c, "Redis is not connected yet");
		code = redis_new(&(struct redis_spec){.loop = c->loop,
						      .address = &c->address,
						      .changed = changed,
						      .arg = c},
				 &c->redis, e);
		if (code == 0)
			code = timer_start(c->loop, &c->beat, LIMIT_CLAIM_BEAT_MS, beat, c);
	}
	if (code < 0) {
		claims__release(c);
		return code;
	}
	*ret = &c->claims;
	return 0;
}

bool
claims_redis_is(const struct claims *c)
{
	return c && c->ops == &claims__redis_ops;
}

int
claims_redis_health(struct claims *claims, struct err *e)
{
	struct claims_redis *c = claims__of(claims);

	if (c->ready)
		return 0;
	return err_set(e, E_STORE, "%s", err_text(&c->problem));
}

int
claims_redis_accept(struct claims *claims, struct err *e)
{
	struct claims_redis *c = claims__of(claims);

	if (!c->lost)
		return err_set(e, E_FORBIDDEN, "Redis has forgotten nothing that is known of");
	if (!c->up)
		return err_set(e, E_UNAVAILABLE, "Redis cannot be reached");
	c->accepting = true;
	epoch_ask(c);
	return 0;
}

void
claims_redis_write(struct jw *w, struct claims *claims)
{
	struct claims_redis *c = claims__of(claims);

	jw_object(w);
	jw_member_z(w, "backend", "redis");
	jw_member_z(w, "server", c->where);
	jw_member_z(w, "key_prefix", c->prefix);
	jw_member_z(w, "state", c->ready ? "ready" : c->lost ? "lost" : c->up ? "refused" : "away");
	jw_member_z(w, "problem", c->ready ? NULL : err_text(&c->problem));
	jw_member_z(w, "warning", c->warning[0] ? c->warning : NULL);
	jw_member_int(w, "waiting", (int64_t)c->waiting.len);
	jw_end(w);
}
