/*
 * emission.h - a result as it left, kept so that it can leave again in the same bytes.
 *
 * It is JSON, for whoever reads the ledger; but numbers and escapes come back as they were, because
 * the lengths of its parts are in front and they are taken out by them.
 *
 *	{"parts":[9,0,0,0],"content":[...],"extra":{...},"modified":[...],"artifacts":[...]}
 *
 * Where the tool answered with an error, "error" comes behind them: an object, {} when the content
 * says all there is.
 */

#ifndef EFFECT_EMISSION_H
#define EFFECT_EMISSION_H

#include "base/buf.h"

/* Without the brackets around each; empty where there is nothing. */
struct emission {
	struct str content, extra, modified, artifacts;
	struct str error; /* the object, whole; {NULL,0}: it was none */
};

void emission_write(struct buf *out, const struct emission *m);
/* Parts of the text itself. False: it is none. */
bool emission_read(struct str text, struct emission *ret);

#endif
