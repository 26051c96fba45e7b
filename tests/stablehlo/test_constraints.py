#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the constraints of StableHLO's specification: a program that breaks one is refused with a
message of its own, and a valid program close to it is accepted: test_constraints.py STABLEHLO_TEST.
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]


def says(texts):
    """Returns the message of stablehlo-test for each of these programs, or an empty text."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, text in enumerate(texts):
            paths.append(pathlib.Path(folder) / f"{i:04}.mlir")
            paths[-1].write_text(text, encoding="utf-8")
        lines = subprocess.run([PROGRAM, *map(str, paths)], check=False, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE).stderr.splitlines()
    return ["\n".join(line for line in lines if f"/{path.name}" in line) for path in paths]


def f(signature, *lines):
    """Returns the text of a function with these arguments and operations, which is checked but not
    run: a second function keeps it from being the only one.
    """
    return f"func.func @f({signature}) {{\n" + "".join(f"  {line}\n" for line in lines) + \
        "  return\n}\nfunc.func private @last()\n"


def op(name, operands, types, results, attrs="", region=""):
    """Returns the text of a function with one operation in its generic form; its operands are
    arguments of these types."""
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    values = ", ".join(operands or [f"%a{i}" for i in range(len(types))])
    return f(arguments, f'%r:{len(results)} = "{name}"({values}) {region} {{{attrs}}} : ({", ".join(types)}) -> '
                        f'({", ".join(results)})')


def reducer(kind="f32", takes=None, gives=None, name="stablehlo.add"):
    """Returns the text of a region that computes one scalar from two."""
    scalar = kind if kind.startswith("tensor") else f"tensor<{kind}>"
    takes, gives = takes or scalar, gives or scalar
    return f'({{ ^b(%x: {scalar}, %y: {takes}): %z = "{name}"(%x, %x) : ({scalar}, {scalar}) -> {gives} ' \
           f'"stablehlo.return"(%z) : ({gives}) -> () }})'


def demand(types, message):
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    values = ", ".join(f"%a{i}" for i in range(len(types)))
    return f(arguments, f'stablehlo.custom_call @shape_assertion({values}) {{error_message = {message}}} : '
                        f'({", ".join(types)}) -> ()')


COMPARE = '({ ^b(%x: tensor<f32>, %y: tensor<f32>): ' \
    '%z = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1> ' \
    '"stablehlo.return"(%z) : (tensor<i1>) -> () }'
GROUPS = "replica_groups = dense<{}> : tensor<{}xi64>"
FLAT = "use_global_device_ids, channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>, "
Q = "tensor<{}x!quant.uniform<i8:f32, {}>>"
QAXIS = "tensor<{}x!quant.uniform<i8:f32:{}, {{0.5:1, 0.25:2}}>>"


def all_reduce(groups, shape, more="", region=None, kind="f32"):
    return op("stablehlo.all_reduce", None, [f"tensor<4x{kind}>"], [f"tensor<4x{kind}>"],
              more + GROUPS.format(groups, shape), region or reducer())


def pairs(value, shape):
    return op("stablehlo.collective_permute", None, ["tensor<4xf32>"], ["tensor<4xf32>"],
              f"source_target_pairs = dense<{value}> : tensor<{shape}xi64>")


def unary(kind, result=None, name="stablehlo.abs", attrs=""):
    return op(name, None, [kind], [result or kind], attrs)


def dot(left, right, result, more="", name="stablehlo.dot_general"):
    return op(name, None, [left, right], [result],
              "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>" + more)


def algorithm(more, sides="f32", products=1, precision="DEFAULT"):
    text = {"lhs_component_count": 1, "rhs_component_count": 1, "allow_imprecise_accumulation": "false", **more}
    text = ", ".join(f"{k} = {v}" for k, v in text.items())
    return dot(*["tensor<2x2xf32>"] * 3, f", precision_config = [#stablehlo<precision {precision}>], algorithm = "
               f"#stablehlo.dot_algorithm<lhs_precision_type = {sides}, rhs_precision_type = {sides}, "
               f"accumulation_type = f32, num_primitive_operations = {products}, {text}>")


def conv(left, right, result, padding=None):
    return op("stablehlo.dynamic_conv" if padding else "stablehlo.convolution", None,
              [left, right] + ([padding] if padding else []), [result],
              "dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, "
              "batch_group_count = 1 : i64")


def ragged(left, right, sizes, result, ragged_dims="[0]", group="[0]", contract=("[1]", "[1]"), batch=("[]", "[]")):
    return op("chlo.ragged_dot", None, [left, right, sizes], [result],
              f"ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = {batch[0]}, "
              f"rhs_batching_dimensions = {batch[1]}, lhs_contracting_dimensions = {contract[0]}, "
              f"rhs_contracting_dimensions = {contract[1]}, lhs_ragged_dimensions = {ragged_dims}, "
              f"rhs_group_dimensions = {group}>")


def gather(indices, map_to, operand="tensor<2x3xi32>"):
    return op("stablehlo.gather", None, [operand, indices], ["tensor<2xi32>"],
              f"dimension_numbers = #stablehlo.gather<operand_batching_dims = [0], start_indices_batching_dims = [0], "
              f"collapsed_slice_dims = [1], start_index_map = {map_to}, index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>")


def with_shape(name, value, types, result, attrs=""):
    """Returns the text of a function with one operation whose last operand is a constant."""
    kind = value.split(" : ")[1]
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    operands = ", ".join([f"%a{i}" for i in range(len(types))] + ["%s"])
    return f(arguments, f"%s = stablehlo.constant dense<{value.split(' : ')[0]}> : {kind}",
             f'%r = "{name}"({operands}) {{{attrs}}} : ({", ".join([*types, kind])}) -> {result}')


def mesh(axes, definition='sdy.mesh @m = <["x"=2, "y"=4]>\n', name="@m"):
    return definition + op("stablehlo.all_gather", None, ["tensor<2xf32>"], ["tensor<4xf32>"],
                           f"all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = {name}, "
                           f"axes = [{axes}]>")


def axis(name, part=""):
    return f'#stablehlo.axis_ref<name = "{name}"{part and ", sub_axis_info = " + part}>'


def parallel(attrs, results=1, declared="tensor<i32>"):
    return f"func.func private @p() -> {declared} {{\n  %c = stablehlo.constant dense<1> : tensor<i32>\n" \
        f"  return %c : tensor<i32>\n}}\n" if not attrs else \
        "func.func private @p() -> tensor<i32> {\n  %c = stablehlo.constant dense<1> : tensor<i32>\n" \
        "  return %c : tensor<i32>\n}\nfunc.func private @two() -> (tensor<i32>, tensor<i32>) {\n" \
        "  %c = stablehlo.constant dense<1> : tensor<i32>\n  return %c, %c : tensor<i32>, tensor<i32>\n}\n" + \
        op("interpreter.run_parallel", None, [], ["tensor<i32>"] * results, attrs)


def async_start(body, future, takes="(%x: tensor<4xf32>)"):
    return op("stablehlo.async_start", None, ["tensor<4xf32>"], [future], region=f"({{ ^b{takes}: {body} }})")


def einsum(config, types, result):
    name = "stablehlo.einsum" if len(types) > 1 else "stablehlo.unary_einsum"
    return op(name, None, types, [result], f'einsum_config = "{config}"')


def scan(takes, gives, results, attrs="input_count = 1 : i64", operands=("tensor<2x3xf32>", "tensor<f32>")):
    """Returns the text of a scan along dimension 0 whose region returns its arguments, in this order."""
    types = takes.split(", ")
    arguments = ", ".join(f"%x{i}: {t}" for i, t in enumerate(types))
    values = ", ".join(f"%x{i}" for i in gives)
    return op("chlo.scan", None, operands, results, f"dimension = 0 : i64, {attrs}",
              f'({{ ^b({arguments}): "stablehlo.return"({values}) : ({", ".join(types[i] for i in gives)}) -> () }})')


def loop(takes, gives, result):
    """Returns the text of a loop over one value, whose body takes one type and returns another."""
    return op("stablehlo.while", None, ["tensor<4xf32>"], [result], "",
              '({ ^b(%x: tensor<4xf32>): %z = stablehlo.constant dense<false> : tensor<i1> '
              '"stablehlo.return"(%z) : (tensor<i1>) -> () }, '
              f'{{ ^b(%x: {takes}): %y = stablehlo.constant dense<0.0> : {gives} "stablehlo.return"(%y) : ({gives}) -> () }})')


def programs(takes, gives, operands, results):
    return f"func.func private @p(%a: {takes}) -> {gives} {{\n  return %a : {takes}\n}}\n" + \
        op("interpreter.run_parallel", None, operands, results, "programs = [[@p], [@p]]")


def solve(attrs):
    return op("stablehlo.triangular_solve", None, ["tensor<2x2xf32>", "tensor<2x3xf32>"], ["tensor<2x3xf32>"], attrs)


HUGE = 9223372036854775807
# The largest finite number of each small float type.
MOST = {"f8E3M4": 15.5, "f8E4M3": 240, "f8E4M3FN": 448, "f8E4M3FNUZ": 240, "f8E4M3B11FNUZ": 30, "f8E5M2": 57344,
        "f8E5M2FNUZ": 57344, "f8E8M0FNU": 2.0 ** 127, "f4E2M1FN": 6, "f6E2M3FN": 7.5, "f6E3M2FN": 28}


PERMUTE = '%y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : ' \
    '(tensor<4xf32>) -> tensor<4xf32> "stablehlo.return"(%y) : (tensor<4xf32>) -> ()'
RECV = "channel_handle = #stablehlo.channel_handle<handle = 1, type = {}>"
TOKEN = "!stablehlo.token"
# Programs that break a constraint, with the message for each.
WRONG = [
    # Types.
    (unary("tensor<3xf32, #stablehlo.bounds<3>>"), "is not a valid type: dimension 0 is 3, it takes no bound"),
    (unary("tensor<2x!quant.uniform<i8<5:5>:f32, 1.0:5>>"), "is not a valid type: stored values from 5 to 5 are fewer than two"),
    (unary("tensor<2x!quant.uniform<i8<-128:128>:f32, 1.0>>"),
     "is not a valid type: stored values from -128 to 128 are not within -128 to 127 of i8"),
    (unary("tensor<2x!quant.uniform<u4<-1:15>:f32, 1.0>>"), "stored values from -1 to 15 are not within 0 to 15 of ui4"),
    (unary("tensor<2x!quant.uniform<u64:f32, 1.0>>"), "stored values of 64 bits without a sign are not supported"),
    (unary(Q.format(2, "0.0")), "is not a valid type: scale 0 is not within f32, whose positive numbers are from "),
    (unary("tensor<2x!quant.uniform<i8:f16, 70000.0>>"), "is not a valid type: scale 70000 is not within f16"),
    *((unary(f"tensor<2x!quant.uniform<i8:{kind}, {2 * most:.1f}>>"), f"scale {2 * most:g} is not within {kind}")
      for kind, most in MOST.items()),
    (unary(Q.format(2, "1.0:128")), "is not a valid type: zero point 128 is not from -128 to 127"),
    (op("stablehlo.add", None, [QAXIS.format(2, 1)] * 2, [QAXIS.format(2, 1)]), "it has scales for dimension 1, but only 1 dimensions, counted from 0"),
    (op("stablehlo.add", None, [QAXIS.format(3, 0)] * 2, [QAXIS.format(3, 0)]), "it has 2 scales, dimension 0 is 3"),
    # The middle of a long type is left out, so that the reason after it stands in the message.
    (unary("tensor<61x!quant.uniform<i8:f32:0, {" + ", ".join(["0.123456789012"] * 60) + "}>>"),
     "is not a valid type: it has 60 scales, dimension 0 is 61"),
    # Regions of scalars.
    (op("stablehlo.reduce", None, ["tensor<4xf32>", "tensor<f32>"], ["tensor<f32>"], "dimensions = array<i64: 0>",
        reducer("tensor<1xf32>")), "argument 0 of region 0 is tensor<1xf32>, expected a scalar"),
    (op("stablehlo.reduce", None, ["tensor<4xf32>", "tensor<f32>"], ["tensor<f32>"], "dimensions = array<i64: 0>",
        reducer(takes="tensor<f64>")), "argument 1 of region 0 is tensor<f64>, but the region returns tensor<f32> for it"),
    (op("stablehlo.reduce", None, ["tensor<4xi64>", "tensor<i64>"], ["tensor<i32>"], "dimensions = array<i64: 0>",
        reducer("i32")), "region 0 computes with tensor<i32>, but the elements of operand 0 are tensor<i64>"),
    (op("stablehlo.sort", None, ["tensor<4xi32>"], ["tensor<4xi32>"], "dimension = 0 : i64", COMPARE + ")"),
     "argument 0 of region 0 is tensor<f32>, but an element of operand 0 is tensor<i32>"),
    (op("stablehlo.sort", None, ["tensor<4xf32>"], ["tensor<4xf32>"], "dimension = 0 : i64", reducer()),
     "region 0 returns tensor<f32>, expected tensor<i1>"),
    (op("stablehlo.while", None, ["tensor<4xf32>"], ["tensor<4xf32>"], "",
        '({ ^b(%x: tensor<3xf32>): %z = stablehlo.constant dense<false> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, '
        '{ ^b(%x: tensor<4xf32>): "stablehlo.return"(%x) : (tensor<4xf32>) -> () })'),
     "operand 0 is tensor<4xf32>, argument 0 of region 0 is tensor<3xf32>"),
    (op("stablehlo.map", None, ["tensor<2x2xf32>", "tensor<2x2xf32>"], ["tensor<2x2xf32>"], "dimensions = array<i64: 1, 0>",
        reducer()), "dimensions has 1 at position 0, but must list all dimensions in order: 0, 1, 2 and so on"),
    (op("stablehlo.map", None, ["tensor<2xf32>", "tensor<2xf32>"], ["tensor<2xf32>"], "dimensions = array<i64: 0, 1>",
        reducer()), "dimensions must have 1 numbers"),
    (op("stablehlo.map", None, ["tensor<2xf32>", "tensor<2xf32>"], ["tensor<2xf32>"], "dimensions = array<i64: 0>",
        '({ ^b(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.reshape %x : (tensor<f32>) -> tensor<1xf32> '
        '"stablehlo.return"(%z) : (tensor<1xf32>) -> () })'), "region 0 returns tensor<1xf32>, expected a scalar"),
    (op("stablehlo.select_and_scatter", None, ["tensor<4xf32>", "tensor<2xf64>", "tensor<f32>"], ["tensor<4xf64>"],
        "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>", COMPARE + ", " + reducer("f64")[1:]),
     "the operand has elements of f32, the source of f64"),
    (op("stablehlo.select_and_scatter", None, ["tensor<4xf32>", "tensor<2xf32>", "tensor<1xf32>"], ["tensor<4xf32>"],
        "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>", COMPARE + ", " + reducer()[1:]),
     "the initial value is no scalar"),
    (op("stablehlo.reduce_window", None, ["tensor<4xf32>", "tensor<f32>"], ["tensor<4xf32>"],
        "window_dimensions = array<i64: 1, 1>", reducer()), "window_dimensions must have 1 numbers"),
    (op("stablehlo.reduce_window", None, ["tensor<4xf32>", "tensor<f32>"], ["tensor<4xf32>"],
        "window_dimensions = array<i64: 1>, padding = dense<0> : tensor<2xi64>", reducer()), "padding must have a pair"),
    # Groups of processes.
    (op("stablehlo.all_reduce", None, ["tensor<4xf32>"], ["tensor<4xf32>"], "replica_groups = [[0, 1]]", reducer()),
     "replica_groups is no table of integers, such as dense<[[0, 1]]> : tensor<1x2xi64>"),
    (all_reduce("[0, 1]", "2"), "replica_groups is tensor<2xi64>, expected a table of integers, of rank 2"),
    (all_reduce("[[0, -2]]", "1x2"), "replica_groups has the id -2, which is less than 0"),
    (all_reduce("[[0, 1], [1, 2]]", "2x2"), "replica_groups has the id 1 twice"),
    (all_reduce("[[0, 7], [7, 2]]", "2x2"), "replica_groups has the id 7 twice"),
    (all_reduce("[[0, 1], [3, -1]]", "2x2"), "replica_groups has 3 ids, and 2 is not among them"),
    (all_reduce("[[0, 1]]", "1x2", FLAT.format(0)), "use_global_device_ids needs a channel_handle whose handle is 1 or more, not 0"),
    (all_reduce("0", "0x2", FLAT.format(1)), "replica_groups are empty, with use_global_device_ids"),
    (all_reduce("[[0, -1]]", "1x2", FLAT.format(1)), "replica_groups has the id -1, which is less than 0"),
    (op("stablehlo.all_to_all", None, ["tensor<4xf32>"], ["tensor<4xf32>"], "split_dimension = 0 : i64, concat_dimension = "
        "0 : i64, split_count = 2 : i64, " + GROUPS.format("[[0, 1, 2]]", "1x3")),
     "the groups of replica_groups have 3 members, expected 2, as split_count is"),
    (op("stablehlo.all_gather", None, ["tensor<4xf32>"], ["tensor<6xf32>"], "all_gather_dim = 0 : i64, " +
        GROUPS.format("[[0, 1]]", "1x2")), "dimension 0 of result 0 has size 6, which cannot be cut into slices of 4"),
    (all_reduce("0", "1025x1024"), "replica_groups has more than 1048576 rows, columns or ids"),
    (pairs("[[0, 1, 2]]", "1x3"), "source_target_pairs has rows of 3 numbers, expected 2"),
    (pairs("[[0, -1]]", "1x2"), "source_target_pairs has the id -1, which is less than 0"),
    (pairs("[[0, 1], [0, 2]]", "2x2"), "source_target_pairs has the source 0 twice"),
    (pairs("[[0, 1], [2, 1]]", "2x2"), "source_target_pairs has the target 1 twice"),
    (mesh(axis("x"), name="@n"), "replica_groups: there is no mesh @n"),
    (mesh(axis("z")), "replica_groups: the mesh has no axis 'z'"),
    (mesh(axis("y", "(2)4")), "replica_groups: the size and position of the part do not divide the axis 'y'"),
    (mesh(", ".join([axis("y", "(1)2"), axis("y")])), "replica_groups: its axes have devices in common"),
    (mesh(", ".join([axis("x")] * 65)), "replica_groups: there are more than 64 axes"),
    (mesh(axis("x"), 'sdy.mesh @m = <["x"=65537]>\n'), "the mesh has no devices, or more than 65536"),
    (mesh(axis("x"), 'sdy.mesh @m = <["x"=2], device_ids=[0]>\n'), "device_ids of the mesh must have a number for each device"),
    (mesh(axis("x"), "", "#stablehlo.mesh<axes = 1>"), "the mesh must have a list of axes, and the groups a list of those along which they lie"),
    # Transfers.
    (op("stablehlo.recv", None, [TOKEN], ["tensor<f32>", TOKEN], RECV.format(3)),
     "the type of channel_handle is 3, expected 1, DEVICE_TO_DEVICE, without is_host_transfer"),
    (op("stablehlo.send", None, [TOKEN], [TOKEN], RECV.format(1) + ", is_host_transfer"),
     "the type of channel_handle is 1, expected 2, DEVICE_TO_HOST, with is_host_transfer"),
    (f(f"%a: {TOKEN}", f'"stablehlo.recv"(%a) {{{RECV.format(1)}}} : ({TOKEN}) -> ()'),
     "it has no result, expected a token at least"),
    (op("stablehlo.infeed", None, [TOKEN], [TOKEN, TOKEN]), "result 0 is !stablehlo.token, expected a tensor"),
    (op("stablehlo.infeed", None, [TOKEN], ["tensor<f32>"]), "result 0 is tensor<f32>, expected a token"),
    (op("stablehlo.infeed", None, ["tensor<f32>"], [TOKEN]), "operand 0 is tensor<f32>, expected a token"),
    (op("stablehlo.infeed", None, [TOKEN], ["tensor<2xf32>", TOKEN], "layout = []"),
     "layout has to have a list for each tensor among the results, of which there are 1"),
    (op("stablehlo.infeed", None, [TOKEN], ["tensor<2xf32>", TOKEN], "layout = [[[]]]"), "item 0 of layout is no list of integers"),
    # Programs and asynchronous operations.
    (parallel("programs = []"), "programs names no function"),
    (parallel("programs = [[@q]]"), "there is no function @q"),
    (parallel("programs = [[@p], [@p, @p]]"), "row 1 of programs must have as many functions as the first"),
    (parallel("programs = [@p]"), "row 0 of programs is no list of functions, such as [@main]"),
    (parallel('programs = [["p"]]'), "programs and infeed must name functions as @main does"),
    (parallel("programs = [[@last]]"), "@last has no body"),
    (parallel("programs = [[@p]], infeed = []"), "infeed names no function"),
    (parallel("programs = [[@p]], infeed = [@two]"), "@two of infeed does not give one tensor"),
    (parallel("programs = [[@p]]", 2), "it has 0 operands and 2 results, its programs have 0 and 1"),
    (async_start(PERMUTE, "tensor<4xf32>"), "the result is tensor<4xf32>, expected a future"),
    (async_start('%y = stablehlo.abs %x : tensor<4xf32> "stablehlo.return"(%y) : (tensor<4xf32>) -> ()',
                 "!stablehlo.future<tensor<4xf32>>"), "its region must have one operation and the return"),
    (async_start(PERMUTE, "!stablehlo.future<tensor<3xf32>>"), "the future has tensor<3xf32>, its region returns tensor<4xf32>"),
    (op("stablehlo.async_done", None, ["!stablehlo.future<tensor<f32>>"], ["tensor<f32>"] * 2),
     "it has 2 results, expected 1, one for each value of the future"),
    (op("stablehlo.pad", None, ["tensor<3xf32>", "tensor<f32>"], ["tensor<3xf32>"], "edge_padding_low = array<i64: -9223372036854775808>, "
        "edge_padding_high = array<i64: -9223372036854775808>, interior_padding = array<i64: 0>"),
     "edge_padding_low has -9223372036854775808, it should be from -2147483647 to 2147483647"),
    (op("stablehlo.pad", None, ["tensor<3xf32>", "tensor<f32>"], ["tensor<3xf32>"], "edge_padding_low = array<i64: 0>, "
        "edge_padding_high = array<i64: 0>, interior_padding = array<i64: 9223372036854775807>"),
     "interior_padding has 9223372036854775807, it should be from 0 to 2147483647"),
    (op("stablehlo.reduce_window", None, ["tensor<3xf32>", "tensor<f32>"], ["tensor<3xf32>"], "window_dimensions = array<i64: 2>, "
        "window_dilations = array<i64: 9223372036854775807>", reducer()),
     "window_dilations has 9223372036854775807, it should be from 1 to 2147483647"),
    (op("stablehlo.reduce_window", None, ["tensor<3xf32>", "tensor<f32>"], ["tensor<3xf32>"], "window_dimensions = array<i64: 1>, "
        "padding = dense<-9223372036854775808> : tensor<1x2xi64>", reducer()),
     "padding has -9223372036854775808, it should be from -2147483647 to 2147483647"),
    (demand([], '""'), "shape_assertion has 0 operands and 0 results, expected at least one operand"),
    (demand(["tensor<i1>", "tensor<2xi32>"], '""'),
     "operand 1 of shape_assertion is tensor<2xi32>, expected is tensor<i32> or tensor<i64>"),
    (demand(["tensor<i32>"], '""'), "operand 0 of shape_assertion is tensor<i32>, expected is tensor<i1>"),
    (demand(["tensor<i1>"], "1"), "attribute error_message, a text, is missing"),
    (demand(["tensor<i1>", "tensor<i64>"], '"{0} {1}"'), "error_message names number 1, there are 1 numbers to name"),
    ("func.func private @g()\nfunc.func @f() {\n  func.call @g() : () -> ()\n  return\n}\n", "func.call: @g has no body"),
    ("func.func private @g() { return }\n" + f("", 'stablehlo.composite "g" {decomposition = @g} : () -> ()'),
     "its name is 'g', expected one like dialect.operation"),
    # Operands, results and regions that do not fit together.
    (einsum("ab,bc->ac", ["tensor<2x3xf32>", "tensor<4x5xf32>"], "tensor<2x5xf32>"),
     "einsum_config names dimension 0 of operand 1 'b', but it has size 4 and another dimension of this name 3"),
    (einsum("ab,bc->ac", ["tensor<2x3xf32>", "tensor<3x5xf32>"], "tensor<2x6xf32>"), "it should be tensor<2x5xf32>"),
    (einsum("aa->a", ["tensor<2x3xf32>"], "tensor<2xf32>"), "einsum_config names dimension 1 of operand 0 'a', but it has size 3"),
    (einsum("ab->ac", ["tensor<2x3xf32>"], "tensor<2x3xf32>"), "einsum_config names dimension 1 of the result 'c', which no operand has"),
    (einsum("ab->aa", ["tensor<2x3xf32>"], "tensor<2x2xf32>"), "einsum_config names two dimensions of the result 'a'"),
    (einsum("ab->", ["tensor<2x3xf32>"], TOKEN), "einsum_config has 0 letters for !stablehlo.token, expected one for each dimension"),
    (scan("tensor<3xf32>, tensor<f32>", (0, 1), ["tensor<2x3xf32>", "tensor<f32>"], "input_count = -1 : i64, "
          "operandSegmentSizes = array<i32: 1, 1>"), "-1 of its 2 operands are inputs, by input_count"),
    (scan("tensor<3xf32>, tensor<f32>", (0, 1), ["tensor<2x3xf32>", "tensor<f32>"], "input_count = 3 : i64"),
     "3 of its 2 operands are inputs, by input_count or operandSegmentSizes: expected at least one, and at most all"),
    (scan("tensor<2xf32>, tensor<f32>", (0, 1), ["tensor<2x2xf32>", "tensor<f32>"]),
     "argument 0 of region 0 is tensor<2xf32>, slices of operand 0 are tensor<3xf32>"),
    (scan("tensor<3xf32>, tensor<f32>", (0, 1), ["tensor<2x2xf32>", "tensor<f32>"]),
     "result 0 is tensor<2x2xf32>, but the region returns tensor<3xf32> for each position of dimension 0"),
    (scan("tensor<3xf32>, tensor<f32>", (0, 1), ["tensor<2x3xf64>", "tensor<f32>"]),
     "result 0 is tensor<2x3xf64>, but the region returns tensor<3xf32>"),
    (scan("tensor<3xf32>, tensor<f32>", (0, 1), ["tensor<4x3xf32>", "tensor<f32>"]), "it should be tensor<2x3xf32>"),
    (scan("tensor<3xf32>, tensor<f32>", (0, 0), ["tensor<2x3xf32>", "tensor<f32>"]),
     "argument 1 of region 0 is tensor<f32>, but the region returns tensor<3xf32> for it"),
    (loop("tensor<4xf32>", "tensor<5xf32>", "tensor<?xf32>"),
     "region 1 returns tensor<5xf32> as value 0, but argument 0 of region 0 is tensor<4xf32>"),
    (programs("tensor<9xf64>", "tensor<9xf64>", ["tensor<9xf64>", "tensor<2xf64>"], ["tensor<9xf64>"] * 2),
     "operand 1 is tensor<2xf64>, @p takes tensor<9xf64>"),
    (programs("tensor<9xf64>", "tensor<9xf64>", ["tensor<9xf64>"] * 2, ["tensor<9xf64>", "tensor<9xi64>"]),
     "result 1 is tensor<9xi64>, @p returns tensor<9xf64>"),
    (op("stablehlo.torch_index_select", None, ["tensor<4x3xf32>", "tensor<2x1xi32>"], ["tensor<4x1xf32>"],
        "dim = 1 : i64, batch_dims = 1 : i64"), "batching dimension 0 is 4 in the operand and 2 in the index"),
    (op("stablehlo.torch_index_select", None, ["tensor<4x3xf32>", "tensor<4x1xf32>"], ["tensor<4x1xf32>"],
        "dim = 1 : i64, batch_dims = 1 : i64"), "the index is tensor<4x1xf32>, expected integers"),
    (op("stablehlo.torch_index_select", None, ["tensor<4x3xf32>", "tensor<4x1xi32>"], ["tensor<4x1xf32>"],
        "dim = 0 : i64, batch_dims = 1 : i64"), "batch_dims is 1, expected one from 0 to 0, as dim is 0 and the rank of the index 2"),
    (solve("lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>"),
     "attribute left_side is missing, or neither true nor false"),
    (solve("left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>"),
     "attribute unit_diagonal is missing, or neither true nor false"),
    (solve("left_side = true, lower = true, unit_diagonal = false"), "transpose_a is '', expected NO_TRANSPOSE, TRANSPOSE or ADJOINT"),
    (op("stablehlo.custom_call", None, ["tensor<f32>"] * 2, [], 'call_target_name = "check.eq"'),
     "check.eq has 2 operands and 0 results, expected 2 operands and 1 result"),
    (op("stablehlo.custom_call", None, ["tensor<f32>"] * 2, [TOKEN], 'call_target_name = "check.eq"'), "it should be tensor<i1>"),
    (op("stablehlo.custom_call", None, ["tensor<f32>"], [], 'call_target_name = "check.expect_eq"'),
     "check.expect_eq has 1 operands and 0 results, expected 2 operands and no result"),
    (op("stablehlo.custom_call", None, ["tensor<f32>"] * 2, ["tensor<f32>"], 'call_target_name = "check.expect_close"'),
     "check.expect_close has 2 operands and 1 results, expected 2 operands and no result"),
    (async_start(PERMUTE.replace("%x", "%a0"), "!stablehlo.future<tensor<4xf32>>", ""),
     "region 0 takes 0 arguments, it should take 1"),
    (op("stablehlo.cross-replica-sum", None, ["tensor<4xf32>"], ["tensor<4xf32>"], GROUPS.format("[[0, 0]]", "1x2")),
     "replica_groups has the id 0 twice"),
    (op("stablehlo.collective_permute", None, ["tuple<tensor<f32>>"], ["tuple<tensor<f32>>"], "source_target_pairs = dense<[[0, 1]]> "
        ": tensor<1x2xi64>"), "operand 0 is no tensor"),
    (op("stablehlo.collective_permute", None, ["tensor<4xf32>"], ["tensor<4xf32>"]),
     "attribute source_target_pairs, a table of integers, is missing"),
    (op("stablehlo.after_all", None, [TOKEN, "tensor<f32>"], [TOKEN]), "operand 1 is tensor<f32>, expected a token"),
    (op("stablehlo.send", None, [], [TOKEN], RECV.format(1)), "it has no operand, expected a token at least"),
    (op("stablehlo.send", None, [TOKEN, TOKEN], [TOKEN], RECV.format(1)), "operand 0 is !stablehlo.token, expected a tensor"),
    (op("stablehlo.send", None, ["tensor<f32>"], [TOKEN], RECV.format(1)), "operand 0 is tensor<f32>, expected a token"),
    # Dimensions of any size, which a tensor without elements may have.
    (op("stablehlo.all_to_all", None, ["tensor<8x0x4611686018427387904xf32>"], ["tensor<1x0x0xf32>"], "split_dimension = 0 : i64, "
        "concat_dimension = 2 : i64, split_count = 8 : i64"), f"it should be tensor<1x0x{HUGE}xf32>"),
    (op("stablehlo.concatenate", None, [f"tensor<0x{HUGE}xi8>"] * 2, ["tensor<0x1xi8>"], "dimension = 1 : i64"),
     f"it should be tensor<0x{HUGE}xi8>"),
    (op("stablehlo.pad", None, [f"tensor<0x{HUGE}xi8>", "tensor<i8>"], ["tensor<0x1xi8>"], "edge_padding_low = array<i64: 0, 1>, "
        "edge_padding_high = array<i64: 0, 1>, interior_padding = array<i64: 0, 2>"), f"it should be tensor<0x{HUGE}xi8>"),
    (op("stablehlo.reduce_window", None, [f"tensor<0x{HUGE}xf32>", "tensor<f32>"], ["tensor<0x1xf32>"], "window_dimensions = "
        "array<i64: 1, 1>, base_dilations = array<i64: 1, 2>", reducer()), f"it should be tensor<0x{HUGE}xf32>"),
    (all_reduce("", f"{HUGE}x0"), "replica_groups has more than 1048576 rows, columns or ids"),
    # Attributes of another kind.
    (op("stablehlo.reverse", None, ["tensor<2xf32>"], ["tensor<2xf32>"], 'dimensions = ["a"]'), "attribute dimensions is no list of integers"),
    (op("stablehlo.reverse", None, ["tensor<2xf32>"], ["tensor<2xf32>"], "dimensions = dense<0.0> : tensor<1xf32>"),
     "attribute dimensions is no list of integers"),
    (op("stablehlo.reverse", None, ["tensor<2xf32>"], ["tensor<2xf32>"], f"dimensions = array<i64: {', '.join('0' * 65)}>"),
     "attribute dimensions has 65 numbers, expected at most 64"),
    (op("stablehlo.reverse", None, ["tensor<2xf32>"], ["tensor<2xf32>"]), "attribute dimensions, a list of integers, is missing"),
    (op("stablehlo.reduce_window", None, ["tensor<4xf32>", "tensor<f32>"], ["tensor<4xf32>"], "window_dimensions = array<i64: 1>, "
        'window_strides = ["a"]', reducer()), "attribute window_strides is no list of integers"),
    (op("stablehlo.get_dimension_size", None, ["tensor<2xf32>"], ["tensor<i32>"], "dimension = 0.0 : f32"), "attribute dimension is no integer"),
    (op("stablehlo.concatenate", None, [], ["tensor<2xf32>"], "dimension = 0 : i64"), "it has 0 operands, expected at least 1"),
    (op("chlo.broadcast_add", None, ["tensor<2x2xf32>", "tensor<2xf32>"], ["tensor<2x2xf32>"], "broadcast_dimensions = array<i64: 0, 1>"),
     "broadcast_dimensions must be a list of 1 integers, one for each dimension of operand 1"),
    (op("stablehlo.set_dimension_size", None, ["tensor<2xf32>", "tensor<f32>"], ["tensor<?xf32>"], "dimension = 0 : i64"),
     "the size is tensor<f32>, expected an integer"),
    (op("stablehlo.broadcast", None, ["tensor<2xf32>"], ["tensor<?x2xf32>"], "broadcast_sizes = array<i64: -1>"),
     "broadcast_sizes has -1, which is less than 0"),
    # Messages that name the limit that is broken.
    (op("stablehlo.broadcast_in_dim", None, ["tensor<f32>"], ["tensor<*xf32>"], "broadcast_dimensions = array<i64>"),
     "the result is a tensor of no known rank"),
    (op("stablehlo.iota", None, [], ["tensor<*xf32>"], "iota_dimension = 0 : i64"), "the result has dimensions that are not known"),
    (op("stablehlo.bitcast_convert", None, ["tensor<2xf6E2M3FN>"], ["tensor<2xi8>"]), "6 bits do not become elements of 8 bits"),
    (op("stablehlo.dynamic_slice", None, ["tensor<4xf32>", "tensor<i32>"], ["tensor<1xf32>"], "slice_sizes = array<i64: -1>"),
     "slice size -1 of dimension 0 is less than 0"),
    (op("stablehlo.dynamic_slice", None, ["tensor<4xf32>", "tensor<i32>"], ["tensor<5xf32>"], "slice_sizes = array<i64: 5>"),
     "slice size 5 of dimension 0 is more than the operand has, 4"),
    (gather("tensor<2x1xi32>", "[1]").replace("array<i64: 1, 1>", "array<i64: 1, 2>"),
     "slice size 2 of dimension 1, which is collapsed or a batching dimension, is more than 1"),
    (gather("tensor<2x2xi32>", "[1]").replace("index_vector_dim = 1", "index_vector_dim = 2").replace("map = [1]", "map = []"),
     "start_index_map has 0 numbers, expected 1, as index_vector_dim is the rank of the indices"),
    (op("chlo.top_k", None, ["tensor<?xf32>"], ["tensor<?xf32>", "tensor<?xi32>"], "k = -1 : i64"), "k is -1, which is less than 0"),
    (op("chlo.top_k", None, ["tensor<4xf32>"], ["tensor<5xf32>", "tensor<5xi32>"], "k = 5 : i64"),
     "k is 5, which is more than the size of the last dimension, 4"),
    (op("stablehlo.reduce", None, ["tensor<4xf32>", "tensor<f32>"], ["tensor<f32>"] * 2, "dimensions = array<i64: 0>", reducer()),
     "it has 2 results, expected 1, one for each input"),
    (op("stablehlo.fft", None, ["tensor<1x1x1x1xcomplex<f32>>"], ["tensor<1x1x1x1xcomplex<f32>>"], "fft_type = #stablehlo<fft_type FFT>, "
        "fft_length = array<i64: 1, 1, 1, 1>"), "fft_length has 4 numbers, expected 1 to 3"),
    (algorithm({"lhs_component_count": "true"}), "lhs_component_count of the algorithm, an integer, is missing"),
    (ragged("tensor<4x5xf32>", "tensor<3x5x7xf32>", "tensor<3xi64>", "tensor<4x7xf32>", group="[1]"),
     "dimension 1 of the right side is a group dimension, and a batching or contracting dimension"),
    (op("chlo.scan", None, ["tensor<2xf32>", "tensor<f32>"], ["tensor<2xf32>", "tensor<f32>"],
        "dimension = 0 : i64, scan_dim_size = 3 : i64, operandSegmentSizes = array<i32: 1, 1>",
        '({ ^b(%x: tensor<f32>, %y: tensor<f32>): "stablehlo.return"(%x, %y) : (tensor<f32>, tensor<f32>) -> () })'),
     "dimension 0 of operand 0 is 2, expected 3 as in other operands or scan_dim_size"),
    (scan("tensor<3xf32>, tensor<f32>", (0, 1), ["tensor<?x3xf32>", "tensor<f32>"], "input_count = 1 : i64, scan_dim_size = -1 : i64",
          ("tensor<?x3xf32>", "tensor<f32>")), "scan_dim_size is -1, which is less than 0"),
    (op("stablehlo.sort", None, ["tensor<f32>"], ["tensor<f32>"], "", COMPARE + ")"),
     "dimension is -1; a tensor of rank 0 has no such dimension"),
    (op("stablehlo.optimization_barrier", None, ["tensor<f32>"] * 2, ["tensor<f32>"]), "it has 1 results, expected 2, one for each operand"),
    (op("stablehlo.get_tuple_element", None, ["tuple<tensor<f32>>"], ["tensor<f32>"], "index = 1 : i32"),
     "index is 1, the tuple has 1 elements, counted from 0"),
    (op("func.call", None, [], [], ""), "attribute callee, the name of a function, is missing"),
    (op("stablehlo.all_gather", None, ["tensor<4x2xf32>"], ["tensor<8x3xf32>"], "all_gather_dim = 0 : i64, " +
        GROUPS.format("[[0, 1]]", "1x2")), "operand 0 is tensor<4x2xf32>, result 0 is tensor<8x3xf32>: they may differ only in the "
     "size of dimension 0, all_gather_dim"),
    (op("stablehlo.all_gather", None, ["tensor<4xf32>"], ["tensor<8xf32>"], "all_gather_dim = 1 : i64, " +
        GROUPS.format("[[0, 1]]", "1x2")), "all_gather_dim has 1; a tensor of rank 1 has no such dimension"),
    (op("stablehlo.all_to_all", None, ["tensor<3xf32>"], ["tensor<3xf32>"], "split_dimension = 0 : i64, concat_dimension = 0 : i64, "
        "split_count = 2 : i64, " + GROUPS.format("[[0, 1]]", "1x2")),
     "dimension 0 of operand 0 has size 3, which cannot be split into 2 equal slices"),
    # Quantised values.
    (op("stablehlo.and", None, [Q.format(2, "1.0")] * 2, [Q.format(2, "1.0")]), "operand 0 is quantised, which this operation does not allow: tensor<2x!quant"),
    (unary(QAXIS.format(2, 0)), "operand 0 has a scale for each index, expected one for all"),
    (op("stablehlo.multiply", None, [Q.format(2, "1.0"), "tensor<2xf32>"], [Q.format(2, "1.0")]),
     "operand 1 is tensor<2xf32>, operand 0 is tensor<2x!quant"),
    (op("stablehlo.add", None, [QAXIS.format("2x2", 0)] * 2, [QAXIS.format("2x2", 1)]),
     "operand 0 has scales along dimension 0, the result along 1"),
    (op("stablehlo.add", None, [QAXIS.format(2, 0)] * 2, [Q.format(2, "1.0")]),
     "operand 0 has scales along dimension 0, the result has one scale for all"),
    (op("stablehlo.add", None, [Q.format(2, "1.0")] * 2, [QAXIS.format(2, 0)]),
     "the result has scales along dimension 0, the operands have not"),
    (unary(Q.format("2x3", "0.1"), Q.format("3x2", "0.10000001"), "stablehlo.transpose", "permutation = array<i64: 1, 0>"),
     "the result has scale 0.10000001 and zero point 0, the operand 0.1 and 0"),
    (unary(Q.format("2x3", "0.5"), Q.format("3x2", "0.25"), "stablehlo.transpose", "permutation = array<i64: 1, 0>"),
     "the result has scale 0.25 and zero point 0, the operand 0.5 and 0"),
    (unary(QAXIS.format("2x3", 0), Q.format("3x2", "0.25"), "stablehlo.transpose", "permutation = array<i64: 1, 0>"),
     "the result is quantised in another way"),
    (unary(QAXIS.format("2x2", 0), QAXIS.format("2x2", 0), "stablehlo.transpose", "permutation = array<i64: 1, 0>"),
     "the result has scales along dimension 0, expected 1"),
    (unary(QAXIS.format("2x4", 0), QAXIS.format("4x2", 1), "stablehlo.reshape"),
     "the result has scales along dimension 1, the operand along 0: these dimensions must have equal sizes"),
    (dot("tensor<2x2xf32>", Q.format("2x2", "1.0"), Q.format("2x2", "1.0")), "in a quantised product the right operand has to be quantised"),
    (dot(QAXIS.format("2x2", 0), Q.format("2x2", "1.0"), Q.format("2x2", "1.0")),
     "operand 0 has a scale for each index, expected one for all"),
    (dot("tensor<2x2xf64>", Q.format("2x2", "1.0"), "tensor<2x2xf64>"),
     "the right operand expresses f32, the left operand and the result f64 and f64: all must be equal"),
    (dot(Q.format("2x2", "1.0"), Q.format("2x2", "1.0"), "tensor<2x2x!quant.uniform<i32:f64, 1.0>>"),
     "the result expresses f64, the operands express f32: both must be equal"),
    (dot(Q.format("2x2", "1.0"), Q.format("2x2", "1.0"), QAXIS.format("2x2", 1)),
     "the result has a scale for each index, the right operand has one for all"),
    (dot(Q.format("2x2", "1.0"), Q.format("2x2", "1.0:3"), Q.format("2x2", "1.0")), "the right operand has zero point 3, expected 0"),
    (dot(Q.format("2x2", "1.0"), "tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>", Q.format("2x2", "1.0")),
     "the right operand has scales along dimension 0, which is summed up"),
    (conv("tensor<1x2x4xi64>", "tensor<2x2x1xi32>", "tensor<1x2x4xi64>"), "operands 0 and 1 are of i64 and i32"),
    (conv(Q.format("1x2x4", "1.0"), QAXIS.format("2x2x1", 1), Q.format("1x2x4", "1.0")),
     "the kernel has scales along dimension 1, expected 0, that of the output features"),
    (conv(Q.format("2x2x4", "1.0"), QAXIS.format("2x2x1", 0), QAXIS.format("2x2x4", 0)),
     "the result has scales along dimension 0, expected 1, that of its features"),
    (conv("tensor<1x2x4xf32>", "tensor<2x2x1xf32>", "tensor<1x2x4xf32>", "tensor<2x2xi64>"),
     "the padding is tensor<2x2xi64>, expected two integers for each of 1 dimensions"),
    (conv("tensor<1x2x4xf32>", "tensor<2x2x0xf32>", "tensor<1x2x4xf32>"), "the kernel has no elements in spatial dimension 0"),
    (unary("tensor<2xf64>", Q.format(2, "1.0"), "stablehlo.uniform_quantize"), "the operand is of f64, the result expresses f32: both must be equal"),
    (op("stablehlo.dot_general", None, ["tensor<2x2xf32>"] * 2, ["tensor<f32>"], "dot_dimension_numbers = #stablehlo.dot<"
        "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [0, 1], "
        "rhs_contracting_dimensions = [0, 1]>"), "operand 0 has rank 2, and more dimensions are named"),
    # Precision and accuracy.
    (dot(*["tensor<2x2xf32>"] * 3, ", precision_config = " + "[" + ", ".join(["#stablehlo<precision HIGH>"] * 3) + "]"),
     "precision_config must be a list of at most 2 words"),
    (dot(*["tensor<2x2xf32>"] * 3, ", precision_config = [#stablehlo<precision BEST>]"),
     "precision_config has 'BEST', expected DEFAULT, HIGH or HIGHEST"),
    (algorithm({}, precision="HIGHEST"), "precision_config must be DEFAULT when an algorithm is given"),
    (algorithm({"lhs_component_count": 0}), "lhs_component_count of the algorithm is 0, expected one from 1 on"),
    (algorithm({}, products=3), "no hardware is known for this algorithm: f32 x f32, summed in f32, with 1 and 1 components and 3 products"),
    (unary("tensor<f32>", name="stablehlo.cbrt", attrs="result_accuracy = #stablehlo.result_accuracy<atol = 1.0, rtol = 0.0, "
           "ulps = 0, mode = #stablehlo.result_accuracy_mode<HIGHEST>>"), "result_accuracy has atol, which mode HIGHEST does not take"),
    (unary("tensor<f32>", name="stablehlo.cbrt", attrs="result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = 0.0, "
           "ulps = 0, mode = #stablehlo.result_accuracy_mode<LOW>>"), "the mode of result_accuracy is 'LOW', expected DEFAULT, HIGHEST or TOLERANCE"),
    # Dimensions that are given by values.
    (with_shape("stablehlo.dynamic_iota", "[[3]] : tensor<1x1xi64>", [], "tensor<?xf32>", "iota_dimension = 0 : i64"),
     "operand 0 is tensor<1x1xi64>, expected a list of integers"),
    (op("stablehlo.dynamic_reshape", None, ["tensor<4xf32>", "tensor<?xi64>"], ["tensor<?xf32>"]),
     "operand 1 is tensor<?xi64>, its length has to be known and at most 64"),
    (op("stablehlo.dynamic_reshape", None, ["tensor<4xf32>", "tensor<2xi64>"], ["tensor<?xf32>"]),
     "operand 1 has 2 numbers, expected 1"),
    (op("stablehlo.dynamic_reshape", None, ["tensor<4xf32>", "tensor<1xf32>"], ["tensor<*xf32>"]),
     "operand 1 is tensor<1xf32>, expected a list of integers"),
    (with_shape("stablehlo.dynamic_iota", "[-1] : tensor<1xi64>", [], "tensor<?xf32>", "iota_dimension = 0 : i64"),
     "operand 0 gives dimension 0 the size -1, but the result is tensor<?xf32>"),
    (with_shape("stablehlo.dynamic_reshape", "[2, 3] : tensor<2xi64>", ["tensor<4xf32>"], "tensor<?x?xf32>"),
     "the operand has 4 elements, the result 6"),
    (with_shape("stablehlo.dynamic_broadcast_in_dim", "[2] : tensor<1xi64>", ["tensor<3xf32>"], "tensor<?xf32>",
                "broadcast_dimensions = array<i64: 0>"), "dimension 0 of the operand is 3, but becomes dimension 0 of the result, which is 2"),
    (op("stablehlo.dynamic_broadcast_in_dim", None, ["tensor<?xf32>", "tensor<1xi64>"], ["tensor<?xf64>"],
        "broadcast_dimensions = array<i64: 0>"), "operand and result must have equal element types"),
    (op("stablehlo.dynamic_broadcast_in_dim", None, ["tensor<?xf32>", "tensor<1xi64>"], ["tensor<?xf32>"],
        "broadcast_dimensions = array<i64: 0>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = "
        "array<i64: 0>"), "the list of known_expanding_dimensions and known_nonexpanding_dimensions has 0 twice"),
    (unary("tensor<?x?xf32, #stablehlo.bounds<4, 4>>", "tensor<?x?xf32, #stablehlo.bounds<4, 4>>", "stablehlo.reshape"),
     "which has more than one open dimension"),
    (op("stablehlo.dynamic_pad", None, ["tensor<4xf32>", "tensor<f32>"] + ["tensor<2xi64>"] * 3, ["tensor<?xf32>"]),
     "operand 2 has 2 numbers, expected 1"),
    (with_shape("stablehlo.dynamic_pad", "[-1] : tensor<1xi64>", ["tensor<4xf32>", "tensor<f32>"] + ["tensor<1xi64>"] * 2,
                "tensor<?xf32>"), "interior_padding has -1, which is less than 0"),
    (op("stablehlo.dynamic_pad", None, ["tensor<4xf32>", "tensor<f32>"] + ["tensor<1xi64>"] * 3, ["tensor<?xf64>"]),
     "operand and result must have equal ranks and element types"),
    (op("stablehlo.dynamic_slice", None, ["tensor<4x4xf32>", "tensor<i32>", "tensor<i64>"], ["tensor<1x1xf32>"],
        "slice_sizes = array<i64: 1, 1>"), "operands 1 and 2 are of i32 and i64"),
    (with_shape("stablehlo.rng", "[3] : tensor<1xi64>", ["tensor<f32>", "tensor<f32>"], "tensor<2xf32>",
                "rng_distribution = #stablehlo<rng_distribution UNIFORM>"), "operand 2 gives dimension 0 the size 3"),
    (with_shape("stablehlo.rng", "[3] : tensor<1xi64>", ["tensor<1xf32>", "tensor<f32>"], "tensor<3xf32>",
                "rng_distribution = #stablehlo<rng_distribution UNIFORM>"), "operand 0 is tensor<1xf32>, expected a scalar"),
    (with_shape("stablehlo.rng", "[3] : tensor<1xi64>", ["tensor<f32>", "tensor<f32>"], "tensor<3xf64>",
                "rng_distribution = #stablehlo<rng_distribution UNIFORM>"), "operands and result must have equal element types"),
    (op("stablehlo.add", None, ["tensor<?xf32, #stablehlo.bounds<4>>"] * 2, ["tensor<5xf32>"]),
     "dimension 0 of tensor<5xf32> is more than that of operand 0 may be, 4"),
    # Indices.
    (gather("tensor<3x1xi32>", "[1]"), "batching dimensions must have equal sizes"),
    (gather("tensor<2x1xi32>", "[0]"), "dimension 0 is in both start_index_map and operand_batching_dims"),
    (ragged("tensor<4x5xf32>", "tensor<3x5x7xf32>", "tensor<3xf32>", "tensor<4x7xf32>"),
     "the sizes of groups are tensor<3xf32>, expected integers of rank 1 ("),
    (ragged("tensor<2x4x5xf32>", "tensor<3x2x5x7xf32>", "tensor<4x3xi64>", "tensor<2x4x7xf32>", "[1]", "[0]", ("[2]", "[2]"),
            ("[0]", "[1]")), "dimension 0 of the sizes of groups is 4, dimension 0 of operand 0 2: both must be equal"),
    (ragged("tensor<4x5xf32>", "tensor<3x5x7xf32>", "tensor<2xi64>", "tensor<4x7xf32>"),
     "there are 2 sizes of groups, the right side has 3 groups"),
    (ragged("tensor<4x5xf32>", "tensor<3x5x7xf32>", "tensor<3xi64>", "tensor<4x7xf32>", "[0, 1]"),
     "lhs_ragged_dimensions has 2 numbers, expected 1"),
    (ragged("tensor<4x5xf32>", "tensor<5x7xf32>", "tensor<3xi64>", "tensor<4x7xf32>", "[0]", "[]", ("[1]", "[0]")),
     "rhs_group_dimensions has 0 numbers, expected 1, as the ragged dimension is neither"),
    (ragged("tensor<4x5xf32>", "tensor<3x5x7xf32>", "tensor<3xi64>", "tensor<5x7xf32>"), "it should be tensor<4x7xf32>"),
    (gather("tensor<2x1xi32>", "[1]").replace("collapsed_slice_dims = [1]", "collapsed_slice_dims = [0]"),
     "the list of collapsed_slice_dims and operand_batching_dims has 0 twice"),
    (gather("tensor<2x1xi32>", "[1]").replace("index_vector_dim = 1", "index_vector_dim = 3"),
     "index_vector_dim is 3, expected one from 0 to the rank of the indices, 2"),
    (gather("tensor<2x1xi32>", "[1]").replace("collapsed_slice_dims = [1]", "collapsed_slice_dims = true"),
     "collapsed_slice_dims of dimension_numbers is no list of integers"),
    (gather("tensor<2x1xi32>", "[1]").replace("index_vector_dim = 1", "index_vector_dim = [1]"),
     "index_vector_dim of dimension_numbers is no integer"),
    (op("stablehlo.gather", None, ["tensor<i32>", "tensor<0xi32>"], ["tensor<i32>"], "dimension_numbers = true, "
        "slice_sizes = array<i64>"), "attribute dimension_numbers has no dimension numbers"),
    (dot("tensor<2xf32>", "tensor<2xf32>", "tensor<2x2xf32>").replace("[1]", "1").replace("[0]", '"0"'),
     "lhs_contracting_dimensions of dot_dimension_numbers is no list of integers"),
    (dot("tensor<2xf32>", "tensor<2xf32>", "tensor<2x2xf32>").replace("[1]", "[" + ", ".join(map(str, range(65))) + "]"),
     "lhs_contracting_dimensions of dot_dimension_numbers has 65 numbers, expected at most 64"),
    (ragged("tensor<4x2xf32>", "tensor<2x2xf32>", "tensor<3xi32>", "tensor<4x2xf32>", group="7"),
     "rhs_group_dimensions of ragged_dot_dimension_numbers is no list of integers"),
    (gather("tensor<3x1xi32>", "[1]"), "dimension 0 of the operand is 2 and dimension 0 of the indices 3"),
    (op("stablehlo.scatter", None, ["tensor<4xi32>", "tensor<1xi32>", "tensor<3xi32>"], ["tensor<4xi32>"], "scatter_dimension_numbers = "
        "#stablehlo.scatter<update_window_dims = [0, 1], index_vector_dim = 0>", reducer("i32")),
     "update_window_dims, inserted_window_dims and input_batching_dims have 2, 0 and 0 numbers; together they must have the rank of "
     "the operand, 1"),
    (op("stablehlo.scatter", None, ["tensor<4xi32>", "tensor<1xi32>", "tensor<5xi32>"], ["tensor<4xi32>"], "scatter_dimension_numbers = "
        "#stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 0>", reducer("i32")),
     "dimension 0 of the updates is 5, expected at most 4, as in the input"),
    (dot("tensor<2x3xf32>", "tensor<2x2xf32>", "tensor<2x2xf32>"),
     "contracting dimensions must have equal sizes, but dimension 1 of operand 0 is 3 and dimension 0 of operand 1 2"),
    (op("stablehlo.slice", None, ["tensor<4xf32>"], ["tensor<1xf32>"], "start_indices = array<i64: 0>, limit_indices = array<i64: 1>, "
        "strides = array<i64: 0>"), "the stride of dimension 0 is 0, expected at least 1"),
    (op("stablehlo.slice", None, ["tensor<4xf32>"], ["tensor<1xf32>"], "start_indices = array<i64: 2>, limit_indices = array<i64: 1>, "
        "strides = array<i64: 1>"), "dimension 0 has start 2 and limit 1; the start must be from 0 to the limit"),
    (op("stablehlo.fft", None, ["tensor<4xcomplex<f32>>"], ["tensor<4xf32>"], "fft_type = #stablehlo<fft_type IRFFT>, "
        "fft_length = array<i64: 4>"), "dimension 0 of the operand is 4, expected 3 for a length of 4"),
    # Elements and attributes.
    (unary("tensor<2xi32>", "tensor<2xi1>", "stablehlo.is_finite"), "it does not take elements of type i32"),
    (op("chlo.broadcast_select", None, ["tensor<2xf32>"] * 3, ["tensor<2xf32>"]), "the predicate is of f32, it should be of i1"),
    (op("stablehlo.rng_bit_generator", None, ["tensor<2xui64>"], ["tensor<2xui64>", TOKEN],
        "rng_algorithm = #stablehlo<rng_algorithm DEFAULT>"), "result 1 is !stablehlo.token, expected a tensor of integers or floats"),
    (f("%a: tensor<2xf32>", "%r = stablehlo.reduce_precision %a, format = e0m1 : tensor<2xf32>"), "exponent_bits is 0, expected one from 1 on"),
    (op("chlo.mulhi", None, ["tensor<2xi1>"] * 2, ["tensor<2xi1>"]), "it does not take elements of type i1"),
    (f("", '%c = "stablehlo.constant"() {value = dense<1> : tensor<2xui8>} : () -> tensor<2x!quant.uniform<i8:f32, 1.0>>'),
     "its elements are of ui8, the result is tensor<2x!quant"),
    (op("chlo.constant_like", None, ["tensor<2xf32>"], ["tensor<2xf32>"], 'value = "a"'), "attribute value is missing, or no number such as 1.5 : f32"),
    (f("%a: tensor<2xf32>", "%r = stablehlo.reduce_precision %a, format = e2147483648m1 : tensor<2xf32>"),
     "a format has less than 2^31 bits"),
    ("module attributes {a = #stablehlo.dot<lhs_batching_dimensions = [0], lhs_batching_dimensions = [1]>} {}\n",
     "lhs_batching_dimensions occurs twice"),
    ("func.func @f(tensor<f32>) {\n  return\n}\n", "the arguments of @f have no names"),
    ("module attributes {a = #stablehlo.gather<offset_dim = [0]>} {}\n", "#stablehlo.gather has no 'offset_dim'"),
]
# Valid programs that nearly break a constraint.
RIGHT = [
    unary("tensor<2x!quant.uniform<i8:f16, 65504.0>>"), unary("tensor<2x!quant.uniform<i64:f32, 1.0>>"),
    unary("tensor<2x!quant.uniform<u32<0:4294967295>:f32, 1.0>>"),
    *(unary(f"tensor<2x!quant.uniform<i8:{kind}, {most:.1f}>>") for kind, most in MOST.items()),
    op("stablehlo.dynamic_iota", None, ["tensor<1xi64>"], ["tensor<*xf32>"], "iota_dimension = 0 : i64"),
    op("stablehlo.dynamic_broadcast_in_dim", None, ["tensor<2xf32>", "tensor<1xi64>"], ["tensor<*xf32>"], "broadcast_dimensions = array<i64: 0>"),
    einsum("ab,bc->ca", ["tensor<2x?xf32>", "tensor<3x5xf32>"], "tensor<5x2xf32>"),
    scan("tensor<3xf32>, tensor<f32>", (0, 1), ["tensor<2x3xf32>", "tensor<f32>"]),
    scan("tensor<?xf32>, tensor<f32>", (0, 1), ["tensor<?x?xf32>", "tensor<f32>"], operands=("tensor<?x?xf32>", "tensor<f32>")),
    loop("tensor<?xf32>", "tensor<4xf32>", "tensor<?xf32>"),
    programs("tensor<?xf64>", "tensor<?xf64>", ["tensor<9xf64>", "tensor<2xf64>"], ["tensor<9xf64>"] * 2),
    op("stablehlo.add", None, [Q.format(2, "1.0"), QAXIS.format(2, 0)], [QAXIS.format(2, 0)]),
    op("stablehlo.reduce", None, ["tensor<4xi16>", "tensor<i32>"], ["tensor<i32>"], "dimensions = array<i64: 0>", reducer("i32")),
    op("stablehlo.convolution", None, ["tensor<1x2x4xf32>", "tensor<2x2x1xf32>"], ["tensor<1x2x4xf32>"],
       "dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, "
       "batch_group_count = 1 : i64, window_strides = array<i64>"),
    all_reduce("[[0, 1], [2, -1]]", "2x2"),
    all_reduce("[[1, 0]]", "1x2", FLAT.format(1)),
    mesh(", ".join([axis("y", "(2)2"), axis("x")])),
    mesh(axis("x"), 'sdy.mesh @m = <["x"=2], device_ids=[1, 0]>\n'),
    mesh(axis("x"), "func.func private @m()\n"),
    parallel("programs = [[@p]], infeed = [@p]"),
    async_start(PERMUTE, "!stablehlo.future<tensor<4xf32>>"),
    unary(QAXIS.format("2x3", 0), QAXIS.format("3x2", 1), "stablehlo.transpose", "permutation = array<i64: 1, 0>"),
    unary(QAXIS.format("3x2x4", 1), QAXIS.format("3x2x2x2", 1), "stablehlo.reshape"),
    unary("tensor<1x2x!quant.uniform<i8:f32:0, {0.5:1}>>", "tensor<2x2x!quant.uniform<i8:f32:0, {0.5:1, 0.5:1}>>",
          "stablehlo.broadcast_in_dim", "broadcast_dimensions = array<i64: 0, 1>"),
    unary("tensor<?x!quant.uniform<i8:f32, 1.0>>"),
    unary("tensor<1x?xf32, #stablehlo.bounds<?, 5>>", "tensor<2x?xf32, #stablehlo.bounds<?, 5>>", "stablehlo.broadcast_in_dim",
          "broadcast_dimensions = array<i64: 0, 1>"),
    unary("tensor<f32, #stablehlo.bounds<>>"),
    unary(Q.format("2x2", "1.0"), name="stablehlo.cholesky"),
    unary(Q.format("2x2", "1.0"), name="stablehlo.reduce_precision", attrs="exponent_bits = 5 : i32, mantissa_bits = 2 : i32"),
    op("chlo.broadcast_add", None, [Q.format("2", "1.0"), Q.format("1", "1.0")], [Q.format("2", "1.0")]),
    op("chlo.constant_like", None, ["tensor<2xi64>"], ["tensor<2xf32>"], "value = 1.5 : f32"),
    algorithm({}, "bf16", 6), algorithm({}, "tf32", 3),
    dot(Q.format("2x2", "1.0:3"), "tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>", QAXIS.format("2x2", 1)),
    ragged("tensor<2x4x5xf32>", "tensor<3x2x5x?xf32>", "tensor<2x3xi64>", "tensor<2x4x?xf32>", "[1]", "[0]", ("[2]", "[2]"),
           ("[0]", "[1]")),
    f("", "%c = arith.constant dense<[1, 2]> : tensor<2xi32>", "%d = stablehlo.abs %c : tensor<2xi32>"),
    "module attributes {a = #stablehlo.gather<offset_dims = [0],>} {}\n",
    "func.func private @unused(!stablehlo.token)\nfunc.func private @other(%a: tensor<f32>)\n" + f(""),
]


class Constraints(unittest.TestCase):
    def test_wrong(self):
        for (text, expected), said in zip(WRONG, says([text for text, _ in WRONG])):
            with self.subTest(expected):
                self.assertIn(expected, said, text)

    def test_right(self):
        """Tests that valid programs get no message, except that they have no @main to run."""
        for text, said in zip(RIGHT, says(RIGHT)):
            with self.subTest(text):
                self.assertNotIn(": line ", said.replace("the module has no function @main", ""), text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
