// SPDX-License-Identifier: MIT
//
// import 'webnn-npu/register': navigator.ml and the interfaces, as in a browser.
'use strict';

require('./index.js').register();
