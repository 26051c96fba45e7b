// SPDX-License-Identifier: MIT
//
// Builds networks operator by operator with the WebNN API, from weights in .npy files, for the
// other programs here.
import 'webnn-npu/register';
import fs from 'node:fs';
import path from 'node:path';

const ARRAYS = { '<f4': Float32Array, '|u1': Uint8Array, '<i4': Int32Array, '<i8': BigInt64Array };

// Reads a file in version 1 of numpy's format: a line of text with type and shape, then the
// numbers.
export function readNpy(file) {
	const bytes = fs.readFileSync(file);
	const end = 10 + bytes.readUInt16LE(8);
	const head = bytes.toString('latin1', 10, end);
	const [, type] = /'descr': '([^']+)'/.exec(head) || [];
	const shape = /'shape': \(([^)]*)\)/.exec(head)?.[1].split(',').filter((text) => text.trim()).map(Number);

	if (bytes.toString('latin1', 0, 6) !== '\x93NUMPY' || !ARRAYS[type] || !shape || head.includes("'fortran_order': True"))
		throw new Error(`${file}: it is no .npy file of a type that is known here`);
	const data = bytes.buffer.slice(bytes.byteOffset + end, bytes.byteOffset + bytes.length);

	return { shape, data: new ARRAYS[type](data) };
}

// Has a builder, and what the networks have in common.
class Network {
	constructor(context, folder) {
		this.builder = new MLGraphBuilder(context);
		this.folder = folder;
	}

	weights(name) {
		const { shape, data } = readNpy(path.join(this.folder, `${name}.npy`));

		return this.builder.constant({ dataType: 'float32', shape }, data);
	}

	input(shape) {
		return this.builder.input('input', { dataType: 'float32', shape });
	}

	async build(output, shape) {
		return { graph: await this.builder.build({ output }), shape };
	}
}

// Builds the digits network of this project: it takes pictures of 8 x 8 from 0 to 1, and gives ten
// probabilities.
export function digits(context, folder) {
	const net = new Network(context, folder);
	const { builder } = net;
	const shape = [1, 1, 8, 8];
	const conv = (x, name) => builder.relu(builder.conv2d(x, net.weights(`${name}_w`),
		{ bias: net.weights(`${name}_b`), padding: [1, 1, 1, 1], label: name }), { label: `${name} relu` });
	let x = conv(conv(net.input(shape), 'conv1'), 'conv2');

	x = builder.maxPool2d(x, { windowDimensions: [2, 2], strides: [2, 2], label: 'pool2' });
	x = conv(x, 'conv3');
	x = builder.averagePool2d(x, { windowDimensions: [2, 2], strides: [2, 2], label: 'pool3' });
	x = builder.gemm(builder.reshape(x, [1, 96], { label: 'flatten' }), net.weights('dense_w'),
		{ c: net.weights('dense_b'), label: 'dense' });
	return net.build(builder.softmax(x, 1, { label: 'softmax' }), shape);
}

// Builds SqueezeNet 1.0: it takes pictures of 224 x 224, red green blue from -1 to 1, and gives
// 1001 probabilities.
export function squeezenet(context, folder) {
	const net = new Network(context, path.join(folder, 'weights'));
	const { builder } = net;
	const shape = [1, 224, 224, 3];
	const conv = (x, name, options) => builder.relu(builder.conv2d(x, net.weights(`${name}_kernel`), {
		bias: net.weights(`${name}_Conv2D_bias`), inputLayout: 'nhwc', filterLayout: 'ohwi', label: name, ...options,
	}), { label: `${name} relu` });
	const pool = (x, label) => builder.maxPool2d(x,
		{ windowDimensions: [3, 3], strides: [2, 2], layout: 'nhwc', label });
	const fire = (x, number) => {
		const squeezed = conv(x, `fire${number}_squeeze`);

		return builder.concat([conv(squeezed, `fire${number}_e1x1`),
			conv(squeezed, `fire${number}_e3x3`, { padding: [1, 1, 1, 1] })], 3, { label: `fire${number}` });
	};
	let x = conv(net.input(shape), 'conv1', { strides: [2, 2], padding: [2, 3, 2, 3] });

	for (const numbers of [[2, 3, 4], [5, 6, 7, 8], [9]])
		x = numbers.reduce(fire, pool(x, `pool${numbers[0]}`));
	x = builder.averagePool2d(conv(x, 'conv10'), { layout: 'nhwc', label: 'mean' });
	return net.build(builder.softmax(builder.reshape(x, [1, 1001]), 1, { label: 'softmax' }), shape);
}

// Runs a graph with one input and one output, for which it has the tensors.
export class Classifier {
	static async open(context, { graph, shape }, classes) {
		const result = new Classifier();

		result.context = context;
		result.graph = graph;
		result.input = await context.createTensor({ dataType: 'float32', shape, writable: true });
		result.output = await context.createTensor({ dataType: 'float32', shape: [1, classes], readable: true });
		return result;
	}

	async run(pixels) {
		this.context.writeTensor(this.input, pixels);
		this.context.dispatch(this.graph, { input: this.input }, { output: this.output });
		return new Float32Array(await this.context.readTensor(this.output));
	}
}

// Returns the numbers of the classes with the largest probabilities, the best first.
export function best(probabilities, count) {
	return [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]).slice(0, count);
}
