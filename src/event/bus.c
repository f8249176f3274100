/* bus.c - events rendered once, kept in a ring, given to the store. */

#include "event/bus.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "store/record.h"

/* What the identifiers of the table are called on the wire. */
#define ACTOR_USER "user"
#define ACTOR_AGENT "agent"
#define ACTOR_SYSTEM "system"
#define ACTOR_TOOL "tool"
#define ACTOR_WORKER "worker"
#define SENSITIVITY_PRIVATE "private"
#define SENSITIVITY_USER_CONTROLLED "user_controlled"
#define SENSITIVITY_PSEUDONYMOUS "pseudonymous"
#define SENSITIVITY_AGGREGATABLE "aggregatable"
#define KEEP_STORED "stored"
#define KEEP_AUDIT "audit"
#define KEEP_PASSING "passing"

static const struct event_row rows[EVENT__COUNT] = {
#define EVENT(name, type, actor, sensitivity, keep, sentence)                                      \
	[EVENT_##name] = {type, ACTOR_##actor, SENSITIVITY_##sensitivity, KEEP_##keep, sentence},
#include "../../tbl/events.def"
#undef EVENT
};

#define BLOCK_BYTES (64 * KIB)

/* Events of the ring stand side by side in blocks: one that has none left is given back. */
struct block {
	size_t events; /* that are still in the ring */
	size_t used, size;
	char text[];
};

struct kept {
	struct event event; /* its texts are in the block */
	struct block *block;
};

struct bus {
	struct loop *loop;
	struct store *store; /* or NULL */
	struct list readers;

	size_t expected; /* readers that will come */
	size_t choosy;   /* readers that want some types alone */

	/* Slot of a seq: seq % size. In it are oldest..last, none when oldest > last. */
	struct kept *ring;
	size_t size;
	uint64_t oldest, last;
	size_t bytes;
	struct block *filling;   /* where the next one goes, or NULL */
	char lost[ULID_LEN + 1]; /* the newest id the ring has not: everything after it is here */
	bool store_refused;      /* said once, until it takes again */

	/* The event that is being written; its envelope stands around the payload from the start.
	 */
	bool drafting;
	enum event_type type;
	struct store_event row;
	char id[ULID_LEN + 1];
	struct jw writing;
	struct buf json;
	size_t payload_at;

	/* The one a reader has got, with its keys. */
	struct event told;
	struct buf shown;
};

const struct event_row *
event_row(enum event_type type)
{
	CHECK(type < EVENT__COUNT);
	return &rows[type];
}

/* While nobody reads, most of it would be written for nothing, and push all else out of the
 * processor's caches. */
static size_t
ring_wanted(const struct bus *b)
{
	return b->store && b->readers.len - b->choosy + b->expected == 0 ? LIMIT_EVENT_RING_QUIET
									 : LIMIT_EVENT_RING;
}

int
bus_new(struct loop *l, struct store *store, struct bus **ret, struct err *e)
{
	struct bus *b = calloc(1, sizeof(*b));

	if (!b)
		return err_plain(e, E_NOMEM);
	b->loop = l;
	b->store = store;
	b->oldest = 1;
	list_init(&b->readers);
	b->size = ring_wanted(b);
	if (!(b->ring = calloc(b->size, sizeof(*b->ring)))) {
		free(b);
		return err_plain(e, E_NOMEM);
	}
	buf_init(&b->json, LIMIT_EVENT_BYTES - RECORD_KEYS);
	buf_init(&b->shown, LIMIT_EVENT_BYTES);
	int code = store ? store_last_event_id(store, b->lost, e) : 0;
	if (code < 0) {
		bus_free(b);
		return code;
	}
	if (b->lost[0])
		ulid_advance(str_of(b->lost));
	*ret = b;
	return 0;
}

static struct kept *
ring_slot(const struct bus *b, uint64_t seq)
{
	return &b->ring[seq % b->size];
}

/* Room for an event's text; NULL when out of memory. */
static struct block *
block_get(struct bus *b, size_t bytes)
{
	struct block *at = b->filling;

	if (at && at->size - at->used >= bytes)
		return at;
	size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
	struct block *fresh = malloc(sizeof(*fresh) + size);
	if (!fresh)
		return NULL;
	*fresh = (struct block){.size = size};
	if (at && at->events == 0)
		free(at);
	return b->filling = fresh;
}

static void
block_leave(struct bus *b, struct block *at)
{
	if (--at->events > 0)
		return;
	at->used = 0; /* the one being filled begins anew */
	if (at != b->filling)
		free(at);
}

static size_t
event_bytes(const struct event *ev)
{
	return ev->json.len + ev->session.len;
}

static void
ring_drop_oldest(struct bus *b)
{
	struct kept *k = ring_slot(b, b->oldest++);

	CHECK(k->block);
	b->bytes -= event_bytes(&k->event);
	memcpy(b->lost, k->event.id, sizeof(b->lost));
	block_leave(b, k->block);
	*k = (struct kept){.block = NULL};
}

void
bus_free(struct bus *b)
{
	if (!b)
		return;
	CHECK(b->readers.len == 0);
	while (b->oldest <= b->last)
		ring_drop_oldest(b);
	free(b->filling);
	buf_done(&b->json);
	buf_done(&b->shown);
	free(b->ring);
	free(b);
}

struct jw *
bus_begin(struct bus *b, const struct event_draft *d)
{
	const struct event_row *t = event_row(d->type);

	CHECK(!b->drafting);
	b->drafting = true;
	b->type = d->type;
	int64_t wall_us = clock_wall_us();
	ulid_now(wall_us, b->id);
	b->row = (struct store_event){
	    .id = {b->id, ULID_LEN},
	    .wall_us = wall_us,
	    .session = d->session,
	    .turn = d->turn,
	    .parent = d->parent,
	    .type = t->type,
	    .actor = d->actor ? d->actor : t->actor,
	    .sensitivity = t->sensitivity,
	    .audit = strcmp(t->keep, KEEP_AUDIT) == 0,
	};
	buf_reset(&b->json);
	record_event_begin(&b->json, &b->row);
	b->payload_at = b->json.len;
	b->writing = jw(&b->json);
	jw_object(&b->writing);
	return &b->writing;
}

/* False: what stood for the payload was too long, and only a mark is left of it. */
static bool
envelope_end(struct bus *b)
{
	jw_end(&b->writing);
	record_event_end(&b->json, &b->row);
	if (!buf_failed(&b->json))
		return true;
	buf_reset(&b->json);
	b->json.len = b->payload_at;
	buf_addz(&b->json, "{\"truncated\":true}");
	record_event_end(&b->json, &b->row);
	return false;
}

static size_t
ring_len(const struct bus *b)
{
	return (size_t)(b->last + 1 - b->oldest);
}

/* Out of memory it stays as it is. */
static void
ring_resize(struct bus *b, size_t size)
{
	struct kept *ring = calloc(size, sizeof(*ring));

	if (!ring)
		return;
	while (ring_len(b) > size)
		ring_drop_oldest(b);
	for (uint64_t seq = b->oldest; seq <= b->last; seq++)
		ring[seq % size] = *ring_slot(b, seq);
	free(b->ring);
	b->ring = ring;
	b->size = size;
}

/* The newest is always kept: one event is far smaller than the ring's bytes. */
static bool
ring_add(struct bus *b)
{
	struct str json = buf_str(&b->json), session = b->row.session;
	size_t bytes = json.len + session.len;
	struct block *at = buf_failed(&b->json) ? NULL : block_get(b, bytes);

	if (!at)
		return false;
	at->events++; /* now: so it stays when its last other one is dropped */
	if (b->size != ring_wanted(b))
		ring_resize(b, ring_wanted(b));
	while (ring_len(b) > 0 &&
	       (ring_len(b) >= b->size || b->bytes + bytes > LIMIT_EVENT_RING_BYTES))
		ring_drop_oldest(b);
	char *text = at->text + at->used;
	memcpy(text, json.ptr, json.len);
	if (session.len)
		memcpy(text + json.len, session.ptr, session.len);
	at->used += bytes;
	struct kept *k = ring_slot(b, ++b->last);
	k->block = at;
	k->event = (struct event){
	    .seq = b->last,
	    .type = b->type,
	    .session = {text + json.len, session.len},
	    .json = {text, json.len},
	};
	memcpy(k->event.id, b->id, sizeof(b->id));
	b->bytes += bytes;
	return true;
}

static void
store_offer(struct bus *b)
{
	b->row.json = buf_str(&b->json);
	int code = store_put_event(b->store, &b->row);

	if (code < 0 && !b->store_refused)
		log_line(LOG_ERROR, "events are not being stored", "reason",
			 err_row(code)->sentence, NULL);
	b->store_refused = code < 0;
}

/* One who is not woken for an event need not look at it either. */
static void
wake_readers(struct bus *b)
{
	LIST_EACH (&b->readers, n) {
		struct bus_reader *r = CONTAINER_OF(n, struct bus_reader, node);
		if (!r->types || r->types >> b->type & 1)
			defer(b->loop, &r->wake, r->news, r->arg);
		else if (r->next == b->last)
			r->next++;
	}
}

void
bus_end(struct bus *b, char ret_id[ULID_LEN + 1])
{
	const struct event_row *t = event_row(b->type);

	CHECK(b->drafting);
	b->drafting = false;
	if (!envelope_end(b))
		log_line(LOG_WARN, "event cut: too large", "type", t->type, "id", b->id, NULL);
	bool added = ring_add(b);
	if (!added)
		log_line(LOG_ERROR, "event not shown: out of memory", "type", t->type, "id", b->id,
			 NULL);
	if (b->store && strcmp(t->keep, KEEP_PASSING) != 0 && !buf_failed(&b->json))
		store_offer(b);
	if (ret_id)
		memcpy(ret_id, b->id, sizeof(b->id));
	if (added)
		wake_readers(b);
}

void
bus_attach(struct bus *b, struct bus_reader *r)
{
	if (r->next == 0)
		r->next = b->last + 1;
	list_push(&b->readers, &r->node);
	b->choosy += r->types != 0;
	if (r->next <= b->last)
		defer(b->loop, &r->wake, r->news, r->arg);
}

void
bus_detach(struct bus *b, struct bus_reader *r)
{
	CHECK(r->node.list == NULL || r->node.list == &b->readers);
	b->choosy -= r->types && r->node.list;
	list_remove(&r->node);
	defer_cancel(&r->wake);
}

void
bus_expect(struct bus *b, bool coming)
{
	CHECK(coming || b->expected > 0);
	b->expected = coming ? b->expected + 1 : b->expected - 1;
}

/* False: out of memory. */
static bool
event_show(struct bus *b, const struct event *ev)
{
	buf_reset(&b->shown);
	record_show(&b->shown, LOG_EVENTS, ev->json);
	b->told = *ev;
	b->told.json = buf_str(&b->shown);
	return !buf_failed(&b->shown);
}

const struct event *
bus_next(struct bus *b, struct bus_reader *r, uint64_t *ret_missed)
{
	*ret_missed = 0;
	if (r->next > b->last)
		return NULL;
	if (r->next < b->oldest) {
		*ret_missed = b->oldest - r->next;
		r->next = b->oldest;
	}
	while (!event_show(b, &ring_slot(b, r->next++)->event)) {
		++*ret_missed;
		if (r->next > b->last)
			return NULL;
	}
	return &b->told;
}

uint64_t
bus_emitted(const struct bus *b)
{
	return b->last;
}

uint64_t
bus_seq_after(const struct bus *b, struct str id)
{
	uint64_t from = b->oldest, to = b->last + 1;

	if (str_cmp(id, str_of(b->lost)) < 0)
		return 0;
	/* Ids grow with seq: the first that is greater, or the one that will come next. */
	while (from < to) {
		uint64_t middle = from + (to - from) / 2;
		if (str_cmp(str_of(ring_slot(b, middle)->event.id), id) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}
