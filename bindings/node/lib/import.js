// SPDX-License-Identifier: MIT
//
// node -r webnn-npu/import program.mjs: import finds the package where require() does. Debian's Node looks for what
// require() names in /usr/share/nodejs, too, but for what import names in folders node_modules only.
'use strict';

const { register } = require('node:module');
const { pathToFileURL } = require('node:url');

if (!register)
	throw new Error(`webnn-npu/import needs Node 20.6 or newer: this is ${process.version}`);
register('./import_hooks.mjs', pathToFileURL(__filename));
