/* changes.c - what the jobs of a call do to files. */

#include "call/changes.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/crash_at.h"
#include "base/log.h"
#include "call/stage.h"
#include "undo/undo.h"

/* One change: about to be made, or made and waiting to be told. */
struct change {
	struct node node;
	const struct file_change *now; /* between about and made: which one it is */
	enum change_kind kind;
	char *path, *old; /* own; old may be NULL */
	uint64_t size;
	struct undo_note note;
};

struct changes {
	struct witness witness;
	atomic_uint refs;
	struct undo *undo;         /* borrowed, longer than any job; or NULL */
	struct undo_author author; /* texts in `texts` */
	struct buf texts;
	char shown[DIGEST_TEXT]; /* the file as a person was shown it; "": they were not */
	struct buf place;        /* where that was, as output_modified writes it */
	atomic_bool outdated;

	pthread_mutex_t lock; /* for all below */
	struct list pending;
	struct list made;
	size_t count;
	uint64_t untold; /* more than are told one by one */
};

static void
change_free(struct change *one)
{
	free(one->path);
	free(one->old);
	free(one);
}

static void
changes_unref(struct changes *cs)
{
	if (!cs || atomic_fetch_sub(&cs->refs, 1) != 1)
		return;
	LIST_EACH (&cs->pending, at)
		change_free(CONTAINER_OF(at, struct change, node));
	LIST_EACH (&cs->made, at)
		change_free(CONTAINER_OF(at, struct change, node));
	pthread_mutex_destroy(&cs->lock);
	buf_done(&cs->texts);
	buf_done(&cs->place);
	free(cs);
}

/* ---- on a worker ---- */

static struct changes *
of(struct witness *w)
{
	return CONTAINER_OF(w, struct changes, witness);
}

static struct change *
change_new(const struct file_change *ch)
{
	struct change *one = calloc(1, sizeof(*one));

	if (!one)
		return NULL;
	one->kind = ch->kind;
	one->now = ch;
	one->size = ch->after.len;
	one->path = str_dup(ch->path);
	one->old = ch->old.ptr ? str_dup(ch->old) : NULL;
	if (one->path && (one->old || !ch->old.ptr))
		return one;
	change_free(one);
	return NULL;
}

/* The path may lead elsewhere by now, to a file that looks the same or is not there either. */
static bool
is_where_shown(const struct changes *cs, const struct file_change *ch)
{
	struct buf place = BUF_INIT(cs->place.max);
	struct jw w = jw(&place);

	jw_str(&w, ch->path);
	bool same = !buf_failed(&place) && str_eq(buf_str(&place), buf_str(&cs->place));
	buf_done(&place);
	return same;
}

static bool
is_as_shown(const struct changes *cs, const struct file_change *ch)
{
	char now[DIGEST_TEXT];

	if (ch->before < 0 && ch->kind != CHANGE_CREATED)
		return false; /* it is there and cannot be read */
	image_of(ch->before, now);
	return strcmp(now, cs->shown) == 0 && is_where_shown(cs, ch);
}

/* Is the file still what the question showed? */
static int
check_shown(struct changes *cs, const struct file_change *ch, struct err *e)
{
	if (!cs->shown[0] || is_as_shown(cs, ch))
		return 0;
	atomic_store(&cs->outdated, true);
	return err_set(e, E_CHANGED, "%.*s has changed since it was shown; ask again",
		       STR_ARG(str_utf8_upto(ch->path, 400)));
}

static int
about(struct witness *w, const struct file_change *ch, struct err *e)
{
	struct changes *cs = of(w);
	int code = check_shown(cs, ch, e);

	if (code < 0)
		return code;
	struct change *one = change_new(ch);
	if (!one)
		return err_plain(e, E_NOMEM);
	if (cs->undo)
		undo_about(cs->undo, &cs->author, ch, &one->note);
	if (one->note.unseen) {
		change_free(one);
		return err_set(e, E_STORE, "what is about to be changed could not be noted");
	}
	crash_at(CRASH_FILE_NOTED);
	pthread_mutex_lock(&cs->lock);
	list_push(&cs->pending, &one->node);
	pthread_mutex_unlock(&cs->lock);
	return 0;
}

static struct change *
pending_take(struct changes *cs, const struct file_change *ch)
{
	struct change *found = NULL;

	pthread_mutex_lock(&cs->lock);
	LIST_EACH (&cs->pending, at) {
		struct change *one = CONTAINER_OF(at, struct change, node);
		if (one->now == ch)
			found = one;
	}
	if (found)
		list_remove(&found->node);
	pthread_mutex_unlock(&cs->lock);
	return found;
}

/* Somebody said so before it was found out: it is one change and not two. */
static bool
is_known(struct changes *cs, const struct file_change *ch)
{
	bool known = false;

	pthread_mutex_lock(&cs->lock);
	LIST_EACH (&cs->made, at)
		known = known || str_is(ch->path, CONTAINER_OF(at, struct change, node)->path);
	pthread_mutex_unlock(&cs->lock);
	return known;
}

static bool
is_full(struct changes *cs)
{
	pthread_mutex_lock(&cs->lock);
	bool full = cs->count >= LIMIT_CHANGES_CALL;
	pthread_mutex_unlock(&cs->lock);
	return full;
}

/* Of a change that was found out afterwards. */
static struct change *
found_out(struct changes *cs, const struct file_change *ch)
{
	struct change *one = is_known(cs, ch) ? NULL : change_new(ch);

	if (one && cs->undo)
		undo_found(cs->undo, &cs->author, ch, &one->note);
	return one;
}

static void
made(struct witness *w, const struct file_change *ch)
{
	struct changes *cs = of(w);
	struct change *one = pending_take(cs, ch);

	crash_at(CRASH_FILE_RENAMED);
	if (one && cs->undo)
		undo_made(cs->undo, &one->note);
	else if (!one && !is_full(cs))
		one = found_out(cs, ch);
	pthread_mutex_lock(&cs->lock);
	if (one && cs->count < LIMIT_CHANGES_CALL) {
		one->now = NULL;
		list_push(&cs->made, &one->node);
		cs->count++;
		one = NULL;
	} else if (one || cs->count >= LIMIT_CHANGES_CALL) {
		cs->untold++;
	}
	pthread_mutex_unlock(&cs->lock);
	if (one)
		change_free(one);
}

static void
missed(struct witness *w, const struct file_change *ch)
{
	struct changes *cs = of(w);
	struct change *one = pending_take(cs, ch);

	if (!one)
		return;
	if (cs->undo)
		undo_not_made(cs->undo, &one->note);
	change_free(one);
}

static void
drop(struct witness *w)
{
	changes_unref(of(w));
}

/* ---- on the loop ---- */

/* Texts of the call that outlive it. */
static bool
author_fill(struct changes *cs, const struct call *c)
{
	const struct str texts[] = {id_str(&c->id), id_str(&c->turn->id), id_str(&c->session->id),
				    c->tool_name, str_of(workspace_path(c->session->workspace))};
	struct str *const to[] = {&cs->author.call, &cs->author.turn, &cs->author.session,
				  &cs->author.tool, &cs->author.workspace};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		buf_add(&cs->texts, texts[i]);
	for (size_t i = 0, at = 0; i < ARRAY_LEN(texts) && !buf_failed(&cs->texts); i++) {
		*to[i] = (struct str){cs->texts.ptr + at, texts[i].len};
		at += texts[i].len;
	}
	return !buf_failed(&cs->texts);
}

/* What the question showed; the preview is there until the call leaves confirm. */
static bool
shown_fill(struct changes *cs, const struct call *c)
{
	memcpy(cs->shown, c->shown_image, sizeof(cs->shown));
	buf_init(&cs->place, LIMIT_RESULT_BYTES);
	if (cs->shown[0])
		buf_add(&cs->place, buf_str(&c->preview->out.modified));
	return !buf_failed(&cs->place);
}

static struct changes *
changes_new(const struct call *c)
{
	struct changes *cs = calloc(1, sizeof(*cs));

	if (!cs)
		return NULL;
	cs->witness = (struct witness){about, made, missed, drop};
	atomic_init(&cs->refs, 1);
	atomic_init(&cs->outdated, false);
	cs->undo = c->gw->undo;
	pthread_mutex_init(&cs->lock, NULL);
	list_init(&cs->pending);
	list_init(&cs->made);
	buf_init(&cs->texts, 2 * LIMIT_PATH);
	if (shown_fill(cs, c) && author_fill(cs, c))
		return cs;
	changes_unref(cs);
	return NULL;
}

struct witness *
changes_begin(struct call *c)
{
	if (c->tool->capability <= CAP_READ || !c->session->workspace)
		return NULL;
	changes_tell(c);
	changes_drop(c);
	c->changes = changes_new(c);
	if (!c->changes) {
		log_line(LOG_ERROR, "what a call changes will not be known", "call", c->id.text,
			 NULL);
		return NULL;
	}
	atomic_fetch_add(&c->changes->refs, 1);
	return &c->changes->witness;
}

bool
changes_outdated(const struct call *c)
{
	return c->changes && atomic_load(&c->changes->outdated);
}

static void
tell_one(struct call *c, const struct change *one)
{
	struct jw *w = call_event(c, EVENT_FILE_CHANGED, c->called_event);

	jw_member_z(w, "type", change_kind_name(one->kind));
	jw_member(w, "path", str_of(one->path));
	if (one->old)
		jw_member(w, "old_path", str_of(one->old));
	jw_member_z(w, "workspace", workspace_path(c->session->workspace));
	jw_member_int(w, "size", (int64_t)one->size);
	jw_member_z(w, "change_id", one->note.id.text[0] ? one->note.id.text : NULL);
	jw_member_bool(w, "undoable", one->note.undoable);
	if (!one->note.undoable && one->note.why.code < 0)
		jw_member_z(w, "reason", err_text(&one->note.why));
	bus_end(c->gw->bus, NULL);
	if (one->note.why.code == E_STORE)
		log_line(LOG_ERROR, "a change cannot be undone", "call", c->id.text, "path",
			 one->path, "error", err_text(&one->note.why), "inside",
			 one->note.why.inside, NULL);
}

void
changes_tell(struct call *c)
{
	struct changes *cs = c->changes;
	struct list told;

	if (!cs)
		return;
	list_init(&told);
	pthread_mutex_lock(&cs->lock);
	LIST_EACH (&cs->made, at) {
		list_remove(at);
		list_push(&told, at);
	}
	uint64_t untold = cs->untold;
	cs->untold = 0;
	pthread_mutex_unlock(&cs->lock);
	LIST_EACH (&told, at) {
		struct change *one = CONTAINER_OF(at, struct change, node);
		tell_one(c, one);
		list_remove(at);
		change_free(one);
	}
	if (untold)
		log_line(LOG_WARN, "a call changed more files than are told of", "call", c->id.text,
			 NULL);
}

void
changes_drop(struct call *c)
{
	changes_unref(c->changes);
	c->changes = NULL;
}
