/*
 * hooks.h - functions and programs that look at a call before its arguments are checked, and at
 * what its tool gave back.
 *
 *	before   those for all tools, then those for this one, each in the order they were added
 *	after    the same list from its end; not for a call that never reached its tool
 *
 * A list is never changed: whoever adds a hook, or reads the configuration again, makes another,
 *and calls keep the one they have met. Hooks may only narrow: there is nothing they can say that
 *makes the policy milder, and whatever they change is checked, shown and approved after them.
 *
 *   hooks.c     the list
 *   st_hooks.c  the stage
 *   hook_run.c  one run of a program
 */

#ifndef CALL_HOOKS_H
#define CALL_HOOKS_H

#include "base/arena.h"
#include "call/gateway.h"

enum hook_event { HOOK_PRE, HOOK_POST, HOOK__COUNT };
const char *hook_event_name(enum hook_event event); /* "PreToolUse" */

struct hook {
	unsigned refs;
	struct arena *arena; /* of the hook and all its texts */
	enum hook_event event;
	struct str matcher; /* names and patterns, | between them */
	bool every;         /* it means all tools */
	bool plain;         /* it is one name */
	struct str name;    /* what to call it when something is said of it */

	/* A function... */
	void (*function)(struct hf_call *call, void *arg);
	void *arg;

	/* ...or a program */
	const char *const *argv; /* NULL: it is a function */
	const char *const *env;  /* "K=V" */
	const char *const
	    *read; /* what it may read beside what all may; NULL-terminated, or NULL */
	unsigned timeout_ms;
	bool lenient; /* when it fails the call goes on */
};

/* With one reference; the rest is for the caller to fill in. matcher {NULL,0} or "": all. NULL: out
 * of memory. */
struct hook *hook_new(enum hook_event event, struct str matcher, struct str name);
struct hook *hook_ref(struct hook *h);
void hook_unref(struct hook *h); /* takes NULL */
bool hook_fits(const struct hook *h, struct str tool);

struct hooks {
	unsigned refs;
	size_t count[HOOK__COUNT];
	struct hook *at[HOOK__COUNT][LIMIT_HOOKS];
};
struct hooks *hooks_ref(struct hooks *list);
void hooks_unref(struct hooks *list);                     /* takes NULL */
void hooks_write(struct jw *w, const struct hooks *list); /* an array; takes NULL */

/* For functions at work (hf_call_...). E_FORBIDDEN: it is not the time for that. */
int hook_set_input(struct call *c, struct str json, struct err *e);
int hook_abort(struct call *c, struct str reason, struct str result);
int hook_set_result(struct call *c, struct str text, bool is_error);

/* One run of a program. */
struct hook_run;

struct hook_said {
	const char *problem; /* it failed; NULL: it did not. Lives as long as the run */
	bool blocks, asks;
	struct str reason;         /* of these; may be empty */
	const struct json *input;  /* other arguments, an object; or NULL */
	const struct json *output; /* another result; or NULL */
	struct str context;        /* to be said behind the result; or {NULL,0} */
};

/* The call is woken when it is over. E_SYSTEM, E_NOMEM, E_LIMIT. */
int hook_run_start(struct call *c, struct hook *h, struct hook_run **ret, struct err *e);
bool hook_run_over(const struct hook_run *r);
struct hook *hook_run_hook(const struct hook_run *r);
struct json_doc *hook_run_doc(const struct hook_run *r);       /* what input and output stand in */
void hook_run_read(struct hook_run *r, struct hook_said *ret); /* when it is over */
int hook_run_exit(const struct hook_run *r);                   /* -1: by a signal, or never ran */
unsigned hook_run_ms(const struct hook_run *r);
/* Ends it, if it still runs; the call hears nothing more. *r becomes NULL. No-op on NULL. */
void hook_run_drop(struct hook_run **r);

#endif
