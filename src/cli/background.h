/* background.h - a gateway that nobody waits for: `holdfast mcp` starts one where none runs. */

#ifndef CLI_BACKGROUND_H
#define CLI_BACKGROUND_H

#include "cli/api.h"

struct background {
	const char *config;    /* NULL: the usual one */
	const char *workspace; /* NULL: none */
};

/* It answers then: the one that was started, or whoever was faster. E_CONFIG, E_STOPPING, E_SYSTEM.
 */
int background_start(const struct background *wish, struct api **ret, struct err *e);

#endif
