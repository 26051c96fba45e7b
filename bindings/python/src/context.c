// SPDX-License-Identifier: MIT
/* Contexts. */
#include "native.h"

PyTypeObject *context_type;

static WNNInstance instance;

/*
 * Returns the instance that all contexts of the process share, and creates it at the first call.
 * NULL with an exception.
 */
WNNInstance the_instance(void)
{
	if (!instance) {
		instance = wnnCreateInstance(NULL);
		if (!instance)
			raise_last_error();
	}
	return instance;
}

struct context_wishes {
	PyObject *device, *node_path;
	unsigned int power, policy, threads, sim_threads;
	int accelerated, profile, folding;
	unsigned long long memory_limit, sim_sram;
};

static bool fill_options(struct context_wishes const *wishes, WNNContextOptions *options,
			 WNNContextDeviceOptions *device)
{
	options->powerPreference = (WNNPowerPreference)wishes->power;
	options->accelerated = !!wishes->accelerated;
	options->nextInChain = &device->chain;
	device->placementPolicy = (WNNPlacementPolicy)wishes->policy;
	device->threads = wishes->threads;
	device->memoryLimit = wishes->memory_limit;
	device->profile = !!wishes->profile;
	device->constantFolding = !!wishes->folding;
	device->simSramBytes = wishes->sim_sram;
	device->simThreads = wishes->sim_threads;
	return get_text(wishes->device, "device", &device->device) &&
	       get_text(wishes->node_path, "node_path", &device->nodePath);
}

static PyObject *context_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = { "device",	 "node_path",	     "power",
				 "accelerated",	 "policy",	     "threads",
				 "memory_limit", "profile",	     "sim_sram_bytes",
				 "sim_threads",	 "constant_folding", NULL };
	struct context_wishes wishes = { Py_None, Py_None, 0, 0, 0, 0, 1, 0, 1, 0, 0 };
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContext context = NULL;
	struct py_context *self;
	WNNStatus status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OOIpIIKpKIp", names, &wishes.device,
					 &wishes.node_path, &wishes.power, &wishes.accelerated,
					 &wishes.policy, &wishes.threads, &wishes.memory_limit,
					 &wishes.profile, &wishes.sim_sram, &wishes.sim_threads,
					 &wishes.folding) ||
	    !fill_options(&wishes, &options, &device) || !the_instance())
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context);
	Py_END_ALLOW_THREADS
	if (status != WNNStatus_Success)
		return raise_last_error();
	self = PyObject_New(struct py_context, type);
	if (!self) {
		wnnContextRelease(context);
		return NULL;
	}
	self->context = context;
	self->enqueued = self->through = 0;
	return (PyObject *)self;
}

static void context_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	wnnContextRelease(((struct py_context *)self)->context);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *context_accelerated(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(
		(long)wnnContextGetAccelerated(((struct py_context *)self)->context));
}

static PyObject *context_wait(PyObject *self, PyObject *unused)
{
	struct py_context *context = (struct py_context *)self;
	uint64_t enqueued = context->enqueued;
	WNNStatus status;

	(void)unused;
	Py_BEGIN_ALLOW_THREADS
	status = wnnContextWaitIdle(context->context, WNN_WAIT_FOREVER);
	Py_END_ALLOW_THREADS
	/* Work of a lost context may still be running, so that it does not count as finished. */
	if (status != WNNStatus_InvalidStateError && context->through < enqueued)
		context->through = enqueued;
	if (status != WNNStatus_Success)
		return raise_last_error();
	Py_RETURN_NONE;
}

static PyObject *context_destroy(PyObject *self, PyObject *unused)
{
	WNNContext context = ((struct py_context *)self)->context;

	(void)unused;
	Py_BEGIN_ALLOW_THREADS
	wnnContextDestroy(context);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

/* Returns the names and tensors of a dict, *count of them. NULL with an exception. */
static WNNNamedTensor *get_tensors(PyObject *dict, size_t *count)
{
	PyObject *key, *value;
	Py_ssize_t position = 0, size = PyDict_Check(dict) ? PyDict_Size(dict) : -1;
	WNNNamedTensor *tensors;

	if (size < 0) {
		PyErr_SetString(PyExc_TypeError, "tensors are given as a dict of names");
		return NULL;
	}
	tensors = PyMem_Calloc((size_t)size + 1, sizeof(*tensors));
	if (!tensors) {
		PyErr_NoMemory();
		return NULL;
	}
	for (*count = 0; *count < (size_t)size && PyDict_Next(dict, &position, &key, &value);
	     (*count)++) {
		if (!PyObject_TypeCheck(value, tensor_type)) {
			PyErr_Format(PyExc_TypeError, "%R is no tensor", value);
			break;
		}
		if (!get_text(key, "the name of a tensor", &tensors[*count].name))
			break;
		tensors[*count].tensor = ((struct py_tensor *)value)->tensor;
	}
	if (!PyErr_Occurred())
		return tensors;
	PyMem_Free(tensors);
	return NULL;
}

static void enter_tensors(PyObject *dict)
{
	PyObject *key, *value;
	Py_ssize_t position = 0;

	while (PyDict_Next(dict, &position, &key, &value))
		tensor_enter((struct py_tensor *)value);
}

static void leave_tensors(PyObject *dict, bool finished)
{
	PyObject *key, *value;
	Py_ssize_t position = 0;

	while (PyDict_Next(dict, &position, &key, &value))
		tensor_leave((struct py_tensor *)value, finished);
}

static WNNStatus dispatch_and_wait(struct py_context *self, WNNGraph graph, size_t input_count,
				   WNNNamedTensor const *inputs, size_t output_count,
				   WNNNamedTensor const *outputs, WNNDispatchStatistics *statistics)
{
	uint64_t enqueued = self->enqueued;
	WNNStatus status;

	Py_BEGIN_ALLOW_THREADS
	status = wnnContextDispatchMeasuredSync(self->context, graph, input_count, inputs,
						output_count, outputs, WNN_WAIT_FOREVER,
						statistics);
	Py_END_ALLOW_THREADS
	/* Work runs in the order of the calls, so that all earlier work has finished, too. */
	if (status == WNNStatus_Success && self->through < enqueued)
		self->through = enqueued;
	return status;
}

/*
 * dispatch(graph, inputs, outputs, measured): returns None or, when measured, statistics after the
 * end.
 */
static PyObject *context_dispatch(PyObject *self, PyObject *arguments)
{
	WNNDispatchStatistics statistics = WNN_DISPATCH_STATISTICS_INIT;
	WNNDispatchCopies copies = WNN_DISPATCH_COPIES_INIT;
	struct py_context *context = (struct py_context *)self;
	WNNNamedTensor *inputs = NULL, *outputs = NULL;
	PyObject *graph, *input_dict, *output_dict;
	size_t input_count = 0, output_count = 0;
	WNNStatus status = WNNStatus_Success;
	int measured = 0;
	bool ready;

	if (!PyArg_ParseTuple(arguments, "O!OO|p", graph_type, &graph, &input_dict, &output_dict,
			      &measured))
		return NULL;
	statistics.nextInChain = &copies.chain;
	inputs = get_tensors(input_dict, &input_count);
	outputs = inputs ? get_tensors(output_dict, &output_count) : NULL;
	ready = inputs && outputs;
	if (ready) {
		enter_tensors(input_dict);
		enter_tensors(output_dict);
	}
	/*
	 * The dicts keep names and tensors alive. Without waiting, the interpreter's lock is held,
	 * as the call only enqueues.
	 */
	if (ready && measured)
		status = dispatch_and_wait(context, ((struct py_graph *)graph)->graph, input_count,
					   inputs, output_count, outputs, &statistics);
	else if (ready)
		status = wnnContextDispatch(context->context, ((struct py_graph *)graph)->graph,
					    input_count, inputs, output_count, outputs);
	if (ready) {
		bool finished = measured && status == WNNStatus_Success;

		leave_tensors(input_dict, finished);
		leave_tensors(output_dict, finished);
	}
	PyMem_Free(inputs);
	PyMem_Free(outputs);
	if (!ready)
		return NULL;
	if (status != WNNStatus_Success)
		return raise_last_error();
	if (measured)
		return dispatch_object(&statistics, &copies);
	Py_RETURN_NONE;
}

static PyObject *context_load_graph(PyObject *self, PyObject *path)
{
	struct py_context *context = (struct py_context *)self;
	WNNGraph graph = NULL;
	WNNStringView text;
	WNNStatus status;

	if (!get_text(path, "path", &text))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = wnnContextLoadGraphSync(context->context, text, WNN_WAIT_FOREVER, &graph);
	Py_END_ALLOW_THREADS
	if (status != WNNStatus_Success)
		return raise_last_error();
	return graph_object(context, graph);
}

static PyMethodDef context_methods[] = {
	{ "wait", context_wait, METH_NOARGS, NULL },
	{ "destroy", context_destroy, METH_NOARGS, NULL },
	{ "dispatch", context_dispatch, METH_VARARGS, NULL },
	{ "load_graph", context_load_graph, METH_O, NULL },
	{ "device_info", context_device_info, METH_NOARGS, NULL },
	{ "cpu_info", context_cpu_info, METH_NOARGS, NULL },
	{ "limits", context_limits, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef context_members[] = {
	{ "accelerated", context_accelerated, NULL, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot context_slots[] = {
	{ Py_tp_new, context_new },
	{ Py_tp_dealloc, context_dealloc },
	{ Py_tp_methods, context_methods },
	{ Py_tp_getset, context_members },
	{ 0, NULL },
};

static PyType_Spec context_spec = {
	.name = "webnn_npu._native.Context",
	.basicsize = sizeof(struct py_context),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = context_slots,
};

bool add_context(PyObject *module)
{
	context_type = add_type(module, &context_spec, "Context");
	return context_type;
}
