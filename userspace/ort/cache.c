// SPDX-License-Identifier: MIT
/*
 * Keeps compiled graphs as files in a folder. The name of a file is a hash of all that its graph
 * was compiled from.
 */
#include "cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <webnn/webnn_npu.h>

#include "../import/common/hash.h"

static void add_text(struct import_hash *h, WNNStringView text)
{
	import_hash(h, text.data, text.length);
}

static void add_tensor(struct import_hash *h, const WNNOnnxTensor *tensor)
{
	add_text(h, tensor->name);
	import_hash_word(h, (uint64_t)tensor->elementType);
	import_hash(h, tensor->dimensions, tensor->rank * sizeof(*tensor->dimensions));
	import_hash(h, tensor->data, tensor->data ? tensor->size : 0);
}

static void add_graph(struct import_hash *h, const WNNOnnxGraph *graph);

static void add_attribute(struct import_hash *h, const WNNOnnxAttribute *attribute)
{
	add_text(h, attribute->name);
	import_hash_word(h, (uint64_t)attribute->kind);
	import_hash_word(h, attribute->count);
	if (attribute->floats)
		import_hash(h, attribute->floats, attribute->count * sizeof(float));
	if (attribute->ints)
		import_hash(h, attribute->ints, attribute->count * sizeof(int64_t));
	for (size_t i = 0; attribute->strings && i < attribute->count; i++)
		add_text(h, attribute->strings[i]);
	if (attribute->tensor)
		add_tensor(h, attribute->tensor);
	if (attribute->graph)
		add_graph(h, attribute->graph);
}

static void add_names(struct import_hash *h, const WNNStringView *names, size_t count)
{
	import_hash_word(h, count);
	for (size_t i = 0; i < count; i++)
		add_text(h, names[i]);
}

static void add_values(struct import_hash *h, const WNNOnnxValue *values, size_t count)
{
	import_hash_word(h, count);
	for (size_t i = 0; i < count; i++) {
		add_text(h, values[i].name);
		import_hash_word(h, (uint64_t)values[i].elementType);
	}
}

static void add_graph(struct import_hash *h, const WNNOnnxGraph *graph)
{
	add_values(h, graph->inputs, graph->inputCount);
	add_values(h, graph->outputs, graph->outputCount);
	import_hash_word(h, graph->tensorCount);
	for (size_t i = 0; i < graph->tensorCount; i++)
		add_tensor(h, &graph->tensors[i]);
	import_hash_word(h, graph->nodeCount);
	for (size_t i = 0; i < graph->nodeCount; i++) {
		const WNNOnnxNode *node = &graph->nodes[i];

		add_text(h, node->name);
		add_text(h, node->domain);
		add_text(h, node->operatorName);
		add_names(h, node->inputs, node->inputCount);
		add_names(h, node->outputs, node->outputCount);
		import_hash_word(h, node->attributeCount);
		for (size_t k = 0; k < node->attributeCount; k++)
			add_attribute(h, &node->attributes[k]);
	}
}

char *onpu_cache_path(const struct onpu_group *group, const struct onpu_shape *shapes)
{
	const struct onpu_options *options = &group->ep->options;
	struct import_hash h = { 1, 2 };
	char *path;

	if (!options->cache_dir || !*options->cache_dir)
		return NULL;
	import_hash(&h, group->ep->compatibility, strlen(group->ep->compatibility));
	import_hash_word(&h, (uint64_t)options->policy);
	for (size_t i = 0; i < group->read.set_count; i++) {
		add_text(&h, group->read.sets[i].domain);
		import_hash_word(&h, (uint64_t)group->read.sets[i].version);
	}
	add_graph(&h, &group->read.graph);
	for (size_t i = 0; i < group->input_count; i++)
		import_hash(&h, shapes[i].dims, shapes[i].rank * sizeof(shapes[i].dims[0]));
	if (asprintf(&path, "%s/%016" PRIx64 "%016" PRIx64 ".onpu", options->cache_dir, h.a, h.b) <
	    0)
		return NULL;
	return path;
}

WNNGraph onpu_cache_load(const struct onpu_group *group, const char *path)
{
	WNNError error = WNN_ERROR_INIT;
	WNNGraph graph = NULL;

	if (access(path, R_OK))
		return NULL;
	if (wnnContextLoadGraphSync(group->ep->context, (WNNStringView){ path, strlen(path) },
				    WNN_WAIT_FOREVER, &graph) == WNNStatus_Success)
		return graph;
	wnnGetLastError(&error);
	onpu_log(group->ep, ORT_LOG_WARNING,
		 ONPU_PROVIDER ": a graph of cache_dir cannot be used and is compiled again: %.*s",
		 (int)error.message.length, error.message.data);
	return NULL;
}

/* Makes the folder of a file, and the folders that it is in; what cannot be made stays absent. */
static void make_folder(const char *file)
{
	char *path = strdup(file);

	for (char *slash = path ? strchr(path + 1, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	free(path);
}

void onpu_cache_save(const struct onpu_group *group, const char *path, WNNGraph graph)
{
	WNNError error = WNN_ERROR_INIT;

	make_folder(path);
	if (wnnGraphSave(graph, (WNNStringView){ path, strlen(path) }) == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	onpu_log(group->ep, ORT_LOG_WARNING,
		 ONPU_PROVIDER ": a compiled graph cannot be saved in cache_dir: %.*s",
		 (int)error.message.length, error.message.data);
}
