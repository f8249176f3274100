/* ask.h - a question of the gateway, put to a person: what would happen, and what can be said. */

#ifndef CLI_ASK_H
#define CLI_ASK_H

#include <stdio.h>

#include "cli/api.h"

/* What a tool does, behind "wants to". */
struct str effect_words(struct str effect);

/* Who wants to do what, where, and by which rule we ask; then the command or diff in
 * full; behind a diff that is cut the whole input. */
void ask_show(FILE *f, const struct json *question);
/* The keys and what they mean. */
void ask_keys(FILE *f, const struct json *question);
/* The line the answer is typed on; again draws over it, with the time that is left now. */
void ask_prompt(FILE *f, const struct json *question, bool again);

struct ask_choice {
	const char *key;
	const char *word;
	const char *scope;
	const char *sentence; /* what it means; {tool} and {prefix} are filled in */
	bool allow;
	bool prefix; /* only where there is a prefix to remember */
};
/* What was typed, trimmed; nothing is no. NULL when it is none of the choices. */
const struct ask_choice *ask_choice(const struct json *question, struct str typed);

struct ask_answer {
	bool allow;
	const char *scope;
	const char *prefix; /* for the prefix scopes, or NULL */
	const char *by;     /* for the journal */
};
/* It as the gateway wants it, JSON. */
void ask_write(struct buf *out, const struct ask_answer *a);
/* Give it. *ret_code is an exit code; false when the question is still open or was answered before.
 */
bool ask_answer(struct api *api, struct str request, const struct ask_answer *a, int *ret_code);

#endif
