/* bus.c - events rendered once, kept in a ring, given to the store. */

#include "event/bus.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

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

#define ENVELOPE_BYTES (4 * KIB) /* all but the payload */

struct bus {
	struct loop *loop;
	struct store *store; /* or NULL */
	struct list readers;

	/* Slot of a seq: seq % LIMIT_EVENT_RING. In it are oldest..last, none when oldest > last.
	 */
	struct event *ring;
	uint64_t oldest, last;
	size_t bytes;
	char lost[ULID_LEN + 1]; /* the newest id the ring has not: everything after it is here */
	bool store_refused;      /* said once, until it takes again */

	bool drafting;
	struct event_draft draft;
	struct buf payload;
	struct jw writing;
	struct buf envelope;
};

const struct event_row *
event_row(enum event_type type)
{
	CHECK(type < EVENT__COUNT);
	return &rows[type];
}

int
bus_new(struct loop *l, struct store *store, struct bus **ret, struct err *e)
{
	struct bus *b = calloc(1, sizeof(*b));

	if (b)
		b->ring = calloc(LIMIT_EVENT_RING, sizeof(*b->ring));
	if (!b || !b->ring) {
		free(b);
		return err_plain(e, E_NOMEM);
	}
	b->loop = l;
	b->store = store;
	b->oldest = 1;
	list_init(&b->readers);
	buf_init(&b->payload, LIMIT_EVENT_BYTES - ENVELOPE_BYTES);
	buf_init(&b->envelope, LIMIT_EVENT_BYTES);
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

static struct event *
ring_slot(const struct bus *b, uint64_t seq)
{
	return &b->ring[seq % LIMIT_EVENT_RING];
}

static size_t
event_bytes(const struct event *ev)
{
	return ev->json.len + ev->session.len;
}

static void
ring_drop_oldest(struct bus *b)
{
	struct event *ev = ring_slot(b, b->oldest++);

	b->bytes -= event_bytes(ev);
	memcpy(b->lost, ev->id, sizeof(b->lost));
	free((char *)ev->json.ptr);
	*ev = (struct event){0};
}

void
bus_free(struct bus *b)
{
	if (!b)
		return;
	CHECK(b->readers.len == 0);
	while (b->oldest <= b->last)
		ring_drop_oldest(b);
	buf_done(&b->payload);
	buf_done(&b->envelope);
	free(b->ring);
	free(b);
}

struct jw *
bus_begin(struct bus *b, const struct event_draft *d)
{
	CHECK(!b->drafting);
	b->drafting = true;
	b->draft = *d;
	buf_reset(&b->payload);
	b->writing = jw(&b->payload);
	jw_object(&b->writing);
	return &b->writing;
}

static void
envelope_write(struct bus *b, const struct store_event *row)
{
	struct jw w = jw(&b->envelope);
	char time[CLOCK_TEXT];

	clock_text(row->wall_us, time);
	buf_reset(&b->envelope);
	jw_object(&w);
	jw_member(&w, "id", row->id);
	jw_member_z(&w, "timestamp", time);
	jw_member(&w, "session_id", row->session);
	jw_member(&w, "turn_id", row->turn);
	jw_member(&w, "parent_event_id", row->parent);
	jw_member_z(&w, "type", row->type);
	jw_member_z(&w, "actor", row->actor);
	jw_key(&w, "payload"), jw_raw(&w, row->payload);
	jw_member_z(&w, "sensitivity", row->sensitivity);
	jw_end(&w);
}

/* The newest is always kept: one event is far smaller than the ring's bytes. */
static bool
ring_add(struct bus *b, const struct store_event *row, enum event_type type)
{
	struct str json = buf_str(&b->envelope);
	char *text = buf_failed(&b->envelope) ? NULL : malloc(json.len + row->session.len + 1);
	if (!text)
		return false;
	memcpy(text, json.ptr, json.len);
	if (row->session.len)
		memcpy(text + json.len, row->session.ptr, row->session.len);

	size_t bytes = json.len + row->session.len;
	while (b->oldest <= b->last && (b->last - b->oldest + 1 >= LIMIT_EVENT_RING ||
					b->bytes + bytes > LIMIT_EVENT_RING_BYTES))
		ring_drop_oldest(b);
	struct event *ev = ring_slot(b, ++b->last);
	*ev = (struct event){
	    .seq = b->last,
	    .type = type,
	    .session = {text + json.len, row->session.len},
	    .json = {text, json.len},
	};
	memcpy(ev->id, row->id.ptr, row->id.len);
	b->bytes += bytes;
	return true;
}

static void
store_offer(struct bus *b, const struct store_event *row)
{
	int code = store_put_event(b->store, row);

	if (code < 0 && !b->store_refused)
		log_line(LOG_ERROR, "events are not being stored", "reason",
			 err_row(code)->sentence, NULL);
	b->store_refused = code < 0;
}

void
bus_end(struct bus *b, char ret_id[ULID_LEN + 1])
{
	const struct event_draft *d = &b->draft;
	const struct event_row *t = event_row(d->type);
	char id[ULID_LEN + 1];

	CHECK(b->drafting);
	b->drafting = false;
	jw_end(&b->writing);
	bool whole = !buf_failed(&b->payload);
	ulid_new(id);
	struct store_event row = {
	    .id = str_of(id),
	    .wall_us = clock_wall_us(),
	    .session = d->session,
	    .turn = d->turn,
	    .parent = d->parent,
	    .type = t->type,
	    .actor = d->actor ? d->actor : t->actor,
	    .sensitivity = t->sensitivity,
	    .audit = strcmp(t->keep, KEEP_AUDIT) == 0,
	    .payload = whole ? buf_str(&b->payload) : S("{\"truncated\":true}"),
	};
	if (!whole)
		log_line(LOG_WARN, "event cut: too large", "type", t->type, "id", id, NULL);
	envelope_write(b, &row);
	if (!ring_add(b, &row, d->type))
		log_line(LOG_ERROR, "event not shown: out of memory", "type", t->type, "id", id,
			 NULL);
	if (b->store && strcmp(t->keep, KEEP_PASSING) != 0)
		store_offer(b, &row);
	if (ret_id)
		memcpy(ret_id, id, sizeof(id));
	LIST_EACH (&b->readers, n) {
		struct bus_reader *r = CONTAINER_OF(n, struct bus_reader, node);
		defer(b->loop, &r->wake, r->news, r->arg);
	}
}

void
bus_attach(struct bus *b, struct bus_reader *r)
{
	if (r->next == 0)
		r->next = b->last + 1;
	list_push(&b->readers, &r->node);
	if (r->next <= b->last)
		defer(b->loop, &r->wake, r->news, r->arg);
}

void
bus_detach(struct bus *b, struct bus_reader *r)
{
	CHECK(r->node.list == NULL || r->node.list == &b->readers);
	list_remove(&r->node);
	defer_cancel(&r->wake);
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
	return ring_slot(b, r->next++);
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
		if (str_cmp(str_of(ring_slot(b, middle)->id), id) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}
