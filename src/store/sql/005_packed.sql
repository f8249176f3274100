-- 005_packed.sql - records that come by the hundred are packed.
--
-- A row of `records` is text as before, or a blob: the length of the text (4 bytes, the least first)
-- and the text as a block of LZ4. A program of before does not know that; hence the version. The view
-- shows what is text, which is all of it where calls do not come in a rush; the program shows all.

DROP VIEW events;
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
FROM segments JOIN (SELECT seq, lines FROM records WHERE typeof(lines) = 'text') USING (seq),
	json_each('[' || substr(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(lines,
		char(1), '{"id":'),
		char(2), ',"timestamp":'),
		char(3), ',"session_id":'),
		char(4), ',"turn_id":'),
		char(5), ',"parent_event_id":'),
		char(6), ',"type":'),
		char(7), ',"actor":'),
		char(8), ',"payload":'),
		char(11), ',"sensitivity":'),
		char(30), ','), 2) || ']')
WHERE log = 'events';
