// SPDX-License-Identifier: MIT
//
// Runs the Web Platform Tests for WebNN, unmodified, on the package webnn-npu. See usage().
//
// The report is in the format of wpt.fyi. Tests that fail because the specification has changed
// since they were written are listed in differences.json, with the section that decides. A test
// that fails and is not listed, and one that is listed and passes, are both errors.
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { fork } = require('node:child_process');
const { parseArgs } = require('node:util');
const { Worker } = require('node:worker_threads');

const TOP = path.resolve(__dirname, '../..');
const DEVICES = ['cpu', 'sim', 'npu'];

function usage() {
	return `usage: wpt.js [OPTIONS] [PATTERN …]

Runs the files of the Web Platform Tests whose path has one of the patterns in it; all without.

  --device DEVICE   cpu, sim or npu (default: cpu)
  --json FILE       write the report there, in the format of wpt.fyi, with a summary
  --package FOLDER  the package to test (default: build/gcc/bindings/node)
  --root FOLDER     the tests (default: ../shared/wpt beside the checkout)
  --scope SCOPE     window, worker or all, which is the default
  --jobs N          how many files run at a time (default: as many as processors)
  --timeout SECONDS for one file (default: 300)
  --sample          one conformance file for each operator only, as windows
  --list            print the addresses of the tests, run nothing`;
}

function wrong(message) {
	process.stderr.write(`${usage()}\n\nwpt: ${message}\n`);
	process.exit(2);
}

function options() {
	let parsed;

	try {
		parsed = parseArgs({
			allowPositionals: true,
			options: {
				device: { type: 'string', default: 'cpu' },
				json: { type: 'string' },
				package: { type: 'string', default: path.join(TOP, 'build/gcc/bindings/node') },
				root: { type: 'string', default: path.join(TOP, '../shared/wpt') },
				scope: { type: 'string', default: 'all' },
				jobs: { type: 'string', default: String(os.availableParallelism()) },
				timeout: { type: 'string', default: '300' },
				sample: { type: 'boolean', default: false },
				list: { type: 'boolean', default: false },
				help: { type: 'boolean', default: false },
			},
		});
	} catch (error) {
		wrong(error.message);
	}
	const { values, positionals } = parsed;

	if (values.help) {
		console.log(usage());
		process.exit(0);
	}
	if (!DEVICES.includes(values.device))
		wrong(`there is no device '${values.device}'; there are: ${DEVICES.join(', ')}`);
	if (!['window', 'worker', 'all'].includes(values.scope))
		wrong(`there is no scope '${values.scope}'; there are: window, worker, all`);
	for (const name of ['jobs', 'timeout']) {
		if (!/^[1-9]\d{0,4}$/.test(values[name]))
			wrong(`--${name}: '${values[name]}' is no number above 0`);
	}
	return { ...values, jobs: Number(values.jobs), timeout: Number(values.timeout), patterns: positionals };
}

// Returns the variants of a file for the device; a file without any variants has one empty variant.
function variants(text, device) {
	const all = [...text.matchAll(/^\/\/ META: variant=(.*)$/gm)].map((match) => match[1].trim());
	const wanted = device === 'cpu' ? 'cpu' : 'npu';
	const mine = all.filter((variant) => variant === `?${wanted}` || variant.endsWith(`device=${wanted}`));

	return all.length ? mine : [''];
}

function jobsOf(settings) {
	const folders = settings.sample ? ['webnn/conformance_tests'] :
		['webnn', 'webnn/conformance_tests', 'webnn/validation_tests'];
	const jobs = [];

	for (const folder of folders) {
		for (const name of fs.readdirSync(path.join(settings.root, folder)).sort()) {
			const file = `/${folder}/${name}`;

			if (!/\.(any|window)\.js$/.test(name) ||
				(settings.patterns.length && !settings.patterns.some((pattern) => file.includes(pattern))))
				continue;
			const text = fs.readFileSync(path.join(settings.root, file), 'utf8');
			const scopes = /^\/\/ META: global=(.*)$/m.exec(text)?.[1].split(',') || ['window'];

			for (const variant of variants(text, settings.device)) {
				for (const scope of name.endsWith('.window.js') ? ['window'] : scopes) {
					if ((settings.scope !== 'all' && scope !== settings.scope) ||
						(settings.sample && scope !== 'window'))
						continue;
					const suffix = scope === 'worker' ? '.worker.html' : '.html';

					jobs.push({
						file, worker: scope === 'worker', url: file.replace(/\.js$/, suffix) + variant,
						root: settings.root, own: __dirname, package: settings.package,
					});
				}
			}
		}
	}
	return jobs;
}

function environment(settings) {
	return { ...process.env, WEBNN_DEVICE: settings.device };
}

// Runs a file in a thread or process, and returns a promise of its result, also when the thread or
// process crashes.
function runJob(job, settings) {
	return new Promise((resolve) => {
		const script = path.join(__dirname, 'scope.js');
		const started = Date.now();
		const runner = job.worker ? new Worker(script, { workerData: job, env: environment(settings) }) :
			fork(script, { env: environment(settings) });
		let result;
		const end = (found) => {
			result ||= found;
			if (job.worker)
				runner.terminate();
			else
				runner.kill('SIGKILL');
		};
		const timer = setTimeout(() => end({ status: 'TIMEOUT', message: null, subtests: [] }),
			settings.timeout * 1000);

		runner.on('message', end);
		runner.on('error', (error) => end({ status: 'CRASH', message: String(error), subtests: [] }));
		runner.on('exit', (code, signal) => {
			clearTimeout(timer);
			result ||= { status: 'CRASH', message: `ended with ${signal || code}`, subtests: [] };
			resolve({ test: job.url, ...result, duration: Date.now() - started });
		});
		if (!job.worker)
			runner.send(job);
	});
}

async function runAll(jobs, settings) {
	const results = [];
	let next = 0;

	async function loop() {
		while (next < jobs.length) {
			const index = next++;

			results[index] = await runJob(jobs[index], settings);
		}
	}
	await Promise.all(Array.from({ length: settings.jobs }, loop));
	return results;
}

// Returns the file of a test's address, without scope and variant, as differences.json names it.
function baseOf(address) {
	return address.replace(/\?.*$/, '').replace(/(\.worker)?\.html$/, '.js');
}

// Divides failures into those that differences.json lists and others, and finds listed tests that
// pass.
function judge(results, listed) {
	const entries = new Map(listed.map((entry) => [`${entry.test}\n${entry.subtest}`, entry]));
	const summary = { passed: 0, failed: 0, listed: 0 };
	const problems = [];

	for (const { test, status, message, subtests } of results) {
		const harness = entries.get(`${baseOf(test)}\n${null}`);

		if (status !== 'OK' && harness) {
			summary.listed++;
		} else if (status !== 'OK' || harness) {
			summary.failed++;
			problems.push(`${test}: ${status}: ${message}`);
		}
		for (const subtest of subtests) {
			const entry = entries.get(`${baseOf(test)}\n${subtest.name}`);

			if (subtest.status === 'PASS' && !entry) {
				summary.passed++;
			} else if (subtest.status !== 'PASS' && entry) {
				summary.listed++;
			} else {
				summary.failed++;
				problems.push(`${test}: ${subtest.name}: ${entry ?
					'passes, but differences.json lists it' : `${subtest.status}: ${subtest.message}`}`);
			}
		}
	}
	return { summary, problems };
}

// Returns complaints about listed tests that do not exist; it needs the results of all files.
function unknown(results, listed) {
	const names = new Set(results.flatMap(({ test, subtests }) =>
		[{ name: null }, ...subtests].map((subtest) => `${baseOf(test)}\n${subtest.name}`)));

	return listed.filter((entry) => !names.has(`${entry.test}\n${entry.subtest}`))
		.map((entry) => `${entry.test}: ${entry.subtest}: differences.json lists it, but there is no such test`);
}

async function main() {
	const settings = options();
	const listed = JSON.parse(fs.readFileSync(path.join(__dirname, 'differences.json'), 'utf8')).differences;
	const started = Date.now();

	if (!fs.existsSync(path.join(settings.root, 'webnn'))) {
		console.log(`wpt: nothing was tested: the Web Platform Tests are not in ${settings.root}`);
		return 0;
	}
	const jobs = jobsOf(settings);

	if (!jobs.length)
		wrong('no file has one of the patterns in its path');
	if (settings.list) {
		jobs.forEach((job) => console.log(job.url));
		return 0;
	}
	const results = await runAll(jobs, settings);
	const { summary, problems } = judge(results, listed);

	if (!settings.patterns.length && !settings.sample && settings.scope === 'all') {
		const more = unknown(results, listed);

		summary.failed += more.length;
		problems.push(...more);
	}
	if (settings.json) {
		fs.writeFileSync(settings.json, `${JSON.stringify({
			run_info: {
				product: 'webnn-npu', browser_version: require(path.join(settings.package, 'package.json')).version,
				os: 'linux', device: settings.device, node: process.version,
			},
			time_start: started, time_end: Date.now(), results, summary,
		}, null, 1)}\n`);
	}
	problems.forEach((problem) => console.log(problem));
	console.log(`wpt: ${jobs.length} files on ${settings.device}: ${summary.passed} passed, ${summary.failed} failed, ` +
		`${summary.listed} listed as differing, in ${Math.round((Date.now() - started) / 1000)} s`);
	return summary.failed ? 1 : 0;
}

main().then((status) => process.exit(status));
