#!/usr/bin/env node
// Ask tiktoken's own regular expressions which characters are letters, numbers and blanks: data/cl100k/classes.
//
//	node script/lib/make-classes.mjs >data/cl100k/classes     tests/node_modules must be there
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(fileURLToPath(new URL("../../tests/package.json", import.meta.url)));
const { Tiktoken } = require("tiktoken");

const CLASSES = { letter: "\\p{L}", number: "\\p{N}", blank: "\\s" };
const BYTES = [...Array(256).keys()].map((b) => Buffer.from([b]).toString("base64"));
const isSurrogate = (c) => c >= 0xd800 && c <= 0xdfff;

// What does not match is left out: the bytes that come back are the members.
function members(pattern) {
	const encoding = new Tiktoken(`! 0 ${BYTES.join(" ")}`, {}, pattern);
	const found = [];
	for (let first = 0; first < 0x110000; first += 0x800) {
		if (isSurrogate(first)) continue;
		const text = String.fromCodePoint(...Array.from({ length: 0x800 }, (_, i) => first + i));
		for (const c of Buffer.from(encoding.encode(text, [], [])).toString("utf8")) found.push(c.codePointAt(0));
	}
	encoding.free();
	return found;
}

function ranges(points) {
	const found = [];
	for (const c of points)
		if (found.length && found.at(-1)[1] === c - 1) found.at(-1)[1] = c;
		else found.push([c, c]);
	return found;
}

for (const [name, pattern] of Object.entries(CLASSES))
	for (const [first, last] of ranges(members(pattern))) console.log(name, first.toString(16), last.toString(16));
