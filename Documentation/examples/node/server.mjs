// SPDX-License-Identifier: MIT
//
// Serves a page where one draws a digit or drops a picture, and sees what the NPU behind this
// server recognises, where each operator ran, and when the engines of the NPU were busy:
//
//	npm install ws
//	node server.mjs [--digits userspace/demo/digits] [--pictures squeezenet] [--port 8080]
//
// Debian's package has the network for digits in the folder digits beside this program.
// The server listens on the loopback interface only, and takes WebSockets from its own page only. A
// message is a byte with the number of the network, and the pixels, and has exactly that size. The
// server refuses clients and pictures beyond its limits.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { createProfilingContext, deviceInfo, placement, profile } from 'webnn-npu/npu';

import { Classifier, best, digits, squeezenet } from './networks.mjs';

// require() finds ws also where Debian puts it.
const { WebSocketServer } = createRequire(import.meta.url)('ws');

const HERE = path.dirname(fileURLToPath(import.meta.url));
const HOST = '127.0.0.1';
const MAX_CLIENTS = 16;
const MAX_WAITING = 4; // messages of a client that are not answered yet
const BINS = 240; // parts into which the timeline is divided
const ENGINES = ['load', 'matrix', 'vector', 'store', 'control'];

function options() {
	try {
		const { values } = parseArgs({ options: {
			digits: { type: 'string' }, pictures: { type: 'string' }, port: { type: 'string', default: '8080' },
		} });

		if (!values.digits && !fs.existsSync(path.join(HERE, 'digits')))
			throw new Error('--digits is needed: there is no folder digits beside this program');
		values.digits ||= path.join(HERE, 'digits');
		if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65535)
			throw new Error(`--port: ${values.port} is no number from 0 to 65535`);
		return values;
	} catch (error) {
		console.error(`usage: node server.mjs [--digits FOLDER] [--pictures FOLDER] [--port N]\n\nserver: ${error.message}`);
		return process.exit(64);
	}
}

// Returns the networks, which clients name by their number: how many bytes each takes, and what the
// bytes mean.
async function openNetworks(context, folders) {
	const networks = [{
		name: 'digits', bytes: 64, labels: [...'0123456789'], value: (byte) => byte / 255,
		classifier: await Classifier.open(context, await digits(context, folders.digits), 10),
	}];

	if (folders.pictures) {
		networks.push({
			name: 'pictures', bytes: 224 * 224 * 3, value: (byte) => (byte - 127.5) / 127.5,
			labels: fs.readFileSync(path.join(folders.pictures, 'labels1001.txt'), 'utf8').split('\n'),
			classifier: await Classifier.open(context, await squeezenet(context, folders.pictures), 1001),
		});
	}
	return networks;
}

// Adds the time from start to end to the bins: each has the share of its time for which an engine
// was busy.
function fill(bins, total, start, end) {
	const from = start / total * bins.length;
	const to = end / total * bins.length;

	for (let i = Math.floor(from); i < to && i < bins.length; i++)
		bins[i] += Math.min(to, i + 1) - Math.max(from, i);
}

function timeline(graph) {
	const { cycles, nanoseconds, events, spans } = profile(graph);
	const rows = [];

	for (const engine of cycles ? ENGINES : []) {
		const bins = new Array(BINS).fill(0);

		events.filter((event) => event.engine === engine).forEach(({ start, end }) => fill(bins, cycles, start, end));
		rows.push({ name: engine, bins });
	}
	const host = new Array(BINS).fill(0);

	// On the CPU operators run one after the other, in time of the host.
	spans.filter(({ device }) => device === 'cpu').forEach(({ start, end }) => fill(host, nanoseconds || 1, start, end));
	if (!cycles || host.some((value) => value > 0))
		rows.push({ name: 'cpu', bins: host });
	for (const { bins } of rows)
		bins.forEach((value, i) => (bins[i] = Math.round(Math.min(value, 1) * 1000) / 1000));
	return { cycles, nanoseconds, rows };
}

async function classify(network, bytes) {
	const { classifier, labels, value } = network;
	const probabilities = await classifier.run(Float32Array.from(bytes, value));
	const answers = best(probabilities, 5).map((i) => ({ label: labels[i], probability: probabilities[i] }));

	return { network: network.name, answers, placement: placement(classifier.graph), timeline: timeline(classifier.graph) };
}

// Answers requests for the page, and no others.
function serve(request, response, page) {
	const known = request.method === 'GET' && request.url === '/';

	response.writeHead(known ? 200 : 404, {
		'Content-Type': known ? 'text/html; charset=utf-8' : 'text/plain',
		'Content-Security-Policy': "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " +
			"connect-src 'self'; img-src blob: data:",
		'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store',
	});
	response.end(known ? page : 'There is only /.\n');
}

// Returns whether the page is of this server. Pages of other servers could open a WebSocket, too,
// but browsers say where a page is from.
function ownPage(request) {
	const host = request.headers.host || '';

	return /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host) && request.headers.origin === `http://${host}`;
}

const folders = options();
const context = await createProfilingContext();
const networks = await openNetworks(context, folders);
const { device, machine } = deviceInfo(context);
const page = fs.readFileSync(path.join(HERE, 'page.html'));
const server = http.createServer({ maxHeaderSize: 8192, requestTimeout: 10000 }, (request, response) => serve(request, response, page));
const largest = Math.max(...networks.map(({ bytes }) => bytes)) + 1;
const sockets = new WebSocketServer({ noServer: true, maxPayload: largest, perMessageDeflate: false });
// Each network has one input tensor, so computations for all clients run one after the other.
let queue = Promise.resolve();

server.maxConnections = 4 * MAX_CLIENTS;
server.on('upgrade', (request, socket, head) => {
	socket.on('error', () => socket.destroy());
	if (request.url !== '/' || !ownPage(request))
		socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
	else if (sockets.clients.size >= MAX_CLIENTS)
		socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n');
	else
		sockets.handleUpgrade(request, socket, head, (client) => sockets.emit('connection', client));
});

function reply(client, message) {
	if (client.readyState === client.OPEN)
		client.send(JSON.stringify(message));
}

sockets.on('connection', (client) => {
	let waiting = 0;

	// A message that breaks the protocol or is too large ends the connection.
	client.on('error', () => client.terminate());
	reply(client, { device, machine, networks: networks.map(({ name, bytes }) => ({ name, bytes })) });
	client.on('message', (data, binary) => {
		const network = binary ? networks[data[0]] : undefined;

		if (!network || data.length !== network.bytes + 1) {
			reply(client, { error: 'a message is the number of a network and its pixels, a byte each' });
			return;
		}
		if (waiting >= MAX_WAITING) {
			reply(client, { error: `no more than ${MAX_WAITING} pictures at a time` });
			return;
		}
		waiting++;
		queue = queue.then(() => classify(network, data.subarray(1))).then((result) => reply(client, result),
			(error) => reply(client, { error: error.message })).finally(() => waiting--);
	});
});

server.listen(Number(folders.port), HOST, () => console.log(`http://${HOST}:${server.address().port}/ on ${device}`));
