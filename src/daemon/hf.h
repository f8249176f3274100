/* hf.h - what the files behind the public header share. For src/daemon only. */

#ifndef DAEMON_HF_H
#define DAEMON_HF_H

#include <pthread.h>

#include "call/gateway.h"
#include "daemon/config.h"
#include "front/front.h"
#include "holdfast.h"
#include "kernel/kernels.h"
#include "loop/watch.h"
#include "provider/builtin.h"
#include "provider/defined.h"
#include "provider/mcp.h"
#include "undo/undo.h"

#define HF_WAITING_FDS 64
#define HF_WOKEN 64 /* calls, between two turns of the loop */

/* A definition that a person made (defining.c). */
struct made {
	struct definition *definition; /* a reference */
	int64_t created_us;
};

struct hf {
	struct loop *loop;
	struct config_source source; /* where the configuration comes from; its strings are below */
	struct config config;
	struct store *store;
	struct artifacts *artifacts;
	struct undo *undo;
	struct ledger *ledger;
	struct claims *claims; /* shared with other machines; NULL: the ledger's own */
	struct bus *bus;
	struct progresses *progress;
	struct toasts *toasts;
	struct grants *grants;
	struct tenants *tenants;
	struct questions *questions;
	struct catalog *catalog;
	struct learned *learned;
	struct builtins *builtins;
	struct upstreams *upstreams;
	struct mcp_provider *mcp;
	uint64_t catalog_told;   /* the version of the catalog that clients have heard of */
	struct kinds *kinds;     /* who runs what was defined */
	struct defined *defined; /* and what was */
	struct made *made;       /* of these: what is in the store, by tenant and name */
	size_t made_count;
	struct servers *servers; /* what was told of them */
	bool no_servers;
	bool servers_over; /* none runs any more */
	struct sessions *sessions;
	struct gateway gw;
	struct kernels *kernels;
	struct front *front;
	const char *shut[6];        /* our own places, closed to every workspace and every child */
	struct confine_house house; /* of all children */
	char *socket;               /* where others come in */
	char *state_dir;
	char *config_dir;
	char *config_file;  /* where it really lies, or NULL */
	char *config_path;  /* absolute: where it is looked for */
	char *config_given; /* by name, or NULL */
	char *workspace;    /* the default one that was given, or NULL */
	bool inner;         /* as in struct hf_options */
	bool ephemeral;
	struct watch *watch; /* of config_path */
	struct reloading {
		struct work work;
		struct config next;
		struct err err;
		int code;
		bool running;
		bool forced; /* also when the file is as it was */
		bool same;   /* it is */
		bool again, again_forced;
		bool wrong; /* the last one was not taken: err says why */
		unsigned loads;
		char tried[DIGEST_TEXT]; /* the file that was read last */
	} reloading;
	struct list subscribers;
	hf_supersede_fn decides; /* what becomes of turns; or NULL */
	void *decides_arg;
	struct list change_readers; /* file_changes.c */
	int change_readers_made;
	struct err err;
	struct timer telling; /* of news that came too early */
	struct timer janitor; /* forgets what is older than config.retention_days */
	struct work sweeping; /* the janitor's, among the artifacts */
	struct timer tidy;    /* gives memory back */
	uint64_t tidied;      /* one more than the calls there had been by then; 0: never */
	struct work releasing;
	bool sweeps, releases;
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
	struct list told; /* struct instance: jobs of ours with news of how far they are */

	pthread_mutex_t lock;
	struct mailbox mailbox;
	int fds[HF_WAITING_FDS];
	size_t fd_count;
	struct id woken[HF_WOKEN]; /* calls whose stage asked for it */
	size_t woken_count;
	bool woken_all; /* more than these */
	bool stop_asked;
	bool reload_asked;
	bool closed; /* nobody takes a descriptor any more */
};

/* wire.c */
int hf__wire(struct hf *hf, const struct hf_options *o);
void hf__unwire(struct hf *hf);
struct artifacts_spec hf__artifacts_spec(const struct hf *hf); /* as the configuration says */
struct undo_spec hf__undo_spec(const struct hf *hf);           /* the same, without a path */
void hf__warn(struct hf *hf); /* what the configuration says that will have no effect */

void hf__turns_set(struct hf *hf); /* as the configuration says */

/* reload.c */
#define CONFIG_QUIET_MS 200                  /* editors write in several steps */
void hf__reload(struct hf *hf, bool forced); /* soon; forced: also a file that is as it was */
void hf__watch_config(struct hf *hf);
void hf__write_config(struct jw *w, void *hf);

/* servers.c */
int hf__servers_open(struct hf *hf, struct err *e);
int hf__servers_set(struct hf *hf, const struct config *c, struct err *e);
void hf__catalog_changed(void *arg); /* the hf; it may be as it was */
/* Of struct gateway; arg is the hf. */
struct str hf__why_missing(struct str tool, struct err *why, void *arg);
/* After a change: those that are others than before are started, to see what they offer now. */
void hf__servers_refresh(struct hf *hf, const struct config *old);
void hf__servers_close(struct hf *hf); /* after upstreams_stop, or before any was set */

/* definitions.c */
int hf__definitions_open(struct hf *hf, struct err *e);
/* Those of c, which becomes hf->config when all else has gone well. E_NOMEM. */
int hf__definitions_set(struct hf *hf, const struct config *c, struct err *e);
/* What was set of c is not to be after all: those of hf->config again, as far as can be. */
void hf__definitions_back(struct hf *hf, const struct config *c);
void hf__definitions_functions(struct hf *hf); /* those that are registered are others */
void hf__definitions_warn(struct hf *hf);
void hf__definitions_write(struct jw *w, const struct hf *hf);
void hf__definitions_close(struct hf *hf);

/* defining.c */
extern const struct definitions_ops hf__definitions_ops; /* for the front; the argument is hf */
int hf__made_load(struct hf *hf, struct err *e);
void hf__made_free(struct hf *hf);
int hf__made_set(struct hf *hf, struct err *e); /* definitions.c: they are others now */

/* janitor.c */
/* orphans.c: what the ledger found out of a call whose process died */
struct effect_orphan;
void hf__journal_orphan(struct hf *hf, const struct effect_orphan *from, enum claim_state state);
void hf__start_janitor(struct hf *hf);
void hf__stop_janitor(struct hf *hf);

/* learned.c */
int hf__learned_open(struct hf *hf, bool kept, struct err *e);
void hf__learned_changed(void *hf);
void hf__learned_close(struct hf *hf);

/* tools.c: what jobs of registered tools say of how far they are, told on the loop. */
void hf__tell_progress(void *hf);

/* stages.c */
int hf__hooks_set(struct hf *hf, const struct config *c, struct err *e); /* E_LIMIT, E_NOMEM */
void hf__hooks_warn(struct hf *hf); /* of those that are for no tool there is */
void hf__wake_calls(struct hf *hf); /* on the loop */

/* calls.c */
void hf__forget_subscribers(struct hf *hf);

/* file_changes.c */
void hf__forget_change_readers(struct hf *hf);

/* kernel.c: an index file or a pack by its name, with its schemas. May block. */
int hf__bundle(const char *name, struct json_doc **ret, struct err *e);

/* Remember why hf_open, or what else has no gateway, failed: for hf_error(NULL). */
void hf__open_failed(const struct err *e);
/* Remember the failure for hf_error, give the code back. */
int hf__fail(struct hf *hf, const struct err *e);

#endif
