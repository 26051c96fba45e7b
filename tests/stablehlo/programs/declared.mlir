// SPDX-License-Identifier: MIT
// Cases that the constraints allow and other programs lack: declared functions, quantised values.

func.func private @unused(tensor<2xf32>, !stablehlo.token) -> tensor<f32>

func.func @main() {
  // A ragged product whose groups differ for each index of the dimension before the ragged one.
  %lhs = stablehlo.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]]]> : tensor<2x2x1xf32>
  %rhs = stablehlo.constant dense<[[[10.0]], [[100.0]]]> : tensor<2x1x1xf32>
  %sizes = stablehlo.constant dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>
  %p = "chlo.ragged_dot"(%lhs, %rhs, %sizes) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [],
    rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1],
    lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>} : (tensor<2x2x1xf32>, tensor<2x1x1xf32>, tensor<2x2xi64>) -> tensor<2x2x1xf32>
  check.expect_eq_const %p, dense<[[[10.0], [200.0]], [[300.0], [400.0]]]> : tensor<2x2x1xf32>

  // Quantised operands of a broadcast, a factorisation, and a rounding to fewer bits.
  %x = stablehlo.constant dense<[4.0, 9.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[1.0]> : tensor<1xf32>
  %qx = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:1>>
  %qy = stablehlo.uniform_quantize %y : (tensor<1xf32>) -> tensor<1x!quant.uniform<i8:f32, 0.25:2>>
  %qs = chlo.broadcast_add %qx, %qy : (tensor<2x!quant.uniform<i8:f32, 0.5:1>>, tensor<1x!quant.uniform<i8:f32, 0.25:2>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-3>>
  %s = stablehlo.uniform_dequantize %qs : (tensor<2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2xf32>
  check.expect_eq_const %s, dense<[5.0, 10.0]> : tensor<2xf32>
  %a = stablehlo.constant dense<[[4.0, 0.0], [0.0, 9.0]]> : tensor<2x2xf32>
  %qa = stablehlo.uniform_quantize %a : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>
  %qc = "stablehlo.cholesky"(%qa) {lower = true} : (tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>
  %c = stablehlo.uniform_dequantize %qc : (tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2x2xf32>
  check.expect_eq_const %c, dense<[[2.0, 0.0], [0.0, 3.0]]> : tensor<2x2xf32>
  %qr = stablehlo.reduce_precision %qx, format = e5m1 : tensor<2x!quant.uniform<i8:f32, 0.5:1>>
  %r = stablehlo.uniform_dequantize %qr : (tensor<2x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[4.0, 8.0]> : tensor<2xf32>
  // MLIR writes the stored values of an unsigned type as signed ones.
  %stored = "stablehlo.constant"() {value = dense<[-1, 3]> : tensor<2xi8>} : () -> tensor<2x!quant.uniform<u8:f32, 0.5>>
  %u = stablehlo.uniform_dequantize %stored : (tensor<2x!quant.uniform<u8:f32, 0.5>>) -> tensor<2xf32>
  check.expect_eq_const %u, dense<[127.5, 1.5]> : tensor<2xf32>
  %filled = "stablehlo.constant"() {value = dense<-1> : tensor<2xi4>} : () -> tensor<2x!quant.uniform<u4:f32, 0.5>>
  %t = stablehlo.uniform_dequantize %filled : (tensor<2x!quant.uniform<u4:f32, 0.5>>) -> tensor<2xf32>
  check.expect_eq_const %t, dense<7.5> : tensor<2xf32>

  // An open dimension with the size of its bound, and one with the size of the operand's.
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %w = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<1x?xf32, #stablehlo.bounds<?, 5>>
  %size = stablehlo.get_dimension_size %w, dim = 1 : (tensor<1x?xf32, #stablehlo.bounds<?, 5>>) -> tensor<i32>
  check.expect_eq_const %size, dense<5> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %cut = stablehlo.set_dimension_size %w, %three, dim = 1 : (tensor<1x?xf32, #stablehlo.bounds<?, 5>>, tensor<i32>) -> tensor<1x?xf32, #stablehlo.bounds<?, 5>>
  %v = stablehlo.broadcast_in_dim %cut, dims = [0, 1] : (tensor<1x?xf32, #stablehlo.bounds<?, 5>>) -> tensor<2x?xf32, #stablehlo.bounds<?, 5>>
  %own = stablehlo.get_dimension_size %v, dim = 1 : (tensor<2x?xf32, #stablehlo.bounds<?, 5>>) -> tensor<i32>
  check.expect_eq_const %own, dense<3> : tensor<i32>

  // A constant has the type of its value, whatever the type of the operand is.
  %like = "chlo.constant_like"(%sizes) {value = 1.5 : f32} : (tensor<2x2xi64>) -> tensor<2x2xf32>
  check.expect_eq_const %like, dense<1.5> : tensor<2x2xf32>
  %arith = arith.constant dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %arith, dense<[1, 2]> : tensor<2xi32>
  return
}
