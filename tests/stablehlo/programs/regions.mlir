// SPDX-License-Identifier: MIT
// Operations with regions, and with shapes that are known at run time, in cases that others lack.

// The largest element of each window gets its source; where windows overlap, the sum of sources.
func.func @main() {
  %x = stablehlo.constant dense<[3, 1, 2, 2, 5, 0, 4]> : tensor<7xi16>
  %source = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi16>
  %first = stablehlo.constant dense<1> : tensor<i16>
  %y = "stablehlo.select_and_scatter"(%x, %source, %first) ({
    ^bb0(%a: tensor<i16>, %b: tensor<i16>):
      %c = stablehlo.compare GE, %a, %b, SIGNED : (tensor<i16>, tensor<i16>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }, {
    ^bb0(%a: tensor<i16>, %b: tensor<i16>):
      %s = stablehlo.add %a, %b : tensor<i16>
      stablehlo.return %s : tensor<i16>
  }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 2>} : (tensor<7xi16>, tensor<3xi16>, tensor<i16>) -> tensor<7xi16>
  check.expect_eq_const %y, dense<[11, 1, 1, 1, 51, 1, 1]> : tensor<7xi16>

  // Nothing is selected from an operand without elements.
  %none = stablehlo.constant dense<> : tensor<0x2xf64>
  %empty = stablehlo.constant dense<> : tensor<0x1xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %n = "stablehlo.select_and_scatter"(%none, %empty, %zero) ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %c = stablehlo.compare GE, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }, {
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %s = stablehlo.add %a, %b : tensor<f64>
      stablehlo.return %s : tensor<f64>
  }) {window_dimensions = array<i64: 1, 2>} : (tensor<0x2xf64>, tensor<0x1xf64>, tensor<f64>) -> tensor<0x2xf64>
  check.expect_eq_const %n, dense<> : tensor<0x2xf64>
  return
}

// -----

// A sort of complex numbers by their real parts, with numbers of 4 bits along; a map of three values; a scatter with two results.
func.func @main() {
  %z = stablehlo.constant dense<[(2.0, 1.0), (-1.0, 2.0), (2.0, 3.0), (0.0, 4.0)]> : tensor<4xcomplex<f32>>
  %i = stablehlo.constant dense<[-8, 1, 7, 3]> : tensor<4xi4>
  %s:2 = "stablehlo.sort"(%z, %i) ({
    ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>, %c: tensor<i4>, %d: tensor<i4>):
      %ar = stablehlo.real %a : (tensor<complex<f32>>) -> tensor<f32>
      %br = stablehlo.real %b : (tensor<complex<f32>>) -> tensor<f32>
      %less = stablehlo.compare LT, %ar, %br, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4xcomplex<f32>>, tensor<4xi4>) -> (tensor<4xcomplex<f32>>, tensor<4xi4>)
  check.expect_eq_const %s#0, dense<[(-1.0, 2.0), (0.0, 4.0), (2.0, 1.0), (2.0, 3.0)]> : tensor<4xcomplex<f32>>
  check.expect_eq_const %s#1, dense<[1, 3, -8, 7]> : tensor<4xi4>

  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %f = stablehlo.constant dense<[1.5, 2.5]> : tensor<2xbf16>
  %g = stablehlo.constant dense<[-1.0, -2.0]> : tensor<2xbf16>
  %m = "stablehlo.map"(%p, %f, %g) ({
    ^bb0(%q: tensor<i1>, %a: tensor<bf16>, %b: tensor<bf16>):
      %sum = stablehlo.add %a, %b : tensor<bf16>
      %r = stablehlo.select %q, %sum, %b : tensor<i1>, tensor<bf16>
      stablehlo.return %r : tensor<bf16>
  }) {dimensions = array<i64: 0>} : (tensor<2xi1>, tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  check.expect_eq_const %m, dense<[0.5, -2.0]> : tensor<2xbf16>

  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xui16>
  %y = stablehlo.constant dense<[0.5, 0.25, 0.125]> : tensor<3xf64>
  %at = stablehlo.constant dense<[[2], [0], [2], [3]]> : tensor<4x1xi8>
  %ux = stablehlo.constant dense<[10, 20, 65535, 40]> : tensor<4xui16>
  %uy = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>
  %t:2 = "stablehlo.scatter"(%x, %y, %at, %ux, %uy) ({
    ^bb0(%a: tensor<ui16>, %b: tensor<f64>, %c: tensor<ui16>, %d: tensor<f64>):
      %sum = stablehlo.add %a, %c : tensor<ui16>
      %most = stablehlo.maximum %b, %d : tensor<f64>
      stablehlo.return %sum, %most : tensor<ui16>, tensor<f64>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<3xui16>, tensor<3xf64>, tensor<4x1xi8>, tensor<4xui16>, tensor<4xf64>) -> (tensor<3xui16>, tensor<3xf64>)
  check.expect_eq_const %t#0, dense<[21, 2, 12]> : tensor<3xui16>
  check.expect_eq_const %t#1, dense<[2.0, 0.25, 3.0]> : tensor<3xf64>
  return
}

// -----

// Shapes that are values, in six operations; after_all of tokens; a branch index out of range.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  %dims = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %r = stablehlo.dynamic_reshape %x, %dims : (tensor<6xi32>, tensor<2xi32>) -> tensor<?x?xi32>
  %wide = stablehlo.constant dense<[2, 3, 2]> : tensor<3xi64>
  %b = stablehlo.dynamic_broadcast_in_dim %r, %wide, dims = [1, 2] : (tensor<?x?xi32>, tensor<3xi64>) -> tensor<?x?x?xi32>
  %n = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %i = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>
  %s = stablehlo.add %r, %i : tensor<?x?xi32>
  %fill = stablehlo.constant dense<-1> : tensor<i32>
  %low = stablehlo.constant dense<[-1, 0]> : tensor<2xi32>
  %high = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  %between = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %p = stablehlo.dynamic_pad %s, %fill, %low, %high, %between
    : (tensor<?x?xi32>, tensor<i32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xi32>
  check.expect_eq_const %p, dense<[[-1, -1, -1], [4, 5, -1], [-1, -1, -1], [7, 8, -1]]> : tensor<4x3xi32>
  %from = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %to = stablehlo.constant dense<[4, 3]> : tensor<2xi32>
  %step = stablehlo.constant dense<[2, 2]> : tensor<2xi32>
  %c = stablehlo.real_dynamic_slice %p, %from, %to, %step : (tensor<?x?xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xi32>
  check.expect_eq_const %c, dense<[[4, -1], [7, -1]]> : tensor<2x2xi32>
  %at = stablehlo.constant dense<[[9], [0]]> : tensor<2x1xi32>
  %sizes = stablehlo.constant dense<[1, 2, 2]> : tensor<3xi32>
  %g = "stablehlo.dynamic_gather"(%b, %at, %sizes) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0],
    start_index_map = [1], index_vector_dim = 1>} : (tensor<?x?x?xi32>, tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x?x?xi32>
  check.expect_eq_const %g, dense<[[[3, 4], [5, 6]], [[1, 2], [3, 4]]]> : tensor<2x2x2xi32>

  %t0 = stablehlo.create_token : !stablehlo.token
  %t1 = stablehlo.after_all %t0, %t0 : !stablehlo.token
  %t2 = stablehlo.after_all : !stablehlo.token
  %which = stablehlo.constant dense<-2> : tensor<i32>
  %o:2 = "stablehlo.case"(%which) ({
    stablehlo.return %t1, %at : !stablehlo.token, tensor<2x1xi32>
  }, {
    %twice = stablehlo.add %at, %at : tensor<2x1xi32>
    stablehlo.return %t2, %twice : !stablehlo.token, tensor<2x1xi32>
  }) : (tensor<i32>) -> (!stablehlo.token, tensor<2x1xi32>)
  check.expect_eq_const %o#1, dense<[[18], [0]]> : tensor<2x1xi32>
  return
}

// -----

// a scatter that adds rows of two, of which one is partly beyond the end, and two are in one place
module {
  func.func private @compute(%a: tensor<3x4xf32>, %u: tensor<4x2xf32>) -> tensor<3x4xf32> {
    %i = stablehlo.constant dense<[[0, 1], [2, 3], [0, 1], [1, 0]]> : tensor<4x2xi32>
    %r = "stablehlo.scatter"(%a, %i, %u) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>} : (tensor<3x4xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> tensor<3x4xf32>
    return %r : tensor<3x4xf32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<0.0> : tensor<3x4xf32>
    %u = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
    %result = call @compute(%a, %u) : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x4xf32>
    check.expect_eq_const %result, dense<[[0.0, 6.0, 8.0, 0.0], [7.0, 8.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0]]> : tensor<3x4xf32>
    return
  }
}

// -----

// a scatter whose region takes its arguments in the other order
module {
  func.func private @compute(%a: tensor<4xf32>, %u: tensor<2xf32>) -> tensor<4xf32> {
    %i = stablehlo.constant dense<[[1], [3]]> : tensor<2x1xi32>
    %r = "stablehlo.scatter"(%a, %i, %u) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.subtract %y, %x : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[10.0, 20.0, 30.0, 40.0]> : tensor<4xf32>
    %u = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %result = call @compute(%a, %u) : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
    check.expect_eq_const %result, dense<[10.0, -19.0, 30.0, -38.0]> : tensor<4xf32>
    return
  }
}

// -----

// a scatter and a gather whose slices are columns of the updates and of the result
module {
  func.func private @compute(%a: tensor<4x2xi32>, %u: tensor<2x3xi32>, %b: tensor<2x3xi32>) -> (tensor<4x2xi32>, tensor<2x2xi32>) {
    %i = stablehlo.constant dense<[[3], [0], [3]]> : tensor<3x1xi32>
    %j = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
    %r = "stablehlo.scatter"(%a, %i, %u) ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %z = stablehlo.add %x, %y : tensor<i32>
      stablehlo.return %z : tensor<i32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4x2xi32>, tensor<3x1xi32>, tensor<2x3xi32>) -> tensor<4x2xi32>
    %g = "stablehlo.gather"(%b, %j) {dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1>} : (tensor<2x3xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
    return %r, %g : tensor<4x2xi32>, tensor<2x2xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<0> : tensor<4x2xi32>
    %u = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %result:2 = call @compute(%a, %u, %u) : (tensor<4x2xi32>, tensor<2x3xi32>, tensor<2x3xi32>) -> (tensor<4x2xi32>, tensor<2x2xi32>)
    check.expect_eq_const %result#0, dense<[[2, 5], [0, 0], [0, 0], [4, 10]]> : tensor<4x2xi32>
    check.expect_eq_const %result#1, dense<[[3, 1], [6, 4]]> : tensor<2x2xi32>
    return
  }
}
