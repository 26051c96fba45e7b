// SPDX-License-Identifier: MIT
//
// The exports of index.js, for import.
import webnn from './index.js';

export const { ML, MLContext, MLGraph, MLGraphBuilder, MLOperand, MLTensor, ml, register } = webnn;
export default webnn;
