/* kinds.c - a table of gateways: who runs what was defined. */

#include "provider/kinds.h"

#include <stdlib.h>

#include "base/limits.h"
#include "provider/composio.h"

struct kinds {
	struct http_provider *http;
	struct builtins *builtins;
};

/* One being fitted. */
struct fitting {
	struct kinds *kinds;
	struct tool *tool;
	const struct definition *definition;
	const struct kinds_settings *settings;
	const struct variables *vars;
	struct err *err;
};

static int
fit_http(struct fitting *f)
{
	const struct definition *d = f->definition;

	if (!d->gateway_config)
		return err_set(f->err, E_VALIDATION, "gateway_config.url: is required");
	return http_fit(f->kinds->http, f->tool, d->doc, d->gateway_config, &f->settings->http,
			f->vars, f->err);
}

static int
fit_composio(struct fitting *f)
{
	return composio_fit(f->kinds->http, f->tool, f->definition, f->settings, f->err);
}

/* ---- internal ---- */

struct internal_config {
	struct str function;
	const struct json *idempotency_key_fields;
};

static const struct json_field internal_fields[] = {
    FIELD(struct internal_config, function, WANT_STR),
    FIELD(struct internal_config, idempotency_key_fields, WANT_ARRAY),
};

/* What the function can touch is not the definition's to say; what can be taken back is, where it
 * says so. The arguments have to fit both schemas (st_args.c). */
static void
internal_take(struct tool *t, const struct definition *d, struct tool *inner)
{
	t->inner = tool_ref(inner);
	t->capability = inner->capability;
	if (!d->policy_said)
		t->reversibility = inner->reversibility;
	if (!d->parameter_schema)
		t->input_schema = inner->input_schema;
	t->requires_workspace = inner->requires_workspace;
	t->path_arguments = inner->path_arguments;
	t->command_argument = inner->command_argument;
	t->memory = inner->memory;
	t->max_running = inner->max_running;
	t->timeout_ms = inner->timeout_ms;
	t->repair_arguments = inner->repair_arguments;
	t->provider = inner->provider;
	t->provider_data = inner->provider_data; /* which lives as long as inner */
}

static int
fit_internal(struct fitting *f)
{
	const struct definition *d = f->definition;
	struct internal_config config = {.function = d->name};

	if (d->gateway_config &&
	    json_fields(d->gateway_config, internal_fields, ARRAY_LEN(internal_fields),
			"gateway_config", &config, f->err) < 0) {
		if (f->err)
			f->err->code = E_VALIDATION;
		return E_VALIDATION;
	}
	struct tool *inner = builtin_find(f->kinds->builtins, config.function);
	if (!inner)
		return err_set(f->err, E_NOT_FOUND,
			       "gateway_config.function: no function '%.*s' is registered",
			       STR_ARG(str_utf8_upto(config.function, 64)));
	internal_take(f->tool, d, inner);
	return 0;
}

/* ---- all of them ---- */

static const struct {
	const char *name;
	int (*fit)(struct fitting *f);
} table[] = {
    {"http", fit_http},
    {"composio", fit_composio},
    {"internal", fit_internal},
};

bool
kinds_know(struct str gateway)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (str_is(gateway, table[i].name))
			return true;
	return false;
}

int
kinds_fit(struct kinds *k, struct tool *t, const struct definition *d,
	  const struct kinds_settings *settings, const struct variables *vars, struct err *e)
{
	struct fitting f = {k, t, d, settings, vars, e};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (str_is(d->gateway, table[i].name))
			return table[i].fit(&f);
	return err_set(e, E_VALIDATION, "Unknown gateway: %.*s", /* seed 004 section 7.2 */
		       STR_ARG(str_utf8_upto(d->gateway, 64)));
}

struct tool *
kinds_function(const struct kinds *k, struct str name)
{
	return builtin_find(k->builtins, name);
}

int
kinds_new(struct loop *l, struct builtins *b, struct kinds **ret, struct err *e)
{
	struct kinds *k = calloc(1, sizeof(*k));

	if (!k)
		return err_plain(e, E_NOMEM);
	k->builtins = b;
	int code = http_provider_new(l, &k->http, e);
	if (code < 0)
		free(k);
	else
		*ret = k;
	return code;
}

void
kinds_free(struct kinds *k)
{
	if (!k)
		return;
	http_provider_free(k->http);
	free(k);
}
