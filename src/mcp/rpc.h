/*
 * rpc.h - JSON-RPC messages, as MCP has them: no batches, ids are strings or whole numbers.
 */

#ifndef MCP_RPC_H
#define MCP_RPC_H

#include "mcp/mcp.h"

enum rpc_kind { RPC_REQUEST, RPC_NOTE, RPC_RESULT, RPC_ERROR };

struct rpc {
	enum rpc_kind kind;
	const struct json
	    *id;           /* NULL for a note, and for an error whose sender could not read it */
	struct str method; /* of requests and notes */
	const struct json *params; /* an object, or NULL */
	const struct json *meta;   /* params._meta, an object, or NULL */
	const struct json *result; /* an object */
	const struct json *error;  /* an object: {code, message, data?} */
};

/*
 * One message. On failure ret->kind, ->id and ->method are set as far as they can be trusted, so
 * that the error finds its request (a note gets none). E_BAD_REQUEST, or E_VALIDATION for params of
 * a wrong type. What a message has beside these members is passed over.
 */
int rpc_read(const struct json *root, struct rpc *ret, struct err *e);

/*
 * Is a message that is too large to be read an answer, and to what? Its id is a whole number of
 * ours, and its first or its last member. head and tail: the first and the last bytes of it; 0: it
 * does not stand there.
 */
#define RPC_PEEK 128 /* bytes of each are enough */
bool rpc_peek(struct str head, struct str tail, uint64_t *ret_id);

/* code and message of an error; RPC_INTERNAL and "" where they are not as they must be. */
int64_t rpc_error_code(const struct json *error);
struct str rpc_error_message(const struct json *error);

/* {"jsonrpc":"2.0","id":ID,"KEY": - the value and jw_end come from the caller. KEY is "result" or
 * "error". id NULL: null. */
struct jw rpc_answer(struct buf *out, const struct json *id, const char *key);
/* {"jsonrpc":"2.0","method":M,"params":{ - an object is open; jw_end twice. */
struct jw rpc_note(struct buf *out, const char *method);
/* {"jsonrpc":"2.0","id":N,"method":M,"params":{ - the same. */
struct jw rpc_request(struct buf *out, uint64_t id, struct str method);
/* A whole error. data: JSON, or {NULL,0}. */
void rpc_write_error(struct buf *out, const struct json *id, int64_t code, struct str message,
		     struct str data);

#endif
