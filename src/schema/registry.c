/* registry.c - documents schemas may refer to, and the meta-schemas of the drafts. */

#include <stdlib.h>

#include "base/embedded.h"
#include "base/map.h"
#include "schema/program.h"

#define DOCS_MAX 4096

struct entry {
	struct json_doc *doc;
	char uri[];
};

struct schema_registry {
	struct map entries;
};

struct schema_registry *
schema_registry_new(void)
{
	struct schema_registry *r = malloc(sizeof(*r));

	if (r)
		map_init(&r->entries, DOCS_MAX);
	return r;
}

int
schema_registry_add(struct schema_registry *r, struct str uri, struct json_doc *doc, struct err *e)
{
	struct buf resolved = BUF_INIT(LIMIT_SCHEMA_URI); /* references are looked up so */

	schema__uri_resolve(&resolved, S(""), schema__uri_whole(uri));
	uri = buf_str(&resolved);
	struct entry *entry = buf_failed(&resolved) ? NULL : malloc(sizeof(*entry) + uri.len);
	if (!entry) {
		buf_done(&resolved);
		return err_plain(e, E_NOMEM);
	}
	memcpy(entry->uri, uri.ptr, uri.len);
	int rc = map_put(&r->entries, (struct str){entry->uri, uri.len}, entry);
	if (rc < 0) {
		free(entry);
		err_set(e, rc, "%.*s cannot be added to the registry", STR_ARG(uri));
	} else {
		entry->doc = json_doc_ref(doc);
	}
	buf_done(&resolved);
	return rc;
}

void
schema_registry_free(struct schema_registry *r)
{
	size_t at = 0;

	if (!r)
		return;
	for (struct entry *entry; (entry = map_each(&r->entries, &at));) {
		json_doc_unref(entry->doc);
		free(entry);
	}
	map_done(&r->entries);
	free(r);
}

/* Which of the embedded files a URI is to be found in: the parts of 2020-12 stand in one. */
static const struct {
	const char *uri, *parts, *file;
} metas[] = {
    {"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/meta/",
     "draft-2020-12.json"},
    {"http://json-schema.org/draft-07/schema", NULL, "draft-07.json"},
};

static struct json_doc *
meta_parse(const char *file)
{
	struct json_doc *doc = NULL;
	struct err e;

	for (const struct embedded *m = embedded_metas; m->name; m++)
		if (strcmp(m->name, file) == 0 && json_parse(m->bytes, &json_door, &doc, &e) < 0)
			return NULL;
	return doc;
}

struct json_doc *
schema__registry_find(const struct schema_registry *r, struct str uri, struct str *ret_uri)
{
	const struct entry *entry = r ? map_find(&r->entries, uri) : NULL;

	*ret_uri = uri;
	if (entry)
		return json_doc_ref(entry->doc);
	for (size_t i = 0; i < ARRAY_LEN(metas); i++)
		if (str_is(uri, metas[i].uri) ||
		    (metas[i].parts && str_starts(uri, str_of(metas[i].parts)))) {
			*ret_uri = str_of(metas[i].uri);
			return meta_parse(metas[i].file);
		}
	return NULL;
}
