/* cmd_eval.c - how well tools are found: a catalog, queries with the right answers, and figures. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/term.h"
#include "json/write.h"
#include "search/learned.h"
#include "search/search.h"

#define LOGGED_USES 10 /* of one tool, each on a day of its own */
#define FIRST_DAY 20000

struct question {
	struct json_doc *doc; /* the texts are in it */
	struct str query;
	const struct json *relevant;
	bool logged; /* what use has taught, with --learn; the others are the exam */
};

struct exam {
	struct search *search;
	struct question *questions;
	size_t count, cap;
};

struct figures {
	size_t queries;
	double recall_1, recall_5, recall_10, mrr, ndcg_10;
	double us, us_p50, us_p99; /* per query */
};

/* ---- files of lines ---- */

typedef int line_function(struct exam *x, struct json_doc *doc, struct err *e); /* takes doc over */

static int
take_line(struct exam *x, struct str line, line_function *take, struct err *e)
{
	struct json_doc *doc;
	int rc = json_parse(line, &json_door, &doc, e);

	return rc < 0 ? rc : take(x, doc, e);
}

/* EXIT_FINE, or what is wrong was said. */
static int
read_lines(struct exam *x, const char *folder, const char *name, line_function *take)
{
	char path[LIMIT_PATH], *line = NULL;
	size_t room = 0, number = 0;
	ssize_t len;
	struct err e;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "re");
	if (!f)
		return refuse("%s: %s", path, strerror(errno)), EXIT_USAGE;
	while (rc == 0 && (len = getline(&line, &room, f)) >= 0) {
		struct str text = str_trim((struct str){line, (size_t)len});
		number++;
		if (text.len > 0)
			rc = take_line(x, text, take, &e);
	}
	free(line);
	fclose(f);
	if (rc < 0)
		refuse("%s: line %zu: %s", path, number, err_text(&e));
	return rc < 0 ? EXIT_USAGE : EXIT_FINE;
}

static int
take_tool(struct exam *x, struct json_doc *doc, struct err *e)
{
	const struct json *t = json_root(doc), *list = json_get(t, S("tags"));
	struct str tags[64];
	struct search_tool tool = {
	    .id = json_str(json_get(t, S("id"))),
	    .name = json_str(json_get(t, S("name"))),
	    .description = json_str(json_get(t, S("description"))),
	    .ns = json_str(json_get(t, S("namespace"))),
	    .ns_description = json_str(json_get(t, S("namespace_description"))),
	    .tags = tags,
	    .input_schema = json_get(t, S("input_schema")),
	};

	for (struct json_iter it = json_iter(list);
	     json_next(&it) && tool.tag_count < ARRAY_LEN(tags);)
		tags[tool.tag_count++] = json_str(it.value);
	int rc = tool.id.ptr ? search_add(x->search, &tool, 1, e)
			     : err_set(e, E_BAD_REQUEST, "a tool has an id");
	json_doc_unref(doc);
	return rc;
}

/* As it says itself, or by chance, but always the same way. */
static bool
is_logged(const struct json *from, struct str query)
{
	struct str split = json_str(json_get(from, S("split")));

	return split.ptr ? str_is(split, "dev") : str_hash(query) >> 7 & 1;
}

static int
take_question(struct exam *x, struct json_doc *doc, struct err *e)
{
	const struct json *from = json_root(doc), *relevant = json_get(from, S("relevant"));
	struct str query = json_str(json_get(from, S("query")));
	int rc = 0;

	if (!query.ptr || !json_is(relevant, JSON_ARRAY) || json_len(relevant) == 0)
		rc = err_set(e, E_BAD_REQUEST, "a line has a query, and which tools are relevant");
	if (rc == 0 && x->count == x->cap) {
		size_t cap = x->cap ? x->cap * 2 : 256;
		struct question *more = realloc(x->questions, cap * sizeof(*more));
		rc = more ? 0 : err_plain(e, E_NOMEM);
		x->questions = more ? more : x->questions;
		x->cap = more ? cap : x->cap;
	}
	if (rc < 0) {
		json_doc_unref(doc);
		return rc;
	}
	x->questions[x->count++] = (struct question){doc, query, relevant, is_logged(from, query)};
	return 0;
}

static void
exam_done(struct exam *x)
{
	for (size_t i = 0; i < x->count; i++)
		json_doc_unref(x->questions[i].doc);
	free(x->questions);
	search_free(x->search);
}

/* ---- one query ---- */

/* 1 / log2(rank + 1) */
static const double discounts[10] = {1.0,       0.6309298, 0.5,       0.4306766, 0.3868528,
				     0.3562072, 0.3333333, 0.3154649, 0.3010300, 0.2890648};

static bool
is_relevant(const struct question *q, struct str id)
{
	for (struct json_iter it = json_iter(q->relevant); json_next(&it);)
		if (str_eq(json_str(it.value), id))
			return true;
	return false;
}

static void
mark(struct figures *f, const struct question *q, const struct search_hit *hits, size_t count)
{
	double all = (double)json_len(q->relevant), gain = 0, ideal = 0, mrr = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_relevant(q, hits[i].id))
			continue;
		f->recall_1 += i < 1 ? 1 / all : 0;
		f->recall_5 += i < 5 ? 1 / all : 0;
		f->recall_10 += i < 10 ? 1 / all : 0;
		gain += i < 10 ? discounts[i] : 0;
		mrr = mrr > 0 ? mrr : 1.0 / (double)(i + 1);
	}
	for (size_t i = 0; i < json_len(q->relevant) && i < 10; i++)
		ideal += discounts[i];
	f->mrr += mrr;
	f->ndcg_10 += gain / ideal;
}

static double
now_us(void) /* of this thread: what other programs do is not counted */
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int
double_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
finish(struct figures *f, double *took)
{
	double *sums[] = {&f->recall_1, &f->recall_5, &f->recall_10, &f->mrr, &f->ndcg_10};

	if (f->queries == 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(sums); i++)
		*sums[i] /= (double)f->queries;
	for (size_t i = 0; i < f->queries; i++)
		f->us += took[i] / (double)f->queries;
	qsort(took, f->queries, sizeof(*took), double_cmp);
	f->us_p50 = took[f->queries / 2];
	f->us_p99 = took[f->queries * 99 / 100];
}

/* All questions, or with only_new those that are not in the log. */
static bool
examine(const struct exam *x, const struct learned *learned, bool only_new, struct figures *ret)
{
	struct search_options options = {.learned = learned};
	struct search_hit hits[SEARCH_MOST];
	double *took = malloc((x->count + 1) * sizeof(*took));

	*ret = (struct figures){0};
	for (size_t i = 0; took && i < x->count; i++) {
		const struct question *q = &x->questions[i];
		if (only_new && q->logged)
			continue;
		double start = now_us();
		size_t count = search_query(x->search, q->query, SEARCH_MOST, &options, hits);
		took[ret->queries++] = now_us() - start;
		mark(ret, q, hits, count);
	}
	if (took)
		finish(ret, took);
	free(took);
	return took != NULL;
}

/* ---- what use would have taught ---- */

static bool
learn(const struct exam *x, struct learned *l)
{
	size_t tools = search_count(x->search);
	uint32_t *uses = calloc(tools + 1, sizeof(*uses));

	for (size_t i = 0; uses && i < x->count; i++) {
		const struct question *q = &x->questions[i];
		for (struct json_iter it = json_iter(q->relevant); q->logged && json_next(&it);) {
			uint32_t tool = search_find(x->search, json_str(it.value));
			if (tool == SEARCH_NONE || uses[tool] == LOGGED_USES)
				continue;
			learned_note(l, x->search, q->query, json_str(it.value),
				     FIRST_DAY + uses[tool]++);
		}
	}
	free(uses);
	return uses != NULL;
}

/* ---- telling ---- */

static void
print_figures(const char *what, const struct figures *f)
{
	printf("%s%zu queries: recall@1 %.1f  @5 %.1f  @10 %.1f  mrr %.1f  ndcg@10 %.1f  "
	       "p50 %.1f us  p99 %.1f us\n",
	       what, f->queries, 100 * f->recall_1, 100 * f->recall_5, 100 * f->recall_10,
	       100 * f->mrr, 100 * f->ndcg_10, f->us_p50, f->us_p99);
}

static void
write_figures(struct jw *w, const struct figures *f)
{
	const struct {
		const char *name;
		double value;
	} rows[] = {
	    {"recall@1", f->recall_1}, {"recall@5", f->recall_5}, {"recall@10", f->recall_10},
	    {"mrr", f->mrr},           {"ndcg@10", f->ndcg_10},   {"us_per_query", f->us},
	    {"us_p50", f->us_p50},     {"us_p99", f->us_p99},
	};

	jw_member_int(w, "queries", (int64_t)f->queries);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		jw_key(w, rows[i].name);
		jw_double(w, (double)(int64_t)(rows[i].value * 1e4 + 0.5) / 1e4);
	}
}

static void
tell(const struct args *a, const struct exam *x, const struct figures *plain,
     const struct figures *taught)
{
	struct buf out = BUF_INIT(16 * KIB);
	struct jw w = jw(&out);

	if (!args_given(a, "json")) {
		printf("%zu tools\n", search_count(x->search));
		print_figures("", plain);
		if (taught)
			print_figures("with what use has taught: ", taught);
		return;
	}
	jw_object(&w);
	jw_member_int(&w, "tools", (int64_t)search_count(x->search));
	write_figures(&w, plain);
	if (taught) {
		jw_key(&w, "learned");
		jw_object(&w);
		write_figures(&w, taught);
		jw_end(&w);
	}
	jw_end(&w);
	text_print_json(stdout, buf_str(&out));
	buf_done(&out);
}

static int
hold(const struct args *a, struct exam *x)
{
	bool learning = args_given(a, "learn");
	struct figures plain, taught;
	struct learned *l = learning ? learned_new() : NULL;
	bool whole = examine(x, NULL, learning, &plain);

	if (learning)
		whole = whole && l && learn(x, l) && examine(x, l, true, &taught);
	learned_free(l);
	if (!whole)
		return refuse("there is not enough memory");
	tell(a, x, &plain, learning ? &taught : NULL);
	return EXIT_FINE;
}

int
cmd_eval_retrieval(const struct args *a)
{
	struct exam x = {.search = search_new()};
	int code;

	if (!x.search)
		return refuse("there is not enough memory");
	code = read_lines(&x, a->words[0], "catalog.jsonl", take_tool);
	if (code == EXIT_FINE)
		code = read_lines(&x, a->words[0], "queries.jsonl", take_question);
	if (code == EXIT_FINE)
		code = hold(a, &x);
	exam_done(&x);
	return code;
}
