/*
 * shape.h - what clients demand of the things that servers list.
 *
 * A client checks a list as a whole: one thing that is not as MCP wants it, and everything of every
 * server is refused with it. So a member that is wrong and need not be there is left out, what can
 * be put right without another meaning is, and what lacks something it must have is not listed.
 * What is kept and pinned of a thing is always what its server said.
 */

#ifndef MCP_SHAPE_H
#define MCP_SHAPE_H

#include "base/err.h"
#include "json/write.h"

enum shape { SHAPE_TOOL, SHAPE_PROMPT, SHAPE_RESOURCE, SHAPE_TEMPLATE, SHAPE__COUNT };

/* Can it be listed? E_VALIDATION names the member that is in the way. */
int shape_check(enum shape s, const struct json *thing, struct err *e);

/* One member of a thing, as a client takes it; nothing where it would not. */
void shape_write_member(struct jw *w, enum shape s, struct str key, const struct json *value);

/* A thing that can be listed, whole. `renamed`: what the member is called that has `name` instead
 * of what the server said there; NULL: none has. */
void shape_write(struct jw *w, enum shape s, const struct json *thing, const char *renamed,
		 struct str name);

/* Can this be the schema of arguments, which are always an object? */
bool shape_is_of_object(const struct json *schema);

#endif
