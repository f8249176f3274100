/*
 * toolbox.h - the toolbox of an agent (seed 004 section 4): planned executions, one after the
 * other, through the pipeline as every other call; and what is known of its tools.
 *
 * A batch runs in order of `when` (before, during, after the step), and as given within each. After
 * a failed one that is critical the rest is skipped.
 */

#ifndef CALL_TOOLBOX_H
#define CALL_TOOLBOX_H

#include "json/write.h"

struct agent;
struct gateway;
struct session;
struct tenant;
struct tool;

/* The section `toolbox` of the configuration. */
struct toolbox_settings {
	int64_t max_batch_size;
	unsigned timeout_ms; /* 0: each tool's own */
};

enum planned_when { BEFORE_STEP, DURING_STEP, AFTER_STEP };
bool planned_when_parse(struct str name, enum planned_when *ret); /* "BEFORE_STEP" */

/* A PlannedToolExecution. All of it stands in the document it was read from. */
struct planned {
	struct str tool_name;
	const struct json *args; /* NULL: {} */
	struct str idempotency_key;
	enum planned_when when;
	struct str bound_rule_id, bound_step_id;
	bool critical;
};
/* Strictly; `where` is put before the field that is wrong. E_VALIDATION, E_BAD_REQUEST. */
int planned_read(const struct json *object, const char *where, struct planned *ret, struct err *e);

struct toolbox_order {
	struct json_doc *doc; /* that all of it stands in; a reference is taken */
	const struct planned *planned;
	size_t count;
	struct str group; /* turn_group_id, or {NULL,0} */
	bool attended;
	/* Once, never inside toolbox_start: a JSON array of ToolResults in the order given, which
	 * may be taken; failed when out of memory. */
	void (*done)(struct buf *results, void *arg);
	void *arg;
};
struct toolbox_run;
/* E_LIMIT (more than max_batch_size), E_BAD_REQUEST, E_SESSION_ENDED, E_STOPPING, E_NOMEM. */
int toolbox_start(struct gateway *gw, struct session *s, const struct toolbox_order *o,
		  struct toolbox_run **ret, struct err *e);
/* Nobody waits any more: what runs ends by itself, nothing else begins. `done` is not called. */
void toolbox_leave(struct toolbox_run *r);

/*
 * What is known of its tools. Names are those of the catalog; a tool the tenant does not have is
 * none. Objects and arrays in the shapes of sections 2.1, 3.2 and 5.3.
 */
const struct tool *toolbox_tool(const struct gateway *gw, const struct agent *a, struct str name);
void toolbox_write_metadata(struct jw *w, const struct gateway *gw, struct agent *a,
			    const struct tool *t);
void toolbox_write_definition(struct jw *w, const struct gateway *gw, const struct tenant *of,
			      const struct tool *t);
void toolbox_write_names(struct jw *w, const struct gateway *gw, struct agent *a); /* enabled */
void toolbox_write_definitions(struct jw *w, const struct gateway *gw, struct agent *a,
			       bool enabled); /* whole ones: enabled, or unavailable */
void toolbox_write_available(struct jw *w, const struct gateway *gw, const struct tenant *of);
void toolbox_write_enabled(struct jw *w, const struct gateway *gw, struct agent *a);
void toolbox_write_unavailable(struct jw *w, const struct gateway *gw, struct agent *a);

#endif
