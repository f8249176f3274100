/* serve.h - the parts of `holdfast serve` that can be looked at alone. */

#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "base/paths.h"

#define SERVE_HOST "127.0.0.1"
#define SERVE_PORT 8421

struct listen {
	bool tcp;      /* false: "none" */
	char host[64]; /* numeric */
	uint16_t port; /* 0: a free one */
	bool yields;   /* "auto": if the port is taken, a free one */
};
/* "HOST:PORT", "[::1]:PORT", "PORT", "HOST", "auto" or "none"; NULL: the usual place.
 * E_VALIDATION. */
int listen_parse(const char *text, struct listen *ret, struct err *e);

#define TOKEN_FILE "token" /* in the state directory */
#define TOKEN_TEXT 65      /* 64 hex digits and the NUL */
void token_make(char out[static TOKEN_TEXT]);
/* The one in the file, which only we can read; made when there is none yet. E_CONFIG. */
int token_load(const char *path, char out[static TOKEN_TEXT], struct err *e);

#endif
