// SPDX-License-Identifier: MIT
//
// Tests thousands of objects: stress.js PACKAGE [COUNT], with --expose-gc. Makes COUNT contexts,
// each with a graph and tensors that run once, drops or destroys them, and does it again. The
// second time must add no threads, no files, and no more than 5 % of memory.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const { ml, MLGraphBuilder } = require(path.resolve(process.argv[2], 'index.js'));
const count = Number(process.argv[3] || 1000);
const shape = { dataType: 'float32', shape: [64, 64] };

async function round(index) {
	const context = await ml.createContext({ deviceType: index % 10 ? 'cpu' : 'sim' });
	const builder = new MLGraphBuilder(context);
	const weights = builder.constant(shape, new Float32Array(4096).fill(index));
	const graph = await builder.build({ y: builder.matmul(builder.input('x', shape), weights) });
	const x = await context.createTensor({ ...shape, writable: true });
	const y = await context.createTensor({ ...shape, readable: true });

	context.writeTensor(x, new Float32Array(4096).fill(1));
	context.dispatch(graph, { x }, { y });
	if (new Float32Array(await context.readTensor(y))[17] !== 64 * index)
		throw new Error(`round ${index}: a wrong result`);
	// Half of them are destroyed, the others are left to the collector.
	if (index % 2)
		context.destroy();
}

// Returns the bytes of memory, threads and open files of the process, after a collection of
// garbage.
async function measure() {
	for (let i = 0; i < 10; i++) {
		global.gc();
		await sleep(50);
	}
	return {
		bytes: process.memoryUsage().rss, threads: fs.readdirSync('/proc/self/task').length,
		files: fs.readdirSync('/proc/self/fd').length,
	};
}

async function some() {
	for (let i = 0; i < count; i++) {
		await round(i);
		if (i % 20 === 19)
			global.gc();
	}
	return measure();
}

function leaks(before, after) {
	return after.bytes > 1.05 * before.bytes || after.threads > before.threads || after.files > before.files;
}

async function main() {
	const before = await some();
	let after = await some();

	// The process gives collected memory back a little later, on a busy machine much later.
	for (let i = 0; i < 60 && leaks(before, after); i++)
		after = await measure();
	const growth = after.bytes / before.bytes - 1;

	console.log(`stress: ${count} contexts, graphs and pairs of tensors, twice: ${before.bytes >> 20} MiB, then ${after.bytes >> 20} MiB ` +
		`(${(growth * 100).toFixed(1)} %); threads ${before.threads}, ${after.threads}; files ${before.files}, ${after.files}`);
	process.exit(leaks(before, after) ? 1 : 0);
}

main();
