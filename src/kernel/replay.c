/* replay.c - emissions remembered by request id, the least recently used forgotten. */

#include "kernel/replay.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/limits.h"

void
replays_init(struct replays *r)
{
	*r = (struct replays){0};
	map_init(&r->by_id, LIMIT_KERNEL_REPLAYS);
	list_init(&r->used);
}

void
replays_done(struct replays *r)
{
	for (size_t i = 0; r->slots && i < LIMIT_KERNEL_REPLAYS; i++)
		buf_done(&r->slots[i].emission);
	free(r->slots);
	map_done(&r->by_id);
}

/* A UUID is the same in capital letters. */
static struct str
small(struct str id, char out[static REQUEST_ID])
{
	CHECK(id.len == REQUEST_ID);
	for (size_t i = 0; i < REQUEST_ID; i++) {
		char c = id.ptr[i];
		out[i] = (char)(c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c);
	}
	return (struct str){out, REQUEST_ID};
}

const struct replay *
replay_find(struct replays *r, struct str id)
{
	char key[REQUEST_ID];
	struct replay *found = map_find(&r->by_id, small(id, key));

	if (!found)
		return NULL;
	list_remove(&found->node);
	list_push(&r->used, &found->node);
	return found;
}

static struct replay *
slot_free(struct replays *r)
{
	if (!r->slots && !(r->slots = calloc(LIMIT_KERNEL_REPLAYS, sizeof(*r->slots))))
		return NULL;
	if (r->used.len < LIMIT_KERNEL_REPLAYS) {
		for (size_t i = r->used.len; i < LIMIT_KERNEL_REPLAYS; i++)
			if (!r->slots[i].node.list)
				return &r->slots[i];
		for (size_t i = 0; i < r->used.len; i++)
			if (!r->slots[i].node.list)
				return &r->slots[i];
	}
	struct replay *oldest = CONTAINER_OF(list_first(&r->used), struct replay, node);
	list_remove(&oldest->node);
	map_remove(&r->by_id, (struct str){oldest->id, REQUEST_ID});
	return oldest;
}

int
replay_put(struct replays *r, struct str id, const unsigned char digest[static SHA256_BYTES],
	   struct str emission, bool ok)
{
	struct replay *slot = slot_free(r);

	if (!slot)
		return E_NOMEM;
	small(id, slot->id);
	memcpy(slot->digest, digest, SHA256_BYTES);
	slot->ok = ok;
	slot->emission.max = LIMIT_KERNEL_EMISSION;
	buf_reset(&slot->emission); /* its memory is used again */
	buf_add(&slot->emission, emission);
	if (buf_failed(&slot->emission) ||
	    map_put(&r->by_id, (struct str){slot->id, REQUEST_ID}, slot) < 0)
		return E_NOMEM;
	list_push(&r->used, &slot->node);
	return 0;
}
