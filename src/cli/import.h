/* import.h - a document of OpenAPI for the configuration: read, checked, and kept if it came from
 * elsewhere. */

#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

#include "base/buf.h"
#include "cli/args.h"

/* The entry for the file, as JSON, of `holdfast add NAME --openapi WHAT`. What is wrong was said.
 */
int import_entry(const struct args *a, struct buf *out);

#endif
