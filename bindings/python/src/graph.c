// SPDX-License-Identifier: MIT
/* Graphs, and runs of graphs that read and write buffers. */
#include "native.h"

PyTypeObject *graph_type;

/* Returns an object for a graph, which is taken over. */
PyObject *graph_object(struct py_context *context, WNNGraph graph)
{
	struct py_graph *self = PyObject_New(struct py_graph, graph_type);

	if (!self) {
		wnnGraphRelease(graph);
		return NULL;
	}
	self->context = (struct py_context *)Py_NewRef((PyObject *)context);
	self->graph = graph;
	self->sets = NULL;
	return (PyObject *)self;
}

static void free_set(struct tensor_set *set, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wnnTensorRelease(set->tensors[i]);
	PyMem_Free(set);
}

static size_t tensor_count(struct py_graph *self)
{
	return wnnGraphGetInputs(self->graph).count + wnnGraphGetOutputs(self->graph).count;
}

static void graph_dealloc(PyObject *object)
{
	struct py_graph *self = (struct py_graph *)object;
	PyTypeObject *type = Py_TYPE(object);

	while (self->sets) {
		struct tensor_set *set = self->sets;

		self->sets = set->next;
		free_set(set, tensor_count(self));
	}
	wnnGraphRelease(self->graph);
	Py_DECREF(self->context);
	PyObject_Free(object);
	Py_DECREF(type);
}

static PyObject *value_infos(WNNNamedOperandDescriptorArray values)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < values.count; i++) {
		PyObject *name = text_object(values.data[i].name);
		PyObject *shape = shape_object(values.data[i].shape);
		PyObject *item =
			name && shape ?
				Py_BuildValue("(OiO)", name, (int)values.data[i].dataType, shape) :
				NULL;

		if (!append_item(list, item))
			Py_CLEAR(list);
		Py_XDECREF(shape);
		Py_XDECREF(name);
	}
	return list;
}

static PyObject *graph_inputs(PyObject *self, void *unused)
{
	(void)unused;
	return value_infos(wnnGraphGetInputs(((struct py_graph *)self)->graph));
}

static PyObject *graph_outputs(PyObject *self, void *unused)
{
	(void)unused;
	return value_infos(wnnGraphGetOutputs(((struct py_graph *)self)->graph));
}

/* --- Runs ------------------------------------------------------------------------------------ */

static WNNStatus make_tensors(struct py_graph *self, WNNNamedOperandDescriptorArray values,
			      bool readable, WNNTensor *tensors)
{
	for (size_t i = 0; i < values.count; i++) {
		WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
		WNNStatus status;

		descriptor.dataType = values.data[i].dataType;
		descriptor.shape = values.data[i].shape;
		descriptor.readable = readable;
		descriptor.writable = !readable;
		status = wnnContextCreateTensorSync(self->context->context, &descriptor,
						    WNN_WAIT_FOREVER, &tensors[i]);
		if (status != WNNStatus_Success)
			return status;
	}
	return WNNStatus_Success;
}

/* Returns a set of tensors that no other run uses; NULL with an exception. */
static struct tensor_set *take_set(struct py_graph *self)
{
	WNNNamedOperandDescriptorArray inputs = wnnGraphGetInputs(self->graph);
	WNNNamedOperandDescriptorArray outputs = wnnGraphGetOutputs(self->graph);
	size_t count = inputs.count + outputs.count;
	struct tensor_set *set = self->sets;
	WNNStatus status;

	if (set) {
		self->sets = set->next;
		return set;
	}
	set = PyMem_Calloc(1, sizeof(*set) + count * sizeof(WNNTensor));
	if (!set) {
		PyErr_NoMemory();
		return NULL;
	}
	status = make_tensors(self, inputs, false, set->tensors);
	if (status == WNNStatus_Success)
		status = make_tensors(self, outputs, true, set->tensors + inputs.count);
	if (status == WNNStatus_Success)
		return set;
	raise_last_error();
	free_set(set, count);
	return NULL;
}

static void release_buffers(Py_buffer *buffers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		PyBuffer_Release(&buffers[i]);
	PyMem_Free(buffers);
}

/* Returns the buffers of both tuples, which are in the graph's order; NULL with an exception. */
static Py_buffer *get_buffers(PyObject *inputs, size_t input_count, PyObject *outputs,
			      size_t output_count)
{
	Py_buffer *buffers = PyMem_Calloc(input_count + output_count + 1, sizeof(*buffers));

	if (!buffers) {
		PyErr_NoMemory();
		return NULL;
	}
	for (size_t i = 0; i < input_count + output_count; i++) {
		bool is_input = i < input_count;
		PyObject *object = is_input ?
					   PyTuple_GetItem(inputs, (Py_ssize_t)i) :
					   PyTuple_GetItem(outputs, (Py_ssize_t)(i - input_count));

		if (PyObject_GetBuffer(object, &buffers[i],
				       PyBUF_C_CONTIGUOUS | (is_input ? 0 : PyBUF_WRITABLE))) {
			release_buffers(buffers, i);
			return NULL;
		}
	}
	return buffers;
}

static void fill_names(WNNNamedTensor *named, WNNNamedOperandDescriptorArray values,
		       WNNTensor const *tensors)
{
	for (size_t i = 0; i < values.count; i++) {
		named[i].name = values.data[i].name;
		named[i].tensor = tensors[i];
	}
}

/*
 * Writes the inputs, dispatches and reads the outputs, without the interpreter's lock. The dispatch
 * returns its own failure, not that of another thread.
 */
static WNNStatus run(struct py_graph *self, struct tensor_set *set, Py_buffer const *buffers,
		     WNNNamedTensor *named)
{
	WNNNamedOperandDescriptorArray inputs = wnnGraphGetInputs(self->graph);
	WNNNamedOperandDescriptorArray outputs = wnnGraphGetOutputs(self->graph);
	WNNContext context = self->context->context;
	WNNStatus status = WNNStatus_Success;

	fill_names(named, inputs, set->tensors);
	fill_names(named + inputs.count, outputs, set->tensors + inputs.count);
	for (size_t i = 0; status == WNNStatus_Success && i < inputs.count; i++)
		status = wnnContextWriteTensor(context, set->tensors[i], buffers[i].buf,
					       (size_t)buffers[i].len);
	if (status == WNNStatus_Success)
		status = wnnContextDispatchMeasuredSync(context, self->graph, inputs.count, named,
							outputs.count, named + inputs.count,
							WNN_WAIT_FOREVER, NULL);
	for (size_t i = inputs.count;
	     status == WNNStatus_Success && i < inputs.count + outputs.count; i++)
		status = wnnContextReadTensorIntoSync(context, set->tensors[i], buffers[i].buf,
						      (size_t)buffers[i].len, WNN_WAIT_FOREVER);
	return status;
}

static PyObject *graph_run(PyObject *object, PyObject *arguments)
{
	struct py_graph *self = (struct py_graph *)object;
	size_t input_count = wnnGraphGetInputs(self->graph).count;
	size_t output_count = wnnGraphGetOutputs(self->graph).count;
	PyObject *inputs, *outputs;
	struct tensor_set *set;
	WNNNamedTensor *named;
	Py_buffer *buffers;
	WNNStatus status;

	if (!PyArg_ParseTuple(arguments, "O!O!", &PyTuple_Type, &inputs, &PyTuple_Type, &outputs))
		return NULL;
	if ((size_t)PyTuple_Size(inputs) != input_count ||
	    (size_t)PyTuple_Size(outputs) != output_count) {
		PyErr_SetString(PyExc_ValueError, "a run takes a buffer for each input and output");
		return NULL;
	}
	buffers = get_buffers(inputs, input_count, outputs, output_count);
	if (!buffers)
		return NULL;
	named = PyMem_Calloc(input_count + output_count + 1, sizeof(*named));
	set = named ? take_set(self) : (struct tensor_set *)PyErr_NoMemory();
	if (!set) {
		PyMem_Free(named);
		release_buffers(buffers, input_count + output_count);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS
	status = run(self, set, buffers, named);
	Py_END_ALLOW_THREADS
	if (status != WNNStatus_Success)
		raise_last_error();
	set->next = self->sets;
	self->sets = set;
	PyMem_Free(named);
	release_buffers(buffers, input_count + output_count);
	if (status != WNNStatus_Success)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *graph_save(PyObject *object, PyObject *path)
{
	WNNGraph graph = ((struct py_graph *)object)->graph;
	WNNStringView text;
	WNNStatus status;

	if (!get_text(path, "path", &text))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = wnnGraphSave(graph, text);
	Py_END_ALLOW_THREADS
	if (status != WNNStatus_Success)
		return raise_last_error();
	Py_RETURN_NONE;
}

static PyObject *graph_destroy(PyObject *self, PyObject *unused)
{
	(void)unused;
	wnnGraphDestroy(((struct py_graph *)self)->graph);
	Py_RETURN_NONE;
}

static PyMethodDef graph_methods[] = {
	{ "run", graph_run, METH_VARARGS, NULL },
	{ "save", graph_save, METH_O, NULL },
	{ "destroy", graph_destroy, METH_NOARGS, NULL },
	{ "placement", graph_placement, METH_NOARGS, NULL },
	{ "statistics", graph_statistics, METH_NOARGS, NULL },
	{ "profile", graph_profile, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef graph_members[] = {
	{ "inputs", graph_inputs, NULL, NULL, NULL },
	{ "outputs", graph_outputs, NULL, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot graph_slots[] = {
	{ Py_tp_dealloc, graph_dealloc },
	{ Py_tp_methods, graph_methods },
	{ Py_tp_getset, graph_members },
	{ 0, NULL },
};

static PyType_Spec graph_spec = {
	.name = "webnn_npu._native.Graph",
	.basicsize = sizeof(struct py_graph),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = graph_slots,
};

bool add_graph(PyObject *module)
{
	graph_type = add_type(module, &graph_spec, "Graph");
	return graph_type;
}
