// SPDX-License-Identifier: MIT
/* Converts values between Python and the library. */
#include <string.h>

#include "native.h"

Py_ssize_t text_length(WNNStringView text)
{
	if (!text.data)
		return 0;
	return (Py_ssize_t)(text.length == WNN_STRLEN ? strlen(text.data) : text.length);
}

PyObject *text_object(WNNStringView text)
{
	return PyUnicode_DecodeUTF8(text.data ? text.data : "", text_length(text), "replace");
}

/*
 * Sets *text to the characters of a str, which belong to the object; None is the empty text.
 * Returns false with an exception.
 */
bool get_text(PyObject *object, char const *name, WNNStringView *text)
{
	Py_ssize_t length;

	text->data = "";
	text->length = 0;
	if (object == Py_None)
		return true;
	if (!PyUnicode_Check(object)) {
		PyErr_Format(PyExc_TypeError, "%s must be a str", name);
		return false;
	}
	text->data = PyUnicode_AsUTF8AndSize(object, &length);
	text->length = (size_t)length;
	return text->data;
}

/*
 * Sets an item to a value, which is taken over; when it is NULL, an exception is set already.
 * Returns false with an exception.
 */
bool set_item(PyObject *dict, char const *name, PyObject *value)
{
	bool done = value && !PyDict_SetItemString(dict, name, value);

	Py_XDECREF(value);
	return done;
}

bool set_text(PyObject *dict, char const *name, WNNStringView text)
{
	return set_item(dict, name, text_object(text));
}

bool set_number(PyObject *dict, char const *name, uint64_t number)
{
	return set_item(dict, name, PyLong_FromUnsignedLongLong(number));
}

/*
 * Returns a dict that has all of its items; an incomplete one is freed. NULL: an exception is set
 * already.
 */
PyObject *if_complete(PyObject *dict, bool complete)
{
	if (!complete)
		Py_CLEAR(dict);
	return dict;
}

/*
 * Appends a value, which is taken over; when it is NULL, an exception is set already. Returns false
 * with an exception.
 */
bool append_item(PyObject *list, PyObject *value)
{
	bool done = value && !PyList_Append(list, value);

	Py_XDECREF(value);
	return done;
}

PyObject *shape_object(WNNUint32Array shape)
{
	PyObject *list = PyList_New((Py_ssize_t)shape.count);

	for (size_t i = 0; list && i < shape.count; i++) {
		PyObject *size = PyLong_FromUnsignedLong(shape.data[i]);

		if (!size) {
			Py_CLEAR(list);
			break;
		}
		PyList_SetItem(list, (Py_ssize_t)i, size);
	}
	return list;
}

/*
 * Copies a tuple of sizes; the caller frees shape->data with PyMem_Free(). Returns false with an
 * exception when the object is no tuple of int, or a size is beyond 32 bits.
 */
bool get_shape(PyObject *object, WNNUint32Array *shape)
{
	Py_ssize_t count = PyTuple_Check(object) ? PyTuple_Size(object) : -1;
	uint32_t *sizes;

	shape->data = NULL;
	if (count < 0) {
		PyErr_SetString(PyExc_TypeError, "a shape must be a tuple of int");
		return false;
	}
	sizes = PyMem_Calloc((size_t)count + 1, sizeof(*sizes));
	if (!sizes) {
		PyErr_NoMemory();
		return false;
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		unsigned long size = PyLong_AsUnsignedLong(PyTuple_GetItem(object, i));

		if (size > UINT32_MAX && !PyErr_Occurred())
			PyErr_SetString(PyExc_OverflowError, "a dimension is beyond 32 bits");
		if (PyErr_Occurred()) {
			PyMem_Free(sizes);
			return false;
		}
		sizes[i] = (uint32_t)size;
	}
	shape->count = (size_t)count;
	shape->data = sizes;
	return true;
}

bool get_type(PyObject *object, WNNOperandDataType *type)
{
	long number = PyLong_AsLong(object);

	*type = (WNNOperandDataType)number;
	return number != -1 || !PyErr_Occurred();
}

PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, char const *name)
{
	PyObject *type = PyType_FromSpec(spec);

	if (!type)
		return NULL;
	if (PyModule_AddObjectRef(module, name, type)) {
		Py_DECREF(type);
		return NULL;
	}
	/* The reference is never released, because types live as long as the process. */
	return (PyTypeObject *)type;
}
