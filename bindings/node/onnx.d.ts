// SPDX-License-Identifier: MIT
//
// Models in the format of ONNX, as graphs of WebNN.
import type { AllowSharedBufferSource, MLContext, MLGraph, MLOperandDataType } from './index.js';

export interface OnnxLoadOptions {
	/** The folder that names of external data count from. Left out: that of the file. */
	folder?: string;
}

export interface OnnxBuildOptions {
	/** Chooses the random numbers of nodes that draw some: runs of one seed are equal. 0 unless given. */
	seed?: bigint | number;
}

/** An input or output of a model. */
export interface OnnxValue {
	name: string;
	kind: "tensor" | "sequence" | "optional" | "other";
	/** The type of ONNX, such as "float", "int64" or "bool". */
	elementType: string;
	/** The type in WebNN; null where there is none. */
	dataType: MLOperandDataType | null;
	/** Sizes; the name of one that the file leaves open, null where it has none. null: the rank is not known. */
	shape: (number | string | null)[] | null;
	/** setValue() has made it a constant. */
	fixed: boolean;
}

/** Why a node cannot become part of a graph. */
export interface OnnxRefusal {
	node: string;
	operator: string;
	/** The attribute or input of the operator that is the reason. */
	attribute: string;
	/** One sentence. */
	reason: string;
	/** The input of the model that setValue() would have to make a constant; "" if that would not help. */
	input: string;
}

/** What building did that a program may not expect. */
export interface OnnxNotice {
	node: string;
	operator: string;
	reason: string;
	/** The input that was made a constant, or "". */
	input: string;
}

/** What inputs and outputs of a graph are; createTensor() takes it. */
export interface OnnxDescriptor {
	dataType: MLOperandDataType;
	shape: number[];
}

/** Elements of float16 are in a Uint16Array where there is no Float16Array; those of 4 bits are packed. */
export type OnnxArray = Float32Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array | Int8Array | Uint8Array |
	Uint16Array;

/** A model that was loaded, and what has been said about its inputs. */
export class OnnxModel {
	private constructor();
	/** Loads a file, named by its path or URL, or the bytes of one. The file must not change while the model or a graph of it lives. */
	static load(source: string | URL | AllowSharedBufferSource, options?: OnnxLoadOptions): Promise<OnnxModel>;
	/** The inputs that the file gives no values for. */
	readonly inputs: OnnxValue[];
	readonly outputs: OnnxValue[];
	/** Everything that the last build() refused. */
	readonly refusals: OnnxRefusal[];
	readonly notices: OnnxNotice[];
	/** Sets all dimensions of a name. */
	setDimension(name: string, size: number): this;
	/** Sets the shape of an input. */
	setShape(name: string, shape: Iterable<number>): this;
	/** Makes an input a constant, so that shapes may depend on it. null: an optional value that is not there. */
	setValue(name: string, data: AllowSharedBufferSource | null): this;
	/** Cuts the model: its outputs are these tensors. */
	setOutputs(names: Iterable<string>): this;
	/** Builds a graph. Rejects with NotSupportedError when nodes are refused. */
	build(context: MLContext, options?: OnnxBuildOptions): Promise<OnnxGraph>;
}

/** A graph of a model. */
export class OnnxGraph {
	private constructor();
	readonly context: MLContext;
	/** For context.dispatch(), and for webnn-npu/npu. */
	readonly graph: MLGraph;
	/** Also those for random numbers, random/0 …, which run() fills. */
	readonly inputs: Record<string, OnnxDescriptor>;
	readonly outputs: Record<string, OnnxDescriptor>;
	/** Computes the outputs. Several runs may be under way. */
	run(inputs?: Record<string, AllowSharedBufferSource>): Promise<Record<string, OnnxArray>>;
	/** Gives the memory of the graph and of its tensors up. */
	destroy(): void;
}
