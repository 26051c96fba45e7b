// SPDX-License-Identifier: MIT
// An MLP over four ranks: each has a quarter of w1's columns, of b1 and of w2's rows; sums go over all.
module @mlp_sharded attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 4 : i32} {
  func.func @main(%x: tensor<8x64xf32>,
                  %w1: tensor<64x64xf32>,
                  %b1: tensor<64xf32>,
                  %w2: tensor<64x64xf32>,
                  %b2: tensor<64xf32>) -> tensor<8x64xf32> {
    // The columns of w1 that this rank has: GELU works on each element alone.
    %v1 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %v2 = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<64xf32>) -> tensor<8x64xf32>
    %v3 = stablehlo.add %v1, %v2 : tensor<8x64xf32>
    %v4 = stablehlo.constant dense<0.5> : tensor<8x64xf32>
    %v5 = stablehlo.constant dense<1.0> : tensor<8x64xf32>
    %v6 = stablehlo.constant dense<0.044715> : tensor<8x64xf32>
    %v7 = stablehlo.constant dense<0.797884583> : tensor<8x64xf32>
    %v8 = stablehlo.multiply %v3, %v3 : tensor<8x64xf32>
    %v9 = stablehlo.multiply %v8, %v3 : tensor<8x64xf32>
    %v10 = stablehlo.multiply %v6, %v9 : tensor<8x64xf32>
    %v11 = stablehlo.add %v3, %v10 : tensor<8x64xf32>
    %v12 = stablehlo.multiply %v7, %v11 : tensor<8x64xf32>
    %v13 = stablehlo.tanh %v12 : tensor<8x64xf32>
    %v14 = stablehlo.add %v5, %v13 : tensor<8x64xf32>
    %v15 = stablehlo.multiply %v4, %v3 : tensor<8x64xf32>
    %v16 = stablehlo.multiply %v15, %v14 : tensor<8x64xf32>

    // The rows of w2 that belong to them give a part of each sum.
    %v17 = stablehlo.dot_general %v16, %w2, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %v18 = "stablehlo.all_reduce"(%v17) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %v19 = stablehlo.broadcast_in_dim %b2, dims = [1] : (tensor<64xf32>) -> tensor<8x64xf32>
    %v20 = stablehlo.add %v18, %v19 : tensor<8x64xf32>
    return %v20 : tensor<8x64xf32>
  }
}
