/* kernel.c - the kernel router through the public header, and where its packs are. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/paths.h"
#include "daemon/hf.h"

/* A word is a pack: as it is installed, or the one that is part of the program. */
int
hf__bundle(const char *name, struct json_doc **ret, struct err *e)
{
	struct path path;

	if (strchr(name, '/') || strchr(name, '.'))
		return bundle_read(name, ret, e);
	int n = snprintf(path.text, sizeof(path.text), "%s/%s/index.yaml", HOLDFAST_PACKS, name);
	if (n > 0 && (size_t)n < sizeof(path.text) && access(path.text, R_OK) == 0)
		return bundle_read(path.text, ret, e);
	if (strcmp(name, "potm") == 0)
		return bundle_standard(ret, e);
	return err_set(e, E_CONFIG, "there is no pack '%.100s'", name);
}

char *
hf_kernel_bundle(const char *index)
{
	struct kernel_index *x = NULL;
	struct json_doc *doc = NULL;
	struct buf text = BUF_INIT(LIMIT_KERNEL_BUNDLE);
	struct jw w = jw(&text);
	char *ret = NULL;
	struct err e;

	int code = hf__bundle(index, &doc, &e);
	if (code == 0 && (code = kernel_index_new(doc, NULL, &x, &e)) < 0) {
		struct err inner = e;
		err_set(&e, code, "%s: %s", index, err_text(&inner));
	}
	if (code == 0) {
		jw_value(&w, json_root(doc));
		ret = buf_failed(&text) ? NULL : str_dup(buf_str(&text));
		if (!ret)
			code = err_plain(&e, E_NOMEM);
	}
	if (code < 0)
		hf__open_failed(&e);
	kernel_index_unref(x);
	json_doc_unref(doc);
	buf_done(&text);
	return ret;
}

static struct session *
find_session(struct hf *hf, const char *id)
{
	struct session *s = session_find(hf->sessions, str_of(id));

	if (!s)
		err_set(&hf->err, E_NO_SESSION, "there is no open session '%s'", id);
	return s;
}

/* NULL stays NULL. */
static int
parse(const char *what, const char *text, struct json_doc **ret, struct err *e)
{
	struct err inner;

	*ret = NULL;
	if (!text || json_parse(str_of(text), &json_door, ret, &inner) == 0)
		return 0;
	return err_set(e, E_BAD_JSON, "%s: %s", what, err_text(&inner));
}

int
hf_kernel_open(struct hf *hf, const char *session, const char *bundle, const char *state)
{
	struct session *s = find_session(hf, session);
	struct json_doc *index = NULL, *initial = NULL;
	struct err e;

	if (!s)
		return E_NO_SESSION;
	int code = parse("bundle", bundle, &index, &e);
	if (code == 0)
		code = parse("state", state, &initial, &e);
	if (code == 0)
		code = kernels_open(hf->kernels, s, index, initial ? json_root(initial) : NULL, &e);
	json_doc_unref(index);
	json_doc_unref(initial);
	return code < 0 ? hf__fail(hf, &e) : 0;
}

struct waiting {
	hf_emission_fn done;
	void *arg;
};

static void
emitted(const struct emission *emission, void *arg)
{
	struct waiting *w = arg;

	if (emission)
		w->done(emission->text.ptr, emission->text.len, emission->ok, w->arg);
	else
		w->done(NULL, 0, false, w->arg);
	free(w);
}

int
hf_kernel(struct hf *hf, const char *session, const char *envelope, size_t len, hf_emission_fn done,
	  void *arg)
{
	struct session *s = find_session(hf, session);
	struct waiting *w = s ? malloc(sizeof(*w)) : NULL;
	struct err e;

	if (!s)
		return E_NO_SESSION;
	if (!w)
		return err_plain(&hf->err, E_NOMEM);
	*w = (struct waiting){done, arg};
	int code =
	    kernels_ask(hf->kernels, s, (struct str){envelope, len}, true, emitted, w, NULL, &e);
	if (code < 0) {
		free(w);
		return hf__fail(hf, &e);
	}
	return 0;
}
