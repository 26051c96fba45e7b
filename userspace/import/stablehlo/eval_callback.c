// SPDX-License-Identifier: MIT
/* Custom calls of functions of the application, which is how programs of JAX call into Python. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/stablehlo.h>

#include "check.h"
#include "collective.h"
#include "cut.h"

static _Atomic(WNNStablehloCallback) handler;

void wnnStablehloSetCallback(WNNStablehloCallback callback)
{
	atomic_store(&handler, callback);
}

bool shlo_is_callback(const struct shlo_op *op)
{
	return !strcmp(shlo_attr_text(op, "call_target_name", ""), "onpu.callback");
}

/*
 * Reads the number of a function, and whether only the first device calls it; false: it is neither
 * "number" nor "number once".
 */
static bool read_number(const struct shlo_op *op, uint64_t *number, bool *once)
{
	const char *text = shlo_attr_text(op, "backend_config", "");
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	*once = !strcmp(end, " once");
	return end != text && (*once || !*end) && !errno && *text != '-';
}

void shlo_check_callback(struct shlo_check *check)
{
	uint64_t number;
	bool once;

	if (!read_number(check->op, &number, &once))
		shlo_wrong(check,
			   "backend_config of onpu.callback is '%.60s'; it must be the number of a "
			   "function, or a number and 'once'",
			   shlo_attr_text(check->op, "backend_config", ""));
	for (size_t i = 0; i < check->op->result_count; i++) {
		const struct shlo_type *type = check->op->results[i]->type;

		if (type->kind != SHLO_TENSOR || type->quant || shlo_type_count(type) < 0)
			shlo_wrong(check,
				   "result %zu of onpu.callback is %s; its sizes must be known", i,
				   shlo_type_text(check->arena, type));
	}
}

/*
 * Calls the function with the operands; it writes the elements of the results, whose memory is
 * there already.
 */
static void call_function(struct shlo_call *call, uint64_t number)
{
	WNNStablehloCallback function = atomic_load(&handler);
	const struct shlo_op *op = call->op;
	struct shlo_tensor *room =
		shlo_scratch(call->run, op->operand_count + op->result_count + 1);
	const void **in = room->data;
	void **out = (void **)room->data + op->operand_count;
	const char *message;

	if (!function)
		shlo_run_error(call->run,
			       "onpu.callback: this process has no functions to call; set "
			       "them by wnnStablehloSetCallback()");
	for (size_t i = 0; i < op->operand_count; i++)
		in[i] = call->in[i]->data;
	for (size_t i = 0; i < op->result_count; i++)
		out[i] = call->out[i]->data;
	message = function(number, op->operand_count, in, op->result_count, out);
	shlo_tensor_put(room);
	if (message)
		shlo_run_error(call->run, "onpu.callback: %s", message);
}

void shlo_eval_callback(struct shlo_call *call)
{
	const struct shlo_world *world = call->run->world;
	uint64_t number;
	bool once;

	read_number(call->op, &number, &once);
	once = once && world && world->partitions > 1;
	for (size_t i = 0; i < call->op->result_count; i++)
		shlo_result(call, i);
	if (!once || call->run->process % world->partitions == 0)
		call_function(call, number);
	/* All devices get the results of one call: a second call may give others. */
	for (size_t i = 0; once && i < call->op->result_count; i++)
		shlo_cut_share(call->run, call->out[i]);
}
