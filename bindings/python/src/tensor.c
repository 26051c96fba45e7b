// SPDX-License-Identifier: MIT
/*
 * Tensors. A buffer of a tensor is the tensor's own memory, which stays mapped as long as there are
 * buffers; the library refuses to use it meanwhile. A tensor may lie in memory that the program
 * lends: it then holds a buffer of that memory until no enqueued work uses it.
 */
#include "native.h"

PyTypeObject *tensor_type;

/*
 * Begins a call that may use the tensor's memory without the interpreter's lock. Until it ends, the
 * tensor keeps that memory.
 */
void tensor_enter(struct py_tensor *self)
{
	self->calls++;
}

/*
 * Ends a call that tensor_enter() began. Unless its work has @finished, the call gets a number
 * after the work was enqueued, so that a wait for all numbers given so far includes that work.
 */
void tensor_leave(struct py_tensor *self, bool finished)
{
	self->calls--;
	if (self->lent.obj && !finished)
		self->used = ++self->context->enqueued;
}

/* Returns whether no call of another thread is using lent memory; raises an error otherwise. */
static bool is_unused(struct py_tensor *self)
{
	bool used = self->lent.obj && self->calls;

	if (used)
		raise_status(WNNStatus_InvalidStateError,
			     WNN_STR("another thread is using the tensor's memory: it can be moved "
				     "or destroyed when that call has returned"),
			     NULL, WNN_STR(""));
	return !used;
}

static WNNStatus map_tensor(struct py_tensor *self, unsigned int mode, void **data)
{
	WNNStatus status;

	tensor_enter(self);
	Py_BEGIN_ALLOW_THREADS
	status = wnnContextMapTensorSync(self->context->context, self->tensor, (WNNMapMode)mode,
					 WNN_WAIT_FOREVER, data);
	Py_END_ALLOW_THREADS
	tensor_leave(self, true);
	return status;
}

/*
 * Waits for the work that uses lent memory, by a mapping, which comes after all work;
 * MLContext.wait() reports failures of the work. False: the context is lost, and its last work may
 * still run, or another thread has mapped the tensor, so that is_unused() refuses.
 */
static bool wait_for_work(struct py_tensor *self)
{
	struct py_context *context = self->context;

	while (self->lent.obj && self->used > context->through) {
		uint64_t enqueued = context->enqueued;
		void *data;
		WNNStatus status = map_tensor(self, WNNMapMode_Read, &data);

		if (status == WNNStatus_Success)
			wnnTensorUnmap(self->tensor);
		if (status == WNNStatus_InvalidStateError)
			return false;
		if (context->through < enqueued)
			context->through = enqueued;
	}
	return true;
}

/*
 * Releases the program's buffer of lent memory. If the work has not ended, the buffer is never
 * released, as a device may still write to it.
 */
static void give_back(Py_buffer *lent, bool through)
{
	if (lent->obj && through)
		PyBuffer_Release(lent);
	lent->obj = NULL;
}

static bool borrow(PyObject *memory, bool writable, Py_buffer *lent, WNNTensorHostMemory *host)
{
	if (PyObject_GetBuffer(memory, lent, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)))
		return false;
	host->data = lent->buf;
	host->size = (size_t)lent->len;
	return true;
}

/*
 * lend(memory): waits for the tensor's work, then makes this memory the tensor's; returns None, or
 * NULL with an exception.
 */
static PyObject *tensor_lend(PyObject *object, PyObject *memory)
{
	WNNTensorHostMemory host = WNN_TENSOR_HOST_MEMORY_INIT;
	struct py_tensor *self = (struct py_tensor *)object;
	Py_buffer lent = { 0 };
	bool through;

	if (!borrow(memory, wnnTensorGetWritable(self->tensor), &lent, &host))
		return NULL;
	through = wait_for_work(self);
	/* From here on nothing can be enqueued, because the interpreter's lock is held. */
	if (!is_unused(self)) {
		PyBuffer_Release(&lent);
		return NULL;
	}
	if (wnnTensorSetHostMemory(self->tensor, &host) != WNNStatus_Success) {
		PyBuffer_Release(&lent);
		return raise_last_error();
	}
	give_back(&self->lent, through);
	self->lent = lent;
	Py_RETURN_NONE;
}

static PyObject *tensor_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = { "context",  "data_type", "shape", "readable",
				 "writable", "memory",	  NULL };
	WNNTensorHostMemory host = WNN_TENSOR_HOST_MEMORY_INIT;
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	PyObject *context, *data_type, *shape, *memory = Py_None;
	Py_buffer lent = { 0 };
	int readable = 0, writable = 0;
	struct py_tensor *self;
	WNNTensor tensor = NULL;
	WNNContext owner;
	WNNStatus status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!OO|ppO", names, context_type,
					 &context, &data_type, &shape, &readable, &writable,
					 &memory) ||
	    !get_type(data_type, &descriptor.dataType) || !get_shape(shape, &descriptor.shape))
		return NULL;
	if (memory != Py_None) {
		if (!borrow(memory, writable, &lent, &host)) {
			PyMem_Free((void *)descriptor.shape.data);
			return NULL;
		}
		descriptor.nextInChain = &host.chain;
	}
	descriptor.readable = (WNNBool)readable;
	descriptor.writable = (WNNBool)writable;
	owner = ((struct py_context *)context)->context;
	Py_BEGIN_ALLOW_THREADS
	status = wnnContextCreateTensorSync(owner, &descriptor, WNN_WAIT_FOREVER, &tensor);
	Py_END_ALLOW_THREADS
	PyMem_Free((void *)descriptor.shape.data);
	if (status != WNNStatus_Success) {
		PyBuffer_Release(&lent);
		return raise_last_error();
	}
	/* Python classes derive from this type, so that its allocator is called. */
	self = (struct py_tensor *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (!self) {
		wnnTensorRelease(tensor);
		PyBuffer_Release(&lent);
		return NULL;
	}
	self->lent = lent;
	self->context = (struct py_context *)Py_NewRef((PyObject *)context);
	self->tensor = tensor;
	return (PyObject *)self;
}

static void tensor_dealloc(PyObject *object)
{
	struct py_tensor *self = (struct py_tensor *)object;
	PyTypeObject *type = Py_TYPE(object);
	bool through = wait_for_work(self);

	wnnTensorRelease(self->tensor);
	give_back(&self->lent, through);
	PyMem_Free(self->shape);
	Py_DECREF(self->context);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

/*
 * Copies an object with a contiguous buffer into the tensor and returns None. Without such a
 * buffer, or when the library refuses its size, returns NULL with an exception.
 */
static PyObject *tensor_write(PyObject *object, PyObject *data)
{
	struct py_tensor *self = (struct py_tensor *)object;
	Py_buffer buffer;
	WNNStatus status;

	if (PyObject_GetBuffer(data, &buffer, PyBUF_C_CONTIGUOUS))
		return NULL;
	tensor_enter(self);
	Py_BEGIN_ALLOW_THREADS
	status = wnnContextWriteTensor(self->context->context, self->tensor, buffer.buf,
				       (size_t)buffer.len);
	Py_END_ALLOW_THREADS
	tensor_leave(self, false);
	PyBuffer_Release(&buffer);
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
	tensor_enter(self);
	Py_BEGIN_ALLOW_THREADS
	status = wnnContextReadTensorIntoSync(self->context->context, self->tensor, buffer.buf,
					      (size_t)buffer.len, WNN_WAIT_FOREVER);
	Py_END_ALLOW_THREADS
	tensor_leave(self, status == WNNStatus_Success);
	PyBuffer_Release(&buffer);
	if (status != WNNStatus_Success)
		return raise_last_error();
	Py_RETURN_NONE;
}

static PyObject *tensor_destroy(PyObject *object, PyObject *unused)
{
	struct py_tensor *self = (struct py_tensor *)object;
	bool through;

	(void)unused;
	through = wait_for_work(self);
	if (self->exports) {
		PyErr_SetString(PyExc_BufferError,
				"the tensor's memory is in use by a buffer or "
				"an array: it can be destroyed when that is gone");
		return NULL;
	}
	if (!is_unused(self))
		return NULL;
	wnnTensorDestroy(self->tensor);
	give_back(&self->lent, through);
	Py_RETURN_NONE;
}

/* --- Buffers --------------------------------------------------------------------------------- */

/* Formats of the module struct; two 4-bit elements share a byte. */
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
	void *data;

	if (!(mode & WNNMapMode_Read)) {
		PyErr_SetString(PyExc_BufferError, "the tensor is not readable: only one that is "
						   "made with readable=True shows its memory");
		return false;
	}
	if (map_tensor(self, mode, &data) != WNNStatus_Success) {
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
	/* When two threads map the tensor at once, the library refuses the second. */
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
	{ "lend", tensor_lend, METH_O, NULL },
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
