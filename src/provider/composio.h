/*
 * composio.h - actions of Composio as tools: a request to its REST interface (v3), and an answer
 * that says inside whether it was a success.
 *
 *	composio_action        its slug; the definition's name in capitals where nothing is said
 *	entity_id              for whom: the user_id of v3; "default" where nothing is said
 *	connected_account_id   which of the user's connections; may be missing
 *	version                of the toolkit; may be missing
 *	timeout                seconds
 */

#ifndef PROVIDER_COMPOSIO_H
#define PROVIDER_COMPOSIO_H

#include "provider/kinds.h"

#define COMPOSIO_URL "https://backend.composio.dev/api/v3"

int composio_fit(struct http_provider *p, struct tool *t, const struct definition *d,
		 const struct kinds_settings *settings, struct err *e);

#endif
