/*
 * paths.h - where things are kept, after the XDG rules.
 *
 *	config   $XDG_CONFIG_HOME/holdfast/config.yaml   or ~/.config/...
 *	state    $XDG_STATE_HOME/holdfast                or ~/.local/state/...   journal, token, log
 *	socket   $XDG_RUNTIME_DIR/holdfast.sock          or a private directory under /tmp
 *
 * Relative values of the variables are ignored, as the rules say. All fill out (LIMIT_PATH bytes)
 * and return 0, or E_CONFIG with a sentence.
 */

#ifndef BASE_PATHS_H
#define BASE_PATHS_H

#include "base/err.h"
#include "base/limits.h"

struct path {
	char text[LIMIT_PATH];
};

int path_config(struct path *out, struct err *e);
int path_config_dir(struct path *out, struct err *e);
int path_state(struct path *out, struct err *e);
int path_in_state(struct path *out, const char *name, struct err *e); /* a file there */
/* Its directory is made (0700) and checked to be ours when `make`. */
int path_socket(struct path *out, bool make, struct err *e);

/* mkdir -p with mode 0700 for what is made. E_CONFIG. */
int path_make_dir(const char *path, struct err *e);

#endif
