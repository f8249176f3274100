/*
 * builtin.h - tools that are C functions: those of cards/, and those registered through
 * the public header.
 *
 * What is registered is a factory. Each job gets an instance of its own, so that a tool can
 * keep its state in it (a shell its child) without meeting another call's.
 */

#ifndef PROVIDER_BUILTIN_H
#define PROVIDER_BUILTIN_H

#include "catalog/catalog.h"
#include "provider/provider.h"

struct builtin_ops {
	/* A fresh instance; NULL is E_NOMEM. Made when the job starts, freed when the job is. */
	void *(*make)(void *arg);
	void (*free)(void *instance);
	/* One of the two: `run` blocks and is called on a worker; `start` is called on the loop and
	 * calls job_report later. Both fill j->out; a negative code from run without j->out.err is
	 * a failure whose reason is not for the agent. */
	int (*run)(void *instance, struct job *j);
	void (*start)(void *instance, struct job *j);
	void (*cancel)(void *instance, struct job *j); /* may be NULL: j->cancelled is enough */
	void (*forget)(void *arg); /* the last user of the tool is gone; may be NULL */
	/* On the loop, after run and before the report; may be NULL. */
	void (*reporting)(void *instance, struct job *j);
	/* On a worker, without an instance; may be NULL: nothing to show but the arguments. */
	int (*preview)(struct job *j);
};

struct builtins; /* the provider */
struct builtins *builtins_new(struct loop *l);
void builtins_free(struct builtins *b); /* no job may be running */
/* How what tools start is confined; borrowed. Without it: open. */
void builtins_confine(struct builtins *b, struct confine_house *house);
struct confine_house *builtin_house(const struct job *j); /* for tools; may be NULL */

struct builtin_spec {
	struct str card;
	const struct builtin_ops *ops;
	void *arg;
	bool repair_arguments;
};
/* Reads the card, checks it, adds it to the catalog. arg belongs to the tool, also on failure. ops
 * and arg must stay until the last job of the tool is over. E_VALIDATION, E_EXISTS, E_LIMIT,
 * E_NOMEM. */
int builtin_register(struct builtins *b, struct catalog *c, const struct builtin_spec *spec,
		     struct err *e);
/* Running jobs end in peace. E_NOT_FOUND: also for a tool of another provider. */
int builtin_unregister(struct builtins *b, struct catalog *c, struct str name);
/* What is registered under this name, whatever the catalog shows for it; NULL = none. Borrowed. */
struct tool *builtin_find(const struct builtins *b, struct str name);

struct artifacts;

/* The tools of cards/. artifacts is what tool_view looks into and must stay like an arg; NULL:
 * there is no such tool. */
int builtin_register_all(struct builtins *b, struct catalog *c, struct artifacts *artifacts,
			 bool repair_arguments, struct err *e);

/* Whether their arguments are repaired, from the next call on. */
void builtin_repair_all(struct catalog *c, bool repair_arguments);

#endif
