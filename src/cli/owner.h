/* owner.h - for whom a command is: --tenant and --agent. */

#ifndef CLI_OWNER_H
#define CLI_OWNER_H

#include "base/buf.h"
#include "cli/args.h"

struct column;
struct reply;

/* One request; target and body are done with. What is wrong was said. */
int owner_ask(const char *method, struct buf *target, struct buf *body, struct reply *ret);
/* The member `key` of what is answered, as a table, or all of it as JSON. */
int owner_list(const char *target, bool json, const char *key, const struct column *columns,
	       size_t count);
int owner_drop(struct buf *target);

const char *owner_tenant(const struct args *a); /* "default" where none is given */
/* "/tenants/NAME" */
void owner_path(struct buf *out, const struct args *a);
/* "/toolbox/TENANT:AGENT" */
void owner_toolbox(struct buf *out, const struct args *a);

#endif
