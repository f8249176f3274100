/* sqlite_settings.c - tenants, agents, definitions and activations in the file. */

#include "store/sqlite.h"

int
store_put_setting(struct store *s, const struct store_setting *row)
{
	const struct value values[] = {
	    value_z(row->kind),         value_str(row->tenant),     value_str(row->agent),
	    value_str(row->name),       value_str(row->id),         value_str(row->json),
	    value_int(row->created_us), value_int(row->updated_us),
	};

	return writer__put(&s->writer, OP_SETTING, values, ARRAY_LEN(values));
}

int
store_drop_setting(struct store *s, const struct store_setting *key)
{
	const struct value values[] = {
	    value_z(key->kind),
	    value_str(key->tenant),
	    value_str(key->agent),
	    value_str(key->name),
	};

	return writer__put(&s->writer, OP_DROP_SETTING, values, ARRAY_LEN(values));
}

int
store_drop_agent(struct store *s, struct str tenant, struct str agent)
{
	const struct value values[] = {value_str(tenant), value_str(agent)};

	return writer__put(&s->writer, OP_DROP_AGENT, values, ARRAY_LEN(values));
}

int
store_drop_tenant(struct store *s, struct str tenant)
{
	const struct value value = value_str(tenant);

	return writer__put(&s->writer, OP_DROP_TENANT, &value, 1);
}

static struct store_setting
setting_of(sqlite3_stmt *st)
{
	return (struct store_setting){
	    .kind = db_text(st, 0).ptr,
	    .tenant = db_text(st, 1),
	    .agent = db_text(st, 2),
	    .name = db_text(st, 3),
	    .id = db_text(st, 4),
	    .json = db_text(st, 5),
	    .created_us = sqlite3_column_int64(st, 6),
	    .updated_us = sqlite3_column_int64(st, 7),
	};
}

int
store_load_settings(struct store *s, void (*each)(const struct store_setting *row, void *arg),
		    void *arg, struct err *e)
{
	static const char sql[] =
	    "SELECT kind, tenant, agent, name, id, json, created_us, updated_us FROM settings"
	    " ORDER BY kind = 'tenant' DESC, kind = 'agent' DESC, kind, tenant, agent, name";
	sqlite3 *db = s->reader.db;
	sqlite3_stmt *st = NULL;

	writer__pass(&s->writer, writer__position(&s->writer));
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct store_setting row = setting_of(st);
		each(&row, arg);
	}
	int code = rc == SQLITE_DONE ? 0 : db_error(db, "settings", e);
	sqlite3_finalize(st);
	return code;
}
