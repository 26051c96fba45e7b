/* SPDX-License-Identifier: MIT */
/*
 * Declares PJRT's C interface, by which JAX reaches a device, from its documentation: structures,
 * and the functions of its table (slots.def). The caller says in the first member of a structure
 * how many bytes of it there are: older callers have fewer, newer ones more members.
 */
#ifndef ONPU_PJRT_H
#define ONPU_PJRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version whose functions slots.def lists. */
#define PJRT_MAJOR 0
#define PJRT_MINOR 94

struct pjrt_buffer;
struct pjrt_client;
struct pjrt_device;
struct pjrt_error;
struct pjrt_event;
struct pjrt_executable;
struct pjrt_extension;
struct pjrt_loaded;
struct pjrt_memory;

enum pjrt_code {
	PJRT_OK = 0,
	PJRT_CANCELLED = 1,
	PJRT_INVALID_ARGUMENT = 3,
	PJRT_RESOURCE_EXHAUSTED = 8,
	PJRT_FAILED_PRECONDITION = 9,
	PJRT_UNIMPLEMENTED = 12,
	PJRT_INTERNAL = 13,
};

/* The first members of an extension; the table has a list of extensions. */
struct pjrt_extension {
	size_t size;
	int kind; /* PJRT's number of what the extension is for */
	struct pjrt_extension *next;
};

#define PJRT_SHARDINGS 19 /* kind of the extension that tells how values are cut */

struct pjrt_shardings_args {
	size_t struct_size;
	struct pjrt_extension *extensions;
	struct pjrt_executable *executable;
	size_t count;
	const char *const *bytes; /* serialised OpSharding; NULL: it is not known */
	const size_t *sizes;
};

enum pjrt_value_kind {
	PJRT_STRING,
	PJRT_INTEGER,
	PJRT_INTEGERS,
	PJRT_FLOAT,
	PJRT_BOOL,
};

struct pjrt_named_value {
	size_t size;
	struct pjrt_extension *extensions;
	const char *name;
	size_t name_length;
	int kind;
	union {
		const char *string;
		int64_t integer;
		const int64_t *integers;
		float real;
		bool flag;
	};
	size_t count; /* characters of a string, numbers of a list, else 1 */
};

/* The ways in which a layout describes where elements are in memory. */
enum pjrt_layout_kind { PJRT_TILED, PJRT_STRIDES };

struct pjrt_layout {
	size_t size;
	struct pjrt_extension *extensions;
	union {
		struct {
			size_t size;
			struct pjrt_extension *extensions;
			/* the dimensions, that of neighbouring elements first */
			const int64_t *minor_to_major;
			size_t rank;
			const int64_t *tile_dims;
			const size_t *tile_ranks;
			size_t tile_count;
		} tiled;
		struct {
			size_t size;
			struct pjrt_extension *extensions;
			const int64_t *bytes;
			size_t rank;
		} strides;
	};
	int kind;
};

struct pjrt_program {
	size_t size;
	struct pjrt_extension *extensions;
	char *code;
	size_t code_size;
	const char *format;
	size_t format_length;
};

struct pjrt_execute_options {
	size_t size;
	struct pjrt_extension *extensions;
	void *send, *receive;
	size_t send_count, receive_count;
	int launch;
	const int64_t *kept; /* inputs that the caller keeps, though the program may take them */
	size_t kept_count;
};

struct pjrt_statistic {
	int64_t value;
	bool is_set;
};

/* A function that is called when an event is ready. It releases @error; NULL: success. */
typedef void (*pjrt_ready_fn)(struct pjrt_error *error, void *user);

struct pjrt_Error_Destroy_args {
	size_t size;
	struct pjrt_extension *extensions;
	struct pjrt_error *error;
};

struct pjrt_Error_Message_args {
	size_t size;
	struct pjrt_extension *extensions;
	const struct pjrt_error *error;
	const char *message;
	size_t length;
};

struct pjrt_Error_GetCode_args {
	size_t size;
	struct pjrt_extension *extensions;
	const struct pjrt_error *error;
	int code;
};

#define HAVE(name, last, ...)                      \
	struct pjrt_##name##_args {                \
		size_t struct_size;                \
		struct pjrt_extension *extensions; \
		__VA_ARGS__                        \
	};
#define LACK(name)
#include "slots.def"
#undef HAVE
#undef LACK

/* The table that GetPjrtApi() returns. */
struct pjrt_api {
	size_t size;
	struct pjrt_extension *extensions;
	struct {
		size_t size;
		struct pjrt_extension *extensions;
		int major, minor;
	} version;
	void (*Error_Destroy)(struct pjrt_Error_Destroy_args *args);
	void (*Error_Message)(struct pjrt_Error_Message_args *args);
	struct pjrt_error *(*Error_GetCode)(struct pjrt_Error_GetCode_args *args);
#define HAVE(name, last, ...) struct pjrt_error *(*name)(struct pjrt_##name##_args * args);
#define LACK(name)	      struct pjrt_error *(*name)(void *args);
#include "slots.def"
#undef HAVE
#undef LACK
};

/* Whether the caller's structure has a member. */
#define PJRT_HAS(args, member) \
	((args)->struct_size >= offsetof(__typeof__(*(args)), member) + sizeof((args)->member))

/* PJRT_HAS() for a structure whose first member has another name. */
#define PJRT_FROM(options, member) \
	((options)->size >= offsetof(__typeof__(*(options)), member) + sizeof((options)->member))

/*
 * Clears a member and all members after it, including those of a newer caller that are not declared
 * here.
 */
#define PJRT_CLEAR_FROM(args, member)                                                     \
	do {                                                                              \
		size_t start_ = offsetof(__typeof__(*(args)), member);                    \
		if ((args)->struct_size > start_)                                         \
			memset((char *)(args) + start_, 0, (args)->struct_size - start_); \
	} while (0)

#endif
