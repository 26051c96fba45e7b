/* SPDX-License-Identifier: MIT */
/* The objects of the plugin. A client has devices of one kind; buffers are memory of the host. */
#ifndef ONPU_PLUGIN_H
#define ONPU_PLUGIN_H

#include <pthread.h>
#include <stdatomic.h>
#include <webnn/stablehlo.h>
#include <webnn/webnn_npu.h>

#include "pjrt.h"

#define ONPU_PLATFORM "onpu"

#define ONPU_MAX_RANK	 64
#define ONPU_MAX_DEVICES 8

struct pjrt_error {
	int code;
	bool is_static; /* the error that stands for exhausted memory; it is not freed */
	size_t length;
	const char *text;
	char own[];
};

/*
 * The memories of a device: both are memory of the host. The first is the default; programs that
 * offload values name the second.
 */
enum onpu_memory_kind { ONPU_DEVICE, ONPU_PINNED_HOST, ONPU_MEMORY_KINDS };

struct pjrt_memory {
	struct pjrt_device *device;
	enum onpu_memory_kind kind;
	char debug[64], text[64];
};

struct pjrt_device {
	struct pjrt_client *client;
	int id; /* its number in the client */
	WNNContext context;
	struct pjrt_device *self; /* list of one device */
	struct pjrt_memory memory[ONPU_MEMORY_KINDS], *memories[ONPU_MEMORY_KINDS];
	char kind[64], debug[160], text[32];
	/*
	 * These count the memory ONPU_DEVICE alone. used, peak: bytes of all buffers now, and at
	 * most so far; largest: bytes of the largest one; number of allocations
	 */
	atomic_int_least64_t used, peak, largest, allocations;
};

/*
 * The client is its topology, too. Whatever refers to it, such as a buffer, keeps a reference, since
 * callers destroy a client before its buffers.
 */
struct pjrt_client {
	atomic_size_t refs;
	WNNInstance instance;
	char version[512];
	size_t count;
	struct pjrt_device device[ONPU_MAX_DEVICES], *devices[ONPU_MAX_DEVICES];
	struct pjrt_memory *memories[ONPU_MAX_DEVICES * ONPU_MEMORY_KINDS];
	char *cache_dir; /* the folder of compiled graphs; NULL: there is none */
};

/* The elements of a buffer; runs and external references may have them after it is deleted. */
struct onpu_block {
	atomic_size_t refs;
	struct pjrt_memory *memory;
	size_t size;
	_Alignas(64) unsigned char data[];
};

struct pjrt_buffer {
	struct pjrt_memory *memory;
	const struct onpu_type *type;
	size_t rank;
	pthread_mutex_t lock;
	struct onpu_block *block; /* NULL: deleted; protected by lock */
	size_t external;	  /* number of external references; protected by lock */
	struct onpu_block *lent;  /* the block that external references use; protected by lock */
	int64_t *minor_to_major;  /* rank numbers, after dims */
	int64_t dims[];
};

/* The devices that the options of a compilation ask for. */
struct onpu_wanted {
	uint64_t replicas, partitions;
	/* the device of replica r, partition p is devices[r * partitions + p] */
	int devices[ONPU_MAX_DEVICES];
	bool is_portable; /* the caller of each run chooses the device */
};

/* Whether an input is given away to the run, and to which output; see WNNStablehloDonation. */
struct onpu_donation {
	WNNStablehloDonation kind;
	size_t output;
};

/* A compiled program, the same for all that load it. */
struct pjrt_executable {
	atomic_size_t refs;
	struct pjrt_client *client;
	struct onpu_wanted wanted;
	size_t device_count;
	struct pjrt_device *devices[ONPU_MAX_DEVICES];
	pthread_mutex_t lock; /* a program runs once at a time */
	WNNStablehloProgram program;
	WNNStablehloValueInfoArray inputs, outputs;
	const struct onpu_type **input_types;
	struct onpu_donation *donations; /* one for each input */
	/* how inputs and outputs are cut, as protocol buffers; NULL: there is one partition */
	struct onpu_shardings *shardings[2];
	char name[48], fingerprint[33];
	char *code, *options, *assignment; /* the last as a DeviceAssignmentProto */
	size_t code_size, options_size, assignment_size;
	/* a list for each property of the outputs that a caller can ask for */
	int *types;
	int64_t *dims;
	size_t *ranks, *kind_lengths;
	const char **kinds;
	enum onpu_memory_kind *memories;
	int64_t input_bytes, output_bytes, donated_bytes;
	struct pjrt_named_value costs[1];
};

struct pjrt_loaded {
	struct pjrt_executable *executable;
	atomic_bool is_deleted;
};

/* An element type of PJRT and of StableHLO. */
struct onpu_type {
	int number;
	const char *name;
	size_t size; /* bytes of an element */
};

/* types.c: both return NULL for a type that does not exist in the other interface. */
const struct onpu_type *onpu_type_by_number(int number);
const struct onpu_type *onpu_type_of(const WNNStablehloValueInfo *info);

/* error.c: errors with a message; never NULL. */
struct pjrt_error *onpu_error(int code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
struct pjrt_error *onpu_nomem(void);
/*
 * Return an error with this thread's last message of libwebnn-npu and libwebnn-stablehlo, after
 * what has failed.
 */
struct pjrt_error *onpu_webnn_error(const char *what);
struct pjrt_error *onpu_stablehlo_error(WNNStatus status, const char *what);
void onpu_error_free(struct pjrt_error *error);

/* device.c: does nothing; it is the release function for memory that the plugin keeps. */
void onpu_release_nothing(void *owner);

/* event.c: returns an event that is ready; NULL: memory is exhausted. */
struct pjrt_event *onpu_event_ready(void);
void onpu_event_free(struct pjrt_event *event);

/* client.c */
extern const char *const onpu_memory_kinds[ONPU_MEMORY_KINDS];
void onpu_client_put(struct pjrt_client *client);
struct pjrt_client *onpu_client_get(struct pjrt_client *client);
/* Returns a named value for texts that live as long as the library. */
struct pjrt_named_value onpu_value_text(const char *name, const char *text);

/*
 * buffer.c: creates a buffer with memory for its elements, or returns an error. @block: that
 * memory, of the right size, to which the buffer takes a reference; NULL: the buffer gets new
 * memory.
 */
struct pjrt_error *onpu_buffer_create(struct pjrt_memory *memory, const struct onpu_type *type,
				      size_t rank, const int64_t *dims, struct onpu_block *block,
				      struct pjrt_buffer **buffer);
void onpu_buffer_free(struct pjrt_buffer *buffer);
/* Takes the elements, which onpu_block_put() gives back; NULL: the buffer is deleted. */
struct onpu_block *onpu_buffer_take(struct pjrt_buffer *buffer);
void onpu_block_put(struct onpu_block *block);
/* Deletes a buffer whose elements were given away, unless a caller has an external reference. */
void onpu_buffer_give(struct pjrt_buffer *buffer);

/*
 * layout.c: fills in the bytes from an element to the next along each dimension, for row-major
 * elements and for those of a caller's layout. onpu_strides_read() returns NULL, or an error for a
 * layout that is not supported.
 */
void onpu_strides_dense(size_t rank, const int64_t *dims, size_t element, int64_t *strides);
struct pjrt_error *onpu_strides_read(const struct pjrt_layout *layout, size_t rank,
				     const int64_t *dims, size_t element, int64_t *strides);
/* Copies elements of @element bytes each from one layout to another. */
void onpu_copy(size_t rank, const int64_t *dims, size_t element, void *to,
	       const int64_t *to_strides, const void *from, const int64_t *from_strides);

/*
 * options.c: fills @wanted from the serialised options. Returns NULL; an error: the options are
 * damaged, or ask for what the client does not have.
 */
struct pjrt_error *onpu_options_read(const struct pjrt_client *client, const char *options,
				     size_t size, struct onpu_wanted *wanted);

/* Fields of DeviceAssignmentProto, which options.c reads and protocol.c writes. */
enum {
	ONPU_ASSIGNMENT_REPLICAS = 1,
	ONPU_ASSIGNMENT_PARTITIONS = 2,
	ONPU_ASSIGNMENT_COLUMN = 3,
	ONPU_COLUMN_IDS = 1,
};

/*
 * protocol.c: writes protocol buffers. The functions below return NULL when memory is exhausted;
 * free() frees the results.
 */
struct onpu_shardings {
	size_t count;
	const char **bytes;
	size_t *sizes;
};
struct onpu_shardings *onpu_shardings_new(const struct pjrt_executable *executable, bool outputs);
char *onpu_assignment_new(const struct onpu_wanted *wanted, size_t *size);

/* The extension by which JAX asks how values are cut. */
extern struct onpu_shardings_extension {
	struct pjrt_extension base;
	struct pjrt_error *(*inputs)(struct pjrt_shardings_args *args);
	struct pjrt_error *(*outputs)(struct pjrt_shardings_args *args);
} onpu_shardings_extension;

/*
 * executable.c: compiles a program, sets *loaded and returns NULL; or returns an error. The options
 * are a serialised CompileOptionsProto; the caller keeps @code and @options.
 */
struct pjrt_error *onpu_compile(struct pjrt_client *client, const char *code, size_t code_size,
				const char *options, size_t options_size,
				struct pjrt_loaded **loaded);
void onpu_executable_put(struct pjrt_executable *executable);

#define HAVE(name, last, ...) struct pjrt_error *onpu_##name(struct pjrt_##name##_args *args);
#define LACK(name)
#include "slots.def"
#undef HAVE
#undef LACK

#endif
