/* owner.h - for whom a command is: --tenant and --agent. */

#ifndef CLI_OWNER_H
#define CLI_OWNER_H

#include "base/buf.h"
#include "cli/args.h"

const char *owner_tenant(const struct args *a); /* "default" where none is given */
/* "/tenants/NAME" */
void owner_path(struct buf *out, const struct args *a);
/* "/toolbox/TENANT:AGENT" */
void owner_toolbox(struct buf *out, const struct args *a);

#endif
