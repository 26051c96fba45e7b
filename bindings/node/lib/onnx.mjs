// SPDX-License-Identifier: MIT
//
// Exports of onnx.js, for import.
import onnx from './onnx.js';

export const { OnnxGraph, OnnxModel } = onnx;
export default onnx;
