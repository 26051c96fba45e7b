// SPDX-License-Identifier: MIT
// Elements of all types: literals, rounding, conversion, edges.

func.func @small_floats() {
  %x = stablehlo.constant dense<[0.0, 1.0, 449.0, 0.001, -1.0e9]> : tensor<5xf32>
  %a = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xf8E4M3FN>
  %b = stablehlo.convert %a : (tensor<5xf8E4M3FN>) -> tensor<5xf32>
  check.expect_almost_eq_const %b, dense<[0.0, 1.0, 448.0, 0.001953125, 0x7FC00000]> : tensor<5xf32>
  %c = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xf8E5M2>
  %d = stablehlo.convert %c : (tensor<5xf8E5M2>) -> tensor<5xf32>
  check.expect_almost_eq_const %d, dense<[0.0, 1.0, 448.0, 0.0009765625, 0xFF800000]> : tensor<5xf32>
  %e = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xf4E2M1FN>
  %f = stablehlo.convert %e : (tensor<5xf4E2M1FN>) -> tensor<5xf32>
  check.expect_almost_eq_const %f, dense<[0.0, 1.0, 6.0, 0.0, -6.0]> : tensor<5xf32>
  return
}

// -----

func.func @integers() {
  %x = stablehlo.constant dense<[-128, 7, -7]> : tensor<3xi8>
  %y = stablehlo.constant dense<[-1, 0, 2]> : tensor<3xi8>
  %q = stablehlo.divide %x, %y : tensor<3xi8>
  check.expect_eq_const %q, dense<[-128, -1, -3]> : tensor<3xi8>
  %r = stablehlo.remainder %x, %y : tensor<3xi8>
  check.expect_eq_const %r, dense<[0, 7, -1]> : tensor<3xi8>
  %a = stablehlo.abs %x : tensor<3xi8>
  check.expect_eq_const %a, dense<[-128, 7, 7]> : tensor<3xi8>
  return
}

// -----

func.func @saturated() {
  %x = stablehlo.constant dense<[300.0, -300.0, 0x7FC00000, 2.9]> : tensor<4xf32>
  %y = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi8>
  check.expect_eq_const %y, dense<[127, -128, 0, 2]> : tensor<4xi8>
  %z = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xui8>
  check.expect_eq_const %z, dense<[255, 0, 0, 2]> : tensor<4xui8>
  return
}

// -----

func.func @total_order() {
  %x = stablehlo.constant dense<[-0.0, 0x7FC00000, 0xFFC00000]> : tensor<3xf32>
  %y = stablehlo.constant dense<[0.0, 0x7F800000, 0xFF800000]> : tensor<3xf32>
  %t = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %t, dense<[true, false, true]> : tensor<3xi1>
  %u = stablehlo.compare LT, %x, %y, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %u, dense<false> : tensor<3xi1>
  return
}

// -----

func.func @bits() {
  %x = stablehlo.constant dense<[0x3F800000, 0xC0000000]> : tensor<2xui32>
  %f = stablehlo.bitcast_convert %x : (tensor<2xui32>) -> tensor<2xf32>
  check.expect_eq_const %f, dense<[1.0, -2.0]> : tensor<2xf32>
  %h = stablehlo.bitcast_convert %x : (tensor<2xui32>) -> tensor<2x2xui16>
  check.expect_eq_const %h, dense<[[0, 0x3F80], [0, 0xC000]]> : tensor<2x2xui16>
  %n = stablehlo.bitcast_convert %h : (tensor<2x2xui16>) -> tensor<2xui32>
  check.expect_eq_const %n, dense<[0x3F800000, 0xC0000000]> : tensor<2xui32>
  %b = stablehlo.constant dense<[-1, 18]> : tensor<2xi8>
  %q = stablehlo.bitcast_convert %b : (tensor<2xi8>) -> tensor<2x2xi4>
  check.expect_eq_const %q, dense<[[-1, -1], [2, 1]]> : tensor<2x2xi4>
  return
}

// -----

func.func @precision() {
  %x = stablehlo.constant dense<[1.0009765625, 65535.0, 1.0e-30, 0x7F800000]> : tensor<4xf32>
  %y = stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32>
  check.expect_eq_const %y, dense<[1.0009765625, 0x7F800000, 0.0, 0x7F800000]> : tensor<4xf32>
  %small = stablehlo.constant dense<1.0e-40> : tensor<f32>
  %kept = stablehlo.reduce_precision %small, format = e8m23 : tensor<f32>
  check.expect_eq_const %kept, dense<1.0e-40> : tensor<f32>
  return
}

// -----

func.func @special_functions() {
  %x = stablehlo.constant dense<[0.5, 1.0, 10.0, -0.5]> : tensor<4xf64>
  %d = chlo.digamma %x : tensor<4xf64> -> tensor<4xf64>
  check.expect_almost_eq_const %d, dense<[-1.9635100260214235, -0.5772156649015329, 2.251752589066721, 0.03648997397857652]> : tensor<4xf64>
  %two = stablehlo.constant dense<2.0> : tensor<4xf64>
  %q = stablehlo.constant dense<[1.0, 2.0, 10.0, 0.5]> : tensor<4xf64>
  %z = chlo.zeta %two, %q : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
  check.expect_almost_eq_const %z, dense<[1.6449340668482264, 0.6449340668482264, 0.10516633568168575, 4.934802200544679]> : tensor<4xf64>
  %one = stablehlo.constant dense<1.0> : tensor<4xf64>
  %p = chlo.polygamma %one, %q : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
  check.expect_almost_eq_const %p, dense<[1.6449340668482264, 0.6449340668482264, 0.10516633568168575, 4.934802200544679]> : tensor<4xf64>
  %b = chlo.bessel_i1e %q : tensor<4xf64> -> tensor<4xf64>
  check.expect_almost_eq_const %b, dense<[0.2079104153497085, 0.2152692892489377, 0.12126268138445556, 0.1564208032055167]> : tensor<4xf64>
  return
}

// -----

func.func @implicit_broadcast() {
  %x = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %y = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %z = chlo.broadcast_add %x, %y : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %z, dense<[[11, 21, 31], [12, 22, 32]]> : tensor<2x3xi32>
  return
}

// -----

// x + log(1/2) is rounded before the exponential is taken, as StableHLO lowers both.
func.func @hyperbolic() {
  %x = stablehlo.constant dense<[0.0, 0.5, 9.1647, -8.7437, 89.41, -89.5]> : tensor<6xf32>
  %half = stablehlo.constant dense<0.5> : tensor<6xf32>
  %log = stablehlo.log %half : tensor<6xf32>
  %a = stablehlo.add %x, %log : tensor<6xf32>
  %b = stablehlo.subtract %log, %x : tensor<6xf32>
  %ea = stablehlo.exponential %a : tensor<6xf32>
  %eb = stablehlo.exponential %b : tensor<6xf32>
  %sum = stablehlo.add %ea, %eb : tensor<6xf32>
  %difference = stablehlo.subtract %ea, %eb : tensor<6xf32>
  %cosh = chlo.cosh %x : tensor<6xf32> -> tensor<6xf32>
  %sinh = chlo.sinh %x : tensor<6xf32> -> tensor<6xf32>
  check.expect_eq %cosh, %sum : tensor<6xf32>
  %large = stablehlo.slice %difference [2:6] : (tensor<6xf32>) -> tensor<4xf32>
  %last = stablehlo.slice %sinh [2:6] : (tensor<6xf32>) -> tensor<4xf32>
  check.expect_eq %last, %large : tensor<4xf32>
  %first = stablehlo.slice %sinh [0:2] : (tensor<6xf32>) -> tensor<2xf32>
  check.expect_eq_const %first, dense<[0.0, 0.521095305]> : tensor<2xf32>
  return
}

// -----

// MLIR writes one element for an array that has none, like for one of equal elements.
func.func @no_elements() {
  %a = stablehlo.constant dense<"0x0000803F"> : tensor<0x2xf32>
  check.expect_eq_const %a, dense<> : tensor<0x2xf32>
  return
}
