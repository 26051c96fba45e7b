// SPDX-License-Identifier: MIT
/* Converts device information, placements, statistics and profiles to dicts and lists. */
#include "native.h"

static bool set_bool(PyObject *dict, char const *name, bool value)
{
	return set_item(dict, name, PyBool_FromLong(value));
}

static PyObject *device_object(WNNDeviceInfo const *info)
{
	PyObject *dict = PyDict_New();
	bool complete = dict && set_text(dict, "device", info->device) &&
			set_text(dict, "node_path", info->nodePath) &&
			set_text(dict, "machine", info->machine) &&
			set_text(dict, "reason", info->reason) &&
			set_bool(dict, "usable", info->usable) &&
			set_bool(dict, "accelerated", info->accelerated) &&
			set_number(dict, "sram_bytes", info->sramBytes) &&
			set_number(dict, "peak_macs_per_cycle", info->peakMacsPerCycle) &&
			set_number(dict, "clock_hz", info->clockHz) &&
			set_number(dict, "memory_limit", info->memoryLimit) &&
			set_number(dict, "memory_used", info->memoryUsed);

	return if_complete(dict, complete);
}

PyObject *context_device_info(PyObject *self, PyObject *unused)
{
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;

	(void)unused;
	if (wnnContextGetDeviceInfo(((struct py_context *)self)->context, &info) !=
	    WNNStatus_Success)
		return raise_last_error();
	return device_object(&info);
}

PyObject *list_devices(PyObject *self, PyObject *unused)
{
	WNNDeviceInfoArray devices = WNN_DEVICE_INFO_ARRAY_INIT;
	WNNInstance instance = the_instance();
	WNNStatus status;
	PyObject *list;

	(void)self;
	(void)unused;
	if (!instance)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = wnnInstanceGetDevices(instance, &devices);
	Py_END_ALLOW_THREADS
	if (status != WNNStatus_Success)
		return raise_last_error();
	list = PyList_New(0);
	for (size_t i = 0; list && i < devices.count; i++)
		if (!append_item(list, device_object(&devices.data[i])))
			Py_CLEAR(list);
	wnnDeviceInfoArrayFreeMembers(devices);
	return list;
}

PyObject *context_cpu_info(PyObject *self, PyObject *unused)
{
	WNNContext context = ((struct py_context *)self)->context;
	WNNCpuInfo info = WNN_CPU_INFO_INIT;
	PyObject *dict;
	WNNStatus status;
	bool complete;

	(void)unused;
	Py_BEGIN_ALLOW_THREADS
	status = wnnContextGetCpuInfo(context, &info);
	Py_END_ALLOW_THREADS
	if (status != WNNStatus_Success)
		return raise_last_error();
	dict = PyDict_New();
	complete = dict && set_text(dict, "level", info.level) &&
		   set_text(dict, "layer", info.layer) &&
		   set_text(dict, "onednn_version", info.oneDnnVersion) &&
		   set_text(dict, "onednn_problem", info.oneDnnProblem) &&
		   set_text(dict, "openblas_version", info.openBlasVersion) &&
		   set_text(dict, "openblas_problem", info.openBlasProblem) &&
		   set_number(dict, "threads", info.threads);
	return if_complete(dict, complete);
}

/*
 * Returns (layout, bytes, ((types, least rank, greatest rank) …)), in the order of
 * WNNOpSupportLimits.
 */
PyObject *context_limits(PyObject *self, PyObject *unused)
{
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
	/* From the member input on, the struct consists only of WNNTensorLimits. */
	WNNTensorLimits const *items = &limits.input;
	size_t count = (sizeof(limits) - offsetof(WNNOpSupportLimits, input)) / sizeof(*items);
	PyObject *list, *result;

	(void)unused;
	if (wnnContextGetOpSupportLimits(((struct py_context *)self)->context, &limits) !=
	    WNNStatus_Success)
		return raise_last_error();
	list = PyList_New(0);
	for (size_t i = 0; list && i < count; i++) {
		PyObject *item = Py_BuildValue("(III)", (unsigned int)items[i].dataTypes,
					       (unsigned int)items[i].rankRange.min,
					       (unsigned int)items[i].rankRange.max);

		if (!append_item(list, item))
			Py_CLEAR(list);
	}
	if (!list)
		return NULL;
	result = Py_BuildValue("(iKO)", (int)limits.preferredInputLayout,
			       (unsigned long long)limits.maxTensorByteLength, list);
	Py_DECREF(list);
	return result;
}

static char const *device_name(WNNNodeDevice device)
{
	static char const *const names[] = { "", "npu", "cpu", "folded" };

	return names[device & 3];
}

PyObject *graph_placement(PyObject *self, PyObject *unused)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	PyObject *list;

	(void)unused;
	if (wnnGraphGetPlacement(((struct py_graph *)self)->graph, &placement) != WNNStatus_Success)
		return raise_last_error();
	list = PyList_New(0);
	for (size_t i = 0; list && i < placement.nodeCount; i++) {
		WNNNodePlacement const *node = &placement.nodes[i];
		PyObject *dict = PyDict_New();
		bool complete = dict && set_text(dict, "operator", node->operatorName) &&
				set_text(dict, "label", node->label) &&
				set_text(dict, "device", WNN_STR(device_name(node->device))) &&
				set_text(dict, "kernel", node->kernel) &&
				set_text(dict, "reason", node->reasonText) &&
				set_number(dict, "cycles", node->estimatedCycles) &&
				set_number(dict, "bytes_copied", node->bytesCopied);

		if (!append_item(list, if_complete(dict, complete)))
			Py_CLEAR(list);
	}
	return list;
}

PyObject *graph_statistics(PyObject *self, PyObject *unused)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	PyObject *dict;
	bool complete;

	(void)unused;
	if (wnnGraphGetLastStatistics(((struct py_graph *)self)->graph, &statistics) !=
	    WNNStatus_Success)
		return raise_last_error();
	dict = PyDict_New();
	complete = dict && set_number(dict, "runs", statistics.dispatchCount) &&
		   set_number(dict, "npu_cycles", statistics.npuCycles) &&
		   set_number(dict, "macs", statistics.macs) &&
		   set_number(dict, "peak_macs", statistics.peakMacs) &&
		   set_number(dict, "bytes_read", statistics.bytesRead) &&
		   set_number(dict, "bytes_written", statistics.bytesWritten) &&
		   set_number(dict, "bytes_copied", statistics.bytesCopied) &&
		   set_number(dict, "npu_nanoseconds", statistics.npuNanoseconds) &&
		   set_number(dict, "cpu_nanoseconds", statistics.cpuNanoseconds) &&
		   set_number(dict, "nanoseconds", statistics.hostNanoseconds);
	return if_complete(dict, complete);
}

PyObject *dispatch_object(WNNDispatchStatistics const *statistics, WNNDispatchCopies const *copies)
{
	PyObject *dict = PyDict_New();
	bool complete = dict && set_number(dict, "run", statistics->number) &&
			set_number(dict, "npu_nodes", statistics->npuNodes) &&
			set_number(dict, "cpu_nodes", statistics->cpuNodes) &&
			set_number(dict, "npu_cycles", statistics->npuCycles) &&
			set_number(dict, "control_cycles", statistics->controlCycles) &&
			set_number(dict, "load_cycles", statistics->loadCycles) &&
			set_number(dict, "store_cycles", statistics->storeCycles) &&
			set_number(dict, "matrix_cycles", statistics->matrixCycles) &&
			set_number(dict, "vector_cycles", statistics->vectorCycles) &&
			set_number(dict, "macs", statistics->macs) &&
			set_number(dict, "bytes_read", statistics->bytesRead) &&
			set_number(dict, "bytes_written", statistics->bytesWritten) &&
			set_number(dict, "bytes_copied_in", copies->bytesIn) &&
			set_number(dict, "bytes_copied_out", copies->bytesOut) &&
			set_number(dict, "queued_nanoseconds", statistics->queuedNanoseconds) &&
			set_number(dict, "npu_nanoseconds", statistics->npuNanoseconds) &&
			set_number(dict, "cpu_nanoseconds", statistics->cpuNanoseconds) &&
			set_number(dict, "nanoseconds", statistics->hostNanoseconds);

	return if_complete(dict, complete);
}

static bool set_node(PyObject *dict, WNNProfileNode const *node)
{
	return set_text(dict, "operator", node->operatorName) &&
	       set_text(dict, "label", node->label) && set_text(dict, "kernel", node->kernel) &&
	       set_text(dict, "device", WNN_STR(device_name(node->device))) &&
	       set_number(dict, "cycles", node->cycles) &&
	       set_number(dict, "matrix_cycles", node->matrixCycles) &&
	       set_number(dict, "vector_cycles", node->vectorCycles) &&
	       set_number(dict, "load_cycles", node->loadCycles) &&
	       set_number(dict, "store_cycles", node->storeCycles) &&
	       set_number(dict, "macs", node->macs) &&
	       set_number(dict, "cpu_nanoseconds", node->cpuNanoseconds);
}

PyObject *graph_profile(PyObject *self, PyObject *unused)
{
	WNNGraphProfile profile = WNN_GRAPH_PROFILE_INIT;
	PyObject *list, *result = NULL;

	(void)unused;
	if (wnnGraphGetProfile(((struct py_graph *)self)->graph, &profile) != WNNStatus_Success)
		return raise_last_error();
	list = PyList_New(0);
	for (size_t i = 0; list && i < profile.nodeCount; i++) {
		PyObject *dict = PyDict_New();
		bool complete = dict && set_node(dict, &profile.nodes[i]);

		if (!append_item(list, if_complete(dict, complete)))
			Py_CLEAR(list);
	}
	if (list)
		result = Py_BuildValue("{s:K,s:K,s:O}", "cycles",
				       (unsigned long long)profile.cycles, "nanoseconds",
				       (unsigned long long)profile.hostNanoseconds, "nodes", list);
	Py_XDECREF(list);
	wnnGraphProfileFreeMembers(profile);
	return result;
}
