/* path.c - walking through tools that stand in the order of their keys. */

#include "catalog/path.h"

/* The grammar. */

static bool
is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool
is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_segment(struct str s)
{
	if (s.len == 0 || s.len > PATH_SEGMENT || !(is_lower(s.ptr[0]) || is_digit(s.ptr[0])))
		return false;
	for (size_t i = 1; i < s.len; i++)
		if (!is_lower(s.ptr[i]) && !is_digit(s.ptr[i]) && s.ptr[i] != '_' &&
		    s.ptr[i] != '-')
			return false;
	return true;
}

static int
check_segment(struct str s, size_t index, bool last, struct err *e)
{
	struct str shown = str_utf8_upto(s, 80);

	if (s.len == 0)
		return err_set(e, E_BAD_PATH, "segment %zu of the path is empty", index + 1);
	if (str_is(s, "*"))
		return last ? 0 : err_set(e, E_BAD_PATH, "'*' can only be the last segment");
	if (index == 0 && !is_lower(s.ptr[0]))
		return err_set(e, E_BAD_PATH,
			       "'%.*s' is no namespace: it begins with a letter from a to z",
			       STR_ARG(shown));
	if (!is_segment(s))
		return err_set(e, E_BAD_PATH,
			       "'%.*s' is no segment: it is up to %d of a-z, 0-9, '_' and '-', and "
			       "begins with a letter or digit",
			       STR_ARG(shown), PATH_SEGMENT);
	return 0;
}

int
path_check(struct str path, struct err *e)
{
	struct str rest = str_from(path, 1), segment;
	int rc = 0;

	if (path.len == 0)
		return err_set(e, E_BAD_PATH, "the path is empty; '/' is the root");
	if (path.ptr[0] != '/')
		return err_set(e, E_BAD_PATH, "a path begins with '/'");
	if (path.len > 1 && path.ptr[path.len - 1] == '/')
		return err_set(e, E_BAD_PATH, "a path does not end with '/'");
	for (size_t i = 0; rc == 0 && rest.len > 0 && str_split(&rest, '/', &segment); i++)
		rc = check_segment(segment, i, rest.len == 0, e);
	return rc;
}

/* Words. */

static bool
is_word_char(char c)
{
	return is_lower(c) || is_upper(c) || is_digit(c);
}

/* Does a new word begin at i, inside a run of letters? createIssue, HTTPServer */
static bool
is_hump(struct str s, size_t i)
{
	if (!is_upper(s.ptr[i]))
		return false;
	return !is_upper(s.ptr[i - 1]) || (i + 1 < s.len && is_lower(s.ptr[i + 1]));
}

/* Take the first word off the front of *rest; false when there is none. */
static bool
take_word(struct str *rest, struct str *ret)
{
	size_t from = 0, to;

	while (from < rest->len && !is_word_char(rest->ptr[from]))
		from++;
	if (from == rest->len)
		return false;
	for (to = from + 1; to < rest->len && is_word_char(rest->ptr[to]); to++)
		if (is_hump(*rest, to))
			break;
	*ret = str_upto(str_from(*rest, from), to - from);
	*rest = str_from(*rest, to);
	return true;
}

static void
add_lower(struct buf *out, struct str word)
{
	for (size_t i = 0; i < word.len; i++)
		buf_addc(out, (char)(is_upper(word.ptr[i]) ? word.ptr[i] + 32 : word.ptr[i]));
}

/* The namespace in front says nothing here, unless it is all there is. */
static struct str
without_ns(struct str name, struct str ns)
{
	struct str rest = name, word, next, after;

	while (take_word(&rest, &word) && str_eq_nocase(word, ns)) {
		after = rest;
		if (!take_word(&after, &next))
			break;
		name = rest;
	}
	return name;
}

#define HASH_CHARS 8

static void
cut_segment(struct buf *out, size_t start)
{
	uint32_t hash = (uint32_t)str_hash(str_from(buf_str(out), start));

	if (buf_failed(out))
		return;
	out->len = start + PATH_SEGMENT - HASH_CHARS - 1;
	while (out->ptr[out->len - 1] == '_')
		out->len--;
	buf_addf(out, "_%08x", hash);
}

void
path_segment(struct buf *out, struct str ns, struct str name)
{
	size_t start = out->len;
	struct str rest = without_ns(name, ns), word;

	while (take_word(&rest, &word)) {
		if (out->len > start)
			buf_addc(out, '_');
		add_lower(out, word);
	}
	if (out->len == start)
		buf_addz(out, "tool"); /* of a name without letters and digits */
	if (out->len - start > PATH_SEGMENT)
		cut_segment(out, start);
}

/* Verbs that names of tools begin with. */
static const char verbs[] =
    " activate add append apply approve archive assign attach browse bulk cancel check clear close "
    "commit compare complete compute configure convert copy count create deactivate delete deploy "
    "describe detach disable download edit enable execute export fetch filter find generate get "
    "import insert invite invoke join kill launch leave list load lock lookup mark merge modify "
    "move open parse patch ping pin post preview publish pull push put query read rebuild register "
    "reject remove rename replace reply request reset resolve restart restore resume retrieve "
    "revert revoke rotate run save scan schedule search select send set share show snooze start "
    "stop submit subscribe summarize suspend sync tail test toggle transfer translate trigger "
    "unarchive unassign undo unlock unpin unsubscribe update upload upsert validate verify view "
    "watch write ";

static bool
is_verb(struct str word)
{
	const char *found = memmem(verbs, sizeof(verbs) - 1, word.ptr, word.len);

	while (found && !(found[-1] == ' ' && found[word.len] == ' '))
		found = memmem(found + 1, (size_t)(verbs + sizeof(verbs) - 1 - found - 1), word.ptr,
			       word.len);
	return found != NULL;
}

/* How a plural ends, and what to take off and put on; the first that fits. */
static const struct {
	const char *end;
	size_t off;
	const char *on;
} plurals[] = {
    {"ss", 0, ""},   {"us", 0, ""},   {"is", 0, ""},  {"ies", 3, "y"}, {"ches", 2, ""},
    {"shes", 2, ""}, {"sses", 2, ""}, {"xes", 2, ""}, {"s", 1, ""},
};

static void
add_singular(struct buf *out, struct str word)
{
	for (size_t i = 0; word.len > 3 && i < ARRAY_LEN(plurals); i++)
		if (str_ends(word, str_of(plurals[i].end))) {
			buf_add(out, str_upto(word, word.len - plurals[i].off));
			buf_addz(out, plurals[i].on);
			return;
		}
	buf_add(out, word);
}

void
path_key(struct buf *out, struct str ns, struct str segment)
{
	struct str rest = segment, word, verb = {NULL, 0};

	buf_add(out, ns);
	if (take_word(&rest, &word) && rest.len > 0 && is_verb(word))
		verb = word;
	else
		rest = segment;
	while (take_word(&rest, &word)) {
		buf_addc(out, ' ');
		add_singular(out, word);
	}
	if (verb.ptr) {
		buf_addc(out, ' ');
		add_singular(out, verb);
	}
}

/* The tree. */

int
path_leaf_cmp(const struct path_leaf *a, const struct path_leaf *b)
{
	int d = str_cmp(a->key, b->key);

	if (d == 0)
		d = str_cmp(a->segment, b->segment);
	return d ? d : str_cmp(a->id, b->id);
}

/* The word of a tool's key that begins at skip; empty when it has no more. */
static struct str
word_at(const struct path_tree *t, size_t i, size_t skip)
{
	struct str rest = str_from(t->leaves[i]->key, skip), word = {"", 0};

	str_split(&rest, ' ', &word);
	return word;
}

/* In from..to, whose tools share their keys up to skip: the first whose next word is not less. */
static size_t
first_not_less(const struct path_tree *t, size_t from, size_t to, size_t skip, struct str word)
{
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (str_cmp(word_at(t, middle, skip), word) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static size_t
first_greater(const struct path_tree *t, size_t from, size_t to, size_t skip, struct str word)
{
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (str_cmp(word_at(t, middle, skip), word) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The next word where all tools of the node have the same; else empty. */
static struct str
shared_word(const struct path_tree *t, const struct path_node *n, size_t skip)
{
	struct str first = word_at(t, n->from, skip);

	return str_eq(first, word_at(t, n->to - 1, skip)) ? first : S("");
}

static bool
is_grouped(const struct path_node *n)
{
	return n->to - n->from > PATH_LEVEL;
}

static bool
narrow(const struct path_tree *t, struct path_node *n, size_t skip, struct str word)
{
	size_t from = first_not_less(t, n->from, n->to, skip, word);
	size_t to = first_greater(t, from, n->to, skip, word);

	if (from == to)
		return false;
	*n = (struct path_node){PATH_GROUP, from, to, skip + word.len + 1};
	return true;
}

/* A word that all have is no group in a list, but it may be said. */
static bool
enter_group(const struct path_tree *t, struct path_node *n, struct str segment)
{
	struct buf singular = BUF_INIT(2 * PATH_SEGMENT);
	size_t skip = n->skip;
	bool found;

	add_singular(&singular, segment);
	while (!(found = narrow(t, n, skip, buf_str(&singular)))) {
		struct str shared = shared_word(t, n, skip);
		if (shared.len == 0)
			break;
		skip += shared.len + 1;
	}
	buf_done(&singular);
	return found;
}

static size_t
first_leaf(const struct path_tree *t, const struct path_node *n, const struct path_leaf *wanted)
{
	size_t from = n->from, to = n->to;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (path_leaf_cmp(t->leaves[middle], wanted) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool
enter_tool(const struct path_tree *t, struct path_node *n, struct str said)
{
	struct buf segment = BUF_INIT(4 * PATH_SEGMENT), key = BUF_INIT(8 * PATH_SEGMENT);
	struct str ns = word_at(t, n->from, 0);

	path_segment(&segment, ns, said);
	path_key(&key, ns, buf_str(&segment));
	struct path_leaf wanted = {S(""), buf_str(&key), buf_str(&segment)};
	size_t from = first_leaf(t, n, &wanted), to = from;
	while (to < n->to && str_eq(t->leaves[to]->key, wanted.key) &&
	       str_eq(t->leaves[to]->segment, wanted.segment))
		to++;
	if (from < to)
		*n = (struct path_node){PATH_TOOL, from, to, 0};
	buf_done(&segment);
	buf_done(&key);
	return from < to;
}

/* What a list of the node shows under this name comes first. */
static bool
enter(const struct path_tree *t, struct path_node *n, struct str segment)
{
	switch (n->kind) {
	case PATH_ROOT: return narrow(t, n, 0, segment);
	case PATH_TOOL: return false;
	case PATH_GROUP: break;
	}
	if (is_grouped(n))
		return enter_group(t, n, segment) || enter_tool(t, n, segment);
	return enter_tool(t, n, segment) || enter_group(t, n, segment);
}

int
path_find(const struct path_tree *t, struct str path, struct path_node *ret, struct err *e)
{
	struct path_node n = {PATH_ROOT, 0, t->count, 0};
	struct str rest = str_from(path, 1), segment;
	int rc = path_check(path, e);

	if (rc < 0)
		return rc;
	while (rest.len > 0 && str_split(&rest, '/', &segment) && !str_is(segment, "*"))
		if (n.from == n.to || !enter(t, &n, segment)) {
			struct str shown = str_upto(path, 200); /* ASCII, as was checked */
			return err_set(e, E_NO_PATH, "there is nothing at %.*s", STR_ARG(shown));
		}
	*ret = n;
	return 0;
}

static void
set_tool(struct path_child *child, const struct path_tree *t, size_t i)
{
	*child = (struct path_child){.tool = t->leaves[i], .from = i, .to = i + 1};
}

bool
path_next(const struct path_tree *t, const struct path_node *n, struct path_child *child)
{
	size_t from = child->to, skip = n->skip;
	struct str shared;

	if (from >= n->to)
		return false;
	if (n->kind == PATH_TOOL || (n->kind == PATH_GROUP && !is_grouped(n))) {
		set_tool(child, t, from);
		return true;
	}
	while (n->kind == PATH_GROUP && (shared = shared_word(t, n, skip)).len > 0)
		skip += shared.len + 1;
	struct str word = word_at(t, from, skip);
	size_t to = first_greater(t, from, n->to, skip, word);
	if (n->kind == PATH_GROUP && (word.len == 0 || to - from == 1)) {
		set_tool(child, t, from);
		return true;
	}
	struct str key = str_upto(t->leaves[from]->key, skip + word.len);
	*child = (struct path_child){.from = from, .to = to, .name = word, .key = key};
	return true;
}
