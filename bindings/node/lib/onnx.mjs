// SPDX-License-Identifier: MIT
//
// What onnx.js has, for import.
import onnx from './onnx.js';

export const { OnnxGraph, OnnxModel } = onnx;
export default onnx;
