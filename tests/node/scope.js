// SPDX-License-Identifier: MIT
//
// Runs one file of the Web Platform Tests, unmodified, in the thread that it is started in: a child
// process stands for a window, a worker thread for a dedicated worker. It gives the file what a
// browser and the server of the tests give: testharness.js, the scripts of its META lines, self,
// GLOBAL, location, fetch() of files, and built-in functions that this Node does not have yet.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { isMainThread, parentPort, workerData } = require('node:worker_threads');

// The server's addresses that differ from the names of the files.
const ADDRESSES = { '/resources/WebIDLParser.js': '/resources/webidl2/lib/webidl2.js' };

// testharness.js numbers results in this order.
const STATUS = ['PASS', 'FAIL', 'TIMEOUT', 'NOTRUN', 'PRECONDITION_FAILED'];
const HARNESS_STATUS = ['OK', 'ERROR', 'TIMEOUT', 'PRECONDITION_FAILED'];

function addMissing(target, name, value) {
	if (!(name in target))
		Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

function addMissingBuiltIns() {
	// Holds the bits of float16 in 16-bit numbers, as the specification of WebNN suggests for
	// engines without Float16Array.
	addMissing(globalThis, 'Float16Array', class Float16Array extends Uint16Array {});
	addMissing(Set.prototype, 'difference', function difference(other) {
		return new Set([...this].filter((item) => !other.has(item)));
	});
	addMissing(ArrayBuffer.prototype, 'transfer', function transfer() {
		return structuredClone(this, { transfer: [this] });
	});
	if (!('detached' in ArrayBuffer.prototype)) {
		Object.defineProperty(ArrayBuffer.prototype, 'detached', {
			configurable: true,
			get() {
				// A view of a buffer cannot be made only if the buffer is detached.
				try {
					new Uint8Array(this);
					return false;
				} catch {
					return true;
				}
			},
		});
	}
}

function locate(job, address, base) {
	const url = new URL(address, `https://web-platform.test${base}`);
	const name = ADDRESSES[url.pathname] || url.pathname;
	// The interfaces of other specifications that webnn.idl builds upon are beside this file.
	const folders = [job.root, job.own];

	return folders.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file));
}

function makeGlobals(job) {
	const { href, search, pathname, origin } = new URL(job.url, 'https://web-platform.test');
	const globals = {
		self: globalThis,
		GLOBAL: {
			isWindow: () => !job.worker,
			isWorker: () => job.worker,
			isShadowRealm: () => false,
		},
		// The tests ask their server for headers that have this effect.
		crossOriginIsolated: true,
		location: { href, search, pathname, origin, toString: () => href },
		fetch: async (address) => {
			const file = locate(job, address, pathname);

			return file ? new Response(fs.readFileSync(file)) : new Response('', { status: 404 });
		},
	};

	for (const [name, value] of Object.entries(globals))
		Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
	if (!job.worker) {
		globalThis.Window = class Window {};
		globalThis.window = globalThis;
		return;
	}
	// By these classes, testharness.js and idlharness.js recognise a dedicated worker.
	globalThis.WorkerGlobalScope = class WorkerGlobalScope {
		static [Symbol.hasInstance](value) {
			return value === globalThis;
		}
	};
	globalThis.DedicatedWorkerGlobalScope = class DedicatedWorkerGlobalScope extends globalThis.WorkerGlobalScope {};
	globalThis.addEventListener = () => {};
	globalThis.postMessage = () => {};
}

// Returns the paths of the scripts that a test asks for in lines "// META: script=".
function metaScripts(text) {
	return [...text.matchAll(/^\/\/ META: script=(.*)$/gm)].map((match) => match[1].trim());
}

function load(job, address) {
	const file = locate(job, address, job.file);

	if (!file)
		throw new Error(`${address} is not there`);
	vm.runInThisContext(fs.readFileSync(file, 'utf8'), { filename: file });
}

function report(tests, status) {
	return {
		status: HARNESS_STATUS[status.status] || 'ERROR',
		message: status.message,
		subtests: tests.map((test) => ({
			name: test.name, status: STATUS[test.status], message: test.message,
		})),
	};
}

function run(job, send) {
	const fail = (error) => send({ status: 'ERROR', message: String(error?.stack || error), subtests: [] });

	try {
		addMissingBuiltIns();
		makeGlobals(job);
		require(path.join(job.package, 'register.js'));
		load(job, '/resources/testharness.js');
		globalThis.add_completion_callback((tests, status) => send(report(tests, status)));
		// An error that nobody catches is an error of the file, as in a browser.
		process.on('uncaughtException', fail);
		process.on('unhandledRejection', fail);
		metaScripts(fs.readFileSync(path.join(job.root, job.file), 'utf8')).forEach((name) => load(job, name));
		load(job, job.file);
		// The server of the tests ends workers' files with this call.
		if (job.worker)
			globalThis.done();
	} catch (error) {
		fail(error);
	}
}

if (isMainThread) {
	process.once('message', (job) => run(job, (result) => process.send(result, () => process.exit(0))));
} else {
	run(workerData, (result) => parentPort.postMessage(result));
}
