// SPDX-License-Identifier: MIT
/*
 * The operators. The package passes the arguments, which it has checked, as one tuple: operands,
 * arguments, label, then the options in the order of webnn.json; None means that an option keeps
 * its default. operators.inc, which is generated from that file, has a function for each operator,
 * which reads the tuple item by item.
 */
#include <stdlib.h>
#include <string.h>

#include "native.h"

/* One more than the most results that the library allows for an operator. */
#define MAX_OUTPUTS 8193

struct block {
	struct block *next;
	max_align_t data[];
};

struct call {
	struct py_builder *owner;
	WNNGraphBuilder builder;
	char const *name;
	WNNStringView label;
	PyObject *arguments;
	Py_ssize_t next;
	/* Whether an exception is set. */
	bool failed;
	/* Results of operators that have several. */
	WNNOperand *outputs;
	size_t count;
	/* split: the number of equal slices, instead of their sizes. */
	bool equal_parts;
	uint32_t parts;
	PyObject *result;
	/* Memory of this call, freed at its end. */
	struct block *blocks;
};

struct operator_entry {
	char const *name;
	void (*run)(struct call *call);
};

static void *keep(struct call *call, size_t size)
{
	struct block *block = malloc(sizeof(*block) + size);

	if (!block) {
		call->failed = true;
		PyErr_NoMemory();
		return NULL;
	}
	block->next = call->blocks;
	call->blocks = block;
	return block->data;
}

/*
 * Raises a TypeError that names the argument. The Python code checks types before, so that this
 * shows a mistake there.
 */
static void bad_argument(struct call *call, char const *name)
{
	call->failed = true;
	if (!PyErr_Occurred())
		PyErr_Format(PyExc_TypeError, "%s: the argument %s is of a wrong type", call->name,
			     name);
}

/* Returns the next argument, which belongs to the tuple; NULL when the option keeps its default. */
static PyObject *next(struct call *call, char const *name)
{
	PyObject *value;

	if (call->failed)
		return NULL;
	value = PyTuple_GetItem(call->arguments, call->next++);
	if (!value)
		bad_argument(call, name);
	return value == Py_None ? NULL : value;
}

static bool get_u32(PyObject *value, uint32_t *target)
{
	unsigned long number = PyLong_AsUnsignedLong(value);

	if (PyErr_Occurred() || number > UINT32_MAX)
		return false;
	*target = (uint32_t)number;
	return true;
}

static void read_u32(struct call *call, char const *name, uint32_t *target)
{
	PyObject *value = next(call, name);

	if (value && !get_u32(value, target))
		bad_argument(call, name);
}

static void read_enum(struct call *call, char const *name, uint32_t *target)
{
	*target = 0;
	read_u32(call, name, target);
}

static void read_i32(struct call *call, char const *name, int32_t *target)
{
	PyObject *value = next(call, name);
	long number = value ? PyLong_AsLong(value) : 0;

	if (PyErr_Occurred() || number < INT32_MIN || number > INT32_MAX)
		bad_argument(call, name);
	else if (value)
		*target = (int32_t)number;
}

static void read_f64(struct call *call, char const *name, double *target)
{
	PyObject *value = next(call, name);
	double number = value ? PyFloat_AsDouble(value) : 0;

	if (PyErr_Occurred())
		bad_argument(call, name);
	else if (value)
		*target = number;
}

static void read_bool(struct call *call, char const *name, WNNBool *target)
{
	PyObject *value = next(call, name);

	if (value)
		*target = PyObject_IsTrue(value) > 0;
}

static void read_number(struct call *call, char const *name, WNNNumber *target)
{
	PyObject *value = next(call, name);

	if (!value)
		return;
	if (PyFloat_Check(value)) {
		target->kind = WNNNumberKind_Double;
		target->doubleValue = PyFloat_AsDouble(value);
		return;
	}
	target->kind = WNNNumberKind_Int64;
	target->int64Value = PyLong_AsLongLong(value);
	if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
		PyErr_Clear();
		target->kind = WNNNumberKind_Uint64;
		target->uint64Value = PyLong_AsUnsignedLongLong(value);
	}
	if (PyErr_Occurred())
		bad_argument(call, name);
}

/*
 * Reads a string to *target and notes it as the label of the call, because no other argument is a
 * string.
 */
static void read_string(struct call *call, char const *name, WNNStringView *target)
{
	PyObject *value = next(call, name);

	if (value && !get_text(value, name, target))
		bad_argument(call, name);
	else if (value)
		call->label = *target;
}

static bool get_operand(PyObject *value, WNNOperand *target)
{
	if (!PyObject_TypeCheck(value, operand_type))
		return false;
	*target = ((struct py_operand *)value)->operand;
	return true;
}

static void read_operand(struct call *call, char const *name, WNNOperand *target)
{
	PyObject *value = next(call, name);

	if (value && !get_operand(value, target))
		bad_argument(call, name);
}

/*
 * Returns a tuple of items, and allocates memory for their values. NULL: the option keeps its
 * default, or an exception is set.
 */
static PyObject *list(struct call *call, char const *name, size_t size, Py_ssize_t *count,
		      void *items)
{
	PyObject *value = next(call, name);
	void *memory;

	if (!value)
		return NULL;
	*count = PyTuple_Check(value) ? PyTuple_Size(value) : -1;
	if (*count < 0) {
		bad_argument(call, name);
		return NULL;
	}
	memory = keep(call, ((size_t)*count + 1) * size);
	memcpy(items, &memory, sizeof(memory));
	return memory ? value : NULL;
}

static void read_u32s(struct call *call, char const *name, WNNUint32Array *target)
{
	uint32_t *items;
	Py_ssize_t count;
	PyObject *value = list(call, name, sizeof(*items), &count, &items);

	if (!value)
		return;
	for (Py_ssize_t i = 0; i < count; i++) {
		if (!get_u32(PyTuple_GetItem(value, i), &items[i])) {
			bad_argument(call, name);
			return;
		}
	}
	target->count = (size_t)count;
	target->data = items;
}

static void read_floats(struct call *call, char const *name, WNNFloatArray *target)
{
	float *items;
	Py_ssize_t count;
	PyObject *value = list(call, name, sizeof(*items), &count, &items);

	if (!value)
		return;
	for (Py_ssize_t i = 0; i < count; i++)
		items[i] = (float)PyFloat_AsDouble(PyTuple_GetItem(value, i));
	if (PyErr_Occurred()) {
		bad_argument(call, name);
		return;
	}
	target->count = (size_t)count;
	target->data = items;
}

static void read_activations(struct call *call, char const *name,
			     WNNRecurrentNetworkActivationArray *target)
{
	WNNRecurrentNetworkActivation *items;
	Py_ssize_t count;
	PyObject *value = list(call, name, sizeof(*items), &count, &items);

	if (!value)
		return;
	for (Py_ssize_t i = 0; i < count; i++) {
		uint32_t number;

		if (!get_u32(PyTuple_GetItem(value, i), &number)) {
			bad_argument(call, name);
			return;
		}
		items[i] = (WNNRecurrentNetworkActivation)number;
	}
	target->count = (size_t)count;
	target->data = items;
}

static void read_operands(struct call *call, char const *name, size_t *length, WNNOperand **target)
{
	WNNOperand *items;
	Py_ssize_t count;
	PyObject *value = list(call, name, sizeof(WNNOperand), &count, &items);

	if (!value)
		return;
	for (Py_ssize_t i = 0; i < count; i++) {
		if (!get_operand(PyTuple_GetItem(value, i), &items[i])) {
			bad_argument(call, name);
			return;
		}
	}
	*length = (size_t)count;
	*target = items;
}

static void give_operand(struct call *call, WNNOperand operand)
{
	if (operand)
		call->result = operand_object(call->owner, operand);
	else
		raise_operator_error(call->name, call->label);
}

static void give_operands(struct call *call, WNNStatus status)
{
	if (status != WNNStatus_Success) {
		raise_operator_error(call->name, call->label);
		return;
	}
	call->result = PyTuple_New((Py_ssize_t)call->count);
	for (size_t i = 0; call->result && i < call->count; i++) {
		PyObject *operand = operand_object(call->owner, call->outputs[i]);

		if (!operand)
			Py_CLEAR(call->result);
		else
			PyTuple_SetItem(call->result, (Py_ssize_t)i, operand);
	}
}

#include "operators.inc"

/*
 * call(index, arguments, number of results or 0, parts or None): returns an operand, or a tuple of
 * operands.
 */
PyObject *builder_call(PyObject *self, PyObject *arguments)
{
	struct call call = { .owner = (struct py_builder *)self };
	unsigned int index, count;
	PyObject *parts;

	call.builder = call.owner->builder;
	if (!PyArg_ParseTuple(arguments, "IO!IO", &index, &PyTuple_Type, &call.arguments, &count,
			      &parts))
		return NULL;
	if (index >= sizeof(operator_table) / sizeof(operator_table[0])) {
		PyErr_SetString(PyExc_IndexError, "there is no such operator");
		return NULL;
	}
	call.name = operator_table[index].name;
	call.equal_parts = parts != Py_None;
	if (call.equal_parts && !get_u32(parts, &call.parts))
		bad_argument(&call, "splits");
	/* The library refuses MAX_OUTPUTS results, and any larger number as well. */
	call.count = count < MAX_OUTPUTS ? count : MAX_OUTPUTS;
	call.outputs = count ? keep(&call, call.count * sizeof(WNNOperand)) : NULL;
	if (!call.failed)
		operator_table[index].run(&call);
	while (call.blocks) {
		struct block *block = call.blocks;

		call.blocks = block->next;
		free(block);
	}
	return call.result;
}
