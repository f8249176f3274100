/*
 * bench_schema.c - validations and compilations per second, as lines of "what per-second".
 *
 * bench/schema/run runs it beside validators from npm, on the same files: values that all fit,
 * a few different ones in turn, so that no branch is always the same.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "json/write.h"
#include "schema/schema.h"

#define MEASURE_US 400000
#define VARIANTS 10000
#define MAX_VALUES 16

static void
give_up(const char *what, const char *why)
{
	fprintf(stderr, "bench_schema: %s: %s\n", what, why);
	exit(1);
}

static struct buf
read_file(const char *folder, const char *name, const char *suffix)
{
	struct buf out = BUF_INIT(MIB);
	char path[LIMIT_PATH], *room = buf_room(&out, MIB);

	snprintf(path, sizeof(path), "%s/%s%s", folder, name, suffix);
	FILE *f = fopen(path, "rb");
	if (!f || !room)
		give_up(path, "cannot be read");
	out.len = fread(room, 1, MIB, f);
	fclose(f);
	return out;
}

static struct json_doc *
parse(struct str text)
{
	struct json_doc *doc;
	struct err e;

	if (json_parse(text, &json_door, &doc, &e) < 0)
		give_up("parse", err_text(&e));
	return doc;
}

static struct schema *
compile(struct json_doc *doc)
{
	struct schema *s;
	struct err e;

	if (schema_compile(doc, json_root(doc), NULL, &s, &e) < 0)
		give_up("compile", err_text(&e));
	return s;
}

static struct json_doc *
parse_file(const char *folder, const char *name, const char *suffix)
{
	struct buf text = read_file(folder, name, suffix);
	struct json_doc *doc = parse(buf_str(&text));

	buf_done(&text);
	return doc;
}

static void
say(const char *name, const char *how, size_t count, uint64_t start_us)
{
	uint64_t us = clock_mono_us() - start_us;

	printf("%s/%s %.1f\n", name, how, (double)count * 1e6 / (double)(us ? us : 1));
}

/* ---- validating ---- */

struct value {
	struct json_doc *doc;
	struct buf text;
};

struct subject {
	const char *name;
	struct schema *schema;
	struct value values[MAX_VALUES];
	size_t count;
};

static bool
fits_parsed(const struct subject *s, size_t i)
{
	return schema_fits(s->schema, json_root(s->values[i].doc));
}

static bool
fits_text(const struct subject *s, size_t i)
{
	struct json_doc *doc = parse(buf_str(&s->values[i].text));
	bool fits = schema_fits(s->schema, json_root(doc));

	json_doc_unref(doc);
	return fits;
}

static void
measure(const struct subject *s, const char *how, bool (*run)(const struct subject *, size_t))
{
	size_t done = 0, fit = 0;
	uint64_t start = clock_mono_us();

	while (clock_mono_us() - start < MEASURE_US)
		for (int times = 0; times < 64; times++)
			for (size_t i = 0; i < s->count; i++, done++)
				fit += run(s, i);
	if (fit != done)
		give_up(s->name, "a value that fits was refused");
	say(s->name, how, done, start);
}

/* Each value is a document of its own, as a call's arguments are. */
static void
add_values(struct subject *s, const struct json *values)
{
	for (struct json_iter it = json_iter(values); json_next(&it); s->count++) {
		CHECK(s->count < MAX_VALUES);
		struct value *v = &s->values[s->count];
		struct jw w = jw(&v->text);
		buf_init(&v->text, MIB);
		jw_value(&w, it.value);
		v->doc = parse(buf_str(&v->text));
	}
}

static void
check_invalid(const struct subject *s, const struct json *values)
{
	for (struct json_iter it = json_iter(values); json_next(&it);)
		if (schema_fits(s->schema, it.value))
			give_up(s->name, "a value that does not fit was taken");
}

static void
measure_schema(const char *folder, const char *name)
{
	struct json_doc *schema = parse_file(folder, name, ".json"),
			*valid = parse_file(folder, name, "-valid.json"),
			*invalid = parse_file(folder, name, "-invalid.json");
	struct subject s = {.name = name, .schema = compile(schema)};

	add_values(&s, json_root(valid));
	check_invalid(&s, json_root(invalid));
	measure(&s, "parsed", fits_parsed);
	measure(&s, "text", fits_text);
	for (size_t i = 0; i < s.count; i++) {
		json_doc_unref(s.values[i].doc);
		buf_done(&s.values[i].text);
	}
	schema_free(s.schema);
	json_doc_unref(schema);
	json_doc_unref(valid);
	json_doc_unref(invalid);
}

/* ---- compiling ---- */

/* The template with the number n wherever it has an '@'. */
static struct buf
variant(struct str template, size_t n)
{
	struct buf out = BUF_INIT(64 * KIB);
	struct str part;

	for (bool first = true; str_split(&template, '@', &part); first = false) {
		if (!first)
			buf_add_u64(&out, n);
		buf_add(&out, part);
	}
	return out;
}

static struct buf texts[VARIANTS];
static struct json_doc *docs[VARIANTS];
static struct schema *schemas[VARIANTS];

static void
forget(void)
{
	for (size_t i = 0; i < VARIANTS; i++) {
		schema_free(schemas[i]);
		json_doc_unref(docs[i]);
	}
}

static void
measure_compiling(const char *folder)
{
	struct buf template = read_file(folder, "variant.json.in", "");

	for (size_t i = 0; i < VARIANTS; i++) {
		texts[i] = variant(buf_str(&template), i);
		docs[i] = parse(buf_str(&texts[i]));
	}
	uint64_t start = clock_mono_us();
	for (size_t i = 0; i < VARIANTS; i++)
		schemas[i] = compile(docs[i]);
	say("compile", "parsed", VARIANTS, start);
	forget();
	start = clock_mono_us();
	for (size_t i = 0; i < VARIANTS; i++) {
		docs[i] = parse(buf_str(&texts[i]));
		schemas[i] = compile(docs[i]);
	}
	say("compile", "text", VARIANTS, start);
	forget();
	for (size_t i = 0; i < VARIANTS; i++)
		buf_done(&texts[i]);
	buf_done(&template);
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench_schema FOLDER\n");
		return 2;
	}
	measure_schema(argv[1], "typical");
	measure_schema(argv[1], "large");
	measure_compiling(argv[1]);
	return 0;
}
