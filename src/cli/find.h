/* find.h - what people mean when they name something by the end of its id, or a directory. */

#ifndef CLI_FIND_H
#define CLI_FIND_H

#include "cli/api.h"
#include "cli/args.h"

/* --workspace, or where we are, as an absolute path; says what is wrong. */
int find_workspace(const struct args *a, struct path *ret);

/*
 * The row of a list whose member `key` is, or ends with, what was typed. *ret is NULL when there
 * is none; several different ones are a usage error. The row lives in the reply.
 */
int find_row(struct api *api, const char *target, const char *list, const char *key,
	     const char *typed, struct reply *reply, const struct json **ret);

/* A session, open or ended, by its id or the end of it; what is not found is left as it was typed,
 * for the gateway to say so. */
int find_session(struct api *api, const char *typed, char *ret, size_t size);

#endif
