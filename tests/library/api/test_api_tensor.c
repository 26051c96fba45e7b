// SPDX-License-Identifier: MIT
/* Tests tensors: their properties, writing and reading in order, misuse, destruction. */
#include "fixture.h"

#include <string.h>

struct fixture {
	WNNInstance instance;
	WNNContext context;
	struct notes *notes;
};

static int setup(void **state)
{
	static struct fixture f;

	f.instance = wnnCreateInstance(NULL);
	f.context = open_context(f.instance, "cpu");
	f.notes = notes_create();
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	wnnContextRelease(f->context);
	wnnInstanceRelease(f->instance);
	return 0;
}

static void what_a_tensor_is(void **state)
{
	struct fixture *f = *state;
	WNNTensorDescriptor wanted = WNN_TENSOR_DESCRIPTOR_INIT;
	uint32_t shape[] = { 2, 3, 4 };
	WNNTensor tensor = NULL;
	unsigned short data[24];

	wanted.dataType = WNNOperandDataType_Float16;
	wanted.shape = WNN_UINT32_ARRAY(shape);
	wanted.readable = WNN_TRUE;
	assert_ok(wnnContextCreateTensorSync(f->context, &wanted, GENEROUS, &tensor));
	memset(shape, 0, sizeof(shape));
	assert_int_equal(wnnTensorGetDataType(tensor), WNNOperandDataType_Float16);
	assert_int_equal(wnnTensorGetShape(tensor).count, 3);
	assert_int_equal(wnnTensorGetShape(tensor).data[2], 4);
	assert_true(wnnTensorGetReadable(tensor));
	assert_false(wnnTensorGetWritable(tensor));
	assert_false(wnnTensorGetConstant(tensor));
	assert_int_equal(wnnTensorGetByteLength(tensor), 48);
	memset(data, 0xff, sizeof(data));
	assert_ok(wnnContextReadTensorIntoSync(f->context, tensor, data, sizeof(data), GENEROUS));
	for (int i = 0; i < 24; i++)
		assert_int_equal(data[i], 0);
	wnnTensorRelease(tensor);
	/* A descriptor without dimensions makes a scalar. */
	wanted.shape = WNN_UINT32_EMPTY;
	assert_ok(wnnContextCreateTensorSync(f->context, &wanted, GENEROUS, &tensor));
	assert_int_equal(wnnTensorGetByteLength(tensor), 2);
	assert_int_equal(wnnTensorGetShape(tensor).count, 0);
	wnnTensorAddRef(tensor);
	wnnTensorRelease(tensor);
	assert_int_equal(wnnTensorGetByteLength(tensor), 2);
	wnnTensorRelease(tensor);
}

static void bad_descriptors(void **state)
{
	struct fixture *f = *state;
	WNNTensorDescriptor wanted = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNChainedStruct chain = { NULL, WNNSType_BorrowedConstant };
	uint32_t zero[] = { 2, 0 }, large[] = { 65536, 65536 },
		 many[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	WNNTensor tensor = (void *)&wanted;

	assert_failed(wnnContextCreateTensorSync(f->context, NULL, GENEROUS, &tensor),
		      WNNStatus_TypeError, "descriptor is NULL");
	assert_null(tensor);
	assert_failed(wnnContextCreateTensorSync(f->context, &wanted, GENEROUS, &tensor),
		      WNNStatus_TypeError, "dataType");
	wanted.dataType = WNNOperandDataType_Float32;
	wanted.shape = WNN_UINT32_ARRAY(zero);
	assert_failed(wnnContextCreateTensorSync(f->context, &wanted, GENEROUS, &tensor),
		      WNNStatus_TypeError, "dimension 1");
	wanted.shape = WNN_UINT32_ARRAY(large);
	assert_failed(wnnContextCreateTensorSync(f->context, &wanted, GENEROUS, &tensor),
		      WNNStatus_TypeError, "elements");
	wanted.shape = WNN_UINT32_ARRAY(many);
	assert_failed(wnnContextCreateTensorSync(f->context, &wanted, GENEROUS, &tensor),
		      WNNStatus_TypeError, "rank 9");
	wanted.shape = (WNNUint32Array){ 3, NULL };
	assert_failed(wnnContextCreateTensorSync(f->context, &wanted, GENEROUS, &tensor),
		      WNNStatus_TypeError, "NULL");
	wanted.shape = WNN_UINT32_EMPTY;
	wanted.nextInChain = &chain;
	assert_failed(wnnContextCreateTensorSync(f->context, &wanted, GENEROUS, &tensor),
		      WNNStatus_TypeError, "chain");
}

static void work_is_done_in_order(void **state)
{
	struct fixture *f = *state;
	WNNTensor tensor = make_tensor(f->context, 1, 1);
	float value, got = 0;

	for (int i = 0; i < 200; i++) {
		value = (float)i;
		assert_ok(wnnContextWriteTensor(f->context, tensor, &value, sizeof(value)));
		value = -1; /* the library has copied it already */
		assert_true(wnnContextReadTensor(f->context, tensor,
						 note_read(f->notes,
							   WNNCallbackMode_AllowSpontaneous, i))
				    .id);
	}
	assert_true(notes_wait(f->notes, 200));
	for (int i = 0; i < 200; i++) {
		struct note note = notes_get(f->notes, (size_t)i);

		assert_int_equal(note.tag, i);
		assert_int_equal(note.status, WNNStatus_Success);
		assert_int_equal(note.size, sizeof(value));
		assert_true(note.first == (float)i);
	}
	assert_ok(wait_future(f->instance,
			      wnnContextReadTensorInto(f->context, tensor, &got, sizeof(got),
						       note_read_into(f->notes, 0, 300))));
	assert_true(got == 199);
	wnnTensorRelease(tensor);
}

static void misuse(void **state)
{
	struct fixture *f = *state;
	WNNContext other = open_context(f->instance, "cpu");
	WNNTensor tensor = make_tensor(f->context, 2, 2), foreign = make_tensor(other, 2, 2);
	WNNTensor silent = make_tensor_flags(f->context, 2, 2, false, false);
	float data[4] = { 0 };

	assert_failed(wnnContextWriteTensor(f->context, NULL, data, 16), WNNStatus_TypeError,
		      "NULL");
	assert_failed(wnnContextWriteTensor(f->context, foreign, data, 16), WNNStatus_TypeError,
		      "another context");
	assert_failed(wnnContextWriteTensor(f->context, silent, data, 16), WNNStatus_TypeError,
		      "writable");
	assert_failed(wnnContextWriteTensor(f->context, tensor, data, 15), WNNStatus_TypeError,
		      "size is 15");
	assert_failed(wnnContextWriteTensor(f->context, tensor, NULL, 16), WNNStatus_TypeError,
		      "data is NULL");
	assert_failed(wnnContextReadTensorIntoSync(f->context, foreign, data, 16, GENEROUS),
		      WNNStatus_TypeError, "another context");
	assert_failed(wnnContextReadTensorIntoSync(f->context, silent, data, 16, GENEROUS),
		      WNNStatus_TypeError, "readable");
	assert_failed(wnnContextReadTensorIntoSync(f->context, tensor, data, 17, GENEROUS),
		      WNNStatus_TypeError, "size is 17");
	assert_failed(wnnContextReadTensorIntoSync(f->context, tensor, NULL, 16, GENEROUS),
		      WNNStatus_TypeError, "data is NULL");
	/* The asynchronous call reports the error to its callback. */
	assert_ok(wait_future(f->instance,
			      wnnContextReadTensor(f->context, silent, note_read(f->notes, 0, 1))));
	assert_int_equal(notes_get(f->notes, 0).status, WNNStatus_TypeError);
	wnnTensorRelease(silent);
	wnnTensorRelease(foreign);
	wnnTensorRelease(tensor);
	wnnContextRelease(other);
}

static void a_destroyed_tensor(void **state)
{
	struct fixture *f = *state;
	WNNTensor tensor = make_tensor(f->context, 2, 2);
	float data[4] = { 0 };

	wnnTensorDestroy(tensor);
	wnnTensorDestroy(tensor);
	assert_failed(wnnContextWriteTensor(f->context, tensor, data, 16), WNNStatus_TypeError,
		      "destroyed");
	assert_failed(wnnContextReadTensorIntoSync(f->context, tensor, data, 16, GENEROUS),
		      WNNStatus_TypeError, "destroyed");
	assert_int_equal(wnnTensorGetByteLength(tensor), 16);
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
	wnnTensorRelease(tensor);
}

/* Pending reads of a destroyed tensor fail, those of other tensors do not. */
static void destruction_fails_pending_reads(void **state)
{
	struct gate *gate = gate_create();
	WNNInstance instance = gate_instance(gate);
	WNNContext context = open_context(instance, "cpu");
	WNNTensor tensor = make_tensor(context, 2, 2), other = make_tensor(context, 1, 1);
	struct notes *notes = notes_create();
	float data[4] = { 0 };

	(void)state;
	gate_close(gate, context);
	for (int i = 0; i < 5; i++)
		wnnContextReadTensor(context, tensor,
				     note_read(notes, WNNCallbackMode_AllowSpontaneous, i));
	wnnContextReadTensorInto(context, tensor, data, sizeof(data),
				 note_read_into(notes, WNNCallbackMode_AllowSpontaneous, 5));
	wnnContextReadTensor(context, other,
			     note_read(notes, WNNCallbackMode_AllowSpontaneous, 99));
	wnnTensorDestroy(tensor);
	assert_true(notes_wait(notes, 6));
	for (int i = 0; i < 6; i++) {
		struct note note = notes_get(notes, (size_t)i);

		assert_int_equal(note.tag, i);
		assert_int_equal(note.status, WNNStatus_InvalidStateError);
		assert_non_null(strstr(note.message, "destroyed"));
	}
	gate_open(gate);
	assert_true(notes_wait(notes, 7));
	assert_int_equal(notes_get(notes, 6).tag, 99);
	assert_int_equal(notes_get(notes, 6).status, WNNStatus_Success);
	wnnTensorRelease(tensor);
	wnnTensorRelease(other);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void a_read_that_takes_too_long(void **state)
{
	struct gate *gate = gate_create();
	WNNInstance instance = gate_instance(gate);
	WNNContext context = open_context(instance, "cpu");
	WNNTensor tensor = make_tensor(context, 2, 2), late = NULL;
	WNNTensorDescriptor wanted = WNN_TENSOR_DESCRIPTOR_INIT;
	unsigned char data[16];

	(void)state;
	gate_close(gate, context);
	assert_int_equal(wnnContextReadTensorIntoSync(context, tensor, data, sizeof(data), 1000),
			 WNNStatus_TimedOut);
	/*
	 * The buffer is the caller's again: the library must not write to it, which the thread
	 * sanitizer checks.
	 */
	memset(data, 7, sizeof(data));
	wanted.dataType = WNNOperandDataType_Float32;
	assert_failed(wnnContextCreateTensorSync(context, &wanted, 0, &late), WNNStatus_TimedOut,
		      "cancelled");
	assert_failed(wnnContextWaitIdle(context, 0), WNNStatus_TimedOut, "cancelled");
	gate_open(gate);
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	for (size_t i = 0; i < sizeof(data); i++)
		assert_int_equal(data[i], 7);
	wnnTensorRelease(tensor);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/*
 * The library copies the data of a write, so that the caller may free it before the write happens.
 */
static void writes_keep_their_data(void **state)
{
	struct gate *gate = gate_create();
	WNNInstance instance = gate_instance(gate);
	WNNContext context = open_context(instance, "cpu");
	WNNTensor tensor = make_tensor(context, 1, 1);
	float value = 3, got = 0;

	(void)state;
	gate_close(gate, context);
	assert_ok(wnnContextWriteTensor(context, tensor, &value, sizeof(value)));
	value = 4;
	gate_open(gate);
	assert_ok(wnnContextReadTensorIntoSync(context, tensor, &got, sizeof(got), GENEROUS));
	assert_true(got == 3);
	/* Neither destroying nor releasing the tensor undoes a write that was queued before. */
	gate_close(gate, context);
	assert_ok(wnnContextWriteTensor(context, tensor, &value, sizeof(value)));
	wnnTensorDestroy(tensor);
	wnnTensorRelease(tensor);
	gate_open(gate);
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void constant_tensors(void **state)
{
	struct fixture *f = *state;
	WNNOperandDescriptor wanted = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t shape[] = { 2, 2 };
	float data[4] = { 1, 2, 3, 4 };
	WNNTensor tensor = NULL, bad = NULL;

	wanted.dataType = WNNOperandDataType_Float32;
	wanted.shape = WNN_UINT32_ARRAY(shape);
	assert_ok(wnnContextCreateConstantTensorSync(f->context, &wanted, data, sizeof(data),
						     GENEROUS, &tensor));
	assert_true(wnnTensorGetConstant(tensor));
	assert_false(wnnTensorGetReadable(tensor));
	assert_false(wnnTensorGetWritable(tensor));
	assert_failed(wnnContextReadTensorIntoSync(f->context, tensor, data, sizeof(data),
						   GENEROUS),
		      WNNStatus_TypeError, "readable");
	assert_failed(wnnContextCreateConstantTensorSync(f->context, &wanted, data, 12, GENEROUS,
							 &bad),
		      WNNStatus_TypeError, "size is 12");
	assert_failed(wnnContextCreateConstantTensorSync(f->context, &wanted, NULL, 16, GENEROUS,
							 &bad),
		      WNNStatus_TypeError, "data is NULL");
	assert_failed(wnnContextCreateConstantTensorSync(f->context, NULL, data, 16, GENEROUS,
							 &bad),
		      WNNStatus_TypeError, "descriptor is NULL");
	assert_ok(wait_future(
		f->instance, wnnContextCreateConstantTensor(f->context, &wanted, data, sizeof(data),
							    note_tensor(f->notes, 0, 1))));
	assert_int_equal(notes_get(f->notes, 0).status, WNNStatus_Success);
	wnnTensorRelease(notes_get(f->notes, 0).object);
	wnnTensorDestroy(tensor);
	wnnTensorRelease(tensor);
}

static void older_names(void **state)
{
	WNNStatus (*read)(WNNContext, WNNTensor, void *, size_t, uint64_t);
	WNNStatus (*limits)(WNNContext, WNNOpSupportLimits *);
	WNNStatus (*idle)(WNNContext, uint64_t);
	WNNOpSupportLimits got = WNN_OP_SUPPORT_LIMITS_INIT;
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	float data[2] = { 3, 5 }, back[2] = { 0 };
	WNNTensor tensor = make_tensor(context, 1, 2);

	(void)state;
	read = (void *)wnnGetProcAddress(WNN_STR("wnnContextReadTensorSync"));
	limits = (void *)wnnGetProcAddress(WNN_STR("wnnContextOpSupportLimits"));
	idle = (void *)wnnGetProcAddress(WNN_STR("wnnContextOnWorkDoneSync"));
	assert_ok(wnnContextWriteTensor(context, tensor, data, sizeof(data)));
	assert_ok(idle(context, GENEROUS));
	assert_ok(read(context, tensor, back, sizeof(back), GENEROUS));
	assert_memory_equal(back, data, sizeof(data));
	assert_ok(limits(context, &got));
	assert_true(got.maxTensorByteLength > 0);
	wnnTensorRelease(tensor);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_a_tensor_is),
		TEST(bad_descriptors),
		TEST(work_is_done_in_order),
		TEST(misuse),
		TEST(a_destroyed_tensor),
		cmocka_unit_test(destruction_fails_pending_reads),
		cmocka_unit_test(a_read_that_takes_too_long),
		cmocka_unit_test(writes_keep_their_data),
		TEST(constant_tensors),
		cmocka_unit_test(older_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
