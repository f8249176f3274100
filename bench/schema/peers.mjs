// peers.mjs - what bench_schema.c measures, done by a validator from npm.
//
//   node bench/schema/peers.mjs ajv|schemasafe      lines of "what per-second"
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const load = createRequire(path.join(HERE, "..", "..", "tests", "package.json"));
const text = (name) => fs.readFileSync(path.join(HERE, name), "utf8");

const MEASURE_MS = 400;
const VARIANTS = 300; // compiling generates and evaluates code: fewer will do

// One compiler for all schemas, as an application has it.
const peers = {
	ajv: () => {
		const ajv = new (load("ajv/dist/2020.js").default)({ strict: false });
		return (schema) => ajv.compile(schema);
	},
	schemasafe: () => load("@exodus/schemasafe").validator,
};

const now = () => Number(process.hrtime.bigint()) / 1e6;
const say = (what, perSecond) => console.log(`${what} ${perSecond.toFixed(1)}`);

// run(i) answers whether value i fits; all of them do.
function measure(what, count, run) {
	const round = () => {
		let fit = 0;
		for (let times = 0; times < 64; times++)
			for (let i = 0; i < count; i++) fit += run(i) ? 1 : 0;
		if (fit !== 64 * count) throw new Error(`${what}: a value that fits was refused`);
		return fit;
	};
	for (const end = now() + MEASURE_MS; now() < end; ) round(); // the JIT has seen it all
	let done = 0;
	const start = now();
	while (now() - start < MEASURE_MS) done += round();
	say(what, (done * 1000) / (now() - start));
}

function measureSchema(compile, name) {
	const fits = compile(JSON.parse(text(`${name}.json`)));
	const values = JSON.parse(text(`${name}-valid.json`));
	const texts = values.map((v) => JSON.stringify(v));
	for (const [i, v] of JSON.parse(text(`${name}-invalid.json`)).entries())
		if (fits(v)) throw new Error(`${name}: the invalid value ${i} was taken`);
	measure(`${name}/parsed`, values.length, (i) => fits(values[i]));
	measure(`${name}/text`, texts.length, (i) => fits(JSON.parse(texts[i])));
}

function measureCompiling(compile) {
	const variant = text("variant.json.in");
	const texts = Array.from({ length: 2 * VARIANTS }, (_, i) => variant.replaceAll("@", i));
	const schemas = texts.slice(0, VARIANTS).map((t) => JSON.parse(t));
	let start = now();
	let made = schemas.map(compile).length;
	say("compile/parsed", (made * 1000) / (now() - start));
	start = now();
	made = texts.slice(VARIANTS).map((t) => compile(JSON.parse(t))).length;
	say("compile/text", (made * 1000) / (now() - start));
}

const make = peers[process.argv[2]];
if (!make) {
	console.error(`usage: peers.mjs ${Object.keys(peers).join("|")}`);
	process.exit(2);
}
measureSchema(make(), "typical");
measureSchema(make(), "large");
measureCompiling(make());
