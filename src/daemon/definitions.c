/*
 * definitions.c - tools that were defined, put into the catalog: those of the configuration and of
 * its imports, and those in the store (defining.c); set again when it is read again, and when a
 * function is registered that one of them stands for.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "daemon/hf.h"

#define CONFIG_SOURCE S("config")
#define IMPORT_SOURCE "openapi:"
#define MADE_SOURCE S("store")

int
hf__definitions_open(struct hf *hf, struct err *e)
{
	int code = kinds_new(hf->loop, hf->builtins, &hf->kinds, e);

	if (code == 0)
		code = defined_new(hf->catalog, hf->kinds, &hf->defined, e);
	return code < 0 ? code : hf__made_load(hf, e);
}

void
hf__definitions_close(struct hf *hf)
{
	defined_free(hf->defined);
	hf__made_free(hf);
	kinds_free(hf->kinds); /* a request that is cancelled is over at once: none is left */
	hf->defined = NULL;
	hf->kinds = NULL;
}

/* ---- setting ---- */

/* All that `from` has, which are these. Frees them; NULL: there was no memory for them. */
static int
set(struct hf *hf, const struct config *c, struct defined_source from, struct defined_spec *specs,
    size_t count, bool *changed, struct err *e)
{
	bool now = false;

	if (!specs)
		return err_plain(e, E_NOMEM);
	from.specs = specs;
	from.count = count;
	int code = defined_set(hf->defined, &from, &c->gateways, &now, e);
	*changed = *changed || now;
	free(specs);
	return code;
}

static int
set_own(struct hf *hf, const struct config *c, bool *changed, struct err *e)
{
	const struct variables vars = config_variables(c);
	struct defined_spec *specs = calloc(c->definition_count + 1, sizeof(*specs));
	size_t n = 0;

	for (size_t i = 0; specs && i < c->definition_count; i++)
		if (c->definitions[i].definition)
			specs[n++] = (struct defined_spec){c->definitions[i].definition, &vars};
	return set(hf, c, (struct defined_source){.name = CONFIG_SOURCE, .confirm = -1}, specs, n,
		   changed, e);
}

static int
set_import(struct hf *hf, const struct config *c, const struct config_import *im, bool *changed,
	   struct err *e)
{
	const struct variables vars = config_variables(c);
	struct defined_spec *specs = calloc(im->count + 1, sizeof(*specs));
	char name[sizeof(IMPORT_SOURCE) + 80];

	for (size_t i = 0; specs && i < im->count; i++)
		specs[i] = (struct defined_spec){im->definitions[i], &vars};
	snprintf(name, sizeof(name), IMPORT_SOURCE "%.*s", STR_ARG(im->name));
	struct defined_source from = {.name = str_of(name),
				      .ns = im->name,
				      .server = im->name,
				      .confirm = im->confirm};
	return set(hf, c, from, specs, im->count, changed, e);
}

static bool
has_import(const struct config *c, struct str name)
{
	for (size_t i = 0; i < c->import_count; i++)
		if (str_eq(c->imports[i].name, name))
			return true;
	return false;
}

/* Imports of before that are no more. */
static int
drop_imports(struct hf *hf, const struct config *c, const struct config *old, bool *changed,
	     struct err *e)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < old->import_count; i++) {
		struct config_import gone = {.name = old->imports[i].name, .confirm = -1};
		if (!has_import(c, gone.name))
			code = set_import(hf, c, &gone, changed, e);
	}
	return code;
}

/* Does the file define a tool of this name? */
static bool
has_name(const struct config *c, struct str name)
{
	for (size_t i = 0; i < c->definition_count; i++)
		if (c->definitions[i].definition &&
		    str_eq(c->definitions[i].definition->name, name))
			return true;
	for (size_t i = 0; i < c->import_count; i++)
		for (size_t k = 0; k < c->imports[i].count; k++)
			if (str_eq(c->imports[i].definitions[k]->name, name))
				return true;
	return false;
}

/* Those whose tenant there is. What the file defines goes before them. */
static int
set_made(struct hf *hf, const struct config *c, bool *changed, struct err *e)
{
	const struct variables vars = config_variables_foreign(c);
	struct defined_spec *specs = calloc(hf->made_count + 1, sizeof(*specs));
	size_t n = 0;

	for (size_t i = 0; specs && i < hf->made_count; i++) {
		struct definition *d = hf->made[i].definition;
		const struct tenant *of = tenant_find(hf->tenants, d->tenant);
		if (of && tenant_stays(of) && !has_name(c, d->name))
			specs[n++] = (struct defined_spec){d, &vars};
	}
	return set(hf, c, (struct defined_source){.name = MADE_SOURCE, .confirm = -1}, specs, n,
		   changed, e);
}

static void
tell(struct hf *hf, bool changed)
{
	if (changed)
		hf__catalog_changed(hf);
}

int
hf__made_set(struct hf *hf, struct err *e)
{
	bool changed = false;
	int code = set_made(hf, &hf->config, &changed, e);

	tell(hf, changed);
	return code;
}

/* What the file defines. */
static int
set_file(struct hf *hf, const struct config *c, bool *changed, struct err *e)
{
	int code = set_own(hf, c, changed, e);

	for (size_t i = 0; code == 0 && i < c->import_count; i++)
		code = set_import(hf, c, &c->imports[i], changed, e);
	return code;
}

int
hf__definitions_set(struct hf *hf, const struct config *c, struct err *e)
{
	static const struct str all = {NULL, 0};
	bool changed = false;
	int code = drop_imports(hf, c, &hf->config, &changed, e);

	if (code == 0)
		code = set_made(hf, c, &changed, e);
	if (code == 0)
		code = set_file(hf, c, &changed, e);
	/* A name may have been another source's before, which has it no more only now. */
	if (code == 0 && defined_problems(hf->defined, all, NULL, NULL))
		code = set_file(hf, c, &changed, e);
	if (code == 0)
		code = set_made(hf, c, &changed, e);
	tell(hf, changed);
	return code;
}

void
hf__definitions_back(struct hf *hf, const struct config *c)
{
	bool changed = false;

	(void)drop_imports(hf, &hf->config, c, &changed, NULL);
	(void)hf__definitions_set(hf, &hf->config, NULL);
}

static bool
has_internal(const struct hf *hf)
{
	for (size_t i = 0; i < hf->config.definition_count; i++) {
		const struct definition *d = hf->config.definitions[i].definition;
		if (d && str_is(d->gateway, "internal"))
			return true;
	}
	return false;
}

void
hf__definitions_functions(struct hf *hf)
{
	bool changed = false;
	struct err e = ERR_NONE;
	int code = has_internal(hf) ? set_own(hf, &hf->config, &changed, &e) : 0;

	if (code == 0 && hf->made_count)
		code = set_made(hf, &hf->config, &changed, &e);
	if (code < 0)
		log_line(LOG_WARN, "definitions", "error", err_text(&e), NULL);
}

/* ---- telling ---- */

static void
warn(void *arg, struct str source, const char *problem)
{
	(void)arg;
	log_line(LOG_WARN, "a tool that is defined is not there", "source", source.ptr, "problem",
		 problem, NULL);
}

void
hf__definitions_warn(struct hf *hf)
{
	const struct config *c = &hf->config;

	for (size_t i = 0; i < c->definition_count; i++)
		if (c->definitions[i].problem)
			warn(NULL, CONFIG_SOURCE, c->definitions[i].problem);
	for (size_t i = 0; i < c->import_count; i++)
		if (c->imports[i].problem)
			log_line(LOG_WARN, "an import is not used", "name", c->imports[i].name.ptr,
				 "problem", c->imports[i].problem, NULL);
		else if (c->imports[i].notes)
			log_line(LOG_WARN, "operations were left out", "name",
				 c->imports[i].name.ptr, "which", c->imports[i].notes, NULL);
	defined_problems(hf->defined, (struct str){NULL, 0}, warn, NULL);
}

struct told {
	struct jw *w;
};

static void
write_problem(void *arg, struct str source, const char *problem)
{
	struct told *t = arg;

	(void)source;
	jw_z(t->w, problem);
}

/* For GET /status: what was defined, and what could not be. */
void
hf__definitions_write(struct jw *w, const struct hf *hf)
{
	const struct config *c = &hf->config;
	struct told told = {.w = w};
	char name[sizeof(IMPORT_SOURCE) + 80];

	jw_key(w, "definitions");
	jw_object(w);
	jw_member_int(w, "tools",
		      (int64_t)(defined_count(hf->defined, CONFIG_SOURCE) +
				defined_count(hf->defined, MADE_SOURCE)));
	jw_key(w, "problems");
	jw_array(w);
	for (size_t i = 0; i < c->definition_count; i++)
		if (c->definitions[i].problem)
			jw_z(w, c->definitions[i].problem);
	defined_problems(hf->defined, CONFIG_SOURCE, write_problem, &told);
	defined_problems(hf->defined, MADE_SOURCE, write_problem, &told);
	jw_end(w);
	jw_end(w);
	jw_key(w, "imports");
	jw_array(w);
	for (size_t i = 0; i < c->import_count; i++) {
		const struct config_import *im = &c->imports[i];
		snprintf(name, sizeof(name), IMPORT_SOURCE "%.*s", STR_ARG(im->name));
		jw_object(w);
		jw_member(w, "name", im->name);
		jw_member_z(w, "from", im->from);
		jw_member_int(w, "tools", (int64_t)defined_count(hf->defined, str_of(name)));
		jw_member_int(w, "left_out", (int64_t)im->left_out);
		jw_member_z(w, "problem", im->problem);
		jw_key(w, "problems");
		jw_array(w);
		defined_problems(hf->defined, str_of(name), write_problem, &told);
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
}
