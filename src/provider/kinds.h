/*
 * kinds.h - the gateways a definition can name (seed 004 section 7), and what each makes of one.
 *
 *	http       a request over HTTP (http.h)
 *	composio   an action of Composio, by its REST interface
 *	internal   a C function that was registered through the public header
 *
 * A new one is a row in kinds.c. For the loop's thread.
 */

#ifndef PROVIDER_KINDS_H
#define PROVIDER_KINDS_H

#include "catalog/definition.h"
#include "provider/builtin.h"
#include "provider/http.h"

/* What the configuration says of all tools of a kind. Read when one is fitted, and not kept. */
struct kinds_settings {
	struct http_settings http;
	struct str composio_key;  /* the value; {NULL,0}: there is none */
	const char *composio_env; /* the variable it comes from, for messages */
	const char *composio_url; /* up to and with /api/v3; NULL: theirs */
};

struct kinds;

/* builtins is borrowed: where `internal` looks. E_NOMEM. */
int kinds_new(struct loop *l, struct builtins *b, struct kinds **ret, struct err *e);
void kinds_free(struct kinds *k); /* no job may be running; takes NULL */

/* The function `internal` would use; NULL = none. */
struct tool *kinds_function(const struct kinds *k, struct str name);

/* Is there such a gateway? */
bool kinds_know(struct str gateway);

/*
 * Gives t, which definition_tool made of d, whoever runs it. vars may be NULL: then no variable may
 * be named. E_VALIDATION names the field; E_NOT_FOUND: `internal` names a function that is not
 * registered (yet); E_NOMEM.
 */
int kinds_fit(struct kinds *k, struct tool *t, const struct definition *d,
	      const struct kinds_settings *settings, const struct variables *vars, struct err *e);

#endif
