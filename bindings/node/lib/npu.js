// SPDX-License-Identifier: MIT
//
// webnn-npu/npu: information of this library beyond WebNN, about objects of WebNN.
'use strict';

const { native } = require('./native.js');
const contexts = require('./context.js');
const objects = require('./objects.js');
const { interfaceType } = require('./webidl.js');

const contextType = interfaceType('MLContext', contexts.isContext);

// Creates a context like ml.createContext(), whose graphs keep profiles of their dispatches.
function createProfilingContext(options) {
	return contexts.openContext(options, "Failed to execute 'createProfilingContext'", true);
}

function deviceInfo(context) {
	return native.contextDevice(contexts.contextHandle(contextType(context, "Failed to execute 'deviceInfo'")));
}

function placement(graph) {
	return native.graphPlacement(objects.graphHandle(objects.graphType(graph, "Failed to execute 'placement'")));
}

function profile(graph) {
	return native.graphProfile(objects.graphHandle(objects.graphType(graph, "Failed to execute 'profile'")));
}

module.exports = { createProfilingContext, deviceInfo, placement, profile };
