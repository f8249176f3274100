/* config_kernel.c - the section `kernel`: which index envelopes are held to, and its namespaces. */

#include "daemon/config_inside.h"
#include "daemon/hf.h"

static int
read_namespaces(struct config_reading *r, const struct json *list)
{
	struct config *c = r->config;
	size_t count = json_len(list), at = 0;
	const char **names;

	if (!list)
		return 0;
	if (!(names = arena_alloc(c->arena, (count + 1) * sizeof(*names))))
		return err_plain(r->err, E_NOMEM);
	for (struct json_iter it = json_iter(list); json_next(&it); at++)
		if (!(names[at] = arena_strz(c->arena, json_str(it.value))))
			return err_plain(r->err, E_NOMEM);
	c->kernel.namespaces = names;
	c->kernel.namespace_count = count;
	return 0;
}

static int
read_index(struct config_reading *r, const struct json *v)
{
	struct config *c = r->config;
	struct index_rules rules = {c->kernel.namespaces, c->kernel.namespace_count};
	struct str text = json_str(v);
	struct json_doc *bundle = NULL;
	struct err inner;
	bool home = str_starts(text, S("~/"));

	if (home && !r->home)
		return err_set(r->err, E_CONFIG,
			       "line %u: kernel.index: '~' is not known here; write the whole path",
			       config__line(r, v));
	const char *path =
	    arena_printf(c->arena, "%s%.*s", home ? r->home : "", STR_ARG(str_from(text, home)));
	if (!path)
		return err_plain(r->err, E_NOMEM);
	int code = hf__bundle(path, &bundle, &inner);
	if (code == 0)
		code = kernel_index_new(bundle, &rules, &c->kernel.index, &inner);
	json_doc_unref(bundle);
	return code < 0 ? err_set(r->err, E_CONFIG, "line %u: kernel.index: %s", config__line(r, v),
				  err_text(&inner))
			: 0;
}

int
config__kernel(struct config_reading *r, const struct json *v)
{
	const struct json *index = json_get(v, S("index"));
	int code = read_namespaces(r, json_get(v, S("namespaces")));

	return code < 0 || !index ? code : read_index(r, index);
}
