// SPDX-License-Identifier: MIT

// A group of 16 reduces by halves. Differences depend on the order of each pair, and only members of
// the first half have the lower number in all of theirs.
module @differences {
  func.func private @f() -> tensor<1500xi32> {
    %r = stablehlo.replica_id : tensor<ui32>
    %w = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %q = stablehlo.power %three, %w : tensor<i32>
    %x = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<i32>) -> tensor<1500xi32>
    %s = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %t = stablehlo.subtract %a, %b : tensor<i32>
        stablehlo.return %t : tensor<i32>
    }) {replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]]> : tensor<1x16xi64>} : (tensor<1500xi32>) -> tensor<1500xi32>
    return %s : tensor<1500xi32>
  }
  func.func @main() {
    %r:16 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f]]} : () -> (tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>)
    check.expect_eq_const %r#0, dense<8396800> : tensor<1500xi32>
    check.expect_eq_const %r#15, dense<8396800> : tensor<1500xi32>
    return
  }
}

// -----

// An addition without a region, in a type that has no vectorised loop.
module @sums_without_region {
  func.func private @f() -> tensor<1500xbf16> {
    %r = stablehlo.replica_id : tensor<ui32>
    %w = stablehlo.convert %r : (tensor<ui32>) -> tensor<bf16>
    %x = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<bf16>) -> tensor<1500xbf16>
    %s = "stablehlo.cross-replica-sum"(%x) {replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]]> : tensor<1x16xi64>} : (tensor<1500xbf16>) -> tensor<1500xbf16>
    return %s : tensor<1500xbf16>
  }
  func.func @main() {
    %r:16 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f]]} : () -> (tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>, tensor<1500xbf16>)
    check.expect_eq_const %r#0, dense<120.0> : tensor<1500xbf16>
    check.expect_eq_const %r#15, dense<120.0> : tensor<1500xbf16>
    return
  }
}
