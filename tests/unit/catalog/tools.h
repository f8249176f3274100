/* tools.h - tools to put on a shelf. */

#ifndef TESTS_CATALOG_TOOLS_H
#define TESTS_CATALOG_TOOLS_H

#include "base/limits.h"
#include "catalog/shelf.h"

#define TOOL(namespace, n, text)                                                                   \
	{                                                                                          \
		.id = S(namespace ":" n "@1"), .name = S(n), .description = S(text),               \
		.ns = S(namespace)                                                                 \
	}

static const struct shelf_tool issue_tools[] = {
    TOOL("github", "list_issues", "List issues of a repository."),
    TOOL("slack", "send_message", "Send a message to a channel."),
    TOOL("github", "create_issue", "Create an issue in a repository."),
    TOOL("github", "get_pull_request", "Get a pull request."),
    TOOL("jira", "create_issue", "Create an issue in a project."),
};

static inline struct shelf *
shelf_of(const struct shelf_tool *tools, size_t count)
{
	struct shelf *s = NULL;
	struct err e = ERR_NONE;

	if (shelf_new(tools, count, &s, &e) < 0)
		fail_msg("%s", e.text);
	return s;
}

#endif
