// SPDX-License-Identifier: MIT
// Several processes, in cases that StableHLO's own programs lack.

module {
  func.func private @one(%x: tensor<2xi64>) -> tensor<2xi64> {
    %t = stablehlo.create_token : !stablehlo.token
    %s = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
    return %x : tensor<2xi64>
  }
  func.func private @other(%x: tensor<2xi64>) -> tensor<2xi64> {
    %t = stablehlo.create_token : !stablehlo.token
    %r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    %y = stablehlo.add %r#0, %x : tensor<2xi64>
    return %y : tensor<2xi64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %b = stablehlo.constant dense<[10, 20]> : tensor<2xi64>
    %r:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@one, @other]]} : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %r#1, dense<[11, 22]> : tensor<2xi64>
    return
  }
}

// -----

module {
  func.func private @shift(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<2xi32>
    %b = stablehlo.constant dense<2> : tensor<2xi32>
    %c = stablehlo.constant dense<3> : tensor<2xi32>
    %r:3 = "interpreter.run_parallel"(%a, %b, %c) {programs = [[@shift], [@shift], [@shift]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<0> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<1> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<2> : tensor<2xi32>
    return
  }
}

// -----

module {
  func.func private @gather(%x: tensor<1x2xi32>) -> tensor<2x2xi32> {
    %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<1x2xi32>) -> tensor<2x2xi32>
    return %y : tensor<2x2xi32>
  }
  func.func private @scatter(%x: tensor<4xi32>) -> tensor<2xi32> {
    %y = "stablehlo.reduce_scatter"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %c = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %c : tensor<i32>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func private @spread(%x: tensor<1xi32>) -> tensor<1xi32> {
    %y = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<1xi32>) -> tensor<1xi32>
    return %y : tensor<1xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi32>
    %b = stablehlo.constant dense<[[3, 4]]> : tensor<1x2xi32>
    %r:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@gather], [@gather]]} : (tensor<1x2xi32>, tensor<1x2xi32>) -> (tensor<2x2xi32>, tensor<2x2xi32>)
    check.expect_eq_const %r#0, dense<[[3, 4], [1, 2]]> : tensor<2x2xi32>
    %c = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %s:2 = "interpreter.run_parallel"(%c, %c) {programs = [[@scatter], [@scatter]]} : (tensor<4xi32>, tensor<4xi32>) -> (tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %s#0, dense<[2, 4]> : tensor<2xi32>
    check.expect_eq_const %s#1, dense<[6, 8]> : tensor<2xi32>
    %d = stablehlo.constant dense<7> : tensor<1xi32>
    %e = stablehlo.constant dense<8> : tensor<1xi32>
    %t:2 = "interpreter.run_parallel"(%d, %e) {programs = [[@spread], [@spread]]} : (tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>)
    check.expect_eq_const %t#0, dense<8> : tensor<1xi32>
    return
  }
}
