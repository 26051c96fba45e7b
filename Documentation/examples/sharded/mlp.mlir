// SPDX-License-Identifier: MIT
// An MLP: gelu(x w1 + b1) w2 + b2, on one device.
module @mlp {
  func.func @main(%x: tensor<8x64xf32>,
                  %w1: tensor<64x256xf32>,
                  %b1: tensor<256xf32>,
                  %w2: tensor<256x64xf32>,
                  %b2: tensor<64xf32>) -> tensor<8x64xf32> {
    // The first product: GELU works on each element alone.
    %v1 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x256xf32>) -> tensor<8x256xf32>
    %v2 = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<256xf32>) -> tensor<8x256xf32>
    %v3 = stablehlo.add %v1, %v2 : tensor<8x256xf32>
    %v4 = stablehlo.constant dense<0.5> : tensor<8x256xf32>
    %v5 = stablehlo.constant dense<1.0> : tensor<8x256xf32>
    %v6 = stablehlo.constant dense<0.044715> : tensor<8x256xf32>
    %v7 = stablehlo.constant dense<0.797884583> : tensor<8x256xf32>
    %v8 = stablehlo.multiply %v3, %v3 : tensor<8x256xf32>
    %v9 = stablehlo.multiply %v8, %v3 : tensor<8x256xf32>
    %v10 = stablehlo.multiply %v6, %v9 : tensor<8x256xf32>
    %v11 = stablehlo.add %v3, %v10 : tensor<8x256xf32>
    %v12 = stablehlo.multiply %v7, %v11 : tensor<8x256xf32>
    %v13 = stablehlo.tanh %v12 : tensor<8x256xf32>
    %v14 = stablehlo.add %v5, %v13 : tensor<8x256xf32>
    %v15 = stablehlo.multiply %v4, %v3 : tensor<8x256xf32>
    %v16 = stablehlo.multiply %v15, %v14 : tensor<8x256xf32>
    %v17 = stablehlo.dot_general %v16, %w2, contracting_dims = [1] x [0] : (tensor<8x256xf32>, tensor<256x64xf32>) -> tensor<8x64xf32>
    %v18 = stablehlo.broadcast_in_dim %b2, dims = [1] : (tensor<64xf32>) -> tensor<8x64xf32>
    %v19 = stablehlo.add %v17, %v18 : tensor<8x64xf32>
    return %v19 : tensor<8x64xf32>
  }
}
