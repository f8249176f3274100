/* session.c - opening and ending sessions, and sharing out slots. */

#include "session/session.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "session/turn.h"

static const char *const kind_names[] = {[SESSION_MAIN] = "main", [SESSION_WORKER] = "worker"};

const char *
session_kind_name(enum session_kind k)
{
	return kind_names[k];
}

bool
session_kind_parse(struct str name, enum session_kind *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(kind_names); i++)
		if (str_is(name, kind_names[i])) {
			*ret = (enum session_kind)i;
			return true;
		}
	return false;
}

struct sessions *
sessions_new(struct bus *bus, struct store *store)
{
	struct sessions *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	map_init(&s->by_id, LIMIT_SESSIONS);
	s->bus = bus;
	s->store = store;
	list_init(&s->ended);
	return s;
}

void
sessions_free(struct sessions *s)
{
	if (!s)
		return;
	for (size_t at = 0; s->by_id.len > 0; at = 0)
		session_end(map_each(&s->by_id, &at));
	map_done(&s->by_id);
	free(s);
}

/* A single person never sees whose it is: there is nobody else. {NULL,0} */
static struct str
owner_shown(const struct session *s, const char *name)
{
	bool single =
	    str_eq(str_of(s->tenant), TENANT_DEFAULT) && str_eq(str_of(s->agent), TENANT_DEFAULT);

	return single ? (struct str){NULL, 0} : str_of(name);
}

static void
owner_write(struct jw *w, const struct session *s)
{
	if (!owner_shown(s, s->tenant).ptr)
		return;
	jw_member_z(w, "tenant", s->tenant);
	jw_member_z(w, "agent", s->agent);
}

static void
session_keep(const struct session *s, int64_t ended_us)
{
	if (!s->sessions->store)
		return;
	store_put_session(s->sessions->store, &(struct store_session){
						  .id = id_str(&s->id),
						  .workspace = str_of(workspace_path(s->workspace)),
						  .kind = session_kind_name(s->kind),
						  .client = str_of(s->client),
						  .tenant = owner_shown(s, s->tenant),
						  .agent = owner_shown(s, s->agent),
						  .created_us = s->created_us,
						  .ended_us = ended_us,
					      });
}

static void
announce_created(struct session *s)
{
	struct bus *bus = s->sessions->bus;
	struct jw *w = bus_begin(bus, &(struct event_draft){.type = EVENT_SESSION_CREATED,
							    .session = id_str(&s->id)});

	jw_member_z(w, "workspace_path", workspace_path(s->workspace));
	jw_member_z(w, "kind", session_kind_name(s->kind));
	jw_member_z(w, "client", s->client);
	owner_write(w, s);
	bus_end(bus, s->event);
}

/* As much as there is room for, without what is no UTF-8 and what would move a terminal's cursor.
 */
static void
client_fill(char *out, size_t max, struct str name)
{
	size_t len = 0;

	for (size_t n; name.len > 0; name = str_from(name, n ? n : 1)) {
		uint32_t c;
		n = str_utf8_char(name, &c);
		if (n == 0 || c < 0x20 || (c >= 0x7f && c <= 0x9f))
			continue;
		if (len + n >= max)
			break;
		memcpy(out + len, name.ptr, n);
		len += n;
	}
	out[len] = '\0';
}

int
session_open(struct sessions *set, const struct session_spec *spec, struct session **ret,
	     struct err *e)
{
	struct session *s = calloc(1, sizeof(*s));
	int code;

	if (!s)
		return err_plain(e, E_NOMEM);
	s->workspace = workspace_ref(spec->workspace);
	s->id = id_new("sess_");
	s->sessions = set;
	s->kind = spec->kind;
	s->refs = 1;
	s->slots = LIMIT_SESSION_SLOTS;
	s->created_us = clock_wall_us();
	s->used_ms = clock_mono_ms();
	client_fill(s->client, sizeof(s->client), spec->client);
	s->owner = spec->owner ? agent_ref(spec->owner) : NULL;
	strcpy(s->tenant, s->owner ? s->owner->tenant->name : TENANT_DEFAULT.ptr);
	strcpy(s->agent, s->owner ? s->owner->name : TENANT_DEFAULT.ptr);
	list_init(&s->running);
	list_init(&s->waiting);
	list_init(&s->turns);
	list_init(&s->at_end);
	inbox_init(&s->inbox);
	if ((code = map_put(&set->by_id, id_str(&s->id), s)) < 0) {
		session_unref(s);
		return err_set(e, code, "too many sessions are open");
	}
	session_keep(s, 0);
	announce_created(s);
	*ret = s;
	return 0;
}

void
session_rename(struct session *s, struct str client)
{
	char name[sizeof(s->client)];

	client_fill(name, sizeof(name), client);
	if (s->ended || !name[0] || strcmp(name, s->client) == 0)
		return;
	memcpy(s->client, name, sizeof(name));
	session_keep(s, 0);
}

struct session *
session_find(const struct sessions *s, struct str id)
{
	return map_find(&s->by_id, id);
}

struct turn *
session_open_turn(const struct session *s)
{
	LIST_EACH (&s->turns, at) {
		struct turn *t = CONTAINER_OF(at, struct turn, node);
		if (t->state == TURN_OPEN)
			return t;
	}
	return NULL;
}

struct session *
session_idle(const struct sessions *set, uint64_t before_ms)
{
	size_t at = 0;

	for (struct session *s; (s = map_each(&set->by_id, &at));)
		if (!s->attached && s->used_ms < before_ms && !session_open_turn(s))
			return s;
	return NULL;
}

void
session_end(struct session *s)
{
	if (s->ended)
		return;
	s->ended = true;
	map_remove(&s->sessions->by_id, id_str(&s->id));
	int64_t now = clock_wall_us();
	session_keep(s, now);

	struct bus *bus = s->sessions->bus;
	struct jw *w = bus_begin(bus, &(struct event_draft){
					  .type = EVENT_SESSION_ENDED,
					  .session = id_str(&s->id),
					  .parent = str_of(s->event),
				      });
	jw_member_z(w, "disposition", "completed");
	jw_member_int(w, "turn_count", (int64_t)s->turn_count);
	jw_member_int(w, "duration_seconds", (now - s->created_us) / 1000000);
	bus_end(bus, NULL);
	for (struct node *n; (n = list_first(&s->at_end));) {
		struct session_end *at = CONTAINER_OF(n, struct session_end, node);
		list_remove(n);
		at->ended(at);
	}
	session_unref(s);
}

struct session *
session_ref(struct session *s)
{
	s->refs++;
	return s;
}

void
session_unref(struct session *s)
{
	if (!s || --s->refs > 0)
		return;
	CHECK(s->running.len == 0 && s->waiting.len == 0);
	turns_forget(s, 0);
	inbox_done(&s->inbox);
	asked_free(s->asked);
	browse_seen_free(s->seen);
	workspace_unref(s->workspace);
	agent_unref(s->owner);
	free(s);
}

size_t
sessions_count(const struct sessions *s)
{
	return s->by_id.len;
}

struct session *
session_each(const struct sessions *s, size_t *at)
{
	return map_each(&s->by_id, at);
}

/* The group of the turn that is open, or of the one that will take its place. */
static const char *
group_now(const struct session *s)
{
	const struct turn *open = session_open_turn(s);
	const struct node *first = list_first(&s->inbox.waiting);
	const char *group = open    ? open->group
			    : first ? CONTAINER_OF(first, struct message, node)->group
				    : "";

	return group[0] ? group : NULL;
}

static void
inbox_write(struct jw *w, const struct session *s)
{
	jw_member_int(w, "pending_messages", (int64_t)s->inbox.waiting.len);
	jw_member_z(w, "turn_group_id", group_now(s));
	jw_member_z(w, "supersede", supersede_name(s->inbox.how));
}

void
session_write(struct jw *w, const struct session *s)
{
	char when[CLOCK_TEXT];

	clock_text(s->created_us, when);
	jw_object(w);
	jw_member_z(w, "session_id", s->id.text);
	jw_member_z(w, "workspace_path", workspace_path(s->workspace));
	jw_member_z(w, "kind", session_kind_name(s->kind));
	jw_member_z(w, "client", s->client);
	owner_write(w, s);
	jw_member_z(w, "created_at", when);
	jw_member_int(w, "turns", (int64_t)s->turn_count);
	jw_member_int(w, "running", (int64_t)s->running.len);
	jw_member_int(w, "queued", (int64_t)s->waiting.len);
	inbox_write(w, s);
	jw_end(w);
}

static size_t
running_of_tool(const struct session *s, struct str tool)
{
	size_t n = 0;

	LIST_EACH (&s->running, at)
		n += str_eq(CONTAINER_OF(at, struct slot, node)->tool, tool);
	return n;
}

static bool
may_run(const struct session *s, const struct slot *slot)
{
	if (s->running.len >= s->slots)
		return false;
	return slot->max_running == 0 || running_of_tool(s, slot->tool) < slot->max_running;
}

static void
hold(struct session *s, struct slot *slot)
{
	list_remove(&slot->node);
	list_push(&s->running, &slot->node);
	slot->held = true;
}

bool
slot_take(struct session *s, struct slot *slot)
{
	/* Nobody is overtaken: with a slot free, whoever still waits waits for its own tool. */
	if (may_run(s, slot)) {
		hold(s, slot);
		return true;
	}
	list_push(&s->waiting, &slot->node);
	return false;
}

void
slot_give(struct session *s, struct slot *slot)
{
	list_remove(&slot->node);
	slot->held = false;
	LIST_EACH (&s->waiting, at) {
		struct slot *next = CONTAINER_OF(at, struct slot, node);
		if (!may_run(s, next))
			continue;
		hold(s, next);
		next->granted(next->arg);
	}
}
