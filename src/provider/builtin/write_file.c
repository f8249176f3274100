/* write_file.c - create a file, or replace its whole content. */

#include <unistd.h>

#include "base/limits.h"
#include "provider/builtin/tools.h"

static int
write_file_run(void *instance, struct job *j)
{
	struct str path = argument_str(j, S("path")), content = argument_str(j, S("content"));

	(void)instance;
	int rc =
	    workspace_write(j->context.workspace, path, content, j->context.witness, &j->out.err);
	if (rc < 0)
		return rc;
	output_textf(&j->out, "Wrote %zu bytes to %.*s", content.len, STR_ARG(path));
	modified_add(j, path);
	buf_addf(&j->out.metadata, "\"bytes\":%zu", content.len);
	return 0;
}

/* What is there cannot be shown; what takes its place can. */
static int
show_opaque(struct job *j, struct str path, const char *what, struct str content)
{
	j->out.err = ERR_NONE;
	buf_addf(&j->out.diff, "[what is there now is %s; %zu bytes take its place]\n", what,
		 content.len);
	int rc = modified_show(j, path, S(""), content);
	j->out.unchanged = false; /* also when what takes its place is nothing */
	return rc;
}

/* Of a file that is too large to be read whole. */
static void
image_take(struct job *j, struct str path)
{
	int fd = -1;

	(void)workspace_open_file(j->context.workspace, path, &fd, NULL);
	image_of(fd, j->out.image);
	if (fd >= 0)
		close(fd);
}

static int
write_file_preview(struct job *j)
{
	struct str path = argument_str(j, S("path")), content = argument_str(j, S("content"));
	struct buf before = BUF_INIT(LIMIT_FILE_READ);
	bool there = false;

	int rc = workspace_peek(j->context.workspace, path, &before, &there, &j->out.err);
	if (rc == E_TOO_LARGE) {
		image_take(j, path);
		rc = show_opaque(j, path, "too large to be compared", content);
	} else if (rc == 0 && !str_is_utf8(buf_str(&before))) {
		image_of_bytes(buf_str(&before), j->out.image);
		rc = show_opaque(j, path, "not text", content);
	} else if (rc == 0) {
		rc = modified_show(j, path, there ? buf_str(&before) : (struct str){NULL, 0},
				   content);
	}
	buf_done(&before);
	return rc;
}

const struct builtin_ops write_file_ops = {
    .make = file_work_make,
    .free = file_work_free,
    .run = write_file_run,
    .preview = write_file_preview,
};
