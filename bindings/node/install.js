// SPDX-License-Identifier: MIT
//
// npm runs this script after it has unpacked the package. The addon in the package does not load on other processors
// and C libraries: then this compiles one with the machine's compiler and the libwebnn-npu that is installed there.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { execFileSync, spawnSync } = require('node:child_process');

const ADDON = path.join(__dirname, 'webnn_npu.node');

function loads() {
	// Loads the addon in another process, because this process would not read it again after a failure.
	return spawnSync(process.execPath, ['-e', `require(${JSON.stringify(ADDON)})`], { stdio: 'ignore' }).status === 0;
}

// Returns the folder of Node's headers, which come with Node or with Debian's libnode-dev.
function headers() {
	const folders = [path.join(path.dirname(process.execPath), '../include'), '/usr/include', '/usr/local/include'];
	const found = folders.find((folder) => fs.existsSync(path.join(folder, 'node/node_api.h')));

	if (!found)
		throw new Error('node/node_api.h is not there: install the headers of Node (Debian: libnode-dev)');
	return found;
}

// Returns the compiler's options for the libraries. Support for ONNX models is compiled in if
// libwebnn-onnx is installed.
function pkgConfig() {
	const onnx = spawnSync('pkg-config', ['--exists', 'webnn-onnx']).status === 0;

	try {
		return [...(onnx ? ['-DWITH_ONNX'] : []), ...execFileSync('pkg-config',
			['--cflags', '--libs', 'webnn-npu', ...(onnx ? ['webnn-onnx'] : [])], { encoding: 'utf8' }).trim().split(/\s+/)];
	} catch (error) {
		throw new Error(error.code === 'ENOENT' ? 'pkg-config is not there: install it (Debian: pkg-config)' :
			'pkg-config does not find webnn-npu: install libwebnn-npu with its headers (libwebnn-npu-dev)');
	}
}

function build() {
	const sources = fs.readdirSync(path.join(__dirname, 'src')).filter((name) => name.endsWith('.c'));
	const include = headers();
	const compiler = process.env.CC || 'cc';
	const result = spawnSync(compiler, ['-shared', '-fPIC', '-O2', '-D_GNU_SOURCE', '-fvisibility=hidden',
		'-I', __dirname, '-I', include, '-I', path.join(include, 'node'), ...sources.map((name) => path.join(__dirname, 'src', name)),
		...pkgConfig(), '-Wl,-z,nodelete', '-o', ADDON], { stdio: 'inherit' });

	if (result.error) {
		throw new Error(`the compiler ${compiler} does not start (${result.error.code}): install one (Debian: gcc), ` +
			'or name it with CC');
	}
	if (result.status !== 0)
		throw new Error('the compiler failed');
}

try {
	if (!loads()) {
		build();
		if (!loads())
			throw new Error(`the addon that was compiled cannot be loaded: node -e 'require(${JSON.stringify(ADDON)})' says why`);
	}
} catch (error) {
	console.error(`webnn-npu: no addon for this machine: ${error.message}`);
	process.exit(1);
}
