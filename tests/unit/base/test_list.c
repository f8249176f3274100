/* test_list.c - lists count what rests in them. */

#include "unit.h"

#include "base/list.h"

struct item {
	int number;
	struct node node;
};

static int
number_of(const struct node *n)
{
	return CONTAINER_OF(n, struct item, node)->number;
}

static void
keeps_arrival_order_and_counts(void **state)
{
	struct list l;
	struct item items[5] = {0};
	int next = 0;

	(void)state;
	list_init(&l);
	assert_null(list_first(&l));
	for (int i = 0; i < 5; i++) {
		items[i].number = i;
		list_push(&l, &items[i].node);
		assert_int_equal(l.len, i + 1);
	}
	LIST_EACH (&l, n)
		assert_int_equal(number_of(n), next++);
	assert_int_equal(next, 5);
	assert_null(list_next(&items[4].node));
}

static void
a_node_may_leave_while_one_walks(void **state)
{
	struct list l, other;
	struct item items[6] = {0};

	(void)state;
	list_init(&l);
	list_init(&other);
	for (int i = 0; i < 6; i++) {
		items[i].number = i;
		list_push(&l, &items[i].node);
	}
	LIST_EACH (&l, n)
		if (number_of(n) % 2 == 0) {
			list_remove(n);
			list_push(&other, n);
		}
	assert_int_equal(l.len, 3);
	assert_int_equal(other.len, 3);
	assert_int_equal(number_of(list_first(&l)), 1);
	assert_int_equal(number_of(list_first(&other)), 0);
	assert_ptr_equal(items[2].node.list, &other);
	LIST_EACH (&l, n)
		list_remove(n);
	assert_int_equal(l.len, 0);
	assert_null(list_first(&l));
}

static void
removing_twice_is_harmless(void **state)
{
	struct list l;
	struct item item = {0};

	(void)state;
	list_init(&l);
	list_remove(&item.node);
	list_push(&l, &item.node);
	list_remove(&item.node);
	list_remove(&item.node);
	assert_int_equal(l.len, 0);
	assert_null(item.node.list);
	list_push(&l, &item.node);
	assert_int_equal(l.len, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keeps_arrival_order_and_counts),
	    cmocka_unit_test(a_node_may_leave_while_one_walks),
	    cmocka_unit_test(removing_twice_is_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
