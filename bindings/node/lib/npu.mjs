// SPDX-License-Identifier: MIT
//
// What npu.js has, for import.
import npu from './npu.js';

export const { createProfilingContext, deviceInfo, placement, profile } = npu;
export default npu;
