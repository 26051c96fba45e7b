// SPDX-License-Identifier: MIT
/* Saves compiled graphs in models as EPContext nodes, and loads such nodes. */
#include "context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <webnn/webnn_npu.h>

#include "../import/common/folder.h"

/*
 * Sets *data to a string attribute of a node, in the memory of the reading, and *size to its bytes;
 * *data is NULL when the node lacks it. Returns NULL, or an error.
 */
static struct ort_status *get_string(const struct onpu_reading *r, const struct ort_node *node,
				     const char *name, const char **data, size_t *size)
{
	const struct ort_attribute *attribute = NULL;
	struct ort_status *status;
	char *copy;

	*data = NULL;
	*size = 0;
	status = r->ort->Node_GetAttributeByName(node, name, &attribute);
	if (status || !attribute) {
		if (status)
			r->ort->ReleaseStatus(status);
		return NULL;
	}
	status = r->ort->ReadOpAttr(attribute, ORT_ATTRIBUTE_STRING, NULL, 0, size);
	if (status)
		r->ort->ReleaseStatus(status);
	copy = onpu_take(r, *size);
	if (!copy)
		return onpu_nomem(r->ort);
	if (*size)
		ORT_TRY(r->ort->ReadOpAttr(attribute, ORT_ATTRIBUTE_STRING, copy, *size, size));
	*data = copy;
	return NULL;
}

static struct ort_status *get_int(const struct onpu_reading *r, const struct ort_node *node,
				  const char *name, int64_t *number)
{
	const struct ort_attribute *attribute = NULL;
	struct ort_status *status;
	size_t size;

	status = r->ort->Node_GetAttributeByName(node, name, &attribute);
	if (status || !attribute) {
		if (status)
			r->ort->ReleaseStatus(status);
		return NULL;
	}
	return r->ort->ReadOpAttr(attribute, ORT_ATTRIBUTE_INT, number, sizeof(*number), &size);
}

bool onpu_context_is(const struct ort_api *ort, const struct ort_node *node)
{
	struct import_chunk *chunks = NULL;
	struct onpu_reading reading = { .ort = ort, .chunks = &chunks };
	const char *type = "", *source = NULL;
	struct ort_status *status;
	size_t size;
	bool is;

	status = ort->Node_GetOperatorType(node, &type);
	if (!status && !strcmp(type, "EPContext"))
		status = get_string(&reading, node, "source", &source, &size);
	is = !status && source && !strcmp(source, ONPU_PROVIDER);
	if (status)
		ort->ReleaseStatus(status);
	import_chunks_free(&chunks);
	return is;
}

/* ---- loading */

static struct ort_status *make_names(struct onpu_group *group, const struct onpu_reading *r,
				     const char *notes)
{
	/*
	 * The notes have lines "input NAME" and "output NAME", in the order of the node's inputs
	 * and outputs.
	 */
	size_t inputs = 0, outputs = 0;

	while (notes && *notes) {
		size_t length = strcspn(notes, "\n");
		char *name = onpu_take(r, length);

		if (!name)
			return onpu_nomem(r->ort);
		if (!strncmp(notes, "input ", 6) && inputs < group->input_count) {
			memcpy(name, notes + 6, length - 6);
			group->inputs[inputs++].name = (WNNStringView){ name, length - 6 };
		} else if (!strncmp(notes, "output ", 7) && outputs < group->output_count) {
			memcpy(name, notes + 7, length - 7);
			group->outputs[outputs++].name = (WNNStringView){ name, length - 7 };
		}
		notes += length + (notes[length] == '\n');
	}
	if (inputs == group->input_count && outputs == group->output_count)
		return NULL;
	return onpu_error(r->ort, ORT_FAIL,
			  ONPU_PROVIDER ": EPContext node \"%s\" is damaged: it names %zu of %zu "
					"inputs and %zu of %zu outputs",
			  group->name, inputs, group->input_count, outputs, group->output_count);
}

/* Sets index and type of an input or output of the node. Returns NULL, or an error. */
static struct ort_status *make_port(const struct onpu_reading *r, WNNStringView name,
				    const struct ort_value_info *const *values, size_t count,
				    struct onpu_port *port)
{
	WNNOnnxValue value;

	ORT_TRY(onpu_find_index(r, values, count, name, &port->index));
	if (port->index == SIZE_MAX)
		return NULL;
	ORT_TRY(onpu_read_value(r, values[port->index], &value));
	port->type = value.elementType;
	return NULL;
}

static struct ort_status *make_ports(struct onpu_group *group, const struct onpu_reading *r,
				     const struct ort_node *fused)
{
	const WNNOnnxNode *node = &group->read.graph.nodes[0];
	const struct ort_value_info **inputs, **outputs;
	size_t input_count, output_count, size;
	const char *notes;

	ORT_TRY(onpu_node_inputs(r, fused, &input_count, &inputs));
	ORT_TRY(onpu_node_outputs(r, fused, &output_count, &outputs));
	group->input_count = node->inputCount;
	group->output_count = node->outputCount;
	group->inputs = onpu_take(r, group->input_count * sizeof(*group->inputs));
	group->outputs = onpu_take(r, group->output_count * sizeof(*group->outputs));
	if (!group->inputs || !group->outputs)
		return onpu_nomem(r->ort);
	for (size_t i = 0; i < group->input_count; i++)
		ORT_TRY(make_port(r, node->inputs[i], inputs, input_count, &group->inputs[i]));
	for (size_t i = 0; i < group->output_count; i++)
		ORT_TRY(make_port(r, node->outputs[i], outputs, output_count, &group->outputs[i]));
	ORT_TRY(get_string(r, group->read.nodes[0], "notes", &notes, &size));
	return make_names(group, r, notes);
}

/* Returns an unnamed file with a graph that is stored in the model; -1 with errno on failure. */
static int hold(const char *data, size_t size)
{
	int fd = memfd_create("onpu-graph", MFD_CLOEXEC);

	for (size_t done = 0; fd >= 0 && done < size;) {
		ssize_t part = write(fd, data + done, size - done);

		if (part <= 0) {
			int error = part ? errno : ENOSPC;

			close(fd);
			errno = error;
			return -1;
		}
		done += (size_t)part;
	}
	return fd;
}

static struct ort_status *load_path(struct onpu_group *group, const char *path, WNNGraph *graph)
{
	char what[600];

	if (wnnContextLoadGraphSync(group->ep->context, (WNNStringView){ path, strlen(path) },
				    WNN_WAIT_FOREVER, graph) == WNNStatus_Success)
		return NULL;
	snprintf(what, sizeof(what), "the compiled graph of EPContext node \"%s\"", group->name);
	return onpu_webnn_error(&group->ep->factory->ort, what);
}

static struct ort_status *load_beside(struct onpu_group *group, const struct ort_graph *graph,
				      const char *name, WNNGraph *out)
{
	const struct ort_api *ort = &group->ep->factory->ort;
	const char *model = NULL, *slash;
	struct ort_status *status;
	char *path = NULL;

	if (!import_stays_below(name))
		return onpu_error(ort, ORT_FAIL,
				  ONPU_PROVIDER
				  ": EPContext node \"%s\": its file \"%s\" is not in the "
				  "folder of the model",
				  group->name, name);
	ORT_TRY(ort->Graph_GetModelPath(graph, &model));
	/* For a model that was loaded from memory, an option tells the path. */
	if ((!model || !*model) && group->ep->options.context_path)
		model = group->ep->options.context_path;
	slash = model ? strrchr(model, '/') : NULL;
	if (asprintf(&path, "%.*s%s", slash ? (int)(slash + 1 - model) : 0, slash ? model : "",
		     name) < 0)
		return onpu_nomem(ort);
	status = load_path(group, path, out);
	free(path);
	return status;
}

static struct ort_status *load_embedded(struct onpu_group *group, const char *data, size_t size,
					WNNGraph *graph)
{
	struct ort_status *status;
	int fd = hold(data, size);
	char path[64];

	if (fd < 0)
		return onpu_error(&group->ep->factory->ort, ORT_FAIL,
				  ONPU_PROVIDER
				  ": EPContext node \"%s\": its graph cannot be kept in memory: %s",
				  group->name, strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	status = load_path(group, path, graph);
	close(fd);
	return status;
}

/*
 * Makes a program of a graph, which is taken over, for the shapes it was compiled for; runs with
 * other shapes are refused. Returns NULL, or an error.
 */
static struct ort_status *set_program(struct onpu_group *group, WNNGraph graph)
{
	WNNNamedOperandDescriptorArray inputs = wnnGraphGetInputs(graph);
	struct onpu_shape *shapes = calloc(group->input_count + 1, sizeof(*shapes));
	struct ort_status *status;

	if (!shapes) {
		wnnGraphRelease(graph);
		return onpu_nomem(&group->ep->factory->ort);
	}
	for (size_t i = 0; i < group->input_count; i++) {
		for (size_t k = 0; k < inputs.count; k++) {
			WNNStringView name = inputs.data[k].name;

			if (name.length != group->inputs[i].name.length ||
			    memcmp(name.data, group->inputs[i].name.data, name.length) ||
			    inputs.data[k].shape.count > ONPU_MAX_RANK)
				continue;
			group->inputs[i].fixed = true;
			shapes[i].rank = inputs.data[k].shape.count;
			for (size_t d = 0; d < shapes[i].rank; d++)
				shapes[i].dims[d] = inputs.data[k].shape.data[d];
			group->inputs[i].shape = shapes[i];
		}
	}
	status = onpu_program_create(group, graph, (WNNOnnxValueInfoArray){ 0, NULL }, shapes,
				     &group->programs);
	free(shapes);
	return status;
}

struct ort_status *onpu_context_load(struct onpu_group *group, const struct onpu_reading *r,
				     const struct ort_graph *graph, const struct ort_node *fused)
{
	const struct ort_node *node = group->read.nodes[0];
	int64_t embedded = 1;
	WNNGraph compiled = NULL;
	const char *data;
	size_t size;

	ORT_TRY(make_ports(group, r, fused));
	ORT_TRY(get_int(r, node, "embed_mode", &embedded));
	ORT_TRY(get_string(r, node, "ep_cache_context", &data, &size));
	if (!data)
		return onpu_error(r->ort, ORT_FAIL,
				  ONPU_PROVIDER ": EPContext node \"%s\" is damaged: it has no "
						"ep_cache_context",
				  group->name);
	if (embedded)
		ORT_TRY(load_embedded(group, data, size, &compiled));
	else
		ORT_TRY(load_beside(group, graph, data, &compiled));
	return set_program(group, compiled);
}

/* ---- saving */

/*
 * Sets *prefix to the path of the model with compiled graphs, without its ending, in memory that
 * the caller frees. Returns NULL; an error: the path is not known, or no memory.
 */
static struct ort_status *model_prefix(struct onpu_group *group, const struct ort_graph *graph,
				       char **prefix)
{
	const struct onpu_options *options = &group->ep->options;
	const struct ort_api *ort = &group->ep->factory->ort;
	const char *model = options->context_path, *dot, *slash, *end = "";
	size_t length;

	if (!model || !*model) {
		ORT_TRY(ort->Graph_GetModelPath(graph, &model));
		end = "_ctx";
	}
	if (!model || !*model)
		return onpu_error(ort, ORT_INVALID_ARGUMENT,
				  ONPU_PROVIDER
				  ": ep.context_file_path must say where the model goes, "
				  "or ep.context_embed_mode must be 1");
	slash = strrchr(model, '/');
	dot = strrchr(slash ? slash : model, '.');
	length = dot ? (size_t)(dot - model) : strlen(model);
	if (asprintf(prefix, "%.*s%s", (int)length, model, end) < 0)
		return onpu_nomem(ort);
	return NULL;
}

static struct ort_status *save_to(struct onpu_group *group, const char *path)
{
	if (wnnGraphSave(group->programs->graph, (WNNStringView){ path, strlen(path) }) ==
	    WNNStatus_Success)
		return NULL;
	return onpu_webnn_error(&group->ep->factory->ort, group->name);
}

/*
 * Saves the graph in a file beside the model, and sets *name to the file's name, which the caller
 * frees. Returns NULL, or an error.
 */
static struct ort_status *save_beside(struct onpu_group *group, const struct ort_graph *graph,
				      char **name)
{
	const struct ort_api *ort = &group->ep->factory->ort;
	char *prefix = NULL, *path = NULL;
	struct ort_status *status;
	const char *slash;

	ORT_TRY(model_prefix(group, graph, &prefix));
	if (asprintf(&path, "%s_%s.onpu", prefix, group->name) < 0)
		status = onpu_nomem(ort);
	else
		status = save_to(group, path);
	free(prefix);
	if (!status) {
		slash = strrchr(path, '/');
		*name = strdup(slash ? slash + 1 : path);
		if (!*name)
			status = onpu_nomem(ort);
	}
	free(path);
	return status;
}

/* Returns 0, or the number of the system's error. The caller frees *data in both cases. */
static int read_file(const char *path, char **data, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;
	struct stat info;
	size_t done = 0;

	*data = NULL;
	if (fd < 0)
		return errno;
	if (fstat(fd, &info)) {
		error = errno;
	} else {
		*size = (size_t)info.st_size;
		*data = malloc(*size + 1);
		error = *data ? 0 : ENOMEM;
	}
	while (!error && done < *size) {
		ssize_t part = read(fd, *data + done, *size - done);

		if (part <= 0)
			error = part ? errno : EIO;
		else
			done += (size_t)part;
	}
	close(fd);
	return error;
}

static struct ort_status *save_embedded(struct onpu_group *group, char **data, size_t *size)
{
	const char *folder = getenv("TMPDIR");
	char path[600], file[640];
	struct ort_status *status;
	int error;

	folder = folder && *folder ? folder : "/tmp";
	snprintf(path, sizeof(path), "%.500s/onpu-XXXXXX", folder);
	if (!mkdtemp(path))
		return onpu_error(&group->ep->factory->ort, ORT_FAIL,
				  ONPU_PROVIDER
				  ": no folder for the compiled graph can be made in %.500s: %s; "
				  "name another place in TMPDIR",
				  folder, strerror(errno));
	snprintf(file, sizeof(file), "%s/graph", path);
	status = save_to(group, file);
	error = status ? 0 : read_file(file, data, size);
	if (error)
		status = onpu_error(&group->ep->factory->ort, ORT_FAIL,
				    ONPU_PROVIDER ": %s cannot be read again: %s", file,
				    strerror(error));
	unlink(file);
	rmdir(path);
	return status;
}

static struct ort_status *add_string(const struct ort_api *ort, struct ort_attribute **list,
				     size_t *count, const char *name, const char *data, size_t size)
{
	struct ort_status *status;

	if (size > INT32_MAX)
		return onpu_error(ort, ORT_FAIL,
				  ONPU_PROVIDER
				  ": a graph of %zu bytes does not fit into a model, which holds "
				  "up to 2^31 - 1; set ep.context_embed_mode to 0, so that it "
				  "becomes a file beside the model",
				  size);
	status = ort->CreateOpAttr(name, data, (int)size, ORT_ATTRIBUTE_STRING, &list[*count]);
	*count += !status;
	return status;
}

static struct ort_status *add_int(const struct ort_api *ort, struct ort_attribute **list,
				  size_t *count, const char *name, int64_t number)
{
	struct ort_status *status =
		ort->CreateOpAttr(name, &number, 1, ORT_ATTRIBUTE_INT, &list[*count]);

	*count += !status;
	return status;
}

static char *make_notes(const struct onpu_group *group)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	for (size_t i = 0; i < group->input_count; i++)
		fprintf(file, "input %.*s\n", (int)group->inputs[i].name.length,
			group->inputs[i].name.data);
	for (size_t i = 0; i < group->output_count; i++)
		fprintf(file, "output %.*s\n", (int)group->outputs[i].name.length,
			group->outputs[i].name.data);
	fclose(file);
	return text;
}

static struct ort_status *add_attributes(struct onpu_group *group, const char *data, size_t size,
					 struct ort_attribute **list, size_t *count)
{
	const struct ort_api *ort = &group->ep->factory->ort;
	char *notes = make_notes(group);
	struct ort_status *status;

	if (!notes)
		return onpu_nomem(ort);
	status = add_int(ort, list, count, "main_context", 1);
	if (!status)
		status = add_int(ort, list, count, "embed_mode", group->ep->options.context_embed);
	if (!status)
		status = add_string(ort, list, count, "ep_cache_context", data, size);
	if (!status)
		status = add_string(ort, list, count, "source", ONPU_PROVIDER,
				    strlen(ONPU_PROVIDER));
	if (!status)
		status = add_string(ort, list, count, "ep_sdk_version", ONPU_VERSION,
				    strlen(ONPU_VERSION));
	if (!status)
		status = add_string(ort, list, count, "hardware_architecture",
				    group->ep->compatibility, strlen(group->ep->compatibility));
	if (!status)
		status = add_string(ort, list, count, "partition_name", group->name,
				    strlen(group->name));
	if (!status)
		status = add_string(ort, list, count, "notes", notes, strlen(notes));
	free(notes);
	return status;
}

static struct ort_status *make_node(struct onpu_group *group, const char *data, size_t size,
				    struct ort_node **out)
{
	const struct ort_api *ort = &group->ep->factory->ort;
	const char **inputs = calloc(group->input_count + 1, sizeof(*inputs));
	const char **outputs = calloc(group->output_count + 1, sizeof(*outputs));
	struct ort_attribute *attributes[16];
	struct ort_status *status;
	size_t count = 0;

	if (!inputs || !outputs) {
		free(inputs);
		free(outputs);
		return onpu_nomem(ort);
	}
	/* Names that were read end with a NUL. */
	for (size_t i = 0; i < group->input_count; i++)
		inputs[i] = group->inputs[i].name.data;
	for (size_t i = 0; i < group->output_count; i++)
		outputs[i] = group->outputs[i].name.data;
	status = add_attributes(group, data, size, attributes, &count);
	if (!status)
		status = ort->CreateNode("EPContext", "com.microsoft", group->name, inputs,
					 group->input_count, outputs, group->output_count,
					 attributes, count, out);
	for (size_t i = 0; i < count; i++)
		ort->ReleaseOpAttr(attributes[i]);
	free(inputs);
	free(outputs);
	return status;
}

struct ort_status *onpu_context_save(struct onpu_group *group, const struct ort_graph *graph,
				     struct ort_node **out)
{
	struct ort_status *status;
	char *data = NULL;
	size_t size = 0;

	if (!group->programs)
		return onpu_error(&group->ep->factory->ort, ORT_INVALID_ARGUMENT,
				  ONPU_PROVIDER
				  ": a compiled model has graphs of fixed shapes: set the "
				  "dimensions of inputs by free-dimension overrides, or by "
				  "the option dim.NAME");
	if (group->ep->options.context_embed) {
		status = save_embedded(group, &data, &size);
	} else {
		status = save_beside(group, graph, &data);
		size = data ? strlen(data) : 0;
	}
	if (!status)
		status = make_node(group, data, size, out);
	free(data);
	return status;
}
