// SPDX-License-Identifier: MIT
//
// Tests the server of Documentation/examples/node and its page: test_server.mjs PACKAGE DIGITS
// SQUEEZENET [FOLDER]. The server must refuse wrong requests. In headless Chromium a digit that is
// drawn and a picture that is dropped must get their answers, with placement and timeline. Pictures
// of the page go to FOLDER, to be looked at.
import assert from 'node:assert';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { createRequire } from 'node:module';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const { WebSocket } = createRequire(import.meta.url)('ws');
const [folder, digits, squeezenet, keep] = process.argv.slice(2);
const examples = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../Documentation/examples/node');
// The browser gets no sanitizer preloaded: it would not start with one.
const { LD_PRELOAD: _, ...plain } = process.env;
const BROWSER = ['chromium-headless-shell', 'chromium']
	.find((name) => spawnSync(name, ['--version'], { env: plain }).status === 0);
const hasPictures = fs.existsSync(squeezenet);
const top = fs.mkdtempSync(path.join(os.tmpdir(), 'webnn-server-'));
let server;
let address;

function startServer(args, device = 'sim') {
	return spawn(process.execPath, [path.join(top, 'server.mjs'), ...args],
		{ env: { ...process.env, WEBNN_DEVICE: device } });
}

test.before(async () => {
	fs.cpSync(examples, top, { recursive: true });
	fs.mkdirSync(path.join(top, 'node_modules'));
	fs.symlinkSync(path.resolve(folder), path.join(top, 'node_modules/webnn-npu'));
	server = startServer(['--digits', digits, '--port', '0', ...(hasPictures ? ['--pictures', squeezenet] : [])]);
	server.stderr.pipe(process.stderr);
	const [line] = await once(createInterface({ input: server.stdout }), 'line');

	[, address] = /^http:\/\/(127\.0\.0\.1:\d+)\/ on sim$/.exec(line);
});

test.after(() => {
	server.kill();
	fs.rmSync(top, { recursive: true });
});

// Returns a promise of a connection; each call of its next() returns a promise of the next message.
async function connect(options = { origin: `http://${address}` }) {
	const socket = new WebSocket(`ws://${address}/`, options);
	const messages = [];
	const waiting = [];

	socket.on('message', (data) => {
		const message = JSON.parse(data);

		if (waiting.length)
			waiting.shift()(message);
		else
			messages.push(message);
	});
	await once(socket, 'open');
	socket.next = () => (messages.length ? Promise.resolve(messages.shift()) :
		new Promise((resolve) => waiting.push(resolve)));
	socket.hello = await socket.next();
	return socket;
}

async function close(socket) {
	socket.close();
	await once(socket, 'close');
}

function heldout(index) {
	const bytes = fs.readFileSync(path.join(digits, 'heldout_images.npy'));
	const labels = fs.readFileSync(path.join(digits, 'heldout_labels.npy'));
	const start = 10 + bytes.readUInt16LE(8) + index * 64;

	return {
		message: Buffer.from([0, ...bytes.subarray(start, start + 64)].map((value, i) => (i ? Math.round(value * 255 / 16) : 0))),
		label: String(labels[10 + labels.readUInt16LE(8) + index]),
	};
}

test('digits get their answers, with placement and timeline', async () => {
	const socket = await connect();

	assert.strictEqual(socket.hello.device, 'sim');
	for (let i = 0; i < 10; i++) {
		const { message, label } = heldout(i);

		socket.send(message);
		const { answers, placement, timeline, network } = await socket.next();

		assert.strictEqual(network, 'digits');
		assert.strictEqual(answers[0].label, label);
		assert.ok(answers[0].probability > 0.5 && answers.length === 5);
		assert.ok(placement.some(({ operator, device }) => operator.includes('conv2d') && device === 'npu'));
		assert.ok(timeline.cycles > 0);
		const matrix = timeline.rows.find(({ name }) => name === 'matrix').bins;

		assert.ok(matrix.some((share) => share > 0) && matrix.every((share) => share >= 0 && share <= 1));
	}
	await close(socket);
});

test('messages of a wrong kind or size are refused, and the connection goes on', async () => {
	const socket = await connect();
	const { message, label } = heldout(3);

	for (const wrong of ['text', Buffer.alloc(0), Buffer.alloc(64), Buffer.alloc(66), Buffer.alloc(65, 255), message.toString('hex')]) {
		socket.send(wrong);
		assert.match((await socket.next()).error, /the number of a network and its pixels/);
	}
	socket.send(message);
	assert.strictEqual((await socket.next()).answers[0].label, label);
	await close(socket);
});

test('what is larger than any picture ends the connection, without being kept', async () => {
	const socket = await connect();

	socket.send(Buffer.alloc(224 * 224 * 3 + 2));
	assert.strictEqual((await once(socket, 'close'))[0], 1009);
	await close(await connect());
});

test('who does not wait for answers gets errors', async () => {
	const socket = await connect();
	const { message } = heldout(0);
	let refused = 0;

	for (let i = 0; i < 50; i++)
		socket.send(message);
	for (let i = 0; i < 50; i++)
		refused += /no more than 4 pictures at a time/.test((await socket.next()).error);
	assert.ok(refused > 0 && refused <= 46, `${refused} refused`);
	await close(socket);
});

test('no more than 16 connect at a time', async () => {
	const sockets = await Promise.all(Array.from({ length: 16 }, () => connect()));

	await assert.rejects(connect(), /503/);
	await Promise.all(sockets.map(close));
	await close(await connect());
});

test('pages of others are refused', async () => {
	for (const options of [{ origin: 'http://example.org' }, { origin: 'http://localhost:1' }, {},
		{ origin: 'http://example.org', headers: { host: 'example.org' } }])
		await assert.rejects(connect(options), /403/);
});

test('HTTP has the page only', async () => {
	const ask = (method, url) => new Promise((resolve, reject) => {
		const [host, port] = address.split(':');

		http.request({ host, port, method, path: url }, (response) => {
			response.resume();
			response.on('end', () => resolve(response));
		}).on('error', reject).end();
	});

	assert.strictEqual((await ask('GET', '/')).statusCode, 200);
	for (const [method, url] of [['POST', '/'], ['GET', '/server.mjs'], ['GET', '/../server.mjs'], ['DELETE', '/x']])
		assert.strictEqual((await ask(method, url)).statusCode, 404, url);
	assert.match((await ask('GET', '/')).headers['content-security-policy'], /default-src 'none'/);
});

test('it listens on the loopback interface only', async () => {
	const others = Object.values(os.networkInterfaces()).flat().filter(({ internal, family }) => !internal && family === 'IPv4');

	for (const { address: other } of others) {
		const socket = net.connect(Number(address.split(':')[1]), other);

		await assert.rejects(once(socket, 'connect'), /ECONNREFUSED/);
	}
});

test('wrong options are said', async () => {
	for (const [args, text] of [[[], /--digits is needed/], [['--digits', digits, '--port', '99999'], /99999 is no number/],
		[['--what'], /--what/]]) {
		const child = startServer(args);
		let said = '';

		child.stderr.on('data', (data) => (said += data));
		assert.strictEqual((await once(child, 'close'))[0], 64);
		assert.match(said, text);
	}
});

test('without --digits the folder beside the program is taken', async (context) => {
	fs.cpSync(digits, path.join(top, 'digits'), { recursive: true });
	context.after(() => fs.rmSync(path.join(top, 'digits'), { recursive: true }));
	const child = startServer(['--port', '0'], 'cpu');

	context.after(() => child.kill());
	const [line] = await once(createInterface({ input: child.stdout }), 'line');

	assert.match(line, /^http:.* on cpu$/);
});

// --- In a browser ---------------------------------------------------------------------------------

// A page of headless Chromium, driven by its DevTools protocol.
class Page {
	static async open(url) {
		const page = new Page();

		page.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'webnn-browser-'));
		page.browser = spawn(BROWSER, ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
			'--window-size=1100,760', `--user-data-dir=${page.profile}`, '--remote-debugging-port=0', 'about:blank'],
		{ env: { ...plain, HOME: page.profile }, stdio: ['ignore', 'ignore', 'pipe'] });
		await page.attach(await new Promise((resolve, reject) => {
			let said = '';

			// All is read, so that the browser can always write.
			page.browser.stderr.on('data', (data) => {
				const [, debug] = /^DevTools listening on (ws:.*)$/m.exec(said += data) || [];

				if (debug)
					resolve(debug);
			});
			page.browser.on('close', () => reject(new Error(`the browser ended: ${said}`)));
		}));
		await page.call('Page.enable');
		await page.call('Runtime.enable');
		const loaded = page.event('Page.loadEventFired');

		await page.call('Page.navigate', { url });
		await loaded;
		return page;
	}

	async attach(debug) {
		this.socket = new WebSocket(debug, { maxPayload: 1 << 28 });
		this.answers = new Map();
		this.events = new Map();
		this.complaints = [];
		this.socket.on('message', (data) => this.receive(JSON.parse(data)));
		await once(this.socket, 'open');
		const { targetInfos } = await this.call('Target.getTargets');
		const { targetId } = targetInfos.find(({ type }) => type === 'page');

		this.session = (await this.call('Target.attachToTarget', { targetId, flatten: true })).sessionId;
	}

	event(name) {
		return new Promise((resolve) => this.events.set(name, resolve));
	}

	receive({ id, result, error, method, params }) {
		this.events.get(method)?.();
		if (method === 'Runtime.exceptionThrown' || (method === 'Runtime.consoleAPICalled' && params.type === 'error'))
			this.complaints.push(JSON.stringify(params));
		const answer = this.answers.get(id);

		this.answers.delete(id);
		if (error)
			answer?.reject(new Error(error.message));
		else
			answer?.resolve(result);
	}

	call(method, params = {}) {
		const id = this.last = (this.last || 0) + 1;

		this.socket.send(JSON.stringify({ id, method, params, sessionId: this.session }));
		return new Promise((resolve, reject) => this.answers.set(id, { resolve, reject }));
	}

	async evaluate(expression) {
		const { result, exceptionDetails } = await this.call('Runtime.evaluate',
			{ expression, returnByValue: true, awaitPromise: true });

		assert.ok(!exceptionDetails, JSON.stringify(exceptionDetails));
		return result.value;
	}

	// Waits until the expression is true, however long it takes: the test has a limit as a
	// whole.
	async until(expression) {
		while (!await this.evaluate(expression))
			await new Promise((resolve) => setTimeout(resolve, 50));
	}

	async mouse(type, x, y) {
		await this.call('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons: type === 'mouseReleased' ? 0 : 1, clickCount: 1 });
	}

	// Draws a stroke through points, in units of the pad, 0 to 1.
	async draw(points) {
		const { left, top: above } = await this.evaluate("(({ left, top }) => ({ left, top }))(document.getElementById('pad').getBoundingClientRect())");
		const at = ([x, y]) => [left + x * 256, above + y * 256];

		await this.mouse('mousePressed', ...at(points[0]));
		for (const point of points)
			await this.mouse('mouseMoved', ...at(point));
		await this.mouse('mouseReleased', ...at(points.at(-1)));
	}

	async screenshot(name) {
		const { data } = await this.call('Page.captureScreenshot');
		const picture = Buffer.from(data, 'base64');

		if (keep)
			fs.writeFileSync(path.join(keep, name), picture);
		return picture;
	}

	async close() {
		const closed = once(this.browser, 'close');

		// No signal ends the browser, because the process may be a script that started it.
		this.socket.send(JSON.stringify({ id: 0, method: 'Browser.close' }));
		await closed;
		fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 10 });
	}
}

// Strokes as a hand makes them, in units of the pad.
const circle = Array.from({ length: 25 }, (_, i) => [0.5 + 0.22 * Math.sin(i * Math.PI / 12), 0.5 - 0.34 * Math.cos(i * Math.PI / 12)]);
const DRAWN = {
	0: circle,
	7: [[0.25, 0.2], [0.5, 0.2], [0.75, 0.2], [0.62, 0.45], [0.5, 0.65], [0.42, 0.85]],
};

test('a digit that is drawn is read, and shown with placement and timeline', { skip: !BROWSER }, async (context) => {
	const page = await Page.open(`http://${address}/`);

	context.after(() => page.close());
	await page.until("document.getElementById('status').textContent.startsWith('connected')");
	const empty = await page.screenshot('empty.png');

	for (const [digit, points] of Object.entries(DRAWN)) {
		await page.evaluate("document.getElementById('clear').click(); delete document.body.dataset.answer");
		await page.draw(points);
		await page.until(`document.body.dataset.answer === '${digit}'`);
	}
	const rows = await page.evaluate("[...document.querySelectorAll('#placement tr')].map((row) => row.className)");

	assert.ok(rows.includes('npu'), rows);
	assert.match(await page.evaluate("document.getElementById('time').textContent"), /^[\d,]+ cycles$/);
	assert.match(await page.evaluate("document.getElementById('answers').textContent"), /^7\d+\.\d %/);
	// Checks that the timeline has coloured pixels, which stand for engines at work.
	assert.ok(await page.evaluate(`(() => {
		const { data } = document.getElementById('timeline').getContext('2d').getImageData(60, 0, 580, 132);
		let count = 0;
		for (let i = 0; i < data.length; i += 4)
			count += Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60;
		return count;
	})()`) > 100);
	assert.ok((await page.screenshot('digit.png')).length > empty.length);
	assert.deepStrictEqual(page.complaints, []);
});

const picture = path.join(path.dirname(squeezenet || '.'), 'mobilenetv2/test.jpg');

test('a picture that is dropped is classified', { skip: !BROWSER || !fs.existsSync(picture) }, async (context) => {
	const page = await Page.open(`http://${address}/`);
	const bytes = fs.readFileSync(picture).toString('base64');
	const drop = (code) => page.evaluate(`(async () => {
		const transfer = new DataTransfer();
		transfer.items.add(${code});
		document.getElementById('drop').dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, cancelable: true }));
	})()`);

	context.after(() => page.close());
	await page.until("document.getElementById('status').textContent.startsWith('connected')");
	await drop("new File(['no picture'], 'x.txt', { type: 'text/plain' })");
	await page.until("document.getElementById('status').textContent.includes('no picture')");
	await drop("new File(['no picture'], 'x.png', { type: 'image/png' })");
	await page.until("document.getElementById('status').textContent.includes('cannot be read')");
	await drop(`new File([Uint8Array.from(atob('${bytes}'), (c) => c.charCodeAt(0))], 'panda.jpg', { type: 'image/jpeg' })`);
	await page.until('document.body.dataset.network === "pictures"');
	assert.match(await page.evaluate('document.body.dataset.answer'), /lesser panda/);
	await page.screenshot('picture.png');
	assert.deepStrictEqual(page.complaints, []);
});
