// SPDX-License-Identifier: MIT
// Linear algebra, Fourier transforms, batch normalisation.

func.func @cholesky() {
  %a = stablehlo.constant dense<[[4.0, 7.0], [2.0, 5.0]]> : tensor<2x2xf64>
  %l = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>
  check.expect_almost_eq_const %l, dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf64>
  return
}

// -----

func.func @cholesky_upper_complex() {
  %a = stablehlo.constant dense<[[(1.0, 0.0), (0.0, 1.0)], [(9.0, 9.0), (5.0, 0.0)]]> : tensor<2x2xcomplex<f32>>
  %u = "stablehlo.cholesky"(%a) {lower = false} : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  check.expect_almost_eq_const %u, dense<[[(1.0, 0.0), (0.0, 1.0)], [(0.0, 0.0), (2.0, 0.0)]]> : tensor<2x2xcomplex<f32>>
  return
}

// -----

// What is not positive definite gives no numbers.
func.func @not_definite() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [2.0, 1.0]]> : tensor<2x2xf32>
  %l = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>
  check.expect_almost_eq_const %l, dense<[[0x7FC00000, 0.0], [0x7FC00000, 0x7FC00000]]> : tensor<2x2xf32>
  return
}

// -----

func.func @fft() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf64>
  %y = stablehlo.fft %x, type = RFFT, length = [5] : (tensor<5xf64>) -> tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(15.0, 0.0), (-2.5, 3.4409548), (-2.5, 0.81229924)]> : tensor<3xcomplex<f64>>
  %z = stablehlo.fft %y, type = IRFFT, length = [5] : (tensor<3xcomplex<f64>>) -> tensor<5xf64>
  check.expect_almost_eq %z, %x : tensor<5xf64>
  return
}

// -----

func.func @fft_of_two_dimensions() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]> : tensor<2x3xf32>
  %y = stablehlo.fft %x, type = RFFT, length = [2, 3] : (tensor<2x3xf32>) -> tensor<2x2xcomplex<f32>>
  check.expect_almost_eq_const %y, dense<[[(22.0, 0.0), (-3.5, 2.5980762)], [(-10.0, 0.0), (0.5, -0.8660254)]]> : tensor<2x2xcomplex<f32>>
  %z = stablehlo.fft %y, type = IRFFT, length = [2, 3] : (tensor<2x2xcomplex<f32>>) -> tensor<2x3xf32>
  check.expect_almost_eq %z, %x : tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_inference() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %scale = stablehlo.constant dense<1.0> : tensor<2xf32>
  %offset = stablehlo.constant dense<1.0> : tensor<2xf32>
  %mean = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %variance = stablehlo.constant dense<1.0> : tensor<2xf32>
  %y = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) {epsilon = 0.0 : f32, feature_index = 1 : i64} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %y, dense<[[0.0, 0.0], [2.0, 2.0]]> : tensor<2x2xf32>
  return
}

// -----

// The example of the specification.
func.func @batch_norm_training() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]]> : tensor<2x2x2xf64>
  %scale = stablehlo.constant dense<1.0> : tensor<2xf64>
  %offset = stablehlo.constant dense<1.0> : tensor<2xf64>
  %y, %mean, %variance = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 0.0 : f32, feature_index = 2 : i64} : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %y, dense<[[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]]> : tensor<2x2x2xf64>
  check.expect_almost_eq_const %mean, dense<[2.0, 3.0]> : tensor<2xf64>
  check.expect_almost_eq_const %variance, dense<[1.0, 1.0]> : tensor<2xf64>
  return
}

// -----

// The example of the specification.
func.func @batch_norm_grad() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]]> : tensor<2x2x2xf64>
  %scale = stablehlo.constant dense<1.0> : tensor<2xf64>
  %mean = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf64>
  %variance = stablehlo.constant dense<1.0> : tensor<2xf64>
  %g = stablehlo.constant dense<0.1> : tensor<2x2x2xf64>
  %dx, %ds, %do = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %g) {epsilon = 0.0 : f32, feature_index = 2 : i64} : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x2x2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %dx, dense<0.0> : tensor<2x2x2xf64>
  check.expect_almost_eq_const %ds, dense<0.0> : tensor<2xf64>
  check.expect_almost_eq_const %do, dense<0.4> : tensor<2xf64>
  return
}

// -----

func.func @einsum() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[1.0, 0.0], [1.0, 1.0]]> : tensor<2x2xf32>
  %c = stablehlo.einsum %a, %b, config = "ij,jk->ik" : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %c, dense<[[3.0, 2.0], [7.0, 4.0]]> : tensor<2x2xf32>
  %d = stablehlo.unary_einsum %a, config = "ij->j" : (tensor<2x2xf32>) -> tensor<2xf32>
  check.expect_eq_const %d, dense<[4.0, 6.0]> : tensor<2xf32>
  return
}
