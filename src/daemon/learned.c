/*
 * learned.c - what use has taught, kept in a file of the state directory.
 *
 * It is written some seconds after it changed, whole and beside, then renamed. What a crash loses
 * is a few seconds of habit; what cannot be read is put aside, and all begins anew.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/file.h"
#include "base/log.h"
#include "daemon/hf.h"

#define SOON_MS 5000

static bool
file_name(const struct hf *hf, const char *name, char out[static LIMIT_PATH])
{
	int n = snprintf(out, LIMIT_PATH, "%s/%s", hf->state_dir, name);

	return n > 0 && n < LIMIT_PATH;
}

/* ---- writing ---- */

/* On a worker, or at the end. */
static void
file_write(void *arg)
{
	struct hf *hf = arg;
	char name[LIMIT_PATH];

	if (file_name(hf, "learned.json", name))
		hf->lessons.failed = file_replace(name, buf_str(&hf->lessons.text)) < 0;
}

static void
lessons_render(struct hf *hf)
{
	struct jw w = jw(&hf->lessons.text);

	buf_reset(&hf->lessons.text);
	learned_write(hf->learned, &w);
	hf->lessons.changed = false;
}

static void
written(void *arg)
{
	struct hf *hf = arg;

	hf->lessons.writing = false;
	if (hf->lessons.failed)
		log_line(LOG_WARN, "what was learned could not be written", "dir", hf->state_dir,
			 NULL);
	if (hf->lessons.changed)
		hf__learned_changed(hf);
}

static void
write_due(void *arg)
{
	struct hf *hf = arg;

	hf->lessons.waiting = false;
	if (hf->lessons.writing)
		return; /* written() looks again */
	lessons_render(hf);
	if (!buf_failed(&hf->lessons.text) &&
	    work_start(hf->loop, &hf->lessons.work, file_write, written, hf) == 0)
		hf->lessons.writing = true;
}

void
hf__learned_changed(void *arg)
{
	struct hf *hf = arg;

	hf->lessons.changed = true;
	if (hf->lessons.kept && !hf->lessons.waiting && !hf->lessons.writing) {
		timer_start(hf->loop, &hf->lessons.timer, SOON_MS, write_due, hf);
		hf->lessons.waiting = true;
	}
}

/* ---- reading ---- */

static int
file_read(const char *name, struct buf *out)
{
	int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	for (;;) {
		char *room = buf_room(out, 64 * KIB);
		ssize_t n = room ? read(fd, room, 64 * KIB) : -1;
		if (n < 0 && room && errno == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			return n == 0 ? 0 : -1;
		}
		out->len += (size_t)n;
	}
}

static int
lessons_read(struct hf *hf, struct str text, struct err *e)
{
	const struct json_limits limits = {LIMIT_LEARNED_BYTES, 16};
	struct json_doc *doc;
	int rc = json_parse(text, &limits, &doc, e);

	if (rc == 0) {
		rc = learned_read(hf->learned, json_root(doc), e);
		json_doc_unref(doc);
	}
	return rc;
}

int
hf__learned_open(struct hf *hf, bool kept, struct err *e)
{
	struct buf text = BUF_INIT(LIMIT_LEARNED_BYTES);
	char name[LIMIT_PATH], aside[LIMIT_PATH];
	struct err why = ERR_NONE;

	hf->lessons.text = BUF_INIT(LIMIT_LEARNED_BYTES);
	hf->learned = learned_new();
	if (!hf->learned)
		return err_plain(e, E_NOMEM);
	if (!kept)
		return 0;
	if (!file_name(hf, "learned.json", name) || !file_name(hf, "learned.json.bad", aside))
		return err_set(e, E_CONFIG, "the state directory's path is too long");
	hf->lessons.kept = true;
	int rc = file_read(name, &text);
	if (rc == 0 && text.len > 0)
		rc = lessons_read(hf, buf_str(&text), &why);
	if (rc < 0) {
		log_line(LOG_WARN, "what was learned cannot be read, and is put aside", "file",
			 aside, "error", err_text(&why), NULL);
		(void)rename(name, aside);
	}
	buf_done(&text);
	return 0;
}

/* The loop has come to rest: nothing is being written. */
void
hf__learned_close(struct hf *hf)
{
	if (hf->learned && hf->lessons.kept && hf->lessons.changed) {
		lessons_render(hf);
		if (!buf_failed(&hf->lessons.text))
			file_write(hf);
	}
	learned_free(hf->learned);
	buf_done(&hf->lessons.text);
}
