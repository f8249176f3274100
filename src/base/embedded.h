/* embedded.h - files that were made part of the program (script/lib/embed). */

#ifndef BASE_EMBEDDED_H
#define BASE_EMBEDDED_H

#include "base/str.h"

struct embedded {
	const char *name; /* the file's name without its folder; NULL ends a table */
	struct str bytes; /* with a NUL behind */
};

extern const struct embedded embedded_cards[];
extern const struct embedded embedded_mcp[]; /* the tools of the gateway's own */
extern const struct embedded embedded_pages[];
extern const struct embedded embedded_metas[];  /* meta-schemas */
extern const struct embedded embedded_kernel[]; /* the kernel router's own schemas */
extern const struct embedded embedded_potm[];   /* packs/potm: an index and its schemas */
extern const struct embedded embedded_config[]; /* the form of the configuration file */

#endif
