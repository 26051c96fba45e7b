// SPDX-License-Identifier: MIT
/*
 * Raises errors of the library as exceptions of webnn_npu._errors, which have operator and label.
 */
#include "native.h"

PyObject *raise_status(WNNStatus status, WNNStringView message, char const *operator_name,
		       WNNStringView label)
{
	PyObject *module = PyImport_ImportModule("webnn_npu._errors"), *error = NULL;

	if (module)
		error = PyObject_CallMethod(module, "make", "is#zz#", (int)status,
					    message.data ? message.data : "", text_length(message),
					    operator_name, label.data, text_length(label));
	if (error)
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
	Py_XDECREF(error);
	Py_XDECREF(module);
	return NULL;
}

PyObject *raise_operator_error(char const *operator_name, WNNStringView label)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	return raise_status(error.status, error.message, operator_name, label);
}

PyObject *raise_last_error(void)
{
	return raise_operator_error(NULL, WNN_STR(""));
}
