// SPDX-License-Identifier: MIT
//
// bench_node.py runs this script: loop.js PACKAGE. It answers lines like bench-latency-loop, on the
// same network, relu of [1, 16]. "flight N" dispatches N times and waits for the last one. "timers
// N" dispatches N times, ten at a time with a read and a timer between. It answers with three times
// in ns: the longest time that calls held the event loop, that time without the thread's waits for
// a processor, and the largest delay of the loop.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const { createHistogram, monitorEventLoopDelay } = require('node:perf_hooks');

const { ml, MLGraphBuilder } = require(path.resolve(process.argv[2], 'index.js'));
const ROW = { dataType: 'float32', shape: [1, 16] };

async function flight(run, count) {
	const begin = process.hrtime.bigint();

	for (let i = 0; i < count; i++)
		run.dispatch();
	await run.read();
	return Number(process.hrtime.bigint() - begin);
}

// Returns how many ns this thread has waited for a processor since it started.
function waited() {
	return BigInt(fs.readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[1]);
}

async function timers(run, count) {
	const held = createHistogram();
	const own = createHistogram();
	const late = monitorEventLoopDelay({ resolution: 1 });

	late.enable();
	for (let i = 0; i < count; i += 10) {
		const before = waited();
		const begin = process.hrtime.bigint();

		for (let k = 0; k < 10; k++)
			run.dispatch();
		const read = run.read();
		const time = process.hrtime.bigint() - begin;
		const without = time - (waited() - before);

		held.record(time);
		own.record(without > 0n ? without : 1n);
		await new Promise((resolve) => setTimeout(resolve, 0));
		await read;
	}
	late.disable();
	return `${held.max} ${own.max} ${late.max}`;
}

async function main() {
	const context = await ml.createContext();
	const builder = new MLGraphBuilder(context);
	const graph = await builder.build({ y: builder.relu(builder.input('a', ROW)) });
	const a = await context.createTensor({ ...ROW, writable: true });
	const y = await context.createTensor({ ...ROW, readable: true });
	const run = { dispatch: () => context.dispatch(graph, { a }, { y }), read: () => context.readTensor(y) };

	// V8 compiles and allocates during the first flight, which is therefore not measured.
	await flight(run, 2000);
	console.log('ready');
	for await (const line of readline.createInterface({ input: process.stdin })) {
		const [mode, count] = line.split(' ');

		console.log(mode === 'flight' ? await flight(run, Number(count)) : await timers(run, Number(count)));
	}
}

main();
