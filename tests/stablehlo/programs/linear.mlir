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

// A matrix that is not positive definite gives NaN.
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

// -----

// Custom calls of the plugin for JAX. A zero beside a diagonal matrix leaves signs of vectors alone.
func.func @eigenvalues() {
  %h = stablehlo.constant dense<[[[2.0, 99.0], [0.0, -1.0]], [[5.0, 99.0], [4.0, 5.0]], [[1.0, 0.0], [0x7FC00000, 1.0]]]> : tensor<3x2x2xf32>
  %v, %w = stablehlo.custom_call @onpu.eigh(%h) : (tensor<3x2x2xf32>) -> (tensor<3x2x2xf32>, tensor<3x2xf32>)
  check.expect_almost_eq_const %w, dense<[[-1.0, 2.0], [1.0, 9.0], [0x7FC00000, 0x7FC00000]]> : tensor<3x2xf32>
  %square = stablehlo.multiply %v, %v : tensor<3x2x2xf32>
  check.expect_almost_eq_const %square, dense<[[[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]], [[0x7FC00000, 0x7FC00000], [0x7FC00000, 0x7FC00000]]]> : tensor<3x2x2xf32>
  %a = stablehlo.constant dense<[[1.0, -2.0], [2.0, 1.0]]> : tensor<2x2xf64>
  %values, %left, %right = stablehlo.custom_call @onpu.eig(%a) : (tensor<2x2xf64>) -> (tensor<2xcomplex<f64>>, tensor<2x2xcomplex<f64>>, tensor<2x2xcomplex<f64>>)
  check.expect_almost_eq_const %values, dense<[(1.0, 2.0), (1.0, -2.0)]> : tensor<2xcomplex<f64>>
  %ca = stablehlo.convert %a : (tensor<2x2xf64>) -> tensor<2x2xcomplex<f64>>
  %av = stablehlo.dot %ca, %right : (tensor<2x2xcomplex<f64>>, tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>
  %rows = stablehlo.broadcast_in_dim %values, dims = [1] : (tensor<2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>
  %vw = stablehlo.multiply %right, %rows : tensor<2x2xcomplex<f64>>
  check.expect_almost_eq %av, %vw : tensor<2x2xcomplex<f64>>
  return
}

// -----

func.func @singular_values() {
  %a = stablehlo.constant dense<[[3.0, 0.0, 0.0], [0.0, -4.0, 0.0]]> : tensor<2x3xf32>
  %s = stablehlo.custom_call @onpu.svd(%a) : (tensor<2x3xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %s, dense<[4.0, 3.0]> : tensor<2xf32>
  %t, %u, %v = stablehlo.custom_call @onpu.svd(%a) : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2x2xf32>, tensor<2x3xf32>)
  %columns = stablehlo.broadcast_in_dim %t, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
  %us = stablehlo.multiply %u, %columns : tensor<2x2xf32>
  %again = stablehlo.dot %us, %v : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  check.expect_almost_eq %again, %a : tensor<2x3xf32>
  %e = stablehlo.constant dense<> : tensor<0x2xcomplex<f32>>
  %none, %eu, %ev = stablehlo.custom_call @onpu.svd(%e) : (tensor<0x2xcomplex<f32>>) -> (tensor<0xf32>, tensor<0x0xcomplex<f32>>, tensor<2x2xcomplex<f32>>)
  check.expect_almost_eq_const %ev, dense<[[(1.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0)]]> : tensor<2x2xcomplex<f32>>
  return
}

// -----

// Rows are exchanged so that the largest number of a column is on the diagonal.
func.func @triangular_factors() {
  %a = stablehlo.constant dense<[[[0.0, 2.0, 4.0], [2.0, 4.0, 6.0], [1.0, 4.0, 0.0]], [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0x7FC00000, 0.0, 1.0]]]> : tensor<2x3x3xf32>
  %lu, %pivots, %rows = stablehlo.custom_call @onpu.lu(%a) : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xi32>, tensor<2x3xi32>)
  check.expect_almost_eq_const %lu, dense<[[[2.0, 4.0, 6.0], [0.0, 2.0, 4.0], [0.5, 1.0, -7.0]], [[0x7FC00000, 0x7FC00000, 0x7FC00000], [0x7FC00000, 0x7FC00000, 0x7FC00000], [0x7FC00000, 0x7FC00000, 0x7FC00000]]]> : tensor<2x3x3xf32>
  check.expect_eq_const %pivots, dense<[[1, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>
  check.expect_eq_const %rows, dense<[[1, 0, 2], [0, 1, 2]]> : tensor<2x3xi32>
  %b = stablehlo.constant dense<[[(0.0, 1.0), (1.0, 0.0)], [(0.0, 0.0), (0.0, 0.0)], [(0.0, 4.0), (2.0, 0.0)]]> : tensor<3x2xcomplex<f64>>
  %c, %first, %order = stablehlo.custom_call @onpu.lu(%b) : (tensor<3x2xcomplex<f64>>) -> (tensor<3x2xcomplex<f64>>, tensor<2xi32>, tensor<3xi32>)
  check.expect_almost_eq_const %c, dense<[[(0.0, 4.0), (2.0, 0.0)], [(0.25, 0.0), (0.5, 0.0)], [(0.0, 0.0), (0.0, 0.0)]]> : tensor<3x2xcomplex<f64>>
  check.expect_eq_const %first, dense<[2, 2]> : tensor<2xi32>
  check.expect_eq_const %order, dense<[2, 0, 1]> : tensor<3xi32>
  %none = stablehlo.constant dense<> : tensor<2x0xf32>
  %empty, %no, %both = stablehlo.custom_call @onpu.lu(%none) : (tensor<2x0xf32>) -> (tensor<2x0xf32>, tensor<0xi32>, tensor<2xi32>)
  check.expect_eq_const %both, dense<[0, 1]> : tensor<2xi32>
  return
}

// -----

// A real matrix with complex eigenvalues keeps a block of two.
func.func @similar_forms() {
  %a = stablehlo.constant dense<[[0.0, -1.0], [1.0, 0.0]]> : tensor<2x2xf32>
  %t, %q = stablehlo.custom_call @onpu.schur(%a) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  check.expect_almost_eq %t, %a : tensor<2x2xf32>
  check.expect_almost_eq_const %q, dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[1.0, 2.0, 3.0], [3.0, 4.0, 5.0], [4.0, 6.0, 7.0]]> : tensor<3x3xf64>
  %h, %f = stablehlo.custom_call @onpu.hessenberg(%b) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %h, dense<[[1.0, -3.6, 0.2], [-5.0, 11.2, 0.6], [0.5, -0.4, -0.2]]> : tensor<3x3xf64>
  check.expect_almost_eq_const %f, dense<[1.6, 0.0]> : tensor<2xf64>
  %m = stablehlo.constant dense<[[1.0, 0.0, 0.0], [3.0, 2.0, 0.0], [4.0, 0.0, 2.0]]> : tensor<3x3xf64>
  %l:4 = stablehlo.custom_call @onpu.tridiagonal_lower(%m) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %l#1, dense<[1.0, 2.0, 2.0]> : tensor<3xf64>
  check.expect_almost_eq_const %l#2, dense<[-5.0, 0.0]> : tensor<2xf64>
  %n = stablehlo.constant dense<[[2.0, 0.0, 4.0], [0.0, 2.0, 3.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf64>
  %r:4 = stablehlo.custom_call @onpu.tridiagonal_upper(%n) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %r#1, dense<[2.0, 2.0, 1.0]> : tensor<3xf64>
  check.expect_almost_eq_const %r#2, dense<[0.0, -5.0]> : tensor<2xf64>
  %o = stablehlo.constant dense<[[2.0, 6.0, 7.0], [0.0, 2.0, 8.0], [4.0, 3.0, 1.0]]> : tensor<3x3xf64>
  %s:4 = stablehlo.custom_call @onpu.tridiagonal_lower(%o) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<2xf64>, tensor<2xf64>)
  %other = stablehlo.slice %s#0 [0:2, 1:3] : (tensor<3x3xf64>) -> tensor<2x2xf64>
  check.expect_almost_eq_const %other, dense<[[6.0, 7.0], [1.0, 8.0]]> : tensor<2x2xf64>
  return
}

// -----

// A product has the bits of an einsum, whose kernel adds up one sum after the other.
func.func @orders_of_sums() {
  %f = stablehlo.constant dense<[[[1.0e4, 3.0], [0.1, 0.2], [7.0, -1.0e4]], [[1.0e-7, 3.0], [-0.3, 0.2], [1.0e30, 5.0]]]> : tensor<2x3x2xf64>
  %g = stablehlo.constant dense<[[[0.7, 3.0, -1.0e4], [5.0e3, 0.3, -0.1]], [[0.1, 1.0e-3, 1.0e30], [1.0, 3.3, 0.7]]]> : tensor<2x2x3xf64>
  %d = stablehlo.dot_general %f, %g, batching_dims = [0] x [0], contracting_dims = [1] x [2] : (tensor<2x3x2xf64>, tensor<2x2x3xf64>) -> tensor<2x2x2xf64>
  %e = "stablehlo.einsum"(%f, %g) {einsum_config = "bki,bjk->bij"} : (tensor<2x3x2xf64>, tensor<2x2x3xf64>) -> tensor<2x2x2xf64>
  check.expect_eq %d, %e : tensor<2x2x2xf64>
  %bf = stablehlo.convert %f : (tensor<2x3x2xf64>) -> tensor<2x3x2xbf16>
  %bg = stablehlo.convert %g : (tensor<2x2x3xf64>) -> tensor<2x2x3xbf16>
  %bd = stablehlo.dot_general %bf, %bg, batching_dims = [0] x [0], contracting_dims = [1] x [2] : (tensor<2x3x2xbf16>, tensor<2x2x3xbf16>) -> tensor<2x2x2xf32>
  %be = "stablehlo.einsum"(%bf, %bg) {einsum_config = "bki,bjk->bij"} : (tensor<2x3x2xbf16>, tensor<2x2x3xbf16>) -> tensor<2x2x2xf32>
  check.expect_eq %bd, %be : tensor<2x2x2xf32>
  %md = stablehlo.dot_general %bf, %g, batching_dims = [0] x [0], contracting_dims = [1, 2] x [2, 1] : (tensor<2x3x2xbf16>, tensor<2x2x3xf64>) -> tensor<2xf32>
  %me = "stablehlo.einsum"(%bf, %g) {einsum_config = "bki,bik->b"} : (tensor<2x3x2xbf16>, tensor<2x2x3xf64>) -> tensor<2xf32>
  check.expect_eq %md, %me : tensor<2xf32>
  return
}

// -----

// Left eigenvectors differ from right ones here: A^T u = conj(w) u. Complex matrices have functions of their own.
func.func @complex_forms() {
  %a = stablehlo.constant dense<[[1.0, -2.0], [8.0, 1.0]]> : tensor<2x2xf64>
  %w, %left, %right = stablehlo.custom_call @onpu.eig(%a) : (tensor<2x2xf64>) -> (tensor<2xcomplex<f64>>, tensor<2x2xcomplex<f64>>, tensor<2x2xcomplex<f64>>)
  check.expect_almost_eq_const %w, dense<[(1.0, 4.0), (1.0, -4.0)]> : tensor<2xcomplex<f64>>
  %l = stablehlo.abs %left : (tensor<2x2xcomplex<f64>>) -> tensor<2x2xf64>
  check.expect_almost_eq_const %l, dense<[[0.894427191, 0.894427191], [0.4472135955, 0.4472135955]]> : tensor<2x2xf64>
  %r = stablehlo.abs %right : (tensor<2x2xcomplex<f64>>) -> tensor<2x2xf64>
  check.expect_almost_eq_const %r, dense<[[0.4472135955, 0.4472135955], [0.894427191, 0.894427191]]> : tensor<2x2xf64>
  %turned = stablehlo.constant dense<[[(1.0, 0.0), (8.0, 0.0)], [(-2.0, 0.0), (1.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
  %times = stablehlo.dot %turned, %left : (tensor<2x2xcomplex<f64>>, tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>
  %conj = stablehlo.constant dense<[[(1.0, -4.0), (1.0, 4.0)], [(1.0, -4.0), (1.0, 4.0)]]> : tensor<2x2xcomplex<f64>>
  %scaled = stablehlo.multiply %left, %conj : tensor<2x2xcomplex<f64>>
  check.expect_almost_eq %times, %scaled : tensor<2x2xcomplex<f64>>
  %z = stablehlo.constant dense<[[(0.0, 0.0), (-1.0, 0.0)], [(1.0, 0.0), (0.0, 0.0)]]> : tensor<2x2xcomplex<f32>>
  %t, %q = stablehlo.custom_call @onpu.schur(%z) : (tensor<2x2xcomplex<f32>>) -> (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>)
  %ta = stablehlo.abs %t : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %ta, dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %qa = stablehlo.abs %q : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %qa, dense<0.70710678> : tensor<2x2xf32>
  %zq = stablehlo.dot %z, %q : (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %qt = stablehlo.dot %q, %t : (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  check.expect_almost_eq %zq, %qt : tensor<2x2xcomplex<f32>>
  %v, %vl, %vr = stablehlo.custom_call @onpu.eig(%z) : (tensor<2x2xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>)
  %vla = stablehlo.abs %vl : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %vla, dense<0.70710678> : tensor<2x2xf32>
  %vra = stablehlo.abs %vr : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %vra, dense<0.70710678> : tensor<2x2xf32>
  %zv = stablehlo.dot %z, %vr : (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %vs = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %vrs = stablehlo.multiply %vr, %vs : tensor<2x2xcomplex<f32>>
  check.expect_almost_eq %zv, %vrs : tensor<2x2xcomplex<f32>>
  return
}

// -----

// A sum without terms is 0, whatever the other dimensions are.
func.func @sums_of_nothing() {
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %y = stablehlo.constant dense<> : tensor<0x3xf32>
  %e = "stablehlo.einsum"(%x, %y) {einsum_config = "ab,bc->ac"} : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %e, dense<0.0> : tensor<2x3xf32>
  %u = "stablehlo.unary_einsum"(%x) {einsum_config = "ab->a"} : (tensor<2x0xf32>) -> tensor<2xf32>
  check.expect_eq_const %u, dense<0.0> : tensor<2xf32>
  %m = stablehlo.constant dense<> : tensor<5x0x3xf32>
  %g = stablehlo.constant dense<[1, 0, 0, 1, 0]> : tensor<5xi64>
  %r = "chlo.ragged_dot"(%x, %m, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<2x0xf32>, tensor<5x0x3xf32>, tensor<5xi64>) -> tensor<2x3xf32>
  check.expect_eq_const %r, dense<0.0> : tensor<2x3xf32>
  %a = stablehlo.constant dense<> : tensor<0x4x2xf32>
  %b = stablehlo.constant dense<> : tensor<0x4x3xf32>
  %s = stablehlo.constant dense<> : tensor<0x100xi64>
  %c = "chlo.ragged_dot"(%a, %b, %s) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 1], lhs_ragged_dimensions = [1], rhs_group_dimensions = []>} : (tensor<0x4x2xf32>, tensor<0x4x3xf32>, tensor<0x100xi64>) -> tensor<100x2x3xf32>
  check.expect_eq_const %c, dense<0.0> : tensor<100x2x3xf32>
  return
}
