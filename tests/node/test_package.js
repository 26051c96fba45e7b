// SPDX-License-Identifier: MIT
//
// Tests the file that npm installs: test_package.js TARBALL BUILD. It must work where it was
// unpacked, without the build; compile an addon where the one inside does not load, and say what is
// missing; and have declarations that TypeScript takes. BUILD is meson's, whose library stands for
// an installed one.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { spawnSync } = require('node:child_process');

const { FLOAT, model, node, value } = require('./onnx_model.js');

const [tarball, build] = process.argv.slice(2).map((name) => path.resolve(name));
const PROGRAM = `import 'webnn-npu/register';
	import { deviceInfo } from 'webnn-npu/npu';
	const context = await navigator.ml.createContext();
	const builder = new MLGraphBuilder(context);
	const one = { dataType: 'float32', shape: [1] };
	const graph = await builder.build({ y: builder.relu(builder.input('x', one)) });
	const x = await context.createTensor({ ...one, writable: true });
	const y = await context.createTensor({ ...one, readable: true });
	context.writeTensor(x, new Float32Array([3]));
	context.dispatch(graph, { x }, { y });
	console.log(deviceInfo(context).device, ...new Float32Array(await context.readTensor(y)));`;

const ONNX_PROGRAM = `import { ml } from 'webnn-npu';
	import { OnnxModel } from 'webnn-npu/onnx';
	const model = await OnnxModel.load('model.onnx');
	const { y } = await (await model.build(await ml.createContext())).run({ x: new Float32Array([-1, 2]) });
	console.log(...y);`;

// Returns a new folder that has the package in node_modules, as npm installs it.
function unpack(context) {
	const top = fs.mkdtempSync(path.join(os.tmpdir(), 'webnn-npu-'));
	const folder = path.join(top, 'node_modules/webnn-npu');

	context.after(() => fs.rmSync(top, { recursive: true }));
	fs.mkdirSync(folder, { recursive: true });
	const { status, stderr } = spawnSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'], { encoding: 'utf8' });

	assert.strictEqual(status, 0, stderr);
	fs.writeFileSync(path.join(top, 'program.mjs'), PROGRAM);
	fs.writeFileSync(path.join(top, 'onnx.mjs'), ONNX_PROGRAM);
	fs.writeFileSync(path.join(top, 'model.onnx'), model([node('Relu', ['x'], ['y'])], [value('x', FLOAT, [2])], [value('y', FLOAT, [2])]));
	return { top, folder };
}

function run(command, args, options) {
	const { LD_PRELOAD, ...env } = process.env;

	return spawnSync(command, args, { encoding: 'utf8', ...options, env: { ...env, ...options.env } });
}

function runProgram(top, env = {}) {
	const { LD_PRELOAD } = process.env;
	const { status, stdout, stderr } = run(process.execPath, ['program.mjs'],
		{ cwd: top, env: { WEBNN_DEVICE: 'sim', ...(LD_PRELOAD ? { LD_PRELOAD } : {}), ...env } });

	assert.strictEqual(status, 0, stderr);
	assert.strictEqual(stdout, 'sim 3\n');
}

function runOnnx(top, env = {}) {
	const { LD_PRELOAD } = process.env;

	return run(process.execPath, ['onnx.mjs'], { cwd: top, env: { WEBNN_DEVICE: 'cpu', ...(LD_PRELOAD ? { LD_PRELOAD } : {}), ...env } });
}

test('the package works where it was unpacked', (context) => {
	const { top, folder } = unpack(context);

	runProgram(top);
	if (!process.env.LD_PRELOAD)
		assert.strictEqual(run(process.execPath, ['install.js'], { cwd: folder }).status, 0);
	for (const name of JSON.parse(fs.readFileSync(path.join(folder, 'package.json'))).files)
		assert.ok(name.includes('*') || fs.existsSync(path.join(folder, name)), name);
});

test('import finds the package without a link after -r webnn-npu/import', (context) => {
	const { top, folder } = unpack(context);
	const other = fs.mkdtempSync(path.join(os.tmpdir(), 'webnn-npu-'));
	const env = { WEBNN_DEVICE: 'cpu', ...(process.env.LD_PRELOAD ? { LD_PRELOAD: process.env.LD_PRELOAD } : {}) };
	const start = (...args) => run(process.execPath, args, { cwd: other, env });
	const hooks = path.join(folder, 'import.js');

	context.after(() => fs.rmSync(other, { recursive: true }));
	fs.copyFileSync(path.join(top, 'program.mjs'), path.join(other, 'program.mjs'));
	fs.writeFileSync(path.join(other, 'missing.mjs'), "import 'webnn-npu-of-nobody';");
	assert.match(start('program.mjs').stderr, /ERR_MODULE_NOT_FOUND/);
	assert.strictEqual(start('-r', hooks, 'program.mjs').stdout, 'cpu 3\n');
	assert.match(start('-r', hooks, 'missing.mjs').stderr, /Cannot find package 'webnn-npu-of-nobody'/);
	// A package of the program's own has priority.
	fs.mkdirSync(path.join(other, 'node_modules/webnn-npu'), { recursive: true });
	fs.writeFileSync(path.join(other, 'node_modules/webnn-npu/package.json'), '{"exports": {"./*": "./own.js"}}');
	fs.writeFileSync(path.join(other, 'node_modules/webnn-npu/own.js'), '');
	assert.match(start('-r', hooks, 'program.mjs').stderr, /'webnn-npu\/npu' does not provide an export named 'deviceInfo'/);
});

test('models of ONNX need libprotobuf-c, and nothing else does', (context) => {
	const { top, folder } = unpack(context);

	if (!require(path.join(folder, 'webnn_npu.node')).onnxLoad) {
		context.skip('it was built without libwebnn-onnx');
		return;
	}
	const { status, stdout, stderr } = runOnnx(top);

	assert.strictEqual(status, 0, stderr);
	assert.strictEqual(stdout, '0 2\n');
	// A file that is no library stands for a library that is not installed.
	fs.writeFileSync(path.join(top, 'libprotobuf-c.so.1'), 'nothing');
	const without = { LD_LIBRARY_PATH: top };

	assert.match(runOnnx(top, without).stderr, /libprotobuf-c\.so\.1, .*, is missing or does not load: install it/);
	runProgram(top, without);
});

// With sanitizers, the compiler would need their options.
test('an addon is compiled where the one inside does not load', { skip: Boolean(process.env.LD_PRELOAD) }, (context) => {
	const { top, folder } = unpack(context);
	const env = { PKG_CONFIG_PATH: path.join(build, 'meson-uninstalled'), LD_LIBRARY_PATH:
		`${path.join(build, 'userspace')}:${path.join(build, 'userspace/import/onnx')}` };

	fs.writeFileSync(path.join(folder, 'webnn_npu.node'), 'for another machine');
	const missing = run(process.execPath, ['install.js'], { cwd: folder, env: { PKG_CONFIG_LIBDIR: '/nowhere' } });

	assert.strictEqual(missing.status, 1);
	assert.match(missing.stderr, /no addon for this machine: pkg-config does not find webnn-npu/);
	const compiled = run(process.execPath, ['install.js'], { cwd: folder, env });

	assert.strictEqual(compiled.status, 0, compiled.stderr);
	runProgram(top, env);
	if (fs.existsSync(path.join(build, 'userspace/import/onnx/libwebnn-onnx.so')))
		assert.strictEqual(runOnnx(top, env).stdout, '0 2\n');
});

test('TypeScript takes the declarations, and finds mistakes', (context) => {
	const { top } = unpack(context);
	const compile = (text) => {
		fs.writeFileSync(path.join(top, 'types.ts'), text);
		return run('tsc', ['--noEmit', '--strict', '--target', 'es2022', '--module', 'node16', '--moduleResolution', 'node16',
			'--lib', 'es2022,dom', 'types.ts'], { cwd: top });
	};
	const text = fs.readFileSync(path.join(__dirname, 'types.ts'), 'utf8');
	const right = compile(text);

	if (right.error?.code === 'ENOENT') {
		context.skip('there is no tsc');
		return;
	}
	assert.strictEqual(right.status, 0, right.stdout);
	assert.notStrictEqual(compile(text.replace("'float32', shape", "'float31', shape")).status, 0);
});
