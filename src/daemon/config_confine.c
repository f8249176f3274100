/* config_confine.c - the section `confinement`: what programs that are started here may reach. */

#include "daemon/config_inside.h"

static const char *const kinds[CONFINED__COUNT] = {"shell", "hooks", "plugins", "servers"};

const uint16_t *
config__ports(struct arena *a, const struct json *v, size_t *ret_count)
{
	uint16_t *ports = v ? arena_alloc(a, (json_len(v) + 1) * sizeof(*ports)) : NULL;
	int64_t n;

	*ret_count = 0;
	for (struct json_iter it = json_iter(v); ports && json_next(&it);)
		if (json_int(it.value, &n))
			ports[(*ret_count)++] = (uint16_t)n;
	return ports;
}

/* E_CONFIG: it is none that means the same everywhere. */
static int
read_path(const struct config_reading *r, const char *key, const struct json *v, const char **ret)
{
	struct str text = json_str(v);
	bool home = str_is(text, "~") || str_starts(text, S("~/"));

	if ((home && !r->home) || (!home && !str_starts(text, S("/"))) ||
	    str_index(text, '\0') >= 0)
		return err_set(r->err, E_CONFIG,
			       "line %u: confinement.%s: each must begin with '/' or '~/'",
			       yaml_line(r->yaml, v), key);
	*ret = arena_printf(r->config->arena, "%s%.*s", home ? r->home : "",
			    STR_ARG(str_from(text, home)));
	return *ret ? 0 : err_plain(r->err, E_NOMEM);
}

static int
read_paths(const struct config_reading *r, const struct json *section, const char *key,
	   const char *const **ret)
{
	const struct json *v = json_get(section, str_of(key));
	const char **list = arena_alloc(r->config->arena, (json_len(v) + 1) * sizeof(*list));
	size_t n = 0;
	int code = list ? 0 : err_plain(r->err, E_NOMEM);

	for (struct json_iter it = json_iter(v); code == 0 && json_next(&it);)
		code = read_path(r, key, it.value, &list[n++]);
	*ret = list;
	return code;
}

int
config__confinement(struct config_reading *r, const struct json *v)
{
	struct confine_settings *s = &r->config->confinement;
	const struct json *tcp = json_get(v, S("tcp"));
	int code;

	*s = confine_defaults;
	for (int i = 0; i < CONFINED__COUNT; i++) {
		enum confinement_profile p =
		    confine_profile(json_str(json_get(v, str_of(kinds[i]))));
		s->profiles[i] = p ? p : s->profiles[i];
	}
	if ((code = read_paths(r, v, "read", &s->read)) < 0 ||
	    (code = read_paths(r, v, "write", &s->write)) < 0)
		return code;
	s->tcp = config__ports(r->config->arena, tcp, &s->tcp_count);
	return tcp && !s->tcp ? err_plain(r->err, E_NOMEM) : 0;
}
