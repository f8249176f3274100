/* builtin.c - C functions as a provider: a fresh instance per job, blocking work on a worker. */

#include "provider/builtin.h"

#include <stdlib.h>

#include "base/embedded.h"
#include "base/limits.h"
#include "base/map.h"
#include "provider/builtin/tools.h"

struct builtins {
	struct provider provider; /* what tools point to */
	struct loop *loop;
	struct confine_house *house;
	struct map registered; /* struct tool, references, by name */
};

/* One registered tool; belongs to its definition, which calls in flight still hold. */
struct builtin {
	const struct builtin_ops *ops;
	void *arg;
};

static const struct builtin_ops *
ops_of(const struct job *j)
{
	return ((const struct builtin *)j->tool->provider_data)->ops;
}

/* On a worker. */
static void
work_do(void *arg)
{
	struct job *j = arg;
	const struct builtin_ops *ops = ops_of(j);
	struct err *e = &j->out.err;

	/* Asked once before anything happens; a file operation that has begun ends. */
	if (atomic_load(&j->cancelled)) {
		err_plain(e, E_CANCELLED);
		return;
	}
	int rc = j->kind == JOB_PREVIEW ? ops->preview(j) : ops->run(j->instance, j);
	if (rc < 0 && e->code == 0) {
		err_plain(e, E_EXECUTION);
		err_inside(e, "%.*s returned %d", STR_ARG(j->tool->name), rc);
	}
}

static void
work_done(void *arg)
{
	struct job *j = arg;

	if (j->kind == JOB_RUN && ops_of(j)->reporting)
		ops_of(j)->reporting(j->instance, j);
	job_report(j);
}

static void
refuse(struct job *j, int code)
{
	err_plain(&j->out.err, code);
	job_report_soon(j);
}

static void
provider_start(struct provider *p, struct job *j)
{
	const struct builtin *b = j->tool->provider_data;
	struct loop *l = CONTAINER_OF(p, struct builtins, provider)->loop;

	if (j->kind == JOB_PREVIEW && !b->ops->preview) {
		job_report_soon(j);
		return;
	}
	if (j->kind == JOB_RUN && !(j->instance = b->ops->make(b->arg))) {
		refuse(j, E_NOMEM);
		return;
	}
	if (j->kind == JOB_RUN && b->ops->start)
		b->ops->start(j->instance, j);
	else if (work_start(l, &j->work, work_do, work_done, j) < 0)
		refuse(j, E_SYSTEM);
}

static void
provider_cancel(struct provider *p, struct job *j)
{
	(void)p;
	if (j->instance && ops_of(j)->cancel)
		ops_of(j)->cancel(j->instance, j);
}

static void
provider_done(struct provider *p, struct job *j)
{
	(void)p;
	ops_of(j)->free(j->instance);
	j->instance = NULL;
}

struct builtins *
builtins_new(struct loop *l)
{
	struct builtins *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->provider = (struct provider){"builtin", provider_start, provider_cancel, provider_done};
	b->loop = l;
	map_init(&b->registered, LIMIT_TOOLS);
	return b;
}

void
builtins_free(struct builtins *b)
{
	size_t at = 0;

	for (struct tool *t; (t = map_each(&b->registered, &at));)
		tool_unref(t);
	map_done(&b->registered);
	free(b);
}

struct tool *
builtin_find(const struct builtins *b, struct str name)
{
	return map_find(&b->registered, name);
}

void
builtins_confine(struct builtins *b, struct confine_house *house)
{
	b->house = house;
}

struct confine_house *
builtin_house(const struct job *j)
{
	return CONTAINER_OF(j->tool->provider, struct builtins, provider)->house;
}

static void
builtin_forget(void *data)
{
	struct builtin *one = data;

	if (one->ops->forget)
		one->ops->forget(one->arg);
	free(one);
}

int
builtin_register(struct builtins *b, struct catalog *c, const struct builtin_spec *spec,
		 struct err *e)
{
	const struct builtin_ops *ops = spec->ops;
	struct tool *t = NULL;

	CHECK(ops->make && ops->free && !ops->run == !!ops->start);
	struct builtin *one = malloc(sizeof(*one));
	if (!one) {
		if (ops->forget)
			ops->forget(spec->arg);
		return err_plain(e, E_NOMEM);
	}
	*one = (struct builtin){ops, spec->arg};
	int rc = tool_new(spec->card, &t, e);
	if (rc < 0) {
		builtin_forget(one);
		return rc;
	}
	t->repair_arguments = spec->repair_arguments;
	t->provider = &b->provider;
	t->provider_data = one;
	t->provider_free = builtin_forget;
	rc = catalog_add(c, t, e);
	if (rc == 0 && (rc = map_put(&b->registered, t->name, t)) < 0) {
		catalog_remove(c, t->name);
		err_plain(e, rc);
	}
	if (rc < 0)
		tool_unref(t); /* the catalog has its own reference */
	return rc;
}

int
builtin_unregister(struct builtins *b, struct catalog *c, struct str name)
{
	struct tool *t = map_remove(&b->registered, name);

	if (!t)
		return E_NOT_FOUND;
	if (catalog_find(c, name) == t) /* and not what is defined by it */
		catalog_remove(c, name);
	tool_unref(t);
	return 0;
}

static const struct {
	const char *card;
	const struct builtin_ops *ops;
} tools[] = {
    {"list_dir.json", &list_dir_ops},   {"patch_file.json", &patch_file_ops},
    {"read_file.json", &read_file_ops}, {"shell.json", &shell_ops},
    {"tool_view.json", &tool_view_ops}, {"write_file.json", &write_file_ops},
};

static struct str
card_of(const char *name)
{
	for (const struct embedded *f = embedded_cards; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f->bytes;
	BUG("a tool without its card");
}

int
builtin_register_all(struct builtins *b, struct catalog *c, struct artifacts *artifacts,
		     bool repair_arguments, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		struct builtin_spec spec = {.card = card_of(tools[i].card),
					    .ops = tools[i].ops,
					    .arg = artifacts,
					    .repair_arguments = repair_arguments};
		if (tools[i].ops == &tool_view_ops && !artifacts)
			continue;
		int rc = builtin_register(b, c, &spec, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void
builtin_repair_all(struct catalog *c, bool repair_arguments)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		struct str file = str_of(tools[i].card);
		struct tool *t = catalog_find(c, str_upto(file, file.len - strlen(".json")));
		if (t && !t->server.ptr)
			t->repair_arguments = repair_arguments;
	}
}
