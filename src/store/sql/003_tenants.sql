-- 003_tenants.sql - whose tools: what people set up besides the configuration file.
--
-- One table for all of it, as it is loaded whole at the start and written seldom. `kind` is
-- 'tenant', 'agent', 'definition' or 'activation'; of a tenant and an agent `name` is '', of a
-- tenant and a definition `agent` is ''. What more there is to say is in `json`.

CREATE TABLE settings (
	kind       TEXT,
	tenant     TEXT,
	agent      TEXT,
	name       TEXT,     -- of a tool; of an activation it may be a pattern
	id         TEXT,     -- a UUID
	json       TEXT,
	created_us INTEGER,
	updated_us INTEGER,
	PRIMARY KEY (kind, tenant, agent, name)
) WITHOUT ROWID;

-- For whoever looks into the file.
CREATE VIEW tool_definitions AS
SELECT id, tenant, name, json, created_us, updated_us FROM settings WHERE kind = 'definition';
CREATE VIEW tool_activations AS
SELECT id, tenant, agent, name AS tool, json_extract(json, '$.enabled') AS enabled,
	json_extract(json, '$.policy_overrides') AS policy_overrides, created_us, updated_us
FROM settings WHERE kind = 'activation';

-- NULL: the default ones.
ALTER TABLE sessions ADD COLUMN tenant TEXT;
ALTER TABLE sessions ADD COLUMN agent TEXT;
