/* find.c - resources, anchors and references of the schemas being compiled. */

#include "schema/find.h"

#include "json/peek.h"
#include "schema/row.h"

#define TEXTS_MAX (4 * MIB) /* of URIs and anchors */

int
finder_init(struct finder *f, struct schema *s, const struct schema_registry *registry,
	    struct err *e)
{
	*f = (struct finder){.s = s,
			     .registry = registry,
			     .uri = BUF_INIT(LIMIT_SCHEMA_URI),
			     .search = LIMIT_SCHEMA_SEARCH};
	map_init(&f->uris, LIMIT_SCHEMA_RULES);
	map_init(&f->anchors, LIMIT_SCHEMA_RULES);
	f->texts = arena_new(TEXTS_MAX);
	return f->texts ? 0 : err_plain(e, E_NOMEM);
}

void
finder_done(struct finder *f)
{
	map_done(&f->uris);
	map_done(&f->anchors);
	arena_free(f->texts);
	free(f->resources.row);
	free(f->spots);
	buf_done(&f->uri);
}

/* ---- places ---- */

static bool
is_inside(const struct json *root, const struct json *v)
{
	return v >= root && v < peek_next(root);
}

int
finder_refuse(const struct finder *f, const struct json *at, struct err *e, const char *reason, ...)
{
	struct buf text = BUF_INIT(sizeof(e->text)), said = BUF_INIT(sizeof(e->text));
	va_list ap;

	for (size_t i = 0; i < f->s->docs.len; i++) {
		const struct json *root = json_root(f->s->docs.row[i]);
		if (is_inside(root, at))
			schema__where(&text, root, at, WHERE_LINE);
	}
	va_start(ap, reason);
	buf_vaddf(&said, reason, ap);
	va_end(ap);
	buf_addz(&text, ": ");
	schema__plain(&text, buf_str(&said));
	err_set(e, E_VALIDATION, "%.*s", STR_ARG(buf_str(&text)));
	buf_done(&text);
	buf_done(&said);
	return E_VALIDATION;
}

/* ---- spots ---- */

static struct spot *
spot_slot(struct spot *spots, size_t cap, const struct json *at)
{
	size_t i = (size_t)(((uintptr_t)at >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	while (spots[i & (cap - 1)].at && spots[i & (cap - 1)].at != at)
		i++;
	return &spots[i & (cap - 1)];
}

struct spot *
finder_spot(const struct finder *f, const struct json *schema)
{
	struct spot *spot = f->spot_cap ? spot_slot(f->spots, f->spot_cap, schema) : NULL;

	return spot && spot->at ? spot : NULL;
}

static int
spots_grow(struct finder *f)
{
	size_t cap = f->spot_cap ? f->spot_cap * 2 : 32;
	struct spot *spots = calloc(cap, sizeof(*spots));

	if (!spots)
		return E_NOMEM;
	for (size_t i = 0; i < f->spot_cap; i++)
		if (f->spots[i].at)
			*spot_slot(spots, cap, f->spots[i].at) = f->spots[i];
	free(f->spots);
	f->spots = spots;
	f->spot_cap = cap;
	return 0;
}

static int
spot_add(struct finder *f, const struct json *schema, uint32_t resource, struct err *e)
{
	if (f->spot_len >= LIMIT_SCHEMA_RULES)
		return err_set(e, E_TOO_LARGE, "the schema has more than %d schemas in it",
			       LIMIT_SCHEMA_RULES);
	if (f->spot_len * 2 >= f->spot_cap && spots_grow(f) < 0)
		return err_plain(e, E_NOMEM);
	f->spot_len++;
	*spot_slot(f->spots, f->spot_cap, schema) = (struct spot){schema, resource, RULE_NONE};
	return 0;
}

/* ---- dialects ---- */

static const struct {
	const char *uri;
	enum draft draft;
} dialects[] = {
    {"https://json-schema.org/draft/2020-12/schema", DRAFT_2020},
    {"http://json-schema.org/draft-07/schema", DRAFT_7},
    /* Near enough: what is different there is refused, for its name or its value. */
    {"https://json-schema.org/draft/2019-09/schema", DRAFT_2020},
    {"http://json-schema.org/draft-06/schema", DRAFT_7},
    {"http://json-schema.org/draft-04/schema", DRAFT_7},
    {"http://json-schema.org/schema", DRAFT_2020},
};

static unsigned
vocabulary_of(struct str uri)
{
	static const struct {
		const char *name;
		unsigned bits;
	} known[] = {
	    {"core", VOCABULARY_CORE},
	    {"applicator", VOCABULARY_APPLICATOR},
	    {"unevaluated", VOCABULARY_UNEVALUATED},
	    {"validation", VOCABULARY_VALIDATION},
	    {"meta-data", VOCABULARY_REMARKS},
	    {"content", VOCABULARY_REMARKS},
	    {"format-annotation", VOCABULARY_FORMAT},
	    {"format-assertion", VOCABULARY_FORMAT | VOCABULARY_FORMAT_ASSERTION},
	};
	const struct str home = S("https://json-schema.org/draft/2020-12/vocab/");

	if (!str_starts(uri, home))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (str_is(str_from(uri, home.len), known[i].name))
			return known[i].bits;
	return 0;
}

static int
vocabularies_read(struct finder *f, const struct json *said, const struct json *meta, unsigned *ret,
		  struct err *e)
{
	const struct json *list = json_get(meta, S("$vocabulary"));

	if (!json_is(list, JSON_OBJECT))
		return 0;
	*ret = VOCABULARY_CORE;
	for (struct json_iter it = json_iter(list); json_next(&it);) {
		unsigned bits = vocabulary_of(it.key);
		if (!bits && json_bool(it.value))
			return finder_refuse(f, said, e, "needs the vocabulary %.*s",
					     STR_ARG(str_utf8_upto(it.key, LIMIT_SCHEMA_SHOWN)));
		*ret |= bits;
	}
	return 0;
}

/* What $schema says of a resource. */
static int
dialect_read(struct finder *f, struct resource *r, const struct json *said, struct err *e)
{
	struct str uri = schema__uri_whole(json_str(said));
	int rc = 0;

	if (!json_is(said, JSON_STRING))
		return finder_refuse(f, said, e, "must be a string");
	for (size_t i = 0; i < ARRAY_LEN(dialects); i++)
		if (str_is(uri, dialects[i].uri)) {
			r->draft = dialects[i].draft;
			return 0;
		}
	struct str own;
	struct json_doc *doc = schema__registry_find(f->registry, uri, &own);
	if (!doc || !str_eq(own, uri)) {
		json_doc_unref(doc);
		return finder_refuse(f, said, e, "names %.*s, a dialect that is not known here",
				     STR_ARG(str_utf8_upto(uri, LIMIT_SCHEMA_SHOWN)));
	}
	/* A dialect of a dialect has the draft of 2020-12: earlier ones have no vocabularies. */
	r->draft = DRAFT_2020;
	rc = vocabularies_read(f, said, json_root(doc), &r->vocabularies, e);
	json_doc_unref(doc);
	return rc;
}

/* ---- walking ---- */

static int
resource_add(struct finder *f, struct resource r, uint32_t *ret, struct err *e)
{
	const struct json *said = json_get(r.root, S("$schema"));
	int rc = said && r.root != f->forced ? dialect_read(f, &r, said, e) : 0;

	if (rc < 0)
		return rc;
	if (f->resources.len >= LIMIT_SCHEMA_RESOURCES)
		return err_set(e, E_TOO_LARGE, "the schema has more than %d resources in it",
			       LIMIT_SCHEMA_RESOURCES);
	r.uri = arena_str(f->texts, r.uri);
	if (!r.uri.ptr || row_add(&f->resources, r) < 0)
		return err_plain(e, E_NOMEM);
	*ret = (uint32_t)f->resources.len - 1;
	/* The first of two with the same URI stays: a document is known by where it was found. */
	uint32_t *number = ARENA_NEW(f->texts, uint32_t);
	if (!number)
		return err_plain(e, E_NOMEM);
	*number = *ret;
	rc = map_put(&f->uris, r.uri, number);
	return rc == E_NOMEM ? err_plain(e, rc) : 0;
}

static int
anchor_add(struct finder *f, uint32_t resource, struct str name, const struct json *schema,
	   bool dynamic, struct err *e)
{
	struct str uri = f->resources.row[resource].uri;
	struct anchor *a = ARENA_NEW(f->texts, struct anchor);
	const char *z = arena_printf(f->texts, "%.*s#%.*s", STR_ARG(uri), STR_ARG(name));

	if (!a || !z)
		return err_plain(e, E_NOMEM);
	*a = (struct anchor){schema, dynamic};
	int rc = map_put(&f->anchors, str_of(z), a);
	/* $anchor and $dynamicAnchor may both give one schema the same name. */
	if (rc == E_EXISTS && dynamic) {
		a = map_find(&f->anchors, str_of(z));
		a->dynamic |= a->at == schema;
		return 0;
	}
	return rc == E_NOMEM ? err_plain(e, rc) : 0;
}

/* $id: a resource of its own, or in Draft-07 perhaps only an anchor. */
static int
id_read(struct finder *f, const struct json *schema, uint32_t *resource, struct err *e)
{
	const struct resource *outer = &f->resources.row[*resource];
	const struct json *said = json_get(schema, S("$id"));
	struct str id = json_str(said);

	if (!said || (outer->draft == DRAFT_7 && json_get(schema, S("$ref"))))
		return 0;
	if (!id.ptr)
		return finder_refuse(f, said, e, "must be a string");
	if (outer->draft == DRAFT_7 && str_starts(id, S("#")))
		return anchor_add(f, *resource, str_from(id, 1), schema, false, e);
	buf_reset(&f->uri);
	schema__uri_resolve(&f->uri, outer->uri, id);
	if (buf_failed(&f->uri))
		return finder_refuse(f, said, e, "is too long for a URI");
	struct str uri = schema__uri_whole(buf_str(&f->uri));
	struct str anchor = outer->draft == DRAFT_7 ? schema__uri_fragment(id) : S("");
	int rc = 0;
	if (!str_eq(uri, outer->uri) || outer->root != schema)
		rc = resource_add(f,
				  (struct resource){uri, schema, outer->draft, outer->vocabularies},
				  resource, e);
	if (rc == 0 && anchor.len > 0 && anchor.ptr[0] != '/')
		rc = anchor_add(f, *resource, anchor, schema, false, e);
	return rc;
}

static int walk(struct finder *f, const struct json *schema, uint32_t resource, struct err *e);

static int
walk_all(struct finder *f, const struct json *container, uint32_t resource, struct err *e)
{
	int rc = 0;

	for (struct json_iter it = json_iter(container); rc == 0 && json_next(&it);)
		if (json_is(it.value, JSON_OBJECT))
			rc = walk(f, it.value, resource, e);
	return rc;
}

/* As deep as JSON is let in. */
static int
walk(struct finder *f, const struct json *schema, uint32_t resource, struct err *e)
{
	if (finder_spot(f, schema)) /* it was found by a reference before */
		return 0;
	int rc = id_read(f, schema, &resource, e);
	enum draft draft = rc == 0 ? f->resources.row[resource].draft : DRAFT_BOTH;

	if (rc == 0)
		rc = spot_add(f, schema, resource, e);
	for (struct json_iter it = json_iter(schema); rc == 0 && json_next(&it);) {
		const struct keyword *k = keyword_find(it.key, draft);
		if (!k)
			continue;
		bool alone = json_is(it.value, JSON_OBJECT) &&
			     (k->takes == TAKES_SCHEMA || k->takes == TAKES_ITEMS);
		if (alone)
			rc = walk(f, it.value, resource, e);
		else if (k->takes >= TAKES_SCHEMA)
			rc = walk_all(f, it.value, resource, e);
		else if (k->takes == TAKES_NAME && json_is(it.value, JSON_STRING))
			rc = anchor_add(f, resource, json_str(it.value), schema,
					k->id == K_DYNAMIC_ANCHOR, e);
	}
	return rc;
}

int
finder_walk(struct finder *f, const struct json *schema, struct str uri, enum draft draft,
	    struct err *e)
{
	uint32_t resource;
	int rc =
	    resource_add(f, (struct resource){uri, schema, draft, VOCABULARY_USUAL}, &resource, e);

	if (rc < 0)
		return rc;
	return json_is(schema, JSON_OBJECT) ? walk(f, schema, resource, e)
					    : spot_add(f, schema, resource, e);
}

/* ---- references ---- */

static ptrdiff_t
resource_known(const struct finder *f, struct str uri) /* or -1 */
{
	const uint32_t *number = map_find(&f->uris, uri);

	return number ? (ptrdiff_t)*number : -1;
}

/* The document of the registry that has this URI, if there is one and it is new. */
static int
resource_fetch(struct finder *f, struct str uri, enum draft draft, struct err *e)
{
	struct str own;
	struct json_doc *doc = schema__registry_find(f->registry, uri, &own);

	if (!doc || resource_known(f, own) >= 0) {
		json_doc_unref(doc);
		return 0;
	}
	if (row_add(&f->s->docs, doc) < 0) {
		json_doc_unref(doc);
		return err_plain(e, E_NOMEM);
	}
	return finder_walk(f, json_root(doc), own, draft, e);
}

/* The resource with this URI, from the registry if need be; -1: there is none. */
static int
resource_find(struct finder *f, struct str uri, enum draft draft, ptrdiff_t *ret, struct err *e)
{
	int rc = resource_known(f, uri) < 0 ? resource_fetch(f, uri, draft, e) : 0;

	*ret = resource_known(f, uri);
	/* What was found under one URI may call itself by another. */
	if (rc == 0 && *ret >= 0)
		*ret = finder_spot(f, f->resources.row[*ret].root)->resource;
	return rc;
}

static const struct anchor *
anchor_find(struct finder *f, uint32_t resource, struct str name)
{
	struct buf key = BUF_INIT(2 * LIMIT_SCHEMA_URI);

	buf_add(&key, f->resources.row[resource].uri);
	buf_addc(&key, '#');
	buf_add(&key, name);
	f->nomem |= buf_failed(&key); /* it is never longer than a URI and a name */
	const struct anchor *a = buf_failed(&key) ? NULL : map_find(&f->anchors, buf_str(&key));
	buf_done(&key);
	return a;
}

/* Step by step, to see what it costs: a look-up in an object passes its members. */
static const struct json *
pointed(struct finder *f, const struct json *at, struct str fragment)
{
	struct buf pointer = BUF_INIT(LIMIT_SCHEMA_URI);
	bool fine = schema__uri_decode(&pointer, fragment) && !buf_failed(&pointer);

	f->nomem |= buf_failed(&pointer);
	for (struct str rest = buf_str(&pointer); fine && at && rest.len > 0;) {
		ptrdiff_t step = str_index(str_from(rest, 1), '/');
		struct str first = step < 0 ? rest : str_upto(rest, (size_t)step + 1);
		size_t cost = json_len(at);
		f->search -= cost < f->search ? cost : f->search;
		at = json_pointer(at, first);
		rest = str_from(rest, first.len);
	}
	buf_done(&pointer);
	return fine ? at : NULL;
}

/* The schema a fragment means, or NULL. */
static const struct json *
fragment_find(struct finder *f, uint32_t resource, struct str fragment, bool *ret_dynamic)
{
	*ret_dynamic = false;
	if (fragment.len == 0 || fragment.ptr[0] == '/')
		return pointed(f, f->resources.row[resource].root, fragment);
	const struct anchor *a = anchor_find(f, resource, fragment);
	*ret_dynamic = a && a->dynamic;
	return a ? a->at : NULL;
}

int
finder_ref(struct finder *f, uint32_t resource, const struct json *said, const struct json **ret,
	   bool *ret_dynamic, struct err *e)
{
	ptrdiff_t to;

	buf_reset(&f->uri);
	schema__uri_resolve(&f->uri, f->resources.row[resource].uri, json_str(said));
	if (buf_failed(&f->uri))
		return finder_refuse(f, said, e, "is too long for a URI");
	struct str uri = arena_str(f->texts, buf_str(&f->uri)); /* f->uri is used on the way */
	if (!uri.ptr)
		return err_plain(e, E_NOMEM);
	struct str whole = schema__uri_whole(uri);
	int rc = resource_find(f, whole, f->resources.row[resource].draft, &to, e);
	if (rc < 0)
		return rc;
	if (to < 0)
		return finder_refuse(f, said, e, "refers to %.*s, which is not known here",
				     STR_ARG(str_utf8_upto(whole, LIMIT_SCHEMA_SHOWN)));
	*ret = fragment_find(f, (uint32_t)to, schema__uri_fragment(uri), ret_dynamic);
	if (f->nomem)
		return err_plain(e, E_NOMEM);
	if (f->search == 0)
		return err_set(e, E_TOO_LARGE, "the schema refers to too much in too large parts");
	if (!*ret)
		return finder_refuse(f, said, e, "refers to %.*s, where there is nothing",
				     STR_ARG(str_utf8_upto(uri, LIMIT_SCHEMA_SHOWN)));
	/* Below a keyword nobody knows: a schema only because it is referred to. */
	if (finder_spot(f, *ret))
		return 0;
	return json_is(*ret, JSON_OBJECT) ? walk(f, *ret, (uint32_t)to, e)
					  : spot_add(f, *ret, (uint32_t)to, e);
}

const struct json *
finder_dynamic(struct finder *f, uint32_t resource, struct str name)
{
	const struct anchor *a = anchor_find(f, resource, name);

	return a && a->dynamic ? a->at : NULL;
}
