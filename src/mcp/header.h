/*
 * header.h - what the modern era repeats of a body in HTTP headers, so that those between us need
 * not read it: Mcp-Method, Mcp-Name, and Mcp-Param-NAME for arguments whose schema has
 * "x-mcp-header": NAME.
 *
 * A value that is empty, not plain visible ASCII with spaces inside, or could be taken for an
 * encoded one, is written as "=?base64?...?=". Base64 is read strictly, and must be UTF-8.
 */

#ifndef MCP_HEADER_H
#define MCP_HEADER_H

#include "base/buf.h"
#include "mcp/mcp.h"

void header_encode(struct buf *out, struct str value);
/* False: it says it is encoded, and is not. Without the wrapper it is taken as it stands. */
bool header_decode(struct str value, struct buf *out);
/* value: as received, blanks at its ends trimmed. */
bool header_says(struct str value, struct str body);

/* What Mcp-Name repeats for this method: params.name, .uri or .taskId; {NULL,0}: nothing. */
struct str header_name_of(struct str method, const struct json *params);

/*
 * The annotated arguments of a schema, in order: for each path of `properties` with an
 * x-mcp-header, its name and the argument that is there. E_VALIDATION: the schema breaks a rule (an
 * annotation where none may be, a bad or repeated name, a type that is not string, integer or
 * boolean), and a client must not use this tool over HTTP; or there are more than max, for which
 * LIMIT_MCP_PARAMS is plenty.
 *
 * value is NULL when the argument is absent or null, and when no header can say it: an object, an
 * array, a fraction, an integer beyond 2^53-1. Then none is sent and none is expected; validation
 * will find what is wrong with it.
 */
struct header_param {
	struct str name;          /* as in the schema */
	const struct json *value; /* a string, an integer or a boolean; or NULL */
};
int header_params(const struct json *schema, const struct json *arguments, struct header_param *ret,
		  size_t max, size_t *ret_count, struct err *e);
/* Does the schema have any? Cheap: for tools that have none. */
bool header_has_params(const struct json *schema);
/* The value of an argument as its header says it, encoded. */
void header_param_value(struct buf *out, const struct json *value);
/* Does a received header say this value? Integers by number. */
bool header_param_says(struct str received, const struct json *value);

#endif
