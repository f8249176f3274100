/* cmd_browse.c - the tools for a task, or those at a path, as an agent sees them. */

#include <stdio.h>

#include "base/limits.h"
#include "catalog/browse.h"
#include "catalog/refusal.h"
#include "cli/args.h"
#include "cli/shelve.h"
#include "cli/term.h"
#include "search/learned.h"

#define TEXT_BYTES (16 * MIB)

/* As the agent would be told, or in a sentence; the exit code. */
static int
refused(const struct args *a, const struct err *e, struct str path, int code)
{
	struct buf out = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&out);

	if (!args_given(a, "json")) {
		if (code == EXIT_USAGE)
			return usage_error(a, "%s", err_text(e));
		return refuse("%s", err_text(e));
	}
	refusal_write(&w, e, false, path, (struct str){NULL, 0});
	text_print_json(stdout, buf_str(&out));
	buf_done(&out);
	return code;
}

static int
read_args(const struct args *a, struct browse_args *ret, struct err *e)
{
	const char *top_k = args_value(a, "top-k"), *path = args_value(a, "path");
	uint64_t k = 0;

	*ret = (struct browse_args){.query = str_of(a->count > 0 ? a->words[0] : NULL),
				    .path = str_of(path)};
	if (a->count > 0 && path)
		return err_set(e, E_VALIDATION, "give either a query or --path, not both");
	if (a->count == 0 && !path)
		return err_set(e, E_VALIDATION, "give a query or --path");
	if (top_k && (!str_to_u64(str_of(top_k), &k) || k < 1 || k > BROWSE_TOP_K_MOST))
		return err_set(e, E_VALIDATION, "--top-k must be from 1 to %d", BROWSE_TOP_K_MOST);
	ret->top_k = (int64_t)k;
	return 0;
}

static int
print_reply(const struct args *a, const struct browse_reply *r)
{
	struct buf out = BUF_INIT(TEXT_BYTES);
	struct jw w = jw(&out);
	int code = EXIT_FINE;

	if (args_given(a, "json"))
		browse_write(&w, r);
	else
		browse_render(&out, r);
	if (buf_failed(&out))
		code = refuse("there is not enough memory");
	else if (args_given(a, "json"))
		text_print_json(stdout, buf_str(&out));
	else
		text_print(stdout, buf_str(&out));
	if (r->count == 0 && term_is(stderr))
		fputs("No tool fits.\n", stderr);
	if (r->left_out > 0 && term_is(stderr))
		fprintf(stderr, "%zu more left out.\n", r->left_out);
	buf_done(&out);
	return code;
}

/* Nobody should look in vain for a tool that is there. */
static void
tell_problems(const struct shelf *s)
{
	size_t count = shelf_problems(s), first = 0;

	if (count == 0)
		return;
	while (!shelf_at(s, first)->problem.ptr)
		first++;
	refuse("%zu tool%s not shown: %.*s%s", count, count == 1 ? " is" : "s are",
	       STR_ARG(shelf_at(s, first)->problem), count == 1 ? "" : "; ...");
}

int
cmd_browse(const struct args *a)
{
	struct browse_args args;
	struct browse_reply reply;
	struct shelf *shelf = NULL;
	struct err e;

	if (read_args(a, &args, &e) < 0)
		return refused(a, &e, args.path, EXIT_USAGE);
	int code = shelve(args_value(a, "catalog"), &shelf);
	if (code != EXIT_FINE)
		return code;
	tell_problems(shelf);
	struct learned *learned = args_value(a, "catalog") ? NULL : shelve_learned();
	int rc = browse(shelf, &args, &(struct browse_options){.learned = learned}, &reply, &e);
	if (rc < 0) {
		code = refused(a, &e, args.path, rc == E_VALIDATION ? EXIT_USAGE : EXIT_REFUSED);
	} else {
		code = print_reply(a, &reply);
		browse_done(&reply);
	}
	learned_free(learned);
	shelf_unref(shelf);
	return code;
}
