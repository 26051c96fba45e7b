// SPDX-License-Identifier: MIT
// A training step of a network with three convolutions on 256 pictures, as JAX writes it: forward, backward and update.
module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=1]> {stablehlo.mesh = {axes = [{name = "data", size = 1 : i64}]}}
  func.func public @main(%arg0: tensor<64x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<3x3x1x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}, %arg2: tensor<3x3x32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}, %arg3: tensor<3x3x64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}, %arg4: tensor<256x28x28x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}, {}]>}, %arg5: tensor<256x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<64x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<3x3x1x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}, tensor<3x3x32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}, tensor<3x3x64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}, tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
    %0 = stablehlo.convolution(%arg4, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x28x28x1xf32>, tensor<3x3x1x32xf32>) -> tensor<256x14x14x32xf32>
    %1 = call @relu(%0) : (tensor<256x14x14x32xf32>) -> tensor<256x14x14x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x14x14x32xf32>
    %3 = stablehlo.compare GT, %0, %2, FLOAT : (tensor<256x14x14x32xf32>, tensor<256x14x14x32xf32>) -> tensor<256x14x14x32xi1>
    %4 = stablehlo.convolution(%1, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x14x14x32xf32>, tensor<3x3x32x64xf32>) -> tensor<256x7x7x64xf32>
    %5 = call @relu_0(%4) : (tensor<256x7x7x64xf32>) -> tensor<256x7x7x64xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256x7x7x64xf32>
    %7 = stablehlo.compare GT, %4, %6, FLOAT : (tensor<256x7x7x64xf32>, tensor<256x7x7x64xf32>) -> tensor<256x7x7x64xi1>
    %8 = stablehlo.convolution(%5, %arg3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x7x7x64xf32>, tensor<3x3x64x64xf32>) -> tensor<256x7x7x64xf32>
    %9 = call @relu_0(%8) : (tensor<256x7x7x64xf32>) -> tensor<256x7x7x64xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<256x7x7x64xf32>
    %11 = stablehlo.compare GT, %8, %10, FLOAT : (tensor<256x7x7x64xf32>, tensor<256x7x7x64xf32>) -> tensor<256x7x7x64xi1>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%9 init: %cst_2) applies stablehlo.add across dimensions = [1, 2] : (tensor<256x7x7x64xf32>, tensor<f32>) -> tensor<256x64xf32>
    %cst_3 = stablehlo.constant dense<4.900000e+01> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<256x64xf32>
    %14 = stablehlo.divide %12, %13 : tensor<256x64xf32>
    %15 = stablehlo.dot_general %14, %arg0, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x10xf32>) -> tensor<256x10xf32>
    %16:3 = call @log_softmax(%15) : (tensor<256x10xf32>) -> (tensor<256x10xf32>, tensor<256x10xf32>, tensor<256x1xf32>)
    %17 = stablehlo.multiply %16#0, %arg5 : tensor<256x10xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<256x10xf32>, tensor<f32>) -> tensor<256xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %19 = stablehlo.reduce(%18 init: %cst_5) applies stablehlo.add across dimensions = [0] : (tensor<256xf32>, tensor<f32>) -> tensor<f32>
    %cst_6 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %20 = stablehlo.divide %19, %cst_6 : tensor<f32>
    %21 = stablehlo.negate %20 : tensor<f32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %22 = stablehlo.negate %cst_7 : tensor<f32>
    %cst_8 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %23 = stablehlo.divide %22, %cst_8 : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0] : (tensor<256xf32>) -> tensor<256x10xf32>
    %26 = stablehlo.multiply %25, %arg5 : tensor<256x10xf32>
    %27 = call @log_softmax_1(%16#1, %16#2, %26) : (tensor<256x10xf32>, tensor<256x1xf32>, tensor<256x10xf32>) -> tensor<256x10xf32>
    %28 = stablehlo.dot_general %27, %14, contracting_dims = [0] x [0] : (tensor<256x10xf32>, tensor<256x64xf32>) -> tensor<10x64xf32>
    %29 = stablehlo.transpose %28, dims = [1, 0] : (tensor<10x64xf32>) -> tensor<64x10xf32>
    %30 = stablehlo.dot_general %27, %arg0, contracting_dims = [1] x [1] : (tensor<256x10xf32>, tensor<64x10xf32>) -> tensor<256x64xf32>
    %cst_9 = stablehlo.constant dense<4.900000e+01> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<256x64xf32>
    %32 = stablehlo.divide %30, %31 : tensor<256x64xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 3] : (tensor<256x64xf32>) -> tensor<256x7x7x64xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<256x7x7x64xf32>
    %35 = stablehlo.select %11, %33, %34 : tensor<256x7x7x64xi1>, tensor<256x7x7x64xf32>
    %36 = stablehlo.convolution(%5, %35) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x7x7x64xf32>, tensor<256x7x7x64xf32>) -> tensor<3x3x64x64xf32>
    %37 = stablehlo.reverse %arg3, dims = [0, 1] : tensor<3x3x64x64xf32>
    %38 = stablehlo.convolution(%35, %37) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x7x7x64xf32>, tensor<3x3x64x64xf32>) -> tensor<256x7x7x64xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<256x7x7x64xf32>
    %40 = stablehlo.select %7, %38, %39 : tensor<256x7x7x64xi1>, tensor<256x7x7x64xf32>
    %41 = stablehlo.convolution(%1, %40) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x14x14x32xf32>, tensor<256x7x7x64xf32>) -> tensor<3x3x32x64xf32>
    %42 = stablehlo.reverse %arg2, dims = [0, 1] : tensor<3x3x32x64xf32>
    %43 = stablehlo.convolution(%40, %42) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x7x7x64xf32>, tensor<3x3x32x64xf32>) -> tensor<256x14x14x32xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<256x14x14x32xf32>
    %45 = stablehlo.select %3, %43, %44 : tensor<256x14x14x32xi1>, tensor<256x14x14x32xf32>
    %46 = stablehlo.convolution(%arg4, %45) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x28x28x1xf32>, tensor<256x14x14x32xf32>) -> tensor<3x3x1x32xf32>
    %cst_13 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %48 = stablehlo.multiply %47, %29 : tensor<64x10xf32>
    %49 = stablehlo.subtract %arg0, %48 : tensor<64x10xf32>
    %cst_14 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<3x3x1x32xf32>
    %51 = stablehlo.multiply %50, %46 : tensor<3x3x1x32xf32>
    %52 = stablehlo.subtract %arg1, %51 : tensor<3x3x1x32xf32>
    %cst_15 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<3x3x32x64xf32>
    %54 = stablehlo.multiply %53, %41 : tensor<3x3x32x64xf32>
    %55 = stablehlo.subtract %arg2, %54 : tensor<3x3x32x64xf32>
    %cst_16 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %56 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<3x3x64x64xf32>
    %57 = stablehlo.multiply %56, %36 : tensor<3x3x64x64xf32>
    %58 = stablehlo.subtract %arg3, %57 : tensor<3x3x64x64xf32>
    return %49, %52, %55, %58, %21 : tensor<64x10xf32>, tensor<3x3x1x32xf32>, tensor<3x3x32x64xf32>, tensor<3x3x64x64xf32>, tensor<f32>
  }
  func.func private @relu(%arg0: tensor<256x14x14x32xf32>) -> tensor<256x14x14x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x14x14x32xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<256x14x14x32xf32>
    return %1 : tensor<256x14x14x32xf32>
  }
  func.func private @relu_0(%arg0: tensor<256x7x7x64xf32>) -> tensor<256x7x7x64xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x7x7x64xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<256x7x7x64xf32>
    return %1 : tensor<256x7x7x64xf32>
  }
  func.func private @log_softmax(%arg0: tensor<256x10xf32>) -> (tensor<256x10xf32>, tensor<256x10xf32>, tensor<256x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<256x10xf32>, tensor<f32>) -> tensor<256xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<256xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<256xf32>) -> tensor<256x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x10xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<256x10xf32>
    %6 = stablehlo.exponential %5 : tensor<256x10xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<256x10xf32>, tensor<f32>) -> tensor<256xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<256xf32>) -> tensor<256x1xf32>
    %9 = stablehlo.log %8 : tensor<256x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x10xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<256x10xf32>
    return %11, %6, %8 : tensor<256x10xf32>, tensor<256x10xf32>, tensor<256x1xf32>
  }
  func.func private @log_softmax_1(%arg0: tensor<256x10xf32>, %arg1: tensor<256x1xf32>, %arg2: tensor<256x10xf32>) -> tensor<256x10xf32> {
    %0 = stablehlo.negate %arg2 : tensor<256x10xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<256x10xf32>, tensor<f32>) -> tensor<256xf32>
    %2 = stablehlo.reshape %1 : (tensor<256xf32>) -> tensor<256x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<256x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<256x1xf32>, tensor<f32>) -> tensor<256xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<256xf32>) -> tensor<256x10xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<256x10xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<256x10xf32>
    return %7 : tensor<256x10xf32>
  }
}
