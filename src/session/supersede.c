/* supersede.c - the four decisions, and the one nobody made. */

#include "session/supersede.h"

#include <strings.h>

#include "session/turn.h"

static const char *const names[] = {[AS_CONFIGURED] = "configured",
				    [SUPERSEDE] = "SUPERSEDE",
				    [ABSORB] = "ABSORB",
				    [FORCE_COMPLETE] = "FORCE_COMPLETE",
				    [QUEUE] = "QUEUE",
				    [BY_DEFAULT] = "default",
				    [BY_ASKING] = "ask"};

const char *
supersede_name(enum supersede_action a)
{
	CHECK((size_t)a < ARRAY_LEN(names));
	return names[a];
}

static bool
find_from(size_t i, struct str word, enum supersede_action *ret)
{
	for (; i < ARRAY_LEN(names); i++)
		if (word.len == strlen(names[i]) &&
		    strncasecmp(word.ptr, names[i], word.len) == 0) {
			*ret = (enum supersede_action)i;
			return true;
		}
	return false;
}

bool
supersede_parse(struct str word, enum supersede_action *ret)
{
	return find_from(SUPERSEDE, word, ret);
}

bool
supersede_mode_parse(struct str word, enum supersede_action *ret)
{
	return find_from(AS_CONFIGURED, word, ret);
}

bool
supersede_is_decision(enum supersede_action a)
{
	return a >= SUPERSEDE && a <= QUEUE;
}

enum supersede_action
supersede_default(const struct turn *t)
{
	return t->committed || t->effects > 0 || t->effects_running > 0 ? QUEUE : SUPERSEDE;
}
