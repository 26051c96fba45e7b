// SPDX-License-Identifier: MIT
#include "exact.h"

#include <math.h>
#include <stdlib.h>

#include "cpu/element.h"

const enum ir_dtype signed_types[3] = { IR_I8, IR_I32, IR_I64 };
const enum ir_dtype unsigned_types[3] = { IR_U8, IR_U32, IR_U64 };

int64_t lowest(enum ir_dtype dtype)
{
	return dtype == IR_I64 ? INT64_MIN : -(INT64_C(1) << (ir_dtype_bits(dtype) - 1));
}

int64_t highest(enum ir_dtype dtype)
{
	if (dtype == IR_U64)
		return -1;
	return dtype == IR_I64 ? INT64_MAX : cpu_int_max(dtype);
}

static void *elements_of(enum ir_dtype dtype, int64_t n, const int64_t *ints, const double *reals)
{
	struct ir_type type = ir_type_make(dtype, 1, &n);
	void *data = malloc((size_t)ir_type_bytes(&type));

	assert_non_null(data);
	for (int64_t i = 0; i < n; i++) {
		if (ints)
			cpu_store_int(dtype, data, i, ints[i]);
		else
			cpu_store(dtype, data, i, reals[i]);
	}
	return data;
}

void add_shape(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims,
	       const int64_t *ints, const double *reals)
{
	struct ir_type type = ir_type_make(dtype, rank, dims);
	void *data = elements_of(dtype, ir_type_elements(&type), ints, reals);

	rig_add_data(rig, dtype, rank, dims, data);
	free(data);
}

void add_ints(struct rig *rig, enum ir_dtype dtype, int64_t n, const int64_t *ints)
{
	add_shape(rig, dtype, 1, &n, ints, NULL);
}

void add_reals(struct rig *rig, enum ir_dtype dtype, int64_t n, const double *reals)
{
	add_shape(rig, dtype, 1, &n, NULL, reals);
}

void expect(struct rig *rig, enum ir_op op, const union ir_attrs *attrs, const struct ir_type *type,
	    const int64_t *ints, const double *reals)
{
	int64_t n = ir_type_elements(type);
	void *expected = elements_of(type->dtype, n, ints, reals);

	for (int layer = CPU_REFERENCE; layer <= CPU_ONEDNN; layer++) {
		void *actual = rig_run(rig, (enum cpu_layer)layer, op, attrs, 1, type);

		for (int64_t i = 0; i < n; i++) {
			double e = rig_get(type->dtype, expected, i);
			double a = rig_get(type->dtype, actual, i);

			if (isnan(e) ? !isnan(a) : e != a || signbit(e) != signbit(a))
				fail_msg("%s on layer %d: element %d is %.17g, expected %.17g",
					 ir_op_name(op), layer, (int)i, a, e);
		}
		if (ints)
			assert_memory_equal(actual, expected, (size_t)ir_type_bytes(type));
		free(actual);
	}
	free(expected);
	rig_exit(rig);
}

void expect_vector(struct rig *rig, enum ir_op op, const union ir_attrs *attrs, enum ir_dtype dtype,
		   int64_t n, const int64_t *ints, const double *reals)
{
	struct ir_type type = ir_type_make(dtype, 1, &n);

	expect(rig, op, attrs, &type, ints, reals);
}
