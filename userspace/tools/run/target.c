// SPDX-License-Identifier: MIT
/* webnn-run: opens a device, builds the graph on it, dispatches it, and reads the results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device_name.h"
#include "kept.h"
#include "saved.h"

/*
 * Prints why the device could not be opened. The library's message begins with who asked for the
 * device, which is left out; a hint on other devices is added. Returns an exit code.
 */
static int no_device(const char *device)
{
	static const char asked[] = "asks for the device npu, but ";
	WNNError error = WNN_ERROR_INIT;
	char text[1000];
	const char *why;

	wnnGetLastError(&error);
	snprintf(text, sizeof(text), "%.*s", (int)error.message.length, error.message.data);
	why = strstr(text, asked);
	if (!why)
		return complain_wnn(BAD_DEVICE, false, "device %s", device ? device : "(default)");
	return complain(BAD_DEVICE,
			"device npu: %s; without an NPU, give --device sim (a model of the NPU) or "
			"--device cpu",
			why + sizeof(asked) - 1);
}

/*
 * Asks the context for its device, and replaces the device's name by one that tells which NPU it
 * is. Returns DONE, or an exit code after a message.
 */
static int name_device(struct target *target, const char *asked)
{
	char name[64];

	wnnContextGetDeviceInfo(target->context, &target->device);
	device_name_of(&target->device, asked, name, sizeof(name));
	target->device_name = strdup(name);
	if (!target->device_name)
		return complain(
			BAD_DEVICE,
			"too little memory is free for the name of the device %s: end other "
			"programs, or raise the limit (ulimit -v)",
			name);
	target->device.device =
		WNN_VALUE(WNNStringView, { target->device_name, strlen(target->device_name) });
	return DONE;
}

void target_print_runs(const struct target *target, size_t on_cpu)
{
	printf("it runs on %.*s", (int)target->device.device.length, target->device.device.data);
	if (on_cpu && !same_text(target->device.device, "cpu"))
		printf(", and %zu operator%s on the CPU: webnn-run explain says why", on_cpu,
		       on_cpu == 1 ? "" : "s");
	putchar('\n');
}

int target_open(struct target *target, const struct options *options, const char *device)
{
	WNNContextDeviceOptions chained = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions wanted = WNN_CONTEXT_OPTIONS_INIT;

	*target = (struct target){ .device = WNN_DEVICE_INFO_INIT };
	target->instance = wnnCreateInstance(NULL);
	if (!target->instance)
		return complain_wnn(BAD_DEVICE, false, "no instance of WebNN");
	if (device)
		chained.device = WNN_STR(device);
	if (options->node)
		chained.nodePath = WNN_STR(options->node);
	if (options->npu_only)
		chained.placementPolicy = WNNPlacementPolicy_NPUOnly;
	chained.simMode = options->full ? WNNSimMode_Full : WNNSimMode_Flat;
	if (options->firmware)
		chained.simFirmwarePath = WNN_STR(options->firmware);
	chained.profile = options->profile;
	chained.simSramBytes = options->sram_bytes;
	chained.threads = options->threads;
	chained.simThreads = options->threads;
	wanted.nextInChain = &chained.chain;
	if (wnnInstanceCreateContextSync(target->instance, &wanted, WNN_WAIT_FOREVER,
					 &target->context) != WNNStatus_Success)
		return no_device(device);
	return name_device(target, device ? device : getenv("WEBNN_DEVICE"));
}

int target_open_for(struct target *target, struct subject *subject, const char *device)
{
	struct options options = *subject->options;
	struct target *first = subject->first;

	if (first && first->graph && device == options.device) {
		*target = *first;
		*first = (struct target){ 0 };
		return DONE;
	}
	options.profile |= subject->profile;
	return target_open(target, &options, device);
}

/* ---- build */

/*
 * Returns the value that the user gave for an input, unless the input is a constant already; else
 * NULL.
 */
static struct value *find_given(struct subject *subject, WNNStringView name)
{
	WNNOnnxValueInfoArray inputs = subject_inputs(subject);

	for (size_t i = 0; name.length && i < subject->value_count; i++)
		if (same_text(name, subject->values[i].name) && subject->values[i].given &&
		    !inputs.data[i].fixed)
			return &subject->values[i];
	return NULL;
}

static int view_size(WNNStringView view)
{
	return (int)view.length;
}

static void print_view(const char *before, WNNStringView view, const char *after)
{
	fprintf(stderr, "%s%.*s%s", before, (int)view.length, view.data ? view.data : "", after);
}

static void print_refusals(const struct subject *subject, WNNOnnxRefusalArray refusals)
{
	for (size_t i = 0; i < refusals.count; i++) {
		const WNNOnnxRefusal *refusal = &refusals.data[i];

		fprintf(stderr, "webnn-run: %s: ", subject->options->model);
		print_view("node \"", refusal->node, "\" (");
		print_view("", refusal->operatorName, "): ");
		if (refusal->attribute.length)
			print_view("", refusal->attribute, ": ");
		print_view("", refusal->reason, "");
		if (refusal->input.length)
			print_view("; give the value with --input or --fill ", refusal->input,
				   "=...");
		fputc('\n', stderr);
	}
}

/* Prints what the build did that the user may not expect. */
static void print_notices(const struct subject *subject)
{
	WNNOnnxRefusalArray notices = wnnOnnxModelGetNotices(subject->model);
	size_t frozen = 0;

	for (size_t i = 0; i < notices.count; i++) {
		const WNNOnnxRefusal *notice = &notices.data[i];

		frozen += notice->input.length != 0;
		if (!notice->input.length)
			complain(DONE, "%s: %.*s", subject->options->model,
				 view_size(notice->reason), notice->reason.data);
	}
	if (!frozen)
		return;
	fprintf(stderr,
		"webnn-run: %s: %zu %s computed once because of that:", subject->options->model,
		frozen, frozen == 1 ? "node is" : "nodes are");
	for (size_t i = 0, shown = 0; i < notices.count && shown < 8; i++)
		if (notices.data[i].input.length) {
			print_view(shown ? ", " : " ", notices.data[i].node, "");
			print_view(" (", notices.data[i].operatorName, ")");
			shown++;
		}
	fprintf(stderr, frozen > 8 ? " ...\n" : "\n");
}

/*
 * Builds the graph to target->graph and returns the status. Success without a graph means that no
 * output has elements.
 */
static WNNStatus build(struct target *target, struct subject *subject)
{
	WNNStatus status = kept_build(target, subject);

	target->seed = subject->options->draw_seed;
	target->model = wnnOnnxModelGetRandomInputs(subject->model).count ||
					wnnOnnxModelGetComputedInputs(subject->model).count ?
				subject->model :
				NULL;
	if (status == WNNStatus_NotSupportedError &&
	    !wnnOnnxModelGetRefusals(subject->model).count &&
	    wnnOnnxModelGetEmptyOutputs(subject->model).count)
		status = WNNStatus_Success;
	if (status == WNNStatus_Success && !subject->told) {
		print_notices(subject);
		subject->told = true;
	}
	return status;
}

static void print_frozen(const struct subject *subject, const struct value *value,
			 const WNNOnnxRefusal *why)
{
	fprintf(stderr,
		"webnn-run: %s: input \"%s\" is frozen: its value is a constant of the graph, since ",
		subject->options->model, value->name);
	print_view("node \"", why->node, "\" (");
	print_view("", why->operatorName, ") says: ");
	print_view("", why->reason, "\n");
}

/* ---- values that shapes depend on */

/* Names of tensors, which outlive the lists of the model. */
struct names {
	char **items;
	WNNStringView *views;
	size_t count;
};

static void names_exit(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	free(names->views);
}

/* Copies names. Returns 0; -1: memory is exhausted. names_exit() is called in any case. */
static int names_init(struct names *names, WNNOnnxValueInfoArray infos)
{
	*names = (struct names){ calloc(infos.count + 1, sizeof(char *)),
				 calloc(infos.count + 1, sizeof(WNNStringView)), 0 };
	if (!names->items || !names->views)
		return -1;
	for (size_t i = 0; i < infos.count; i++) {
		char *name = strndup(infos.data[i].name.data, infos.data[i].name.length);

		if (!name)
			return -1;
		names->items[names->count] = name;
		names->views[names->count++] = WNN_VALUE(WNNStringView, { name, strlen(name) });
	}
	return 0;
}

/* Returns whether the user has given values for all inputs. */
static bool has_values(const struct subject *subject)
{
	if (subject->value_count != subject_inputs(subject).count)
		return false;
	for (size_t i = 0; i < subject->value_count; i++)
		if (!subject->values[i].given)
			return false;
	return true;
}

/*
 * Computes the outputs that are chosen, and gives them to the model. Returns a status; a failure of
 * the device has been told.
 */
static WNNStatus give_values(struct target *target, struct subject *subject)
{
	struct target part = { .context = target->context };
	WNNStatus status = build(&part, subject);

	if (status == WNNStatus_Success &&
	    (target_prepare(&part, subject) || target_dispatch(&part) || target_read(&part)))
		status = WNNStatus_UnknownError;
	for (size_t i = 0; status == WNNStatus_Success && i < part.output_count + part.empty_count;
	     i++)
		status = wnnOnnxModelSetComputedValue(subject->model, WNN_STR(part.results[i].name),
						      part.results[i].data, part.results[i].size);
	target_clear(&part);
	return status;
}

/*
 * Computes the values that the last build needed, by a graph of their own, and gives them to the
 * model. Returns whether a further build may succeed.
 */
static bool compute_needed(struct target *target, struct subject *subject)
{
	struct names needed = { 0 }, outputs = { 0 };
	bool done = false;

	if (!has_values(subject) || !wnnOnnxModelGetNeededValues(subject->model).count)
		return false;
	if (!names_init(&needed, wnnOnnxModelGetNeededValues(subject->model)) &&
	    !names_init(&outputs, wnnOnnxModelGetOutputs(subject->model))) {
		WNNStatus status =
			wnnOnnxModelSetOutputs(subject->model, needed.count, needed.views);

		if (status == WNNStatus_Success)
			status = give_values(target, subject);
		if (wnnOnnxModelSetOutputs(subject->model, outputs.count, outputs.views) ==
		    WNNStatus_Success)
			done = status == WNNStatus_Success;
	}
	if (done)
		complain(DONE,
			 "%s: %zu value%s computed first, since shapes depend on %s: \"%s\"%s",
			 subject->options->model, needed.count, needed.count == 1 ? " is" : "s are",
			 needed.count == 1 ? "it" : "them", needed.items[0],
			 needed.count == 1 ? "" : " ...");
	names_exit(&needed);
	names_exit(&outputs);
	return done;
}

WNNStatus target_try_build(struct target *target, struct subject *subject)
{
	for (;;) {
		WNNStatus status = build(target, subject);
		WNNOnnxRefusalArray refusals = { 0 };
		struct value *value = NULL;
		size_t why = 0;

		if (status == WNNStatus_NotSupportedError)
			refusals = wnnOnnxModelGetRefusals(subject->model);
		for (; why < refusals.count && !value; why++)
			value = find_given(subject, refusals.data[why].input);
		if (!value && refusals.count && compute_needed(target, subject))
			continue;
		if (!value)
			return status;
		print_frozen(subject, value, &refusals.data[why - 1]);
		status = wnnOnnxModelSetInputValue(subject->model, WNN_STR(value->name),
						   value->data, value->size);
		if (status != WNNStatus_Success)
			return status;
	}
}

int target_build(struct target *target, struct subject *subject)
{
	WNNOnnxRefusalArray refusals = { 0 };
	uint64_t begin = nanoseconds();
	WNNStatus status;

	/* The first target has the saved graph already. */
	if (subject->saved)
		return target->graph ? DONE : saved_load(target, subject);
	status = target_try_build(target, subject);
	target->build_ns = nanoseconds() - begin;
	if (status == WNNStatus_Success)
		return DONE;
	if (status == WNNStatus_NotSupportedError)
		refusals = wnnOnnxModelGetRefusals(subject->model);
	print_refusals(subject, refusals);
	/* With a range the message says for which size the nodes are refused. */
	if (refusals.count && !subject->options->ranges.count)
		return BAD_MODEL;
	return complain_wnn(BAD_MODEL, true, "%s", subject->options->model);
}

/* ---- tensors */

/* Returns the shape of an input's value: the graph leaves the shape open when it has ranges. */
static WNNUint32Array input_shape(const struct subject *subject,
				  const WNNNamedOperandDescriptor *of)
{
	for (size_t i = 0; i < subject->value_count; i++)
		if (same_text(of->name, subject->values[i].name) &&
		    subject->values[i].rank == of->shape.count)
			return (WNNUint32Array){ of->shape.count, subject->values[i].shape };
	return of->shape;
}

static int make_tensor(struct target *target, const WNNNamedOperandDescriptor *of, bool input,
		       WNNNamedTensor *tensor)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;

	descriptor.dataType = of->dataType;
	descriptor.shape = of->shape;
	descriptor.writable = input;
	descriptor.readable = !input;
	tensor->name = of->name;
	if (wnnContextCreateTensorSync(target->context, &descriptor, WNN_WAIT_FOREVER,
				       &tensor->tensor) == WNNStatus_Success)
		return DONE;
	return complain_wnn(BAD_DEVICE, false, "tensor \"%.*s\"", (int)of->name.length,
			    of->name.data);
}

/* Returns whether a tensor is an input of random numbers. */
static bool is_random(const struct target *target, const WNNNamedTensor *tensor)
{
	WNNOnnxValueInfoArray random = wnnOnnxModelGetRandomInputs(target->model);

	for (size_t i = 0; i < random.count; i++)
		if (same_view(random.data[i].name, tensor->name))
			return true;
	return false;
}

/* Writes new random numbers, for the next dispatch. Returns DONE or an exit code. */
static int draw(struct target *target)
{
	int ret = DONE;

	for (size_t i = 0; !ret && i < target->input_count; i++) {
		const WNNNamedTensor *tensor = &target->inputs[i];
		size_t size = wnnTensorGetByteLength(tensor->tensor);
		void *data;

		if (!is_random(target, tensor))
			continue;
		data = malloc(size + 1);
		if (!data)
			return complain(
				BAD_DEVICE,
				"too little memory is free for the tensors of the model: end other "
				"programs, or set smaller dimensions");
		if (wnnOnnxModelDraw(target->model, tensor->name, target->seed, target->dispatches,
				     data, size) != WNNStatus_Success)
			ret = complain_wnn(BAD_DEVICE, true, "random numbers");
		else if (wnnContextWriteTensor(target->context, tensor->tensor, data, size) !=
			 WNNStatus_Success)
			ret = complain_wnn(BAD_DEVICE, false, "random numbers");
		free(data);
	}
	target->dispatches++;
	return ret;
}

/*
 * Writes a tensor that is one of the model's computed inputs, whose values were computed while the
 * graph was built. Returns DONE, or an exit code after a message; -1: it is another input.
 */
static int write_computed(const struct target *target, const WNNNamedTensor *tensor)
{
	WNNOnnxValueInfoArray computed = wnnOnnxModelGetComputedInputs(target->model);
	size_t size = wnnTensorGetByteLength(tensor->tensor), at = 0;
	int ret = DONE;
	void *data;

	while (at < computed.count && !same_view(computed.data[at].name, tensor->name))
		at++;
	if (at == computed.count)
		return -1;
	data = malloc(size + 1);
	if (!data)
		return complain(BAD_DEVICE,
				"too little memory is free for the tensors of the model: end other "
				"programs, or set smaller dimensions");
	if (wnnOnnxModelReadComputedInput(target->model, tensor->name, data, size) !=
	    WNNStatus_Success)
		ret = complain_wnn(BAD_DEVICE, true, "computed values");
	else if (wnnContextWriteTensor(target->context, tensor->tensor, data, size) !=
		 WNNStatus_Success)
		ret = complain_wnn(BAD_DEVICE, false, "computed values");
	free(data);
	return ret;
}

static int write_input(struct target *target, const struct subject *subject,
		       const WNNNamedTensor *tensor)
{
	int ret = target->model ? write_computed(target, tensor) : -1;

	if (ret >= 0 || (target->model && is_random(target, tensor)))
		return ret >= 0 ? ret : DONE;
	for (size_t i = 0; i < subject->value_count; i++) {
		const struct value *value = &subject->values[i];

		if (!same_text(tensor->name, value->name))
			continue;
		if (value->missing)
			return complain(BAD_FILE,
					"input \"%s\" has no value: give --input %s=FILE, --fill "
					"%s=NUMBER or --random SEED",
					value->name, value->name, value->name);
		if (wnnContextWriteTensor(target->context, tensor->tensor, value->data,
					  value->size) == WNNStatus_Success)
			return DONE;
		break;
	}
	return complain_wnn(BAD_DEVICE, false, "input \"%.*s\"", (int)tensor->name.length,
			    tensor->name.data);
}

static int make_result(struct value *result, WNNStringView name, WNNOperandDataType type,
		       uint32_t rank, const uint32_t *shape)
{
	char about[400];

	snprintf(about, sizeof(about), "output \"%.*s\"", (int)name.length, name.data);
	return value_make(result, BAD_DEVICE, about, name, type, rank, shape);
}

/*
 * Adds a result for an output without elements, which the graph lacks. Returns DONE or an exit
 * code.
 */
static int add_empty(struct target *target, const WNNOnnxValueInfo *info)
{
	uint32_t shape[VALUE_MAX_RANK];

	for (size_t i = 0; i < info->rank && i < VALUE_MAX_RANK; i++)
		shape[i] = (uint32_t)info->dimensions[i].size;
	if (make_result(&target->results[target->output_count + target->empty_count], info->name,
			info->dataType, (uint32_t)info->rank, shape))
		return BAD_DEVICE;
	target->empty_count++;
	return DONE;
}

int target_prepare(struct target *target, const struct subject *subject)
{
	WNNNamedOperandDescriptorArray inputs = { 0 }, outputs = { 0 };
	WNNOnnxValueInfoArray empty = wnnOnnxModelGetEmptyOutputs(subject->model);
	WNNNamedOperandDescriptors shapes = WNN_NAMED_OPERAND_DESCRIPTORS_INIT;
	int ret = DONE;

	if (target->graph) {
		inputs = wnnGraphGetInputs(target->graph);
		outputs = wnnGraphGetOutputs(target->graph);
	}
	target->inputs = calloc(inputs.count + 1, sizeof(*target->inputs));
	target->outputs = calloc(outputs.count + 1, sizeof(*target->outputs));
	target->results = calloc(outputs.count + empty.count + 1, sizeof(*target->results));
	if (!target->inputs || !target->outputs || !target->results)
		return complain(BAD_DEVICE,
				"too little memory is free for the tensors of the model: end other "
				"programs, or set smaller dimensions");
	for (size_t i = 0; !ret && i < inputs.count; i++) {
		WNNNamedOperandDescriptor of = inputs.data[i];

		if (subject->options->ranges.count)
			of.shape = input_shape(subject, &of);
		target->input_count = i + 1;
		ret = make_tensor(target, &of, true, &target->inputs[i]);
		if (!ret)
			ret = write_input(target, subject, &target->inputs[i]);
	}
	if (!ret && target->graph &&
	    wnnGraphComputeShapes(target->graph, target->input_count, target->inputs, &shapes) !=
		    WNNStatus_Success)
		ret = complain_wnn(BAD_DEVICE, false, "shapes");
	for (size_t i = 0; !ret && i < outputs.count; i++) {
		/* The names of the graph outlive those of the shapes. */
		WNNNamedOperandDescriptor of = outputs.data[i];

		of.shape = shapes.data[i].shape;
		target->output_count = i + 1;
		ret = make_tensor(target, &of, false, &target->outputs[i]);
		if (!ret)
			ret = make_result(&target->results[i], of.name, of.dataType,
					  (uint32_t)of.shape.count, of.shape.data);
	}
	wnnNamedOperandDescriptorsFreeMembers(shapes);
	for (size_t i = 0; !ret && i < empty.count; i++)
		ret = add_empty(target, &empty.data[i]);
	return ret;
}

int target_dispatch(struct target *target)
{
	int ret = target->model ? draw(target) : DONE;
	uint64_t begin = nanoseconds();

	target->dispatch_ns = 0;
	if (ret || !target->graph)
		return ret;
	if (wnnContextDispatch(target->context, target->graph, target->input_count, target->inputs,
			       target->output_count, target->outputs) == WNNStatus_Success &&
	    wnnContextWaitIdle(target->context, WNN_WAIT_FOREVER) == WNNStatus_Success) {
		target->dispatch_ns = nanoseconds() - begin;
		return DONE;
	}
	return complain_wnn(BAD_DEVICE, false, "dispatch");
}

int target_read(struct target *target)
{
	for (size_t i = 0; i < target->output_count; i++)
		if (wnnContextReadTensorIntoSync(target->context, target->outputs[i].tensor,
						 target->results[i].data, target->results[i].size,
						 WNN_WAIT_FOREVER) != WNNStatus_Success)
			return complain_wnn(BAD_DEVICE, false, "output \"%s\"",
					    target->results[i].name);
	return DONE;
}

int target_run(struct target *target, struct subject *subject)
{
	int ret = target_build(target, subject);

	if (!ret)
		ret = target_prepare(target, subject);
	if (!ret)
		ret = target_dispatch(target);
	return ret ? ret : target_read(target);
}

void target_clear(struct target *target)
{
	for (size_t i = 0; i < target->input_count; i++)
		wnnTensorRelease(target->inputs[i].tensor);
	for (size_t i = 0; i < target->output_count; i++)
		wnnTensorRelease(target->outputs[i].tensor);
	for (size_t i = 0; target->results && i < target->output_count + target->empty_count; i++)
		value_exit(&target->results[i]);
	free(target->inputs);
	free(target->outputs);
	free(target->results);
	wnnGraphRelease(target->graph);
	target->inputs = target->outputs = NULL;
	target->results = NULL;
	target->input_count = target->output_count = target->empty_count = 0;
	target->graph = NULL;
	target->model = NULL;
	target->dispatches = 0;
}

void target_close(struct target *target)
{
	target_clear(target);
	wnnContextRelease(target->context);
	wnnInstanceRelease(target->instance);
	free(target->device_name);
}
