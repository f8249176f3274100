/* cmd_tools.c - which tools there are. */

#include "cli/args.h"
#include "cli/show.h"

static const struct column columns[] = {
    {"TOOL", "name", SHOW_TEXT},
    {"MAY", "side_effects", SHOW_TEXT},
    {"EFFECT", "reversibility", SHOW_TEXT},
    {"WHAT IT DOES", "description", SHOW_SENTENCE},
};

int
cmd_tools(const struct args *a)
{
	struct reply tools;
	struct api *api;
	int code = api_enter(API_DRY, &api);

	if (code != EXIT_FINE)
		return code;
	code = api_get(api, &tools, "/tools");
	api_close(api);
	if (code != EXIT_FINE)
		return code;
	if (args_given(a, "json"))
		show_json(&tools);
	else
		show_table(json_get(tools.root, S("tools")), columns, ARRAY_LEN(columns));
	api_done(&tools);
	return EXIT_FINE;
}
