/*
 * redis.h - a connection to one Redis or Valkey server that is kept up.
 *
 *	down --> dialing --> greeting (AUTH, SELECT) --> up
 *	 ^________ back-off _________________|____________|
 *
 * Commands are answered in the order they were given. One that is not answered in time, or whose
 * connection ends first, ends with E_UNAVAILABLE: the server may have done it or not. The answers
 * are read with hiredis, which is loaded with the first connection; names are looked up and
 * sockets connected as for every other connection (dial.h), so nothing here waits. TLS is not
 * spoken.
 */

#ifndef NET_REDIS_H
#define NET_REDIS_H

#include "base/err.h"
#include "loop/loop.h"

struct redis;

/* redis://[[user]:password@]host[:port][/db], unix://[[user]:password@]/path[?db=N] */
struct redis_address {
	char *host; /* NULL: path */
	char *path;
	char *user, *password; /* NULL: none */
	uint16_t port;
	unsigned db;
};
/* E_CONFIG: the sentence holds nothing of the URL but its scheme. */
int redis_address_read(struct str url, struct redis_address *ret, struct err *e);
void redis_address_done(struct redis_address *a);
/* "localhost:6379", "/run/redis.sock": without what is secret. */
void redis_address_text(const struct redis_address *a, char *out, size_t size);

struct redis_answer {
	enum { REDIS_NIL, REDIS_TEXT, REDIS_NUMBER, REDIS_ERROR, REDIS_LIST } kind;
	int64_t number;
	struct str text;                  /* TEXT, ERROR */
	const struct redis_answer *items; /* LIST, of at most LIMIT_REDIS_ITEMS; none inside it */
	size_t count;
};
/* Valid inside. e: E_UNAVAILABLE, and there is no answer. An error of the server is an answer. */
typedef void (*redis_fn)(const struct err *e, const struct redis_answer *a, void *arg);

struct redis_spec {
	struct loop *loop;
	const struct redis_address *address; /* borrowed, as long as the connection */
	/* It is up, or no longer, or another try has failed: why says so. Never inside the
	 * functions below. */
	void (*changed)(bool up, const struct err *why, void *arg);
	void *arg;
};
/* Begins to connect. E_UNAVAILABLE: hiredis is not there. E_NOMEM. */
int redis_new(const struct redis_spec *spec, struct redis **ret, struct err *e);
/* What is unanswered ends with E_UNAVAILABLE in here. Not inside an answer. Takes NULL. */
void redis_free(struct redis *r);

/* E_UNAVAILABLE: it is not up. E_LIMIT: too many are unanswered. E_NOMEM. Then done is not called.
 */
int redis_ask(struct redis *r, const struct str *words, size_t count, redis_fn done, void *arg);
size_t redis_waiting(const struct redis *r);
/* It answers what it should not: from the beginning. Soon. */
void redis_restart(struct redis *r, const char *why);

#endif
