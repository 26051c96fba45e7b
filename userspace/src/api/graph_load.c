// SPDX-License-Identifier: MIT
/* wnnContextLoadGraph: checks the path on the calling thread; reads the file on the timeline. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/graph_file.h"
#include "api/webnn_async.h"
#include "run/store.h"
#include "util/malloc.h"
#include "util/printable.h"

struct mapping {
	void *map;
	size_t size;
};

static void unmap(void *owner)
{
	struct mapping *mapping = owner;

	munmap(mapping->map, mapping->size);
	wnn_free(mapping);
}

/* ---- refusals; each names the file */

__attribute__((format(printf, 4, 5))) static int
refuse(struct wnn_error *err, enum wnn_status status, const char *path, const char *fmt, ...)
{
	char name[160], why[800];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	wnn_text_printable(name, sizeof(name), path, strlen(path));
	return wnn_error_set(err, status, "load: \"%s\" %s", name, why);
}

static int open_file(const char *path, struct mapping *mapping, struct wnn_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	int error;

	if (fd < 0 || fstat(fd, &status)) {
		error = errno;
		if (fd >= 0)
			close(fd);
		return refuse(err, WNN_OPERATION_ERROR, path, "cannot be opened: %s",
			      strerror(error));
	}
	if (!S_ISREG(status.st_mode) || status.st_size < (off_t)sizeof(struct graph_file_header)) {
		close(fd);
		return refuse(err, WNN_OPERATION_ERROR, path, "is not a saved graph%s",
			      S_ISREG(status.st_mode) ? ": it is too short" :
							": it is a folder or device");
	}
	mapping->size = (size_t)status.st_size;
	/* A device can use the pages of a shared mapping; not every file system has such mappings. */
	mapping->map = mmap(NULL, mapping->size, PROT_READ, MAP_SHARED, fd, 0);
	if (mapping->map == MAP_FAILED)
		mapping->map = mmap(NULL, mapping->size, PROT_READ, MAP_PRIVATE, fd, 0);
	error = errno;
	close(fd);
	if (mapping->map == MAP_FAILED)
		return refuse(err, WNN_OPERATION_ERROR, path, "cannot be mapped: %s%s",
			      strerror(error),
			      error == ENOMEM ? "; end other programs, or raise the limit "
						"(ulimit -v)" :
						"");
	return 0;
}

static bool is_text(const char *text, size_t size)
{
	return memchr(text, 0, size);
}

/*
 * Checks that the file was made by this version and build of the library, before any other part of
 * it is used. Returns 0 or -1.
 */
static int check_kind(const struct graph_file_header *h, const struct graph_file_header *here,
		      const char *path, struct wnn_error *err)
{
	if (memcmp(h->magic, here->magic, sizeof(h->magic)) != 0)
		return refuse(err, WNN_OPERATION_ERROR, path,
			      "is not a saved graph: it begins with other bytes");
	if (h->format != here->format)
		return refuse(err, WNN_NOT_SUPPORTED, path,
			      "has format %" PRIu32 ", this library reads format %" PRIu32
			      "; build the graph and save it anew",
			      h->format, here->format);
	if (graph_file_checksum(h) != h->checksum || h->header_bytes != here->header_bytes ||
	    !is_text(h->version, sizeof(h->version)) || !is_text(h->machine, sizeof(h->machine)) ||
	    !is_text(h->packing, sizeof(h->packing)))
		return refuse(err, WNN_OPERATION_ERROR, path,
			      "is damaged: the checksum of its header is wrong; copy it again, or "
			      "build the graph and save it anew");
	if (strcmp(h->version, here->version) != 0 || h->form_hash != here->form_hash)
		return refuse(err, WNN_NOT_SUPPORTED, path,
			      "was saved by version %s of the library, this is %s%s; build the "
			      "graph and save it anew",
			      h->version, here->version,
			      strcmp(h->version, here->version) != 0 ? "" : " of another build");
	return 0;
}

static int check_device(const struct graph_file_header *h, const struct graph_file_header *here,
			const char *path, struct wnn_error *err)
{
	if (h->device_hash != here->device_hash)
		return refuse(err, WNN_NOT_SUPPORTED, path,
			      "was saved for the device %s with %" PRIu64
			      " bytes of SRAM, this is %s with %" PRIu64
			      ", or one that differs otherwise; build the graph and save it anew",
			      h->machine, h->sram_bytes, here->machine, here->sram_bytes);
	if (h->isa_major != here->isa_major)
		return refuse(
			err, WNN_NOT_SUPPORTED, path,
			"has programs of version %" PRIu32
			" of the instruction set, this library makes those of version %" PRIu32
			"; build the graph and save it anew",
			h->isa_major, here->isa_major);
	if (strcmp(h->packing, here->packing) != 0)
		return refuse(err, WNN_NOT_SUPPORTED, path,
			      "was saved for the CPU's kernels %s, this context has %s; build the "
			      "graph and save it anew, or take the processor, WEBNN_CPU_LEVEL and "
			      "WEBNN_CPU_LAYER that it was saved with",
			      h->packing, here->packing);
	if (h->profile != here->profile)
		return refuse(err, WNN_NOT_SUPPORTED, path,
			      "was saved %s profile, this context was made %s: make it %s profile "
			      "(WNNContextDeviceOptions), or build the graph and save it anew",
			      h->profile ? "with" : "without",
			      here->profile ? "with it" : "without",
			      h->profile ? "with" : "without");
	return 0;
}

/* Whether the sections lie in the file, begin at page boundaries, and do not overlap. */
static bool parts_fit(const struct graph_file_header *h)
{
	uint64_t at = sizeof(*h);

	for (int i = 0; i < GRAPH_FILE_PARTS; i++) {
		if (h->part[i].offset % GRAPH_FILE_PAGE || h->part[i].offset < at ||
		    h->part[i].offset > h->bytes || h->part[i].bytes > h->bytes - h->part[i].offset)
			return false;
		at = h->part[i].offset + h->part[i].bytes;
	}
	return h->bytes % GRAPH_FILE_PAGE == 0;
}

static int check_content(const struct graph_file_header *h, const struct mapping *mapping,
			 const char *path, struct wnn_error *err)
{
	if (h->bytes != mapping->size)
		return refuse(err, WNN_OPERATION_ERROR, path,
			      "is damaged: it has %zu bytes, but should have %" PRIu64
			      "; copy it again, or build the graph and save it anew",
			      mapping->size, h->bytes);
	if (!parts_fit(h) || graph_file_content(h, mapping->map) != h->content_hash)
		return refuse(err, WNN_OPERATION_ERROR, path,
			      "is damaged: the checksum of its content is wrong; copy it again, or "
			      "build the graph and save it anew");
	return 0;
}

/* ---- making the graph */

static int check_policy(WNNGraph graph, const char *path, struct wnn_error *err)
{
	const WNNGraphPlacement *placement = &graph->placement;
	WNNPlacementPolicy policy = graph->context->config.policy;
	WNNNodeDevice wrong = policy == WNNPlacementPolicy_NPUOnly ? WNNNodeDevice_CPU :
								     WNNNodeDevice_NPU;

	if (policy != WNNPlacementPolicy_NPUOnly && policy != WNNPlacementPolicy_CPUOnly)
		return 0;
	for (size_t i = 0; i < placement->nodeCount; i++) {
		const WNNNodePlacement *node = &placement->nodes[i];
		const char *quote = node->label.length ? "\"" : "";
		char label[96];

		if (node->device != wrong)
			continue;
		wnn_text_printable(label, sizeof(label), node->label.data, node->label.length);
		return refuse(
			err, WNN_OPERATION_ERROR, path,
			"does not suit the placement policy: its %.*s%s%s%s%s runs on the %s; "
			"choose another policy, or build the graph and save it anew",
			(int)node->operatorName.length, node->operatorName.data, *quote ? " " : "",
			quote, label, quote, wrong == WNNNodeDevice_CPU ? "CPU" : "NPU");
	}
	return 0;
}

static int load(WNNGraph graph, const char *path, struct mapping *mapping, struct wnn_error *err)
{
	const struct graph_file_header *h = mapping->map;
	uint8_t *file = mapping->map;
	struct run_stored stored = {
		.graph = { .at = file + h->part[GRAPH_FILE_GRAPH].offset },
		.data = file + h->part[GRAPH_FILE_DATA].offset,
		.data_bytes = h->part[GRAPH_FILE_DATA].bytes,
		.code = file + h->part[GRAPH_FILE_CODE].offset,
		.code_bytes = h->part[GRAPH_FILE_CODE].bytes,
		.owner = mapping,
		.release = unmap,
	};
	struct wnn_error why = { 0 };
	static const char internal[] = "internal error, please report it: ";

	stored.graph.end = stored.graph.at + h->part[GRAPH_FILE_GRAPH].bytes;
	if (graph_read_placement(graph, &stored.graph, &why) || check_policy(graph, path, &why) ||
	    run_load(&graph->context->device, &stored, &graph->compiled, &why) ||
	    graph_describe_ports(graph, run_compiled_graph(graph->compiled), &why)) {
		if (!strncmp(why.message, "load: ", 6) ||
		    (why.status != WNN_OPERATION_ERROR && why.status != WNN_NOT_SUPPORTED)) {
			*err = why;
			return -1;
		}
		if (why.status == WNN_NOT_SUPPORTED)
			return refuse(err, why.status, path, "cannot be used: %s", why.message);
		/* The file is the cause, not the library: leave out that the error is internal. */
		return refuse(err, WNN_OPERATION_ERROR, path, "is damaged inside: %s",
			      why.message + (strncmp(why.message, internal, sizeof(internal) - 1) ?
						     0 :
						     sizeof(internal) - 1));
	}
	return 0;
}

static WNNGraph load_graph(WNNContext context, const char *path, struct wnn_error *err)
{
	struct mapping *mapping = wnn_calloc(1, sizeof(*mapping));
	struct graph_file_header here = { 0 };
	WNNGraph graph = NULL;

	if (!mapping) {
		wnn_error_nomem(err, "load");
		return NULL;
	}
	if (open_file(path, mapping, err)) {
		wnn_free(mapping);
		return NULL;
	}
	graph_file_identify(context, &here);
	if (!check_kind(mapping->map, &here, path, err) &&
	    !check_content(mapping->map, mapping, path, err) &&
	    !check_device(mapping->map, &here, path, err))
		graph = graph_create(context, err);
	if (graph && load(graph, path, mapping, err)) {
		/* The compiled graph owns the mapping once it exists. */
		if (graph->compiled)
			mapping = NULL;
		graph_abandon(graph);
		graph = NULL;
	} else if (graph) {
		mapping = NULL;
		graph_log_placement(context, &graph->placement);
		graph_link(graph);
	}
	if (mapping)
		unmap(mapping);
	return graph;
}

/* ---- the asynchronous operation */

struct load_task {
	struct timeline_task task;
	WNNContext context; /* a reference */
	char *path;
	struct request *request;
};

static void run_task(struct timeline_task *task, bool cancelled)
{
	struct load_task *load = (void *)task;
	WNNContext context = load->context;
	union request_result result = { 0 };
	struct wnn_error err = { 0 };

	if (cancelled) {
		context_check_lost(context, "loadGraph", &err);
		request_complete(load->request, &err, NULL);
	} else if (request_wanted(load->request)) {
		result.graph = load_graph(context, load->path, &err);
		if (!result.graph)
			context_fail_request(context, load->request, &err);
		else if (!request_complete(load->request, NULL, &result))
			graph_put(result.graph);
	}
	context_remove_pending(context, load->request);
	request_put(load->request);
	wnn_free(load->path);
	wnn_free(load);
	context_put(context);
}

void start_load_graph(WNNContext context, WNNStringView path, struct request *request)
{
	struct load_task *load = NULL;
	struct wnn_error err = { 0 };
	char *copy = context_check_lost(context, "loadGraph", &err) ?
			     NULL :
			     graph_file_path(path, "load", &err);

	if (copy && !(load = wnn_calloc(1, sizeof(*load))))
		wnn_error_nomem(&err, "load");
	if (!load) {
		wnn_free(copy);
		context_fail_request(context, request, &err);
		request_put(request);
		return;
	}
	*load = (struct load_task){
		.task = { .run = run_task }, .context = context, .path = copy, .request = request
	};
	context_get(context);
	context_add_pending(context, request, NULL);
	timeline_push(context->timeline, &load->task);
}
