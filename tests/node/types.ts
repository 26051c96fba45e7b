// SPDX-License-Identifier: MIT
//
// A program that uses the declarations. test_package.js compiles it and does not run it.
import 'webnn-npu/register';
import { ml, register, type MLConv2dOptions, type MLOpSupportLimits } from 'webnn-npu';
import { createProfilingContext, placement, profile, type NodePlacement } from 'webnn-npu/npu';
import { OnnxModel, type OnnxGraph } from 'webnn-npu/onnx';

async function use(): Promise<number> {
	const context: MLContext = await navigator.ml.createContext({ powerPreference: 'low-power', deviceType: 'npu' });
	const numbered: MLContextOptions = { deviceType: 'npu:1' };
	const builder = new MLGraphBuilder(context);
	const vector: MLOperandDescriptor = { dataType: 'float32', shape: [2, 3] };
	const x: MLOperand = builder.input('x', vector);
	const options: MLConv2dOptions = { padding: [1, 1, 1, 1], label: 'conv', inputLayout: 'nhwc' };
	const parts: MLOperand[] = builder.split(x, 2, { axis: 1 });
	const y = builder.conv2d(builder.concat(new Set([x, ...parts]), 0), builder.constant('int64', 4n), options);
	const graph: MLGraph = await builder.build({ y, z: builder.constant(vector, new Float32Array(6)) });
	const tensor: MLTensor = await context.createTensor({ ...vector, readable: true });
	const limits: MLOpSupportLimits = context.opSupportLimits();
	const nodes: NodePlacement[] = placement(graph);

	context.dispatch(graph, { x: tensor }, { y: tensor });
	context.writeTensor(tensor, new SharedArrayBuffer(24));
	register(globalThis);
	const { message } = await context.lost;
	const bytes: ArrayBuffer = await context.readTensor(tensor);
	const nothing: undefined = await context.readTensor(tensor, new Uint8Array(24));

	return (await ml.createContext() === await createProfilingContext() ? 0 : bytes.byteLength) + nodes.length +
		profile(graph).cycles + limits.conv2d.input.rankRange.max + message.length + Number(nothing);
}

async function useOnnx(context: MLContext): Promise<number> {
	const model: OnnxModel = await OnnxModel.load(new URL('file:///model.onnx'), { folder: '/weights' });
	const open: (number | string | null)[] | null = model.inputs[0].shape;
	const compiled: OnnxGraph = await model.setDimension('batch', 2).setShape('x', [2, 3]).setValue('s', null)
		.setOutputs(new Set(['y'])).build(context, { seed: 4n });
	const y: MLTensor = await context.createTensor({ ...compiled.outputs.y, readable: true });
	const results = await compiled.run({ x: new Float32Array(6) });

	context.dispatch(compiled.graph, {}, { y });
	// @ts-expect-error: inputs have names
	await compiled.run([new Float32Array(6)]);
	// @ts-expect-error: only load() makes models
	new OnnxModel();
	return results.y.length + model.refusals.length + Number(open);
}

async function misuse(context: MLContext, builder: MLGraphBuilder, x: MLOperand) {
	// @ts-expect-error: there is no such device
	await navigator.ml.createContext({ deviceType: 'tpu' });
	// @ts-expect-error: only the library makes contexts
	new MLContext();
	// @ts-expect-error: there is no such type
	builder.cast(x, 'float64');
	// @ts-expect-error: the options are those of another operator
	builder.relu(x, { axis: 1 });
	// @ts-expect-error: attributes cannot be written
	x.shape = [];
	// @ts-expect-error: a descriptor has a shape
	await context.createTensor({ dataType: 'int8' });
}

export { misuse, use, useOnnx };
