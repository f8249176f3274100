/*
 * bench_kernel.c - envelopes per second through the kernel router, on one core and without a loop.
 *
 * policy.query as text in, emission as text out: each with a request id of its own, which is
 * digested and remembered; with none; and the same one again and again, which is replayed.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/router.h"

#define CALLS 1000000

static const char id_text[] = "9f1f3f0c-9e6d-4d5b-9a1d-000000000000";

static _Noreturn void
give_up(const struct err *e)
{
	fprintf(stderr, "bench_kernel: %s\n", err_text(e));
	exit(1);
}

static struct kernel *
open_kernel(void)
{
	static const char state[] = "{\"meta_locus\":{\"accepted\":true}}";
	struct json_doc *bundle, *doc;
	struct kernel_index *index;
	struct kernel *k;
	struct err e;

	if (bundle_standard(&bundle, &e) < 0 || kernel_index_new(bundle, NULL, &index, &e) < 0 ||
	    json_parse(str_of(state), &json_door, &doc, &e) < 0 ||
	    kernel_new(&(struct kernel_spec){.index = index, .state = json_root(doc)}, &k, &e) < 0)
		give_up(&e);
	json_doc_unref(bundle);
	json_doc_unref(doc);
	kernel_index_unref(index);
	return k;
}

/* The last digits of the id; false: there is none. */
static void
number(char *digits, size_t n)
{
	for (int i = 11; i >= 0; i--, n /= 10)
		digits[i] = (char)('0' + n % 10);
}

static void
measure(const char *name, const char *meta, bool fresh, size_t calls)
{
	struct kernel *k = open_kernel();
	char text[512];
	struct kernel_order order;
	struct emission out;

	int len = snprintf(text, sizeof(text),
			   "{\"tool.call\":{\"id\":\"policy.query\",\"payload\":{\"target\":"
			   "\"archive.summary\",\"value\":\"Short and sweet.\"}%s}}",
			   meta);
	char *id = strstr(text, "000000000000");
	uint64_t start = clock_mono_us();
	for (size_t i = 0; i < calls; i++) {
		if (fresh)
			number(id, i);
		if (!kernel_take(k, (struct str){text, (size_t)len}, &out, &order) || !out.ok) {
			fprintf(stderr, "bench_kernel: %.*s\n", STR_ARG(out.text));
			exit(1);
		}
	}
	uint64_t us = clock_mono_us() - start;
	printf("kernel/%s %.0f envelopes per second\n", name,
	       (double)calls * 1e6 / (double)(us ? us : 1));
	kernel_free(k);
}

int
main(int argc, char **argv)
{
	size_t calls = CALLS;
	char meta[128];

	if (argc == 3 && strcmp(argv[1], "--calls") == 0)
		calls = (size_t)atol(argv[2]);
	snprintf(meta, sizeof(meta), ",\"meta\":{\"request_id\":\"%s\"}", id_text);
	measure("uncached", meta, true, calls);
	measure("without-id", "", false, calls);
	measure("cached", meta, false, calls);
	return 0;
}
