// SPDX-License-Identifier: MIT
//
// ONNX models, which become WebNN graphs.
import type { AllowSharedBufferSource, MLContext, MLGraph, MLOperandDataType } from './index.js';

export interface OnnxLoadOptions {
	/** The folder that names of external data are relative to; by default the folder of the file. */
	folder?: string;
}

export interface OnnxBuildOptions {
	/** The seed of random numbers that nodes draw: equal seeds give equal runs; 0 by default. */
	seed?: bigint | number;
}

/** An input or output of a model. */
export interface OnnxValue {
	name: string;
	kind: "tensor" | "sequence" | "optional" | "other";
	/** The element type in ONNX, such as "float", "int64" or "bool". */
	elementType: string;
	/** The element type in WebNN; null: WebNN has no such type. */
	dataType: MLOperandDataType | null;
	/** Sizes; for an open size its name, or null if it has none. null alone: the rank is not known. */
	shape: (number | string | null)[] | null;
	/** Whether setValue() has made it a constant. */
	fixed: boolean;
}

/** The reason why a node cannot become part of a graph. */
export interface OnnxRefusal {
	node: string;
	operator: string;
	/** The attribute or input of the operator that causes the refusal. */
	attribute: string;
	/** The reason, as one sentence. */
	reason: string;
	/** The input of the model that setValue() would have to make a constant; "" if that does not help. */
	input: string;
}

/** A notice of a build about what a program may not expect. */
export interface OnnxNotice {
	node: string;
	operator: string;
	reason: string;
	/** The input that was made a constant, or "". */
	input: string;
}

/** Type and shape of an input or output of a graph, which createTensor() takes. */
export interface OnnxDescriptor {
	dataType: MLOperandDataType;
	shape: number[];
}

/** Elements of float16 are in a Uint16Array if there is no Float16Array; 4-bit elements are packed. */
export type OnnxArray = Float32Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array | Int8Array | Uint8Array |
	Uint16Array;

/** A loaded model, with the dimensions and values of inputs that were set. */
export class OnnxModel {
	private constructor();
	/**
	 * Loads a file, by its path or URL, or the bytes of a file. The file must not change while the model or a graph of
	 * it lives.
	 */
	static load(source: string | URL | AllowSharedBufferSource, options?: OnnxLoadOptions): Promise<OnnxModel>;
	/** The inputs for which the file has no values. */
	readonly inputs: OnnxValue[];
	readonly outputs: OnnxValue[];
	/** All nodes that the last build() refused. */
	readonly refusals: OnnxRefusal[];
	readonly notices: OnnxNotice[];
	/** Sets the size of all dimensions with a name. */
	setDimension(name: string, size: number): this;
	/** Sets the shape of an input. */
	setShape(name: string, shape: Iterable<number>): this;
	/** Makes an input a constant, so that shapes may depend on it. null: an absent optional value. */
	setValue(name: string, data: AllowSharedBufferSource | null): this;
	/** Cuts the model: these tensors become its outputs. */
	setOutputs(names: Iterable<string>): this;
	/** Builds a graph. Rejects with NotSupportedError when nodes are refused. */
	build(context: MLContext, options?: OnnxBuildOptions): Promise<OnnxGraph>;
}

/** A graph of a model. */
export class OnnxGraph {
	private constructor();
	readonly context: MLContext;
	/** The WebNN graph, for context.dispatch() and for webnn-npu/npu. */
	readonly graph: MLGraph;
	/** The inputs of the graph, including those for random numbers, random/0 …, which run() fills. */
	readonly inputs: Record<string, OnnxDescriptor>;
	readonly outputs: Record<string, OnnxDescriptor>;
	/** Computes the outputs. Several runs may be in progress at once. */
	run(inputs?: Record<string, AllowSharedBufferSource>): Promise<Record<string, OnnxArray>>;
	/** Frees the memory of the graph and of its tensors. */
	destroy(): void;
}
