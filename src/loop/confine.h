/*
 * confine.h - what a child may reach: its owner says it, the minder takes the steps.
 *
 *   open      own session, death with its owner, limits, no descriptors, a built environment,
 *             no_new_privs
 *   standard  also Landlock (the workspace and a temporary directory to write, the system to
 *             read, nothing else; signals stay inside), a seccomp deny list, and of root's
 *             capabilities only those on files and identities
 *   strict    also no sockets but TCP to the ports that were asked for, and tighter limits; it
 *             refuses to run where the kernel cannot do all of it
 *
 * What the kernel lacks is left out of `standard`. The layers that were really put on come back
 * with the child and stand in each journal row.
 *
 *   confine.c  profiles, their limits, what this kernel can do, one house's children
 *   rules.c    the Landlock ruleset
 *   filter.c   the seccomp program
 */

#ifndef LOOP_CONFINE_H
#define LOOP_CONFINE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"
#include "minder/layers.h"

enum confinement_profile { CONFINE_UNSET, CONFINE_OPEN, CONFINE_STANDARD, CONFINE_STRICT };
enum confinement_profile confine_profile(struct str name); /* CONFINE_UNSET: there is none such */
const char *confine_profile_name(enum confinement_profile p);

/* Of one child; of child_spec, or what somebody says of a child of theirs. Lists of paths are
 * NULL-terminated, or NULL. */
struct confinement {
	enum confinement_profile profile; /* unset counts as open */
	const char *const *read;          /* more directories and files to read and execute */
	const char *const *write;         /* to read and write */
	const char *const *shut;          /* never, even inside the others: our own state */
	const char
	    *temporary; /* to write; TMPDIR and XDG_CACHE_HOME lead there. NULL: there is none */
	const uint16_t *tcp; /* ports that may be connected to; NULL: strict none, others all */
	size_t tcp_count;
	struct confine_kept *kept; /* private: of its house */
};

/* The last ruleset, for the next child that is to have the same; see rules.c. */
struct confine_kept {
	struct buf key; /* what it was made of; empty: there is none */
	uint64_t made_us;
	int fd;
};

/*
 * The children of one gateway: what its configuration says of each kind, and what holds for all.
 * `settings` and `shut` are borrowed and may change between two children.
 */
enum confined {
	CONFINED_SHELL,
	CONFINED_HOOKS,
	CONFINED_PLUGINS,
	CONFINED_SERVERS,
	CONFINED__COUNT
};

struct confine_settings {
	enum confinement_profile profiles[CONFINED__COUNT];
	const char *const *read, *const *write;
	const uint16_t *tcp;
	size_t tcp_count;
};
extern const struct confine_settings confine_defaults;

struct confine_house {
	const struct confine_settings *settings;
	const char *const *shut;
	char temporary[LIMIT_PATH]; /* made when it is needed first; "": not yet */
	bool locked;                /* private: somebody lives there, as this descriptor says */
	int lock;
	struct confine_kept kept;
};

/*
 * One child of the house: what was said of it (may be NULL), and what the settings say where that
 * leaves something open. `name` is whose temporary directory it gets: its workspace, or what it is
 * called. Lists are in the arena. The house may be NULL: then it is open. E_NOMEM, E_SYSTEM.
 */
int confine_child(struct confine_house *h, enum confined who, const struct confinement *said,
		  struct str name, struct arena *a, struct confinement *ret, struct err *e);
void confine_house_done(struct confine_house *h); /* removes the temporary directories */
/* Removes those of houses that were killed, of this user and in the same place. May block. */
void confine_sweep(void);

/* What was put on, with its profile, in one word (0: nothing is known of it). */
#define CONFINE_LAYERS(profile, layers) ((uint32_t)(profile) << 24 | (layers))
#define CONFINE_TEXT 208 /* profile, all layers with commas, and what is copied too much */
/* "standard: group,death,limits" or "" for 0; the bits alone without the profile. */
const char *confine_text(uint32_t layers, char out[static CONFINE_TEXT]);

/* What this kernel can do, asked once. */
uint32_t confine_available(void);
/* What a profile is made of; `tcp`: ports were named. */
uint32_t confine_wanted(enum confinement_profile p, bool tcp);
/* Where each layer comes from: "Landlock ABI 6, Linux 6.12". */
const char *confine_origin(uint32_t layer);

#endif
