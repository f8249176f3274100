/* config.c - reading the configuration file: settings of our own, and the form of all of it. */

#include "daemon/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/limits.h"
#include "base/near.h"
#include "base/paths.h"
#include "daemon/config_inside.h"
#include "schema/schema.h"

static const char *const keys[] = {
#define KEY(name, sentence) #name,
#include "../../tbl/config.def"
#undef KEY
};

/* What other clients have at the top of the same files. */
static const char *const foreign[] = {"globalShortcut", "inputs", "preferences", "scale",
				      "sandbox"};

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

unsigned
config__line(const struct config_reading *r, const struct json *value)
{
	size_t order = json_order(r->yaml->doc, value);

	return order > 0 && order <= r->yaml->count ? r->yaml->lines[order - 1]
						    : yaml_line(r->yaml, value);
}

void
config__warn(struct config_reading *r, const char *fmt, ...)
{
	struct buf text = BUF_INIT(1 * KIB);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	struct config *c = r->config;
	const char *kept = arena_strz(c->arena, buf_str(&text));
	if (kept && c->warning_count < ARRAY_LEN(c->warnings))
		c->warnings[c->warning_count++] = kept;
	buf_done(&text);
}

static bool
is_one_of(struct str key, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_is(key, names[i]))
			return true;
	return false;
}

static int
unknown_key(const struct config_reading *r, const struct json_iter *it)
{
	struct buf names = BUF_INIT(512);
	const char *near = NULL;
	unsigned best = NEAR_NONE;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		buf_addf(&names, "%s%s", i ? ", " : "", keys[i]);
		if (near_better(it->key, str_of(keys[i]), &best))
			near = keys[i];
	}
	err_set(r->err, E_CONFIG, "line %u: %.*s: there is no such setting%s%s%s (there are: %.*s)",
		config__line(r, it->value), STR_ARG(str_utf8_upto(it->key, 60)),
		near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "",
		STR_ARG(buf_str(&names)));
	buf_done(&names);
	return E_CONFIG;
}

static int
check_keys(struct config_reading *r, const struct json *root)
{
	for (struct json_iter it = json_iter(root); json_next(&it);) {
		bool ours = is_one_of(it.key, keys, ARRAY_LEN(keys)) || str_is(it.key, "$schema");
		if (!ours && !is_one_of(it.key, foreign, ARRAY_LEN(foreign)))
			return unknown_key(r, &it);
		if (!ours)
			config__warn(r, "line %u: %.*s: has no effect here",
				     config__line(r, it.value), STR_ARG(it.key));
	}
	return 0;
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

/* Names and ranges are left to the schema, which is asked behind this. */
static int
read_undo(const struct yaml *y, const struct json *v, struct config_undo *ret, struct err *e)
{
	*ret = (struct config_undo){.keep_mib = LIMIT_UNDO_MIB, .keep_days = LIMIT_UNDO_DAYS};
	if (v && !json_is(v, JSON_NULL) && !json_is(v, JSON_OBJECT))
		return err_set(e, E_CONFIG, "line %u: undo: must be a mapping", yaml_line(y, v));
	(void)json_int(json_get(v, S("keep_mib")), &ret->keep_mib);
	(void)json_int(json_get(v, S("keep_days")), &ret->keep_days);
	return 0;
}

/* The default workspace: the file's, or the one that was given. */
static int
read_workspace(const struct config_reading *r, const struct json *v, const char *given)
{
	struct config *c = r->config;
	struct str text = json_str(v);
	const char *wrong = NULL;

	if (!v) {
		c->workspace = given ? arena_strz(c->arena, str_of(given)) : NULL;
		return given && !c->workspace ? err_plain(r->err, E_NOMEM) : 0;
	}
	bool home = str_is(text, "~") || str_starts(text, S("~/"));
	if (!text.ptr)
		wrong = "must be a string";
	else if (home && !r->home)
		wrong = "'~' is not known here; write the whole path";
	else if (!home && !str_starts(text, S("/")))
		wrong = "must begin with '/' or '~/'";
	else if (str_index(text, '\0') >= 0)
		wrong = "is no path";
	if (wrong)
		return err_set(r->err, E_CONFIG, "line %u: workspace: %s", yaml_line(r->yaml, v),
			       wrong);
	c->workspace =
	    arena_printf(c->arena, "%s%.*s", home ? r->home : "", STR_ARG(str_from(text, home)));
	return c->workspace ? 0 : err_plain(r->err, E_NOMEM);
}

/* The form */

struct str
config_schema(void)
{
	return embedded_config[0].bytes;
}

/* Where in these a value could be a secret that was written down: it is not repeated. */
static bool
is_private(struct str pointer)
{
	static const char *const parts[] = {"/env/", "/headers/", "/args/",
					    "/url",  "/env",      "/headers"};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (memmem(pointer.ptr, pointer.len, parts[i], strlen(parts[i])))
			return true;
	return false;
}

/* "/mcpServers/a~1b/args/1" becomes "mcpServers.a/b.args[1]". */
static void
pointer_text(struct buf *out, struct str pointer)
{
	struct str part;
	uint64_t n;

	pointer = str_from(pointer, 1);
	while (str_split(&pointer, '/', &part)) {
		if (out->len && str_to_u64(part, &n)) {
			buf_addf(out, "[%.*s]", STR_ARG(part));
			continue;
		}
		buf_addz(out, out->len ? "." : "");
		for (size_t i = 0; i < part.len; i++) {
			bool escaped = part.ptr[i] == '~' && i + 1 < part.len;
			buf_addc(out, !escaped ? part.ptr[i] : part.ptr[++i] == '1' ? '/' : '~');
		}
	}
}

/* What it leads to, or would lead to in. */
static const struct json *
pointer_find(const struct json *root, struct str pointer)
{
	const struct json *found;

	while (!(found = json_pointer(root, pointer)) && pointer.len)
		do
			pointer.len--;
		while (pointer.len && pointer.ptr[pointer.len] != '/');
	return found;
}

/* An item of a list has no key before it. */
static unsigned
pointer_line(const struct config_reading *r, const struct json *root, struct str pointer)
{
	const struct json *v = pointer_find(root, pointer);
	size_t up = pointer.len;

	while (up > 0 && (up == pointer.len || pointer.ptr[up] != '/'))
		up--;
	bool item = json_is(json_pointer(root, str_upto(pointer, up)), JSON_ARRAY);
	return item ? yaml_line(r->yaml, v) : config__line(r, v);
}

static int
tell_misfit(const struct config_reading *r, const struct json *root, const struct json *error)
{
	struct str path = json_str(json_get(error, S("path")));
	struct str message = json_str(json_get(error, S("message")));
	struct buf where = BUF_INIT(512);
	const char *got = memmem(message.ptr, message.len, ", got ", 6);

	if (got && is_private(path))
		message.len = (size_t)(got - message.ptr);
	pointer_text(&where, path);
	err_set(r->err, E_CONFIG, "line %u: %.*s: %.*s", pointer_line(r, root, path),
		STR_ARG(str_utf8_upto(buf_str(&where), 200)), STR_ARG(str_utf8_upto(message, 600)));
	buf_done(&where);
	return E_CONFIG;
}

static int
compile(struct schema **ret, struct err *e)
{
	static const struct schema_options once = {.seldom = true};
	struct json_doc *doc;
	int code = json_parse(config_schema(), &json_door, &doc, e);

	if (code < 0)
		return code;
	code = schema_compile(doc, json_root(doc), &once, ret, e);
	json_doc_unref(doc);
	return code;
}

static int
check_form(const struct config_reading *r, const struct json *root)
{
	struct buf errors = BUF_INIT(LIMIT_SCHEMA_TEXT);
	struct json_doc *doc = NULL;
	struct schema *schema;
	int code = compile(&schema, r->err);

	if (code < 0)
		return code;
	if (schema_validate(schema, root, SCHEMA_JSON, &errors) < 0) {
		code = json_parse(buf_str(&errors), &json_door, &doc, r->err);
		code = code < 0 ? code : tell_misfit(r, root, json_at(json_root(doc), 0));
	}
	json_doc_unref(doc);
	schema_free(schema);
	buf_done(&errors);
	return code;
}

/* All of it. What is ours is read by hand first: its sentences are better than the schema's. */

static int
apply(struct config_reading *r, const char *workspace)
{
	const struct yaml *y = r->yaml;
	const struct json *root = json_root(y->doc);
	struct config *c = r->config;
	struct err *e = r->err;
	int code;

	if (!json_is(root, JSON_NULL) && !json_is(root, JSON_OBJECT))
		return err_set(e, E_CONFIG, "line %u: the file must be a mapping of settings",
			       yaml_line(y, root));
	if ((code = check_keys(r, root)) < 0 ||
	    (code = read_retention(y, json_get(root, S("retention_days")), &c->retention_days, e)) <
		0 ||
	    (code = read_tools(y, json_get(root, S("builtin")), "builtin", &c->builtin, e)) < 0 ||
	    (code = read_results(y, json_get(root, S("results")), &c->results, e)) < 0 ||
	    (code = read_undo(y, json_get(root, S("undo")), &c->undo, e)) < 0 ||
	    (code = read_workspace(r, json_get(root, S("workspace")), workspace)) < 0 ||
	    (code = policy_new(y, json_get(root, S("tool_confirmation")), r->home, &c->policy, e)) <
		0 ||
	    (code = config__hooks(r, json_get(root, S("hooks")))) < 0 ||
	    (code = check_form(r, root)) < 0 ||
	    (code = tunings_new(y, json_get(root, S("tools")), &c->tunings, e)) < 0 ||
	    (code = config__kernel(r, json_get(root, S("kernel")))) < 0 ||
	    (code = config__effects(r, root)) < 0 ||
	    (code = config__confinement(r, json_get(root, S("confinement")))) < 0 ||
	    (code = config__tenants(r, json_get(root, S("tenants")))) < 0)
		return code;
	config__turns(c, root);
	config__toolbox(c, json_get(root, S("toolbox")));
	if ((code = config__servers(r, root)) < 0)
		return code;
	return config__defined(r, root);
}

/* Put the file's name before what is wrong in it. */
static int
name_file(const char *path, int code, struct err *e)
{
	struct err inner = *e;

	return err_set(e, code, "%s: %s", path, err_text(&inner));
}

static int
parse(struct str text, const char *workspace, const char *state, struct config *ret, struct err *e)
{
	const char *home = getenv("HOME");
	struct buf plain = BUF_INIT(LIMIT_CONFIG_BYTES + 1);
	struct yaml y = {0};
	bool commented = json_blank_comments(text, &plain);
	int code = yaml_parse(commented ? buf_str(&plain) : text, LIMIT_CONFIG_BYTES, &y, e);

	if (code == 0) {
		struct config_reading r = {
		    .yaml = &y,
		    .config = ret,
		    .home = home && home[0] == '/' ? home : NULL,
		    .state = state,
		    .err = e,
		};
		code = apply(&r, workspace);
	}
	yaml_done(&y);
	buf_done(&plain);
	return code;
}

static int
begin(struct config *ret, struct err *e)
{
	*ret = (struct config){.arena = arena_new(LIMIT_CONFIG_ARENA)};
	return ret->arena ? 0 : err_plain(e, E_NOMEM);
}

int
config_read(struct str text, const char *workspace, struct config *ret, struct err *e)
{
	int code = begin(ret, e);

	return code < 0 ? code : parse(text, workspace, NULL, ret, e);
}

int
config_load(const struct config_source *from, struct config *ret, struct err *e)
{
	struct path standard;
	struct buf text = BUF_INIT(LIMIT_CONFIG_BYTES);
	int code;

	if ((code = begin(ret, e)) < 0)
		return code;
	if (!from->path && (code = path_config(&standard, e)) < 0)
		return code;
	const char *file = from->path ? from->path : standard.text;
	code = read_file(file, &text, e);
	if (code == 0)
		digest_bytes(buf_str(&text), ret->digest);
	if (code == 1 && from->path)
		code = err_set(e, E_CONFIG, "%s: no such file", from->path);
	if (code >= 0 && (code = parse(buf_str(&text), from->workspace, from->state, ret, e)) < 0)
		code = name_file(file, E_CONFIG, e);
	buf_done(&text);
	return code;
}

void
config_digest(const char *path, char out[static DIGEST_TEXT])
{
	struct buf text = BUF_INIT(LIMIT_CONFIG_BYTES);

	out[0] = '\0';
	if (read_file(path, &text, NULL) == 0)
		digest_bytes(buf_str(&text), out);
	buf_done(&text);
}

void
config_done(struct config *c)
{
	config__hooks_done(c);
	config__defined_done(c);
	kernel_index_unref(c->kernel.index);
	policy_free(c->policy);
	tunings_unref(c->tunings);
	json_doc_unref(c->tenants_doc);
	arena_free(c->arena);
	*c = (struct config){0};
}
