// SPDX-License-Identifier: MIT
//
// Classifies pictures of digits with which the network was not trained, and prints how many it got
// right:
//
//	node digits.mjs userspace/demo/digits
import path from 'node:path';

import { Classifier, best, digits, readNpy } from './networks.mjs';

const [folder] = process.argv.slice(2);

if (!folder) {
	console.error('usage: node digits.mjs FOLDER');
	process.exit(64);
}

const context = await navigator.ml.createContext();
const classifier = await Classifier.open(context, await digits(context, folder), 10);
const pictures = readNpy(path.join(folder, 'heldout_images.npy'));
const labels = readNpy(path.join(folder, 'heldout_labels.npy')).data;
let right = 0;

for (let i = 0; i < labels.length; i++) {
	const pixels = Float32Array.from(pictures.data.subarray(i * 64, (i + 1) * 64), (value) => value / 16);
	const [answer] = best(await classifier.run(pixels), 1);

	right += answer === Number(labels[i]);
	if (answer !== Number(labels[i]))
		console.log(`picture ${i} is a ${labels[i]}, and was read as ${answer}`);
}
console.log(`${right} of ${labels.length} right`);
