// SPDX-License-Identifier: MIT
/*
 * DLPack, version 1: tensors as capsules that other packages consume, and capsules of other
 * packages as buffers. The structures are written from its documentation.
 */
#include <string.h>

#include "native.h"

enum { DL_CPU = 1 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };
#define DL_FLAG_READ_ONLY UINT64_C(1)

struct dl_tensor {
	void *data;
	int32_t device_type, device_id;
	int32_t ndim;
	uint8_t code, bits;
	uint16_t lanes;
	int64_t *shape, *strides;
	uint64_t byte_offset;
};

struct dl_managed {
	struct dl_tensor tensor;
	void *owner;
	void (*deleter)(struct dl_managed *self);
};

struct dl_versioned {
	uint32_t major, minor;
	void *owner;
	void (*deleter)(struct dl_versioned *self);
	uint64_t flags;
	struct dl_tensor tensor;
};

/* --- Tensors for others ---------------------------------------------------------------------- */

struct exported {
	Py_buffer buffer;
	union {
		struct dl_managed managed;
		struct dl_versioned versioned;
	} dl;
	int64_t dims[];
};

static void free_exported(struct exported *exported)
{
	/* A thread that deletes the capsule may not hold the interpreter's lock. */
	PyGILState_STATE state = PyGILState_Ensure();

	PyBuffer_Release(&exported->buffer);
	PyMem_Free(exported);
	PyGILState_Release(state);
}

static void delete_managed(struct dl_managed *self)
{
	free_exported(self->owner);
}

static void delete_versioned(struct dl_versioned *self)
{
	free_exported(self->owner);
}

static void drop_capsule(PyObject *capsule)
{
	/* A consumer renames the capsule that it takes, and deletes the contents itself. */
	if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
		struct dl_versioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");

		managed->deleter(managed);
	} else if (PyCapsule_IsValid(capsule, "dltensor")) {
		struct dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");

		managed->deleter(managed);
	}
}

static void describe(struct exported *exported, struct dl_tensor *tensor, WNNOperandDataType type)
{
	/*
	 * Code and bits of each type of WebNN; 4-bit types are passed as bytes, each with two
	 * elements.
	 */
	static uint8_t const types[][2] = { { 0, 0 },	     { DL_FLOAT, 32 }, { DL_FLOAT, 16 },
					    { DL_INT, 32 },  { DL_UINT, 32 },  { DL_INT, 64 },
					    { DL_UINT, 64 }, { DL_INT, 8 },    { DL_UINT, 8 },
					    { DL_UINT, 8 },  { DL_UINT, 8 } };
	int rank = exported->buffer.ndim;

	tensor->data = exported->buffer.buf;
	tensor->device_type = DL_CPU;
	tensor->ndim = rank;
	tensor->code = types[type][0];
	tensor->bits = types[type][1];
	tensor->lanes = 1;
	tensor->shape = exported->dims;
	tensor->strides = exported->dims + rank;
	for (int i = 0; i < rank; i++) {
		tensor->shape[i] = exported->buffer.shape[i];
		tensor->strides[i] = exported->buffer.strides[i] / exported->buffer.itemsize;
	}
}

/* dlpack(versioned): returns a capsule that keeps the tensor mapped. */
PyObject *tensor_dlpack(PyObject *self, PyObject *arguments)
{
	WNNOperandDataType type = wnnTensorGetDataType(((struct py_tensor *)self)->tensor);
	size_t rank = wnnTensorGetShape(((struct py_tensor *)self)->tensor).count + 1;
	struct exported *exported;
	PyObject *capsule;
	int versioned;

	if (!PyArg_ParseTuple(arguments, "p", &versioned))
		return NULL;
	exported = PyMem_Calloc(1, sizeof(*exported) + 2 * rank * sizeof(int64_t));
	if (!exported)
		return PyErr_NoMemory();
	if (PyObject_GetBuffer(self, &exported->buffer, PyBUF_STRIDED_RO)) {
		PyMem_Free(exported);
		return NULL;
	}
	if (versioned) {
		struct dl_versioned *managed = &exported->dl.versioned;

		managed->major = 1;
		managed->owner = exported;
		managed->deleter = delete_versioned;
		managed->flags = exported->buffer.readonly ? DL_FLAG_READ_ONLY : 0;
		describe(exported, &managed->tensor, type);
		capsule = PyCapsule_New(managed, "dltensor_versioned", drop_capsule);
	} else {
		struct dl_managed *managed = &exported->dl.managed;

		managed->owner = exported;
		managed->deleter = delete_managed;
		describe(exported, &managed->tensor, type);
		capsule = PyCapsule_New(managed, "dltensor", drop_capsule);
	}
	if (!capsule)
		free_exported(exported);
	return capsule;
}

/* --- Tensors of others ----------------------------------------------------------------------- */

struct py_foreign {
	PyObject_HEAD
	struct dl_managed *managed;
	struct dl_versioned *versioned;
	struct dl_tensor *tensor;
	Py_ssize_t shape[64], strides[64];
	char format[2];
};

static PyTypeObject *foreign_type;

static void foreign_dealloc(PyObject *object)
{
	struct py_foreign *self = (struct py_foreign *)object;
	PyTypeObject *type = Py_TYPE(object);

	if (self->managed && self->managed->deleter)
		self->managed->deleter(self->managed);
	if (self->versioned && self->versioned->deleter)
		self->versioned->deleter(self->versioned);
	PyObject_Free(object);
	Py_DECREF(type);
}

/*
 * Sets the buffer format of an array; returns false for an element type that has none. bfloat16
 * gets the format of unsigned 16-bit integers; the member bfloat16 of the object tells that it is
 * not one of these.
 */
static bool find_format(struct py_foreign *self)
{
	static struct {
		uint8_t code, bits;
		char format;
	} const rows[] = {
		{ DL_FLOAT, 32, 'f' },	{ DL_FLOAT, 16, 'e' }, { DL_FLOAT, 64, 'd' },
		{ DL_INT, 32, 'i' },	{ DL_UINT, 32, 'I' },  { DL_INT, 64, 'q' },
		{ DL_UINT, 64, 'Q' },	{ DL_INT, 8, 'b' },    { DL_UINT, 8, 'B' },
		{ DL_INT, 16, 'h' },	{ DL_UINT, 16, 'H' },  { DL_BOOL, 8, '?' },
		{ DL_BFLOAT, 16, 'H' },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].code == self->tensor->code && rows[i].bits == self->tensor->bits &&
		    self->tensor->lanes == 1)
			self->format[0] = rows[i].format;
	return self->format[0];
}

static bool accept(struct py_foreign *self)
{
	struct dl_tensor *tensor = self->tensor;
	int64_t stride = 1;

	/* The device types 3 and 11 stand for pinned memory of the host, which the CPU can read. */
	if (tensor->device_type != DL_CPU && tensor->device_type != 3 && tensor->device_type != 11)
		PyErr_SetString(PyExc_BufferError, "the array is in the memory of another device: "
						   "copy it to the CPU first");
	else if (tensor->ndim < 0 || tensor->ndim > 64)
		PyErr_Format(PyExc_BufferError, "the array has %d dimensions: 0 to 64 are allowed",
			     (int)tensor->ndim);
	else if (!find_format(self))
		PyErr_Format(PyExc_BufferError,
			     "the array has elements of DLPack's type %d, %d bits and %d lanes, "
			     "which WebNN does not have",
			     tensor->code, tensor->bits, tensor->lanes);
	if (PyErr_Occurred())
		return false;
	for (int i = tensor->ndim; i-- > 0;) {
		int64_t step = tensor->strides ? tensor->strides[i] : stride;

		self->shape[i] = (Py_ssize_t)tensor->shape[i];
		self->strides[i] = (Py_ssize_t)step * (tensor->bits / 8);
		stride *= tensor->shape[i];
	}
	return true;
}

/*
 * foreign(capsule): takes over a DLPack capsule and returns the object that wraps it; NULL with an
 * exception if the capsule cannot be used.
 */
static PyObject *foreign_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	struct py_foreign *self;
	PyObject *capsule;
	bool versioned;

	(void)keywords;
	if (!PyArg_ParseTuple(arguments, "O", &capsule))
		return NULL;
	versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
	if (!versioned && !PyCapsule_IsValid(capsule, "dltensor")) {
		PyErr_SetString(PyExc_TypeError, "__dlpack__() gave no capsule of DLPack");
		return NULL;
	}
	self = PyObject_New(struct py_foreign, type);
	if (!self)
		return NULL;
	memset((char *)self + sizeof(PyObject), 0, sizeof(*self) - sizeof(PyObject));
	if (versioned) {
		self->versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
		self->tensor = &self->versioned->tensor;
		PyCapsule_SetName(capsule, "used_dltensor_versioned");
		if (self->versioned->major != 1)
			PyErr_Format(PyExc_BufferError,
				     "the array is of DLPack %u; version 1 is read here",
				     (unsigned int)self->versioned->major);
	} else {
		self->managed = PyCapsule_GetPointer(capsule, "dltensor");
		self->tensor = &self->managed->tensor;
		PyCapsule_SetName(capsule, "used_dltensor");
	}
	if (PyErr_Occurred() || !accept(self)) {
		Py_DECREF(self);
		return NULL;
	}
	return (PyObject *)self;
}

static int foreign_get_buffer(PyObject *object, Py_buffer *view, int flags)
{
	struct py_foreign *self = (struct py_foreign *)object;

	/* Before version 1 no flag tells whether an array is writable: it counts as read-only. */
	bool readonly = !self->versioned || (self->versioned->flags & DL_FLAG_READ_ONLY);

	view->obj = NULL;
	if ((flags & PyBUF_WRITABLE) && readonly) {
		PyErr_SetString(PyExc_BufferError, "the array may only be read");
		return -1;
	}
	if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
		PyErr_SetString(PyExc_BufferError, "the array comes with strides, which the "
						   "reader of the buffer does not take");
		return -1;
	}
	view->buf = (char *)self->tensor->data + self->tensor->byte_offset;
	view->itemsize = self->tensor->bits / 8;
	view->len = view->itemsize;
	for (int i = 0; i < self->tensor->ndim; i++)
		view->len *= self->shape[i];
	view->readonly = readonly;
	view->ndim = self->tensor->ndim;
	view->format = (flags & PyBUF_FORMAT) ? self->format : NULL;
	view->shape = self->shape;
	view->strides = self->strides;
	view->suboffsets = NULL;
	view->internal = NULL;
	view->obj = Py_NewRef(object);
	return 0;
}

static PyObject *foreign_bfloat16(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(((struct py_foreign *)self)->tensor->code == DL_BFLOAT);
}

static PyGetSetDef foreign_members[] = {
	{ "bfloat16", foreign_bfloat16, NULL, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot foreign_slots[] = {
	{ Py_tp_new, foreign_new },
	{ Py_tp_dealloc, foreign_dealloc },
	{ Py_tp_getset, foreign_members },
	{ Py_bf_getbuffer, foreign_get_buffer },
	{ 0, NULL },
};

static PyType_Spec foreign_spec = {
	.name = "webnn_npu._native.Foreign",
	.basicsize = sizeof(struct py_foreign),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = foreign_slots,
};

bool add_dlpack(PyObject *module)
{
	foreign_type = add_type(module, &foreign_spec, "Foreign");
	return foreign_type;
}
