// SPDX-License-Identifier: MIT
//
// Reads PNG files of 8 bits for each sample that are not interlaced, as red, green and blue on white.
import fs from 'node:fs';
import zlib from 'node:zlib';

const SAMPLES = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }; // grey, colour, palette, grey and alpha, colour and alpha
const MAX_SIDE = 20000;

// Returns the parts of the file by name. Each has a length, a name, data, and a check sum, which is
// not checked here.
function parts(bytes) {
	const found = { IDAT: [] };

	for (let at = 8; at + 12 <= bytes.length;) {
		const name = bytes.toString('latin1', at + 4, at + 8);
		const data = bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at));

		if (name === 'IDAT')
			found.IDAT.push(data);
		else
			found[name] = data;
		at += 12 + data.length;
	}
	return found;
}

// Returns whichever of left, above and corner is nearest to left + above - corner.
function paeth(left, above, corner) {
	const [a, b, c] = [Math.abs(above - corner), Math.abs(left - corner), Math.abs(left + above - 2 * corner)];

	if (a <= b && a <= c)
		return left;
	return b <= c ? above : corner;
}

// Returns the samples of all rows. Each row holds differences; its first byte says to what.
function unfilter(data, height, stride, size) {
	const rows = new Uint8Array(height * stride);

	for (let y = 0, to = 0; y < height; y++) {
		const kind = data[y * (stride + 1)];

		for (let x = 0; x < stride; x++, to++) {
			const left = x < size ? 0 : rows[to - size];
			const above = y ? rows[to - stride] : 0;
			const corner = y && x >= size ? rows[to - stride - size] : 0;

			rows[to] = data[y * (stride + 1) + 1 + x] +
				[0, left, above, (left + above) >> 1, paeth(left, above, corner)][kind];
		}
	}
	return rows;
}

export function readPng(file) {
	const bytes = fs.readFileSync(file);
	const { IHDR, IDAT, PLTE, tRNS } = parts(bytes);

	if (bytes.toString('latin1', 1, 4) !== 'PNG' || !IHDR || IHDR.length !== 13)
		throw new Error(`${file}: this is no PNG file`);
	const [width, height, size] = [IHDR.readUInt32BE(0), IHDR.readUInt32BE(4), SAMPLES[IHDR[9]]];

	if (IHDR[8] !== 8 || IHDR[12] !== 0 || !size || (IHDR[9] === 3 && !PLTE))
		throw new Error(`${file}: samples have to have 8 bits, without interlacing`);
	if (!width || !height || width > MAX_SIDE || height > MAX_SIDE)
		throw new Error(`${file}: it has no pixels, or more than ${MAX_SIDE} in a row or column`);
	const data = zlib.inflateSync(Buffer.concat(IDAT), { maxOutputLength: height * (width * size + 1) });

	if (data.length < height * (width * size + 1))
		throw new Error(`${file}: it is damaged`);
	const rows = unfilter(data, height, width * size, size);
	const pixels = new Uint8Array(width * height * 3);

	for (let i = 0; i < width * height; i++) {
		const sample = rows.subarray(i * size, (i + 1) * size);
		const alpha = IHDR[9] === 3 ? tRNS?.[sample[0]] ?? 255 : size % 2 ? 255 : sample[size - 1];

		for (let c = 0; c < 3; c++) {
			const value = IHDR[9] === 3 ? PLTE[sample[0] * 3 + c] : sample[size < 3 ? 0 : c];

			pixels[i * 3 + c] = Math.round((value * alpha + 255 * (255 - alpha)) / 255);
		}
	}
	return { width, height, pixels };
}
