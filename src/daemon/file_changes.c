/* file_changes.c - whoever wants to know what becomes of some files, through the public header. */

#include <stdlib.h>

#include "base/glob.h"
#include "base/limits.h"
#include "daemon/hf.h"

#define CHANGE_BYTES ((size_t)256 * KIB) /* two paths and names */

struct change_reader {
	struct bus_reader reader;
	struct hf *hf;
	char *pattern; /* own */
	hf_change_fn each;
	void *arg;
	int id;
	bool busy, gone; /* inside `each`, and unsubscribed there: freed behind it */
	struct node node;
};

static void
reader_free(struct change_reader *r)
{
	bus_detach(r->hf->bus, &r->reader);
	list_remove(&r->node);
	free(r->pattern);
	free(r);
}

static const char *
text(struct arena *a, const struct json *payload, struct str key)
{
	struct str s = json_str(json_get(payload, key));

	return s.ptr ? arena_strz(a, s) : NULL;
}

/* A file that was moved away is gone from where it was. */
static bool
is_about(const struct change_reader *r, const struct hf_change *ch)
{
	struct str pattern = str_of(r->pattern);

	return glob_file(pattern, str_of(ch->path)) ||
	       (ch->old_path && glob_file(pattern, str_of(ch->old_path)));
}

/* A copy: what `each` does may move the events. */
static void
pass_on(struct change_reader *r, const struct json *payload)
{
	struct arena *a = arena_new(CHANGE_BYTES);
	int64_t size = 0;

	if (!a)
		return;
	(void)json_int(json_get(payload, S("size")), &size);
	struct hf_change ch = {
	    .type = text(a, payload, S("type")),
	    .path = text(a, payload, S("path")),
	    .old_path = text(a, payload, S("old_path")),
	    .workspace = text(a, payload, S("workspace")),
	    .tool = text(a, payload, S("tool_name")),
	    .call = text(a, payload, S("call_id")),
	    .size = (uint64_t)size,
	    .undoable = json_bool(json_get(payload, S("undoable"))),
	};
	if (ch.path && ch.type && is_about(r, &ch))
		r->each(&ch, r->arg);
	arena_free(a);
}

static void
news(void *arg)
{
	struct change_reader *r = arg;
	uint64_t missed;

	r->busy = true;
	for (const struct event *ev;
	     !r->gone && (ev = bus_next(r->hf->bus, &r->reader, &missed));) {
		struct json_doc *doc = NULL;
		if (ev->type == EVENT_FILE_CHANGED &&
		    json_parse(ev->json, &json_door, &doc, NULL) == 0)
			pass_on(r, json_get(json_root(doc), S("payload")));
		json_doc_unref(doc);
	}
	r->busy = false;
	if (r->gone)
		reader_free(r);
}

int
hf_subscribe_changes(struct hf *hf, const char *pattern, hf_change_fn each, void *arg)
{
	struct change_reader *r = calloc(1, sizeof(*r));

	if (!r || !(r->pattern = strdup(pattern ? pattern : ""))) {
		free(r);
		return err_plain(&hf->err, E_NOMEM);
	}
	r->hf = hf;
	r->each = each;
	r->arg = arg;
	r->id = ++hf->change_readers_made;
	r->reader.news = news;
	r->reader.arg = r;
	bus_attach(hf->bus, &r->reader);
	list_push(&hf->change_readers, &r->node);
	return r->id;
}

void
hf_unsubscribe_changes(struct hf *hf, int id)
{
	LIST_EACH (&hf->change_readers, at) {
		struct change_reader *r = CONTAINER_OF(at, struct change_reader, node);
		if (r->id != id)
			continue;
		r->gone = true;
		if (!r->busy)
			reader_free(r);
	}
}

void
hf__forget_change_readers(struct hf *hf)
{
	LIST_EACH (&hf->change_readers, at)
		reader_free(CONTAINER_OF(at, struct change_reader, node));
}
