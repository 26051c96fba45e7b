// SPDX-License-Identifier: MIT
/* The module's initialisation, and its version. */
#include "native.h"

static PyObject *get_version(PyObject *self, PyObject *unused)
{
	WNNVersion version = WNN_VERSION_INIT;

	(void)self;
	(void)unused;
	wnnGetVersion(&version);
	return Py_BuildValue("(III)", (unsigned int)version.major, (unsigned int)version.minor,
			     (unsigned int)version.patch);
}

static PyMethodDef methods[] = {
	{ "version", get_version, METH_NOARGS, NULL },
	{ "devices", list_devices, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "webnn_npu._native",
	.m_size = -1,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (module && add_context(module) && add_tensor(module) && add_builder(module) &&
	    add_graph(module) && add_dlpack(module) && add_onnx(module))
		return module;
	Py_XDECREF(module);
	return NULL;
}
