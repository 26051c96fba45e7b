// SPDX-License-Identifier: MIT
//
// What index.js has, for import.
import webnn from './index.js';

export const { ML, MLContext, MLGraph, MLGraphBuilder, MLOperand, MLTensor, ml, register } = webnn;
export default webnn;
