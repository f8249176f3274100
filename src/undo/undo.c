/* undo.c - keeping what is there, and noting what becomes of it. */

#include "undo/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

/* Whoever made a change that could not be noted is over by then, or was found dead. */
#define MISSED_KEPT_US (24 * 3600 * INT64_C(1000000))

/* ---- life ---- */

int
undo_open(const struct undo_spec *spec, struct undo **ret, struct err *e)
{
	struct undo *u = calloc(1, sizeof(*u));

	if (!u)
		return err_plain(e, E_NOMEM);
	pthread_mutex_init(&u->lock, NULL);
	int code = undo__db_open(spec->path, &u->db, e);
	if (code == 0)
		code = undo__prepare(u, e);
	if (code < 0) {
		undo_free(u);
		return code;
	}
	undo_tune(u, spec);
	*ret = u;
	return 0;
}

void
undo_free(struct undo *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < OP__COUNT; i++)
		sqlite3_finalize(u->ops[i]);
	sqlite3_close(u->db);
	pthread_mutex_destroy(&u->lock);
	free(u);
}

void
undo_tune(struct undo *u, const struct undo_spec *spec)
{
	pthread_mutex_lock(&u->lock);
	u->max_bytes = spec->max_bytes;
	u->keep_us = spec->keep_us;
	pthread_mutex_unlock(&u->lock);
}

/* ---- in one step ---- */

static int
begin(struct undo *u)
{
	return undo__run(u, OP_BEGIN, "");
}

static int
finish(struct undo *u, int rc)
{
	if (rc == SQLITE_OK)
		rc = undo__run(u, OP_COMMIT, "");
	if (rc != SQLITE_OK)
		undo__run(u, OP_ROLLBACK, "");
	return rc;
}

static void
vacuum(struct undo *u)
{
	sqlite3_stmt *st = u->ops[OP_VACUUM];

	sqlite3_reset(st);
	while (sqlite3_step(st) == SQLITE_ROW)
		;
	sqlite3_reset(st);
}

void
undo_release(struct undo *u)
{
	pthread_mutex_lock(&u->lock);
	sqlite3_db_release_memory(u->db);
	pthread_mutex_unlock(&u->lock);
}

int
undo_expire(struct undo *u, int64_t now_us, struct err *e)
{
	char oldest[ULID_LEN + 1], id[ULID_LEN + 8];
	int code = 0;

	pthread_mutex_lock(&u->lock);
	ulid_at(now_us - u->keep_us, oldest);
	snprintf(id, sizeof(id), "chg_%s", oldest);
	int rc = begin(u);
	if (rc == SQLITE_OK)
		rc = undo__run(u, OP_EXPIRE_NOTES, "s", str_of(id));
	if (rc == SQLITE_OK)
		rc = undo__run(u, OP_EXPIRE_IMAGES, "s", str_of(id));
	if (finish(u, rc) == SQLITE_OK)
		vacuum(u);
	else
		code = undo__failed(u, "expire", e);
	undo__missed_forget(u, now_us - MISSED_KEPT_US);
	pthread_mutex_unlock(&u->lock);
	return code;
}

/* Notes are small, but a command that is tracked makes up to a thousand. Whoever shares the file
 * looks after it, too, so each may count for itself. */
static int
trim(struct undo *u)
{
	if (u->since_trim++ % LIMIT_UNDO_TRIM != 0)
		return SQLITE_OK;
	int rc = undo__run(u, OP_TRIM_NOTES, "i", (int64_t)LIMIT_UNDO_NOTES);
	if (rc == SQLITE_OK && sqlite3_changes(u->db) > 0)
		rc = undo__run(u, OP_TRIM_IMAGES, "");
	return rc;
}

/* ---- what is there ---- */

bool
undo__content(int fd, struct buf *out, char digest[static DIGEST_TEXT])
{
	if (fd < 0 || !file_slurp(fd, out))
		return false;
	digest_bytes(buf_str(out), digest);
	return true;
}

/* The oldest make room. The one that is about to come is worth more than any of them. */
static int
make_room(struct undo *u, uint64_t bytes)
{
	sqlite3_stmt *size = u->ops[OP_IMAGES_SIZE], *oldest = u->ops[OP_IMAGE_OLDEST];
	char digest[DIGEST_TEXT];
	int rc = SQLITE_OK;

	sqlite3_step(size);
	double all = sqlite3_column_double(size, 0);
	sqlite3_reset(size);
	while (rc == SQLITE_OK && all + (double)bytes > (double)u->max_bytes &&
	       sqlite3_step(oldest) == SQLITE_ROW) {
		snprintf(digest, sizeof(digest), "%.*s", STR_ARG(undo__text(oldest, 0)));
		all -= sqlite3_column_double(oldest, 1);
		sqlite3_reset(oldest);
		rc = undo__run(u, OP_IMAGE_DROP, "s", str_of(digest));
	}
	sqlite3_reset(oldest);
	return rc;
}

static int
image_keep(struct undo *u, const char *id, const char *digest, struct str bytes)
{
	int rc = undo__run(u, OP_IMAGE_USED, "ss", str_of(id), str_of(digest));

	if (rc != SQLITE_OK || sqlite3_changes(u->db) > 0)
		return rc;
	rc = make_room(u, bytes.len);
	return rc != SQLITE_OK ? rc
			       : undo__run(u, OP_IMAGE_PUT, "ssib", str_of(digest), str_of(id),
					   (int64_t)bytes.len, bytes);
}

/* ---- notes ---- */

/* What is to be written of one change. */
struct draft {
	char before[DIGEST_TEXT]; /* "": it is not kept */
	char after[DIGEST_TEXT];  /* "": it is not known */
	struct buf bytes;
	bool made;
	const struct undo_row *undoes;
};

static void
refuse(struct undo_note *n, int code, const char *sentence)
{
	n->undoable = false;
	err_set(&n->why, code, "%s", sentence);
}

static uint64_t
max_bytes(struct undo *u)
{
	pthread_mutex_lock(&u->lock);
	uint64_t max = u->max_bytes;
	pthread_mutex_unlock(&u->lock);
	return max;
}

static void
look(struct undo *u, const struct file_change *ch, struct draft *d, struct undo_note *n)
{
	if (ch->after.ptr)
		digest_bytes(ch->after, d->after);
	else if (ch->kind == CHANGE_DELETED)
		strcpy(d->after, UNDO_ABSENT);
	if (ch->kind == CHANGE_CREATED) {
		strcpy(d->before, UNDO_ABSENT);
		return;
	}
	if (!undo__content(ch->before, &d->bytes, d->before)) {
		d->before[0] = '\0';
		refuse(n, E_TOO_LARGE,
		       ch->before < 0 || !buf_failed(&d->bytes)
			   ? "what was there cannot be read"
			   : "what was there is too large to be kept");
	} else if (d->bytes.len > max_bytes(u)) {
		d->before[0] = '\0';
		refuse(n, E_TOO_LARGE, "what was there is larger than undo.keep_mib");
	}
}

static struct str
known(const char *text)
{
	return text[0] ? str_of(text) : (struct str){NULL, 0};
}

static int
row_put(struct undo *u, const struct undo_author *by, const struct file_change *ch,
	const struct draft *d, const struct undo_note *n)
{
	struct str undoes = d->undoes ? d->undoes->id : (struct str){NULL, 0};
	int64_t depth = d->undoes ? d->undoes->depth + 1 : 0;

	return undo__run(u, OP_NOTE, "ssssssssssssiiiii", id_str(&n->id), by->call, by->turn,
			 by->session, by->workspace, by->tool, ch->path, ch->old,
			 str_of(change_kind_name(ch->kind)), known(d->before), known(d->after),
			 undoes, (int64_t)ch->mode, (int64_t)ch->after.len, clock_wall_us(),
			 (int64_t)d->made, depth);
}

/* For what a power cut may take: the file itself tells it again, or nobody needs it to undo. */
static void
relax(struct undo *u, bool relaxed)
{
	(void)sqlite3_exec(u->db,
			   relaxed ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL",
			   NULL, NULL, NULL);
}

/* Both, or at least the note. */
static void
put(struct undo *u, const struct undo_author *by, const struct file_change *ch, struct draft *d,
    struct undo_note *n)
{
	bool image = d->before[0] && ch->kind != CHANGE_CREATED;

	pthread_mutex_lock(&u->lock);
	relax(u, d->made);
	int rc = begin(u);
	if (rc == SQLITE_OK && image)
		rc = image_keep(u, n->id.text, d->before, buf_str(&d->bytes));
	if (rc == SQLITE_OK)
		rc = row_put(u, by, ch, d, n);
	if (rc == SQLITE_OK)
		rc = trim(u);
	if (finish(u, rc) != SQLITE_OK) {
		undo__failed(u, "change", &n->why);
		n->undoable = false;
		n->id.text[0] = '\0';
		n->unseen = !d->made && !undo__missed_mark(u);
	}
	relax(u, false);
	pthread_mutex_unlock(&u->lock);
}

void
undo__note(struct undo *u, const struct undo_author *by, const struct file_change *ch,
	   const struct undo_row *undoes, struct undo_note *ret)
{
	struct draft d = {.bytes = BUF_INIT(LIMIT_UNDO_FILE), .undoes = undoes};

	*ret = (struct undo_note){.id = id_new("chg_"), .undoable = true};
	look(u, ch, &d, ret);
	put(u, by, ch, &d, ret);
	buf_done(&d.bytes);
}

void
undo_about(struct undo *u, const struct undo_author *by, const struct file_change *ch,
	   struct undo_note *ret)
{
	undo__note(u, by, ch, NULL, ret);
}

void
undo_found(struct undo *u, const struct undo_author *by, const struct file_change *ch,
	   struct undo_note *ret)
{
	struct draft d = {.made = true};

	*ret = (struct undo_note){.id = id_new("chg_")};
	refuse(ret, E_UNAVAILABLE, "it was seen afterwards: what was there before is not known");
	put(u, by, ch, &d, ret);
}

static void
settle(struct undo *u, enum undo_op op, const struct undo_note *n)
{
	if (!n->id.text[0])
		return;
	pthread_mutex_lock(&u->lock);
	relax(u, true);
	(void)undo__run(u, op, "s", id_str(&n->id));
	relax(u, false);
	pthread_mutex_unlock(&u->lock);
}

void
undo_made(struct undo *u, const struct undo_note *n)
{
	settle(u, OP_MADE, n);
}

void
undo_not_made(struct undo *u, const struct undo_note *n)
{
	settle(u, OP_NOT_MADE, n);
}

void
undo__done(struct undo *u, const struct undo_note *n, const struct undo_row *of, struct str by)
{
	pthread_mutex_lock(&u->lock);
	int rc = begin(u);
	if (rc == SQLITE_OK)
		rc = undo__run(u, OP_MADE, "s", id_str(&n->id));
	if (rc == SQLITE_OK)
		rc = undo__run(u, OP_UNDONE, "ss", by, of->id);
	(void)finish(u, rc);
	pthread_mutex_unlock(&u->lock);
}
