// SPDX-License-Identifier: MIT
//
// webnn-npu/npu: functions of this library beyond WebNN, for WebNN's objects.
'use strict';

const { native } = require('./native.js');
const builders = require('./builder.js');
const contexts = require('./context.js');
const objects = require('./objects.js');
const { interfaceType, requireArguments } = require('./webidl.js');

const operandType = interfaceType('MLOperand', objects.isOperand);
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

// Declares that an output of a graph updates one of its inputs in place.
function updateInput(builder, input, output) {
	const where = "Failed to execute 'updateInput'";
	const handle = builders.builderHandle(builder);

	requireArguments(where, 3, arguments.length);
	native.updateInput(handle, objects.operandPlace(operandType(input, where), handle),
		objects.operandPlace(operandType(output, where), handle));
}

module.exports = { createProfilingContext, deviceInfo, placement, profile, updateInput };
