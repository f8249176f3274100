/* artifact.c - the set of kept results: digests, secrets, who may see what, and for how long. */

#include <pthread.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "artifact/inside.h"
#include "base/clock.h"
#include "base/sha256.h"

#define CHUNK (64 * KIB) /* bytes that are redacted, digested and written together */
#define HOUR_US INT64_C(3600000000)
#define LEFT_BEHIND_US (24 * HOUR_US) /* a draft that nobody finishes any more */

struct artifacts {
	/* Read by workers while the loop may change it; whoever needs one value twice keeps it. */
	struct tuning {
		atomic_bool keep_secrets;
		atomic_size_t shown;
		_Atomic uint64_t max_bytes;
		_Atomic int64_t keep_us;
	} spec;
	int64_t (*now)(void);
	bool in_memory;
	struct place *place;
	pthread_mutex_t lock;
	bool counted;
	uint64_t bytes; /* of all, about: other processes may store too */
};

struct artifact_writer {
	struct artifacts *in;
	struct draft *draft;
	struct sha256 digest;
	struct buf clean; /* redacted, not yet written */
	char folder[ARTIFACT_FOLDER];
	struct artifact about;
	struct secrets secrets;
	bool keep_secrets; /* as it was when it began */
	uint64_t max_bytes;
};

struct artifact_reader {
	struct artifacts *in;
	struct kept *kept;
	struct artifact about;
};

/* ---- the set ---- */

static uint64_t
or_else(uint64_t n, uint64_t usual)
{
	return n ? n : usual;
}

void
artifacts_tune(struct artifacts *a, const struct artifacts_spec *spec)
{
	a->spec.keep_secrets = spec->keep_secrets;
	a->spec.shown = or_else(spec->shown, LIMIT_RESULT_SHOWN);
	a->spec.keep_us = (int64_t)or_else((uint64_t)spec->keep_us, LIMIT_ARTIFACT_HOURS * HOUR_US);
	a->spec.max_bytes =
	    or_else(spec->max_bytes, a->in_memory ? LIMIT_ARTIFACTS_MEMORY : LIMIT_ARTIFACTS_BYTES);
}

int
artifacts_open(const struct artifacts_spec *spec, struct artifacts **ret, struct err *e)
{
	struct artifacts *a = calloc(1, sizeof(*a));
	int code;

	if (!a)
		return err_plain(e, E_NOMEM);
	a->now = spec->now ? spec->now : clock_wall_us;
	a->in_memory = !spec->dir;
	artifacts_tune(a, spec);
	if ((code = spec->dir ? place_disk(spec->dir, &a->place, e) : place_memory(&a->place, e)) <
	    0) {
		free(a);
		return code;
	}
	pthread_mutex_init(&a->lock, NULL);
	*ret = a;
	return 0;
}

void
artifacts_free(struct artifacts *a)
{
	if (!a)
		return;
	a->place->ops->free(a->place);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

size_t
artifacts_shown(const struct artifacts *a)
{
	return a->spec.shown;
}

bool
artifacts_redact(const struct artifacts *a)
{
	return !a->spec.keep_secrets;
}

/* Names that a directory can safely have are it; "=" begins those that stand for another. */
static void
folder_of(struct str tenant, char out[static ARTIFACT_FOLDER])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
	char digest[DIGEST_TEXT];

	memset(out, 0, ARTIFACT_FOLDER);
	if (tenant.len && tenant.len <= 64 && !memchr(tenant.ptr, 0, tenant.len)) {
		memcpy(out, tenant.ptr, tenant.len);
		if (strspn(out, plain) == tenant.len)
			return;
	}
	digest_bytes(tenant, digest);
	snprintf(out, ARTIFACT_FOLDER, "=%s", digest);
}

/* ---- forgetting ---- */

struct sweep {
	struct entry *entries;
	size_t count, cap;
};

static int
sweep_add(const struct entry *entry, void *arg)
{
	struct sweep *s = arg;

	if (s->count == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;
		struct entry *more = realloc(s->entries, cap * sizeof(*more));
		if (!more)
			return E_NOMEM;
		s->entries = more;
		s->cap = cap;
	}
	s->entries[s->count++] = *entry;
	return 0;
}

static int
by_age(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->created_us > y->created_us) - (x->created_us < y->created_us);
}

/* Under the lock. */
static int
expire(struct artifacts *a, int64_t now_us, struct artifacts_left *ret, struct err *e)
{
	const struct place_ops *ops = a->place->ops;
	struct artifacts_left left = {0};
	struct sweep s = {0};
	size_t i = 0;

	int code = ops->each(a->place, sweep_add, &s, e);
	if (code == E_NOMEM)
		err_plain(e, code);
	if (s.count)
		qsort(s.entries, s.count, sizeof(*s.entries), by_age);
	for (size_t k = 0; k < s.count; k++)
		left.bytes += s.entries[k].bytes;
	for (; code == 0 && i < s.count; i++) {
		bool old = s.entries[i].created_us <= now_us - a->spec.keep_us;
		if (!old && left.bytes <= a->spec.max_bytes)
			break;
		ops->remove(a->place, &s.entries[i]);
		left.bytes -= s.entries[i].bytes;
	}
	left.count = s.count - i;
	free(s.entries);
	ops->tidy(a->place, now_us - LEFT_BEHIND_US);
	if (code < 0)
		return code;
	a->counted = true;
	a->bytes = left.bytes;
	*ret = left;
	return 0;
}

static void
lock(struct artifacts *a)
{
	pthread_mutex_lock(&a->lock);
	a->place->ops->lock(a->place);
}

static void
unlock(struct artifacts *a)
{
	a->place->ops->unlock(a->place);
	pthread_mutex_unlock(&a->lock);
}

int
artifacts_expire(struct artifacts *a, int64_t now_us, struct artifacts_left *ret, struct err *e)
{
	struct artifacts_left left;

	lock(a);
	int code = expire(a, now_us, ret ? ret : &left, e);
	unlock(a);
	return code;
}

/* ---- writing ---- */

/* One line without control characters and secrets, cut between two characters. */
static void
text_take(bool keep_secrets, char out[static LIMIT_ARTIFACT_TEXT], struct str text)
{
	struct buf clean = BUF_INIT(SECRETS_GROWTH * 4 * KIB);

	/* Before it is cut: half a secret is one that nobody recognises. */
	if (!keep_secrets) {
		secrets_redact(str_utf8_upto(text, 4 * KIB), &clean);
		text = buf_failed(&clean) ? S("") : buf_str(&clean);
	}
	text = str_utf8_upto(text, LIMIT_ARTIFACT_TEXT - 1);
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		out[i] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
	}
	out[text.len] = '\0';
	buf_done(&clean);
}

static struct artifact_writer *
writer_new(struct artifacts *a, const struct artifact_note *note)
{
	struct artifact_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->in = a;
	w->keep_secrets = a->spec.keep_secrets;
	w->max_bytes = a->spec.max_bytes;
	w->clean = BUF_INIT(CHUNK + SECRETS_GROWTH * (CHUNK + SECRETS_WINDOW));
	secrets_begin(&w->secrets);
	folder_of(note->tenant, w->folder);
	text_take(w->keep_secrets, w->about.tool, note->tool);
	text_take(w->keep_secrets, w->about.label, note->label);
	text_take(w->keep_secrets, w->about.media_type, note->media_type);
	sha256_begin(&w->digest);
	return w;
}

int
artifact_begin(struct artifacts *a, const struct artifact_note *note, struct artifact_writer **ret,
	       struct err *e)
{
	struct artifact_writer *w = writer_new(a, note);
	int code;

	if (!w)
		return err_plain(e, E_NOMEM);
	if ((code = a->place->ops->begin(a->place, &w->draft, e)) < 0) {
		artifact_drop(&w);
		return code;
	}
	*ret = w;
	return 0;
}

/* The first bytes of one are worth more than nothing, and its size is still told. */
static int
writer_put(struct artifact_writer *w, struct str bytes, struct err *e)
{
	uint64_t max = w->max_bytes < LIMIT_ARTIFACT_BYTES ? w->max_bytes : LIMIT_ARTIFACT_BYTES;
	uint64_t room = max - w->about.bytes;

	if (bytes.len > room) {
		w->about.lost += bytes.len - room;
		bytes.len = (size_t)room;
	}
	if (bytes.len == 0)
		return 0;
	w->about.bytes += bytes.len;
	sha256_add(&w->digest, bytes);
	return w->in->place->ops->append(w->draft, bytes, e);
}

static int
writer_flush(struct artifact_writer *w, struct err *e)
{
	if (buf_failed(&w->clean))
		return err_plain(e, E_NOMEM);
	int code = writer_put(w, buf_str(&w->clean), e);
	buf_reset(&w->clean);
	return code;
}

int
artifact_feed(struct artifact_writer *w, struct str piece, struct err *e)
{
	int code = 0;

	if (w->keep_secrets)
		return writer_put(w, piece, e);
	for (; code == 0 && piece.len; piece = str_from(piece, CHUNK)) {
		secrets_feed(&w->secrets, str_upto(piece, CHUNK), &w->clean);
		if (w->clean.len >= CHUNK)
			code = writer_flush(w, e);
	}
	return code;
}

static void
name_it(struct artifact_writer *w)
{
	unsigned char raw[SHA256_BYTES];
	struct artifact *about = &w->about;

	sha256_end(&w->digest, raw);
	for (size_t i = 0; i < sizeof(raw); i++)
		snprintf(about->sha256 + 2 * i, 3, "%02x", raw[i]);
	snprintf(about->handle, sizeof(about->handle), "art_%.32s", about->sha256);
	about->redacted = secrets_total(&w->secrets);
	about->created_us = w->in->now();
	about->expires_us = about->created_us + w->in->spec.keep_us;
}

/* Room is made after it is there: it is the youngest and stays. */
static int
writer_keep(struct artifact_writer *w, struct err *e)
{
	struct artifacts *a = w->in;
	struct artifacts_left left;

	lock(a);
	int code = a->place->ops->keep(w->draft, w->folder, &w->about, e);
	a->bytes += code == 0 ? w->about.bytes : 0;
	if (code == 0 && (!a->counted || a->bytes > a->spec.max_bytes))
		(void)expire(a, w->about.created_us, &left, NULL); /* the next one tries again */
	unlock(a);
	return code;
}

int
artifact_finish(struct artifact_writer **at, struct artifact *ret, struct err *e)
{
	struct artifact_writer *w = *at;

	secrets_end(&w->secrets, &w->clean);
	int code = writer_flush(w, e);
	if (code == 0) {
		name_it(w);
		code = w->in->place->ops->seal(w->draft, &w->about, e);
	}
	if (code == 0)
		code = writer_keep(w, e);
	if (code == 0)
		*ret = w->about;
	artifact_drop(at);
	return code;
}

void
artifact_drop(struct artifact_writer **at)
{
	struct artifact_writer *w = *at;

	*at = NULL;
	if (!w)
		return;
	if (w->draft)
		w->in->place->ops->drop(w->draft);
	buf_done(&w->clean);
	free(w);
}

/* ---- reading ---- */

/* "art_" and 32 digits; the digits. */
static bool
handle_parse(struct str handle, char key[static ARTIFACT_KEY])
{
	if (handle.len != ARTIFACT_HANDLE - 1 || !str_starts(handle, S("art_")))
		return false;
	memcpy(key, handle.ptr + 4, ARTIFACT_KEY - 1);
	key[ARTIFACT_KEY - 1] = '\0';
	return strspn(key, "0123456789abcdef") == ARTIFACT_KEY - 1;
}

static int
not_there(struct str handle, struct err *e)
{
	return err_set(e, E_NO_ARTIFACT, "there is no kept result '%.*s', or it has been forgotten",
		       STR_ARG(str_utf8_upto(handle, 64)));
}

int
artifact_open(struct artifacts *a, struct str tenant, struct str handle,
	      struct artifact_reader **ret, struct err *e)
{
	char folder[ARTIFACT_FOLDER], key[ARTIFACT_KEY];
	struct artifact_reader *r;
	int code;

	folder_of(tenant, folder);
	if (!handle_parse(handle, key))
		return not_there(handle, e);
	if (!(r = calloc(1, sizeof(*r))))
		return err_plain(e, E_NOMEM);
	r->in = a;
	code = a->place->ops->open(a->place, folder, key, &r->kept, &r->about, e);
	r->about.expires_us = r->about.created_us + a->spec.keep_us;
	if (code == 0 && r->about.expires_us <= a->now())
		code = E_NO_ARTIFACT;
	if (code < 0) {
		artifact_close(r);
		return code == E_NO_ARTIFACT ? not_there(handle, e) : code;
	}
	snprintf(r->about.handle, sizeof(r->about.handle), "art_%s", key);
	*ret = r;
	return 0;
}

const struct artifact *
artifact_about(const struct artifact_reader *r)
{
	return &r->about;
}

ptrdiff_t
artifact_read(struct artifact_reader *r, uint64_t offset, char *out, size_t len)
{
	if (offset >= r->about.bytes)
		return 0;
	if (len > r->about.bytes - offset)
		len = (size_t)(r->about.bytes - offset);
	return r->in->place->ops->read(r->kept, offset, out, len);
}

void
artifact_close(struct artifact_reader *r)
{
	if (!r)
		return;
	if (r->kept)
		r->in->place->ops->close(r->kept);
	free(r);
}

void
artifact_write(struct jw *w, const struct artifact *a)
{
	char when[CLOCK_TEXT];

	jw_object(w);
	jw_member_z(w, "handle", a->handle);
	jw_member_z(w, "media_type", a->media_type);
	jw_member_int(w, "size_bytes", (int64_t)a->bytes);
	jw_member_z(w, "label", a->label);
	jw_member_z(w, "content_hash", a->sha256);
	jw_member_z(w, "tool", a->tool);
	jw_member_int(w, "redacted", (int64_t)a->redacted);
	jw_member_int(w, "lost_bytes", (int64_t)a->lost);
	clock_text(a->created_us, when);
	jw_member_z(w, "created_at", when);
	clock_text(a->expires_us, when);
	jw_member_z(w, "expires_at", when);
	jw_end(w);
}

/* ---- the spool ---- */

static size_t
spool_most(const struct artifacts *in)
{
	size_t shown = in->spec.shown;

	return shown < LIMIT_SHELL_OUTPUT ? shown : LIMIT_SHELL_OUTPUT;
}

void
spool_init(struct spool *s, struct artifacts *in, const struct artifact_note *note)
{
	*s = (struct spool){.in = in, .note = *note, .held = BUF_INIT(spool_most(in))};
}

static int
spool_begin(struct spool *s)
{
	int code = buf_failed(&s->held) ? err_plain(&s->err, E_NOMEM) : 0;

	if (code == 0)
		code = artifact_begin(s->in, &s->note, &s->writer, &s->err);
	if (code == 0)
		code = artifact_feed(s->writer, buf_str(&s->held), &s->err);
	buf_done(&s->held);
	return code;
}

void
spool_feed(struct spool *s, struct str piece)
{
	int code = 0;

	if (s->err.code < 0)
		return;
	if (!s->writer && s->held.len + piece.len <= s->held.max) {
		buf_add(&s->held, piece);
		return;
	}
	if (!s->writer)
		code = spool_begin(s);
	if (code == 0)
		code = artifact_feed(s->writer, piece, &s->err);
	if (code < 0)
		artifact_drop(&s->writer);
}

void
spool_done(struct spool *s)
{
	artifact_drop(&s->writer);
	buf_done(&s->held);
}
