// SPDX-License-Identifier: MIT
//
// MLGraphBuilder. Its operators are generated from the tables of idl.js.
'use strict';

const { native, escapeName } = require('./native.js');
const { bufferSource, bytesOf, viewFits } = require('./buffer.js');
const objects = require('./objects.js');
const contexts = require('./context.js');
const { converters, dictionary, enumeration, finish, illegalInvocation, interfaceType, isObject, list,
	number, promise, requireArguments, sequence, usvString } = require('./webidl.js');
const idl = require('./idl.js');

const { defineProperty } = Object;
const NativeTypeError = TypeError;
const contextType = interfaceType('MLContext', contexts.isContext);

let builderHandle;

class MLGraphBuilder {
	#handle;

	constructor(context) {
		const where = "Failed to construct 'MLGraphBuilder'";

		requireArguments(where, 1, arguments.length);
		this.#handle = native.createBuilder(contexts.contextHandle(contextType(context, where)));
	}

	input(name, descriptor) {
		const where = "Failed to execute 'input' on 'MLGraphBuilder'";
		const handle = builderHandle(this);

		requireArguments(where, 2, arguments.length);
		const text = usvString(name);
		const { dataType, shape } = objects.operandDescriptor(descriptor, where);

		return objects.createOperand(handle, native.input(handle, escapeName(text), dataType, shape));
	}

	// constant(descriptor, buffer), constant(tensor), constant(dataType, value)
	constant(first, second) {
		const where = "Failed to execute 'constant' on 'MLGraphBuilder'";
		const handle = builderHandle(this);

		requireArguments(where, 1, arguments.length);
		if (arguments.length === 1) {
			const tensor = objects.tensorType(first, where);

			return objects.createOperand(handle, native.constantTensor(handle, objects.tensorHandle(tensor)));
		}
		if (isObject(first) || first === undefined || first === null)
			return constantBuffer(handle, first, second, where);
		const dataType = objects.dataType(first, where);

		return objects.createOperand(handle, native.constantNumber(handle, dataType, number(second, where)));
	}

	build(outputs) {
		const where = "Failed to execute 'build' on 'MLGraphBuilder'";
		const given = arguments.length;

		return promise((done) => {
			const handle = builderHandle(this);

			requireArguments(where, 1, given);
			const { names, values } = objects.namedOperands(outputs, where);

			for (let i = 0; i < names.length; i++) {
				names[i] = escapeName(names[i]);
				values[i] = objects.operandPlace(values[i], handle);
			}
			native.build(handle, names, values, (error, graph) => {
				done(error, error === undefined ? objects.createGraph(graph) : undefined);
			});
		});
	}

	static {
		builderHandle = (builder) => {
			if (!isObject(builder) || !(#handle in builder))
				illegalInvocation();
			return builder.#handle;
		};
	}
}

function constantBuffer(handle, descriptor, buffer, where) {
	const { dataType, shape } = objects.operandDescriptor(descriptor, where);
	const data = bufferSource(buffer, where);

	if (viewFits(data, objects.typeNames[dataType]))
		return objects.createOperand(handle, native.constant(handle, dataType, shape, bytesOf(data)));
	// Calls the library without data first, for the errors that it checks before the data: no tensor has 0 bytes.
	try {
		native.constant(handle, dataType, shape, new Uint8Array(0));
	} catch (error) {
		if (!(error instanceof NativeTypeError))
			throw error;
	}
	throw contexts.wrongView(where, data, dataType);
}

// --- Operators -----------------------------------------------------------------------------------

const operandType = interfaceType('MLOperand', objects.isOperand);

function converter(type) {
	if (converters[type])
		return converters[type];
	if (type === 'MLOperand')
		return operandType;
	if (type === 'MLOperandDataType')
		return objects.dataType;
	if (type.startsWith('sequence<'))
		return sequence(converter(type.slice('sequence<'.length, -1)));
	return enumeration(type, idl.enums[type]);
}

// Returns the converted default of a member; in the tables, defaults of enumerations are names.
function standard(type, value) {
	return typeof value === 'string' ? idl.enums[type][value] : value;
}

const dictionaries = { MLOperatorOptions: dictionary('MLOperatorOptions', [['label', usvString, '', false]]) };

for (const [name, members] of Object.entries(idl.dictionaries)) {
	dictionaries[name] = dictionary(name, [['label', usvString, '', false],
		...members.map(([member, type, value]) => [member, converter(type), standard(type, value), false])]);
}

function places(value, handle) {
	const result = list();

	for (let i = 0; i < value.length; i++)
		result[i] = objects.operandPlace(value[i], handle);
	return result;
}

// Returns a converted value in the form that the addon takes.
function lower(type, value, handle) {
	if (type === 'MLOperand')
		return objects.operandPlace(value, handle);
	return type === 'sequence<MLOperand>' ? places(value, handle) : value;
}

function run(index, entry, handle, converted, options) {
	const { name, outputs } = entry;
	const values = list();
	let count = outputs;
	let parts;
	let at = 0;

	for (; at < entry.arguments.length; at++)
		values[at] = lower(entry.arguments[at][1], converted[at], handle);
	values[at++] = options.label;
	for (let i = 0; i < entry.order.length; i++)
		values[at++] = lower(entry.types[entry.order[i]], options[entry.order[i]], handle);
	if (entry.sequence && options.returnSequence)
		count++;
	if (name === 'split') {
		if (typeof values[1] === 'number') {
			parts = values[1];
			count = parts;
			values[1] = list();
		} else {
			count = values[1].length;
		}
	}
	const result = native.operator(handle, index, values, count, parts);

	if (outputs === 0)
		return objects.createOperand(handle, result);
	for (let i = 0; i < result.length; i++)
		result[i] = objects.createOperand(handle, result[i]);
	return result;
}

idl.operators.forEach((entry, index) => {
	const { name } = entry;
	const where = `Failed to execute '${name}' on 'MLGraphBuilder'`;
	const types = entry.arguments.map(([, type]) => converter(type));
	const parameters = entry.arguments.map((argument, i) => `${where}: parameter ${i + 1} ('${argument[0]}')`);
	const required = types.length;
	const options = dictionaries[entry.options];

	entry.types = Object.fromEntries((idl.dictionaries[entry.options] || []).map(([member, type]) => [member, type]));
	const method = {
		[name](...given) {
			const handle = builderHandle(this);
			const converted = list();

			requireArguments(where, required, given.length);
			for (let i = 0; i < required; i++)
				converted[i] = types[i](given[i], parameters[i]);
			return run(index, entry, handle, converted, options(given[required], where));
		},
	}[name];

	defineProperty(method, 'length', { value: required, configurable: true });
	defineProperty(MLGraphBuilder.prototype, name, { value: method, writable: true, configurable: true });
});

finish(MLGraphBuilder, 'MLGraphBuilder');

module.exports = { MLGraphBuilder, builderHandle };
