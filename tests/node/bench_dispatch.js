// SPDX-License-Identifier: MIT
//
// What the binding costs: bench_dispatch.js PACKAGE [DISPATCHES]. Prints the time of a dispatch through
// JavaScript, pipelined, without the device's work, and how long the event loop was held while dispatches
// and timers took turns.
'use strict';

const path = require('node:path');
const { monitorEventLoopDelay, performance } = require('node:perf_hooks');

const { ml, MLGraphBuilder } = require(path.resolve(process.argv[2], 'index.js'));
const count = Number(process.argv[3] || 10000);

async function main() {
	const context = await ml.createContext();
	const builder = new MLGraphBuilder(context);
	const vector = { dataType: 'float32', shape: [1] };
	const graph = await builder.build({ y: builder.relu(builder.input('x', vector)) });
	const x = await context.createTensor({ ...vector, writable: true });
	const y = await context.createTensor({ ...vector, readable: true });

	for (let i = 0; i < 1000; i++)
		context.dispatch(graph, { x }, { y });
	await context.readTensor(y);
	const started = performance.now();

	for (let i = 0; i < count; i++)
		context.dispatch(graph, { x }, { y });
	const enqueued = performance.now();

	await context.readTensor(y);
	const done = performance.now();

	console.log(`dispatch: ${((enqueued - started) * 1000 / count).toFixed(2)} us enqueued, ` +
		`${((done - started) * 1000 / count).toFixed(2)} us through`);

	const delay = monitorEventLoopDelay({ resolution: 1 });
	let held = 0;

	delay.enable();
	for (let i = 0; i < count; i += 10) {
		const before = performance.now();

		for (let k = 0; k < 10; k++)
			context.dispatch(graph, { x }, { y });
		const read = context.readTensor(y);

		held = Math.max(held, performance.now() - before);
		await new Promise((resolve) => setTimeout(resolve, 0));
		await read;
	}
	delay.disable();
	console.log(`event loop: longest call ${held.toFixed(3)} ms; delay p50 ${(delay.percentile(50) / 1e6).toFixed(2)} ms, ` +
		`p99 ${(delay.percentile(99) / 1e6).toFixed(2)} ms, max ${(delay.max / 1e6).toFixed(2)} ms`);
}

main();
