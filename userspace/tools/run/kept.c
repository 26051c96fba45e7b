// SPDX-License-Identifier: MIT
/* webnn-run: keeps the graphs of a model, and of its parts, as files of a folder for later runs. */
#include "kept.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../import/common/hash.h"
#include "saved.h"

/*
 * Returns the path DIR/HASH.graph of the graph that was added to a builder last; the caller frees
 * it. NULL: memory is exhausted, or the library gives no key for the graph.
 */
static char *path_of(const struct target *target, const struct subject *subject)
{
	const struct options *options = subject->options;
	struct import_hash hash = { 1, 2 };
	const uint64_t numbers[] = { options->npu_only, options->full,	     options->profile,
				     subject->profile,	options->sram_bytes, options->threads };
	uint64_t key[2];
	char *path;

	if (wnnOnnxModelGetKey(subject->model, key) != WNNStatus_Success)
		return NULL;
	import_hash(&hash, WNN_VERSION_TEXT, sizeof(WNN_VERSION_TEXT));
	import_hash(&hash, target->device.device.data, target->device.device.length);
	import_hash(&hash, numbers, sizeof(numbers));
	import_hash(&hash, key, sizeof(key));
	if (asprintf(&path, "%s/%016" PRIx64 "%016" PRIx64 ".graph", options->kept, hash.a,
		     hash.b) < 0)
		return NULL;
	return path;
}

static void save(const struct subject *subject, const char *path, WNNGraph graph)
{
	mkdir(subject->options->kept, 0777);
	if (wnnGraphSave(graph, WNN_STR(path)) != WNNStatus_Success)
		saved_complain(DONE, path);
}

static WNNStatus make(struct target *target, struct subject *subject, WNNGraphBuilder builder)
{
	WNNNamedOperand const *outputs;
	size_t count;
	WNNStatus status = wnnOnnxModelAddToBuilder(subject->model, builder, &count, &outputs);
	char *path;

	if (status != WNNStatus_Success)
		return status;
	if (!count)
		return WNNStatus_NotSupportedError;
	path = path_of(target, subject);
	if (path && !access(path, R_OK) &&
	    wnnContextLoadGraphSync(target->context, WNN_STR(path), WNN_WAIT_FOREVER,
				    &target->graph) == WNNStatus_Success) {
		subject->taken++;
		free(path);
		return WNNStatus_Success;
	}
	status =
		wnnGraphBuilderBuildSync(builder, count, outputs, WNN_WAIT_FOREVER, &target->graph);
	if (status == WNNStatus_Success) {
		subject->compiled++;
		if (path)
			save(subject, path, target->graph);
	} else {
		/*
		 * This build fails for the same reason, which it leaves in the last error of
		 * libwebnn-onnx.
		 */
		status = wnnOnnxModelBuildSync(subject->model, target->context, WNN_WAIT_FOREVER,
					       &target->graph);
	}
	free(path);
	return status;
}

WNNStatus kept_build(struct target *target, struct subject *subject)
{
	/*
	 * The key of a model does not tell ranges of dimensions: graphs with ranges are not kept.
	 */
	bool keep = subject->options->kept && !subject->options->ranges.count;
	WNNGraphBuilder builder = keep ? wnnContextCreateGraphBuilder(target->context) : NULL;
	WNNStatus status;

	if (!builder) {
		status = wnnOnnxModelBuildSync(subject->model, target->context, WNN_WAIT_FOREVER,
					       &target->graph);
		subject->compiled += status == WNNStatus_Success;
		return status;
	}
	status = make(target, subject, builder);
	wnnGraphBuilderRelease(builder);
	return status;
}
