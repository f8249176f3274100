/* config.c - reading the configuration file. */

#include "daemon/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/paths.h"

static const char *const keys[] = {
#define KEY(name, sentence) #name,
#include "../../tbl/config.def"
#undef KEY
};

/* Returns 1 when there is no such file. */
static int
read_file(const char *path, struct buf *out, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	if (fd < 0 && errno == ENOENT)
		return 1;
	if (fd < 0)
		return err_set(e, E_CONFIG, "%s: %s", path, strerror(errno));
	while (n > 0) {
		char *room = buf_room(out, 4096);
		n = room ? read(fd, room, 4096) : -1;
		out->len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (buf_failed(out))
		return err_set(e, E_CONFIG, "%s: larger than %zu bytes", path, LIMIT_CONFIG_BYTES);
	if (n < 0)
		return err_set(e, E_CONFIG, "%s: cannot be read", path);
	return 0;
}

static bool
known(struct str key)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (str_is(key, keys[i]))
			return true;
	return false;
}

static int
unknown_key(const struct yaml *y, const struct json_iter *it, struct err *e)
{
	struct buf names = BUF_INIT(256);

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		buf_addf(&names, "%s%s", i ? ", " : "", keys[i]);
	err_set(e, E_CONFIG, "line %u: %.*s: there is no such setting (there are: %.*s)",
		yaml_line(y, it->value), STR_ARG(str_utf8_upto(it->key, 60)),
		STR_ARG(buf_str(&names)));
	buf_done(&names);
	return E_CONFIG;
}

static int
read_retention(const struct yaml *y, const struct json *v, int64_t *ret, struct err *e)
{
	*ret = 90;
	if (!v || (json_int(v, ret) && *ret >= 1 && *ret <= 36500))
		return 0;
	return err_set(e, E_CONFIG,
		       "line %u: retention_days: must be a whole number from 1 to 36500",
		       yaml_line(y, v));
}

/* A group of tools; where is its name in the file. */
static int
read_tools(const struct yaml *y, const struct json *v, const char *where, struct config_tools *ret,
	   struct err *e)
{
	if (v && !json_is(v, JSON_NULL) && !json_is(v, JSON_OBJECT))
		return err_set(e, E_CONFIG, "line %u: %s: must be a mapping", yaml_line(y, v),
			       where);
	for (struct json_iter it = json_iter(v); json_next(&it);) {
		if (!str_is(it.key, "repair_arguments"))
			return err_set(e, E_CONFIG,
				       "line %u: %s.%.*s: there is no such key (there is: "
				       "repair_arguments)",
				       yaml_line(y, it.value), where,
				       STR_ARG(str_utf8_upto(it.key, 60)));
		if (!json_is(it.value, JSON_BOOL))
			return err_set(e, E_CONFIG,
				       "line %u: %s.repair_arguments: must be true or false",
				       yaml_line(y, it.value), where);
		ret->repair_arguments = json_bool(it.value);
	}
	return 0;
}

static int
read_redact(const struct yaml *y, const struct json *v, bool *ret, struct err *e)
{
	*ret = json_bool(v);
	if (json_is(v, JSON_BOOL))
		return 0;
	return err_set(e, E_CONFIG, "line %u: results.redact: must be true or false",
		       yaml_line(y, v));
}

/* One setting of results; a number unless it is redact. */
static int
read_result(const struct yaml *y, const struct json_iter *it, struct config_results *ret,
	    struct err *e)
{
	const struct {
		const char *name;
		int64_t *n;
		int64_t least, most;
	} numbers[] = {
	    {"max_bytes", &ret->max_bytes, 1024, LIMIT_RESULT_BYTES},
	    {"keep_hours", &ret->keep_hours, 1, 87600},
	    {"keep_mib", &ret->keep_mib, 1, 1048576},
	};
	size_t i = 0;

	if (str_is(it->key, "redact"))
		return read_redact(y, it->value, &ret->redact, e);
	while (i < ARRAY_LEN(numbers) && !str_is(it->key, numbers[i].name))
		i++;
	if (i == ARRAY_LEN(numbers))
		return err_set(e, E_CONFIG,
			       "line %u: results.%.*s: there is no such key (there are: max_bytes, "
			       "redact, keep_hours, keep_mib)",
			       yaml_line(y, it->value), STR_ARG(str_utf8_upto(it->key, 60)));
	if (json_int(it->value, numbers[i].n) && *numbers[i].n >= numbers[i].least &&
	    *numbers[i].n <= numbers[i].most)
		return 0;
	return err_set(e, E_CONFIG, "line %u: results.%s: must be a whole number from %lld to %lld",
		       yaml_line(y, it->value), numbers[i].name, (long long)numbers[i].least,
		       (long long)numbers[i].most);
}

static int
read_results(const struct yaml *y, const struct json *v, struct config_results *ret, struct err *e)
{
	int code = 0;

	*ret = (struct config_results){
	    .max_bytes = LIMIT_RESULT_SHOWN,
	    .redact = true,
	    .keep_hours = LIMIT_ARTIFACT_HOURS,
	    .keep_mib = LIMIT_ARTIFACTS_BYTES / MIB,
	};
	if (v && !json_is(v, JSON_NULL) && !json_is(v, JSON_OBJECT))
		return err_set(e, E_CONFIG, "line %u: results: must be a mapping", yaml_line(y, v));
	for (struct json_iter it = json_iter(v); code == 0 && json_next(&it);)
		code = read_result(y, &it, ret, e);
	return code;
}

static int
apply(const struct yaml *y, struct config *ret, struct err *e)
{
	const struct json *root = json_root(y->doc);

	if (!json_is(root, JSON_NULL) && !json_is(root, JSON_OBJECT))
		return err_set(e, E_CONFIG, "line %u: the file must be a mapping of settings",
			       yaml_line(y, root));
	for (struct json_iter it = json_iter(root); json_next(&it);)
		if (!known(it.key))
			return unknown_key(y, &it, e);
	int code = read_retention(y, json_get(root, S("retention_days")), &ret->retention_days, e);
	if (code == 0)
		code = read_tools(y, json_get(root, S("builtin")), "builtin", &ret->builtin, e);
	if (code == 0)
		code = read_results(y, json_get(root, S("results")), &ret->results, e);
	if (code < 0)
		return code;
	return policy_new(y, json_get(root, S("tool_confirmation")), getenv("HOME"), &ret->policy,
			  e);
}

/* Put the file's name before what is wrong in it. */
static int
name_file(const char *path, int code, struct err *e)
{
	struct err inner = *e;

	return err_set(e, code, "%s: %s", path, err_text(&inner));
}

int
config_load(const char *path, struct config *ret, struct err *e)
{
	struct path standard;
	struct buf text = BUF_INIT(LIMIT_CONFIG_BYTES);
	struct yaml y = {0};
	int code;

	if (!path && (code = path_config(&standard, e)) < 0)
		return code;
	const char *file = path ? path : standard.text;
	code = read_file(file, &text, e);
	if (code == 1 && path)
		code = err_set(e, E_CONFIG, "%s: no such file", path);
	if (code >= 0) {
		code = yaml_parse(buf_str(&text), LIMIT_CONFIG_BYTES, &y, e);
		if (code == 0)
			code = apply(&y, ret, e);
		if (code < 0)
			code = name_file(file, E_CONFIG, e);
	}
	yaml_done(&y);
	buf_done(&text);
	return code;
}

void
config_done(struct config *c)
{
	policy_free(c->policy);
	c->policy = NULL;
}
