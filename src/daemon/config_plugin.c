/* config_plugin.c - where `holdfast` is, which runs plugins (src/cli/cmd_plugin_host.c). */

#include <limits.h>
#include <unistd.h>

#include "daemon/config_inside.h"

#define NAME "holdfast"

static bool
is_there(struct buf *out)
{
	return buf_z(out) && access(out->ptr, X_OK) == 0;
}

/* This very program as a rule; beside it or where it is installed, when the library is used by
 * another. One that was replaced while it runs has a mark behind its name. */
bool
config__plugin_host(struct buf *out)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	struct str self = {path, n > 0 ? (size_t)n : 0};

	if (str_ends(self, S(" (deleted)")))
		self.len -= sizeof(" (deleted)") - 1;
	while (self.len > 0 && self.ptr[self.len - 1] != '/')
		self.len--;
	buf_add(out, self);
	buf_addz(out, NAME);
	if (self.len > 0 && is_there(out))
		return true;
	buf_reset(out);
	buf_addz(out, HOLDFAST_BINDIR "/" NAME);
	return is_there(out);
}
