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

void
modified_add(struct job *j, struct str path)
{
	struct buf place = BUF_INIT(2 * LIMIT_PATH);
	int rc = workspace_target(j->context.workspace, path, &place, NULL);

	/* It is written, whatever happened to the path since: then as it was asked for. */
	output_modified(&j->out, rc < 0 ? path : buf_str(&place));
	buf_done(&place);
}

int
modified_show(struct job *j, struct str path, struct str before, struct str after)
{
	struct buf place = BUF_INIT(2 * LIMIT_PATH);
	int rc = workspace_target(j->context.workspace, path, &place, &j->out.err);

	if (rc == 0) {
		j->out.unchanged = before.ptr && str_eq(before, after);
		if (!j->out.image[0])
			image_of_bytes(before, j->out.image);
		j->out.diff_cut = !diff_unified(&j->out.diff, buf_str(&place), before, after);
		output_modified(&j->out, buf_str(&place));
	}
	buf_done(&place);
	return rc;
}
