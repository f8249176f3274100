/*
 * secret.h - files that are asked about each time, whatever else was said: keys, credentials, .env.
 *
 *	tool_confirmation:
 *	  secret_files: [payroll.csv, "!test-*.pem"]
 *
 * Patterns are those of glob_file in base/glob.h. The usual ones count always; those of the file
 *come after them. One that begins with '!' takes out what fits it. The last that fits decides.
 */

#ifndef POLICY_SECRET_H
#define POLICY_SECRET_H

#include "base/str.h"

struct secrets_list {
	const struct str *patterns; /* beside the usual ones */
	size_t count;
};

/* The pattern that makes it secret, or {NULL,0}. */
struct str secret_file(const struct secrets_list *more, struct str path);
/* The same of the first word of a command line that names such a file, as far as that can be seen.
 */
struct str secret_in_command(const struct secrets_list *more, struct str command);

#endif
