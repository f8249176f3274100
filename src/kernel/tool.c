/* tool.c - the kernel's own tools by name. */

#include "kernel/tool.h"

static const struct kernel_tool tools[] = {
    {.id = "lens.edge", .run = tool_lens_edge, .moves = true},
    {.id = "move.align_scan", .run = tool_move_align_scan, .moves = true},
    {.id = "closure.spiral", .run = tool_closure_spiral, .moves = true},
    {.id = "closure.archive", .run = tool_closure_archive, .moves = true, .enters = true},
    {.id = "closure.waiting_with", .run = tool_closure_waiting_with, .moves = true, .enters = true},
    {.id = "policy.query", .run = tool_policy_query},
    {.id = "policy.enforce", .run = tool_policy_enforce, .enters = true},
    {.id = "policy.report", .run = tool_policy_report},
    {.id = "recap.spec", .run = tool_recap_spec, .validate = tool_recap_validate},
};

const struct kernel_tool *
kernel_tool_find(struct str id)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (str_is(id, tools[i].id))
			return &tools[i];
	return NULL;
}
