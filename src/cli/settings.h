/* settings.h - the configuration file as commands change it: which one, its text, and whether the
 * running gateway has taken it. */

#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "cli/api.h"
#include "cli/args.h"

struct settings {
	struct api *api;  /* of the running gateway; NULL: none runs */
	struct path file; /* where it really lies */
	bool in_use;      /* the running gateway has this one */
	struct buf text;  /* "" when there is none yet */
	bool is_new;
	int lock; /* of its directory, so that two commands do not undo each other; -1: none */
};

/* --config, or that of the running gateway, or the usual one. What is wrong was said. Done with in
 * any case. */
int settings_open(const struct args *a, struct settings *ret);
void settings_done(struct settings *s);

/* Checks the new text, then puts it in the file's place at once, whole. */
int settings_write(const struct settings *s, struct str text);

/* Waits until the running gateway, if it has this file, has read it; says what it thinks of it.
 * *ret_taken: it is in force there. */
int settings_reload(const struct settings *s, struct str text, bool *ret_taken);

#endif
