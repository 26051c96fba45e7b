// SPDX-License-Identifier: MIT
// Operations that become graphs: the arguments of a function are no constants of it.

// elementwise, three in a graph
module {
  func.func private @compute(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %c = stablehlo.multiply %a, %b : tensor<2x3xf32>
    %d = stablehlo.subtract %c, %b : tensor<2x3xf32>
    %e = stablehlo.maximum %d, %a : tensor<2x3xf32>
    return %e : tensor<2x3xf32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %b = stablehlo.constant dense<[[2.0, 2.0, 2.0], [1.0, 0.0, -1.0]]> : tensor<2x3xf32>
    %result = call @compute(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    check.expect_eq_const %result, dense<[[1.0, 2.0, 4.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    return
  }
}

// -----

// comparison, selection, conversion
module {
  func.func private @compute(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
    %p = stablehlo.compare GT, %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %s = stablehlo.add %a, %b : tensor<4xi32>
    %r = stablehlo.select %p, %s, %b : tensor<4xi1>, tensor<4xi32>
    %k = stablehlo.not %p : tensor<4xi1>
    %n = stablehlo.convert %k : (tensor<4xi1>) -> tensor<4xi32>
    %o = stablehlo.add %r, %n : tensor<4xi32>
    return %o : tensor<4xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1, -2, 3, 2147483647]> : tensor<4xi32>
    %b = stablehlo.constant dense<[1, 2, -3, 1]> : tensor<4xi32>
    %result = call @compute(%a, %b) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    check.expect_eq_const %result, dense<[2, 3, 0, -2147483648]> : tensor<4xi32>
    return
  }
}

// -----

// moves of elements that the device cannot compute with
module {
  func.func private @compute(%a: tensor<2x3xbf16>) -> tensor<2x4xbf16> {
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
    %s = stablehlo.slice %t [0:2, 0:2] : (tensor<3x2xbf16>) -> tensor<2x2xbf16>
    %r = stablehlo.reverse %s, dims = [0] : tensor<2x2xbf16>
    %c = stablehlo.concatenate %r, %s, dim = 1 : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x4xbf16>
    return %c : tensor<2x4xbf16>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[[1.0, 2.0, 0x7FA1], [4.0, 5.0, 6.0]]> : tensor<2x3xbf16>
    %result = call @compute(%a) : (tensor<2x3xbf16>) -> tensor<2x4xbf16>
    check.expect_eq_const %result, dense<[[2.0, 5.0, 1.0, 4.0], [1.0, 4.0, 2.0, 5.0]]> : tensor<2x4xbf16>
    return
  }
}

// -----

// complex numbers, stretched along new dimensions in another order
module {
  func.func private @compute(%a: tensor<2x3xcomplex<f32>>) -> tensor<3x1x2xcomplex<f32>> {
    %b = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<2x3xcomplex<f32>>) -> tensor<3x1x2xcomplex<f32>>
    return %b : tensor<3x1x2xcomplex<f32>>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[[(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)], [(7.0, 8.0), (9.0, 1.0), (2.0, 3.0)]]> : tensor<2x3xcomplex<f32>>
    %result = call @compute(%a) : (tensor<2x3xcomplex<f32>>) -> tensor<3x1x2xcomplex<f32>>
    check.expect_eq_const %result, dense<[[[(1.0, 2.0), (7.0, 8.0)]], [[(3.0, 4.0), (9.0, 1.0)]], [[(5.0, 6.0), (2.0, 3.0)]]]> : tensor<3x1x2xcomplex<f32>>
    return
  }
}

// -----

// a sum and a maximum whose initial values change the result
module {
  func.func private @compute(%a: tensor<2x3xi32>) -> tensor<i32> {
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %s = stablehlo.reduce(%a init: %ten) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    %m = stablehlo.reduce(%s init: %ten) applies stablehlo.maximum across dimensions = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
    return %m : tensor<i32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %result = call @compute(%a) : (tensor<2x3xi32>) -> tensor<i32>
    check.expect_eq_const %result, dense<25> : tensor<i32>
    return
  }
}

// -----

// a scatter that collides and goes beyond the end, in its order
module {
  func.func private @compute(%a: tensor<4xi32>, %u: tensor<4xi32>) -> tensor<4xi32> {
    %i = stablehlo.constant dense<[[1], [3], [1], [9]]> : tensor<4x1xi32>
    %r = "stablehlo.scatter"(%a, %i, %u) ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %z = stablehlo.subtract %x, %y : tensor<i32>
      stablehlo.return %z : tensor<i32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xi32>, tensor<4x1xi32>, tensor<4xi32>) -> tensor<4xi32>
    return %r : tensor<4xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[10, 20, 30, 40]> : tensor<4xi32>
    %u = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %result = call @compute(%a, %u) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    check.expect_eq_const %result, dense<[10, 16, 30, 38]> : tensor<4xi32>
    return
  }
}

// -----

// a scatter that replaces: the last one stays
module {
  func.func private @compute(%a: tensor<4xf64>, %u: tensor<4xf64>) -> tensor<4xf64> {
    %i = stablehlo.constant dense<[[1], [3], [1], [9]]> : tensor<4x1xi32>
    %r = "stablehlo.scatter"(%a, %i, %u) ({
    ^bb0(%x: tensor<f64>, %y: tensor<f64>):
      stablehlo.return %y : tensor<f64>
    }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xf64>, tensor<4x1xi32>, tensor<4xf64>) -> tensor<4xf64>
    return %r : tensor<4xf64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>
    %u = stablehlo.constant dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf64>
    %result = call @compute(%a, %u) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    check.expect_eq_const %result, dense<[1.0, 7.0, 3.0, 6.0]> : tensor<4xf64>
    return
  }
}

// -----

// a scatter whose indices are all out of bounds
module {
  func.func private @compute(%a: tensor<4xi8>, %u: tensor<4xi8>) -> tensor<4xi8> {
    %i = stablehlo.constant dense<[[-1], [4], [5], [-9]]> : tensor<4x1xi32>
    %r = "stablehlo.scatter"(%a, %i, %u) ({
    ^bb0(%x: tensor<i8>, %y: tensor<i8>):
      stablehlo.return %y : tensor<i8>
    }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xi8>, tensor<4x1xi32>, tensor<4xi8>) -> tensor<4xi8>
    return %r : tensor<4xi8>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi8>
    %u = stablehlo.constant dense<[5, 6, 7, 8]> : tensor<4xi8>
    %result = call @compute(%a, %u) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
    check.expect_eq_const %result, dense<[1, 2, 3, 4]> : tensor<4xi8>
    return
  }
}

// -----

// a gather whose slices are pushed back to the ends
module {
  func.func private @compute(%a: tensor<3x4xi16>) -> tensor<2x2xi16> {
    %i = stablehlo.constant dense<[[0, 3], [9, -5]]> : tensor<2x2xi64>
    %r = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>} : (tensor<3x4xi16>, tensor<2x2xi64>) -> tensor<2x2xi16>
    return %r : tensor<2x2xi16>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]> : tensor<3x4xi16>
    %result = call @compute(%a) : (tensor<3x4xi16>) -> tensor<2x2xi16>
    check.expect_eq_const %result, dense<[[3, 4], [9, 10]]> : tensor<2x2xi16>
    return
  }
}

// -----

// windows with padding and dilation, in the order of the specification
module {
  func.func private @compute(%a: tensor<5xf32>) -> tensor<2xf32> {
    %z = stablehlo.constant dense<0.5> : tensor<f32>
    %r = "stablehlo.reduce_window"(%a, %z) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 2>, window_dilations = array<i64: 2>, padding = dense<[[2, 1]]> : tensor<1x2xi64>} : (tensor<5xf32>, tensor<f32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
    %result = call @compute(%a) : (tensor<5xf32>) -> tensor<2xf32>
    check.expect_eq_const %result, dense<[5.0, 9.5]> : tensor<2xf32>
    return
  }
}

// -----

// a product of batches whose dimensions stand in another order
module {
  func.func private @compute(%a: tensor<16x2xf32>, %b: tensor<3x16xf32>) -> tensor<2x3xf32> {
    %r = stablehlo.dot_general %a, %b, contracting_dims = [0] x [1] : (tensor<16x2xf32>, tensor<3x16xf32>) -> tensor<2x3xf32>
    return %r : tensor<2x3xf32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1.0> : tensor<16x2xf32>
    %b = stablehlo.constant dense<2.0> : tensor<3x16xf32>
    %result = call @compute(%a, %b) : (tensor<16x2xf32>, tensor<3x16xf32>) -> tensor<2x3xf32>
    check.expect_eq_const %result, dense<32.0> : tensor<2x3xf32>
    return
  }
}

// -----

// padding with an infinity
module {
  func.func private @compute(%a: tensor<2xf32>) -> tensor<3xf32> {
    %v = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r = stablehlo.pad %a, %v, low = [1], high = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
    return %r : tensor<3xf32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %result = call @compute(%a) : (tensor<2xf32>) -> tensor<3xf32>
    check.expect_eq_const %result, dense<[0xFF800000, 1.0, 2.0]> : tensor<3xf32>
    return
  }
}

// -----

// a convolution with strides, paddings that differ, and other orders of dimensions
module {
  func.func private @compute(%x: tensor<1x4x5x2xf32>, %k: tensor<2x3x2x3xf32>) -> tensor<1x2x5x3xf32> {
    %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 0], [0, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x5x2xf32>, tensor<2x3x2x3xf32>) -> tensor<1x2x5x3xf32>
    return %y : tensor<1x2x5x3xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[[[1.0, 0.0], [-1.0, 3.0], [2.0, -2.0], [-1.0, 0.0], [3.0, 1.0]], [[2.0, -3.0], [3.0, 1.0], [2.0, -2.0], [2.0, -3.0], [1.0, 2.0]], [[-3.0, -2.0], [3.0, 0.0], [0.0, -1.0], [3.0, -2.0], [-2.0, 3.0]], [[2.0, 3.0], [-3.0, 0.0], [-2.0, -2.0], [-3.0, 3.0], [-1.0, 3.0]]]]> : tensor<1x4x5x2xf32>
    %k = stablehlo.constant dense<[[[[-2.0, -1.0, 1.0], [-1.0, -1.0, 0.0]], [[-1.0, 0.0, -1.0], [-2.0, -1.0, 2.0]], [[2.0, 0.0, -1.0], [-2.0, 1.0, 2.0]]], [[[2.0, -1.0, 0.0], [-1.0, 0.0, -2.0]], [[1.0, 2.0, -2.0], [-1.0, -2.0, 2.0]], [[-1.0, -1.0, 0.0], [-1.0, 0.0, 0.0]]]]> : tensor<2x3x2x3xf32>
    %result = call @compute(%x, %k) : (tensor<1x4x5x2xf32>, tensor<2x3x2x3xf32>) -> tensor<1x2x5x3xf32>
    check.expect_eq_const %result, dense<[[[[-2.0, -11.0, 8.0], [0.0, 10.0, -14.0], [1.0, -7.0, 6.0], [0.0, 5.0, -4.0], [5.0, -3.0, -2.0]], [[2.0, 7.0, -7.0], [11.0, -9.0, -13.0], [5.0, 17.0, -11.0], [-3.0, -14.0, 19.0], [-11.0, -1.0, -5.0]]]]> : tensor<1x2x5x3xf32>
    return
  }
}

// -----

// both dilations and a reversed window
module {
  func.func private @compute(%x: tensor<2x4x1x3xf32>, %k: tensor<2x2x2x2xf32>) -> tensor<2x1x5x8xf32> {
    %y = stablehlo.convolution(%x, %k) dim_numbers = [f, 1, b, 0]x[1, o, 0, i]->[f, b, 1, 0], window = {stride = [1, 2], pad = [[1, 2], [2, 1]], lhs_dilate = [3, 2], rhs_dilate = [2, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x1x3xf32>, tensor<2x2x2x2xf32>) -> tensor<2x1x5x8xf32>
    return %y : tensor<2x1x5x8xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[[[-3.0, -1.0, -2.0]], [[-1.0, 0.0, 0.0]], [[-1.0, 2.0, 0.0]], [[3.0, -1.0, 2.0]]], [[[-2.0, 2.0, -3.0]], [[-3.0, -1.0, 1.0]], [[-1.0, 3.0, 3.0]], [[-3.0, 0.0, 0.0]]]]> : tensor<2x4x1x3xf32>
    %k = stablehlo.constant dense<[[[[0.0, 1.0], [2.0, -1.0]], [[-1.0, 0.0], [-1.0, 0.0]]], [[[1.0, -2.0], [-2.0, 2.0]], [[-2.0, 2.0], [1.0, 2.0]]]]> : tensor<2x2x2x2xf32>
    %result = call @compute(%x, %k) : (tensor<2x4x1x3xf32>, tensor<2x2x2x2xf32>) -> tensor<2x1x5x8xf32>
    check.expect_eq_const %result, dense<[[[[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, -4.0, 2.0, 0.0, -4.0, -3.0, 0.0, -1.0], [0.0, 1.0, -1.0, 0.0, 1.0, 1.0, 0.0, -1.0], [0.0, -1.0, 3.0, 0.0, 1.0, 3.0, 0.0, -3.0], [0.0, 9.0, 0.0, 0.0, -2.0, 0.0, 0.0, 4.0]]], [[[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 3.0, 1.0, 0.0, 1.0, 2.0, 0.0, 2.0], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, -2.0, 0.0, -2.0, 0.0, 0.0, 0.0], [0.0, -3.0, 1.0, 0.0, 1.0, -2.0, 0.0, -2.0]]]]> : tensor<2x1x5x8xf32>
    return
  }
}

// -----

// zeros between the elements, which a transposed convolution does not multiply: a result that is cropped at its begin and longer at its end
module {
  func.func private @compute(%x: tensor<1x2x3x2xf32>, %k: tensor<3x2x2x2xf32>) -> tensor<1x2x5x4xf32> {
    %y = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[0, 1, o, i]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[-1, 3], [0, 2]], lhs_dilate = [2, 3], rhs_dilate = [1, 2], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x3x2xf32>, tensor<3x2x2x2xf32>) -> tensor<1x2x5x4xf32>
    return %y : tensor<1x2x5x4xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[[[3.0, 1.0], [1.0, 3.0], [1.0, 2.0]], [[2.0, -2.0], [-3.0, -1.0], [-2.0, 3.0]]]]> : tensor<1x2x3x2xf32>
    %k = stablehlo.constant dense<[[[[2.0, -2.0], [0.0, 2.0]], [[-2.0, 1.0], [-2.0, 0.0]]], [[[2.0, -1.0], [-1.0, -1.0]], [[1.0, -1.0], [2.0, 0.0]]], [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 2.0], [2.0, 1.0]]]]> : tensor<3x2x2x2xf32>
    %result = call @compute(%x, %k) : (tensor<1x2x3x2xf32>, tensor<3x2x2x2xf32>) -> tensor<1x2x5x4xf32>
    check.expect_eq_const %result, dense<[[[[5.0, 4.0, 0.0, 7.0], [6.0, -3.0, 0.0, -2.0], [4.0, -1.0, 0.0, 1.0], [0.0, 6.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], [[2.0, 6.0, 0.0, -2.0], [-4.0, 1.0, 0.0, 6.0], [1.0, 4.0, 0.0, -5.0], [0.0, 7.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x2x5x4xf32>
    return
  }
}

// -----

// zeros between the elements, and padding that is wider than the window: no transposed convolution
module {
  func.func private @compute(%x: tensor<1x2x2x2xf32>, %k: tensor<2x2x2x2xf32>) -> tensor<1x2x5x3xf32> {
    %y = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 1], [1, 0]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x2x2xf32>, tensor<2x2x2x2xf32>) -> tensor<1x2x5x3xf32>
    return %y : tensor<1x2x5x3xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[[[1.0, 1.0], [-1.0, 3.0]], [[0.0, -2.0], [2.0, -2.0]]]]> : tensor<1x2x2x2xf32>
    %k = stablehlo.constant dense<[[[[2.0, 1.0], [-2.0, -2.0]], [[0.0, -2.0], [-2.0, 0.0]]], [[[2.0, 0.0], [2.0, 2.0]], [[2.0, 1.0], [0.0, 0.0]]]]> : tensor<2x2x2x2xf32>
    %result = call @compute(%x, %k) : (tensor<1x2x2x2xf32>, tensor<2x2x2x2xf32>) -> tensor<1x2x5x3xf32>
    check.expect_eq_const %result, dense<[[[[0.0, 0.0, 0.0], [-2.0, -2.0, -2.0], [1.0, 2.0, 5.0], [2.0, -2.0, -6.0], [-5.0, -2.0, 7.0]], [[0.0, 0.0, 0.0], [2.0, 2.0, 2.0], [0.0, 2.0, -2.0], [-2.0, -2.0, 6.0], [2.0, 2.0, -2.0]]]]> : tensor<1x2x5x3xf32>
    return
  }
}

// -----

// groups of features, with one spatial dimension
module {
  func.func private @compute(%x: tensor<2x4x6xf32>, %k: tensor<6x2x3xf32>) -> tensor<2x6x11xf32> {
    %y = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[1, 1]], lhs_dilate = [2], rhs_dilate = [1], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x4x6xf32>, tensor<6x2x3xf32>) -> tensor<2x6x11xf32>
    return %y : tensor<2x6x11xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[[-1.0, 3.0, 0.0, -3.0, 1.0, 2.0], [3.0, 3.0, -1.0, 3.0, -1.0, -3.0], [0.0, -3.0, -2.0, -1.0, 1.0, 1.0], [-1.0, -2.0, -1.0, -1.0, 2.0, 1.0]], [[-3.0, -1.0, 2.0, -1.0, -1.0, -2.0], [3.0, -3.0, 2.0, -2.0, 2.0, 2.0], [-1.0, 0.0, -2.0, 2.0, -3.0, -3.0], [1.0, 1.0, 0.0, -3.0, -2.0, 2.0]]]> : tensor<2x4x6xf32>
    %k = stablehlo.constant dense<[[[2.0, 0.0, 0.0], [1.0, 1.0, -1.0]], [[-2.0, -2.0, 1.0], [0.0, -1.0, -1.0]], [[2.0, -1.0, 1.0], [-2.0, -1.0, 1.0]], [[0.0, -1.0, -2.0], [1.0, 0.0, -1.0]], [[1.0, 2.0, -1.0], [2.0, 1.0, 1.0]], [[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]]> : tensor<6x2x3xf32>
    %result = call @compute(%x, %k) : (tensor<2x4x6xf32>, tensor<6x2x3xf32>) -> tensor<2x6x11xf32>
    check.expect_eq_const %result, dense<[[[3.0, 6.0, 3.0, -4.0, -1.0, -2.0, 3.0, -2.0, -1.0, 2.0, -3.0], [-1.0, -10.0, -9.0, 0.0, 1.0, 7.0, 3.0, -8.0, -1.0, -2.0, -1.0], [-2.0, 2.0, -6.0, 8.0, 1.0, -13.0, 0.0, 4.0, 0.0, 10.0, 1.0], [0.0, -1.0, 3.0, 7.0, 2.0, 4.0, 1.0, 5.0, -1.0, -3.0, -1.0], [-1.0, -8.0, -8.0, -3.0, -5.0, -2.0, -3.0, 5.0, 4.0, 4.0, 3.0], [-1.0, -1.0, -5.0, -2.0, -3.0, -1.0, -2.0, -1.0, 3.0, 2.0, 2.0]], [[3.0, -8.0, -3.0, 9.0, 2.0, -6.0, -2.0, 2.0, 2.0, -4.0, 2.0], [3.0, -4.0, 5.0, -2.0, -6.0, 2.0, 4.0, 3.0, 0.0, 1.0, 2.0], [0.0, 4.0, 4.0, -4.0, -4.0, 6.0, 3.0, -9.0, -1.0, -7.0, 0.0], [1.0, 2.0, 0.0, -1.0, 2.0, 1.0, -2.0, -3.0, 3.0, 10.0, 3.0], [-1.0, 4.0, 1.0, -1.0, -4.0, -2.0, 1.0, -12.0, -8.0, 2.0, -4.0], [0.0, 1.0, 1.0, 1.0, -2.0, 0.0, -1.0, -3.0, -5.0, -2.0, -1.0]]]> : tensor<2x6x11xf32>
    return
  }
}

// -----

// groups of the batch
module {
  func.func private @compute(%x: tensor<4x3x3x3xf32>, %k: tensor<4x3x2x2xf32>) -> tensor<2x4x2x2xf32> {
    %y = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x3x3x3xf32>, tensor<4x3x2x2xf32>) -> tensor<2x4x2x2xf32>
    return %y : tensor<2x4x2x2xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[[[-2.0, -3.0, 0.0], [3.0, 1.0, -2.0], [2.0, 0.0, 3.0]], [[-1.0, -2.0, -3.0], [0.0, -1.0, 1.0], [3.0, 1.0, 3.0]], [[1.0, -1.0, -3.0], [3.0, 3.0, 3.0], [-1.0, 2.0, 1.0]]], [[[2.0, -3.0, 3.0], [-1.0, -1.0, 1.0], [2.0, 2.0, -1.0]], [[3.0, 0.0, -1.0], [3.0, 2.0, 2.0], [-1.0, -1.0, 2.0]], [[-2.0, 1.0, 3.0], [-3.0, 0.0, 1.0], [3.0, -1.0, -1.0]]], [[[2.0, -1.0, 0.0], [-1.0, 3.0, 1.0], [2.0, 2.0, 3.0]], [[-1.0, -1.0, -1.0], [2.0, -1.0, 2.0], [3.0, 0.0, -1.0]], [[3.0, -2.0, 3.0], [3.0, 2.0, 0.0], [-1.0, -1.0, 1.0]]], [[[-2.0, 1.0, -2.0], [-2.0, 3.0, -1.0], [3.0, 0.0, -1.0]], [[2.0, -3.0, 2.0], [2.0, 2.0, 0.0], [-2.0, 1.0, 3.0]], [[1.0, 1.0, 2.0], [0.0, -1.0, 1.0], [1.0, 3.0, 3.0]]]]> : tensor<4x3x3x3xf32>
    %k = stablehlo.constant dense<[[[[0.0, -2.0], [-1.0, -1.0]], [[2.0, 1.0], [2.0, -1.0]], [[-1.0, -1.0], [-2.0, 1.0]]], [[[-1.0, -1.0], [-2.0, -1.0]], [[-2.0, 0.0], [-1.0, 1.0]], [[-1.0, 2.0], [-2.0, 1.0]]], [[[1.0, 0.0], [1.0, 2.0]], [[-2.0, 2.0], [-1.0, -1.0]], [[0.0, -2.0], [0.0, 1.0]]], [[[0.0, 1.0], [-2.0, 2.0]], [[0.0, -2.0], [2.0, 2.0]], [[0.0, -2.0], [0.0, 2.0]]]]> : tensor<4x3x2x2xf32>
    %result = call @compute(%x, %k) : (tensor<4x3x3x3xf32>, tensor<4x3x2x2xf32>) -> tensor<2x4x2x2xf32>
    check.expect_eq_const %result, dense<[[[[-4.0, -8.0], [-2.0, -10.0]], [[-7.0, 1.0], [-3.0, 2.0]], [[12.0, -3.0], [-9.0, 19.0]], [[19.0, -6.0], [5.0, -1.0]]], [[[25.0, -8.0], [1.0, -1.0]], [[7.0, 7.0], [-14.0, -1.0]], [[-15.0, 7.0], [7.0, -6.0]], [[21.0, -12.0], [-1.0, 9.0]]]]> : tensor<2x4x2x2xf32>
    return
  }
}

// -----

// no spatial dimension
module {
  func.func private @compute(%x: tensor<2x5xf32>, %k: tensor<3x5xf32>) -> tensor<3x2xf32> {
    %y = stablehlo.convolution(%x, %k) dim_numbers = [b, f]x[o, i]->[f, b], window = {stride = [], pad = [], lhs_dilate = [], rhs_dilate = [], reverse = []} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5xf32>, tensor<3x5xf32>) -> tensor<3x2xf32>
    return %y : tensor<3x2xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[1.0, -1.0, 1.0, -1.0, -1.0], [3.0, -2.0, 0.0, 0.0, 3.0]]> : tensor<2x5xf32>
    %k = stablehlo.constant dense<[[2.0, 2.0, 0.0, 1.0, -1.0], [-1.0, 2.0, 1.0, 2.0, 1.0], [-1.0, -1.0, 2.0, -2.0, 0.0]]> : tensor<3x5xf32>
    %result = call @compute(%x, %k) : (tensor<2x5xf32>, tensor<3x5xf32>) -> tensor<3x2xf32>
    check.expect_eq_const %result, dense<[[0.0, -1.0], [-5.0, -4.0], [4.0, -1.0]]> : tensor<3x2xf32>
    return
  }
}

// -----

// a slice whose starts are computed, one beyond the end and one below 0
module {
  func.func private @compute(%x: tensor<3x4xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2x2xf32> {
    %y = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 2] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    return %y : tensor<2x2xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]> : tensor<3x4xf32>
    %i = stablehlo.constant dense<5> : tensor<i32>
    %j = stablehlo.constant dense<-1> : tensor<i32>
    %result = call @compute(%x, %i, %j) : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    check.expect_eq_const %result, dense<[[4.0, 5.0], [8.0, 9.0]]> : tensor<2x2xf32>
    return
  }
}

// -----

// a slice that is put at computed indices, of which one is too large for 31 bits
module {
  func.func private @compute(%x: tensor<2x3xi16>, %u: tensor<1x2xi16>, %i: tensor<ui32>, %j: tensor<ui32>) -> tensor<2x3xi16> {
    %y = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<2x3xi16>, tensor<1x2xi16>, tensor<ui32>, tensor<ui32>) -> tensor<2x3xi16>
    return %y : tensor<2x3xi16>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi16>
    %u = stablehlo.constant dense<[[7, -8]]> : tensor<1x2xi16>
    %i = stablehlo.constant dense<1> : tensor<ui32>
    %j = stablehlo.constant dense<4000000000> : tensor<ui32>
    %result = call @compute(%x, %u, %i, %j) : (tensor<2x3xi16>, tensor<1x2xi16>, tensor<ui32>, tensor<ui32>) -> tensor<2x3xi16>
    check.expect_eq_const %result, dense<[[0, 1, 2], [3, 7, -8]]> : tensor<2x3xi16>
    return
  }
}

// -----

// rows that computed indices of 64 bits choose, of which one is too large for 32
module {
  func.func private @compute(%x: tensor<3x4xf32>, %i: tensor<3x1xi64>) -> tensor<3x4xf32> {
    %y = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>} : (tensor<3x4xf32>, tensor<3x1xi64>) -> tensor<3x4xf32>
    return %y : tensor<3x4xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]> : tensor<3x4xf32>
    %i = stablehlo.constant dense<[[4294967296], [0], [1]]> : tensor<3x1xi64>
    %result = call @compute(%x, %i) : (tensor<3x4xf32>, tensor<3x1xi64>) -> tensor<3x4xf32>
    check.expect_eq_const %result, dense<[[8.0, 9.0, 10.0, 11.0], [0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]> : tensor<3x4xf32>
    return
  }
}

// -----

// computed indices with a dimension that both operands have
module {
  func.func private @compute(%x: tensor<2x3xf32>, %i: tensor<2x2xi32>) -> tensor<2x2xf32> {
    %y = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>} : (tensor<2x3xf32>, tensor<2x2xi32>) -> tensor<2x2xf32>
    return %y : tensor<2x2xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
    %i = stablehlo.constant dense<[[2, 0], [1, -7]]> : tensor<2x2xi32>
    %result = call @compute(%x, %i) : (tensor<2x3xf32>, tensor<2x2xi32>) -> tensor<2x2xf32>
    check.expect_eq_const %result, dense<[[2.0, 0.0], [4.0, 3.0]]> : tensor<2x2xf32>
    return
  }
}

// -----

// constants alone, which the graph takes as inputs
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[4.0, 5.0, 6.0]> : tensor<3xf32>
  %c = stablehlo.multiply %a, %b : tensor<3xf32>
  %d = stablehlo.subtract %c, %a : tensor<3xf32>
  check.expect_eq_const %d, dense<[3.0, 8.0, 15.0]> : tensor<3xf32>
  return
}

// -----

// sums of floats: few elements one after the other, as 2^24 + 1 + 1 shows, many as the device does
module {
  func.func private @compute(%x: tensor<3x2xf32>, %y: tensor<2x32xf32>, %z: tensor<f32>) -> (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) {
    %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3x2xf32>, tensor<f32>) -> tensor<2xf32>
    %p = stablehlo.reduce(%x init: %z) applies stablehlo.multiply across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    %l = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x32xf32>, tensor<f32>) -> tensor<2xf32>
    return %s, %p, %l : tensor<2xf32>, tensor<3xf32>, tensor<2xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[16777216.0, 1.0], [1.0, 2.0], [1.0, 16777216.0]]> : tensor<3x2xf32>
    %y = stablehlo.constant dense<0.5> : tensor<2x32xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r:3 = call @compute(%x, %y, %z) : (tensor<3x2xf32>, tensor<2x32xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>)
    check.expect_eq_const %r#0, dense<[16777216.0, 16777220.0]> : tensor<2xf32>
    check.expect_eq_const %r#1, dense<0.0> : tensor<3xf32>
    check.expect_eq_const %r#2, dense<16.0> : tensor<2xf32>
    return
  }
}

// -----

// products of few terms, of floats and integers; float16 is added up in f32
module {
  func.func private @compute(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>, %h: tensor<1x3xf16>, %i: tensor<2x2xi32>) -> (tensor<2x2xf32>, tensor<1x1xf16>, tensor<2x2xi32>) {
    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %d = stablehlo.dot_general %h, %h, contracting_dims = [1] x [1] : (tensor<1x3xf16>, tensor<1x3xf16>) -> tensor<1x1xf16>
    %e = stablehlo.dot_general %i, %i, contracting_dims = [1] x [0] : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
    return %c, %d, %e : tensor<2x2xf32>, tensor<1x1xf16>, tensor<2x2xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[[16777216.0, 1.0, 1.0], [1.0, 2.0, 3.0]]> : tensor<2x3xf32>
    %b = stablehlo.constant dense<[[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]]> : tensor<3x2xf32>
    %h = stablehlo.constant dense<[[32.0, 1.0, 1.0]]> : tensor<1x3xf16>
    %i = stablehlo.constant dense<[[65536, 1], [2, -3]]> : tensor<2x2xi32>
    %r:3 = call @compute(%a, %b, %h, %i) : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<1x3xf16>, tensor<2x2xi32>) -> (tensor<2x2xf32>, tensor<1x1xf16>, tensor<2x2xi32>)
    check.expect_eq_const %r#0, dense<[[16777216.0, 0.0], [6.0, -1.0]]> : tensor<2x2xf32>
    check.expect_eq_const %r#1, dense<1026.0> : tensor<1x1xf16>
    check.expect_eq_const %r#2, dense<[[2, 65533], [131066, 11]]> : tensor<2x2xi32>
    return
  }
}

// -----

// functions that become several operators: sign, rounding of halves away from 0, is_finite
module {
  func.func private @compute(%x: tensor<8xf32>, %i: tensor<3xi32>, %q: tensor<2xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xi1>, tensor<3xi32>, tensor<3xi32>, tensor<2xf32>) {
    %s = stablehlo.sign %x : tensor<8xf32>
    %r = stablehlo.round_nearest_afz %x : tensor<8xf32>
    %f = stablehlo.is_finite %x : (tensor<8xf32>) -> tensor<8xi1>
    %t = stablehlo.sign %i : tensor<3xi32>
    %a = stablehlo.abs %i : tensor<3xi32>
    %v = stablehlo.rsqrt %q : tensor<2xf32>
    return %s, %r, %f, %t, %a, %v : tensor<8xf32>, tensor<8xf32>, tensor<8xi1>, tensor<3xi32>, tensor<3xi32>, tensor<2xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[2.5, -2.5, 0.49999997, -0.5, 8388609.0, 0x7F800000, 0xFF800000, -0.0]> : tensor<8xf32>
    %i = stablehlo.constant dense<[-7, 0, 9]> : tensor<3xi32>
    %q = stablehlo.constant dense<[4.0, 0.25]> : tensor<2xf32>
    %r:6 = call @compute(%x, %i, %q) : (tensor<8xf32>, tensor<3xi32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xi1>, tensor<3xi32>, tensor<3xi32>, tensor<2xf32>)
    check.expect_eq_const %r#0, dense<[1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -0.0]> : tensor<8xf32>
    check.expect_eq_const %r#1, dense<[3.0, -3.0, 0.0, -1.0, 8388609.0, 0x7F800000, 0xFF800000, -0.0]> : tensor<8xf32>
    check.expect_eq_const %r#2, dense<[true, true, true, true, true, false, false, true]> : tensor<8xi1>
    check.expect_eq_const %r#3, dense<[-1, 0, 1]> : tensor<3xi32>
    check.expect_eq_const %r#4, dense<[7, 0, 9]> : tensor<3xi32>
    check.expect_eq_const %r#5, dense<[0.5, 2.0]> : tensor<2xf32>
    return
  }
}

// -----

// padding between elements, negative padding, a computed padding value; new dimensions in front
module {
  func.func private @compute(%x: tensor<3xf32>, %v: tensor<f32>) -> (tensor<6xf32>, tensor<2x3xf32>) {
    %w = stablehlo.add %v, %v : tensor<f32>
    %p = stablehlo.pad %x, %w, low = [-1], high = [2], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
    %b = stablehlo.broadcast %x, sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>
    return %p, %b : tensor<6xf32>, tensor<2x3xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %v = stablehlo.constant dense<4.5> : tensor<f32>
    %r:2 = call @compute(%x, %v) : (tensor<3xf32>, tensor<f32>) -> (tensor<6xf32>, tensor<2x3xf32>)
    check.expect_eq_const %r#0, dense<[9.0, 2.0, 9.0, 3.0, 9.0, 9.0]> : tensor<6xf32>
    check.expect_eq_const %r#1, dense<[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]> : tensor<2x3xf32>
    return
  }
}

// -----

// the largest element and the index of the first such, as JAX writes it; NaN is the largest
module {
  func.func private @compute(%x: tensor<2x40xf32>, %y: tensor<3x2xf32>) -> (tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xi32>) {
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %most = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %k = stablehlo.iota dim = 1 : tensor<2x40xi32>
    %r:2 = stablehlo.reduce(%x init: %least), (%k init: %zero) across dimensions = [1] : (tensor<2x40xf32>, tensor<2x40xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %0 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.or %0, %1 : tensor<i1>
      %3 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %5 = stablehlo.and %3, %4 : tensor<i1>
      %6 = stablehlo.or %2, %5 : tensor<i1>
      %7 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
      %8 = stablehlo.select %6, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
    }
    %m = stablehlo.iota dim = 0 : tensor<3x2xi32>
    %s:2 = stablehlo.reduce(%y init: %most), (%m init: %zero) across dimensions = [0] : (tensor<3x2xf32>, tensor<3x2xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %0 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.or %0, %1 : tensor<i1>
      %3 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %5 = stablehlo.and %3, %4 : tensor<i1>
      %6 = stablehlo.or %2, %5 : tensor<i1>
      %7 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
      %8 = stablehlo.select %6, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
    }
    %o:2 = stablehlo.optimization_barrier %s#0, %s#1 : tensor<2xf32>, tensor<2xi32>
    return %r#0, %r#1, %o#0, %o#1 : tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xi32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[0.0, 7.0, 14.0, 21.0, 28.0, 35.0, 2.0, 9.0, 16.0, 23.0, 30.0, 37.0, 4.0, 11.0, 18.0, 25.0, 32.0, 39.0, 6.0, 13.0, 20.0, 27.0, 34.0, 1.0, 8.0, 15.0, 22.0, 29.0, 36.0, 3.0, 39.0, 17.0, 24.0, 31.0, 38.0, 5.0, 12.0, 19.0, 26.0, 33.0], [0.0, -7.0, -14.0, -21.0, -28.0, 0x7FC00000, -2.0, -9.0, -16.0, -23.0, -30.0, -37.0, -4.0, -11.0, -18.0, -25.0, -32.0, -39.0, -6.0, -13.0, -20.0, -27.0, -34.0, -1.0, -8.0, -15.0, -22.0, -29.0, -36.0, -3.0, -39.0, -17.0, -24.0, -31.0, -38.0, -5.0, -12.0, -19.0, -26.0, -33.0]]> : tensor<2x40xf32>
    %y = stablehlo.constant dense<[[3.0, -1.0], [2.0, -1.0], [2.0, 5.0]]> : tensor<3x2xf32>
    %r:4 = call @compute(%x, %y) : (tensor<2x40xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xi32>)
    check.expect_almost_eq_const %r#0, dense<[39.0, 0x7FC00000]> : tensor<2xf32>
    check.expect_eq_const %r#1, dense<[17, 5]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[2.0, -1.0]> : tensor<2xf32>
    check.expect_eq_const %r#3, dense<[1, 0]> : tensor<2xi32>
    return
  }
}

// -----

// regions of several operations, with constants: of a map, and of a reduction in its order, ((1 - 5) * 2 - 6) * 2
module {
  func.func private @compute(%x: tensor<2x2xi32>, %y: tensor<2x2xi32>, %z: tensor<i32>) -> (tensor<2x2xi32>, tensor<2xi32>) {
    %m = "stablehlo.map"(%x, %y) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %k = stablehlo.constant dense<3> : tensor<i32>
        %c = stablehlo.multiply %a, %k : tensor<i32>
        %d = stablehlo.maximum %c, %b : tensor<i32>
        stablehlo.return %d : tensor<i32>
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
    %r = "stablehlo.reduce"(%x, %z) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %k = stablehlo.constant dense<2> : tensor<i32>
        %c = stablehlo.subtract %a, %b : tensor<i32>
        %d = stablehlo.multiply %c, %k : tensor<i32>
        stablehlo.return %d : tensor<i32>
    }) {dimensions = array<i64: 1>} : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
    return %m, %r : tensor<2x2xi32>, tensor<2xi32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[5, 6], [-1, 0]]> : tensor<2x2xi32>
    %y = stablehlo.constant dense<[[20, 1], [2, -2]]> : tensor<2x2xi32>
    %z = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = call @compute(%x, %y, %z) : (tensor<2x2xi32>, tensor<2x2xi32>, tensor<i32>) -> (tensor<2x2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[[20, 18], [2, 0]]> : tensor<2x2xi32>
    check.expect_eq_const %r#1, dense<[-28, 8]> : tensor<2xi32>
    return
  }
}

// -----

// features are dimension 2; (x - mean) / root(variance + 0) * scale + offset
module {
  func.func private @compute(%x: tensor<1x2x2xf32>, %s: tensor<2xf32>, %o: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>) -> tensor<1x2x2xf32> {
    %y = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) {epsilon = 0.0 : f32, feature_index = 2 : i64} : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
    return %y : tensor<1x2x2xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, -4.0]]]> : tensor<1x2x2xf32>
    %s = stablehlo.constant dense<[2.0, 1.0]> : tensor<2xf32>
    %o = stablehlo.constant dense<[0.5, -1.0]> : tensor<2xf32>
    %m = stablehlo.constant dense<[1.0, 4.0]> : tensor<2xf32>
    %v = stablehlo.constant dense<[4.0, 0.25]> : tensor<2xf32>
    %r = call @compute(%x, %s, %o, %m, %v) : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
    check.expect_almost_eq_const %r, dense<[[[0.5, -5.0], [2.5, -17.0]]]> : tensor<1x2x2xf32>
    return
  }
}

// -----

// functions of floats, and tests for infinities
module {
  func.func private @compute(%x: tensor<4xf32>, %y: tensor<4xf32>, %h: tensor<3xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf16>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
    %p = stablehlo.power %x, %y : tensor<4xf32>
    %t = stablehlo.tan %y : tensor<4xf32>
    %e = chlo.erf %y : tensor<4xf32> -> tensor<4xf32>
    %q = stablehlo.power %h, %h : tensor<3xf16>
    %i = chlo.is_inf %x : tensor<4xf32> -> tensor<4xi1>
    %j = chlo.is_pos_inf %x : tensor<4xf32> -> tensor<4xi1>
    %k = chlo.is_neg_inf %x : tensor<4xf32> -> tensor<4xi1>
    return %p, %t, %e, %q, %i, %j, %k : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf16>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[2.0, -2.0, 0x7F800000, 0xFF800000]> : tensor<4xf32>
    %y = stablehlo.constant dense<[0.5, 3.0, 0.0, 1.0]> : tensor<4xf32>
    %h = stablehlo.constant dense<[2.0, 3.0, 0.5]> : tensor<3xf16>
    %r:7 = call @compute(%x, %y, %h) : (tensor<4xf32>, tensor<4xf32>, tensor<3xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf16>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>)
    check.expect_almost_eq_const %r#0, dense<[1.41421354, -8.0, 1.0, 0xFF800000]> : tensor<4xf32>
    check.expect_almost_eq_const %r#1, dense<[0.546302497, -0.142546549, 0.0, 1.55740774]> : tensor<4xf32>
    check.expect_almost_eq_const %r#2, dense<[0.520499885, 0.999977887, 0.0, 0.842700779]> : tensor<4xf32>
    check.expect_almost_eq_const %r#3, dense<[4.0, 27.0, 0.70703125]> : tensor<3xf16>
    check.expect_eq_const %r#4, dense<[false, false, true, true]> : tensor<4xi1>
    check.expect_eq_const %r#5, dense<[false, false, true, false]> : tensor<4xi1>
    check.expect_eq_const %r#6, dense<[false, false, false, true]> : tensor<4xi1>
    return
  }
}
