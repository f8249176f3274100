/* orphans.c - calls whose process died under them are no longer running: the journal says so. */

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/hf.h"
#include "effect/ledger.h"

struct orphan {
	struct hf *hf;
	struct id call, session, turn;
	char tool[LIMIT_NAME_BYTES + 1];
	const char *state, *reversibility;
};

/* It died before even that was written: the ledger knew first. */
static int
row_make(const struct orphan *o)
{
	int64_t now = clock_wall_us();

	return store_put_call(o->hf->store,
			      &(struct store_call){
				  .id = id_str(&o->call),
				  .tool_use_id = id_str(&o->call),
				  .session = id_str(&o->session),
				  .turn = id_str(&o->turn),
				  .tool = str_of(o->tool),
				  .reversibility = o->reversibility,
				  .state = o->state,
				  .message = S("its process ended while it was under way"),
				  .input = S("null"),
				  .input_is_json = true,
				  .opened_us = now,
				  .closed_us = now,
			      });
}

static void
row_came(const struct store_page *page, void *arg)
{
	struct orphan *o = arg;

	if (page->code == 0 && page->count == 0 && row_make(o) < 0)
		log_line(LOG_ERROR, "the journal did not take a row", "call", o->call.text, NULL);
	for (size_t i = 0; page->code == 0 && i < page->count; i++) {
		struct json_doc *doc = NULL;
		struct str row = page->rows[i].json;
		if (json_parse(row, &json_door, &doc, NULL) == 0 &&
		    str_is(json_str(json_get(json_root(doc), S("state"))), "running") &&
		    store_put_call_state(o->hf->store, row, o->state, clock_wall_us()) < 0)
			log_line(LOG_ERROR, "the journal did not take a row", NULL);
		json_doc_unref(doc);
	}
	free(o);
}

static void
text_copy(char *to, size_t size, struct str from)
{
	from = str_upto(from, size - 1);
	memcpy(to, from.ptr ? from.ptr : "", from.len);
}

/* The same word for as long as there is a program. */
static const char *
kept_word(const char *policy)
{
	for (int r = 0; r < REV__COUNT; r++)
		if (strcmp(reversibility_name((enum reversibility)r), policy) == 0)
			return reversibility_name((enum reversibility)r);
	return NULL;
}

void
hf__journal_orphan(struct hf *hf, const struct effect_orphan *from, enum claim_state state)
{
	static const char *const states[CLAIM__COUNT] = {
	    [CLAIM_DONE] = "completed", [CLAIM_FAILED] = "failed", [CLAIM_UNKNOWN] = "unknown"};
	struct orphan *o = from->call.ptr ? calloc(1, sizeof(*o)) : NULL;

	if (!o)
		return;
	o->hf = hf;
	o->state = states[state];
	o->reversibility = kept_word(from->policy);
	text_copy(o->call.text, sizeof(o->call.text), from->call);
	text_copy(o->session.text, sizeof(o->session.text), from->session);
	text_copy(o->turn.text, sizeof(o->turn.text), from->turn);
	text_copy(o->tool, sizeof(o->tool), from->tool);
	if (store_find_calls(hf->store, &(struct store_query){.id = id_str(&o->call), .limit = 1},
			     row_came, o) < 0)
		free(o);
}
