/* read_file.c - the lines of a text file, all or some. */

#include "base/limits.h"
#include "provider/builtin/tools.h"

/* Lines first to last (from 1) of a text; cut when even one line is too long. */
struct excerpt {
	struct str text;
	size_t first, last, total;
	size_t line_bytes; /* of the line that was cut, or 0 */
};

static struct str
line_take(struct str *rest)
{
	ptrdiff_t at = str_index(*rest, '\n');
	struct str line = at < 0 ? *rest : str_upto(*rest, (size_t)at + 1);

	*rest = str_from(*rest, line.len);
	return line;
}

static struct excerpt
excerpt_take(struct str text, size_t offset, size_t limit)
{
	struct excerpt x = {.first = offset, .last = offset - 1};
	bool full = false;

	while (text.len) {
		struct str line = line_take(&text);
		x.total++;
		if (x.total < offset || full)
			continue;
		bool fits = x.text.len + line.len <= LIMIT_READ_TEXT;
		if (x.total == offset) {
			x.text = str_utf8_upto(line, LIMIT_READ_TEXT);
			x.line_bytes = fits ? 0 : line.len;
		} else if (fits) {
			x.text.len += line.len; /* the lines follow one another */
		}
		if (fits || x.total == offset)
			x.last = x.total;
		full = !fits || x.last - x.first + 1 >= limit;
	}
	return x;
}

/* The file's own text stays alone in its block; how to go on stands in another. */
static void
excerpt_note(struct output *o, const struct excerpt *x)
{
	if (x->line_bytes)
		output_textf(o, "[line %zu is cut: %zu of its %zu bytes are shown]", x->first,
			     x->text.len, x->line_bytes);
	if (x->last < x->total)
		output_textf(o, "[lines %zu-%zu of %zu; continue with offset=%zu]", x->first,
			     x->last, x->total, x->last + 1);
	buf_addf(&o->metadata, "\"first_line\":%zu,\"last_line\":%zu,\"total_lines\":%zu", x->first,
		 x->last, x->total);
}

static int
read_file_run(void *instance, struct job *j)
{
	struct file_work *f = instance;
	struct str path = argument_str(j, S("path"));
	int64_t offset = argument_int(j, S("offset"), 1);
	int64_t limit = argument_int(j, S("limit"), INT64_MAX);
	struct err *e = &j->out.err;

	if (offset < 1 || limit < 1)
		return err_set(e, E_VALIDATION, "offset and limit count lines from 1");
	int rc = workspace_read(j->context.workspace, path, &f->before, e);
	if (rc < 0)
		return rc;
	struct excerpt x = excerpt_take(buf_str(&f->before), (size_t)offset, (size_t)limit);
	if (x.total < x.first && x.first > 1)
		return err_set(e, E_EXECUTION, "offset %zu is past the end: %.*s has %zu line%s",
			       x.first, STR_ARG(str_utf8_upto(path, 400)), x.total,
			       x.total == 1 ? "" : "s");
	output_text(&j->out, x.text.ptr ? x.text : S(""));
	excerpt_note(&j->out, &x);
	return 0;
}

const struct builtin_ops read_file_ops = {
    .make = file_work_make,
    .free = file_work_free,
    .run = read_file_run,
};
