#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the messages, with line and column, of programs that are refused or fail: test_refusals.py
STABLEHLO_TEST."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]


def says(text, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.mlir"
        path.write_text(text, encoding="utf-8")
        return subprocess.run([PROGRAM, *options, str(path)], check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE).stderr


def body(*lines):
    return "func.func @main() {\n" + "".join(f"  {line}\n" for line in lines) + "  return\n}\n"


X = "%x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>"
Y = "%y = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>"
F = "%f = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>"
DEEP = 70
# The value of %x in a type that does not tell its size.
OPEN = '%o = "stablehlo.abs"(%x) : (tensor<2xi32>) -> tensor<?xi32>'


def opened(operation, *more):
    """Returns a program with an operation on %o, whose size is known only at run time."""
    return body(X, OPEN, *more, operation)


def parallel(body_of_p, gives="tensor<2xi32>"):
    return f"module {{\n  func.func private @p() -> {gives} {{\n{body_of_p}  }}\n" \
        '  func.func @main() {\n    %r:2 = "interpreter.run_parallel"() {programs = [[@p, @p]]} : () -> ' \
        f'({gives}, {gives})\n    return\n  }}\n}}\n'


def exchanged(sent, received):
    """Returns a program whose first process sends a value to the second, which takes it as another type."""
    return 'module {\n  func.func private @a() {\n    %t = stablehlo.create_token : !stablehlo.token\n' \
        f'    %x = stablehlo.constant dense<1> : {sent}\n    %s = "stablehlo.send"(%x, %t) {{channel_handle = ' \
        f'#stablehlo.channel_handle<handle = 5, type = 1>}} : ({sent}, !stablehlo.token) -> !stablehlo.token\n    return\n  }}\n' \
        '  func.func private @b() {\n    %t = stablehlo.create_token : !stablehlo.token\n' \
        '    %r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} : ' \
        f'(!stablehlo.token) -> ({received}, !stablehlo.token)\n    return\n  }}\n' \
        '  func.func @main() {\n    "interpreter.run_parallel"() {programs = [[@a, @b]]} : () -> ()\n    return\n  }\n}\n'


GROW = '({ ^b(%p: tensor<2xi32>, %i: tensor<i32>): %n = stablehlo.constant dense<3> : tensor<i32> ' \
    '%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> "stablehlo.return"(%c) : (tensor<i1>) -> () }, ' \
    '{ ^b(%p: tensor<2xi32>, %i: tensor<i32>): %n = stablehlo.constant dense<1> : tensor<i32> %j = stablehlo.add %i, %n : tensor<i32> ' \
    '%q = stablehlo.set_dimension_size %p, %n, dim = 0 : (tensor<2xi32>, tensor<i32>) -> tensor<?xi32> ' \
    '"stablehlo.return"(%q, %j) : (tensor<?xi32>, tensor<i32>) -> () })'
ADD = '({ ^b(%p: tensor<i32>, %q: tensor<i32>): %r = stablehlo.add %p, %q : tensor<i32> "stablehlo.return"(%r) : (tensor<i32>) -> () })'
# Programs, with the message for each.
CASES = [
    ("func.func @main( {", "line 1, column 18: expected '%' here"),
    ("nonsense", "line 1, column 1: expected a module or a function here"),
    ("{\n", "line 1, column 1: expected a module or a function here"),
    ("module {\n", "line 2, column 1: expected '}' here"),
    ("#a = #x<[1\n", "line 1, column 8: this bracket is not closed"),
    ('"func.func"() ({ ^b(%x: tensor<i32>): "func.return"() : () -> () }) {sym_name = "f", function_type = (tensor<f32>) -> ()} '
     ': () -> ()\n', "argument 0 of @f is tensor<i32>, but function_type says tensor<f32>"),
    (body('"stablehlo.optimization_barrier"() ({ ^a: "stablehlo.return"() : () -> () ^b: "stablehlo.return"() : () -> () }) : () -> ()'),
     "a second block begins here, but a region of StableHLO has one"),
    (body(X, "%y = stablehlo.while(% = %x) : tensor<2xi32>"), "expected the name of an argument here"),
    (body("%x = stablehlo.constant dense<1> : tensor<2x>"), "line 2, column 47: expected a type here"),
    (body("%x = stablehlo.constant dense<1> : tensor<2x!quant.uniform<i8:f32:4294967296, {0.1, 0.2}>>"),
     "the scales are for dimension 4294967296; allowed are 0 to 63"),
    (body("%x = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>"), "there are more elements than the type has"),
    (body(X, "%y = stablehlo.custom_call @SPMDFullToShardShape(%x) : (tensor<2xi32>) -> tensor<1xi32>"),
     "line 3, column 3: stablehlo.custom_call: tensor<2xi32> would be cut into slices of tensor<1xi32>, which is not done here"),
    (body(X, "%y = stablehlo.custom_call @SPMDShardToFullShape(%x) : (tensor<2xi32>) -> tensor<4xi32>"),
     "tensor<4xi32> would be cut into slices of tensor<2xi32>"),
    (body(X, "%y = stablehlo.custom_call @Sharding(%x) : (tensor<2xi32>) -> tensor<2xi8>"),
     "values that go in or out unchanged must have equal types, not tensor<2xi32> and tensor<2xi8>"),
    (body(X, "%y = sdy.named_computation<\"a\">(%x) (%a: tensor<1xi32>) { sdy.return %a : tensor<1xi32> } : (tensor<2xi32>) -> tensor<1xi32>"),
     "values that go in or out unchanged must have equal types, not tensor<2xi32> and tensor<1xi32>"),
    (body(X, "%y, %z = stablehlo.custom_call @onpu.eigh(%x) : (tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)"),
     "onpu.eigh takes one tensor of matrices, of f32, f64 or complex numbers, whose dimensions are known"),
    (body(X, "%f = stablehlo.constant dense<0.0> : tensor<2x3xf32>\n"
          "%y, %z = stablehlo.custom_call @onpu.eigh(%f) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)"),
     "onpu.eigh takes square matrices, not those of 2 rows and 3 columns"),
    (body(X, "%f = stablehlo.constant dense<0.0> : tensor<2x3xf32>\n"
          "%y, %z = stablehlo.custom_call @onpu.svd(%f) : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2x2xf32>)"),
     "onpu.svd has 3 results or 1, not 2"),
    (body("%f = stablehlo.constant dense<> : tensor<0x9223372036854775807xf32>",
          "%y = stablehlo.custom_call @onpu.svd(%f) : (tensor<0x9223372036854775807xf32>) -> tensor<0xf32>"),
     "onpu.svd takes at most 16777216 rows and columns, not 0 and 9223372036854775807"),
    (body(X, "%f = stablehlo.constant dense<(0.0, 0.0)> : tensor<4x2x2xcomplex<f32>>\n%y, %z = stablehlo.custom_call "
          "@onpu.eigh(%f) : (tensor<4x2x2xcomplex<f32>>) -> (tensor<4x2x2xcomplex<f32>>, tensor<4x2xcomplex<f32>>)"),
     "result 1 of onpu.eigh must be tensor<4x2xf32>, not tensor<4x2xcomplex<f32>>"),
    (body(X, "stablehlo.custom_call @Sharding(%x) : (tensor<2xi32>) -> ()"), "Sharding has 1 operands and 0 results"),
    (body(X, "%y = sdy.manual_computation(%x) in_shardings=[<@m, [{\"x\"}]>] out_shardings=[<@m, [{\"x\"}]>] "
             "manual_axes={\"x\"} (%a: tensor<1xi32>) { sdy.return %a : tensor<1xi32> } : (tensor<2xi32>) -> tensor<2xi32>"),
     "line 3, column 3: sdy.manual_computation: tensor<2xi32> would be cut into slices of tensor<1xi32>"),
    (body(X, "%y = sdy.reshard %x : tensor<3xi32>"), "operand 0 of sdy.reshard is tensor<2xi32>, not tensor<3xi32>"),
    (body(X, "%y = sdy.all_gather [{\"x\"}] %x out_sharding=<@m, [{}]> : tensor<2xi32>"), "line 3, column"),
    ("sdy.mesh @m = 3", "line 1, column 15: expected a mesh here"),
    ('module {\n  "sdy.mesh"() {sym_name = "m", mesh = #sdy.mesh<["x"]>} : () -> ()\n}\n', "column 6: expected '=' here"),
    (body("%x = stablehlo.constant dense<[1]> : tensor<2xi32>"), "there are 1 elements where the type has 2"),
    (body("%x = stablehlo.constant dense<[-]> : tensor<1xi32>"), "line 2, column 34: expected a number here"),
    (body("%x = stablehlo.constant dense<--5> : tensor<i32>"), "line 2, column 33: expected a number here"),
    (body('%x = stablehlo.constant dense<"0x01"> : tensor<2xi32>'), "there are 1 bytes for the elements of tensor<2xi32>, which take 8"),
    (body("%x = stablehlo.constant dense<1> : tensor<2xi33>"), "there is no element type 'i33'"),
    (body(X, "%y = stablehlo.slice %x [0:99999999999999999999] : (tensor<2xi32>) -> tensor<1xi32>"), "this number does not fit into 64 bits"),
    (body(X, '%y = "stablehlo.reverse"(%x) {dimensions = array<i64: 99999999999999999999>} : (tensor<2xi32>) -> tensor<2xi32>'),
     "this number does not fit into 64 bits"),
    (body(X, '%y = "stablehlo.reverse"(%x) {dimensions = [-9223372036854775809]} : (tensor<2xi32>) -> tensor<2xi32>'),
     "this number does not fit into 64 bits"),
    (body("%x = stablehlo.constant dense<1> : tensor<99999x99999xi32>"), "this tensor has more than 2^31 elements"),
    (body("%y = stablehlo.abs %x : tensor<2xi32>"), "line 2, column 24: there is no value %x before this"),
    (body(X, X), "there is a value %x already: give this one another name"),
    (body(X, "%y = stablehlo.concatenate(%x %x), dim = 0 : (tensor<2xi32>, tensor<2xi32>) -> tensor<4xi32>"),
     "line 3, column 33: expected ',' or ')' here"),
    (body(X, "%y = stablehlo.concatenate(%x, 5), dim = 0 : (tensor<2xi32>, tensor<2xi32>) -> tensor<4xi32>"),
     "expected an operand or ')' here"),
    (body(X, "%y = stablehlo.abs %x#1 : tensor<2xi32>"), "there is no %x#1: %x is 1 values, counted from 0"),
    (body(X, '%y, %z = "stablehlo.abs"(%x) : (tensor<2xi32>) -> tensor<2xi32>'),
     "stablehlo.abs has 1 results, but names for 2 are in front of it"),
    (body("%x = frobnicate"), "there is no operation 'frobnicate': names begin with a dialect, as stablehlo.add does"),
    (body("%x = stablehlo.constant dense<1.5> : tensor<i32>"), "an element of integer type cannot have a fraction"),
    (body("%x = stablehlo.constant dense<300> : tensor<2xi8>"),
     "line 2, column 33: 300 does not fit into i8, whose range is -128 to 255"),
    (body("%x = stablehlo.constant dense<[255, -129]> : tensor<2xi8>"), "-129 does not fit into i8, whose range is -128 to 255"),
    (body("%x = stablehlo.constant dense<[255, -1]> : tensor<2xui8>"), "-1 does not fit into ui8, whose range is 0 to 255"),
    (body("%x = stablehlo.constant dense<[0xFF, 0x100]> : tensor<2xui8>"), "0x100 does not fit into ui8, whose range is 0 to 255"),
    (body("%x = stablehlo.constant dense<[0, 1, -1, 2]> : tensor<4xi1>"), "2 does not fit into i1, whose range is -1 to 1"),
    (body("%x = stablehlo.constant dense<[-8, 15, 16]> : tensor<3xi4>"), "16 does not fit into i4, whose range is -8 to 15"),
    (body("%x = stablehlo.constant dense<[18446744073709551615, 18446744073709551616]> : tensor<2xi64>"),
     "18446744073709551616 does not fit into i64, whose range is -9223372036854775808 to 18446744073709551615"),
    (body("%x = stablehlo.constant dense<[-9223372036854775808, -9223372036854775809]> : tensor<2xi64>"),
     "-9223372036854775809 does not fit into i64"),
    (body("%x = stablehlo.constant dense<1> : tensor<?xi32>"),
     "elements need a tensor type with known dimensions, not tensor<?xi32>"),
    (body(X, "%z = stablehlo.add %x, %x : (tensor<3xi32>, tensor<2xi32>) -> tensor<2xi32>"),
     "operand 0 of stablehlo.add is tensor<2xi32>, not tensor<3xi32>"),
    ('func.func @f(%t: tuple<tensor<2xi32>>) {\n  %z = "stablehlo.get_tuple_element"(%t) {index = 0 : i32} : '
     '(tuple<tensor<?xi32>>) -> tensor<?xi32>\n  return\n}\n',
     "operand 0 of stablehlo.get_tuple_element is tuple<tensor<2xi32>>, not tuple<tensor<?xi32>>"),
    (body("%x = stablehlo.constant dense<[1, 2> : tensor<2xi32>"), "line 5, column 1: expected ':' here"),
    (body(X, Y, "%z = stablehlo.add %x, %y : (tensor<2xi32>, tensor<3xi32>) -> tensor<2xi32>"),
     "line 4, column 3: stablehlo.add: tensor<2xi32> and tensor<3xi32> must have equal dimensions"),
    (body(F, "%z = stablehlo.and %f, %f : tensor<2xf32>"), "it does not take elements of type f32"),
    (body(X, "%z = stablehlo.reshape %x : (tensor<2xi32>) -> tensor<3xi32>"), "the operand has 2 elements, the result 3"),
    (body(X, "%z = stablehlo.slice %x [0:3] : (tensor<2xi32>) -> tensor<3xi32>"), "start:limit:stride is 0:3:1, which is not within dimension 0"),
    (body(X, "%z = stablehlo.transpose %x, dims = [1] : (tensor<2xi32>) -> tensor<2xi32>"),
     "permutation has 1; a tensor of rank 1 has no such dimension"),
    (body(X, "%z = stablehlo.frobnicate %x : tensor<2xi32>", "%w = stablehlo.gadget %x : tensor<2xi32>"),
     "line 3, column 3: stablehlo.frobnicate: this operation is not known (2 in all)"),
    (body(X, "%z = stablehlo.custom_call @mine(%x) : (tensor<2xi32>) -> tensor<2xi32>"),
     "there is no function 'mine' for a custom call"),
    (body(X, "%z = stablehlo.abs %x : (tensor<2xi32>) -> tensor<2xi16>"),
     "result 0 is tensor<2xi16>, it should be tensor<2xi32>"),
    (body(X, "%z = func.call @none(%x) : (tensor<2xi32>) -> tensor<2xi32>"), "there is no function @none"),
    ("func.func @f() {\n  func.call @f() : () -> ()\n  return\n}\n", "@f calls itself"),
    ("func.func private @f() {\n  \"interpreter.run_parallel\"() {programs = [[@f]]} : () -> ()\n  return\n}\n" + body(X),
     "@f calls itself"),
    # Each of 60 functions calls the next one twice, so there are 2^60 ways to the last one.
    ("".join(f"func.func private @f{i}() {{\n" + f"  func.call @f{i + 1}() : () -> ()\n" * 2 + "  return\n}\n" for i in range(60))
     + "func.func private @f60() {\n  return\n}\n"
     + body(X, "%y = stablehlo.custom_call @SPMDShardToFullShape(%x) : (tensor<2xi32>) -> tensor<4xi32>"),
     "tensor<4xi32> would be cut into slices of tensor<2xi32>"),
    ("\n func.func private @f()\n", "line 2, column 12: @f is only declared: there is nothing to run"),
    (body('%f = stablehlo.constant dense<false> : tensor<i1>', '%n = stablehlo.constant dense<-7> : tensor<i64>',
          'stablehlo.custom_call @shape_assertion(%f, %n, %n) {error_message = "{x} {1} {0,3} {9", has_side_effect = true} '
          ': (tensor<i1>, tensor<i64>, tensor<i64>) -> ()'),
     "line 4, column 3: stablehlo.custom_call: an assertion of the program failed: {x} -7 -7 {9"),
    ("func.func private @m()\n" + body(F, '%y = "stablehlo.collective_broadcast"(%f) {replica_groups = '
     '#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "x">]>} : '
     '(tensor<2xf32>) -> tensor<2xf32>'),
     "replica_groups names axes of a mesh that is not in the file"),
    (body(X, Y, '%z = "stablehlo.collective_broadcast"(%x, %y) {has_dynamic_root, replica_groups = dense<[[0]]> : tensor<1x1xi64>} '
                ': (tensor<2xi32>, tensor<3xi32>) -> tensor<2xi32>'),
     "the roots, its last operand, are tensor<3xi32>, expected tensor<1xi32>"),
    (body(X, '%z = "stablehlo.collective_broadcast"(%x) {has_dynamic_root, replica_groups = dense<[[0]]> : tensor<1x1xi64>} '
             ': (tensor<2xi32>) -> tensor<2xi32>'),
     "it has no operand but that of the roots"),
    (body(X, '%z:2 = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} '
             ': (tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)'),
     "it has 2 results, expected 1, one for each operand"),
    (body(X, "%r = stablehlo.constant dense<[1]> : tensor<1xi32>",
          '%z = "stablehlo.collective_broadcast"(%x, %r) {has_dynamic_root, replica_groups = dense<[[0]]> : tensor<1x1xi64>} '
          ': (tensor<2xi32>, tensor<1xi32>) -> tensor<2xi32>'),
     "root 1 is out of range: the group has 1 members, counted from 0"),
    (body("%x = stablehlo.constant dense_resource<w> : tensor<2xi32>"), "line 2, column 60: there is no resource 'w' in the file"),
    (body("%x = stablehlo.constant dense_resource<w> : tensor<2xi32>") + '{-# dialect_resources: {builtin: {w: "0x0400000001"}} #-}',
     "there are 1 bytes for the elements of tensor<2xi32>"),
    (body(X) + '{-# dialect_resources: {builtin: {w: "0x0400"}} #-}', "resource 'w' has less than the 4 bytes of its alignment"),
    ("func.func @main(%x: memref<4xf32>) {\n  %y = stablehlo.abs %x : memref<4xf32>\n  return\n}\n",
     "no value can have type memref<4xf32>"),
    # A small file with a large type or attribute: each name stands for two of the name before it.
    ("!t0 = tuple<tensor<f32>>\n" + "".join(f"!t{i + 1} = tuple<!t{i}, !t{i}>\n" for i in range(40)),
     "line 16, column 25: a type has more than 65536 parts"),
    ("#t0 = [1]\n" + "".join(f"#t{i + 1} = [#t{i}, #t{i}]\n" for i in range(40)), "an attribute has more than 65536 parts"),
    ('"vhlo.func_v1"() ({}) : () -> ()\n', "a function needs the attributes sym_name and function_type, and one region"),
    (body('%x = "vhlo.constant_v1"() {value = #vhlo.tensor<dense<1> : tensor<i32>>} : () -> !vhlo.tensor_v1<!vhlo.i32_v1>'),
     "names of vhlo end with a version"),
    (body('%x = "vhlo.constant_v9"() {} : () -> !vhlo.tensor_v1<!vhlo.i32_v1>'),
     "vhlo.constant_v9: this operation is not known"),
    (body(f"%x = stablehlo.constant {{a = {'[' * DEEP}{']' * DEEP}}} dense<1> : tensor<i32>"),
     "this is nested more than 64 deep"),
    ("func.func @a() { return }\nfunc.func @b() { return }\n", "the module has no function @main"),
    # Values whose sizes only the run knows, where the file declares others.
    (opened('%z = "stablehlo.abs"(%o) : (tensor<?xi32>) -> tensor<1000xi32>'),
     "line 4, column 3: stablehlo.abs: result 0 would be tensor<2xi32>, but its type is tensor<1000xi32>"),
    (opened('%z = "stablehlo.concatenate"(%o, %o) {dimension = 0 : i64} : (tensor<?xi32>, tensor<?xi32>) -> tensor<1xi32>'),
     "result 0 would be tensor<4xi32>, but its type is tensor<1xi32>"),
    (opened('%z = "stablehlo.sort"(%o) ({ ^b(%p: tensor<i32>, %q: tensor<i32>): %c = stablehlo.compare LT, %p, %q : '
            '(tensor<i32>, tensor<i32>) -> tensor<i1> "stablehlo.return"(%c) : (tensor<i1>) -> () }) {dimension = 0 : i64} : '
            '(tensor<?xi32>) -> tensor<1000xi32>'), "result 0 would be tensor<2xi32>, but its type is tensor<1000xi32>"),
    (opened('%z = "stablehlo.reduce_window"(%o, %n) ' + ADD + ' {window_dimensions = array<i64: 1>} : (tensor<?xi32>, tensor<i32>) -> '
            'tensor<1000xi32>', "%n = stablehlo.constant dense<0> : tensor<i32>"),
     "result 0 would be tensor<2xi32>, but its type is tensor<1000xi32>"),
    (opened('%z = "stablehlo.add"(%o, %y) : (tensor<?xi32>, tensor<3xi32>) -> tensor<3xi32>', Y),
     "line 5, column 3: stablehlo.add: tensor<2xi32> and tensor<3xi32> must have equal dimensions"),
    (body("%u = stablehlo.constant dense<1> : tensor<2xui64>",
          '%o = "stablehlo.add"(%u, %u) : (tensor<2xui64>, tensor<2xui64>) -> tensor<?xui64>',
          '%z, %b = "stablehlo.rng_bit_generator"(%o) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<?xui64>) -> '
          '(tensor<1000xui64>, tensor<1xui64>)'), "result 0 would be tensor<2xui64>, but its type is tensor<1000xui64>"),
    (opened('%w, %j = "stablehlo.while"(%x, %k) ' + GROW + ' : (tensor<2xi32>, tensor<i32>) -> (tensor<?xi32>, tensor<i32>)',
            "%k = stablehlo.constant dense<0> : tensor<i32>"),
     "stablehlo.while: for the next iteration, value 0 is tensor<1xi32>, but its type is tensor<2xi32>"),
    (opened('%z = "stablehlo.tuple"(%o) : (tensor<?xi32>) -> tuple<tensor<1000xi32>>'),
     "result 0 would be tuple<tensor<2xi32>>, but its type is tuple<tensor<1000xi32>>"),
    (opened('%z = "stablehlo.get_tuple_element"(%t) {index = 0 : i32} : (tuple<tensor<?xi32>>) -> tensor<1000xi32>',
            '%t = "stablehlo.tuple"(%o) : (tensor<?xi32>) -> tuple<tensor<?xi32>>'),
     "result 0 would be tensor<2xi32>, but its type is tensor<1000xi32>"),
    (opened('%r:2 = "chlo.scan"(%s, %o) ({ ^b(%p: tensor<i32>, %q: tensor<2xi32>): %m = stablehlo.constant dense<1> : tensor<i32> '
            '%h = stablehlo.set_dimension_size %q, %m, dim = 0 : (tensor<2xi32>, tensor<i32>) -> tensor<?xi32> '
            '"stablehlo.return"(%p, %h) : (tensor<i32>, tensor<?xi32>) -> () }) {dimension = 0 : i64, input_count = 1 : i64} : '
            '(tensor<3xi32>, tensor<?xi32>) -> (tensor<3xi32>, tensor<?xi32>)', "%s = stablehlo.constant dense<0> : tensor<3xi32>"),
     "chlo.scan: at a step, returned value 1 is tensor<1xi32>, but its type is tensor<2xi32>"),
    (opened('%r:2 = "chlo.scan"(%x, %o) ({ ^b(%p: tensor<i32>, %q: tensor<?xi32>): %c = stablehlo.concatenate %q, %q, dim = 0 : '
            '(tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32> "stablehlo.return"(%c, %c) : (tensor<?xi32>, tensor<?xi32>) -> () }) '
            '{dimension = 0 : i64, input_count = 1 : i64} : (tensor<2xi32>, tensor<?xi32>) -> (tensor<2x4xi32>, tensor<?xi32>)'),
     "at a step, dimension 0 of returned value 0 is 8, but the result has slices of 4"),
    (parallel("    %x = stablehlo.constant dense<1> : tensor<9xi32>\n    %o = \"stablehlo.abs\"(%x) : (tensor<9xi32>) -> tensor<?xi32>\n"
              "    return %o : tensor<?xi32>\n"), "result 0 is tensor<9xi32>, but its type is tensor<2xi32>"),
    (f"func.func @main() -> tensor<1000xi32> {{\n  {X}\n  {OPEN}\n  return %o : tensor<?xi32>\n}}\n",
     "line 4, column 3: func.return: result 0 is tensor<2xi32>, but its type is tensor<1000xi32>"),
    (exchanged("tensor<2xi8>", "tensor<2xi64>"), "stablehlo.recv: result 0 is tensor<2xi8>, but its type is tensor<2xi64>"),
    # Operations that would read elements that are not there, and numbers that would overflow.
    (body("%x = stablehlo.constant dense<> : tensor<0x2xi32>", "%i = stablehlo.constant dense<0> : tensor<3xi32>",
          '%z = "stablehlo.torch_index_select"(%x, %i) {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<0x2xi32>, tensor<3xi32>) -> tensor<3x2xi32>'),
     "dimension 0 of the operand has no elements, of which the index could select one"),
    (body(X, "%i = stablehlo.constant dense<[[0], [0]]> : tensor<2x1xi32>",
          '%z = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], '
          'index_vector_dim = 1>, slice_sizes = array<i64: 0>} : (tensor<2xi32>, tensor<2x1xi32>) -> tensor<2xi32>'),
     "slice size 0 of dimension 0 leaves no element for the result"),
    (body(X, "%i = stablehlo.constant dense<[[0], [0]]> : tensor<2x1xi32>", "%s = stablehlo.constant dense<2> : tensor<1xi64>",
          "%t = stablehlo.add %s, %s : tensor<1xi64>",
          '%z = "stablehlo.dynamic_gather"(%x, %i, %t) {dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], '
          'index_vector_dim = 1>} : (tensor<2xi32>, tensor<2x1xi32>, tensor<1xi64>) -> tensor<2x?xi32>'),
     "slice size 4 of dimension 0 is not from 0 to 2"),
    (body(X, "%a = stablehlo.constant dense<0> : tensor<1xi64>", "%b = stablehlo.constant dense<4611686018427387904> : tensor<1xi64>",
          "%c = stablehlo.or %b, %a : tensor<1xi64>", "%v = stablehlo.constant dense<0> : tensor<i32>",
          "%z = stablehlo.dynamic_pad %x, %v, %a, %a, %c : (tensor<2xi32>, tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>"),
     "interior_padding has 4611686018427387904, it should be from 0 to 2147483647"),
    (body("%k = stablehlo.constant dense<1.0> : tensor<1x1x1xf32>", "%p = stablehlo.constant dense<4611686018427387904> : tensor<1x2xi64>",
          "%q = stablehlo.or %p, %p : tensor<1x2xi64>",
          '%z = "stablehlo.dynamic_conv"(%k, %k, %q) {dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, '
          'feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x2xi64>) -> tensor<1x1x?xf32>'),
     "the padding has 4611686018427387904, it should be from -2147483647 to 2147483647"),
    (body(F, '%g = stablehlo.constant dense<[1.0, 2.0000002]> : tensor<2xf32>',
          'check.expect_close %f, %g, max_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>'),
     "element 1 is 2, expected is 2.0000002384185791: it is 1 numbers of this type away, expected are 0 to 0"),
    (parallel('    %x = stablehlo.constant dense<1> : tensor<2xi32>\n    %y = "stablehlo.collective_permute"(%x) {source_target_pairs = '
              'dense<[[0, 7]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>\n    return %y : tensor<2xi32>\n'),
     "source_target_pairs has the id 7, which no replica has: there are 1 replicas of 2 partitions"),
    (parallel('    %x = stablehlo.constant dense<1> : tensor<2xi32>\n    %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, '
              'replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (tensor<2xi32>) -> tensor<6xi32>\n    return %x : tensor<2xi32>\n'),
     "replica_groups has the id 1, which no replica has: there are 1 replicas of 2 partitions"),
    (parallel('    %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n    %y = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, '
              'concat_dimension = 0 : i64, split_count = 2 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, '
              'replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>\n'
              '    return %y : tensor<2xi32>\n').replace("%r:2", "%r:4").replace("[[@p, @p]]", "[[@p, @p], [@p, @p]]").replace(
                  "(tensor<2xi32>, tensor<2xi32>)", "(" + ", ".join(["tensor<2xi32>"] * 4) + ")"),
     "replica_groups has the id 2, which no partition has: there are 2 replicas of 2 partitions"),
    (body(X, '%y = "interpreter.probe"(%x) {probe_id = "a"} : (tensor<2xi32>) -> tensor<2xi32>',
          '"check.expect_serialized_eq"(%y) {probe_id = "a", iter = -1 : i64} : (tensor<2xi32>) -> ()'),
     "attribute iter is -1, which is less than 0"),
    (body(X, "%y = stablehlo.add %x, %x : tensor<2xi32>", '%z = "interpreter.probe"(%y) {probe_id = "a"} : (tensor<2xi32>) -> tensor<2xi32>',
          'check.expect_serialized_eq %x, probe_id = "a", iter = 0 : tensor<2xi32>'), "element 0 is 2, expected is 1"),
    (body(X, 'check.expect_serialized_eq %x, probe_id = "b", iteration = 1 : tensor<2xi32>'),
     "probe 'b' ran fewer times than attribute iteration expects"),
    # Errors at run time.
    (body(X, "%t = stablehlo.constant dense<2> : tensor<1xi64>", "%s = stablehlo.add %t, %t : tensor<1xi64>",
          "%z = stablehlo.dynamic_reshape %x, %s : (tensor<2xi32>, tensor<1xi64>) -> tensor<?xi32>"),
     "line 5, column 3: stablehlo.dynamic_reshape: 2 elements are to become 4: a reshape keeps their number"),
    (body(X, "%n = stablehlo.constant dense<3> : tensor<i32>",
          "%s = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<2xi32>, tensor<i32>) -> "
          "tensor<?xi32, #stablehlo.bounds<2>>"), "dimension 0 of result 0 is 3, its bound is 2"),
    (body("%t = stablehlo.constant dense<[4]> : tensor<1xi64>", '%o = "stablehlo.abs"(%t) : (tensor<1xi64>) -> tensor<?xi64>',
          "%z = stablehlo.dynamic_iota %o, dim = 1 : (tensor<?xi64>) -> tensor<*xf32>"),
     "iota_dimension is 1, but the shape has 1 dimensions, counted from 0"),
    (body(X, "%t = stablehlo.constant dense<[4]> : tensor<1xi64>", '%o = "stablehlo.abs"(%t) : (tensor<1xi64>) -> tensor<?xi64>',
          "%z = stablehlo.dynamic_broadcast_in_dim %x, %o, dims = [1] : (tensor<2xi32>, tensor<?xi64>) -> tensor<*xi32>"),
     "broadcast_dimensions has 1, but the result has 1 dimensions, counted from 0"),
    (body('%t = stablehlo.create_token : !stablehlo.token',
          '%r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true} : '
          '(!stablehlo.token) -> (tensor<i32>, !stablehlo.token)'), "it receives from the host, which only passes on"),
    ("""module {
  func.func private @alone(%x: tensor<i32>) -> tensor<i32> {
    %t = stablehlo.create_token : !stablehlo.token
    %r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} :
      (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
    return %r#0 : tensor<i32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = "interpreter.run_parallel"(%a, %a) {programs = [[@alone, @alone]]} :
      (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    return
  }
}
""", "stablehlo.recv: all processes wait for each other"),
]


class Refusals(unittest.TestCase):
    def test_loop(self):
        """Tests that a loop without end is an error, and that the limit of iterations can be set.
        """
        turns = 'func.func @main() {\n  %z = stablehlo.constant dense<0> : tensor<i32>\n' \
            '  %n = stablehlo.constant dense<5> : tensor<i32>\n  %r = stablehlo.while(%i = %z) : tensor<i32>\n' \
            '    cond {\n      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n' \
            '      stablehlo.return %c : tensor<i1>\n    } do {\n      %o = stablehlo.constant dense<1> : tensor<i32>\n' \
            '      %s = stablehlo.add %i, %o : tensor<i32>\n      stablehlo.return %s : tensor<i32>\n    }\n  return\n}\n'
        self.assertEqual(says(turns, "--loop-limit", "5"), "")
        self.assertIn("line 4, column 3: stablehlo.while: it has not ended after 4 iterations, the limit: --loop-limit of webnn-run and stablehlo-test sets another",
                      says(turns, "--loop-limit", "4"))
        self.assertIn("iterations, the limit: ", says(turns.replace("LT", "NE").replace("dense<1>", "dense<2>"),
                                                 "--loop-limit", "1000"))
        self.assertIn("--loop-limit is a number from 1 on, not '0'", says(turns, "--loop-limit", "0"))

    def test_chain(self):
        """Tests that a program with 64 calls within each other runs, and that one more is refused."""
        def chain(calls):
            return "".join(f"func.func private @f{i}() {{\n  func.call @f{i + 1}() : () -> ()\n  return\n}}\n" for i in range(1, calls)) + \
                f"func.func private @f{calls}() {{\n  return\n}}\n" + body("func.call @f1() : () -> ()")
        self.assertEqual(says(chain(64)), "")
        self.assertIn("@main calls itself, directly or through others, or is in a chain of calls that is more than 64 deep",
                      says(chain(65)))

    def test_many_matrices(self):
        """Tests that any number of matrices without elements takes no time."""
        for batch in ("4611686018427387904", "4611686018427387904x4"):
            self.assertEqual(says(body(
                f"%x = stablehlo.constant dense<> : tensor<{batch}x0x0xf32>",
                f"%w, %l, %r = stablehlo.custom_call @onpu.eig(%x) : (tensor<{batch}x0x0xf32>) -> "
                f"(tensor<{batch}x0xcomplex<f32>>, tensor<{batch}x0x0xcomplex<f32>>, tensor<{batch}x0x0xcomplex<f32>>)")), "")

    def test_empty(self):
        """Tests that tensors without elements may have dimensions of any size."""
        big = 2 ** 63 - 1
        empty = f"%x = stablehlo.constant dense<> : tensor<0x{big}x2xf32>"
        compare = '({ ^b(%p: tensor<f32>, %q: tensor<f32>): %c = stablehlo.compare LT, %p, %q : ' \
            '(tensor<f32>, tensor<f32>) -> tensor<i1> "stablehlo.return"(%c) : (tensor<i1>) -> () })'
        kind = f"tensor<0x{big}x2xf32>"
        square = f"tensor<0x{big}x{big}xf32>"
        for lines in (
                [f'%z = "stablehlo.sort"(%x) {compare} {{dimension = 1 : i64}} : ({kind}) -> {kind}'],
                [f"%v, %i = chlo.top_k(%x, k = 2) : {kind} -> ({kind}, tensor<0x{big}x2xi32>)"],
                [f"%m = stablehlo.constant dense<> : {square}", f"%z = stablehlo.cholesky %m : {square}"],
                ["%s = stablehlo.constant dense<1> : tensor<2xui64>", "%t, %r = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : "
                 f"(tensor<2xui64>) -> (tensor<2xui64>, tensor<{big}x0xui32>)"]):
            with self.subTest(lines[-1]):
                self.assertEqual(says(body(empty, *lines)), "")

    def test_cases(self):
        for text, expected in CASES:
            with self.subTest(expected):
                self.assertIn(expected, says(text))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
