// tokens.test.mjs - `holdfast tokens` beside tiktoken itself, on generated texts.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { installed, runTests } from "../lib.mjs";

const { get_encoding } = installed("tiktoken") ? await import("tiktoken") : {};
const encoding = get_encoding?.("cl100k_base");
const ROOT = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));

// The same texts in every run.
let seed = 20240229;
const chance = (below) => {
	seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
	return Math.floor((seed / 2 ** 32) * below);
};
const pick = (list) => list[chance(list.length)];
const times = (n, make) => Array.from({ length: n }, make).join("");
const character = (first, last) => {
	for (;;) {
		const c = first + chance(last - first + 1);
		if (c < 0xd800 || c > 0xdfff) return String.fromCodePoint(c);
	}
};
const script = (first, last) => () => times(chance(40), () => (chance(7) ? character(first, last) : " "));
const excerpt = (name) => {
	const whole = fs.readFileSync(path.join(ROOT, name), "utf8");
	return () => {
		const at = chance(whole.length);
		return whole.slice(at, at + chance(300));
	};
};

const PIECES = {
	code: excerpt("src/text/tokens.c"),
	prose: excerpt("docs/cli.md"),
	json: excerpt("cards/read_file.json"),
	anything: () => character(0, 0x10ffff),
	ascii: () => times(chance(12), () => character(32, 126)),
	chinese: script(0x4e00, 0x9fa5),
	japanese: script(0x3041, 0x30fe),
	korean: script(0xac00, 0xd7a3),
	russian: script(0x410, 0x44f),
	arabic: script(0x621, 0x64a),
	hindi: script(0x904, 0x963),
	thai: script(0xe01, 0xe5b),
	emoji: () => pick(["😀", "👩‍👩‍👧", "🏳️‍🌈", "☃", "e\u0301", "ﬁ", "Ⅷ", "½", "٣", "\u200d", "\ufeff"]),
	odd: () => pick(["\u0085", "\u2028", "\u3000", "\u00a0", "\u180e", "\u200b", "\u1680", "\0", "\x7f", "\u{e0041}", "<|endoftext|>"]),
	blanks: () => pick([" ", "\t", "\n", "\r\n", "   \n", "\r", " \u3000", "\v", "\f"]).repeat(1 + chance(6)),
	spaces: () => " ".repeat(chance(pick([3, 20, 200]))),
	contraction: () => "'" + pick(["s", "S", "t", "re", "RE", "ve", "m", "ll", "lL", "d", "ſ", "ſt", "\u212a", "x", "r"]),
	number: () => String(chance(1e9)),
	repeated: () => pick(["=", "-", "*", "a", "A", "\\", "_", "!", "ab", "()", "あ", "0", "é", " a", "\n "]).repeat(chance(pick([5, 30, 300]))),
	letters: () => times(chance(200), () => character(97, 122)),
	few: () => times(chance(pick([20, 900])), () => pick("aAbetis")),
	layout: () => times(chance(pick([20, 900])), () => pick(" \n\t\r ")),
};
const NAMES = Object.keys(PIECES);
const text = () => times(1 + chance(8), () => PIECES[pick(NAMES)]());

function compare(box, text) {
	box.write("text", text);
	const ids = JSON.parse(box.run("tokens", "--ids", "text"));
	const expected = [...encoding.encode(text, [], [])];
	assert.deepEqual(ids, expected, JSON.stringify(text));
	return expected.length;
}

await runTests([
	["two hundred short texts have tiktoken's ids", (box) => {
		for (let i = 0; i < 200; i++) compare(box, text());
	}],
	["eighteen hundred more, thirty at a time, have them too, and the count", (box) => {
		for (let i = 0; i < 60; i++) {
			const count = compare(box, times(30, text));
			assert.equal(box.run("tokens", "text"), `${count}\n`);
		}
	}],
	["every kind of text, long", (box) => {
		for (const name of NAMES) compare(box, times(60, PIECES[name]));
	}],
	["every character is the letter, number, blank or symbol that it is to tiktoken", (box) => {
		const PART = 0x2000;
		for (let first = 0; first < 0x110000; first += PART) {
			let part = "";
			for (let c = first; c < first + PART; c++)
				if (c < 0xd800 || c > 0xdfff) part += `a${String.fromCodePoint(c)}b ${String.fromCodePoint(c)}1`;
			compare(box, part);
		}
	}],
	["runs longer than what is held", (box) => {
		for (const unit of ["a", " ", "=", "你", "\u3000", "ab", "\n ", " \t"])
			for (const end of ["x", "\n\n x"]) {
				const long = `1${unit.repeat(4500)}${end}`;
				const count = compare(box, long);
				assert.equal(box.run("tokens", "text"), `${count}\n`);
			}
	}],
], () => !encoding && "npm's tiktoken is not installed");
