// SPDX-License-Identifier: MIT
//
// Tests the programs of Documentation/examples/node, as their users run them: test_examples.mjs
// PACKAGE SAMPLES MODELS DIGITS. Tests whose files are missing are skipped. SAMPLES has the files
// that scripts/fetch-samples.sh fetches, MODELS is ../shared/models.
import assert from 'node:assert';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import zlib from 'node:zlib';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const [folder, samples, models, digits] = process.argv.slice(2);
const examples = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../Documentation/examples/node');
const top = fs.mkdtempSync(path.join(os.tmpdir(), 'webnn-examples-'));
const runtime = path.join(samples, 'onnxruntime/node_modules');
// The runtime's WebAssembly takes more addresses than the sanitizers leave.
const hasRuntime = fs.existsSync(runtime) && !process.env.LD_PRELOAD;
const silero = path.join(models, 'onnx/silero_vad_16k_op15.onnx');

test.before(() => {
	fs.cpSync(examples, top, { recursive: true });
	fs.mkdirSync(path.join(top, 'node_modules'));
	fs.symlinkSync(path.resolve(folder), path.join(top, 'node_modules/webnn-npu'));
	for (const name of fs.existsSync(runtime) ? ['onnxruntime-web', 'onnxruntime-common'] : [])
		fs.symlinkSync(path.join(runtime, name), path.join(top, 'node_modules', name));
});

test.after(() => fs.rmSync(top, { recursive: true }));

function start(args, device = 'cpu') {
	return spawnSync(process.execPath, args, { cwd: top, encoding: 'utf8', env: { ...process.env, WEBNN_DEVICE: device } });
}

function run(args, device) {
	const { status, stdout, stderr } = start(args, device);

	assert.strictEqual(status, 0, stderr);
	return stdout;
}

function refuses(args, status, text) {
	const result = start(args);

	assert.strictEqual(result.status, status, result.stderr);
	assert.match(result.stderr, text);
}

test('digits', () => {
	for (const device of ['cpu', 'sim'])
		assert.match(run(['digits.mjs', digits], device), /^357 of 359 right$/m);
	refuses(['digits.mjs'], 64, /usage/);
	fs.writeFileSync(path.join(top, 'conv1_w.npy'), Buffer.alloc(200));
	refuses(['digits.mjs', top], 1, /it is no \.npy file/);
});

test('voice', { skip: !hasRuntime || !fs.existsSync(silero) }, () => {
	const recording = fs.readFileSync(path.join(models, 'onnx/silero_test.wav')).subarray(0, 44 + 400 * 512 * 2);
	const expected = fs.readFileSync(path.join(models, 'onnx/data/silero_vad_16k_op15_probabilities.npy'));
	const file = path.join(top, 'short.wav');
	const args = ['--liftoff-only', 'voice.mjs'];

	assert.strictEqual(recording.toString('latin1', 36, 40), 'data');
	recording.writeUInt32LE(recording.length - 44, 40);
	fs.writeFileSync(file, recording);
	const found = run([...args, '--probabilities', silero, file]).trim().split('\n').map(Number);
	const start = 10 + expected.readUInt16LE(8);

	assert.strictEqual(found.length, 400);
	found.forEach((value, i) => assert.ok(Math.abs(value - expected.readFloatLE(start + i * 4)) < 1e-4, `chunk ${i}: ${value}`));
	assert.strictEqual(run([...args, silero, file]).split('\n')[0], '0.03 s to 2.02 s');
	fs.writeFileSync(file, 'RIFF');
	refuses([...args, silero, file], 1, /this is no WAV file/);
	fs.writeFileSync(file, Buffer.concat([recording.subarray(0, 22), Buffer.from([2, 0]), recording.subarray(24)]));
	refuses([...args, silero, file], 1, /are 1,2,16000,16, instead of 1,1,16000,16/);
	refuses(args, 64, /usage/);
});

// --- Pages ----------------------------------------------------------------------------------------

function part(name, data) {
	const head = Buffer.alloc(8);

	head.writeUInt32BE(data.length);
	head.write(name, 4, 'latin1');
	return Buffer.concat([head, data, Buffer.alloc(4)]);
}

// Returns a PNG file; its rows use the given filters, one after the other.
function makePng({ width, height, data }, type, size, filters, more = []) {
	const head = Buffer.alloc(13);
	const rows = [];

	head.writeUInt32BE(width, 0);
	head.writeUInt32BE(height, 4);
	head.set([8, type, 0, 0, 0], 8);
	for (let y = 0; y < height; y++) {
		const filter = filters[y % filters.length];
		const at = (x, row) => (x < 0 || row < 0 ? 0 : data[row * width * size + x]);
		const row = Buffer.alloc(1 + width * size, filter);

		for (let x = 0; x < width * size; x++) {
			const [left, above, corner] = [at(x - size, y), at(x, y - 1), x < size ? 0 : at(x - size, y - 1)];
			const distance = [left, above, corner].map((value) => Math.abs(left + above - corner - value));
			const nearest = [left, above, corner][distance.indexOf(Math.min(...distance))];

			row[x + 1] = at(x, y) - [0, left, above, (left + above) >> 1, nearest][filter];
		}
		rows.push(row);
	}
	return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), part('IHDR', head), ...more,
		part('IDAT', zlib.deflateSync(Buffer.concat(rows))), part('IEND', Buffer.alloc(0))]);
}

test('PNG files of all kinds are read', async () => {
	const { readPng } = await import(path.join(top, 'png.mjs'));
	const file = path.join(top, 'x.png');
	const noise = (count) => Uint8Array.from({ length: count }, (_, i) => (i * 7919 + (i >> 3) * 31) % 251);
	const [width, height] = [13, 11];
	const read = (type, size, more) => {
		const data = noise(width * height * size);

		if (type === 3)
			data.forEach((value, i) => (data[i] = value % 4));
		fs.writeFileSync(file, makePng({ width, height, data }, type, size, [0, 1, 2, 3, 4], more));
		return { data, pixels: readPng(file).pixels };
	};
	const blend = (value, alpha) => Math.round((value * alpha + 255 * (255 - alpha)) / 255);
	const colour = read(2, 3);

	assert.deepStrictEqual(colour.pixels, colour.data);
	const grey = read(0, 1);

	grey.data.forEach((value, i) => assert.deepStrictEqual([...grey.pixels.subarray(i * 3, i * 3 + 3)], [value, value, value]));
	const alpha = read(6, 4);

	for (let i = 0; i < width * height; i++)
		assert.strictEqual(alpha.pixels[i * 3 + 1], blend(alpha.data[i * 4 + 1], alpha.data[i * 4 + 3]));
	const both = read(4, 2);

	for (let i = 0; i < width * height; i++)
		assert.strictEqual(both.pixels[i * 3 + 2], blend(both.data[i * 2], both.data[i * 2 + 1]));
	const palette = read(3, 1, [part('PLTE', Buffer.from(noise(12))), part('tRNS', Buffer.from([0]))]);

	palette.data.forEach((value, i) => assert.strictEqual(palette.pixels[i * 3], value ? noise(12)[value * 3] : 255));
	fs.writeFileSync(file, fs.readFileSync(file).subarray(0, 60));
	assert.throws(() => readPng(file));
	fs.writeFileSync(file, 'no picture');
	assert.throws(() => readPng(file), /this is no PNG file/);
});

test('ocr', { skip: !hasRuntime || !fs.existsSync(path.join(samples, 'ocr-models')) }, (context) => {
	const page = path.join(top, 'page.png');
	const text = ['Ten short lines', 'stand on a page', 'that is narrow.', 'NPU 42', 'The end'];
	const drawn = spawnSync('python3', ['-c', `
import sys
from PIL import Image, ImageDraw, ImageFont
image = Image.new("RGB", (420, 400), "white")
font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 30)
for i, line in enumerate(sys.argv[2:]):
    ImageDraw.Draw(image).text((40, 40 + i * 57), line, fill=(20, 20, 60), font=font)
image.save(sys.argv[1])`, page, ...text]);

	if (drawn.status !== 0) {
		context.skip('there is no PIL or no font');
		return;
	}
	assert.strictEqual(run(['--liftoff-only', 'ocr.mjs', path.join(samples, 'ocr-models'), page]), `${text.join('\n')}\n`);
	refuses(['--liftoff-only', 'ocr.mjs', 'models'], 64, /usage/);
});
