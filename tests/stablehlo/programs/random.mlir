// SPDX-License-Identifier: MIT
// Random numbers: the example of the specification, and the known answers of Philox.

func.func @threefry() {
  %state = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui64>)
  check.expect_eq_const %next, dense<[1, 6]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[[9236835810183407956, 16087790271692313299], [18212823393184779219, 2658481902456610144]]> : tensor<2x2xui64>
  return
}

// -----

// Random123's kat_vectors: philox4x32 10 with a counter and key of zeros.
func.func @philox() {
  %state = stablehlo.constant dense<0> : tensor<3xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  check.expect_eq_const %next, dense<[0, 1, 0]> : tensor<3xui64>
  check.expect_eq_const %bits, dense<[0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]> : tensor<4xui32>
  return
}

// -----

func.func @uniform() {
  %a = stablehlo.constant dense<-1.0> : tensor<f32>
  %b = stablehlo.constant dense<2.0> : tensor<f32>
  %n = stablehlo.constant dense<[1000]> : tensor<1xi64>
  %x = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<1000xf32>
  %low = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<1000xf32>
  %high = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<1000xf32>
  %p = stablehlo.compare GE, %x, %low : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xi1>
  %q = stablehlo.compare LT, %x, %high : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xi1>
  check.expect_eq_const %p, dense<true> : tensor<1000xi1>
  check.expect_eq_const %q, dense<true> : tensor<1000xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
  %half = stablehlo.constant dense<0.001> : tensor<f32>
  %mean = stablehlo.multiply %sum, %half : tensor<f32>
  check.expect_almost_eq_const %mean, dense<0.5> : tensor<f32>, tolerance = 0.1
  return
}
