// SPDX-License-Identifier: MIT
//
// Tells when somebody speaks in a recording, a WAV file of 16 bits and 16 kHz with one channel:
//
//	node --liftoff-only voice.mjs [--probabilities] silero_vad.onnx recording.wav
//
// Silero's network hears 32 ms at a time. Its state is an MLTensor that stays on the device: each
// run takes the state that the run before gave.
import fs from 'node:fs';
import { parseArgs } from 'node:util';

import { openSession, ort } from './runtime.mjs';

const RATE = 16000;
const CHUNK = 512;
const BEFORE = 64; // the last samples of the chunk before
const SPEECH = 0.5; // speech begins from this probability on
const SILENCE = 0.35; // silence begins below this probability
const MIN_CHUNKS = 8; // shorter speech is noise, a shorter silence is a pause

// Returns the samples of a file. It is a list of parts, each with a name and a size in front; only
// the format and the data are read.
function readWav(file) {
	const bytes = fs.readFileSync(file);
	let format;

	if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE')
		throw new Error(`${file}: this is no WAV file`);
	for (let at = 12; at + 8 <= bytes.length;) {
		const name = bytes.toString('latin1', at, at + 4);
		const part = bytes.subarray(at + 8, at + 8 + bytes.readUInt32LE(at + 4));

		if (name === 'fmt ' && part.length >= 16)
			format = [part.readUInt16LE(0), part.readUInt16LE(2), part.readUInt32LE(4), part.readUInt16LE(14)].join();
		if (name === 'data' && format) {
			if (format !== `1,1,${RATE},16`)
				throw new Error(`${file}: format, channels, rate and bits are ${format}, instead of 1,1,${RATE},16`);
			return Float32Array.from({ length: part.length >> 1 }, (_, i) => part.readInt16LE(i * 2) / 32768);
		}
		at += 8 + part.length + part.length % 2;
	}
	throw new Error(`${file}: there are no samples in it`);
}

// Yields the probability of speech for each chunk. The last chunk is filled up with silence.
async function* hear(session, samples) {
	const sr = new ort.Tensor('int64', [BigInt(RATE)], []);
	let state = new ort.Tensor('float32', new Float32Array(256), [2, 1, 128]);

	for (let at = 0; at < samples.length; at += CHUNK) {
		const input = new Float32Array(BEFORE + CHUNK);
		const from = Math.max(at - BEFORE, 0);

		input.set(samples.subarray(from, at + CHUNK), BEFORE - (at - from));
		const { output, stateN } = await session.run({ input: new ort.Tensor('float32', input, [1, BEFORE + CHUNK]), state, sr });

		state.dispose();
		state = stateN;
		yield output.data[0];
	}
	state.dispose();
}

function* times(probabilities) {
	let begin;
	let quiet = 0;

	for (let i = 0; i < probabilities.length; i++) {
		if (probabilities[i] >= SPEECH)
			begin ??= i;
		quiet = probabilities[i] < SILENCE ? quiet + 1 : 0;
		if (begin !== undefined && quiet === MIN_CHUNKS) {
			yield [begin, i + 1 - quiet];
			begin = undefined;
		}
	}
	if (begin !== undefined)
		yield [begin, probabilities.length - quiet];
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { probabilities: { type: 'boolean' } } });

if (positionals.length !== 2) {
	console.error('usage: node --liftoff-only voice.mjs [--probabilities] MODEL.onnx RECORDING.wav');
	process.exit(64);
}
const samples = readWav(positionals[1]);
const context = await navigator.ml.createContext();
const session = await openSession(fs.readFileSync(positionals[0]), context, { batch: 1, sequence: BEFORE + CHUNK },
	{ output: 'cpu', stateN: 'ml-tensor' });
const probabilities = [];

for await (const probability of hear(session, samples))
	probabilities.push(probability);
if (values.probabilities) {
	console.log(probabilities.join('\n'));
} else {
	for (const [begin, end] of times(probabilities)) {
		if (end - begin >= MIN_CHUNKS)
			console.log(`${(begin * CHUNK / RATE).toFixed(2)} s to ${(end * CHUNK / RATE).toFixed(2)} s`);
	}
}
await session.release();
