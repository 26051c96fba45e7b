// SPDX-License-Identifier: MIT
//
// The exports of npu.js, for import.
import npu from './npu.js';

export const { createProfilingContext, deviceInfo, placement, profile, updateInput } = npu;
export default npu;
