/* file_work.c - what the tools on files share. */

#include <stdlib.h>

#include "base/limits.h"
#include "provider/builtin/tools.h"
#include "text/diff.h"

void *
file_work_make(void *arg)
{
	struct file_work *f = calloc(1, sizeof(*f));

	(void)arg;
	if (f) {
		f->before = BUF_INIT(LIMIT_FILE_READ);
		f->after = BUF_INIT(LIMIT_FILE_WRITE);
	}
	return f;
}

void
file_work_free(void *instance)
{
	struct file_work *f = instance;

	buf_done(&f->before);
	buf_done(&f->after);
	free(f);
}

struct str
argument_str(const struct job *j, struct str name)
{
	return json_str(json_get(j->input, name));
}

int64_t
argument_int(const struct job *j, struct str name, int64_t absent)
{
	int64_t n = absent;

	json_int(json_get(j->input, name), &n);
	return n;
}

static struct str
path_clean(const struct job *j, struct str path, struct buf *clean)
{
	/* Dots that only links make sense of cannot be cleaned: then as it was written. */
	if (workspace_relative(j->context.workspace, path, clean, NULL) < 0)
		return path;
	return buf_str(clean);
}

void
modified_add(struct job *j, struct str path)
{
	struct buf clean = BUF_INIT(LIMIT_PATH);

	output_modified(&j->out, path_clean(j, path, &clean));
	buf_done(&clean);
}

void
modified_show(struct job *j, struct str path, struct str before, struct str after)
{
	struct buf clean = BUF_INIT(LIMIT_PATH);

	diff_unified(&j->out.diff, path_clean(j, path, &clean), before, after);
	buf_done(&clean);
	modified_add(j, path);
}
