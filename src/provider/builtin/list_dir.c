/* list_dir.c - the names in a directory, sorted. */

#include "base/limits.h"
#include "provider/builtin/tools.h"

static int
list_dir_run(void *instance, struct job *j)
{
	struct file_work *f = instance;
	struct str path = argument_str(j, S("path"));
	size_t count = 0;

	int rc = workspace_list(j->context.workspace, path.ptr ? path : S("."), &f->before, &count,
				&j->out.err);
	if (rc < 0)
		return rc;
	output_text(&j->out, count ? buf_str(&f->before) : S("(empty)"));
	if (count > LIMIT_DIR_ENTRIES)
		output_textf(&j->out, "[%d of %zu entries; the others are not shown]",
			     LIMIT_DIR_ENTRIES, count);
	buf_addf(&j->out.metadata, "\"entries\":%zu", count);
	return 0;
}

const struct builtin_ops list_dir_ops = {
    .make = file_work_make,
    .free = file_work_free,
    .run = list_dir_run,
};
