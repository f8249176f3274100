/*
 * bench_tokens.c - bytes per second that are counted, as lines of "file tokens bytes-per-second".
 *
 * bench/tokens/run runs it beside tokenizers from npm, on the same files.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "text/tokens.h"

#define MEASURE_US 400000
#define MAX_TEXT (16 * MIB)

static struct buf
read_file(const char *path)
{
	struct buf out = BUF_INIT(MAX_TEXT);
	char *room = buf_room(&out, MAX_TEXT);
	FILE *f = fopen(path, "rb");

	if (!f || !room) {
		fprintf(stderr, "bench_tokens: %s cannot be read\n", path);
		exit(1);
	}
	out.len = fread(room, 1, MAX_TEXT, f);
	fclose(f);
	return out;
}

static void
measure(const char *path)
{
	struct buf text = read_file(path);
	size_t tokens = 0, rounds = 0;
	uint64_t start = clock_mono_us(), us;

	do {
		tokens = tokens_count(buf_str(&text));
		rounds++;
	} while ((us = clock_mono_us() - start) < MEASURE_US);
	printf("%s %zu %.0f\n", path, tokens, (double)(text.len * rounds) * 1e6 / (double)us);
	buf_done(&text);
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		measure(argv[i]);
	return 0;
}
