// SPDX-License-Identifier: MIT
// Custom calls that exporters write for what StableHLO and CHLO have.

func.func @top_k() {
  %x = stablehlo.constant dense<[[3.0, 9.0, -1.0, 9.5], [1.0, 2.0, 4.0, 3.0]]> : tensor<2x4xf32>
  %v:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  check.expect_eq_const %v#0, dense<[[9.5, 9.0], [4.0, 3.0]]> : tensor<2x2xf32>
  check.expect_eq_const %v#1, dense<[[3, 1], [2, 3]]> : tensor<2x2xi32>
  func.return
}

// -----

func.func @smallest() {
  %x = stablehlo.constant dense<[5, 2, 8, 1, 9]> : tensor<5xi32>
  %v:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 3 : i64, largest = false}} : (tensor<5xi32>) -> (tensor<3xi32>, tensor<3xi32>)
  check.expect_eq_const %v#0, dense<[1, 2, 5]> : tensor<3xi32>
  check.expect_eq_const %v#1, dense<[3, 1, 0]> : tensor<3xi32>
  func.return
}

// -----

func.func @dynamic_top_k() {
  %x = stablehlo.constant dense<[5, 2, 8, 1, 9]> : tensor<5xi32>
  %k = stablehlo.constant dense<2> : tensor<ui64>
  %v:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k) : (tensor<5xi32>, tensor<ui64>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %v#0, dense<[9, 8]> : tensor<2xi32>
  check.expect_eq_const %v#1, dense<[4, 2]> : tensor<2xi32>
  func.return
}

// -----

module {
  func.func private @larger(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
    %c = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    func.return %c : tensor<i1>
  }
  func.func public @main() {
    %x = stablehlo.constant dense<[[3.0, 9.0, -1.0, 9.5], [1.0, 2.0, 4.0, 3.0]]> : tensor<2x4xf32>
    %i = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %none = stablehlo.constant dense<-1> : tensor<i32>
    %v:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %least, %none) {called_computations = [@larger], has_side_effect = false, mhlo.backend_config = {aggregate_to_topk = true, recall_target = 0.9 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 3 : i64}} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
    check.expect_eq_const %v#0, dense<[[9.5, 9.0, 3.0], [4.0, 3.0, 2.0]]> : tensor<2x3xf32>
    check.expect_eq_const %v#1, dense<[[3, 1, 0], [2, 3, 1]]> : tensor<2x3xi32>
    func.return
  }
}

// -----

module {
  func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
    %c = stablehlo.add %a, %b : tensor<f32>
    func.return %c : tensor<f32>
  }
  func.func public @main() {
    %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %size = stablehlo.constant dense<2> : tensor<1xi64>
    %one = stablehlo.constant dense<1> : tensor<1xi64>
    %stride = stablehlo.constant dense<2> : tensor<1xi64>
    %padding = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi64>
    %y = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %size, %stride, %one, %one, %padding) {called_computations = [@add]} : (tensor<5xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1x2xi64>) -> tensor<3xf32>
    check.expect_eq_const %y, dense<[1.0, 5.0, 9.0]> : tensor<3xf32>
    func.return
  }
}

// -----

func.func @functions() {
  %x = stablehlo.constant dense<[0.5, -0.25]> : tensor<2xf32>
  %one = stablehlo.constant dense<[1.5, 2.0]> : tensor<2xf32>
  %erf = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %erf, dense<[0.5204999, -0.2763264]> : tensor<2xf32>
  %tan = stablehlo.custom_call @mhlo.tan(%x) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %tan, dense<[0.5463025, -0.2553419]> : tensor<2xf32>
  %sinh = stablehlo.custom_call @mhlo.sinh(%x) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %sinh, dense<[0.5210953, -0.2526123]> : tensor<2xf32>
  %cosh = stablehlo.custom_call @mhlo.cosh(%x) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %cosh, dense<[1.1276260, 1.0314131]> : tensor<2xf32>
  %asin = stablehlo.custom_call @mhlo.asin(%x) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %asin, dense<[0.5235988, -0.2526803]> : tensor<2xf32>
  %acos = stablehlo.custom_call @mhlo.acos(%x) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %acos, dense<[1.0471976, 1.8234766]> : tensor<2xf32>
  %atan = stablehlo.custom_call @mhlo.atan(%x) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %atan, dense<[0.4636476, -0.2449787]> : tensor<2xf32>
  %asinh = stablehlo.custom_call @mhlo.asinh(%x) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %asinh, dense<[0.4812118, -0.2474664]> : tensor<2xf32>
  %acosh = stablehlo.custom_call @mhlo.acosh(%one) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %acosh, dense<[0.9624237, 1.3169579]> : tensor<2xf32>
  %atanh = stablehlo.custom_call @mhlo.atanh(%x) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %atanh, dense<[0.5493061, -0.2554128]> : tensor<2xf32>
  func.return
}

// -----

func.func @identities() {
  %x = stablehlo.constant dense<[0.5, -0.25]> : tensor<2xf32>
  %a = stablehlo.custom_call @annotate_device_placement(%x) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<2xf32>) -> tensor<2xf32>
  %b = stablehlo.custom_call @LayoutConstraint(%a) : (tensor<2xf32>) -> tensor<2xf32>
  stablehlo.custom_call @dce_sink(%b) {has_side_effect = true} : (tensor<2xf32>) -> ()
  check.expect_eq_const %b, dense<[0.5, -0.25]> : tensor<2xf32>
  func.return
}
