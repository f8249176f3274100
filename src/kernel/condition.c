/* condition.c - preconditions parsed, and held against a state. */

#include "kernel/condition.h"

struct condition_path {
	const char *name;
	bool (*flag)(const struct kernel_state *s); /* one of the two */
	size_t (*len)(const struct kernel_state *s);
};

static bool
accepted(const struct kernel_state *s)
{
	return s->accepted;
}

static bool
containment(const struct kernel_state *s)
{
	return s->containment;
}

static size_t
review_queue(const struct kernel_state *s)
{
	return s->review_count;
}

static const struct condition_path paths[] = {
    {"meta_locus.accepted", accepted, NULL},
    {"meta_locus.containment", containment, NULL},
    {"meta_locus.review_queue", NULL, review_queue},
};

static const struct {
	const char *before, *behind;
	enum condition_kind kind;
} forms[] = {
    [CONDITION_TRUE] = {"", "==true", CONDITION_TRUE},
    [CONDITION_EMPTY] = {"len(", ")==0", CONDITION_EMPTY},
    [CONDITION_SOME] = {"len(", ")>0", CONDITION_SOME},
};

/* Blanks mean nothing between words, and there is nowhere else they could stand. */
static bool
squeeze(struct str text, char *out, size_t size, struct str *ret)
{
	size_t len = 0;
	bool inside = false; /* of a word, before a blank */

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		bool word =
		    (c >= 'a' && c <= 'z') || c == '_' || c == '.' || (c >= '0' && c <= '9');
		if (c == ' ')
			continue;
		if (len + 1 >= size || (word && inside && i && text.ptr[i - 1] == ' '))
			return false;
		out[len++] = c;
		inside = word;
	}
	*ret = (struct str){out, len};
	return true;
}

static const struct condition_path *
path_find(struct str name, bool flag)
{
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (str_is(name, paths[i].name) && (paths[i].flag != NULL) == flag)
			return &paths[i];
	return NULL;
}

static int
refuse(struct str text, struct err *e)
{
	return err_set(e, E_VALIDATION,
		       "'%.*s' is no precondition: they are PATH == true, len(PATH) == 0 and "
		       "len(PATH) > 0, of meta_locus.accepted, .containment and .review_queue",
		       STR_ARG(str_utf8_upto(text, 120)));
}

int
condition_parse(struct str text, struct condition *ret, struct err *e)
{
	char room[128];
	struct str s;

	if (!squeeze(text, room, sizeof(room), &s))
		return refuse(text, e);
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct str before = str_of(forms[i].before), behind = str_of(forms[i].behind);
		if (s.len < before.len + behind.len || !str_starts(s, before) ||
		    !str_ends(s, behind))
			continue;
		struct str name =
		    str_upto(str_from(s, before.len), s.len - before.len - behind.len);
		const struct condition_path *path =
		    path_find(name, forms[i].kind == CONDITION_TRUE);
		if (path) {
			*ret = (struct condition){forms[i].kind, path};
			return 0;
		}
	}
	return refuse(text, e);
}

bool
condition_holds(const struct condition *c, const struct kernel_state *s)
{
	switch (c->kind) {
	case CONDITION_TRUE: return c->path->flag(s);
	case CONDITION_EMPTY: return c->path->len(s) == 0;
	case CONDITION_SOME: return c->path->len(s) > 0;
	}
	BUG("a condition of no kind");
}

void
condition_write(struct buf *out, const struct condition *c)
{
	static const char *const texts[] = {"%s == true", "len(%s) == 0", "len(%s) > 0"};
	struct str form = str_of(texts[c->kind]);
	size_t at = (size_t)str_index(form, '%');

	buf_add(out, str_upto(form, at));
	buf_addz(out, c->path->name);
	buf_add(out, str_from(form, at + 2));
}
