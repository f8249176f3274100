/* cmd_config.c - the configuration file: is it right, where is it, what may be in it. */

#include <stdio.h>
#include <unistd.h>

#include "base/paths.h"
#include "cli/args.h"
#include "holdfast.h"

static void
print_warning(const char *sentence, void *arg)
{
	(void)arg;
	fprintf(stderr, "warning: %s\n", sentence);
}

int
cmd_config_check(const struct args *a)
{
	const char *file = a->count ? a->words[0] : NULL;
	struct path usual;
	struct err e;

	if (hf_config_check(file, print_warning, NULL) < 0)
		return refuse("%s", hf_error(NULL));
	if (!file && path_config(&usual, &e) == 0)
		file = usual.text;
	if (file && access(file, F_OK) < 0)
		printf("%s is not there, so the defaults count\n", file);
	else
		printf("%s is fine\n", file ? file : "the configuration");
	return EXIT_FINE;
}

int
cmd_config_path(const struct args *a)
{
	struct path file;
	struct err e;

	(void)a;
	if (path_config(&file, &e) < 0)
		return refuse("%s", err_text(&e));
	printf("%s\n", file.text);
	return EXIT_FINE;
}

int
cmd_config_schema(const struct args *a)
{
	(void)a;
	fputs(hf_config_schema(), stdout);
	return EXIT_FINE;
}
