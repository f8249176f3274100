/*
 * bench_catalog.c - finding tools: microseconds per query, and what the index costs.
 *
 * The tools are made up, always the same ones: words drawn from data/search/meaning_words.txt (its
 * order is that of their frequency) as often as words are, one in eight of them a name that occurs
 * nowhere else or in one server only. A tool has a name of three words, a description of a dozen,
 * and three parameters with a few words each; a server has fifty. A query takes half of its words
 * from a tool and half from anywhere, eight to forty of them with those that say nothing between,
 * and every third has several sentences.
 *
 * usage: bench_catalog WORDS
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"
#include "json/write.h"
#include "search/search.h"

#define QUERIES 2000
#define PER_SERVER 50

static void
give_up(const char *what, const char *why)
{
	fprintf(stderr, "bench_catalog: %s: %s\n", what, why);
	exit(1);
}

/* ---- words ---- */

#define VOCABULARY 10000
static struct str vocabulary[VOCABULARY];
static uint64_t state = 1;

static uint32_t
chance(uint32_t below) /* xorshift64* */
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * 0x2545f4914f6cdd1du >> 32) * below >> 32);
}

static void
read_vocabulary(const char *path)
{
	static struct buf text = BUF_INIT(MIB);
	FILE *f = fopen(path, "rb");
	char *room = buf_room(&text, MIB);

	if (!f || !room)
		give_up(path, "cannot be read");
	text.len = fread(room, 1, MIB, f);
	fclose(f);
	struct str rest = buf_str(&text);
	for (size_t i = 0; i < VOCABULARY; i++)
		if (!str_split(&rest, '\n', &vocabulary[i]))
			give_up(path, "has too few words");
}

/* The n-th is said a n-th as often as the first, about. */
static struct str
any_word(void)
{
	uint32_t bits = chance(14), low = 1u << bits;
	uint32_t at = low - 1 + chance(low);

	return vocabulary[at < VOCABULARY ? at : chance(VOCABULARY)];
}

static void
add_word(struct buf *out, uint32_t server)
{
	if (out->len > 0)
		buf_addc(out, ' ');
	switch (chance(16)) {
	case 0: buf_addf(out, "brand%c%u", 'a' + (int)chance(26), server); break;
	case 1: buf_addf(out, "thing%c%u", 'a' + (int)chance(26), chance(1u << 20)); break;
	default: buf_add(out, any_word()); break;
	}
}

static void
add_words(struct buf *out, size_t count, uint32_t server)
{
	while (count-- > 0)
		add_word(out, server);
}

/* ---- tools ---- */

#define BATCH 100

struct made {
	struct buf id, name, description, ns, schema;
	struct json_doc *doc;
};

static struct made batch[BATCH];
static struct buf descriptions[LIMIT_TOOLS + BATCH]; /* queries are made of them */

static void
write_schema(struct buf *out, uint32_t server)
{
	struct jw w = jw(out);

	jw_object(&w), jw_key(&w, "properties"), jw_object(&w);
	for (int i = 0; i < 3; i++) {
		char key[64];
		struct buf words = BUF_INIT(KIB);
		snprintf(key, sizeof(key), "%.*s_%d", STR_ARG(any_word()), i);
		add_words(&words, 6, server);
		jw_key(&w, key), jw_object(&w);
		jw_member(&w, "description", buf_str(&words));
		jw_end(&w);
		buf_done(&words);
	}
	jw_end(&w), jw_end(&w);
}

static struct search_tool
make_tool(struct made *m, size_t number)
{
	uint32_t server = (uint32_t)(number / PER_SERVER);
	struct err e;

	m->id = m->name = m->ns = BUF_INIT(KIB);
	m->description = m->schema = BUF_INIT(16 * KIB);
	buf_addf(&m->id, "server%u:tool%zu", server, number);
	buf_addf(&m->ns, "branda%u", server);
	add_words(&m->name, 3, server);
	add_words(&m->description, 12, server);
	write_schema(&m->schema, server);
	if (json_parse(buf_str(&m->schema), &json_door, &m->doc, &e) < 0)
		give_up("schema", err_text(&e));
	return (struct search_tool){.id = buf_str(&m->id),
				    .name = buf_str(&m->name),
				    .description = buf_str(&m->description),
				    .ns = buf_str(&m->ns),
				    .input_schema = json_root(m->doc)};
}

static void
made_done(struct made *m, size_t number)
{
	json_doc_unref(m->doc);
	buf_done(&m->id);
	buf_done(&m->name);
	buf_done(&m->ns);
	buf_done(&m->schema);
	buf_done(&descriptions[number]);
	descriptions[number] = buf_take(&m->description);
}

/* Microseconds that adding took, without making them. */
static uint64_t
add_batch(struct search *s, size_t from)
{
	struct search_tool tools[BATCH];
	struct err e;

	for (size_t i = 0; i < BATCH; i++)
		tools[i] = make_tool(&batch[i], from + i);
	uint64_t start = clock_mono_us();
	if (search_add(s, tools, BATCH, &e) < 0)
		give_up("search_add", err_text(&e));
	uint64_t us = clock_mono_us() - start;
	for (size_t i = 0; i < BATCH; i++)
		made_done(&batch[i], from + i);
	return us;
}

/* ---- queries ---- */

static const char *const fillers[] = {"the", "of", "please", "for", "I want to", "with my", "in"};

static struct buf
make_query(size_t tools)
{
	struct buf out = BUF_INIT(4 * KIB);
	struct str rest = buf_str(&descriptions[chance((uint32_t)tools)]), word;
	size_t count = 4 + chance(17);
	bool sentences = chance(3) == 0;

	for (size_t i = 0; i < count; i++) {
		buf_addz(&out, fillers[chance(ARRAY_LEN(fillers))]);
		buf_addc(&out, ' ');
		buf_add(&out, i % 2 == 0 && str_split(&rest, ' ', &word) ? word : any_word());
		buf_addz(&out, sentences && i % 6 == 5 ? ". " : " ");
	}
	return out;
}

static int
number_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
now_us(void) /* of this thread: what other programs do is not counted */
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void
measure_queries(const struct search *s)
{
	static double took[QUERIES];
	struct search_hit hits[10];
	size_t tools = search_count(s), found = 0;

	for (size_t i = 0; i < QUERIES; i++) {
		struct buf query = make_query(tools);
		double start = now_us();
		found += search_query(s, buf_str(&query), ARRAY_LEN(hits), NULL, hits);
		took[i] = now_us() - start;
		buf_done(&query);
	}
	if (found < QUERIES)
		give_up("search_query", "found hardly anything");
	qsort(took, QUERIES, sizeof(*took), number_cmp);
	printf("%7zu tools: query p50 %.1f us, p99 %.1f us", tools, took[QUERIES / 2],
	       took[QUERIES * 99 / 100]);
}

static void
measure(size_t count)
{
	struct search *s = search_new();
	uint64_t build_us = 0;

	if (!s)
		give_up("search_new", "no memory");
	for (size_t i = 0; i < count; i += BATCH)
		build_us += add_batch(s, i);
	measure_queries(s);
	printf("; index %.1f ms, %zu bytes per tool", (double)build_us / 1e3,
	       search_bytes(s) / count);
	printf("; 100 more %.2f ms\n", (double)add_batch(s, count) / 1e3);
	search_free(s);
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench_catalog WORDS\n");
		return 2;
	}
	read_vocabulary(argv[1]);
	measure(100);
	measure(1000);
	measure(10000);
	measure(LIMIT_TOOLS);
	for (size_t i = 0; i < ARRAY_LEN(descriptions); i++)
		buf_done(&descriptions[i]);
	return 0;
}
