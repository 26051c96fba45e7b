/* SPDX-License-Identifier: MIT */
/*
 * The module webnn_npu._native: objects of the library as Python objects, for the package's own
 * modules, which check and convert values of programs. It uses the stable ABI of CPython 3.11.
 *
 * Calls that may take long release the interpreter's lock. The library's own callbacks never take
 * it.
 */
#ifndef WEBNN_NPU_PYTHON_NATIVE_H
#define WEBNN_NPU_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <webnn/webnn_npu.h>

struct py_context {
	PyObject_HEAD
	WNNContext context;
	/*
	 * enqueued: number of calls that enqueued work on lent memory; through: how many of them
	 * are known to have finished
	 */
	uint64_t enqueued, through;
};

struct py_tensor {
	PyObject_HEAD
	struct py_context *context;
	WNNTensor tensor;
	/* mapped: memory that the tensor's buffers show; exports: number of these buffers */
	void *mapped;
	Py_ssize_t exports;
	/*
	 * lent: the program's memory that the tensor lies in, or empty; used: number of the last
	 * call that enqueued work on it; calls: number of calls that are using it now
	 */
	Py_buffer lent;
	uint64_t used;
	size_t calls;
	/* Arrays that each Py_buffer of the tensor points to. */
	Py_ssize_t *shape, *strides;
};

struct py_builder {
	PyObject_HEAD
	struct py_context *context;
	WNNGraphBuilder builder;
	/* Whether another thread is building. */
	bool busy;
};

struct py_operand {
	PyObject_HEAD
	struct py_builder *builder;
	WNNOperand operand;
};

/* Tensors for one run of a graph: inputs first, then outputs. */
struct tensor_set {
	struct tensor_set *next;
	WNNTensor tensors[];
};

struct py_graph {
	PyObject_HEAD
	struct py_context *context;
	WNNGraph graph;
	/* Sets that no run is using. */
	struct tensor_set *sets;
};

extern PyTypeObject *context_type, *tensor_type, *builder_type, *operand_type, *graph_type;

/* error.c */
PyObject *raise_status(WNNStatus status, WNNStringView message, char const *operator_name,
		       WNNStringView label);
PyObject *raise_last_error(void);
PyObject *raise_operator_error(char const *operator_name, WNNStringView label);

/* value.c */
Py_ssize_t text_length(WNNStringView text);
PyObject *text_object(WNNStringView text);
bool get_text(PyObject *object, char const *name, WNNStringView *text);
bool set_item(PyObject *dict, char const *name, PyObject *value);
bool set_text(PyObject *dict, char const *name, WNNStringView text);
bool set_number(PyObject *dict, char const *name, uint64_t number);
PyObject *if_complete(PyObject *dict, bool complete);
bool append_item(PyObject *list, PyObject *value);
PyObject *shape_object(WNNUint32Array shape);
bool get_shape(PyObject *object, WNNUint32Array *shape);
bool get_type(PyObject *object, WNNOperandDataType *type);
PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, char const *name);

/* context.c, tensor.c, builder.c, operators.c, graph.c, report.c, dlpack.c, onnx.c */
bool add_context(PyObject *module);
bool add_tensor(PyObject *module);
bool add_builder(PyObject *module);
bool add_graph(PyObject *module);
bool add_dlpack(PyObject *module);
bool add_onnx(PyObject *module);

PyObject *graph_object(struct py_context *context, WNNGraph graph);
PyObject *operand_object(struct py_builder *builder, WNNOperand operand);
PyObject *builder_call(PyObject *self, PyObject *arguments);
PyObject *tensor_dlpack(PyObject *self, PyObject *arguments);
void tensor_enter(struct py_tensor *self);
void tensor_leave(struct py_tensor *self, bool finished);
PyObject *dispatch_object(WNNDispatchStatistics const *statistics, WNNDispatchCopies const *copies);
PyObject *graph_placement(PyObject *self, PyObject *unused);
PyObject *graph_statistics(PyObject *self, PyObject *unused);
PyObject *graph_profile(PyObject *self, PyObject *unused);
PyObject *context_device_info(PyObject *self, PyObject *unused);
PyObject *context_cpu_info(PyObject *self, PyObject *unused);
PyObject *context_limits(PyObject *self, PyObject *unused);
PyObject *list_devices(PyObject *self, PyObject *unused);
WNNInstance the_instance(void);

#endif /* WEBNN_NPU_PYTHON_NATIVE_H */
