// SPDX-License-Identifier: MIT
//
// The conversions of Web IDL (https://webidl.spec.whatwg.org/#js-type-mapping), step by step: the
// order in which properties are read and methods are called can be seen by a script. Built-in
// functions are taken once, so that a script that replaces them later changes nothing here.
'use strict';

const { apply, getOwnPropertyDescriptor, ownKeys } = Reflect;
const { defineProperty, freeze, setPrototypeOf } = Object;
const { fround, trunc } = Math;
const isFiniteNumber = Number.isFinite;
const iteratorSymbol = Symbol.iterator;
const toStringTag = Symbol.toStringTag;
const NativePromise = Promise;
const NativeTypeError = TypeError;
const NativeMap = Map;
const toWellFormed = String.prototype.toWellFormed;
const charCodeAt = String.prototype.charCodeAt;
const slice = String.prototype.slice;
const [mapSet, mapForEach] = [Map.prototype.set, Map.prototype.forEach];

function fail(where, message) {
	throw new NativeTypeError(`${where}: ${message}`);
}

function isObject(value) {
	return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

// Returns an array without a prototype, so that setters of a script on Array.prototype do not see its items.
function list() {
	return setPrototypeOf([], null);
}

function unsignedLong(value, where) {
	let x = +value;

	if (!isFiniteNumber(x))
		fail(where, "Value is not a finite number, as type 'unsigned long' needs.");
	x = trunc(x);
	if (x < 0 || x > 4294967295)
		fail(where, "Value is outside the 'unsigned long' value range.");
	return x + 0;
}

function wrappingUnsignedLong(value) {
	return +value >>> 0;
}

function long(value, where) {
	let x = +value;

	if (!isFiniteNumber(x))
		fail(where, "Value is not a finite number, as type 'long' needs.");
	x = trunc(x);
	if (x < -2147483648 || x > 2147483647)
		fail(where, "Value is outside the 'long' value range.");
	return x + 0;
}

function double(value, where) {
	const x = +value;

	if (!isFiniteNumber(x))
		fail(where, 'The provided double value is non-finite.');
	return x;
}

function float(value, where) {
	const x = fround(+value);

	if (!isFiniteNumber(x))
		fail(where, 'The provided float value is non-finite.');
	return x;
}

function boolean(value) {
	return !!value;
}

// Converts to (bigint or unrestricted double).
function number(value) {
	let x = value;

	// The operator ++ returns its operand converted by ToNumeric().
	x = x++;
	if (typeof x === 'bigint' && (x < -(2n ** 63n) || x >= 2n ** 64n))
		return Number(x);
	return x;
}

function wellFormed(string) {
	let result = '';
	let start = 0;

	if (toWellFormed)
		return apply(toWellFormed, string, []);
	for (let i = 0; i < string.length; i++) {
		const unit = apply(charCodeAt, string, [i]);

		if (unit < 0xd800 || unit > 0xdfff)
			continue;
		if (unit < 0xdc00 && (apply(charCodeAt, string, [i + 1]) & 0xfc00) === 0xdc00) {
			i++;
			continue;
		}
		result += apply(slice, string, [start, i]) + '\ufffd';
		start = i + 1;
	}
	return result + apply(slice, string, [start]);
}

function usvString(value) {
	return wellFormed(`${value}`);
}

// Returns a converter from the names of an enumeration to the library's numbers.
function enumeration(name, values) {
	const table = setPrototypeOf({ ...values }, null);

	return (value, where) => {
		const text = `${value}`;
		const found = table[text];

		if (found === undefined)
			fail(where, `The provided value '${text}' is not a valid enum value of type ${name}.`);
		return found;
	};
}

function sequenceFrom(value, method, convert, where) {
	const result = list();
	const iterator = apply(method, value, []);

	if (!isObject(iterator))
		fail(where, 'The iterator is no object.');
	const next = iterator.next;

	if (typeof next !== 'function')
		fail(where, "The iterator's next is no function.");
	for (let i = 0; ; i++) {
		const step = apply(next, iterator, []);

		if (!isObject(step))
			fail(where, 'The result of the iterator is no object.');
		if (step.done)
			return result;
		result[i] = convert(step.value, where);
	}
}

function iteratorMethod(value, where) {
	const method = value[iteratorSymbol];

	if (method === undefined || method === null)
		return undefined;
	if (typeof method !== 'function')
		fail(where, 'The object must have a callable @@iterator property.');
	return method;
}

function sequence(convert) {
	return (value, where) => {
		if (!isObject(value))
			fail(where, 'The provided value cannot be converted to a sequence.');
		const method = iteratorMethod(value, where);

		if (!method)
			fail(where, 'The object must have a callable @@iterator property.');
		return sequenceFrom(value, method, convert, where);
	};
}

// Returns a converter to a sequence if the value is iterable, else to the other type.
function sequenceOr(convertItem, convertOther) {
	return (value, where) => {
		if (isObject(value)) {
			const method = iteratorMethod(value, where);

			if (method)
				return sequenceFrom(value, method, convertItem, where);
		}
		return convertOther(value, where);
	};
}

// Returns a converter of record<USVString, T> to { names, values }, in the order of the keys.
function record(convert) {
	return (value, where) => {
		if (!isObject(value))
			fail(where, 'The provided value is not an object, as a record needs.');
		const keys = ownKeys(value);
		const entries = new NativeMap();
		const [names, values] = [list(), list()];
		let count = 0;

		for (let i = 0; i < keys.length; i++) {
			const descriptor = getOwnPropertyDescriptor(value, keys[i]);

			if (descriptor === undefined || !descriptor.enumerable)
				continue;
			const name = usvString(keys[i]);

			apply(mapSet, entries, [name, convert(value[keys[i]], where)]);
		}
		apply(mapForEach, entries, [(item, name) => {
			names[count] = name;
			values[count++] = item;
		}]);
		return { names, values };
	};
}

// Returns a converter of a dictionary to an object without a prototype. members: [name, convert, default, required],
// in the order of reading.
function dictionary(name, members) {
	return (value, where) => {
		const result = setPrototypeOf({}, null);
		const absent = value === undefined || value === null;

		if (!absent && !isObject(value))
			fail(where, `The provided value is not of type '${name}'.`);
		for (let i = 0; i < members.length; i++) {
			const [key, convert, standard, required] = members[i];
			const member = absent ? undefined : value[key];
			const inner = `${where}: Failed to read the '${key}' property from '${name}'`;

			if (member !== undefined)
				result[key] = convert(member, inner);
			else if (required)
				fail(inner, 'Required member is undefined.');
			else
				result[key] = standard;
		}
		return result;
	};
}

function interfaceType(name, isInstance) {
	return (value, where) => {
		if (!isInstance(value))
			fail(where, `The provided value is not of type '${name}'.`);
		return value;
	};
}

function requireArguments(where, required, given) {
	if (given < required)
		fail(where, `${required} argument${required === 1 ? '' : 's'} required, but only ${given} present.`);
}

function illegalInvocation() {
	throw new NativeTypeError('Illegal invocation');
}

function illegalConstructor(name) {
	throw new NativeTypeError(`Failed to construct '${name}': Illegal constructor`);
}

// Returns a promise for an operation that ends with a callback (error, value). When start throws, the promise is
// rejected, because Web IDL operations that return promises never throw.
function promise(start) {
	return new NativePromise((resolve, reject) => {
		start((error, value) => {
			if (error !== undefined)
				reject(error);
			else
				resolve(value);
		}, reject);
	});
}

// Makes the members of a prototype enumerable and sets the interface's name, as Web IDL demands.
function finish(constructor, name) {
	const { prototype } = constructor;
	const keys = ownKeys(prototype);

	for (let i = 0; i < keys.length; i++) {
		if (keys[i] !== 'constructor')
			defineProperty(prototype, keys[i], { enumerable: true });
	}
	defineProperty(prototype, toStringTag, { value: name, configurable: true, writable: false, enumerable: false });
}

// Returns a list for scripts: an ordinary array, frozen.
function frozenArray(items) {
	return freeze(setPrototypeOf(items, Array.prototype));
}

const converters = {
	'unsigned long': unsignedLong,
	'wrapping unsigned long': wrappingUnsignedLong,
	'long': long,
	'double': double,
	'boolean': boolean,
	'MLNumber': number,
	'USVString': usvString,
	'sequence<unsigned long>': sequence(unsignedLong),
	'sequence<wrapping unsigned long>': sequence(wrappingUnsignedLong),
	'sequence<float>': sequence(float),
	'(unsigned long or sequence<unsigned long>)': sequenceOr(unsignedLong, unsignedLong),
};

module.exports = {
	apply, boolean, converters, dictionary, enumeration, fail, finish, frozenArray, illegalConstructor,
	illegalInvocation, interfaceType, isObject, list, number, promise, record, requireArguments, sequence,
	sequenceOr, unsignedLong, usvString,
};
