// SPDX-License-Identifier: MIT
// Groups of processes that are axes of a mesh. Each program has eight processes, which gather their numbers.

// The axes of a group count in their order, the last goes first: "z", then "x".
module @axes_in_order {
  sdy.mesh @m = <["x"=2, "y"=2, "z"=2]>
  func.func private @f() -> tensor<4xui32> {
    %r = stablehlo.replica_id : tensor<ui32>
    %x = stablehlo.reshape %r : (tensor<ui32>) -> tensor<1xui32>
    %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64,
      replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "z">, #stablehlo.axis_ref<name = "x">]>} : (tensor<1xui32>) -> tensor<4xui32>
    return %y : tensor<4xui32>
  }
  func.func @main() {
    %r:8 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f]]} : () -> (tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<4xui32>)
    check.expect_eq_const %r#0, dense<[0, 4, 1, 5]> : tensor<4xui32>
    check.expect_eq_const %r#5, dense<[0, 4, 1, 5]> : tensor<4xui32>
    check.expect_eq_const %r#2, dense<[2, 6, 3, 7]> : tensor<4xui32>
    check.expect_eq_const %r#7, dense<[2, 6, 3, 7]> : tensor<4xui32>
    return
  }
}

// -----

// The groups are along the middle part of an axis of 8: the parts before and behind it stay.
module @part_of_an_axis {
  func.func private @f() -> tensor<2xui32> {
    %r = stablehlo.replica_id : tensor<ui32>
    %x = stablehlo.reshape %r : (tensor<ui32>) -> tensor<1xui32>
    %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64,
      replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 8>]>, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (2)2>]>} : (tensor<1xui32>) -> tensor<2xui32>
    return %y : tensor<2xui32>
  }
  func.func @main() {
    %r:8 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f]]} : () -> (tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>)
    check.expect_eq_const %r#0, dense<[0, 2]> : tensor<2xui32>
    check.expect_eq_const %r#1, dense<[1, 3]> : tensor<2xui32>
    check.expect_eq_const %r#6, dense<[4, 6]> : tensor<2xui32>
    check.expect_eq_const %r#7, dense<[5, 7]> : tensor<2xui32>
    return
  }
}

// -----

// The ids of the devices differ from their places in the mesh.
module @numbered {
  sdy.mesh @m = <["x"=4, "y"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
  func.func private @f() -> tensor<2xui32> {
    %r = stablehlo.replica_id : tensor<ui32>
    %x = stablehlo.reshape %r : (tensor<ui32>) -> tensor<1xui32>
    %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64,
      replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "y">]>} : (tensor<1xui32>) -> tensor<2xui32>
    return %y : tensor<2xui32>
  }
  func.func @main() {
    %r:8 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f], [@f], [@f], [@f], [@f]]} : () -> (tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>)
    check.expect_eq_const %r#0, dense<[1, 0]> : tensor<2xui32>
    check.expect_eq_const %r#7, dense<[7, 6]> : tensor<2xui32>
    return
  }
}
