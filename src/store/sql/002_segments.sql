-- 002_segments.sql - events and calls by the hundred instead of one by one.
--
-- A record is a JSON text as it is shown, RS before it and LF after it (RFC 7464). Records that
-- were written together stand in one row of `records`; `segments` says what is in there. All ids
-- of a segment begin with the same 7 letters of their ULID (33 seconds), so segments that
-- overlap are found close together. What stood in the old tables is moved by the program.

ALTER TABLE events RENAME TO events_001;
ALTER TABLE calls RENAME TO calls_001;

CREATE TABLE records (
	seq   INTEGER PRIMARY KEY,  -- a later record replaces an earlier one of the same id
	lines TEXT
);

CREATE TABLE segments (
	log      TEXT,     -- 'events', 'calls'
	first    TEXT,     -- the least id in it
	seq      INTEGER,  -- of its records
	last     TEXT,     -- the greatest
	kept     INTEGER,  -- 1: audit events, never pruned
	sessions BLOB,     -- which sessions are in it: 4 bytes of a hash for each
	uses     BLOB,     -- the same of tool_use_ids
	PRIMARY KEY (log, first, seq)
) WITHOUT ROWID;

-- The catalogue's table, for whoever looks into the file.
CREATE VIEW events AS
SELECT
	json_extract(value, '$.id') AS id,
	strftime('%s', json_extract(value, '$.timestamp')) * 1000000
		+ CAST(substr(json_extract(value, '$.timestamp'), 21, 6) AS INTEGER) AS timestamp_us,
	json_extract(value, '$.session_id') AS session_id,
	json_extract(value, '$.turn_id') AS turn_id,
	json_extract(value, '$.parent_event_id') AS parent_event_id,
	json_extract(value, '$.type') AS type,
	json_extract(value, '$.actor') AS actor,
	json_extract(value, '$.sensitivity') AS sensitivity,
	json_extract(value, '$.payload') AS payload_json,
	kept AS audit
FROM segments JOIN records USING (seq),
	json_each('[' || substr(replace(lines, char(30), ','), 2) || ']')
WHERE log = 'events';
