/*
 * bus.h - what happens, in one order, for whoever wants to know.
 *
 * An event is rendered once to JSON (envelope of data/vectors/metis_catalog.json), given
 * to the store, and kept in a ring in memory. Readers have a cursor and pull at their own
 * speed, so a slow one costs nothing and blocks nobody; one that falls behind the ring is
 * told how many events it missed and can fetch the stored ones by id. While nobody reads, the
 * ring is short: whoever comes then finds the rest in the store. One who wants some types alone is
 * quick, and no reason for a long ring.
 *
 * Loop thread only.
 */

#ifndef EVENT_BUS_H
#define EVENT_BUS_H

#include "base/ulid.h"
#include "json/write.h"
#include "loop/loop.h"
#include "store/store.h"

enum event_type {
#define EVENT(name, type, actor, sensitivity, keep, sentence) EVENT_##name,
#include "../../tbl/events.def"
#undef EVENT
	EVENT__COUNT
};

struct event_row {
	const char *type;
	const char *actor;
	const char *sensitivity;
	const char *keep;
	const char *sentence;
};
const struct event_row *event_row(enum event_type type);

struct event {
	uint64_t seq; /* position in the bus, from 1; not stored */
	char id[ULID_LEN + 1];
	enum event_type type;
	struct str session; /* inside json's allocation */
	struct str json;    /* the whole envelope */
};

struct bus;

/* store may be NULL (nothing is kept). Continues above the last stored id. */
int bus_new(struct loop *l, struct store *store, struct bus **ret, struct err *e);
void bus_free(struct bus *b);

/*
 * Emitting: begin, write members into *payload (an object is open), end. Strings may be
 * {NULL,0} and must stay until the end. An event that does not fit its limit is cut to an
 * envelope with {"truncated":true} and logged, as is one the store does not take; neither is
 * an event of its own. The id goes to ret_id (may be NULL), for children's parent.
 */
struct event_draft {
	enum event_type type;
	struct str session;
	struct str turn;
	struct str parent; /* id of the event this one follows from */
	const char *actor; /* NULL: the table's */
};
struct jw *bus_begin(struct bus *b, const struct event_draft *d);
void bus_end(struct bus *b, char ret_id[ULID_LEN + 1]);

/* How many there have been. */
uint64_t bus_emitted(const struct bus *b);

/* Readers. */
struct bus_reader {
	uint64_t next;           /* seq wanted next; 0 = from now on */
	void (*news)(void *arg); /* soon after something was emitted; not for each one */
	void *arg;
	uint64_t types;       /* a bit for each that is wanted, and woken for; 0 = all */
	struct node node;     /* private */
	struct deferred wake; /* private */
};
void bus_attach(struct bus *b, struct bus_reader *r); /* zeroed but for the first four */
void bus_detach(struct bus *b, struct bus_reader *r); /* no-op when it is not attached */

/* Somebody will attach as soon as the store has been read: the ring is kept as if it had; or no
 * longer. Once for each that comes. */
void bus_expect(struct bus *b, bool coming);

/* The next event, valid until the next is asked for or one is emitted; NULL when there is none yet.
 * *ret_missed: how many the ring has lost since the one before. */
const struct event *bus_next(struct bus *b, struct bus_reader *r, uint64_t *ret_missed);

/*
 * For replay: where a reader must begin to get everything after that id, also what is not
 * emitted yet; 0 when the ring no longer has all of it. So: read pages from the store until
 * this is not 0 for the last id seen, then attach with it.
 */
uint64_t bus_seq_after(const struct bus *b, struct str id);

#endif
