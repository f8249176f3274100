/* hf.h - what the files behind the public header share. For src/daemon only. */

#ifndef DAEMON_HF_H
#define DAEMON_HF_H

#include <pthread.h>

#include "call/gateway.h"
#include "daemon/config.h"
#include "front/front.h"
#include "holdfast.h"
#include "provider/builtin.h"

#define HF_WAITING_FDS 64

struct hf {
	struct loop *loop;
	struct config config;
	struct store *store;
	struct artifacts *artifacts;
	struct bus *bus;
	struct grants *grants;
	struct questions *questions;
	struct catalog *catalog;
	struct learned *learned;
	struct builtins *builtins;
	struct sessions *sessions;
	struct gateway gw;
	struct front *front;
	const char *shut[4]; /* our own places, closed to every workspace */
	char *state_dir;
	char *config_dir;
	char *config_file; /* given by name, or NULL */
	struct list subscribers;
	struct err err;
	struct timer janitor; /* forgets what is older than config.retention_days */
	struct work sweeping; /* the janitor's, among the artifacts */
	bool sweeps;
	struct lessons {
		struct timer timer;
		struct work work;
		struct buf text;
		bool kept;    /* in a file */
		bool changed; /* since it was written */
		bool waiting, writing, failed;
	} lessons;
	bool token_required;
	bool reachable; /* by other machines */
	bool gateway_ready;
	bool stopping;
	bool stopped;

	/* from other threads, under the lock */
	pthread_mutex_t lock;
	struct mailbox mailbox;
	int fds[HF_WAITING_FDS];
	size_t fd_count;
	bool stop_asked;
	bool closed; /* nobody takes a descriptor any more */
};

/* wire.c */
int hf__wire(struct hf *hf, const struct hf_options *o);
void hf__unwire(struct hf *hf);

/* janitor.c */
void hf__start_janitor(struct hf *hf);

/* learned.c */
int hf__learned_open(struct hf *hf, bool kept, struct err *e);
void hf__learned_changed(void *hf);
void hf__learned_close(struct hf *hf);

/* calls.c */
void hf__forget_subscribers(struct hf *hf);

/* Remember the failure for hf_error, give the code back. */
int hf__fail(struct hf *hf, const struct err *e);

#endif
