/*
 * emission.h - a result as it left, kept so that it can leave again in the same bytes.
 *
 * It is JSON, for whoever reads the ledger; but numbers and escapes come back as they were, because
 * the lengths of its parts are in front and they are taken out by them.
 *
 *	{"parts":[9,0,0,0],"content":[...],"extra":{...},"modified":[...],"artifacts":[...]}
 */

#ifndef EFFECT_EMISSION_H
#define EFFECT_EMISSION_H

#include "base/buf.h"

/* Without the brackets around each; empty where there is nothing. */
struct emission {
	struct str content, extra, modified, artifacts;
};

void emission_write(struct buf *out, const struct emission *m);
/* Parts of the text itself. False: it is none. */
bool emission_read(struct str text, struct emission *ret);

#endif
