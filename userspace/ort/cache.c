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

/* Two 64-bit hashes with different multipliers. */
struct hash {
	uint64_t a, b;
};

static void add_word(struct hash *h, uint64_t word)
{
	h->a = (h->a ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	h->a ^= h->a >> 29;
	h->b = (h->b + word) * UINT64_C(0xbf58476d1ce4e5b9);
	h->b ^= h->b >> 31;
}

static void add(struct hash *h, const void *data, size_t size)
{
	const char *bytes = data;
	uint64_t word;

	add_word(h, size);
	for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		add_word(h, word);
	}
	word = 0;
	if (size)
		memcpy(&word, bytes, size);
	add_word(h, word);
}

static void add_text(struct hash *h, WNNStringView text)
{
	add(h, text.data, text.length);
}

static void add_tensor(struct hash *h, const WNNOnnxTensor *tensor)
{
	add_text(h, tensor->name);
	add_word(h, (uint64_t)tensor->elementType);
	add(h, tensor->dimensions, tensor->rank * sizeof(*tensor->dimensions));
	add(h, tensor->data, tensor->data ? tensor->size : 0);
}

static void add_graph(struct hash *h, const WNNOnnxGraph *graph);

static void add_attribute(struct hash *h, const WNNOnnxAttribute *attribute)
{
	add_text(h, attribute->name);
	add_word(h, (uint64_t)attribute->kind);
	add_word(h, attribute->count);
	if (attribute->floats)
		add(h, attribute->floats, attribute->count * sizeof(float));
	if (attribute->ints)
		add(h, attribute->ints, attribute->count * sizeof(int64_t));
	for (size_t i = 0; attribute->strings && i < attribute->count; i++)
		add_text(h, attribute->strings[i]);
	if (attribute->tensor)
		add_tensor(h, attribute->tensor);
	if (attribute->graph)
		add_graph(h, attribute->graph);
}

static void add_names(struct hash *h, const WNNStringView *names, size_t count)
{
	add_word(h, count);
	for (size_t i = 0; i < count; i++)
		add_text(h, names[i]);
}

static void add_values(struct hash *h, const WNNOnnxValue *values, size_t count)
{
	add_word(h, count);
	for (size_t i = 0; i < count; i++) {
		add_text(h, values[i].name);
		add_word(h, (uint64_t)values[i].elementType);
	}
}

static void add_graph(struct hash *h, const WNNOnnxGraph *graph)
{
	add_values(h, graph->inputs, graph->inputCount);
	add_values(h, graph->outputs, graph->outputCount);
	add_word(h, graph->tensorCount);
	for (size_t i = 0; i < graph->tensorCount; i++)
		add_tensor(h, &graph->tensors[i]);
	add_word(h, graph->nodeCount);
	for (size_t i = 0; i < graph->nodeCount; i++) {
		const WNNOnnxNode *node = &graph->nodes[i];

		add_text(h, node->name);
		add_text(h, node->domain);
		add_text(h, node->operatorName);
		add_names(h, node->inputs, node->inputCount);
		add_names(h, node->outputs, node->outputCount);
		add_word(h, node->attributeCount);
		for (size_t k = 0; k < node->attributeCount; k++)
			add_attribute(h, &node->attributes[k]);
	}
}

char *onpu_cache_path(const struct onpu_group *group, const struct onpu_shape *shapes)
{
	const struct onpu_options *options = &group->ep->options;
	struct hash h = { 1, 2 };
	char *path;

	if (!options->cache_dir || !*options->cache_dir)
		return NULL;
	add(&h, group->ep->compatibility, strlen(group->ep->compatibility));
	add_word(&h, (uint64_t)options->policy);
	for (size_t i = 0; i < group->read.set_count; i++) {
		add_text(&h, group->read.sets[i].domain);
		add_word(&h, (uint64_t)group->read.sets[i].version);
	}
	add_graph(&h, &group->read.graph);
	for (size_t i = 0; i < group->input_count; i++)
		add(&h, shapes[i].dims, shapes[i].rank * sizeof(shapes[i].dims[0]));
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
