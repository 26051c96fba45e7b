// SPDX-License-Identifier: MIT
/* wnnGraphSave, and the functions that saving and loading have in common. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/graph_file.h"
#include "graph/label.h"
#include "ir/binary.h"
#include "onpu/slots.h"
#include "run/store.h"
#include "util/malloc.h"
#include "util/number.h"
#include "util/printable.h"

#define ATTEMPTS 100 /* attempts to find a name for the temporary file */

/* ---- identification of library and device */

/*
 * Returns a hash of the capabilities on which programs depend; the clock and the number of queues
 * are not among them.
 */
static uint64_t hash_device(WNNContext context)
{
	const struct npu_caps *caps = &context->caps;
	const uint32_t numbers[] = {
		context->accelerated, caps->sram_bytes,		 caps->lanes,	  caps->mxu_rows,
		caps->mxu_cols,	      caps->fifo_depth,		 caps->max_slots, caps->features,
		ONPU_MAX_SLOTS,	      caps->dma_bytes_per_cycle,
	};
	char machine[sizeof(caps->machine)] = "";

	memcpy(machine, caps->machine, strnlen(caps->machine, sizeof(machine)));
	return wnn_checksum(wnn_checksum(1, numbers, sizeof(numbers)), machine, sizeof(machine));
}

/* Copies a text to a field of the header, which is filled with zeros; cuts what does not fit. */
static void set_text(char *to, size_t size, const char *text, size_t length)
{
	memcpy(to, text, length < size - 1 ? length : size - 1);
}

void graph_file_identify(WNNContext context, struct graph_file_header *header)
{
	WNNVersion version = WNN_VERSION_INIT;
	const char *machine = context->accelerated ? context->caps.machine : "cpu";
	const char *packing = cpu_pack_form(context->device.cpu);

	wnnGetVersion(&version);
	memcpy(header->magic, GRAPH_FILE_MAGIC, sizeof(header->magic));
	header->format = GRAPH_FILE_FORMAT;
	header->header_bytes = sizeof(*header);
	set_text(header->version, sizeof(header->version), version.text.data, version.text.length);
	set_text(header->machine, sizeof(header->machine), machine, strlen(machine));
	set_text(header->packing, sizeof(header->packing), packing, strlen(packing));
	header->sram_bytes = context->caps.sram_bytes;
	/*
	 * Only programs of the NPU differ with the option: the CPU can measure the times of any
	 * graph.
	 */
	header->profile = context->accelerated && context->config.profile;
	header->isa_major = context->accelerated ? ONPU_ISA_MAJOR : 0;
	header->form_hash = ir_binary_form();
	header->device_hash = hash_device(context);
}

uint64_t graph_file_content(const struct graph_file_header *header, const uint8_t *file)
{
	uint64_t hash = 2;

	for (int i = 0; i < GRAPH_FILE_PARTS; i++)
		hash = wnn_checksum(hash, file + header->part[i].offset, header->part[i].bytes);
	return hash;
}

uint64_t graph_file_checksum(const struct graph_file_header *header)
{
	return wnn_checksum(3, header, offsetof(struct graph_file_header, checksum));
}

char *graph_file_path(WNNStringView path, const char *what, struct wnn_error *err)
{
	size_t length = wnn_view_length(&path);
	char *copy = NULL;

	if (!length)
		wnn_error_set(err, WNN_TYPE_ERROR, "%s: the path is empty", what);
	else if (memchr(path.data, 0, length))
		wnn_error_set(err, WNN_TYPE_ERROR, "%s: the path has a NUL in it", what);
	else if (!(copy = wnn_strndup(path.data, length)))
		wnn_error_nomem(err, what);
	return copy;
}

/* ---- writing */

struct target {
	const char *path;
	char *beside; /* name of the temporary file until it is complete */
	int fd;
	uint64_t at;
};

static int fail(const struct target *t, const char *what, struct wnn_error *err)
{
	int error = errno;
	char name[256];

	wnn_text_printable(name, sizeof(name), t->path, strlen(t->path));
	return wnn_error_set(err, WNN_OPERATION_ERROR, "save: \"%s\" cannot be %s: %s", name, what,
			     strerror(error));
}

/*
 * Opens a temporary file in the folder of the target, so that renaming it replaces the target in
 * one step. Refuses a target that is a device or the like. Returns 0 or -1.
 */
static int open_beside(struct target *t, struct wnn_error *err)
{
	static atomic_uint count;
	size_t size = strlen(t->path) + 48;
	char name[256];
	struct stat status;

	if (!stat(t->path, &status) && !S_ISREG(status.st_mode)) {
		wnn_text_printable(name, sizeof(name), t->path, strlen(t->path));
		return wnn_error_set(err, WNN_OPERATION_ERROR,
				     "save: \"%s\" cannot be replaced: it is not a regular file",
				     name);
	}
	t->beside = wnn_malloc(size);
	if (!t->beside)
		return wnn_error_nomem(err, "save");
	for (int i = 0; i < ATTEMPTS && t->fd < 0; i++) {
		snprintf(t->beside, size, "%s.%ld-%u.part", t->path, (long)getpid(),
			 atomic_fetch_add(&count, 1));
		t->fd = open(t->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (t->fd < 0 && errno != EEXIST)
			break;
	}
	return t->fd < 0 ? fail(t, "made", err) : 0;
}

static int write_all(struct target *t, const void *data, size_t size, struct wnn_error *err)
{
	const uint8_t *from = data;

	for (ssize_t done; size; size -= (size_t)done, from += done, t->at += (uint64_t)done) {
		done = write(t->fd, from, size);
		if (done < 0 && errno == EINTR)
			done = 0;
		if (done < 0)
			return fail(t, "written", err);
	}
	return 0;
}

static int write_zeros(struct target *t, uint64_t until, struct wnn_error *err)
{
	static const uint8_t zeros[GRAPH_FILE_PAGE];

	while (t->at < until) {
		uint64_t missing = until - t->at;

		if (write_all(t, zeros, missing < sizeof(zeros) ? missing : sizeof(zeros), err))
			return -1;
	}
	return 0;
}

/* Writes the header and the sections, each at its offset. Returns 0 or -1. */
static int write_parts(struct target *t, const struct graph_file_header *header,
		       const void *const *part, struct wnn_error *err)
{
	if (write_all(t, header, sizeof(*header), err))
		return -1;
	for (int i = 0; i < GRAPH_FILE_PARTS; i++)
		if (write_zeros(t, header->part[i].offset, err) ||
		    write_all(t, part[i], header->part[i].bytes, err))
			return -1;
	return write_zeros(t, header->bytes, err);
}

static int write_file(struct target *t, const struct graph_file_header *header,
		      const void *const *part, struct wnn_error *err)
{
	int ret;

	if (open_beside(t, err))
		return -1;
	ret = write_parts(t, header, part, err);
	if (close(t->fd) && !ret)
		ret = fail(t, "written", err);
	if (!ret && rename(t->beside, t->path))
		ret = fail(t, "replaced", err);
	if (ret)
		unlink(t->beside);
	return ret;
}

static void lay_out(struct graph_file_header *header, const struct run_image *image,
		    const void **part)
{
	const uint64_t bytes[] = { image->graph.size, image->data.size, image->code_bytes };
	uint64_t at = sizeof(*header);

	part[GRAPH_FILE_GRAPH] = image->graph.data;
	part[GRAPH_FILE_DATA] = image->data.data;
	part[GRAPH_FILE_CODE] = image->code;
	header->content_hash = 2;
	for (int i = 0; i < GRAPH_FILE_PARTS; i++) {
		at = wnn_align_up(at, GRAPH_FILE_PAGE);
		header->part[i].offset = at;
		header->part[i].bytes = bytes[i];
		header->content_hash = wnn_checksum(header->content_hash, part[i], bytes[i]);
		at += bytes[i];
	}
	header->bytes = wnn_align_up(at, GRAPH_FILE_PAGE);
	header->checksum = graph_file_checksum(header);
}

static int save(WNNGraph graph, const char *path, struct wnn_error *err)
{
	struct run_compiled *compiled = graph_compiled(graph, "wnnGraphSave", err);
	struct target target = { .path = path, .fd = -1 };
	struct graph_file_header header = { 0 };
	struct run_image image = { 0 };
	const void *part[GRAPH_FILE_PARTS];
	int ret;

	if (!compiled)
		return -1;
	if (graph->family) {
		run_compiled_unref(compiled);
		return wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"save: the graph%s has dimensions that are known only at "
			"dispatch; a file holds what is compiled for one size. Build it "
			"with numbers to save it",
			object_label_text(&graph->label));
	}
	graph_file_identify(graph->context, &header);
	graph_write_placement(graph, &image.graph);
	ret = run_save(compiled, &image, err);
	if (!ret) {
		lay_out(&header, &image, part);
		ret = write_file(&target, &header, part, err);
	}
	run_image_release(&image);
	run_compiled_unref(compiled);
	wnn_free(target.beside);
	return ret;
}

WNNStatus wnnGraphSave(WNNGraph graph, WNNStringView path)
{
	struct wnn_error err = { 0 };
	char *copy;
	int ret;

	if (!api_check(graph, "wnnGraphSave", "graph"))
		return wnnGetLastError(NULL);
	copy = graph_file_path(path, "save", &err);
	ret = copy ? save(graph, copy, &err) : -1;
	wnn_free(copy);
	return ret ? api_error(&err) : WNNStatus_Success;
}
