/* list.c - moving nodes. */

#include "base/list.h"

void
list_init(struct list *l)
{
	l->head.next = l->head.prev = &l->head;
	l->head.list = l;
	l->len = 0;
}

void
list_push(struct list *l, struct node *n)
{
	CHECK(!n->list);
	n->list = l;
	n->prev = l->head.prev;
	n->next = &l->head;
	n->prev->next = n;
	l->head.prev = n;
	l->len++;
}

void
list_remove(struct node *n)
{
	if (!n->list)
		return;
	CHECK(n->list->len > 0);
	n->list->len--;
	n->prev->next = n->next;
	n->next->prev = n->prev;
	*n = (struct node){0};
}

struct node *
list_first(const struct list *l)
{
	return l->len ? l->head.next : NULL;
}

struct node *
list_last(const struct list *l)
{
	return l->len ? l->head.prev : NULL;
}

struct node *
list_next(const struct node *n)
{
	CHECK(n->list);
	return n->next == &n->list->head ? NULL : n->next;
}
