// SPDX-License-Identifier: MIT
// Computes y = relu(x * w + 1), once.
import 'webnn-npu/register';

const context = await navigator.ml.createContext();
const builder = new MLGraphBuilder(context);
const row = (columns) => ({ dataType: 'float32', shape: [1, columns] });

const x = builder.input('x', row(3));
const w = builder.constant({ dataType: 'float32', shape: [3, 2] }, new Float32Array([1, -1, 2, -2, 3, -3]));
const one = builder.constant('float32', 1);
const sum = builder.add(builder.matmul(x, w, { label: 'dense' }), one);
const graph = await builder.build({ y: builder.relu(sum) });

const input = await context.createTensor({ ...row(3), writable: true });
const output = await context.createTensor({ ...row(2), readable: true });
context.writeTensor(input, new Float32Array([1, 2, 3]));
context.dispatch(graph, { x: input }, { y: output });
console.log(...new Float32Array(await context.readTensor(output)));
