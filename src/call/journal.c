/* journal.c - the row of a call, as it stands. */

#include "base/clock.h"
#include "call/stage.h"

#define HEAD_KEPT (16 * KIB)

/* The arguments as JSON text; of too long ones only the head, so that the row stays small. */
static struct str
input_text(struct call *c, struct buf *b, bool *ret_whole)
{
	struct jw w = jw(b);

	jw_value(&w, c->input);
	*ret_whole = !buf_failed(b);
	if (*ret_whole)
		return buf_str(b);
	struct buf whole = buf_take(b);
	w = jw(b);
	jw_object(&w);
	jw_member_bool(&w, "truncated", true);
	jw_member_int(&w, "bytes", (int64_t)c->input_bytes);
	jw_member(&w, "head",
		  str_utf8_upto(buf_str(&whole), HEAD_KEPT / 6)); /* it may be escaped */
	jw_end(&w);
	buf_done(&whole);
	return buf_str(b);
}

int
journal_put(struct call *c, const char *state)
{
	if (!c->gw->store)
		return 0;

	bool over = state[0] != 'r';
	uint64_t now = over ? c->since_us : clock_mono_us();
	uint64_t called = c->called_mono_us;
	bool failed = c->err.code < 0;
	bool whole = false;
	char layers[CONFINE_TEXT];
	struct buf input = BUF_INIT(LIMIT_JOURNAL_INPUT_BYTES),
		   modified = BUF_INIT(LIMIT_RESULT_BYTES);

	struct str text = c->input ? input_text(c, &input, &whole) : S("null");
	if (c->out.modified.len)
		buf_addf(&modified, "[%.*s]", STR_ARG(buf_str(&c->out.modified)));
	int code = store_put_call(
	    c->gw->store,
	    &(struct store_call){
		.id = id_str(&c->id),
		.tool_use_id = c->tool_use_id,
		.session = id_str(&c->session->id),
		.turn = id_str(&c->turn->id),
		.tool = c->tool_name,
		.capability = c->tool ? capability_name(c->tool->capability) : NULL,
		.reversibility = c->tool ? reversibility_name(call_reversibility(c)) : NULL,
		.state = state,
		.error_class = failed ? err_class_name(err_row(c->err.code)->class) : NULL,
		.message = failed ? str_of(err_text(&c->err)) : (struct str){NULL, 0},
		.inside =
		    failed && c->err.inside[0] ? str_of(c->err.inside) : (struct str){NULL, 0},
		.rule = c->rule,
		.input = text,
		.input_is_json = true,
		.input_hash = c->input_hash[0] ? str_of(c->input_hash) : (struct str){NULL, 0},
		.hash_is_of_input = whole,
		.files_modified = modified.len ? buf_str(&modified) : (struct str){NULL, 0},
		.command = c->out.command.len ? buf_str(&c->out.command) : (struct str){NULL, 0},
		.reviewed_by = c->reviewed_us ? str_of(c->reviewed_by) : (struct str){NULL, 0},
		.reviewed_us = c->reviewed_us,
		.shown_hash = c->reviewed_us ? str_of(c->shown_hash) : (struct str){NULL, 0},
		.confinement = c->out.layers ? str_of(confine_text(c->out.layers, layers))
					     : (struct str){NULL, 0},
		.opened_us = c->opened_us,
		.closed_us = over ? clock_wall_us() : 0,
		.waited_ms = (int64_t)((called ? called : now) - c->opened_mono_us) / 1000,
		.ran_ms = called ? (int64_t)(now - called) / 1000 : 0,
		.input_bytes = (int64_t)c->input_bytes,
		.output_bytes = (int64_t)c->out.content.len,
		.attempts = c->attempts,
		.success = over && !failed && c->out.success,
	    });
	buf_done(&input);
	buf_done(&modified);
	return code;
}
