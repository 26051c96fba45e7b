// SPDX-License-Identifier: MIT
//
// node -r webnn-npu/import program.mjs: makes import find the package where require() finds it. Debian's Node looks
// for required packages in /usr/share/nodejs, too, but for imported ones only in folders node_modules.
'use strict';

const { register } = require('node:module');
const { pathToFileURL } = require('node:url');

if (!register)
	throw new Error(`webnn-npu/import needs Node 20.6 or newer: this is ${process.version}`);
register('./import_hooks.mjs', pathToFileURL(__filename));
