/* upstreams.c - the set of servers, its configuration, its files, and who wants to know of it. */

#include "upstream/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/paths.h"

#define SAVE_MS 200 /* what changes together is written together */

/* ---- files ---- */

/* On a worker. */
static void
file_write(void *arg)
{
	struct upstreams *us = arg;

	us->write_failed = file_replace(us->path, buf_str(&us->text)) < 0;
}

static void files_next(struct upstreams *us);

static void
file_written(void *arg)
{
	struct upstreams *us = arg;

	if (us->write_failed)
		log_line(LOG_WARN, "what is known of a server could not be written", "file",
			 us->path, NULL);
	us->writing->saving = false;
	upstream_unref(us->writing);
	us->writing = NULL;
	buf_done(&us->text);
	files_next(us);
	upstreams__settle(us);
}

static bool
file_begin(struct upstreams *us, struct upstream *u)
{
	struct err e;

	if (!u->dirty || timer_running(&u->save))
		return false;
	u->dirty = false;
	known__write(&u->known, u->spec.name, str_of(u->of), &us->text);
	if (known__path(us->dir, u->spec.name, us->path, &e) < 0 || buf_failed(&us->text) ||
	    work_start(us->loop, &us->work, file_write, file_written, us) < 0) {
		log_line(LOG_WARN, "what is known of a server is not kept", "server",
			 u->spec.name.ptr, NULL);
		buf_done(&us->text);
		return false;
	}
	u->saving = true;
	us->writing = upstream_ref(u);
	return true;
}

/* One file at a time, so that what is newer is written later. */
static void
files_next(struct upstreams *us)
{
	if (us->writing)
		return;
	LIST_EACH (&us->leaving, n)
		if (file_begin(us, CONTAINER_OF(n, struct upstream, node)))
			return;
	for (size_t i = 0; i < us->count; i++)
		if (file_begin(us, us->items[i]))
			return;
}

static void
save_due(void *arg)
{
	struct upstream *u = arg;

	files_next(u->set);
}

void
upstreams__save(struct upstream *u)
{
	if (!u->set->dir || u->replaced)
		return;
	u->dirty = true;
	if (u->set->stopping)
		files_next(u->set);
	else if (!timer_running(&u->save))
		(void)timer_start(u->set->loop, &u->save, SAVE_MS, save_due, u);
}

static void
file_read(struct upstream *u)
{
	char path[LIMIT_PATH], aside[LIMIT_PATH + 8];
	struct err e;

	if (!u->set->dir || known__path(u->set->dir, u->spec.name, path, &e) < 0)
		return;
	int rc = known__load(&u->known, path, str_of(u->of), &e);
	if (rc == 0)
		return;
	known__done(&u->known);
	/* It may be all right: without its pins anything would be taken at first sight. */
	if (rc == E_SYSTEM || rc == E_NOMEM || rc == E_TOO_LARGE) {
		u->unread = true;
		u->spec.problem = S("what is known of it could not be read; the next reload of the "
				    "configuration tries again");
		log_line(LOG_ERROR, "what is known of a server cannot be read, and it is not used",
			 "file", path, "why", e.text, "inside", e.inside, NULL);
		return;
	}
	snprintf(aside, sizeof(aside), "%s.bad", path);
	log_line(LOG_WARN, "what is known of a server cannot be read, and is put aside", "file",
		 aside, "why", e.text, NULL);
	(void)rename(path, aside);
}

/* ---- the set ---- */

int
upstreams_new(const struct upstreams_spec *spec, struct upstreams **ret, struct err *e)
{
	struct upstreams *us = calloc(1, sizeof(*us));
	int rc = us ? 0 : err_plain(e, E_NOMEM);

	if (rc < 0)
		return rc;
	us->loop = spec->loop;
	us->house = spec->house;
	us->text = BUF_INIT(LIMIT_UPSTREAM_KNOWN);
	list_init(&us->leaving);
	list_init(&us->watches);
	if (spec->dir && !(us->dir = strdup(spec->dir)))
		rc = err_plain(e, E_NOMEM);
	if (rc == 0 && us->dir)
		rc = path_make_dir(us->dir, e);
	if (rc == 0)
		rc = json_parse(S("[]"), &json_door, &us->nothing, e);
	if (rc < 0) {
		upstreams_free(us);
		return rc;
	}
	*ret = us;
	return 0;
}

void
upstreams_free(struct upstreams *us)
{
	if (!us)
		return;
	CHECK(us->leaving.len == 0 && !us->writing);
	for (size_t i = 0; i < us->count; i++) {
		CHECK(upstream__is_over(us->items[i]));
		upstream__detach(us->items[i]);
		upstream_unref(us->items[i]);
	}
	defer_cancel(&us->settle);
	json_doc_unref(us->nothing);
	buf_done(&us->text);
	free(us->items);
	free(us->dir);
	free(us);
}

static void
settle(void *arg)
{
	struct upstreams *us = arg;
	bool over = !us->writing;

	LIST_EACH (&us->leaving, n) {
		struct upstream *u = CONTAINER_OF(n, struct upstream, node);
		if (!upstream__is_over(u))
			continue;
		list_remove(&u->node);
		upstream__detach(u);
		upstream_unref(u);
	}
	for (size_t i = 0; i < us->count; i++)
		over &= upstream__is_over(us->items[i]);
	if (!us->stopping || !over || us->leaving.len > 0 || !us->done)
		return;
	void (*done)(void *) = us->done;
	us->done = NULL;
	done(us->done_arg);
}

void
upstreams__settle(struct upstreams *us)
{
	defer(us->loop, &us->settle, settle, us);
}

void
upstreams_stop(struct upstreams *us, void (*done)(void *arg), void *arg)
{
	us->stopping = true;
	us->done = done;
	us->done_arg = arg;
	LIST_EACH (&us->leaving, n) {
		struct upstream *u = CONTAINER_OF(n, struct upstream, node);
		timer_stop(us->loop, &u->save);
		upstream__stop(u);
	}
	for (size_t i = 0; i < us->count; i++) {
		timer_stop(us->loop, &us->items[i]->save);
		upstream__stop(us->items[i]);
	}
	files_next(us);
	upstreams__settle(us);
}

/* ---- configuration ---- */

static int
name_order(const void *a, const void *b)
{
	struct upstream *const *x = a, *const *y = b;

	return str_cmp((*x)->spec.name, (*y)->spec.name);
}

static void
items_free(struct upstream **items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		upstream_unref(items[i]);
	free(items);
}

static int
items_new(struct upstreams *us, const struct upstream_spec *specs, size_t count,
	  struct upstream ***ret, struct err *e)
{
	struct upstream **items = calloc(count + 1, sizeof(struct upstream *));
	int rc = items ? 0 : err_plain(e, E_NOMEM);

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = upstream__new(us, &specs[i], &items[i], e);
	if (rc == 0)
		qsort(items, count, sizeof(struct upstream *), name_order);
	for (size_t i = 1; i < count && rc == 0; i++)
		if (name_order(&items[i - 1], &items[i]) == 0)
			rc = err_set(e, E_EXISTS, "two servers are called \"%s\"",
				     items[i]->spec.name.ptr);
	if (rc < 0 && items)
		items_free(items, count);
	if (rc == 0)
		*ret = items;
	return rc;
}

/* What is remembered of it is news; what is not there is none. */
static unsigned
first_news(const struct upstream *u)
{
	unsigned news = NEWS_STATE | NEWS_TOOLS;

	if (json_len(upstream_list(u, LIST_PROMPTS)) > 0)
		news |= NEWS_PROMPTS;
	if (json_len(upstream_list(u, LIST_RESOURCES)) + json_len(upstream_list(u, LIST_TEMPLATES)))
		news |= NEWS_RESOURCES;
	return news;
}

static void
item_begin(struct upstream *u)
{
	u->begun = true;
	u->state = u->spec.problem.ptr ? UPSTREAM_QUARANTINED
		   : u->known.seen     ? UPSTREAM_KNOWN
				       : UPSTREAM_CONFIGURED;
	upstream__news(u, first_news(u));
	if (!u->known.seen || u->waiting.len + u->subscriptions.len > 0)
		upstream__need(u);
}

/* Of two of the same name: the old one stays when nothing has changed, else what is known of it is
 * handed on. */
static void
item_follow(struct upstream **at, struct upstream *old)
{
	struct upstream *new = *at;

	if (!old->retired && spec__equal(&new->spec, &old->spec)) {
		*at = upstream_ref(old);
		upstream_unref(new);
		return;
	}
	known__inherit(&new->known, &old->known);
	if (strcmp(new->of, old->of) != 0)
		new->known.has_era = false;
	if (!new->spec.problem.ptr)
		exchange__inherit(new, old);
	if (!old->retired) /* else those who listened have been told that it is gone */
		subscriptions__inherit(new, old);
	old->replaced = true;
	old->dirty = false;
	upstreams__save(new);
}

/* What may still know more than the file: the one of that name before, or one that has just left.
 */
static struct upstream *
item_before(const struct upstreams *us, struct str name)
{
	struct upstream *before = upstream_find(us, name);

	LIST_EACH (&us->leaving, n) {
		struct upstream *u = CONTAINER_OF(n, struct upstream, node);
		if (!before && !u->replaced && str_eq(u->spec.name, name))
			return u;
	}
	return before;
}

int
upstreams_set(struct upstreams *us, const struct upstream_spec *specs, size_t count, struct err *e)
{
	struct upstream **items = NULL, **old = us->items;
	size_t old_count = us->count;

	if (us->stopping)
		return err_plain(e, E_STOPPING);
	if (count > LIMIT_UPSTREAMS)
		return err_set(e, E_LIMIT, "there are more than %d servers", LIMIT_UPSTREAMS);
	int rc = items_new(us, specs, count, &items, e);
	if (rc < 0 || !items)
		return rc;
	for (size_t i = 0; i < count; i++) {
		struct upstream *before = item_before(us, items[i]->spec.name);
		if (before && !before->unread)
			item_follow(&items[i], before);
		else
			file_read(items[i]);
	}
	us->items = items;
	us->count = count;
	for (size_t i = 0; i < old_count; i++) {
		if (upstream_find(us, old[i]->spec.name) == old[i]) {
			upstream_unref(old[i]);
			continue;
		}
		list_push(&us->leaving, &old[i]->node); /* with its reference */
		upstream__retire(old[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (!items[i]->begun)
			item_begin(items[i]);
	free(old);
	return 0;
}

size_t
upstreams_count(const struct upstreams *us)
{
	return us->count;
}

struct upstream *
upstream_at(const struct upstreams *us, size_t i)
{
	CHECK(i < us->count);
	return us->items[i];
}

struct upstream *
upstream_find(const struct upstreams *us, struct str name)
{
	size_t low = 0, high = us->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = str_cmp(us->items[mid]->spec.name, name);
		if (order == 0)
			return us->items[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

void
upstreams_watch(struct upstreams *us, struct upstream_watch *w)
{
	list_push(&us->watches, &w->node);
}

void
upstreams_unwatch(struct upstreams *us, struct upstream_watch *w)
{
	(void)us;
	list_remove(&w->node);
}
