// SPDX-License-Identifier: MIT
//
// Tests the package as a whole: the TypeScript declarations name exactly what is there, all ways of
// importing it give the same objects, and register() installs what a browser has.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const { pathToFileURL } = require('node:url');

const folder = process.argv[2];
const webnn = require(path.join(folder, 'index.js'));
const native = require(path.join(folder, 'webnn_npu.node'));
const declarations = fs.readFileSync(path.join(folder, 'index.d.ts'), 'utf8');

// Returns the names of the members of a class or interface in the declarations.
function declared(kind, name) {
	const body = new RegExp(`export ${kind} ${name}(?: extends \\w+)? \\{\\n([^}]*)\\}`).exec(declarations)[1];

	return new Set([...body.matchAll(/^\t(?:readonly )?(\w+)[?]?[(:]/gm)].map((match) => match[1]));
}

test('classes have the members that are declared', () => {
	for (const name of ['ML', 'MLContext', 'MLGraph', 'MLGraphBuilder', 'MLOperand', 'MLTensor']) {
		const there = Object.getOwnPropertyNames(webnn[name].prototype);
		const wanted = declared('class', name);

		wanted.add('constructor');
		assert.deepStrictEqual(there.sort(), [...wanted].sort(), name);
	}
});

test('models have the members that are declared', { skip: !native.onnxLoad && 'it was built without libwebnn-onnx' }, () => {
	const onnx = require(path.join(folder, 'onnx.js'));
	const text = fs.readFileSync(path.join(folder, 'onnx.d.ts'), 'utf8');

	for (const [name, { prototype }] of Object.entries(onnx)) {
		const body = new RegExp(`export class ${name} \\{\\n([^}]*)\\n\\}`).exec(text)[1];
		const wanted = [...body.matchAll(/^\t(?!private |static )(?:readonly )?(\w+)[(:]/gm)].map((match) => match[1]);

		assert.deepStrictEqual(Object.getOwnPropertyNames(prototype).sort(), ['constructor', ...wanted].sort(), name);
	}
});

test('the limits have the members that are declared, in the order of the IDL', async () => {
	const context = await webnn.ml.createContext({ deviceType: 'cpu' });
	const limits = context.opSupportLimits();

	assert.deepStrictEqual(Object.keys(limits), [...declared('interface', 'MLOpSupportLimits')].sort());
	assert.deepStrictEqual(Object.keys(limits.conv2d), ['bias', 'filter', 'input', 'output']);
	assert.deepStrictEqual(Object.keys(limits.gru.input), ['dataTypes', 'rankRange']);
	assert.ok(limits.add.a.dataTypes.includes('float32'));
	assert.ok(limits.matmul.a.rankRange.min >= 2 && limits.matmul.a.rankRange.max >= 5);
});

test('import, require and register give the same objects', async () => {
	const module = await import(pathToFileURL(path.join(folder, 'index.mjs')));

	for (const [name, value] of Object.entries(webnn))
		assert.strictEqual(module[name], value, name);
	const target = {};

	webnn.register(target);
	assert.strictEqual(target.navigator.ml, webnn.ml);
	assert.strictEqual(target.MLGraphBuilder, webnn.MLGraphBuilder);
	assert.throws(() => new target.GPUDevice(), /Illegal constructor/);
	assert.throws(() => Object.getOwnPropertyDescriptor(target.Navigator.prototype, 'ml').get.call({}), /Illegal/);
	assert.throws(() => new target.Navigator(), /Illegal constructor/);
	class Navigator {}
	const browser = { navigator: new Navigator() };

	webnn.register(browser);
	assert.strictEqual(browser.navigator.ml, webnn.ml);
	await import(pathToFileURL(path.join(folder, 'register.js')));
	assert.strictEqual(navigator.ml, webnn.ml);
	assert.strictEqual(globalThis.ML, webnn.ML);
});

test('package.json names files that are there', () => {
	const { exports, main, types } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
	const names = [main, types, ...Object.values(exports).flatMap((entry) =>
		typeof entry === 'string' ? entry : Object.values(entry))];

	for (const name of names)
		assert.ok(fs.existsSync(path.join(folder, name)), name);
});
