/* bundle.c - an index and the schemas it refers to, read into one JSON object. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/file.h"
#include "json/yaml.h"
#include "kernel/index.h"

/* Where the files of an index come from. */
struct source {
	int (*read)(const struct source *s, struct str name, struct buf *out, struct err *e);
	int dir; /* of files */
	const struct embedded *table;
};

static int
read_embedded(const struct source *s, struct str name, struct buf *out, struct err *e)
{
	for (ptrdiff_t slash; (slash = str_index(name, '/')) >= 0;)
		name = str_from(name, (size_t)slash + 1);
	for (const struct embedded *f = s->table; f->name; f++)
		if (str_is(name, f->name)) {
			buf_add(out, f->bytes);
			return buf_failed(out) ? err_plain(e, E_NOMEM) : 0;
		}
	return err_set(e, E_CONFIG, "%.*s: no such file", STR_ARG(name));
}

/* What an index refers to lies beside it, or below. */
static bool
lies_below(struct str name)
{
	struct str part, rest = name;
	size_t parts = 0;

	while (str_split(&rest, '/', &part)) {
		parts++;
		if (part.len == 0 || str_is(part, ".."))
			return false;
	}
	return parts > 0 && str_index(name, '\0') < 0;
}

static int
read_below(const struct source *s, struct str name, struct buf *out, struct err *e)
{
	char *path = lies_below(name) ? str_dup(name) : NULL;
	int code = 0;

	if (!path)
		return err_set(e, E_CONFIG, "%.*s: must be a file beside the index, or below it",
			       STR_ARG(str_utf8_upto(name, 120)));
	int fd = openat(s->dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		code = err_set(e, E_CONFIG, "%s: %s", path, strerror(errno));
	else if (!file_slurp(fd, out))
		code = err_set(e, E_CONFIG, "%s: cannot be read, or is larger than %zu bytes", path,
			       LIMIT_SCHEMA_BYTES);
	if (fd >= 0)
		close(fd);
	free(path);
	return code;
}

static int
add_schema(struct jw *w, const struct source *s, struct str ref, struct err *e)
{
	struct buf text = BUF_INIT(LIMIT_SCHEMA_BYTES);
	struct json_doc *doc = NULL;
	struct err inner;
	int code = s->read(s, ref, &text, e);

	if (code == 0 && json_parse(buf_str(&text), &json_door, &doc, &inner) < 0)
		code = err_set(e, E_CONFIG, "%.*s: %s", STR_ARG(str_utf8_upto(ref, 120)),
			       err_text(&inner));
	if (code == 0) {
		jw_key_str(w, ref);
		jw_value(w, json_root(doc));
	}
	json_doc_unref(doc);
	buf_done(&text);
	return code;
}

/* Schemas that are in the bundle already: two entries may share one. */
struct refs {
	struct str seen[LIMIT_KERNEL_TOOLS * 4];
	size_t count;
};

static int
add_refs(struct jw *w, const struct source *s, const struct json *object, struct refs *refs,
	 struct err *e)
{
	static const char *const keys[] = {"payload_schema_ref", "result_schema_ref"};
	int code = 0;

	for (size_t i = 0; code == 0 && i < ARRAY_LEN(keys); i++) {
		struct str ref = json_str(json_get(object, str_of(keys[i])));
		size_t at = 0;
		while (at < refs->count && !str_eq(refs->seen[at], ref))
			at++;
		if (!ref.ptr || at < refs->count)
			continue;
		if (refs->count == ARRAY_LEN(refs->seen))
			return err_set(e, E_LIMIT, "too many schemas");
		refs->seen[refs->count++] = ref;
		code = add_schema(w, s, ref, e);
	}
	return code;
}

static int
add_schemas(struct jw *w, const struct source *s, const struct json *index, struct err *e)
{
	struct refs *refs = calloc(1, sizeof(*refs));
	int code = refs ? 0 : err_plain(e, E_NOMEM);

	jw_object(w);
	for (struct json_iter it = json_iter(index); code == 0 && json_next(&it);) {
		code = add_refs(w, s, it.value, refs, e);
		if (code == 0)
			code = add_refs(w, s, json_get(it.value, S("validator")), refs, e);
	}
	jw_end(w);
	free(refs);
	return code;
}

/* The file's members as they are, and the schemas beside them. */
static int
bundle_text(struct buf *out, const struct source *s, const struct json *root, struct err *e)
{
	struct jw w = jw(out);

	if (!json_is(root, JSON_OBJECT) || json_get(root, S("schemas")))
		return err_set(e, E_CONFIG, "must be a mapping with tool.index, and no schemas");
	jw_object(&w);
	for (struct json_iter it = json_iter(root); json_next(&it);) {
		jw_key_str(&w, it.key);
		jw_value(&w, it.value);
	}
	jw_key(&w, "schemas");
	int code = add_schemas(&w, s, json_get(root, S("tool.index")), e);
	jw_end(&w);
	if (code == 0 && buf_failed(out))
		return err_set(e, E_LIMIT, "is larger than %zu bytes, with its schemas",
			       LIMIT_KERNEL_BUNDLE);
	return code;
}

static int
bundle_make(const struct source *s, struct str index, struct json_doc **ret, struct err *e)
{
	struct buf text = BUF_INIT(LIMIT_KERNEL_BUNDLE);
	struct yaml y = {0};
	int code = yaml_parse(index, LIMIT_KERNEL_BUNDLE, &y, e);

	if (code == 0)
		code = bundle_text(&text, s, json_root(y.doc), e);
	if (code == 0)
		code = json_parse(buf_str(&text), &json_door, ret, e);
	yaml_done(&y);
	buf_done(&text);
	return code;
}

int
bundle_standard(struct json_doc **ret, struct err *e)
{
	struct source s = {.read = read_embedded, .table = embedded_potm};
	struct buf index = BUF_INIT(LIMIT_KERNEL_BUNDLE);
	int code = read_embedded(&s, S("index.yaml"), &index, e);

	if (code == 0)
		code = bundle_make(&s, buf_str(&index), ret, e);
	buf_done(&index);
	return code;
}

static int
folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? str_dup((struct str){path, (size_t)(slash - path) + 1}) : NULL;
	int fd = open(folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	free(folder);
	return fd;
}

int
bundle_read(const char *path, struct json_doc **ret, struct err *e)
{
	struct source s = {.read = read_below, .dir = folder_of(path)};
	struct buf index = BUF_INIT(LIMIT_KERNEL_BUNDLE);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code = 0;
	struct err inner;

	if (fd < 0 || s.dir < 0)
		code = err_set(&inner, E_CONFIG, "%s", strerror(errno));
	else if (!file_slurp(fd, &index))
		code = err_set(&inner, E_CONFIG, "cannot be read, or is larger than %zu bytes",
			       LIMIT_KERNEL_BUNDLE);
	else
		code = bundle_make(&s, buf_str(&index), ret, &inner);
	if (fd >= 0)
		close(fd);
	if (s.dir >= 0)
		close(s.dir);
	buf_done(&index);
	return code < 0 ? err_set(e, code, "%s: %s", path, err_text(&inner)) : 0;
}
