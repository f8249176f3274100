/* cmd_card.c - what an agent sees of one tool. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "catalog/selection.h"
#include "catalog/toolid.h"
#include "cli/args.h"
#include "cli/shelve.h"
#include "cli/term.h"

static int
print_card(const struct shelf_item *item, bool json)
{
	struct buf out = BUF_INIT(MIB);
	struct jw w = jw(&out);

	if (item->problem.ptr)
		return refuse("%.*s", STR_ARG(item->problem));
	if (json) {
		card_write(&w, &item->card);
		text_print_json(stdout, buf_str(&out));
	} else {
		card_render(&out, &item->card, 1, 1);
		buf_addc(&out, '\n');
		text_print(stdout, buf_str(&out));
	}
	buf_done(&out);
	return EXIT_FINE;
}

/* An id, or what can only mean one. NULL: what is wrong was said. */
static const struct shelf_item *
find_item(const struct shelf *s, const char *word)
{
	struct str *ids = calloc(shelf_count(s) + 1, sizeof(*ids));
	struct selection found = {.status = SELECTION_REJECTED, .reason = "no memory"};

	for (size_t i = 0; ids && i < shelf_count(s); i++)
		ids[i] = shelf_at(s, i)->leaf.id;
	if (ids)
		found = selection_of(str_of(word), ids, shelf_count(s));
	free(ids);
	if (found.status != SELECTION_REJECTED)
		return shelf_at(s, found.candidate);
	if (str_starts(str_of(found.reason), S("ambiguous")))
		refuse("'%.100s' could be more than one tool", word);
	else
		refuse("there is no tool '%.100s'", word);
	return NULL;
}

/* Files are not called like ids, and if one is, ./ helps. */
static bool
is_id(const char *word)
{
	return strchr(word, ':') && word[0] != '.' && word[0] != '/';
}

int
cmd_card(const struct args *a)
{
	const char *catalog = args_value(a, "catalog"), *word = a->words[0];
	struct shelf *shelf = NULL;
	bool by_id = catalog || is_id(word);

	if (!by_id && strcmp(word, "-") != 0 && access(word, F_OK) < 0)
		return usage_error(a,
				   "%s is no file, and no id of a tool (those have a colon: "
				   "builtin:read_file)",
				   word);
	int code = by_id ? shelve(catalog, &shelf) : shelve_file(a->words[0], &shelf);

	if (code != EXIT_FINE)
		return code;
	const struct shelf_item *item = by_id ? find_item(shelf, a->words[0]) : shelf_at(shelf, 0);
	code = item ? print_card(item, args_given(a, "json")) : EXIT_REFUSED;
	shelf_unref(shelf);
	return code;
}
