// SPDX-License-Identifier: MIT
/* A hash table of names, types of elements, and helpers for reading graphs. */
#include <string.h>

#include "read.h"

static uint64_t hash(WNNStringView name)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < name.length; i++)
		sum = (sum ^ (uint8_t)name.data[i]) * UINT64_C(0x100000001b3);
	return sum ^ sum >> 32;
}

int onpu_names_begin(struct onpu_names *names, struct import_chunk **chunks, size_t count)
{
	names->room = 16;
	while (names->room < count)
		names->room *= 2;
	names->buckets = import_chunks_take(chunks, names->room * sizeof(*names->buckets), 0);
	return names->buckets ? 0 : -1;
}

size_t onpu_names_get(const struct onpu_names *names, WNNStringView name)
{
	const struct onpu_name *entry = names->buckets[hash(name) & (names->room - 1)];

	for (; entry; entry = entry->next)
		if (entry->name.length == name.length &&
		    (!name.length || !memcmp(entry->name.data, name.data, name.length)))
			return entry->number;
	return SIZE_MAX;
}

int onpu_names_set(struct onpu_names *names, struct import_chunk **chunks, WNNStringView name,
		   size_t number)
{
	struct onpu_name **bucket = &names->buckets[hash(name) & (names->room - 1)];
	struct onpu_name *entry = import_chunks_take(chunks, sizeof(*entry), 0);

	if (!entry)
		return -1;
	*entry = (struct onpu_name){ name, number, *bucket };
	*bucket = entry;
	return 0;
}

void *onpu_take(const struct onpu_reading *reading, size_t size)
{
	return import_chunks_take(reading->chunks, size + 1, 0);
}

WNNStringView onpu_view(const struct onpu_reading *reading, const char *text)
{
	size_t length = text ? strlen(text) : 0;
	char *copy = onpu_take(reading, length);

	if (copy && length)
		memcpy(copy, text, length);
	return (WNNStringView){ copy ? copy : "", copy ? length : 0 };
}

size_t onpu_type_bytes(int type, size_t elements)
{
	/* Bits of an element, by TensorProto.DataType. */
	static const uint8_t bits[] = { 0,  32, 8,  8,	 16, 16, 32, 64, 0, 8, 16, 64,
					32, 64, 64, 128, 16, 8,	 8,  8,	 8, 4, 4,  4 };

	if (type < 0 || (size_t)type >= sizeof(bits) || !bits[type])
		return SIZE_MAX;
	return (elements * bits[type] + 7) / 8;
}

/*
 * The types of the library whose elements have the same bytes as those of a TensorProto.DataType;
 * has_type tells the items that are set, as a type of the library may be 0.
 */
static const struct {
	bool has_type;
	WNNOperandDataType type;
} webnn_types[] = {
	[1] = { true, WNNOperandDataType_Float32 },
	[2] = { true, WNNOperandDataType_Uint8 },
	[3] = { true, WNNOperandDataType_Int8 },
	[6] = { true, WNNOperandDataType_Int32 },
	[7] = { true, WNNOperandDataType_Int64 },
	[9] = { true, WNNOperandDataType_Uint8 }, /* bool */
	[10] = { true, WNNOperandDataType_Float16 },
	[12] = { true, WNNOperandDataType_Uint32 },
	[13] = { true, WNNOperandDataType_Uint64 },
	[21] = { true, WNNOperandDataType_Uint4 },
	[22] = { true, WNNOperandDataType_Int4 },
};

bool onpu_is_webnn_type(int type)
{
	return type >= 0 && (size_t)type < sizeof(webnn_types) / sizeof(webnn_types[0]) &&
	       webnn_types[type].has_type;
}

bool onpu_is_type(int type, WNNOperandDataType webnn)
{
	return onpu_is_webnn_type(type) && webnn_types[type].type == webnn;
}
