// SPDX-License-Identifier: MIT
// An all_reduce of many processes, a power of two, works by halves, in the order of the group.

module @halves {
  func.func private @f() -> (tensor<1003xi64>, tensor<1003xf32>) {
    %r = stablehlo.replica_id : tensor<ui32>
    %w = stablehlo.convert %r : (tensor<ui32>) -> tensor<i64>
    %i = stablehlo.iota dim = 0 : tensor<1003xi64>
    %b = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<i64>) -> tensor<1003xi64>
    %x = stablehlo.multiply %i, %b : tensor<1003xi64>
    // The reducer returns its first operand: all get the value of the first of the group.
    %s = "stablehlo.all_reduce"(%x) ({
      ^bb0(%p: tensor<i64>, %q: tensor<i64>):
        %zero = stablehlo.constant dense<0> : tensor<i64>
        %none = stablehlo.multiply %q, %zero : tensor<i64>
        %t = stablehlo.add %p, %none : tensor<i64>
        stablehlo.return %t : tensor<i64>
    }) {replica_groups = dense<[[15, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0]]> : tensor<1x16xi64>} : (tensor<1003xi64>) -> tensor<1003xi64>
    %f = stablehlo.convert %x : (tensor<1003xi64>) -> tensor<1003xf32>
    %u = "stablehlo.all_reduce"(%f) ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %t = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %t : tensor<f32>
    }) {replica_groups = dense<> : tensor<0x0xi64>} : (tensor<1003xf32>) -> tensor<1003xf32>
    return %s, %u : tensor<1003xi64>, tensor<1003xf32>
  }
  func.func @main() {
    %r:32 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f]]} : () -> (tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>, tensor<1003xi64>, tensor<1003xf32>)
    %i = stablehlo.iota dim = 0 : tensor<1003xi64>
    %last = stablehlo.constant dense<15> : tensor<1003xi64>
    %e = stablehlo.multiply %i, %last : tensor<1003xi64>
    check.expect_eq %r#0, %e : tensor<1003xi64>
    check.expect_eq %r#20, %e : tensor<1003xi64>
    check.expect_eq %r#30, %e : tensor<1003xi64>
    %all = stablehlo.constant dense<120> : tensor<1003xi64>
    %m = stablehlo.multiply %i, %all : tensor<1003xi64>
    %s = stablehlo.convert %m : (tensor<1003xi64>) -> tensor<1003xf32>
    check.expect_eq %r#1, %s : tensor<1003xf32>
    check.expect_eq %r#13, %s : tensor<1003xf32>
    check.expect_eq %r#31, %s : tensor<1003xf32>
    return
  }
}
