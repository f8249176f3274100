/* cmd_tokens.c - how many tokens a text costs. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/args.h"
#include "cli/input.h"
#include "text/tokens.h"

#define READ_BYTES (64 * KIB)

struct reader {
	const char *path;
	bool (*take)(struct reader *r, struct str piece); /* false: enough, it was said why */
	struct tokens tokens;
	struct buf text;
};

static bool
take_count(struct reader *r, struct str piece)
{
	return tokens_feed(&r->tokens, piece);
}

static bool
take_text(struct reader *r, struct str piece)
{
	buf_add(&r->text, piece);
	if (buf_failed(&r->text))
		refuse("%s is longer than %zu bytes, too long for --ids", input_name(r->path),
		       r->text.max);
	return !buf_failed(&r->text);
}

static int
read_pieces(struct reader *r, int fd)
{
	static char piece[READ_BYTES];

	for (;;) {
		ssize_t n = read(fd, piece, sizeof(piece));
		if (n == 0)
			return EXIT_FINE;
		if (n < 0 && errno != EINTR) {
			refuse("%s: %s", input_name(r->path), strerror(errno));
			return EXIT_USAGE;
		}
		if (n > 0 && !r->take(r, (struct str){piece, (size_t)n}))
			return EXIT_USAGE;
	}
}

static int
read_all(struct reader *r)
{
	if (strcmp(r->path, "-") == 0)
		return read_pieces(r, STDIN_FILENO);
	int fd = open(r->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		refuse("%s: %s", r->path, strerror(errno));
		return EXIT_USAGE;
	}
	int code = read_pieces(r, fd);
	close(fd);
	return code;
}

static int
print_id(uint32_t id, struct str bytes, void *between)
{
	const char **b = between;

	(void)bytes;
	printf("%s%u", *b, id);
	*b = ",";
	return 0;
}

static int
print_ids(struct str text)
{
	const char *between = "[";

	if (tokens_each(text, print_id, &between) < 0)
		return refuse("there is not enough memory");
	puts(text.len ? "]" : "[]");
	return EXIT_FINE;
}

/* The count needs no more memory for a long text than for a short one. */
int
cmd_tokens(const struct args *a)
{
	bool ids = args_given(a, "ids");
	struct reader r = {
	    .path = a->count > 0 ? a->words[0] : "-",
	    .take = ids ? take_text : take_count,
	    .text = BUF_INIT(LIMIT_TOKENS_TEXT),
	};

	tokens_begin(&r.tokens, SIZE_MAX);
	int code = read_all(&r);
	if (code == EXIT_FINE && ids)
		code = print_ids(buf_str(&r.text));
	else if (code == EXIT_FINE)
		printf("%zu\n", tokens_end(&r.tokens));
	buf_done(&r.text);
	return code;
}
