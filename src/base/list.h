/*
 * list.h - counted, intrusive, doubly linked lists.
 *
 * A resting state is a list: its length is the figure on the dashboard. A node is
 * in at most one list and knows which, so a wrong removal is caught at once.
 */

#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/bug.h"

struct list;

struct node {
	struct node *next;
	struct node *prev;
	struct list *list; /* NULL: in none */
};

struct list {
	struct node head;
	size_t len;
};

void list_init(struct list *l);
void list_push(struct list *l, struct node *n); /* at the end */
void list_remove(struct node *n);               /* no-op when in none */
struct node *list_first(const struct list *l);  /* NULL when empty */
struct node *list_last(const struct list *l);   /* NULL when empty */
struct node *list_next(const struct node *n);   /* NULL at the end */

/* The node may be removed inside the loop, others may not. */
#define LIST_EACH(l, n)                                                                            \
	for (struct node *n = list_first(l), *n##_next; n && (n##_next = list_next(n), 1);         \
	     n = n##_next)

#endif
