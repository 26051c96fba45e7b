/* SPDX-License-Identifier: MIT */
/*
 * Files of compiled graphs: a header, then three sections that begin at page boundaries: the
 * description of the graph, the data of CPU nodes, and the programs of the NPU with their
 * constants. graph_save.c writes them, graph_load.c reads them.
 */
#ifndef WNN_API_GRAPH_FILE_H
#define WNN_API_GRAPH_FILE_H

#include "api/graph.h"

#define GRAPH_FILE_MAGIC  "WNNGRAPH"
#define GRAPH_FILE_FORMAT 8
#define GRAPH_FILE_PAGE	  UINT64_C(4096)

enum graph_file_part { GRAPH_FILE_GRAPH, GRAPH_FILE_DATA, GRAPH_FILE_CODE, GRAPH_FILE_PARTS };

struct graph_file_header {
	char magic[8];
	uint32_t format, header_bytes;
	char version[16]; /* version of the library */
	/*
	 * The next two members are only for messages; the members after them decide whether the
	 * file fits.
	 */
	char machine[32]; /* "cpu" without an NPU */
	uint64_t sram_bytes;
	char packing[48];     /* layout of the packed operands of CPU nodes */
	uint32_t profile;     /* whether the programs write time stamps */
	uint32_t isa_major;   /* version of the programs' instruction set; 0 without an NPU */
	uint64_t form_hash;   /* hash of the library's structures */
	uint64_t device_hash; /* hash of the device's capabilities */
	uint64_t bytes;	      /* bytes of the file */
	struct {
		uint64_t offset, bytes;
	} part[GRAPH_FILE_PARTS];
	uint64_t content_hash;
	uint64_t checksum; /* checksum of all members before */
};

/* Fills in the members that depend on the library, the device and the context's options alone. */
void graph_file_identify(WNNContext context, struct graph_file_header *header);
/*
 * Return the hash of the sections of a file, which begins at `file`, and the checksum of a header.
 */
uint64_t graph_file_content(const struct graph_file_header *header, const uint8_t *file);
uint64_t graph_file_checksum(const struct graph_file_header *header);

/*
 * Returns the path as a C string, which the caller frees with wnn_free(); NULL with *err. @what:
 * "save" or "load".
 */
char *graph_file_path(WNNStringView path, const char *what, struct wnn_error *err);

#endif
