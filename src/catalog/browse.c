/* browse.c - from a query or a path to cards. */

#include "catalog/browse.h"

#include <math.h>
#include <stdlib.h>

#include "base/limits.h"
#include "text/tokens.h"

/* Arguments. */

static int
check_args(const struct browse_args *args, struct err *e)
{
	if (!args->query.ptr == !args->path.ptr)
		return err_set(e, E_VALIDATION, "give either a query or a path%s",
			       args->query.ptr ? ", not both" : "");
	if (args->query.ptr && str_trim(args->query).len == 0)
		return err_set(e, E_VALIDATION, "the query is empty");
	if (args->top_k < 0 || args->top_k > BROWSE_TOP_K_MOST)
		return err_set(e, E_VALIDATION, "top_k must be from 1 to %d", BROWSE_TOP_K_MOST);
	return 0;
}

int
browse_args_read(const struct json *input, struct browse_args *ret, struct err *e)
{
	static const struct json_field fields[] = {
	    FIELD(struct browse_args, query, WANT_STR),
	    FIELD(struct browse_args, path, WANT_STR),
	    FIELD(struct browse_args, top_k, WANT_INT),
	};
	struct browse_args args = {.top_k = -1};
	int rc = json_fields(input, fields, ARRAY_LEN(fields), "", &args, e);

	if (rc < 0)
		return rc;
	if (args.top_k == 0) /* was given, and is not "not given" */
		args.top_k = BROWSE_TOP_K_MOST + 1;
	else if (args.top_k == -1 && !json_get(input, S("top_k")))
		args.top_k = 0;
	if ((rc = check_args(&args, e)) == 0)
		*ret = args;
	return rc;
}

/* Queries. */

static int
browse_query(const struct shelf *s, const struct browse_args *args, const struct browse_options *o,
	     struct browse_reply *r, struct err *e)
{
	struct shelf_hit hits[SEARCH_MOST];
	size_t k = args->top_k ? (size_t)args->top_k : BROWSE_TOP_K;

	r->count = shelf_search(s, args->query, k, o->learned, o->visible, o->arg, hits);
	r->cards = arena_alloc(r->arena, (r->count + 1) * sizeof(*r->cards));
	if (!r->cards)
		return err_plain(e, E_NOMEM);
	r->best = r->count ? hits[0].score : 0;
	for (size_t i = 0; i < r->count; i++) {
		r->cards[i] = hits[i].item->card;
		r->cards[i].has_score = true;
		r->cards[i].score = round(search_shown_score(hits[i].score) * 1e4) / 1e4;
	}
	return 0;
}

/* Paths. */

struct listing {
	const struct shelf *shelf;
	const struct browse_options *options;
	struct browse_reply *reply;
	size_t limit;
};

static bool
is_listed(const struct listing *l, const struct shelf_item *item)
{
	return !item->problem.ptr &&
	       (!l->options->visible || l->options->visible(item, l->options->arg));
}

#define ABOUT_LOOKED 100 /* tools one looks at for the description of their namespace */

/* What one may see of a group, and what is said of its namespace. */
static size_t
count_listed(const struct listing *l, const struct path_child *child, struct str *about)
{
	const struct path_tree *t = shelf_tree(l->shelf);
	bool all = !l->options->visible && shelf_problems(l->shelf) == 0;
	size_t count = 0, end = child->to;

	if (all && end - child->from > ABOUT_LOOKED)
		end = child->from + ABOUT_LOOKED;
	*about = (struct str){NULL, 0};
	for (size_t i = child->from; i < end; i++) {
		const struct shelf_item *item = shelf_item_of(t->leaves[i]);
		if (!is_listed(l, item))
			continue;
		count++;
		if (!about->ptr)
			*about = item->ns_description;
	}
	return all ? child->to - child->from : count;
}

/* "github issue" is /github/issue */
static char *
path_of(struct arena *a, struct str key)
{
	char *path = arena_printf(a, "/%.*s", STR_ARG(key));

	for (char *c = path; c && *c; c++)
		if (*c == ' ')
			*c = '/';
	return path;
}

static int
make_group(const struct listing *l, const struct path_child *child, size_t count, struct str about,
	   struct card *ret, struct err *e)
{
	struct arena *a = l->reply->arena;
	bool is_ns = child->key.len == child->name.len;
	const char *path = path_of(a, child->key);
	const char *text =
	    is_ns && about.len
		? arena_printf(a, "%zu tool%s: %.*s", count, count == 1 ? "" : "s", STR_ARG(about))
		: arena_printf(a, "%zu tool%s related to %.*s", count, count == 1 ? "" : "s",
			       STR_ARG(child->name));
	struct str rest = child->key, ns = child->key;

	if (!path || !text)
		return err_plain(e, E_NOMEM);
	str_split(&rest, ' ', &ns);
	const struct card_source from = {.id = str_of(path),
					 .name = child->name,
					 .description = str_of(text),
					 .ns = ns,
					 .kind = "internal"};
	return card_build(a, &from, ret, e);
}

/* The next card, or one more that there is no room for; nothing for what nobody may see. */
static int
list_card(const struct listing *l, const struct path_child *child, struct err *e)
{
	struct browse_reply *r = l->reply;
	const struct shelf_item *item = child->tool ? shelf_item_of(child->tool) : NULL;
	struct str about = {NULL, 0};
	size_t count = item ? is_listed(l, item) : count_listed(l, child, &about);
	int rc = 0;

	if (count == 0)
		return 0;
	if (r->count == l->limit) {
		r->left_out++;
		return 0;
	}
	if (item)
		r->cards[r->count] = item->card;
	else
		rc = make_group(l, child, count, about, &r->cards[r->count], e);
	r->count += rc == 0;
	return rc;
}

static int
list_cards(const struct listing *l, const struct path_node *n, struct err *e)
{
	struct path_child child = {.to = n->from};
	int rc = 0;

	while (rc == 0 && path_next(shelf_tree(l->shelf), n, &child))
		rc = list_card(l, &child, e);
	return rc;
}

static size_t
count_children(const struct path_tree *t, const struct path_node *n)
{
	struct path_child child = {.to = n->from};
	size_t count = 0;

	while (path_next(t, n, &child))
		count++;
	return count;
}

static int
browse_path(const struct shelf *s, const struct browse_args *args, const struct browse_options *o,
	    struct browse_reply *r, struct err *e)
{
	struct path_node n;
	struct listing l = {s, o, r, LIMIT_BROWSE_CARDS};
	int rc = path_find(shelf_tree(s), args->path, &n, e);

	if (rc < 0)
		return rc;
	size_t count = count_children(shelf_tree(s), &n);
	if (count < l.limit)
		l.limit = count;
	r->cards = arena_alloc(r->arena, (l.limit + 1) * sizeof(*r->cards));
	if (!r->cards)
		return err_plain(e, E_NOMEM);
	if ((rc = list_cards(&l, &n, e)) < 0)
		return rc;
	qsort(r->cards, r->count, sizeof(*r->cards), card_by_id);
	if (args->top_k && r->count > (size_t)args->top_k) {
		r->left_out += r->count - (size_t)args->top_k;
		r->count = (size_t)args->top_k;
	}
	/* What hides behind a filter is not there. */
	if (r->count == 0 && n.kind != PATH_ROOT)
		return err_set(e, E_NO_PATH, "there is nothing at %.*s",
			       STR_ARG(str_upto(args->path, 200)));
	return 0;
}

/* Replies. */

static void
render_line(struct buf *out, const struct browse_reply *r, size_t i, size_t n)
{
	card_render(out, &r->cards[i], i + 1, r->stable ? 0 : n);
	buf_addc(out, '\n');
}

/* Tokens a line has at most besides its card's: two of long numbers and one of its end. */
#define LINE_TOKENS 3

static bool
fits_surely(const struct browse_reply *r)
{
	size_t tokens = 0;

	for (size_t i = 0; i < r->count; i++)
		tokens += r->cards[i].tokens + LINE_TOKENS;
	return tokens <= CARD_CAP * r->count + CARD_PREAMBLE;
}

/* How many of the first n cards, as lines of a list of n. No token crosses the end of a line. */
static size_t
count_fitting(const struct browse_reply *r, size_t n, struct buf *line)
{
	size_t tokens = 0, fit = 0;

	for (size_t i = 0; i < n; i++) {
		buf_reset(line);
		render_line(line, r, i, n);
		tokens += tokens_count(buf_str(line));
		if (tokens <= CARD_CAP * (i + 1) + CARD_PREAMBLE)
			fit = i + 1;
	}
	return fit;
}

/* Section 2.3. A card keeps to its own cap; only numbers and line ends can be too many. */
static void
bound(struct browse_reply *r)
{
	struct buf line = BUF_INIT(LIMIT_CARD_BYTES);
	size_t fit = r->count;

	if (!fits_surely(r))
		fit = count_fitting(r, r->count, &line);
	if (fit < r->count) /* a list of fewer may have shorter numbers */
		fit = count_fitting(r, r->count - 1, &line);
	r->left_out += r->count - fit;
	r->count = fit;
	buf_done(&line);
}

/* Of the cards that fit; a marker is shorter than a card may be. */
static int
arrange(const struct shelf *s, const struct browse_args *args, const struct browse_options *o,
	struct browse_reply *r, struct err *e)
{
	size_t limit = args->top_k       ? (size_t)args->top_k
		       : args->query.ptr ? BROWSE_TOP_K
					 : r->count + 1;

	return browse_seen_arrange(o->seen, s, r->arena, r->cards, &r->count, limit, &r->left_out,
				   e);
}

static int
fill(const struct shelf *s, const struct browse_args *args, const struct browse_options *o,
     struct browse_reply *r, struct err *e)
{
	int rc = (args->query.ptr ? browse_query : browse_path)(s, args, o, r, e);

	r->stable = o->seen != NULL;
	if (rc < 0)
		return rc;
	bound(r);
	return o->seen ? arrange(s, args, o, r, e) : 0;
}

int
browse(const struct shelf *s, const struct browse_args *args, const struct browse_options *o,
       struct browse_reply *ret, struct err *e)
{
	static const struct browse_options none;
	struct browse_reply r = {0};
	int rc = check_args(args, e);

	if (rc < 0)
		return rc;
	if (!(r.arena = arena_new(LIMIT_BROWSE_BYTES)))
		return err_plain(e, E_NOMEM);
	rc = fill(s, args, o ? o : &none, &r, e);
	if (rc == 0)
		*ret = r;
	else
		browse_done(&r);
	return rc;
}

void
browse_done(struct browse_reply *r)
{
	arena_free(r->arena);
	*r = (struct browse_reply){0};
}

static void
write_disabled(struct jw *w, const struct browse_reply *r)
{
	jw_key(w, "not_enabled");
	jw_array(w);
	for (size_t i = 0; i < r->disabled_count; i++) {
		jw_object(w);
		jw_member(w, "name", r->disabled[i].name);
		jw_member(w, "description", r->disabled[i].description);
		jw_member_z(w, "why_unavailable", "disabled_for_agent");
		jw_end(w);
	}
	jw_end(w);
}

void
browse_write(struct jw *w, const struct browse_reply *r)
{
	jw_object(w);
	jw_key(w, "cards");
	jw_array(w);
	for (size_t i = 0; i < r->count; i++)
		card_write(w, &r->cards[i]);
	jw_end(w);
	if (r->left_out > 0)
		jw_member_int(w, "left_out", (int64_t)r->left_out);
	if (r->disabled_count > 0)
		write_disabled(w, r);
	jw_end(w);
}

void
browse_render(struct buf *out, const struct browse_reply *r)
{
	for (size_t i = 0; i < r->count; i++)
		render_line(out, r, i, r->count);
	if (r->disabled_count > 0)
		buf_addz(out,
			 "These would fit better, but are not enabled for this agent; a person "
			 "could enable them:");
	for (size_t i = 0; i < r->disabled_count; i++)
		buf_addf(out, "%s %.*s", i ? "," : "", STR_ARG(r->disabled[i].name));
	if (r->disabled_count > 0)
		buf_addc(out, '\n');
}
