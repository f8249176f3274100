/*
 * segment.h - records that are written together; for src/store and its tests only.
 *
 * All ids of a segment begin alike (segment__prefix), so whoever looks for an id needs only the
 * segments that begin like it. What else records are looked up by is noted as short hashes: a
 * segment without the hash does not have it, one with it may.
 */

#ifndef STORE_SEGMENT_H
#define STORE_SEGMENT_H

#include "store/record.h"

enum lane { LANE_EVENTS, LANE_AUDIT, LANE_CALLS, LANE__COUNT };

struct lane_row {
	enum log log;
	const char *name; /* of the log, in the file */
	bool kept;        /* for ever */
};
extern const struct lane_row segment__lanes[LANE__COUNT];

#define SEGMENT_ID 40 /* longest id, with a NUL */
#define SEGMENT_SEEN 64

/* What is known of a record besides its text. */
struct record {
	struct str id, session, use;
	struct str json;
};

struct segment {
	struct segment *next;
	enum lane lane;
	struct buf lines; /* RS JSON LF, again and again */
	struct buf sessions, uses;
	char first[SEGMENT_ID], last[SEGMENT_ID];
	int64_t seq;                 /* in the file; 0: not yet */
	uint32_t seen[SEGMENT_SEEN]; /* sessions noted already, most of them */
};

struct segment *segment__new(enum lane lane);
void segment__free(struct segment *s);                  /* takes NULL */
void segment__reset(struct segment *s, enum lane lane); /* empty, memory kept */

/* Is there room, and does the id begin like the others? Always when it is empty. */
bool segment__takes(const struct segment *s, struct str id);
int segment__add(struct segment *s, const struct record *r);      /* E_NOMEM */
int segment__join(struct segment *s, const struct segment *with); /* E_NOMEM */

struct str segment__prefix(enum log log, struct str id);
uint32_t segment__key(struct str text);
uint32_t segment__key_at(const char *keys); /* 4 bytes of them */
bool segment__has(struct str keys, uint32_t key);

/* The next record of *lines; false at the end. */
bool segment__next(struct str *lines, struct str *ret_json);

/* What a record begins with. */
enum head { HEAD_ID, HEAD_SESSION, HEAD_TURN, HEAD_TYPE, HEAD_USE, HEAD__COUNT };
/* False when it does not look like one. Texts are inside the record, or in *decoded. */
bool segment__head(enum log log, struct str json, struct buf *decoded, struct str ret[HEAD__COUNT]);

#endif
