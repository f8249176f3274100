/* inbox.c - messages of the user, from their arrival to the turn that has them. */

#include "session/inbox.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "session/turn.h"

#define UUID_LEN 36

void
inbox_init(struct inbox *b)
{
	list_init(&b->waiting);
}

void
messages_free(struct list *l)
{
	LIST_EACH (l, at) {
		list_remove(at);
		free(CONTAINER_OF(at, struct message, node));
	}
}

void
inbox_done(struct inbox *b)
{
	messages_free(&b->waiting);
}

size_t
messages_bytes(const struct list *l)
{
	size_t bytes = 0;

	LIST_EACH (l, at)
		bytes += sizeof(struct message) + CONTAINER_OF(at, struct message, node)->len;
	return bytes;
}

/* A random UUID (version 4). */
static void
group_new(char out[static UUID_LEN + 1])
{
	uint8_t b[16];

	random_bytes(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	snprintf(out, UUID_LEN + 1,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		 b[15]);
}

/* ---- showing ---- */

void
message_write(struct jw *w, const struct message *m, size_t max_bytes)
{
	struct str text = {m->text, m->len}, shown = str_utf8_upto(text, max_bytes);
	char when[CLOCK_TEXT];

	clock_text(m->at_us, when);
	jw_object(w);
	jw_member_z(w, "message_id", m->id);
	jw_member_z(w, "at", when);
	jw_member(w, "content", shown);
	if (shown.len < text.len)
		jw_member_bool(w, "truncated", true);
	jw_end(w);
}

void
messages_write(struct jw *w, const struct list *l)
{
	jw_array(w);
	LIST_EACH (l, at)
		message_write(w, CONTAINER_OF(at, struct message, node), LIMIT_MESSAGE_BYTES);
	jw_end(w);
}

/* ---- arriving ---- */

static struct message *
find(const struct inbox *b, struct str id)
{
	LIST_EACH (&b->waiting, at) {
		struct message *m = CONTAINER_OF(at, struct message, node);
		if (str_is(id, m->id))
			return m;
	}
	return NULL;
}

static int
may_say(const struct session *s, struct str id, struct str text, struct err *e)
{
	if (s->ended)
		return err_plain(e, E_SESSION_ENDED);
	if (text.len == 0)
		return err_set(e, E_BAD_REQUEST, "content: must be a text that is not empty");
	if (text.len > LIMIT_MESSAGE_BYTES)
		return err_set(e, E_TOO_LARGE, "content: at most %zu bytes",
			       (size_t)LIMIT_MESSAGE_BYTES);
	if (id.len > LIMIT_MESSAGE_ID)
		return err_set(e, E_BAD_REQUEST, "id: at most %d bytes", LIMIT_MESSAGE_ID);
	if (s->inbox.waiting.len >= LIMIT_MESSAGES)
		return err_set(e, E_LIMIT, "%d messages wait for a turn already", LIMIT_MESSAGES);
	return 0;
}

static void
announce(const struct session *s, const struct message *m)
{
	struct bus *bus = s->sessions->bus;
	struct turn *open = session_open_turn(s);
	struct jw *w = bus_begin(bus, &(struct event_draft){
					  .type = EVENT_INBOUND_MESSAGE,
					  .session = id_str(&s->id),
					  .turn = open ? id_str(&open->id) : (struct str){NULL, 0},
					  .parent = str_of(s->event),
				      });

	jw_member_z(w, "message_id", m->id);
	jw_member(w, "content", str_utf8_upto((struct str){m->text, m->len}, LIMIT_EVENT_TEXT));
	jw_member_bool(w, "pending", open != NULL);
	bus_end(bus, NULL);
}

int
session_say(struct session *s, struct str id, struct str text, struct message **ret, bool *ret_twin,
	    struct err *e)
{
	struct message *m = id.len ? find(&s->inbox, id) : NULL;
	int code;

	if ((*ret_twin = m != NULL)) {
		*ret = m;
		return 0;
	}
	if ((code = may_say(s, id, text, e)) < 0)
		return code;
	if (!(m = calloc(1, sizeof(*m) + text.len + 1)))
		return err_plain(e, E_NOMEM);
	struct id own = id_new("msg_");
	id = id.len ? id : id_str(&own);
	memcpy(m->id, id.ptr, id.len);
	memcpy(m->text, text.ptr, text.len);
	m->len = text.len;
	m->number = ++s->inbox.came;
	m->at_us = clock_wall_us();
	s->used_ms = clock_mono_ms();
	list_push(&s->inbox.waiting, &m->node);
	announce(s, m);
	*ret = m;
	return 0;
}

/* ---- and going ---- */

const struct message *
inbox_after(const struct turn *t, const struct message *m)
{
	struct node *n = m ? list_next(&m->node) : list_first(&t->session->inbox.waiting);

	while (n && CONTAINER_OF(n, struct message, node)->number <= t->heard)
		n = list_next(n);
	return n ? CONTAINER_OF(n, struct message, node) : NULL;
}

const struct message *
inbox_unheard(const struct turn *t)
{
	return inbox_after(t, NULL);
}

/* Up to this number every open turn has heard of all. */
static uint64_t
settled_upto(const struct session *s)
{
	uint64_t upto = s->inbox.came;

	LIST_EACH (&s->turns, at) {
		const struct turn *t = CONTAINER_OF(at, struct turn, node);
		if (t->state == TURN_OPEN && !t->forced && t->heard < upto)
			upto = t->heard;
	}
	return upto;
}

static void
take_place(struct turn *t, const struct message *m)
{
	struct turn *from = turn_find(t->session, id_str(&m->from));

	if (t->superseded_from.text[0] || !m->from.text[0])
		return;
	t->superseded_from = m->from;
	if (from)
		from->superseded_by = t->id;
	if (!t->group[0])
		memcpy(t->group, m->group, sizeof(t->group));
}

void
inbox_begin(struct turn *t)
{
	struct inbox *b = &t->session->inbox;

	t->heard = b->came;
	if (b->waiting.len > 0) {
		uint64_t upto = settled_upto(t->session);
		LIST_EACH (&b->waiting, at) {
			struct message *m = CONTAINER_OF(at, struct message, node);
			if (m->number > upto)
				continue;
			take_place(t, m);
			list_remove(at);
			list_push(&t->begun_by, at);
		}
	}
	if (!t->group[0] && (b->groups || t->begun_by.len > 0))
		group_new(t->group);
}

void
inbox_absorb(struct turn *t)
{
	for (const struct message *m; (m = inbox_unheard(t));) {
		struct node *n = (struct node *)&m->node;
		list_remove(n);
		list_push(&t->absorbed, n);
	}
	t->heard = t->session->inbox.came;
}

void
inbox_hand_on(struct turn *t)
{
	for (const struct message *m = inbox_unheard(t); m; m = inbox_after(t, m)) {
		struct message *own = (struct message *)m;
		memcpy(own->group, t->group, sizeof(own->group));
		own->from = t->id;
	}
	t->heard = t->session->inbox.came;
}
