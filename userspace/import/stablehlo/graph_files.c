// SPDX-License-Identifier: MIT
/*
 * Saves compiled graphs in the folder of a program, and loads them. The name of a file has all that
 * the graph is made of: the hash of the program, how it is divided and unrolled, and the place in
 * it. The library that runs graphs refuses files of another version or device.
 */
#include "graph_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <webnn/webnn_npu.h>

/* Counts regions in the order of the file up to @wanted. Returns whether the block has it. */
static bool count_to(const struct shlo_block *block, const struct shlo_region *wanted,
		     size_t *count)
{
	for (size_t i = 0; i < block->op_count; i++)
		for (size_t k = 0; k < block->ops[i]->region_count; k++) {
			const struct shlo_region *region = block->ops[i]->regions[k];

			++*count;
			if (region == wanted || count_to(&region->block, wanted, count))
				return true;
		}
	return false;
}

/* Returns the number of a region in its module, from 1. */
static size_t number_of(const struct shlo_module *module, const struct shlo_region *region)
{
	size_t count = 0;

	for (size_t i = 0; i < module->function_count; i++) {
		const struct shlo_region *body = module->functions[i]->region;

		if (!body)
			continue;
		count++;
		if (body == region || count_to(&body->block, region, &count))
			break;
	}
	return count;
}

/* Returns the path of a graph's file, which import_free() frees; NULL: memory is exhausted. */
static char *path_of(const struct shlo_graph_files *files, const struct shlo_graph_place *place)
{
	size_t room = strlen(files->folder) + 160;
	char *path = import_alloc(room);

	if (path)
		snprintf(path, room,
			 "%s/%016" PRIx64 "-%zu-%zu-%" PRIx64 "-%" PRIx64 "-%zu-%zu-%zu.graph",
			 files->folder, files->program, files->partitions, files->module,
			 files->loop_limit, files->unroll_limit,
			 number_of(place->module, place->region), place->first, place->end);
	return path;
}

WNNGraph shlo_graph_load(const struct shlo_graph_files *files, WNNContext context,
			 const struct shlo_graph_place *place)
{
	char *path = files->folder ? path_of(files, place) : NULL;
	WNNGraph graph = NULL;

	if (path)
		wnnContextLoadGraphSync(context, WNN_STR(path), WNN_WAIT_FOREVER, &graph);
	import_free(path);
	return graph;
}

void shlo_graph_save(const struct shlo_graph_files *files, WNNGraph graph,
		     const struct shlo_graph_place *place)
{
	char *path = files->folder ? path_of(files, place) : NULL;

	if (path)
		wnnGraphSave(graph, WNN_STR(path));
	import_free(path);
}
