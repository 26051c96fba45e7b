// SPDX-License-Identifier: MIT
// A comparison that does not hold, in each of the ways to compare.

func.func @main() {
  %x = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
  %y = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  %z = stablehlo.add %x, %y : tensor<2xi32>
  check.expect_eq_const %z, dense<[1, 3]> : tensor<2xi32>
  return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.constant dense<0x3F800004> : tensor<f32>
  stablehlo.custom_call @check.expect_close(%x, %y) : (tensor<f32>, tensor<f32>) -> ()
  return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  check.expect_almost_eq_const %x, dense<1.0002> : tensor<f32>
  return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.constant dense<1.001> : tensor<f32>
  %z = stablehlo.custom_call @check.eq(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<1.0> : tensor<f16>
  %y = stablehlo.constant dense<0x3C04> : tensor<f16>
  check.expect_close %x, %y, max_ulp_difference = 3 : tensor<f16>, tensor<f16>
  return
}
