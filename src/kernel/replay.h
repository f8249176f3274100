/*
 * replay.h - the last emissions of a session by request id, to be given again byte for byte.
 *
 * LIMIT_KERNEL_REPLAYS of them; whoever was not asked for longest goes first.
 */

#ifndef KERNEL_REPLAY_H
#define KERNEL_REPLAY_H

#include "base/list.h"
#include "base/map.h"
#include "base/sha256.h"

#define REQUEST_ID 36 /* a UUID as text */

struct replay {
	char id[REQUEST_ID]; /* in small letters */
	unsigned char digest[SHA256_BYTES];
	struct buf emission;
	bool ok;
	struct node node;
};

struct replays {
	struct map by_id;
	struct list used; /* the next to go first */
	struct replay *slots;
};

void replays_init(struct replays *r);
void replays_done(struct replays *r);

/* NULL: not seen, or long ago. Found, it counts as asked for. */
const struct replay *replay_find(struct replays *r, struct str id);
/* One that is not there. E_NOMEM: then nothing is remembered. */
int replay_put(struct replays *r, struct str id, const unsigned char digest[static SHA256_BYTES],
	       struct str emission, bool ok);

#endif
