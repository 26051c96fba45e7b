// SPDX-License-Identifier: MIT
// The sum of the numbers of all ranks.
module @ranks attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main() -> tensor<ui32> {
    %number = stablehlo.partition_id : tensor<ui32>
    %sum = "stablehlo.all_reduce"(%number) ({
      ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
        %c = stablehlo.add %a, %b : tensor<ui32>
        stablehlo.return %c : tensor<ui32>
    }) {
      replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      use_global_device_ids
    } : (tensor<ui32>) -> tensor<ui32>
    return %sum : tensor<ui32>
  }
}
