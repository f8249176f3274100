/*
 * toolid.h - the one name a tool has inside: namespace:name[@version][#hash8] (seed 001 section 1).
 *
 *	namespace  [a-z][a-z0-9_-]{0,63}          name   [A-Za-z_][A-Za-z0-9_.-]{0,127}
 *	version    [A-Za-z0-9._-]{1,32}           hash8  [0-9a-f]{8}
 *
 * What an upstream reports is mapped into this grammar, and never refused (decision 4):
 *
 *   - A namespace is the server's name, or is read off the tool's: what stands before the first
 *     "." or "/", or the first of three or more parts between "_"; otherwise it is "mcp". It is
 *     lower-cased, and begins with "ns-" where it would begin with no letter.
 *   - In a name "/" becomes "."; "_" comes first where neither a letter nor a "_" does.
 *   - Every other character that is not in the grammar becomes "_". What is too long is cut, and
 *     what lost a character beyond ASCII is too vague alone: both end in "-" and a hash of it all.
 *
 * Two tools may still get one id. Whoever collects tools refuses the second, aloud.
 */

#ifndef CATALOG_TOOLID_H
#define CATALOG_TOOLID_H

#include "base/buf.h"
#include "json/json.h"

#define TOOLID_MAX 240
#define TOOLID_HASH8 9 /* with the NUL */
#define ALIAS_MAX 64

struct toolid {
	struct str ns;
	struct str name;
	struct str version; /* {NULL,0}: none */
	struct str hash8;   /* {NULL,0}: none */
};

/* The parts point into id. E_VALIDATION says which part is not as it must be. */
int toolid_parse(struct str id, struct toolid *ret, struct err *e);
void toolid_format(struct buf *out, const struct toolid *parts);

/*
 * From what an upstream reported. The server may be {NULL,0}, the version too, the schema NULL.
 * With a version there is no hash8. Fails only by the buffer, also when out of memory.
 */
void toolid_derive(struct buf *out, struct str upstream_name, struct str server, struct str version,
		   const struct json *schema);

/* Any text as a namespace; what is one already stays as it is. */
void toolid_namespace(struct buf *out, struct str text);

/*
 * Of the upstream name and the schema's top-level shape: the names of its properties and which of
 * them are required, and so the same when only prose changes. 0 or E_NOMEM.
 */
int toolid_hash8(char out[static TOOLID_HASH8], struct str upstream_name,
		 const struct json *schema);

/*
 * What clients call the tool: [A-Za-z0-9_-]{1,64}, "server__tool". Without a server its namespace
 * in the id takes that place. Depends on nothing else, so it stays when schema and version change;
 * a hash comes behind what is not this name unambiguously.
 */
void toolid_alias(struct buf *out, struct str server, struct str upstream_name, struct str id);

/* How many characters of a name or id say that it is of that server (or prefix, or namespace); 0:
 * it is not. Where one server's name begins like another's, the longer one is meant. */
size_t toolid_names(struct str name, struct str server);

#endif
