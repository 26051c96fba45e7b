// SPDX-License-Identifier: MIT
//
// Runs the model of make_model.py with the package for Node: onnx.mjs FOLDER. Prints how many
// numbers of the output are right.
import fs from 'node:fs';
import path from 'node:path';
import { ml } from 'webnn-npu';
import { OnnxModel } from 'webnn-npu/onnx';

const [folder] = process.argv.slice(2);

// Returns the float32 elements of a .npy file, which follow its header.
function readNpy(name) {
	const bytes = fs.readFileSync(path.join(folder, name));

	return new Float32Array(bytes.buffer.slice(bytes.byteOffset + 10 + bytes.readUInt16LE(8), bytes.byteOffset + bytes.length));
}

const model = await OnnxModel.load(path.join(folder, 'model.onnx'));
const graph = await model.build(await ml.createContext());
const { y } = await graph.run({ x: readNpy('x.npy') });
const expected = readNpy('y.npy');

console.log(`${y.filter((value, i) => Math.abs(value - expected[i]) < 1e-3).length} right`);
