/* config_inside.h - what the files that read the configuration share. For them alone. */

#ifndef DAEMON_CONFIG_INSIDE_H
#define DAEMON_CONFIG_INSIDE_H

#include "base/buf.h"
#include "daemon/config.h"

struct config_reading {
	const struct yaml *yaml;
	struct config *config;
	const char *home;  /* NULL: not known */
	const char *state; /* the same */
	struct err *err;
};

/* The line of a member's key, which stands right before its value. */
unsigned config__line(const struct config_reading *r, const struct json *value);
/* Kept in config->warnings; beyond the limit it is not. */
void config__warn(struct config_reading *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* config_servers.c. E_CONFIG, E_NOMEM. The document fits the schema. */
int config__servers(struct config_reading *r, const struct json *root);
/* config_plugin.c: the program that runs plugins. False: there is none. */
bool config__plugin_host(struct buf *out);

/* config_confine.c: the section `confinement`, which fits the schema. E_CONFIG, E_NOMEM. */
int config__effects(struct config_reading *r, const struct json *root);
int config__confinement(struct config_reading *r, const struct json *v);
/* An array of ports; NULL: v is none, or no memory. */
const uint16_t *config__ports(struct arena *a, const struct json *v, size_t *ret_count);

/* config_hooks.c. E_CONFIG, E_NOMEM; what was read so far is to be done with. */
int config__hooks(struct config_reading *r, const struct json *section);
void config__hooks_done(struct config *c);

/* config_defined.c. E_CONFIG, E_NOMEM; what was read so far is to be done with. */
int config__defined(struct config_reading *r, const struct json *root);
void config__defined_done(struct config *c);

/* config_kernel.c: the section `kernel`, which fits the schema. May read files. E_CONFIG, E_NOMEM.
 */
int config__kernel(struct config_reading *r, const struct json *v);

/* config_tenants.c: sections that fit the schema. E_CONFIG, E_NOMEM. */
int config__tenants(struct config_reading *r, const struct json *section);
void config__toolbox(struct config *c, const struct json *section);

/* config_vars.c */
struct vars {
	const char *workspace; /* NULL: there is none */
	const char *home;      /* NULL: not known */
	struct buf *values;    /* gets what variables were filled in with, a NUL behind each; or
				  NULL */
};
/*
 * Adds the text to out with ${...} filled in. False: it cannot be, and why is in *problem, a
 * sentence without values ("the variable X is not set").
 */
bool vars_fill(const struct vars *v, struct str text, struct buf *out, struct buf *problem);

/* config_env.c */
struct env {
	struct arena *arena;
	const char **list; /* "K=V", NULL-terminated */
	size_t count;
	bool failed; /* no memory, or too many */
};
void env_init(struct env *e, struct arena *a);                  /* the harmless ones of our own */
void env_put(struct env *e, struct str name, struct str value); /* instead of one of that name */
bool env_name_fits(struct str name);
bool env_is_secret(struct str name); /* by its name */
bool env_is_public(struct str name); /* every program here may see it */
/* NAME=value lines of a dotenv file. False: why is in *problem. */
bool env_put_file(struct env *e, const char *path, struct buf *problem);

/* config_turns.c; the file fits the schema. */
void config__turns(struct config *c, const struct json *root);

#endif
