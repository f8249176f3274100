/*
 * path.h - the catalog as a tree of namespaces, groups and tools (seed 001 section 3.2).
 *
 *	/                            namespaces, always
 *	/github                      its tools; with more than PATH_LEVEL of them, groups of tools
 *	/github/issue                the tools about issues; "/github/issues" is the same
 *	/github/issue/create_issue   one tool; "/github/create_issue" is the same
 *
 * Nothing of the tree is kept but an order: tools stand by their keys, and a node is a run of them
 * that share the beginning of theirs. A tool's segment is the words of its id's name in lower case
 * with "_" between, words being what is parted by other characters or by camelCase, without the
 * namespace in front: "CreateIssue" and "create.issue" are create_issue. One over 64 characters is
 * cut and ends in a hash. Tools with one segment are found together at its path.
 *
 * The key is the namespace and the segment's words, plurals as singulars and a verb in front moved
 * to the end: "github issue create". So groups are by what tools are about, and every word of a key
 * is a step that can be taken, whether a list shows the group or not.
 */

#ifndef CATALOG_PATH_H
#define CATALOG_PATH_H

#include "base/buf.h"
#include "base/err.h"

#define PATH_LEVEL 50   /* tools that are listed without groups */
#define PATH_SEGMENT 64 /* characters */

/* Is it in the grammar? E_BAD_PATH says where it is not. */
int path_check(struct str path, struct err *e);

/* Of a tool's name, or of what a path says in its place. */
void path_segment(struct buf *out, struct str ns, struct str name);
void path_key(struct buf *out, struct str ns, struct str segment);

/* What the tree knows of a tool. */
struct path_leaf {
	struct str id;
	struct str key;
	struct str segment;
};

int path_leaf_cmp(const struct path_leaf *a, const struct path_leaf *b);

struct path_tree {
	const struct path_leaf **leaves; /* in the order of path_leaf_cmp */
	size_t count;
};

enum path_kind { PATH_ROOT, PATH_GROUP, PATH_TOOL };

struct path_node {
	enum path_kind kind;
	size_t from, to; /* its tools */
	size_t skip;     /* bytes of the key that they share, with the blank behind */
};

/* E_BAD_PATH, E_NO_PATH. */
int path_find(const struct path_tree *t, struct str path, struct path_node *ret, struct err *e);

/* One line of a node's list: a tool, or a namespace or group of several. */
struct path_child {
	const struct path_leaf *tool; /* NULL: a group */
	size_t from, to;
	struct str name; /* of the group */
	struct str key;  /* as far as all of the group have it: its path, with blanks for slashes */
};

/* Start with child.to = node.from; false at the end. */
bool path_next(const struct path_tree *t, const struct path_node *n, struct path_child *child);

#endif
