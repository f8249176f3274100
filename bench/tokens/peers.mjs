// peers.mjs - what bench_tokens.c measures, done by a tokenizer from npm.
//
//   node bench/tokens/peers.mjs gpt-tokenizer|tiktoken FILE...      lines of "file tokens bytes-per-second"
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const load = createRequire(path.join(HERE, "..", "..", "tests", "package.json"));

const MEASURE_MS = 400;

// The quickest way each of them has to count.
const peers = {
	"gpt-tokenizer": () => {
		const { countTokens } = load("gpt-tokenizer/encoding/cl100k_base");
		return (text) => countTokens(text, { disallowedSpecial: new Set() }); // they are ordinary text
	},
	tiktoken: () => {
		const encoding = load("tiktoken").get_encoding("cl100k_base");
		return (text) => encoding.encode(text, [], []).length;
	},
};

const now = () => Number(process.hrtime.bigint()) / 1e6;

const make = peers[process.argv[2]];
if (!make) {
	console.error(`usage: peers.mjs ${Object.keys(peers).join("|")} FILE...`);
	process.exit(2);
}
const count = make();
for (const file of process.argv.slice(3)) {
	const text = fs.readFileSync(file, "utf8");
	let tokens = 0, rounds = 0;
	for (const end = now() + MEASURE_MS; now() < end; ) tokens = count(text); // the JIT and its cache have seen it all
	const start = now();
	for (; now() - start < MEASURE_MS; rounds++) count(text);
	console.log(file, tokens, ((fs.statSync(file).size * rounds * 1000) / (now() - start)).toFixed(0));
}
