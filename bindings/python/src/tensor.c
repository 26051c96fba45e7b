// SPDX-License-Identifier: MIT
/*
 * Tensors. A buffer of one is the tensor's own memory: it is mapped as long as there are buffers,
 * and the library refuses to use it meanwhile.
 */
#include "native.h"

PyTypeObject *tensor_type;

static PyObject *tensor_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = { "context", "data_type", "shape", "readable", "writable", NULL };
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	PyObject *context, *data_type, *shape;
	int readable = 0, writable = 0;
	struct py_tensor *self;
	WNNTensor tensor = NULL;
	WNNContext owner;
	WNNStatus status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!OO|pp", names, context_type,
					 &context, &data_type, &shape, &readable, &writable) ||
	    !get_type(data_type, &descriptor.dataType) || !get_shape(shape, &descriptor.shape))
		return NULL;
	descriptor.readable = (WNNBool)readable;
	descriptor.writable = (WNNBool)writable;
	owner = ((struct py_context *)context)->context;
	Py_BEGIN_ALLOW_THREADS status =
		wnnContextCreateTensorSync(owner, &descriptor, WNN_WAIT_FOREVER, &tensor);
	Py_END_ALLOW_THREADS PyMem_Free((void *)descriptor.shape.data);
	if (status != WNNStatus_Success)
		return raise_last_error();
	/* Classes of Python are made of this one. */
	self = (struct py_tensor *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (!self) {
		wnnTensorRelease(tensor);
		return NULL;
	}
	self->context = (struct py_context *)Py_NewRef((PyObject *)context);
	self->tensor = tensor;
	return (PyObject *)self;
}

static void tensor_dealloc(PyObject *object)
{
	struct py_tensor *self = (struct py_tensor *)object;
	PyTypeObject *type = Py_TYPE(object);

	wnnTensorRelease(self->tensor);
	PyMem_Free(self->shape);
	Py_DECREF(self->context);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

/* Copies an object with a contiguous buffer into the tensor. The library refuses one of another size. */
static PyObject *tensor_write(PyObject *object, PyObject *data)
{
	struct py_tensor *self = (struct py_tensor *)object;
	Py_buffer buffer;
	WNNStatus status;

	if (PyObject_GetBuffer(data, &buffer, PyBUF_C_CONTIGUOUS))
		return NULL;
	Py_BEGIN_ALLOW_THREADS status = wnnContextWriteTensor(self->context->context, self->tensor,
							      buffer.buf, (size_t)buffer.len);
	Py_END_ALLOW_THREADS PyBuffer_Release(&buffer);
	if (status != WNNStatus_Success)
		return raise_last_error();
	Py_RETURN_NONE;
}

static PyObject *tensor_read_into(PyObject *object, PyObject *data)
{
	struct py_tensor *self = (struct py_tensor *)object;
	Py_buffer buffer;
	WNNStatus status;

	if (PyObject_GetBuffer(data, &buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE))
		return NULL;
	Py_BEGIN_ALLOW_THREADS status =
		wnnContextReadTensorIntoSync(self->context->context, self->tensor, buffer.buf,
					     (size_t)buffer.len, WNN_WAIT_FOREVER);
	Py_END_ALLOW_THREADS PyBuffer_Release(&buffer);
	if (status != WNNStatus_Success)
		return raise_last_error();
	Py_RETURN_NONE;
}

static PyObject *tensor_destroy(PyObject *object, PyObject *unused)
{
	(void)unused;
	if (((struct py_tensor *)object)->exports) {
		PyErr_SetString(PyExc_BufferError,
				"the tensor's memory is in use by a buffer or "
				"an array: it can be destroyed when that is gone");
		return NULL;
	}
	wnnTensorDestroy(((struct py_tensor *)object)->tensor);
	Py_RETURN_NONE;
}

/* --- Buffers --------------------------------------------------------------------------------- */

/* Formats of the module struct; numbers of 4 bits share bytes. */
static char const *const formats[] = { "", "f", "e", "i", "I", "q", "Q", "b", "B", "B", "B" };

static bool make_layout(struct py_tensor *self, WNNUint32Array sizes, bool packed, Py_ssize_t item)
{
	size_t rank = packed ? 1 : sizes.count;
	Py_ssize_t stride = item;

	if (self->shape)
		return true;
	self->shape = PyMem_Calloc(2 * rank + 1, sizeof(*self->shape));
	if (!self->shape) {
		PyErr_NoMemory();
		return false;
	}
	self->strides = self->shape + rank;
	for (size_t i = rank; i-- > 0;) {
		self->shape[i] = packed ? (Py_ssize_t)wnnTensorGetByteLength(self->tensor) :
					  (Py_ssize_t)sizes.data[i];
		self->strides[i] = stride;
		stride *= self->shape[i];
	}
	return true;
}

static bool map(struct py_tensor *self)
{
	unsigned int mode = (wnnTensorGetReadable(self->tensor) ? WNNMapMode_Read : 0) |
			    (wnnTensorGetWritable(self->tensor) ? WNNMapMode_Write : 0);
	WNNStatus status;
	void *data;

	if (!(mode & WNNMapMode_Read)) {
		PyErr_SetString(PyExc_BufferError, "the tensor is not readable: only one that is "
						   "made with readable=True shows its memory");
		return false;
	}
	Py_BEGIN_ALLOW_THREADS status = wnnContextMapTensorSync(
		self->context->context, self->tensor, (WNNMapMode)mode, WNN_WAIT_FOREVER, &data);
	Py_END_ALLOW_THREADS if (status != WNNStatus_Success)
	{
		raise_last_error();
		return false;
	}
	self->mapped = data;
	return true;
}

static int tensor_get_buffer(PyObject *object, Py_buffer *view, int flags)
{
	struct py_tensor *self = (struct py_tensor *)object;
	WNNOperandDataType type = wnnTensorGetDataType(self->tensor);
	bool packed = type == WNNOperandDataType_Int4 || type == WNNOperandDataType_Uint4;
	bool readonly = !wnnTensorGetWritable(self->tensor);
	WNNUint32Array shape = wnnTensorGetShape(self->tensor);

	view->obj = NULL;
	if ((flags & PyBUF_WRITABLE) && readonly) {
		PyErr_SetString(PyExc_BufferError, "the tensor is not writable");
		return -1;
	}
	view->itemsize = (Py_ssize_t)wnnOperandDataTypeGetSize(type);
	if (!make_layout(self, shape, packed, view->itemsize))
		return -1;
	/* Other threads that ask at the same time find it mapped by the library, which says so. */
	if (!self->mapped && !map(self))
		return -1;
	view->buf = self->mapped;
	view->len = (Py_ssize_t)wnnTensorGetByteLength(self->tensor);
	view->readonly = readonly;
	view->ndim = packed ? 1 : (int)shape.count;
	view->format = (flags & PyBUF_FORMAT) ? (char *)formats[type] : NULL;
	view->shape = (flags & PyBUF_ND) ? self->shape : NULL;
	view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL;
	view->suboffsets = NULL;
	view->internal = NULL;
	view->obj = Py_NewRef(object);
	self->exports++;
	return 0;
}

static void tensor_release_buffer(PyObject *object, Py_buffer *view)
{
	struct py_tensor *self = (struct py_tensor *)object;

	(void)view;
	if (--self->exports)
		return;
	self->mapped = NULL;
	wnnTensorUnmap(self->tensor);
}

static PyObject *tensor_mapped(PyObject *object, void *unused)
{
	(void)unused;
	return PyBool_FromLong(((struct py_tensor *)object)->exports > 0);
}

static PyObject *tensor_byte_length(PyObject *object, void *unused)
{
	(void)unused;
	return PyLong_FromSize_t(wnnTensorGetByteLength(((struct py_tensor *)object)->tensor));
}

static PyMethodDef tensor_methods[] = {
	{ "write", tensor_write, METH_O, NULL },
	{ "read_into", tensor_read_into, METH_O, NULL },
	{ "destroy", tensor_destroy, METH_NOARGS, NULL },
	{ "dlpack", tensor_dlpack, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef tensor_members[] = {
	{ "mapped", tensor_mapped, NULL, NULL, NULL },
	{ "byte_length", tensor_byte_length, NULL, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot tensor_slots[] = {
	{ Py_tp_new, tensor_new },
	{ Py_tp_dealloc, tensor_dealloc },
	{ Py_tp_methods, tensor_methods },
	{ Py_tp_getset, tensor_members },
	{ Py_bf_getbuffer, tensor_get_buffer },
	{ Py_bf_releasebuffer, tensor_release_buffer },
	{ 0, NULL },
};

static PyType_Spec tensor_spec = {
	.name = "webnn_npu._native.Tensor",
	.basicsize = sizeof(struct py_tensor),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = tensor_slots,
};

bool add_tensor(PyObject *module)
{
	tensor_type = add_type(module, &tensor_spec, "Tensor");
	return tensor_type;
}
