// SPDX-License-Identifier: MIT
/*
 * Tests programs whose work is divided over devices. Each gives the results of a run in which all
 * devices compute with whole values, and its text has the expected slices and collectives.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <webnn/stablehlo.h>
#include <webnn/webnn_npu.h>

#include "context.h"

#define DEVICES	    4
#define MOST_VALUES 4

static WNNInstance instance;
static WNNContext contexts[DEVICES];

/*
 * Marks of values: ROWS divides the first dimension over x, ALL_ROWS over x and y; COLUMNS divides
 * the second one over y; WHOLE divides nothing. OPEN is for values of which each device along @axes
 * has an addend.
 */
#define MARK(dims)	 "{sdy.sharding = #sdy.sharding<@grid, [" dims "]>}"
#define OPEN(dims, axes) "{sdy.sharding = #sdy.sharding<@grid, [" dims "], unreduced={" axes "}>}"
#define ROWS		 MARK("{\"x\"}, {}")
#define ALL_ROWS	 MARK("{\"x\", \"y\"}, {}")
#define COLUMNS		 MARK("{}, {\"y\"}")
#define WHOLE		 MARK("{}, {}")
#define LIST		 MARK("{}")
#define PARTS		 MARK("{\"x\"}")
#define PICTURES	 MARK("{\"x\", \"y\"}, {}, {}, {}")
#define KERNEL		 MARK("{}, {}, {}, {}")

#define ADD                                            \
	"({^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"  \
	"  %pq = stablehlo.add %p, %q : tensor<f32>\n" \
	"  stablehlo.return %pq : tensor<f32>\n})"

static const struct {
	const char *name, *text;
	/* words that the text of the divided program must have, and one that it must not have */
	const char *words[3], *never;
} programs[] = {
	{ "elements",
	  "@main(%a: tensor<8x6xf32> " ROWS ", %b: tensor<6xf32> " LIST
	  ") -> (tensor<8x6xf32> " ROWS ") {\n"
	  "%z = stablehlo.constant dense<2.0> : tensor<8x6xf32>\n"
	  "%c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<6xf32>) -> tensor<8x6xf32>\n"
	  "%d = stablehlo.add %a, %c : tensor<8x6xf32>\n"
	  "%e = stablehlo.multiply %d, %z : tensor<8x6xf32>\n"
	  "return %e : tensor<8x6xf32>\n}",
	  { "\"stablehlo.multiply\"(%3, %1) : (tensor<4x6xf32>", "dense<2.0> : tensor<4x6xf32>" },
	  "stablehlo.all" },
	{ "sort",
	  "@main(%a: tensor<8x6xf32> " COLUMNS ") -> (tensor<8x6xf32> " COLUMNS ") {\n"
	  "%b = \"stablehlo.sort\"(%a) <{dimension = -1 : i64, is_stable = true}> ({\n"
	  "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
	  "  %l = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
	  "  stablehlo.return %l : tensor<i1>\n}) : (tensor<8x6xf32>) -> tensor<8x6xf32>\n"
	  "return %b : tensor<8x6xf32>\n}",
	  { "stablehlo.all_gather" },
	  "stablehlo.all_reduce" },
	{ "sums-into-rows",
	  "@main(%n: tensor<8xi32> " PARTS ", %u: tensor<8x6xf32> " ROWS
	  ") -> (tensor<7x6xf32> " WHOLE ") {\n"
	  "%i = stablehlo.abs %n : tensor<8xi32>\n"
	  "%c = stablehlo.constant dense<0.0> : tensor<7x6xf32>\n"
	  "%z = sdy.sharding_constraint %c <@grid, [{}, {}]> : tensor<7x6xf32>\n"
	  "%s = \"stablehlo.scatter\"(%z, %i, %u) <{scatter_dimension_numbers = "
	  "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
	  "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> " ADD
	  " : (tensor<7x6xf32>, tensor<8xi32>, tensor<8x6xf32>) -> tensor<7x6xf32>\n"
	  "return %s : tensor<7x6xf32>\n}",
	  { "stablehlo.all_reduce" },
	  "stablehlo.all_gather" },
	{ "batches",
	  "@main(%a: tensor<4x3x5xf32> " MARK("{\"x\"}, {}, {}") ", %b: tensor<4x5x2xf32> " MARK(
		  "{\"x\"}, {}, {}") ") -> (tensor<4x3x2xf32> " MARK("{\"x\"}, {}, {}") ") {\n"
											"%c = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x "
											"[1] : (tensor<4x3x5xf32>, tensor<4x5x2xf32>) -> tensor<4x3x2xf32>\n"
											"return %c : tensor<4x3x2xf32>\n}",
	  { "(tensor<2x3x5xf32>, tensor<2x5x2xf32>) -> (tensor<2x3x2xf32>)" },
	  "stablehlo.all" },
	{ "largest",
	  "@main(%a: tensor<8x6xf32> " ROWS ") -> (tensor<6xf32> " LIST ") {\n"
	  "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
	  "%c = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0] : "
	  "(tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>\n"
	  "return %c : tensor<6xf32>\n}",
	  { "stablehlo.all_reduce", "stablehlo.maximum" },
	  "stablehlo.all_gather" },
	{ "joined-and-turned",
	  "@main(%a: tensor<8x6xf32> " ROWS ", %b: tensor<8x6xf32> " ROWS
	  ") -> (tensor<8x12xf32> " ROWS ") {\n"
	  "%c = stablehlo.concatenate %a, %b, dim = 1 : (tensor<8x6xf32>, tensor<8x6xf32>) -> "
	  "tensor<8x12xf32>\n"
	  "%d = stablehlo.reverse %c, dims = [0] : tensor<8x12xf32>\n"
	  "return %d : tensor<8x12xf32>\n}",
	  { "(tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x12xf32>)", "stablehlo.all_gather" },
	  "stablehlo.all_reduce" },
	{ "product-rows",
	  "@main(%a: tensor<8x6xf32> " ALL_ROWS ", %b: tensor<6x5xf32> " WHOLE
	  ") -> (tensor<8x5xf32> " WHOLE ") {\n"
	  "%c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x6xf32>, "
	  "tensor<6x5xf32>) -> tensor<8x5xf32>\n"
	  "return %c : tensor<8x5xf32>\n}",
	  { "(tensor<2x6xf32>, tensor<6x5xf32>) -> (tensor<2x5xf32>)", "stablehlo.all_gather" },
	  "stablehlo.all_reduce" },
	{ "product-sums",
	  "@main(%a: tensor<8x6xf32> " ROWS ", %b: tensor<8x5xf32> " ROWS
	  ") -> (tensor<6x5xf32> " WHOLE ") {\n"
	  "%c = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<8x6xf32>, "
	  "tensor<8x5xf32>) -> tensor<6x5xf32>\n"
	  "return %c : tensor<6x5xf32>\n}",
	  { "(tensor<4x6xf32>, tensor<4x5xf32>) -> (tensor<6x5xf32>)", "stablehlo.all_reduce",
	    "dense<[[0, 2], [1, 3]]>" },
	  "stablehlo.all_gather" },
	{ "product-scattered",
	  "@main(%a: tensor<8x6xf32> " ROWS ", %b: tensor<8x5xf32> " ROWS
	  ") -> (tensor<6x5xf32> " ROWS ") {\n"
	  "%c = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<8x6xf32>, "
	  "tensor<8x5xf32>) -> tensor<6x5xf32>\n"
	  "return %c : tensor<6x5xf32>\n}",
	  { "stablehlo.reduce_scatter", "(tensor<6x5xf32>) -> (tensor<3x5xf32>)" },
	  "stablehlo.all_reduce" },
	{ "columns",
	  "@main(%a: tensor<4x6xf32> " WHOLE ", %b: tensor<6x8xf32> " COLUMNS
	  ", %c: tensor<8x3xf32> " MARK(
		  "{\"y\"}, {}") ")\n"
				 "  -> (tensor<4x3xf32> " WHOLE ") {\n"
				 "%d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] "
				 ": (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>\n"
				 "%e = stablehlo.tanh %d : tensor<4x8xf32>\n"
				 "%f = stablehlo.dot_general %e, %c, contracting_dims = [1] x [0] "
				 ": (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>\n"
				 "return %f : tensor<4x3xf32>\n}",
	  { "\"stablehlo.tanh\"(%1) : (tensor<4x4xf32>)", "stablehlo.all_reduce",
	    "dense<[[0, 1], [2, 3]]>" },
	  "stablehlo.all_gather" },
	{ "reductions",
	  "@main(%a: tensor<8x6xf32> " ALL_ROWS ") -> (tensor<6xf32> " LIST ", tensor<8xf32> " MARK(
		  "{\"x\", \"y\"}") ", tensor<6xf32> " LIST ") {\n"
				    "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
				    "%s = \"stablehlo.reduce\"(%a, %z) <{dimensions = array<i64: "
				    "0>}> " ADD
				    " : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>\n"
				    "%t = \"stablehlo.reduce\"(%a, %z) <{dimensions = array<i64: "
				    "1>}> " ADD
				    " : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>\n"
				    /*
				     * If each device began with 1, the sum would contain it four
				     * times.
				     */
				    "%o = stablehlo.constant dense<1.0> : tensor<f32>\n"
				    "%u = \"stablehlo.reduce\"(%a, %o) <{dimensions = array<i64: "
				    "0>}> " ADD
				    " : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>\n"
				    "return %s, %t, %u : tensor<6xf32>, tensor<8xf32>, "
				    "tensor<6xf32>\n}",
	  { "stablehlo.all_reduce", "(tensor<2x6xf32>, tensor<f32>) -> (tensor<2xf32>)",
	    "stablehlo.all_gather" },
	  "stablehlo.dynamic_slice" },
	{ "shapes",
	  "@main(%a: tensor<8x6xf32> " ROWS ") -> (tensor<3x2x8xf32> " MARK(
		  "{}, {}, {\"x\"}") ", tensor<4x12xf32> " ROWS ") {\n"
				     "%b = stablehlo.reshape %a : (tensor<8x6xf32>) -> "
				     "tensor<8x3x2xf32>\n"
				     "%c = stablehlo.transpose %b, dims = [1, 2, 0] : "
				     "(tensor<8x3x2xf32>) -> tensor<3x2x8xf32>\n"
				     "%d = stablehlo.reshape %a : (tensor<8x6xf32>) -> "
				     "tensor<4x12xf32>\n"
				     "return %c, %d : tensor<3x2x8xf32>, tensor<4x12xf32>\n}",
	  { "-> (tensor<4x3x2xf32>)", "(tensor<4x6xf32>) -> (tensor<2x12xf32>)" },
	  "stablehlo.all" },
	{ "slices",
	  "@main(%a: tensor<8x6xf32> " ROWS ", %i: tensor<i32>) -> (tensor<8x2xf32> " ROWS
	  ", tensor<2x6xf32> " ROWS ", tensor<8x3xf32> " ROWS ", tensor<8x9xf32> " ROWS ") {\n"
	  "%b = stablehlo.slice %a [0:8, 1:3] : (tensor<8x6xf32>) -> tensor<8x2xf32>\n"
	  "%c = stablehlo.slice %a [2:6:2, 0:6] : (tensor<8x6xf32>) -> tensor<2x6xf32>\n"
	  "%z = stablehlo.constant dense<0> : tensor<i32>\n"
	  "%d = stablehlo.dynamic_slice %a, %z, %i, sizes = [8, 3] : (tensor<8x6xf32>, "
	  "tensor<i32>, tensor<i32>) -> tensor<8x3xf32>\n"
	  "%f = stablehlo.constant dense<3.0> : tensor<f32>\n"
	  "%e = stablehlo.pad %a, %f, low = [0, 1], high = [0, 2], interior = [0, 0] : "
	  "(tensor<8x6xf32>, tensor<f32>) -> tensor<8x9xf32>\n"
	  "return %b, %c, %d, %e : tensor<8x2xf32>, tensor<2x6xf32>, tensor<8x3xf32>, "
	  "tensor<8x9xf32>\n}",
	  { "(tensor<4x6xf32>) -> (tensor<4x2xf32>)", "stablehlo.all_gather",
	    "-> (tensor<4x9xf32>)" },
	  "stablehlo.all_reduce" },
	{ "convolution",
	  "@main(%a: tensor<8x2x5x5xf32> " PICTURES ", %k: tensor<3x2x3x3xf32> " KERNEL ")\n"
	  "  -> (tensor<8x3x3x3xf32> " PICTURES ") {\n"
	  "%c = stablehlo.convolution(%a, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->\n"
	  "  [b, f, 0, 1],\n"
	  "  window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} :\n"
	  "  (tensor<8x2x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<8x3x3x3xf32>\n"
	  "return %c : tensor<8x3x3x3xf32>\n}",
	  { "(tensor<2x2x5x5xf32>, tensor<3x2x3x3xf32>) -> (tensor<2x3x3x3xf32>)" },
	  "stablehlo.all" },
	{ "rows-of-a-table",
	  "@main(%t: tensor<7x6xf32> " COLUMNS ", %n: tensor<8xi32> " PARTS
	  ") -> (tensor<8x6xf32> " MARK(
		  "{\"x\"}, {\"y\"}") ") {\n"
				      "%i = stablehlo.abs %n : tensor<8xi32>\n"
				      "%c = \"stablehlo.gather\"(%t, %i) <{dimension_numbers = "
				      "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims "
				      "= [0],\n"
				      "  start_index_map = [0], index_vector_dim = 1>, "
				      "slice_sizes = array<i64: 1, 6>}> : (tensor<7x6xf32>, "
				      "tensor<8xi32>) -> tensor<8x6xf32>\n"
				      "return %c : tensor<8x6xf32>\n}",
	  { "(tensor<7x3xf32>, tensor<4xi32>) -> (tensor<4x3xf32>)", "array<i64: 1, 3>" },
	  "stablehlo.all" },
	{ "calls-and-loops",
	  "private @twice(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {\n"
	  "%y = stablehlo.add %x, %x : tensor<8x6xf32>\n"
	  "return %y : tensor<8x6xf32>\n}\n"
	  "func.func public @main(%a: tensor<8x6xf32> " ROWS ") -> (tensor<8x6xf32> " ROWS ") {\n"
	  "%b = call @twice(%a) : (tensor<8x6xf32>) -> tensor<8x6xf32>\n"
	  "%c = call @twice(%b) : (tensor<8x6xf32>) -> tensor<8x6xf32>\n"
	  "%n = stablehlo.constant dense<0> : tensor<i32>\n"
	  "%r:2 = stablehlo.while(%i = %n, %v = %c) : tensor<i32>, tensor<8x6xf32>\n"
	  "cond {\n%m = stablehlo.constant dense<3> : tensor<i32>\n"
	  "%l = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
	  "stablehlo.return %l : tensor<i1>\n"
	  "} do {\n%o = stablehlo.constant dense<1> : tensor<i32>\n%j = stablehlo.add %i, %o : "
	  "tensor<i32>\n"
	  "%w = stablehlo.subtract %v, %b : tensor<8x6xf32>\n"
	  "stablehlo.return %j, %w : tensor<i32>, tensor<8x6xf32>\n}\n"
	  "return %r#1 : tensor<8x6xf32>\n}",
	  { "\"stablehlo.add\"(%arg1, %arg1) : (tensor<4x6xf32>", "stablehlo.all_gather",
	    "stablehlo.dynamic_slice" },
	  "func.call" },
	/*
	 * The sum of two products is added up over the devices once, after all other operations
	 * that allow addends.
	 */
	{ "open-sums",
	  "@main(%a: tensor<8x6xf32> " COLUMNS
	  ", %b: tensor<6x5xf32> " MARK("{\"y\"}, {}") ", %c: tensor<5xf32> " OPEN(
		  "{}",
		  "\"y\"") ") -> (tensor<5x4xf32> " WHOLE ") {\n"
			   "%p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
			   "(tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>\n"
			   "%q = sdy.sharding_constraint %p <@grid, [{}, {}], unreduced={\"y\"}> : tensor<8x5xf32>\n"
			   "%e = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<5xf32>) -> tensor<8x5xf32>\n"
			   "%f = sdy.sharding_constraint %e <@grid, [{}, {}], unreduced={\"y\"}> : tensor<8x5xf32>\n"
			   "%g = stablehlo.add %q, %f : tensor<8x5xf32>\n"
			   "%h = sdy.sharding_constraint %g <@grid, [{}, {}], unreduced={\"y\"}> : tensor<8x5xf32>\n"
			   "%s = stablehlo.slice %h [0:4, 0:5] : (tensor<8x5xf32>) -> tensor<4x5xf32>\n"
			   "%i = sdy.sharding_constraint %s <@grid, [{}, {}], unreduced={\"y\"}> : tensor<4x5xf32>\n"
			   "%t = stablehlo.transpose %i, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>\n"
			   "%j = sdy.sharding_constraint %t <@grid, [{}, {}], unreduced={\"y\"}> : tensor<5x4xf32>\n"
			   "%k = sdy.reshard %j <@grid, [{}, {}]> : tensor<5x4xf32>\n"
			   "return %k : tensor<5x4xf32>\n}",
	  { "handle = 1,", "(tensor<5x4xf32>) -> (tensor<5x4xf32>)" },
	  "handle = 2," },
	/* The product of two values that are sums of addends needs one of them added up before. */
	{ "product-of-sums",
	  "@main(%a: tensor<4xf32> " OPEN("{}", "\"x\"") ", %b: tensor<4xf32> " OPEN(
		  "{}",
		  "\"x\"") ") -> (tensor<4xf32> " LIST ") {\n"
			   "%c = stablehlo.multiply %a, %b : tensor<4xf32>\n"
			   "%d = sdy.sharding_constraint %c <@grid, [{}], unreduced={\"x\"}> : tensor<4xf32>\n"
			   "%e = stablehlo.exponential %d : tensor<4xf32>\n"
			   "return %e : tensor<4xf32>\n}",
	  { "handle = 2," },
	  "handle = 3," },
	/*
	 * Integer division loses remainders, and bytes wrap around: addends are summed before a
	 * division, and before bytes become wider integers.
	 */
	{ "sums-of-integers",
	  "@main(%a: tensor<4xi32> " OPEN(
		  "{}",
		  "\"x\"") ") -> (tensor<4xf32> " LIST ", tensor<4xf32> " LIST ") {\n"
			   "%t = stablehlo.constant dense<3> : tensor<4xi32>\n"
			   "%q = stablehlo.divide %a, %t : tensor<4xi32>\n"
			   "%r = sdy.sharding_constraint %q <@grid, [{}], unreduced={\"x\"}> : tensor<4xi32>\n"
			   "%b = stablehlo.convert %a : (tensor<4xi32>) -> tensor<4xui8>\n"
			   "%c = sdy.sharding_constraint %b <@grid, [{}], unreduced={\"x\"}> : tensor<4xui8>\n"
			   "%w = stablehlo.convert %c : (tensor<4xui8>) -> tensor<4xui32>\n"
			   "%x = sdy.sharding_constraint %w <@grid, [{}], unreduced={\"x\"}> : tensor<4xui32>\n"
			   "%y = stablehlo.convert %r : (tensor<4xi32>) -> tensor<4xf32>\n"
			   "%z = stablehlo.convert %x : (tensor<4xui32>) -> tensor<4xf32>\n"
			   "return %y, %z : tensor<4xf32>, tensor<4xf32>\n}",
	  { "stablehlo.all_reduce", "\"stablehlo.divide\"" },
	  "stablehlo.all_gather" },
	/*
	 * A slice with zeros around it is an addend, and so is the whole value on one device with
	 * zeros on others.
	 */
	{ "addends",
	  "@main(%a: tensor<4x6xf32> " ROWS ", %b: tensor<4x6xf32> " WHOLE
	  ") -> (tensor<4x6xf32> " WHOLE ", tensor<4x6xf32> " COLUMNS ") {\n"
	  "%c = sdy.reshard %a <@grid, [{}, {}], unreduced={\"x\"}> : tensor<4x6xf32>\n"
	  "%d = sdy.reshard %c <@grid, [{}, {}]> : tensor<4x6xf32>\n"
	  "%e = sdy.reshard %b <@grid, [{}, {}], unreduced={\"y\", \"x\"}> : tensor<4x6xf32>\n"
	  "%f = sdy.reshard %e <@grid, [{}, {\"y\"}]> : tensor<4x6xf32>\n"
	  "return %d, %f : tensor<4x6xf32>, tensor<4x6xf32>\n}",
	  { "dynamic_update_slice", "stablehlo.select", "stablehlo.all_reduce" },
	  "stablehlo.all_gather" },
	/* A region that takes and gives parts stands between operations that are divided. */
	{ "region",
	  "@main(%a: tensor<8x6xf32> " ROWS ", %b: tensor<8x6xf32> " WHOLE
	  ") -> (tensor<8x6xf32> " ROWS ", tensor<1x6xf32> " WHOLE ") {\n"
	  "%n = stablehlo.negate %b : tensor<8x6xf32>\n"
	  "%r:2 = sdy.manual_computation(%a, %n) in_shardings=[<@grid, [{\"x\"}, {}]>, "
	  "<@grid, [{}, {\"x\"}]>] out_shardings=[<@grid, [{\"x\"}, {}]>, "
	  "<@grid, [{}, {}], unreduced={\"x\"}>] manual_axes={\"x\"} "
	  "(%p: tensor<4x6xf32>, %q: tensor<8x3xf32>) {\n"
	  "%t = stablehlo.slice %q [0:4, 0:3] : (tensor<8x3xf32>) -> tensor<4x3xf32>\n"
	  "%u = stablehlo.concatenate %t, %t, dim = 1 : "
	  "(tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>\n"
	  "%s = stablehlo.add %p, %u : tensor<4x6xf32>\n"
	  "%v = stablehlo.slice %s [1:2, 0:6] : (tensor<4x6xf32>) -> tensor<1x6xf32>\n"
	  "sdy.return %s, %v : tensor<4x6xf32>, tensor<1x6xf32>\n"
	  "} : (tensor<8x6xf32>, tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<1x6xf32>)\n"
	  "%c = stablehlo.add %r#0, %a : tensor<8x6xf32>\n"
	  "return %c, %r#1 : tensor<8x6xf32>, tensor<1x6xf32>\n}",
	  { "(%arg0, %arg1)", "(tensor<8x3xf32>) -> (tensor<8x3xf32>)", "stablehlo.all_reduce" },
	  "stablehlo.all_gather" },
	/* Values that go through a barrier together are divided along one axis. */
	{ "barrier",
	  "@main(%a: tensor<8x6xf32> " ROWS ", %b: tensor<8x6xf32> " ROWS
	  ", %n: tensor<8xi32> " PARTS ") -> (tensor<8x6xf32> " ROWS ", tensor<8x6xf32> " ROWS
	  ") {\n"
	  "%r:3 = stablehlo.optimization_barrier %a, %b, %n : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8xi32>\n"
	  "%c = stablehlo.add %r#0, %r#1 : tensor<8x6xf32>\n"
	  "return %c, %r#1 : tensor<8x6xf32>, tensor<8x6xf32>\n}",
	  { "stablehlo.optimization_barrier", "\"stablehlo.add\"(%1, %2) : (tensor<4x6xf32>" },
	  "stablehlo.all" },
	{ "asked-for",
	  "@main(%a: tensor<8x6xf32> " WHOLE ") -> tensor<8x6xf32> {\n"
	  "%b = sdy.sharding_constraint %a <@grid, [{\"y\"}, {\"x\"}]> : tensor<8x6xf32>\n"
	  "%c = stablehlo.negate %b : tensor<8x6xf32>\n"
	  "return %c : tensor<8x6xf32>\n}",
	  { "(tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> (tensor<4x3xf32>)",
	    "\"stablehlo.negate\"" },
	  "stablehlo.all" },
};

static WNNStablehloProgram load(const char *text, bool divided)
{
	WNNStablehloProgram program = NULL;
	WNNError error = WNN_ERROR_INIT;
	WNNStablehloRefusalArray refusals;
	char whole[4096];

	snprintf(whole, sizeof(whole),
		 "module @m attributes {mhlo.num_partitions = %d : i32%s} {\n%s\nfunc.func "
		 "%s%s\n}\n",
		 DEVICES, divided ? ", mhlo.num_replicas = 1 : i32" : "",
		 "sdy.mesh @grid = <[\"x\"=2, \"y\"=2]>",
		 strncmp(text, "private", 7) ? "public " : "", text);
	if (wnnStablehloLoadPartitioned(whole, strlen(whole), NULL, DEVICES, &program)) {
		wnnStablehloGetLastError(&error);
		fail_msg("%.*s\n%s", (int)error.message.length, error.message.data, whole);
	}
	refusals = wnnStablehloProgramGetRefusals(program);
	if (refusals.count)
		fail_msg("line %u: %.*s: %.*s\n%s", refusals.data[0].line,
			 (int)refusals.data[0].operatorName.length,
			 refusals.data[0].operatorName.data, (int)refusals.data[0].reason.length,
			 refusals.data[0].reason.data, whole);
	return program;
}

/* Fills in a device's slice of a value. Each element depends on its position in the whole value. */
static void fill(int32_t *to, const WNNStablehloValueInfo *info, WNNStablehloSlices slices,
		 size_t device, bool is_integer)
{
	int64_t count = 1, own[8] = { 0 };
	size_t left = slices.rank ? slices.slices[device] : 0;

	for (size_t i = info->rank; i-- > 0;) {
		int64_t parts = slices.rank ? slices.parts[i] : 1;

		own[i] = (int64_t)left % parts * info->dimensions[i];
		left /= (size_t)parts;
		count *= info->dimensions[i];
	}
	for (int64_t k = 0; k < count; k++) {
		int64_t rest = k, place = 0, stride = 1;
		float real;

		for (size_t i = info->rank; i-- > 0;) {
			place += (rest % info->dimensions[i] + own[i]) * stride;
			stride *= info->dimensions[i] * (slices.rank ? slices.parts[i] : 1);
			rest /= info->dimensions[i];
		}
		place = (place * 37 + 5) % 13 - 6;
		real = (float)place / 4;
		memcpy(&to[k], is_integer ? (const void *)&(int32_t){ (int32_t)place } : &real,
		       sizeof(*to));
	}
}

static void run(WNNStablehloProgram program, WNNContext const *where)
{
	static int32_t data[DEVICES][MOST_VALUES][1024];
	WNNStablehloTensor inputs[DEVICES][MOST_VALUES] = { 0 };
	const WNNStablehloTensor *lists[DEVICES];
	WNNStablehloValueInfoArray infos = wnnStablehloProgramGetInputs(program, 0);
	WNNError error = WNN_ERROR_INIT;

	for (size_t d = 0; d < DEVICES; d++) {
		for (size_t i = 0; i < infos.count; i++) {
			size_t bytes = sizeof(int32_t);

			for (size_t k = 0; k < infos.data[i].rank; k++)
				bytes *= (size_t)infos.data[i].dimensions[k];
			assert_true(bytes <= sizeof(data[d][i]));
			fill(data[d][i], &infos.data[i],
			     wnnStablehloProgramGetInputSlices(program, 0, i), d,
			     infos.data[i].elementType.data[0] == 'i');
			inputs[d][i] = (WNNStablehloTensor){ data[d][i], bytes, 0, NULL };
		}
		lists[d] = inputs[d];
	}
	if (wnnStablehloProgramRunPartitionedSync(program, 0, DEVICES, where, infos.count, lists)) {
		wnnStablehloGetLastError(&error);
		fail_msg("%.*s", (int)error.message.length, error.message.data);
	}
}

static void compare(const char *name, WNNStablehloProgram divided, WNNStablehloProgram whole,
		    bool is_exact)
{
	for (size_t d = 0; d < DEVICES; d++) {
		WNNStablehloTensorArray is = wnnStablehloProgramGetResultsOf(divided, d);
		WNNStablehloTensorArray wanted = wnnStablehloProgramGetResultsOf(whole, d);

		assert_int_equal(is.count, wanted.count);
		for (size_t i = 0; i < is.count; i++) {
			const float *a = is.data[i].data, *b = wanted.data[i].data;

			assert_int_equal(is.data[i].size, wanted.data[i].size);
			for (size_t k = 0; k < is.data[i].size / sizeof(float); k++)
				if (!(a[k] - b[k] <= (is_exact ? 0 : 0.05) &&
				      b[k] - a[k] <= (is_exact ? 0 : 0.05)))
					fail_msg("%s: device %zu, result %zu, element %zu is %g "
						 "instead of %g",
						 name, d, i, k, (double)a[k], (double)b[k]);
		}
	}
}

/*
 * Checks that the text of the divided program for one device has a function and no operations of
 * Shardy, and that the whole program "region" has no such text.
 */
static void check_device_text(const char *name, WNNStablehloProgram divided,
			      WNNStablehloProgram whole)
{
	WNNStringView view = { 0 };
	char *text;

	assert_int_equal(wnnStablehloProgramGetDeviceText(divided, &view), WNNStatus_Success);
	text = strndup(view.data, view.length);
	assert_non_null(text);
	if (!view.length || strstr(text, "sdy.") || !strstr(text, "func.return"))
		fail_msg("%s as a device has it:\n%s", name, text);
	free(text);
	assert_int_equal(wnnStablehloProgramGetDeviceText(whole, &view), WNNStatus_Success);
	if (!strcmp(name, "region"))
		assert_int_equal(view.length, 0);
}

static void test_programs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		WNNStablehloProgram divided = load(programs[i].text, true);
		WNNStablehloProgram whole = load(programs[i].text, false);
		const char *name = programs[i].name;
		WNNStringView view = { 0 };
		char *text;

		wnnStablehloProgramGetText(divided, &view);
		text = strndup(view.data, view.length);
		assert_non_null(text);
		for (size_t k = 0; k < 3 && programs[i].words[k]; k++)
			if (!strstr(text, programs[i].words[k]))
				fail_msg("%s has no %s:\n%s", name, programs[i].words[k], text);
		/* After @main there are functions that nothing calls any more. */
		assert_non_null(strstr(text, "func.return"));
		*strstr(text, "func.return") = 0;
		if (strstr(text, programs[i].never))
			fail_msg("%s has %s:\n%s", name, programs[i].never, text);
		free(text);
		check_device_text(name, divided, whole);
		/*
		 * Floats of the inputs are quarters, so that sums are exact; "columns" has a tanh,
		 * whose results are not.
		 */
		run(whole, NULL);
		run(divided, NULL);
		compare(name, divided, whole, strcmp(name, "columns") != 0);
		run(divided, contexts);
		compare(name, divided, whole, false);
		wnnStablehloProgramRelease(divided);
		wnnStablehloProgramRelease(whole);
	}
}

/* ---- what it saves */

/* A graph that a device has run, and how often. */
struct work {
	WNNContext context;
	WNNGraph graph;
	uint64_t times;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct work works[64];
static size_t work_count;

/*
 * Takes the place of the library's function: notes context and graph in works[], calls that
 * function and returns its status.
 */
WNNStatus wnnContextDispatchMeasuredSync(WNNContext context, WNNGraph graph, size_t input_count,
					 WNNNamedTensor const *inputs, size_t output_count,
					 WNNNamedTensor const *outputs, uint64_t timeout,
					 WNNDispatchStatistics *statistics)
{
	WNNStatus (*own)(WNNContext, WNNGraph, size_t, WNNNamedTensor const *, size_t,
			 WNNNamedTensor const *, uint64_t, WNNDispatchStatistics *);
	size_t i = 0;

	*(void **)&own = dlsym(RTLD_NEXT, "wnnContextDispatchMeasuredSync");
	pthread_mutex_lock(&lock);
	while (i < work_count && works[i].graph != graph)
		i++;
	if (i < sizeof(works) / sizeof(works[0])) {
		works[i].context = context;
		works[i].graph = graph;
		works[i].times++;
		work_count = i < work_count ? work_count : i + 1;
	}
	pthread_mutex_unlock(&lock);
	return own(context, graph, input_count, inputs, output_count, outputs, timeout, statistics);
}

/* Returns the cycles of the slowest device for one run of a program, whose inputs are zeros. */
static uint64_t cycles_of(WNNStablehloProgram program)
{
	WNNStablehloValueInfoArray infos = wnnStablehloProgramGetInputs(program, 0);
	WNNStablehloTensor inputs[16] = { 0 };
	const WNNStablehloTensor *lists[DEVICES] = { inputs, inputs, inputs, inputs };
	uint64_t most = 0;

	assert_true(infos.count <= 16);
	for (size_t i = 0; i < infos.count; i++) {
		inputs[i].size = infos.data[i].elementSize;
		for (size_t k = 0; k < infos.data[i].rank; k++)
			inputs[i].size *= (size_t)infos.data[i].dimensions[k];
		inputs[i].data = calloc(1, inputs[i].size);
		assert_non_null(inputs[i].data);
	}
	work_count = 0;
	memset(works, 0, sizeof(works));
	assert_int_equal(wnnStablehloProgramRunPartitionedSync(program, 0, DEVICES, contexts,
							       infos.count, lists),
			 WNNStatus_Success);
	/* All graphs that ran were noted. */
	assert_in_range(work_count, 1, sizeof(works) / sizeof(works[0]) - 1);
	for (size_t d = 0; d < DEVICES; d++) {
		uint64_t cycles = 0;

		for (size_t i = 0; i < work_count; i++) {
			WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;

			if (works[i].context != contexts[d])
				continue;
			assert_int_equal(wnnGraphGetLastStatistics(works[i].graph, &statistics), 0);
			cycles += statistics.npuCycles * works[i].times;
		}
		most = cycles > most ? cycles : most;
	}
	for (size_t i = 0; i < infos.count; i++)
		free((void *)(uintptr_t)inputs[i].data);
	return most;
}

static char *train_text;

static void load_training(WNNStablehloProgram *program)
{
	assert_int_equal(wnnStablehloLoadPartitioned(train_text, strlen(train_text), NULL, DEVICES,
						     program),
			 WNNStatus_Success);
	assert_int_equal(wnnStablehloProgramGetRefusals(*program).count, 0);
}

/* Takes the shardings out of train_text, so that each device computes the whole step. */
static void unmark_training(void)
{
	for (char *at = train_text; (at = strstr(at, "{\"data\"}"));)
		memset(at + 1, ' ', strlen("\"data\""));
}

/* Makes a step with 64 pictures of that with 256 in train_text. */
static void quarter_training(void)
{
	static const char whole[] = "<256x", part[] = "<64x";
	size_t length = strlen(part);

	for (char *at = train_text; (at = strstr(at, whole)); at += length) {
		memcpy(at, part, length);
		memmove(at + length, at + strlen(whole), strlen(at + strlen(whole)) + 1);
	}
}

/*
 * Tests that a step of training is at least 3.5 times as fast on four devices, and 3.6 times on
 * four of onpu-ref1. The cycles are those of the slowest device, and of exchanging gradients at 64
 * bytes in a cycle. It can be more than four times as fast, because a quarter of the pictures stays
 * in on-chip memory.
 */
static void test_work(void **state)
{
	WNNStablehloProgram programs[3]; /* whole, divided, with a quarter of the pictures */
	WNNStablehloValueInfoArray results;
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
	uint64_t whole, divided, quarter, bytes = 0;
	bool ref1;

	(void)state;
	if (!train_text)
		skip();
	load_training(&programs[1]);
	unmark_training();
	load_training(&programs[0]);
	quarter_training();
	load_training(&programs[2]);
	results = wnnStablehloProgramGetOutputs(programs[1], 0);
	for (size_t i = 0; i < results.count; i++) {
		uint64_t size = results.data[i].elementSize;

		for (size_t k = 0; k < results.data[i].rank; k++)
			size *= (uint64_t)results.data[i].dimensions[k];
		/*
		 * Each device sends (DEVICES - 1) / DEVICES of a gradient to have it summed, and
		 * receives as much of the sum.
		 */
		bytes += 2 * size * (DEVICES - 1) / DEVICES;
	}
	whole = cycles_of(programs[0]);
	quarter = cycles_of(programs[2]);
	divided = cycles_of(programs[1]);
	/* Fewer cycles would mean that some work was not counted, such as work outside of graphs. */
	assert_true(divided * 100 >= quarter * 95);
	divided += bytes / 64;
	print_message("%llu cycles on one device, %llu on %d, %llu for a quarter\n",
		      (unsigned long long)whole, (unsigned long long)divided, DEVICES,
		      (unsigned long long)quarter);
	assert_int_equal(wnnContextGetDeviceInfo(contexts[0], &info), WNNStatus_Success);
	ref1 = info.machine.length == strlen("onpu-ref1") &&
	       !memcmp(info.machine.data, "onpu-ref1", info.machine.length);
	assert_true(whole * 10 >= divided * (ref1 ? 36 : 35));
	for (size_t i = 0; i < 3; i++)
		wnnStablehloProgramRelease(programs[i]);
}

/*
 * Reads the file of the training step into train_text, and extends it to a program for all devices.
 */
static void read_training(const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t room = 1 << 16;

	train_text = calloc(room, 1);
	assert_non_null(file);
	assert_non_null(train_text);
	assert_true(fread(train_text, 1, room - 1, file) < room - 1);
	fclose(file);
	strstr(train_text, "num_partitions = 1")[strlen("num_partitions = ")] = '0' + DEVICES;
	strstr(train_text, "\"data\"=1")[strlen("\"data\"=")] = '0' + DEVICES;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs),
					    cmocka_unit_test(test_work) };
	int failed;

	if (argc > 2)
		read_training(argv[2]);
	instance = wnnCreateInstance(NULL);
	for (size_t i = 0; i < DEVICES; i++) {
		contexts[i] = open_context(instance, argc > 1 ? argv[1] : "cpu");
		if (!contexts[i]) {
			fprintf(stderr, "the device does not open\n");
			return 1;
		}
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(train_text);
	for (size_t i = 0; i < DEVICES; i++)
		wnnContextRelease(contexts[i]);
	wnnInstanceRelease(instance);
	return failed;
}
