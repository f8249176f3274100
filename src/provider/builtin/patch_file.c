/* patch_file.c - replace a text that stands exactly once in a file. */

#include "base/limits.h"
#include "provider/builtin/tools.h"

static int
patch_file_run(void *instance, struct job *j)
{
	struct str path = argument_str(j, S("path"));

	(void)instance;
	int rc = workspace_patch(j->context.workspace, path, argument_str(j, S("old")),
				 argument_str(j, S("new")), j->context.witness, &j->out.err);
	if (rc < 0)
		return rc;
	output_textf(&j->out, "Patched %.*s", STR_ARG(path));
	modified_add(j, path);
	return 0;
}

static int
patch_file_preview(struct job *j)
{
	struct str path = argument_str(j, S("path"));
	struct buf before = BUF_INIT(LIMIT_FILE_PATCH), after = BUF_INIT(LIMIT_FILE_PATCH);

	int rc = workspace_patched(j->context.workspace, path, argument_str(j, S("old")),
				   argument_str(j, S("new")), &before, &after, &j->out.err);
	if (rc == 0)
		rc = modified_show(j, path, buf_str(&before), buf_str(&after));
	buf_done(&before);
	buf_done(&after);
	return rc;
}

const struct builtin_ops patch_file_ops = {
    .make = file_work_make,
    .free = file_work_free,
    .run = patch_file_run,
    .preview = patch_file_preview,
};
