// SPDX-License-Identifier: MIT
/*
 * Reads the options of a compilation, a serialised protocol buffer: whether arguments come as a
 * tuple, how many replicas and partitions there are, on which devices they run, and the names of
 * further options.
 */
#include <string.h>

#include "plugin.h"

/* Fields of CompileOptionsProto and ExecutableBuildOptionsProto. */
enum {
	OPTIONS_TUPLED = 2,
	OPTIONS_BUILD = 3,
	OPTIONS_PORTABLE = 4,
	OPTIONS_OVERRIDES = 7,
	OVERRIDE_NAME = 1,
	BUILD_REPLICAS = 4,
	BUILD_PARTITIONS = 5,
	BUILD_DEVICES = 9,
};

struct bytes {
	const unsigned char *at, *end;
	bool is_wrong;
};

struct field {
	uint64_t number;
	int wire;
	uint64_t value;	     /* value of a field that is a number */
	struct bytes inside; /* contents of a field that is a text or a message */
};

/* The options that are read so far. */
struct options {
	struct onpu_wanted wanted;
	uint64_t columns, rows; /* of the device assignment; rows of the last column */
	bool is_uneven;		/* columns have different numbers of rows */
	uint64_t ids[ONPU_MAX_DEVICES][ONPU_MAX_DEVICES];
	bool is_large; /* the assignment has more devices than a client may have */
	bool is_tupled;
	struct bytes unknown; /* name of an option that XLA lacks; .at is NULL: there is none */
};

static uint64_t read_varint(struct bytes *b)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		if (b->at == b->end)
			break;
		value |= (uint64_t)(*b->at & 0x7f) << shift;
		if (!(*b->at++ & 0x80))
			return value;
	}
	b->is_wrong = true;
	b->at = b->end;
	return 0;
}

/* Reads the next field; false: the bytes have ended, or are no field. */
static bool next_field(struct bytes *b, struct field *field)
{
	uint64_t tag, size = 0;

	if (b->at == b->end)
		return false;
	tag = read_varint(b);
	*field = (struct field){ .number = tag >> 3, .wire = (int)(tag & 7) };
	switch (field->wire) {
	case 0:
		field->value = read_varint(b);
		return !b->is_wrong;
	case 1:
		size = 8;
		break;
	case 2:
		size = read_varint(b);
		break;
	case 5:
		size = 4;
		break;
	default:
		b->is_wrong = true;
	}
	if (b->is_wrong || size > (uint64_t)(b->end - b->at)) {
		b->is_wrong = true;
		return false;
	}
	field->inside = (struct bytes){ b->at, b->at + size, false };
	b->at += size;
	return true;
}

static void add_id(struct options *options, uint64_t id)
{
	if (options->columns >= ONPU_MAX_DEVICES || options->rows >= ONPU_MAX_DEVICES)
		options->is_large = true;
	else
		options->ids[options->columns][options->rows++] = id;
}

/*
 * Adds the ids of a computation's devices to the options, and sets options->rows to their number;
 * the file has them one by one or packed. Sets options->is_uneven when the column before had
 * another number. Returns false for damaged bytes.
 */
static bool read_column(struct bytes b, struct options *options)
{
	const uint64_t before = options->rows;
	struct field field;

	options->rows = 0;
	while (next_field(&b, &field)) {
		if (field.number != ONPU_COLUMN_IDS)
			continue;
		if (field.wire == 0)
			add_id(options, field.value);
		while (field.wire == 2 && field.inside.at != field.inside.end)
			add_id(options, read_varint(&field.inside));
		if (field.inside.is_wrong)
			return false;
	}
	if (options->columns++ && options->rows != before)
		options->is_uneven = true;
	return !b.is_wrong;
}

static bool read_devices(struct bytes b, struct options *options)
{
	struct field field;

	options->columns = 0;
	options->is_uneven = false;
	while (next_field(&b, &field))
		if (field.number == ONPU_ASSIGNMENT_COLUMN && field.wire == 2 &&
		    !read_column(field.inside, options))
			return false;
	return !b.is_wrong;
}

static bool read_build(struct bytes b, struct options *options)
{
	struct field field;

	while (next_field(&b, &field)) {
		if (field.number == BUILD_REPLICAS && field.wire == 0)
			options->wanted.replicas = field.value;
		if (field.number == BUILD_PARTITIONS && field.wire == 0)
			options->wanted.partitions = field.value;
		if (field.number == BUILD_DEVICES && field.wire == 2 &&
		    !read_devices(field.inside, options))
			return false;
	}
	return !b.is_wrong;
}

/*
 * Whether XLA has an option of this name. None of these options matters here: programs set them for
 * other platforms.
 */
static bool is_of_xla(struct bytes name)
{
	static const char *const known[] = { "xla_", "optimization_level", "memory_fitting_level",
					     "exec_time_optimization_effort",
					     "memory_fitting_effort" };
	size_t length = (size_t)(name.end - name.at);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t least = strlen(known[i]);

		if (length >= least && !memcmp(name.at, known[i], least))
			return true;
	}
	return false;
}

/*
 * Reads an option of jit(compiler_options=...); keeps the first name that XLA does not have.
 * Returns false for damaged bytes.
 */
static bool read_override(struct bytes b, struct options *options)
{
	struct field field;

	while (next_field(&b, &field))
		if (field.number == OVERRIDE_NAME && field.wire == 2 && !options->unknown.at &&
		    !is_of_xla(field.inside))
			options->unknown = field.inside;
	return !b.is_wrong;
}

/*
 * Sets the devices of all processes: those of the assignment, else the first ones. Returns NULL; an
 * error: the client has too few devices, or the assignment does not fit.
 */
static struct pjrt_error *choose(const struct pjrt_client *client, struct options *options)
{
	struct onpu_wanted *wanted = &options->wanted;
	uint64_t count;

	if (options->is_large)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the options assign more than %d replicas or %d partitions "
				  "to devices; a client has at most %d devices",
				  ONPU_MAX_DEVICES, ONPU_MAX_DEVICES, ONPU_MAX_DEVICES);
	if (!wanted->replicas || !wanted->partitions ||
	    __builtin_mul_overflow(wanted->replicas, wanted->partitions, &count) ||
	    count > client->count)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the program is for %llu replicas of %llu partitions; the "
				  "client has %zu devices; its option count, or else the "
				  "environment variable ONPU_PJRT_COUNT, says how many, at most %d",
				  (unsigned long long)wanted->replicas,
				  (unsigned long long)wanted->partitions, client->count,
				  ONPU_MAX_DEVICES);
	if (options->columns && (options->columns != wanted->partitions ||
				 options->rows != wanted->replicas || options->is_uneven))
		return onpu_error(
			PJRT_INVALID_ARGUMENT,
			"onpu: the options ask for %llu replicas of %llu partitions, but "
			"assign devices to %llu of %llu%s",
			(unsigned long long)wanted->replicas,
			(unsigned long long)wanted->partitions, (unsigned long long)options->rows,
			(unsigned long long)options->columns,
			options->is_uneven ? "; all partitions must have as many replicas" : "");
	for (uint64_t i = 0; i < count; i++) {
		uint64_t id = options->columns ?
				      options->ids[i % wanted->partitions][i / wanted->partitions] :
				      i;

		if (id >= client->count)
			return onpu_error(
				PJRT_INVALID_ARGUMENT,
				"onpu: the program is for device %llu; the client has 0 to "
				"%zu",
				(unsigned long long)id, client->count - 1);
		for (uint64_t k = 0; k < i; k++)
			if (wanted->devices[k] == (int)id)
				return onpu_error(PJRT_INVALID_ARGUMENT,
						  "onpu: the program is for device %llu twice",
						  (unsigned long long)id);
		wanted->devices[i] = (int)id;
	}
	return NULL;
}

struct pjrt_error *onpu_options_read(const struct pjrt_client *client, const char *bytes,
				     size_t size, struct onpu_wanted *wanted)
{
	struct bytes b = { (const unsigned char *)bytes, (const unsigned char *)bytes + size,
			   false };
	struct options options = { .wanted = { .replicas = 1, .partitions = 1 } };
	struct pjrt_error *error;
	struct field field;

	while (next_field(&b, &field)) {
		if (field.number == OPTIONS_TUPLED && field.wire == 0)
			options.is_tupled = field.value;
		if (field.number == OPTIONS_PORTABLE && field.wire == 0)
			options.wanted.is_portable = field.value;
		if (field.number == OPTIONS_BUILD && field.wire == 2 &&
		    !read_build(field.inside, &options))
			b.is_wrong = true;
		if (field.number == OPTIONS_OVERRIDES && field.wire == 2 &&
		    !read_override(field.inside, &options))
			b.is_wrong = true;
	}
	if (b.is_wrong)
		return onpu_error(
			PJRT_INVALID_ARGUMENT,
			"onpu: the options of the compilation are no CompileOptionsProto");
	if (options.unknown.at) {
		size_t length = (size_t)(options.unknown.end - options.unknown.at);

		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: No such compile option: '%.*s'; there are none but those "
				  "of XLA, which have no effect",
				  (int)(length < 200 ? length : 200),
				  (const char *)options.unknown.at);
	}
	if (options.is_tupled)
		return onpu_error(PJRT_UNIMPLEMENTED,
				  "onpu: arguments in a tuple are not implemented");
	error = choose(client, &options);
	*wanted = options.wanted;
	return error;
}
