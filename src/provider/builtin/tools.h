/* tools.h - the built-in tools, and what those on files share. */

#ifndef PROVIDER_BUILTIN_TOOLS_H
#define PROVIDER_BUILTIN_TOOLS_H

#include "provider/builtin.h"

extern const struct builtin_ops list_dir_ops, patch_file_ops, read_file_ops, shell_ops,
    tool_view_ops, write_file_ops;

/* The instance of a tool on files: the texts it works on. */
struct file_work {
	struct buf before, after;
};
void *file_work_make(void *arg);
void file_work_free(void *instance);

struct str argument_str(const struct job *j, struct str name);              /* {NULL,0} = none */
int64_t argument_int(const struct job *j, struct str name, int64_t absent); /* absent = none */

/* Add the path to the modified ones: the place in the workspace that was written. */
void modified_add(struct job *j, struct str path);
/*
 * The same for a preview, with the diff; before.ptr is NULL where there is no file yet. Fails
 * when the place that would be written cannot be told.
 */
int modified_show(struct job *j, struct str path, struct str before, struct str after);

#endif
