// SPDX-License-Identifier: MIT
// A layer of a transformer over four ranks: each has one of the four heads, and a quarter of the MLP;
// what is added to x is the sum of what all ranks have.
module @transformer_sharded attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 4 : i32} {
  func.func @main(%x: tensor<16x64xf32>,
                  %s1: tensor<64xf32>,
                  %o1: tensor<64xf32>,
                  %wq: tensor<64x16xf32>,
                  %wk: tensor<64x16xf32>,
                  %wv: tensor<64x16xf32>,
                  %wo: tensor<16x64xf32>,
                  %s2: tensor<64xf32>,
                  %o2: tensor<64xf32>,
                  %w1: tensor<64x64xf32>,
                  %b1: tensor<64xf32>,
                  %w2: tensor<64x64xf32>,
                  %b2: tensor<64xf32>) -> tensor<16x64xf32> {
    // Attention, added to x.
    %v1 = stablehlo.constant dense<0.0> : tensor<f32>
    %v2 = stablehlo.constant dense<64.0> : tensor<16xf32>
    %v3 = stablehlo.constant dense<1.0e-05> : tensor<16xf32>
    %v4 = stablehlo.reduce(%x init: %v1) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %v5 = stablehlo.divide %v4, %v2 : tensor<16xf32>
    %v6 = stablehlo.broadcast_in_dim %v5, dims = [0] : (tensor<16xf32>) -> tensor<16x64xf32>
    %v7 = stablehlo.subtract %x, %v6 : tensor<16x64xf32>
    %v8 = stablehlo.multiply %v7, %v7 : tensor<16x64xf32>
    %v9 = stablehlo.reduce(%v8 init: %v1) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %v10 = stablehlo.divide %v9, %v2 : tensor<16xf32>
    %v11 = stablehlo.add %v10, %v3 : tensor<16xf32>
    %v12 = stablehlo.sqrt %v11 : tensor<16xf32>
    %v13 = stablehlo.broadcast_in_dim %v12, dims = [0] : (tensor<16xf32>) -> tensor<16x64xf32>
    %v14 = stablehlo.divide %v7, %v13 : tensor<16x64xf32>
    %v15 = stablehlo.broadcast_in_dim %s1, dims = [1] : (tensor<64xf32>) -> tensor<16x64xf32>
    %v16 = stablehlo.broadcast_in_dim %o1, dims = [1] : (tensor<64xf32>) -> tensor<16x64xf32>
    %v17 = stablehlo.multiply %v14, %v15 : tensor<16x64xf32>
    %v18 = stablehlo.add %v17, %v16 : tensor<16x64xf32>

    // The heads of this rank: queries, keys and values as [heads, positions, 16].
    %v19 = stablehlo.dot_general %v18, %wq, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
    %v20 = stablehlo.reshape %v19 : (tensor<16x16xf32>) -> tensor<16x1x16xf32>
    %v21 = stablehlo.transpose %v20, dims = [1, 0, 2] : (tensor<16x1x16xf32>) -> tensor<1x16x16xf32>
    %v22 = stablehlo.dot_general %v18, %wk, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
    %v23 = stablehlo.reshape %v22 : (tensor<16x16xf32>) -> tensor<16x1x16xf32>
    %v24 = stablehlo.transpose %v23, dims = [1, 0, 2] : (tensor<16x1x16xf32>) -> tensor<1x16x16xf32>
    %v25 = stablehlo.dot_general %v18, %wv, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
    %v26 = stablehlo.reshape %v25 : (tensor<16x16xf32>) -> tensor<16x1x16xf32>
    %v27 = stablehlo.transpose %v26, dims = [1, 0, 2] : (tensor<16x1x16xf32>) -> tensor<1x16x16xf32>
    %v28 = stablehlo.dot_general %v21, %v24, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<1x16x16xf32>, tensor<1x16x16xf32>) -> tensor<1x16x16xf32>
    %v29 = stablehlo.constant dense<0.25> : tensor<1x16x16xf32>
    %v30 = stablehlo.multiply %v28, %v29 : tensor<1x16x16xf32>
    %v31 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %v32 = stablehlo.reduce(%v30 init: %v31) applies stablehlo.maximum across dimensions = [2] : (tensor<1x16x16xf32>, tensor<f32>) -> tensor<1x16xf32>
    %v33 = stablehlo.broadcast_in_dim %v32, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<1x16x16xf32>
    %v34 = stablehlo.subtract %v30, %v33 : tensor<1x16x16xf32>
    %v35 = stablehlo.exponential %v34 : tensor<1x16x16xf32>
    %v36 = stablehlo.constant dense<0.0> : tensor<f32>
    %v37 = stablehlo.reduce(%v35 init: %v36) applies stablehlo.add across dimensions = [2] : (tensor<1x16x16xf32>, tensor<f32>) -> tensor<1x16xf32>
    %v38 = stablehlo.broadcast_in_dim %v37, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<1x16x16xf32>
    %v39 = stablehlo.divide %v35, %v38 : tensor<1x16x16xf32>
    %v40 = stablehlo.dot_general %v39, %v27, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1x16x16xf32>, tensor<1x16x16xf32>) -> tensor<1x16x16xf32>
    %v41 = stablehlo.transpose %v40, dims = [1, 0, 2] : (tensor<1x16x16xf32>) -> tensor<16x1x16xf32>
    %v42 = stablehlo.reshape %v41 : (tensor<16x1x16xf32>) -> tensor<16x16xf32>

    // The rows of wo that belong to them give a part of each sum.
    %v43 = stablehlo.dot_general %v42, %wo, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %v44 = "stablehlo.all_reduce"(%v43) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %v45 = stablehlo.add %x, %v44 : tensor<16x64xf32>

    // The MLP, added to that.
    %v46 = stablehlo.constant dense<0.0> : tensor<f32>
    %v47 = stablehlo.constant dense<64.0> : tensor<16xf32>
    %v48 = stablehlo.constant dense<1.0e-05> : tensor<16xf32>
    %v49 = stablehlo.reduce(%v45 init: %v46) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %v50 = stablehlo.divide %v49, %v47 : tensor<16xf32>
    %v51 = stablehlo.broadcast_in_dim %v50, dims = [0] : (tensor<16xf32>) -> tensor<16x64xf32>
    %v52 = stablehlo.subtract %v45, %v51 : tensor<16x64xf32>
    %v53 = stablehlo.multiply %v52, %v52 : tensor<16x64xf32>
    %v54 = stablehlo.reduce(%v53 init: %v46) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %v55 = stablehlo.divide %v54, %v47 : tensor<16xf32>
    %v56 = stablehlo.add %v55, %v48 : tensor<16xf32>
    %v57 = stablehlo.sqrt %v56 : tensor<16xf32>
    %v58 = stablehlo.broadcast_in_dim %v57, dims = [0] : (tensor<16xf32>) -> tensor<16x64xf32>
    %v59 = stablehlo.divide %v52, %v58 : tensor<16x64xf32>
    %v60 = stablehlo.broadcast_in_dim %s2, dims = [1] : (tensor<64xf32>) -> tensor<16x64xf32>
    %v61 = stablehlo.broadcast_in_dim %o2, dims = [1] : (tensor<64xf32>) -> tensor<16x64xf32>
    %v62 = stablehlo.multiply %v59, %v60 : tensor<16x64xf32>
    %v63 = stablehlo.add %v62, %v61 : tensor<16x64xf32>

    // The columns of w1 that this rank has: GELU works on each element alone.
    %v64 = stablehlo.dot_general %v63, %w1, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %v65 = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<64xf32>) -> tensor<16x64xf32>
    %v66 = stablehlo.add %v64, %v65 : tensor<16x64xf32>
    %v67 = stablehlo.constant dense<0.5> : tensor<16x64xf32>
    %v68 = stablehlo.constant dense<1.0> : tensor<16x64xf32>
    %v69 = stablehlo.constant dense<0.044715> : tensor<16x64xf32>
    %v70 = stablehlo.constant dense<0.797884583> : tensor<16x64xf32>
    %v71 = stablehlo.multiply %v66, %v66 : tensor<16x64xf32>
    %v72 = stablehlo.multiply %v71, %v66 : tensor<16x64xf32>
    %v73 = stablehlo.multiply %v69, %v72 : tensor<16x64xf32>
    %v74 = stablehlo.add %v66, %v73 : tensor<16x64xf32>
    %v75 = stablehlo.multiply %v70, %v74 : tensor<16x64xf32>
    %v76 = stablehlo.tanh %v75 : tensor<16x64xf32>
    %v77 = stablehlo.add %v68, %v76 : tensor<16x64xf32>
    %v78 = stablehlo.multiply %v67, %v66 : tensor<16x64xf32>
    %v79 = stablehlo.multiply %v78, %v77 : tensor<16x64xf32>

    // The rows of w2 that belong to them give a part of each sum.
    %v80 = stablehlo.dot_general %v79, %w2, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %v81 = "stablehlo.all_reduce"(%v80) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %v82 = stablehlo.broadcast_in_dim %b2, dims = [1] : (tensor<64xf32>) -> tensor<16x64xf32>
    %v83 = stablehlo.add %v81, %v82 : tensor<16x64xf32>
    %v84 = stablehlo.add %v45, %v83 : tensor<16x64xf32>
    return %v84 : tensor<16x64xf32>
  }
}
