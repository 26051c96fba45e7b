// SPDX-License-Identifier: MIT
/*
 * Moves elements on the host: rows of a cache and copies into strides, because graphs of WebNN do
 * not update inputs in place here, and rows of quantised tables, which become floats.
 */
#include <string.h>

#include "emit.h"

static bool is_plain(const struct gg_tensor *tensor)
{
	enum onpu_type type = onpu_type_of(tensor);

	return type == TYPE_F32 || type == TYPE_F16;
}

bool onpu_can_move(const struct gg_tensor *op)
{
	const char *name = base.op_name(op->op);
	const struct gg_tensor *from = op->src[0];

	if (!strcmp(name, "SET_ROWS")) {
		enum onpu_type index = onpu_type_of(op->src[1]);

		return is_plain(op) && onpu_type_of(from) == TYPE_F32 &&
		       from->nb[0] == sizeof(float) &&
		       op->nb[0] == wnnOperandDataTypeGetSize(onpu_data_type(op)) &&
		       (index == TYPE_I64 || index == TYPE_I32);
	}
	if (!strcmp(name, "GET_ROWS"))
		return onpu_data_type(from) == WNNOperandDataType_Undefined &&
		       base.get_type_traits(from->type)->to_float && onpu_type_of(op) == TYPE_F32 &&
		       op->nb[0] == sizeof(float) && onpu_type_of(op->src[1]) == TYPE_I32;
	if (!strcmp(name, "CPY"))
		return !onpu_is_contiguous(op) && is_plain(op) && is_plain(from) &&
		       !memcmp(op->ne, from->ne, sizeof(op->ne));
	return false;
}

static char *at(const struct gg_tensor *tensor, int64_t i1, int64_t i2, int64_t i3)
{
	return (char *)tensor->data + (size_t)i1 * tensor->nb[1] + (size_t)i2 * tensor->nb[2] +
	       (size_t)i3 * tensor->nb[3];
}

static int fail_row(const struct gg_tensor *op, int64_t row, int64_t rows)
{
	onpu_say("%s %s: row %lld is not one of the %lld rows", base.op_name(op->op), op->name,
		 (long long)row, (long long)rows);
	return -1;
}

/*
 * Reads rows of a quantised table as floats; each batch of indices has a table of its own. Returns
 * 0, or -1 after onpu_say(): an index is outside of the table.
 */
static int get_rows(const struct gg_tensor *op)
{
	const struct gg_tensor *table = op->src[0], *rows = op->src[1];
	const struct gg_type_traits *traits = base.get_type_traits(table->type);

	for (int64_t i = 0; i < rows->ne[0] * rows->ne[1] * rows->ne[2]; i++) {
		int64_t i0 = i % rows->ne[0], i1 = i / rows->ne[0] % rows->ne[1];
		int64_t i2 = i / rows->ne[0] / rows->ne[1];
		int32_t row = *(const int32_t *)(const void *)(at(rows, i1, i2, 0) +
							       (size_t)i0 * rows->nb[0]);

		if (row < 0 || row >= table->ne[1])
			return fail_row(op, row, table->ne[1]);
		traits->to_float(at(table, row, i1, i2), (float *)(void *)at(op, i0, i1, i2),
				 op->ne[0]);
	}
	return 0;
}

static int set_rows(const struct gg_tensor *op)
{
	const struct gg_tensor *from = op->src[0], *rows = op->src[1];
	bool is_half = onpu_type_of(op) == TYPE_F16, is_long = onpu_type_of(rows) == TYPE_I64;

	for (int64_t i = 0; i < from->ne[1] * from->ne[2] * from->ne[3]; i++) {
		int64_t i1 = i % from->ne[1], i2 = i / from->ne[1] % from->ne[2];
		int64_t i3 = i / from->ne[1] / from->ne[2], row;
		const char *index = at(rows, i2 % rows->ne[1], i3 % rows->ne[2], 0);
		const float *source = (const float *)at(from, i1, i2, i3);
		char *target;

		index += (size_t)i1 * rows->nb[0];
		row = is_long ? *(const int64_t *)index : *(const int32_t *)index;
		if (row < 0 || row >= op->ne[1])
			return fail_row(op, row, op->ne[1]);
		target = at(op, row, i2, i3);
		if (is_half)
			base.fp32_to_fp16_row(source, (uint16_t *)target, op->ne[0]);
		else
			memcpy(target, source, (size_t)op->ne[0] * sizeof(float));
	}
	return 0;
}

static void copy_element(const struct gg_tensor *from, const char *source,
			 const struct gg_tensor *to, char *target)
{
	float number;

	if (from->type == to->type) {
		memcpy(target, source, wnnOperandDataTypeGetSize(onpu_data_type(to)));
	} else if (onpu_type_of(to) == TYPE_F16) {
		memcpy(&number, source, sizeof(number));
		base.fp32_to_fp16_row(&number, (uint16_t *)target, 1);
	} else {
		base.fp16_to_fp32_row((const uint16_t *)source, (float *)target, 1);
	}
}

int onpu_move(const struct gg_tensor *op)
{
	const struct gg_tensor *from = op->src[0];

	if (!strcmp(base.op_name(op->op), "SET_ROWS"))
		return set_rows(op);
	if (!strcmp(base.op_name(op->op), "GET_ROWS"))
		return get_rows(op);
	for (int64_t i = 0; i < op->ne[1] * op->ne[2] * op->ne[3]; i++) {
		int64_t i1 = i % op->ne[1], i2 = i / op->ne[1] % op->ne[2];
		int64_t i3 = i / op->ne[1] / op->ne[2];
		const char *source = at(from, i1, i2, i3);
		char *target = at(op, i1, i2, i3);

		for (int64_t i0 = 0; i0 < op->ne[0]; i0++)
			copy_element(from, source + (size_t)i0 * from->nb[0], op,
				     target + (size_t)i0 * op->nb[0]);
	}
	return 0;
}
