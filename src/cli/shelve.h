/*
 * shelve.h - tools out of a file, or those of the gateway, put on a shelf to be browsed.
 *
 * A tool is an object: its name, and if there are, description, id, namespace, tags and
 * namespace_description; the schema of its input is input_schema, or inputSchema as MCP writes it,
 * and so are annotations with readOnlyHint and destructiveHint, and _meta with a version. Members
 * of other names are for others. A tool without an id gets the one that is derived.
 */

#ifndef CLI_SHELVE_H
#define CLI_SHELVE_H

#include "catalog/shelf.h"

/* EXIT_FINE, or what is wrong was said: EXIT_USAGE when the file is not what it should be. */
int shelve_lines(const char *path, struct shelf **ret); /* a JSON object per line */
int shelve_file(const char *path, struct shelf **ret);  /* one JSON object */

/* Those of the gateway that runs, or else of one in this process. */
int shelve_gateway(struct shelf **ret);

/* What use has taught the gateway, so that a person finds what an agent would; NULL: nothing. */
struct learned *shelve_learned(void);

/* As the option --catalog says. */
int shelve(const char *catalog, struct shelf **ret);

#endif
