// SPDX-License-Identifier: MIT
//
// Functions of this library beyond WebNN.
import type { MLContext, MLContextOptions, MLGraph, MLGraphBuilder, MLOperand } from './index.js';

export type NodeDevice = "npu" | "cpu" | "folded";

export interface DeviceInfo {
	/** The device: npu, sim or cpu. */
	device: string;
	/** The node of the NPU, such as /dev/accel/accel0; else empty. */
	nodePath: string;
	machine: string;
	/** Why this device was chosen. */
	reason: string;
	/** Bytes of memory that tensors and graphs of the context use. */
	memoryUsed: number;
}

export interface NodePlacement {
	operator: string;
	label: string;
	device: NodeDevice;
	kernel: string;
	/** Why it runs there, as a sentence. */
	reason: string;
	/** Estimated cycles of the operator. */
	cycles: number;
}

export interface ProfileNode {
	operator: string;
	label: string;
	device: NodeDevice;
	cycles: number;
	cpuNanoseconds: number;
}

/** An instruction of the NPU. Its start and end are in cycles from the start of the dispatch. */
export interface ProfileEvent {
	engine: "control" | "load" | "store" | "matrix" | "vector";
	instruction: string;
	/** Index in nodes, or -1. */
	node: number;
	start: number;
	end: number;
}

/** A job of the NPU or a node on the CPU, in nanoseconds from the start of the dispatch. */
export interface ProfileSpan {
	device: NodeDevice;
	/** Index in nodes, or -1: a job of the NPU. */
	node: number;
	start: number;
	end: number;
	startCycle: number;
	cycles: number;
}

export interface Profile {
	cycles: number;
	nanoseconds: number;
	nodes: ProfileNode[];
	events: ProfileEvent[];
	spans: ProfileSpan[];
}

/** Creates a context like ml.createContext(), whose graphs keep profiles of their dispatches. */
export function createProfilingContext(options?: MLContextOptions): Promise<MLContext>;
export function deviceInfo(context: MLContext): DeviceInfo;
/** Returns where each operator of a graph runs, and why. */
export function placement(graph: MLGraph): NodePlacement[];
/** Returns how the last completed dispatch spent its time. */
export function profile(graph: MLGraph): Profile;
/**
 * Declares that an output of the graph updates one of its inputs in place: dispatch() then takes
 * one tensor for both, and writes only the elements that change. The output is made from the input
 * by scatterElements or scatterND, and must be among the outputs of build().
 */
export function updateInput(builder: MLGraphBuilder, input: MLOperand, output: MLOperand): void;
