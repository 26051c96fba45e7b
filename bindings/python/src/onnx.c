// SPDX-License-Identifier: MIT
/* Models in the format of ONNX, by libwebnn-onnx. */
#include "native.h"

#if defined(WITH_ONNX)

#include <webnn/onnx.h>

struct py_model {
	PyObject_HEAD
	WNNOnnxModel model;
	/* Whether another thread is building. */
	bool busy;
};

static PyTypeObject *model_type;

static PyObject *raise_onnx_error(void)
{
	WNNError error = WNN_ERROR_INIT;

	wnnOnnxGetLastError(&error);
	return raise_status(error.status, error.message, NULL, WNN_STR(""));
}

static bool is_free(struct py_model *self)
{
	if (self->busy)
		raise_status(WNNStatus_InvalidStateError, WNN_STR("another thread uses this model"),
			     NULL, WNN_STR(""));
	return !self->busy;
}

/*
 * model(path, bytes, folder): returns a model loaded from the file at path or, if path is None,
 * from bytes; NULL with an exception.
 */
static PyObject *model_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	WNNOnnxLoadOptions options = WNN_ONNX_LOAD_OPTIONS_INIT;
	PyObject *path, *data, *folder;
	WNNOnnxModel model = NULL;
	Py_buffer buffer = { 0 };
	struct py_model *self;
	WNNStringView text;
	WNNStatus status;

	(void)keywords;
	if (!PyArg_ParseTuple(arguments, "OOO", &path, &data, &folder) ||
	    !get_text(path, "path", &text) || !get_text(folder, "folder", &options.folder))
		return NULL;
	if (path == Py_None && PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	if (path == Py_None)
		status = wnnOnnxLoadMemory(buffer.buf, (size_t)buffer.len, &options, &model);
	else
		status = wnnOnnxLoadFile(text, &options, &model);
	Py_END_ALLOW_THREADS
	if (path == Py_None)
		PyBuffer_Release(&buffer);
	if (status != WNNStatus_Success)
		return raise_onnx_error();
	self = PyObject_New(struct py_model, type);
	if (!self) {
		wnnOnnxModelRelease(model);
		return NULL;
	}
	self->model = model;
	self->busy = false;
	return (PyObject *)self;
}

static void model_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	wnnOnnxModelRelease(((struct py_model *)self)->model);
	PyObject_Free(self);
	Py_DECREF(type);
}

/*
 * Returns a list of sizes and names, None where the file gives neither; None alone: the rank is
 * unknown.
 */
static PyObject *dimensions(WNNOnnxValueInfo const *value)
{
	PyObject *list;

	if (value->rank == WNN_ONNX_RANK_UNKNOWN)
		Py_RETURN_NONE;
	list = PyList_New((Py_ssize_t)value->rank);
	for (size_t i = 0; list && i < value->rank; i++) {
		WNNOnnxDimension const *dimension = &value->dimensions[i];
		PyObject *item;

		if (dimension->size != WNN_ONNX_DIMENSION_UNKNOWN)
			item = PyLong_FromLongLong(dimension->size);
		else if (dimension->name.length)
			item = text_object(dimension->name);
		else
			item = Py_NewRef(Py_None);
		if (!item)
			Py_CLEAR(list);
		else
			PyList_SetItem(list, (Py_ssize_t)i, item);
	}
	return list;
}

/* Returns [(name, kind, ONNX type, data type or 0, dimensions) …]. */
static PyObject *values(WNNOnnxValueInfoArray array)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < array.count; i++) {
		WNNOnnxValueInfo const *value = &array.data[i];
		PyObject *name = text_object(value->name), *type = text_object(value->elementType);
		PyObject *shape = dimensions(value), *item = NULL;

		if (name && type && shape)
			item = Py_BuildValue("(OiOiO)", name, (int)value->kind, type,
					     (int)value->dataType, shape);
		if (!append_item(list, item))
			Py_CLEAR(list);
		Py_XDECREF(shape);
		Py_XDECREF(type);
		Py_XDECREF(name);
	}
	return list;
}

static PyObject *model_inputs(PyObject *self, void *unused)
{
	(void)unused;
	if (!is_free((struct py_model *)self))
		return NULL;
	return values(wnnOnnxModelGetInputs(((struct py_model *)self)->model));
}

static PyObject *model_outputs(PyObject *self, void *unused)
{
	(void)unused;
	if (!is_free((struct py_model *)self))
		return NULL;
	return values(wnnOnnxModelGetOutputs(((struct py_model *)self)->model));
}

static PyObject *finish(WNNStatus status)
{
	if (status != WNNStatus_Success)
		return raise_onnx_error();
	Py_RETURN_NONE;
}

static PyObject *model_set_dimension(PyObject *self, PyObject *arguments)
{
	unsigned int size;
	WNNStringView text;
	PyObject *name;

	if (!PyArg_ParseTuple(arguments, "OI", &name, &size) || !is_free((struct py_model *)self) ||
	    !get_text(name, "name", &text))
		return NULL;
	return finish(wnnOnnxModelSetDimension(((struct py_model *)self)->model, text, size));
}

static PyObject *model_set_shape(PyObject *self, PyObject *arguments)
{
	PyObject *name, *shape;
	WNNUint32Array sizes;
	WNNStringView text;
	WNNStatus status;

	if (!PyArg_ParseTuple(arguments, "OO", &name, &shape) ||
	    !is_free((struct py_model *)self) || !get_text(name, "name", &text) ||
	    !get_shape(shape, &sizes))
		return NULL;
	status = wnnOnnxModelSetInputShape(((struct py_model *)self)->model, text, sizes);
	PyMem_Free((void *)sizes.data);
	return finish(status);
}

static PyObject *model_set_value(PyObject *self, PyObject *arguments)
{
	PyObject *name, *data;
	Py_buffer buffer;
	WNNStringView text;
	WNNStatus status;

	if (!PyArg_ParseTuple(arguments, "OO", &name, &data) || !is_free((struct py_model *)self) ||
	    !get_text(name, "name", &text) || PyObject_GetBuffer(data, &buffer, PyBUF_C_CONTIGUOUS))
		return NULL;
	status = wnnOnnxModelSetInputValue(((struct py_model *)self)->model, text, buffer.buf,
					   (size_t)buffer.len);
	PyBuffer_Release(&buffer);
	return finish(status);
}

static PyObject *model_build(PyObject *object, PyObject *context)
{
	struct py_model *self = (struct py_model *)object;
	WNNGraph graph = NULL;
	WNNStatus status;

	if (!is_free(self))
		return NULL;
	if (!PyObject_TypeCheck(context, context_type)) {
		PyErr_SetString(PyExc_TypeError, "a model is built for a context");
		return NULL;
	}
	self->busy = true;
	Py_BEGIN_ALLOW_THREADS
	status = wnnOnnxModelBuildSync(self->model, ((struct py_context *)context)->context,
				       WNN_WAIT_FOREVER, &graph);
	Py_END_ALLOW_THREADS
	self->busy = false;
	if (status != WNNStatus_Success)
		return raise_onnx_error();
	return graph_object((struct py_context *)context, graph);
}

/* Returns the names of the inputs of the last graph that draw() fills. */
static PyObject *model_random_inputs(PyObject *self, void *unused)
{
	WNNOnnxValueInfoArray array;
	PyObject *list;

	(void)unused;
	if (!is_free((struct py_model *)self))
		return NULL;
	array = wnnOnnxModelGetRandomInputs(((struct py_model *)self)->model);
	list = PyList_New(0);
	for (size_t i = 0; list && i < array.count; i++)
		if (!append_item(list, text_object(array.data[i].name)))
			Py_CLEAR(list);
	return list;
}

/*
 * draw(name, seed, run, array): fills the array with the random numbers of an input; returns None,
 * or NULL with an exception.
 */
static PyObject *model_draw(PyObject *self, PyObject *arguments)
{
	unsigned long long seed, run;
	PyObject *name, *data;
	WNNStringView text;
	Py_buffer buffer;
	WNNStatus status;

	if (!PyArg_ParseTuple(arguments, "OKKO", &name, &seed, &run, &data) ||
	    !is_free((struct py_model *)self) || !get_text(name, "name", &text) ||
	    PyObject_GetBuffer(data, &buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE))
		return NULL;
	status = wnnOnnxModelDraw(((struct py_model *)self)->model, text, seed, run, buffer.buf,
				  (size_t)buffer.len);
	PyBuffer_Release(&buffer);
	return finish(status);
}

/* Returns [{node, operator, attribute, reason, input} …] of the last build. */
static PyObject *model_refusals(PyObject *self, PyObject *unused)
{
	WNNOnnxRefusalArray refusals;
	PyObject *list = PyList_New(0);

	(void)unused;
	refusals = wnnOnnxModelGetRefusals(((struct py_model *)self)->model);
	for (size_t i = 0; list && i < refusals.count; i++) {
		WNNOnnxRefusal const *refusal = &refusals.data[i];
		PyObject *dict = PyDict_New();
		bool complete = dict && set_text(dict, "node", refusal->node) &&
				set_text(dict, "operator", refusal->operatorName) &&
				set_text(dict, "attribute", refusal->attribute) &&
				set_text(dict, "reason", refusal->reason) &&
				set_text(dict, "input", refusal->input);

		if (!append_item(list, if_complete(dict, complete)))
			Py_CLEAR(list);
	}
	return list;
}

static PyMethodDef model_methods[] = {
	{ "set_dimension", model_set_dimension, METH_VARARGS, NULL },
	{ "set_shape", model_set_shape, METH_VARARGS, NULL },
	{ "set_value", model_set_value, METH_VARARGS, NULL },
	{ "build", model_build, METH_O, NULL },
	{ "draw", model_draw, METH_VARARGS, NULL },
	{ "refusals", model_refusals, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef model_members[] = {
	{ "inputs", model_inputs, NULL, NULL, NULL },
	{ "outputs", model_outputs, NULL, NULL, NULL },
	{ "random_inputs", model_random_inputs, NULL, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot model_slots[] = {
	{ Py_tp_new, model_new },
	{ Py_tp_dealloc, model_dealloc },
	{ Py_tp_methods, model_methods },
	{ Py_tp_getset, model_members },
	{ 0, NULL },
};

static PyType_Spec model_spec = {
	.name = "webnn_npu._native.OnnxModel",
	.basicsize = sizeof(struct py_model),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = model_slots,
};

bool add_onnx(PyObject *module)
{
	model_type = add_type(module, &model_spec, "OnnxModel");
	return model_type;
}

#else

/*
 * Adds nothing and returns true, as the module is built without libwebnn-onnx; webnn_npu.onnx tells
 * the user so.
 */
bool add_onnx(PyObject *module)
{
	(void)module;
	return true;
}

#endif
