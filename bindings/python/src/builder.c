// SPDX-License-Identifier: MIT
/*
 * Builders and operands. Constants are lent to the library, which may stop using them on a thread
 * of its own: that thread adds them to a list, and the next call that holds the interpreter's lock
 * frees them.
 */
#include <pthread.h>
#include <stdlib.h>

#include "native.h"

PyTypeObject *builder_type, *operand_type;

struct lent {
	struct lent *next;
	Py_buffer buffer;
};

static pthread_mutex_t returned_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lent *returned;

static void give_back(void const *data, size_t size, void *userdata1, void *userdata2)
{
	struct lent *lent = userdata1;

	(void)data;
	(void)size;
	(void)userdata2;
	pthread_mutex_lock(&returned_lock);
	lent->next = returned;
	returned = lent;
	pthread_mutex_unlock(&returned_lock);
}

static void free_returned(void)
{
	struct lent *list;

	pthread_mutex_lock(&returned_lock);
	list = returned;
	returned = NULL;
	pthread_mutex_unlock(&returned_lock);
	while (list) {
		struct lent *lent = list;

		list = lent->next;
		PyBuffer_Release(&lent->buffer);
		free(lent);
	}
}

/* --- Operands -------------------------------------------------------------------------------- */

PyObject *operand_object(struct py_builder *builder, WNNOperand operand)
{
	struct py_operand *self = PyObject_New(struct py_operand, operand_type);

	if (!self)
		return NULL;
	self->builder = (struct py_builder *)Py_NewRef((PyObject *)builder);
	self->operand = operand;
	return (PyObject *)self;
}

static void operand_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	Py_DECREF(((struct py_operand *)self)->builder);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *operand_data_type(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLong((long)wnnOperandGetDataType(((struct py_operand *)self)->operand));
}

static PyObject *operand_shape(PyObject *self, void *unused)
{
	(void)unused;
	return shape_object(wnnOperandGetShape(((struct py_operand *)self)->operand));
}

static PyGetSetDef operand_members[] = {
	{ "data_type", operand_data_type, NULL, NULL, NULL },
	{ "shape", operand_shape, NULL, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot operand_slots[] = {
	{ Py_tp_dealloc, operand_dealloc },
	{ Py_tp_getset, operand_members },
	{ 0, NULL },
};

static PyType_Spec operand_spec = {
	.name = "webnn_npu._native.Operand",
	.basicsize = sizeof(struct py_operand),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = operand_slots,
};

/* --- Builders -------------------------------------------------------------------------------- */

static PyObject *builder_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = { "context", NULL };
	struct py_builder *self;
	WNNGraphBuilder builder;
	PyObject *context;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!", names, context_type, &context))
		return NULL;
	builder = wnnContextCreateGraphBuilder(((struct py_context *)context)->context);
	if (!builder)
		return raise_last_error();
	self = PyObject_New(struct py_builder, type);
	if (!self) {
		wnnGraphBuilderRelease(builder);
		return NULL;
	}
	self->context = (struct py_context *)Py_NewRef((PyObject *)context);
	self->builder = builder;
	self->busy = false;
	return (PyObject *)self;
}

static void builder_dealloc(PyObject *object)
{
	struct py_builder *self = (struct py_builder *)object;
	PyTypeObject *type = Py_TYPE(object);

	wnnGraphBuilderRelease(self->builder);
	free_returned();
	Py_DECREF(self->context);
	PyObject_Free(object);
	Py_DECREF(type);
}

/*
 * Raises an error when another thread is building with this builder: a builder is for one thread at
 * a time, and build() releases the interpreter's lock. Returns whether it is free.
 */
static bool is_free(struct py_builder *self)
{
	if (self->busy)
		raise_status(WNNStatus_InvalidStateError,
			     WNN_STR("another thread builds with this builder"), NULL, WNN_STR(""));
	return !self->busy;
}

static PyObject *finish(struct py_builder *self, WNNOperand operand, char const *name)
{
	return operand ? operand_object(self, operand) : raise_operator_error(name, WNN_STR(""));
}

static PyObject *builder_input(PyObject *object, PyObject *arguments)
{
	struct py_builder *self = (struct py_builder *)object;
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	PyObject *name, *data_type, *shape;
	WNNOperand operand;
	WNNStringView text;

	if (!PyArg_ParseTuple(arguments, "OOO", &name, &data_type, &shape) || !is_free(self) ||
	    !get_text(name, "name", &text) || !get_type(data_type, &descriptor.dataType) ||
	    !get_shape(shape, &descriptor.shape))
		return NULL;
	operand = wnnGraphBuilderInput(self->builder, text, &descriptor);
	PyMem_Free((void *)descriptor.shape.data);
	return finish(self, operand, "input");
}

static PyObject *builder_constant(PyObject *object, PyObject *arguments)
{
	struct py_builder *self = (struct py_builder *)object;
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNBorrowedConstant borrowed = WNN_BORROWED_CONSTANT_INIT;
	PyObject *data_type, *shape, *data;
	WNNOperand operand;
	struct lent *lent;

	if (!PyArg_ParseTuple(arguments, "OOO", &data_type, &shape, &data) || !is_free(self) ||
	    !get_type(data_type, &descriptor.dataType) || !get_shape(shape, &descriptor.shape))
		return NULL;
	free_returned();
	lent = calloc(1, sizeof(*lent));
	if (!lent || PyObject_GetBuffer(data, &lent->buffer, PyBUF_C_CONTIGUOUS)) {
		if (!lent)
			PyErr_NoMemory();
		free(lent);
		PyMem_Free((void *)descriptor.shape.data);
		return NULL;
	}
	borrowed.releaseCallback = give_back;
	borrowed.userdata1 = lent;
	descriptor.nextInChain = &borrowed.chain;
	operand = wnnGraphBuilderConstant(self->builder, &descriptor, lent->buffer.buf,
					  (size_t)lent->buffer.len);
	PyMem_Free((void *)descriptor.shape.data);
	return finish(self, operand, "constant");
}

/*
 * update_input(input, output): declares that the output updates the input in place; returns None,
 * or NULL with an exception.
 */
static PyObject *builder_update_input(PyObject *object, PyObject *arguments)
{
	struct py_builder *self = (struct py_builder *)object;
	PyObject *input, *output;

	if (!PyArg_ParseTuple(arguments, "O!O!", operand_type, &input, operand_type, &output) ||
	    !is_free(self))
		return NULL;
	if (wnnGraphBuilderUpdateInput(self->builder, ((struct py_operand *)input)->operand,
				       ((struct py_operand *)output)->operand) != WNNStatus_Success)
		return raise_last_error();
	Py_RETURN_NONE;
}

static WNNNamedOperand *get_outputs(PyObject *dict, size_t *count)
{
	Py_ssize_t position = 0, size = PyDict_Check(dict) ? PyDict_Size(dict) : -1;
	WNNNamedOperand *outputs = size < 0 ? NULL :
					      PyMem_Calloc((size_t)size + 1, sizeof(*outputs));
	PyObject *key, *value;

	if (size < 0) {
		PyErr_SetString(PyExc_TypeError, "outputs are given as a dict of names");
		return NULL;
	}
	if (!outputs) {
		PyErr_NoMemory();
		return NULL;
	}
	for (*count = 0; PyDict_Next(dict, &position, &key, &value); (*count)++) {
		if (!PyObject_TypeCheck(value, operand_type) ||
		    !get_text(key, "the name of an output", &outputs[*count].name)) {
			if (!PyErr_Occurred())
				PyErr_Format(PyExc_TypeError, "%R is no operand", value);
			PyMem_Free(outputs);
			return NULL;
		}
		outputs[*count].operand = ((struct py_operand *)value)->operand;
	}
	return outputs;
}

static PyObject *builder_build(PyObject *object, PyObject *dict)
{
	struct py_builder *self = (struct py_builder *)object;
	WNNNamedOperand *outputs;
	WNNGraph graph = NULL;
	WNNStatus status;
	size_t count;

	if (!is_free(self))
		return NULL;
	outputs = get_outputs(dict, &count);
	if (!outputs)
		return NULL;
	self->busy = true;
	Py_BEGIN_ALLOW_THREADS
	status = wnnGraphBuilderBuildSync(self->builder, count, outputs, WNN_WAIT_FOREVER, &graph);
	Py_END_ALLOW_THREADS
	self->busy = false;
	PyMem_Free(outputs);
	if (status != WNNStatus_Success)
		return raise_last_error();
	return graph_object(self->context, graph);
}

static PyObject *builder_checked_call(PyObject *object, PyObject *arguments)
{
	return is_free((struct py_builder *)object) ? builder_call(object, arguments) : NULL;
}

static PyMethodDef builder_methods[] = {
	{ "input", builder_input, METH_VARARGS, NULL },
	{ "constant", builder_constant, METH_VARARGS, NULL },
	{ "call", builder_checked_call, METH_VARARGS, NULL },
	{ "update_input", builder_update_input, METH_VARARGS, NULL },
	{ "build", builder_build, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot builder_slots[] = {
	{ Py_tp_new, builder_new },
	{ Py_tp_dealloc, builder_dealloc },
	{ Py_tp_methods, builder_methods },
	{ 0, NULL },
};

static PyType_Spec builder_spec = {
	.name = "webnn_npu._native.Builder",
	.basicsize = sizeof(struct py_builder),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = builder_slots,
};

bool add_builder(PyObject *module)
{
	operand_type = add_type(module, &operand_spec, "Operand");
	builder_type = operand_type ? add_type(module, &builder_spec, "Builder") : NULL;
	return builder_type;
}
