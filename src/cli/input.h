/* input.h - JSON that a command is given in a file or on standard input. */

#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"

/* The buffer's maximum: enough to see that there is too much. */
#define INPUT_BYTES (LIMIT_JSON_BYTES + 64 * KIB)

const char *input_name(const char *path); /* for sentences about it */

/*
 * Everything up to the end; "-" is standard input. EXIT_FINE, or what is wrong was said:
 * EXIT_USAGE, since 1 is an answer about the JSON and not about the file.
 */
int input_read(const char *path, struct buf *out);
int input_json(const char *path, struct json_doc **ret); /* the same, and through the door */

#endif
