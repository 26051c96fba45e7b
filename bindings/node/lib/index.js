// SPDX-License-Identifier: MIT
//
// webnn-npu: the Web Neural Network API for Node.
'use strict';

const { ML, MLContext, ml } = require('./context.js');
const { MLGraph, MLOperand, MLTensor } = require('./objects.js');
const { MLGraphBuilder } = require('./builder.js');
const { isMainThread } = require('node:worker_threads');

const interfaces = { ML, MLContext, MLGraph, MLGraphBuilder, MLOperand, MLTensor };

// Defines the attribute navigator.ml, which returns the same object each time.
function defineAttribute(prototype, isNavigator) {
	const descriptor = Object.getOwnPropertyDescriptor({
		get ml() {
			if (!isNavigator(this))
				throw new TypeError('Illegal invocation');
			return ml;
		},
	}, 'ml');

	Object.defineProperty(prototype, 'ml', { ...descriptor, enumerable: true, configurable: true });
}

function makeNavigator(target, name) {
	const key = Symbol('webnn-npu');
	const Navigator = {
		[name]: class {
			#brand;

			constructor(...init) {
				if (init[0] !== key)
					throw new TypeError(`Failed to construct '${name}': Illegal constructor`);
			}

			static isInstance(value) {
				return typeof value === 'object' && value !== null && #brand in value;
			}
		},
	}[name];
	const { isInstance } = Navigator;

	delete Navigator.isInstance;
	Object.defineProperty(Navigator.prototype, Symbol.toStringTag, { value: name, configurable: true });
	defineAttribute(Navigator.prototype, isInstance);
	Object.defineProperty(target, name, { value: Navigator, writable: true, configurable: true, enumerable: false });
	const navigator = new Navigator(key);

	Object.defineProperty(target, 'navigator', { get: () => navigator, configurable: true, enumerable: true });
}

// The interface of createContext(gpuDevice), which scripts use with instanceof. There is no WebGPU here, so that no
// object has this interface.
class GPUDevice {
	constructor() {
		throw new TypeError("Failed to construct 'GPUDevice': Illegal constructor");
	}
}

function register(target = globalThis) {
	for (const [name, value] of Object.entries(interfaces))
		Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
	if (!('GPUDevice' in target))
		Object.defineProperty(target, 'GPUDevice', { value: GPUDevice, writable: true, configurable: true, enumerable: false });
	const { navigator } = target;

	if (navigator)
		defineAttribute(Object.getPrototypeOf(navigator), (value) => value === navigator);
	else
		makeNavigator(target, isMainThread ? 'Navigator' : 'WorkerNavigator');
}

module.exports = { ML, MLContext, MLGraph, MLGraphBuilder, MLOperand, MLTensor, ml, register };
