// SPDX-License-Identifier: MIT
// Marks of shardings, as JAX writes them: on one device each gives the value that it takes.

#loc = loc(unknown)
module @jit_gspmd attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @compute(%arg0: tensor<4x2xf32> {mhlo.layout_mode = "default", mhlo.sharding = "{devices=[2,1]<=[2]}", tf.aliasing_output = 0 : i32} loc("x"), %arg1: tensor<4x2xf32> {jax.buffer_donor = true, mhlo.sharding = "{replicated}"}) -> (tensor<4x2xf32> {jax.result_info = "", mhlo.sharding = "{devices=[2,1]<=[2]}"}) {
    %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<4x2xf32>) -> tensor<4x2xf32> loc(#loc2)
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %2 = stablehlo.add %1, %arg1 {mhlo.sharding = "{devices=[1,1,2]<=[2] last_tile_dim_replicate}"} : tensor<4x2xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %4 : tensor<4x2xf32> loc(#loc)
  } loc(#loc)
  func.func @main() {
    %a = stablehlo.constant dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]> : tensor<4x2xf32>
    %b = stablehlo.constant dense<1.0> : tensor<4x2xf32>
    %r = call @compute(%a, %b) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    check.expect_eq_const %r, dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
    return
  }
} loc(#loc)
#loc1 = loc("a.py":3:0)
#loc2 = loc("jit(f)/jit(main)/sharding_constraint"(#loc1))

// -----

// Shardy's own operations, a region that computes with parts among them: a device has the only part
module @jit_shardy attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=1, "y"=1]>
  sdy.mesh @empty_mesh = <[]>
  sdy.mesh @one = <[], device_ids=[0]>
  "sdy.mesh"() <{mesh = #sdy.mesh<["z"=1]>, sym_name = "other"}> : () -> ()
  func.func public @compute(%arg0: tensor<2x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}, %arg1: tensor<2x3xi32>) -> (tensor<2x3xi32> {jax.result_info = "", sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {}p1], replicated={"y"}>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}]> : tensor<2x3xi32>
    %1 = stablehlo.add %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<2x3xi32>
    %2:2 = sdy.manual_computation(%1, %arg1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>] manual_axes={"x", "y"} (%arg2: tensor<2x3xi32>, %arg3: tensor<2x3xi32>) {
      %7 = stablehlo.multiply %arg2, %arg3 : tensor<2x3xi32>
      sdy.return %7, %arg2 : tensor<2x3xi32>, tensor<2x3xi32>
    } : (tensor<2x3xi32>, tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi32>)
    %3 = sdy.named_computation<"inner">(%2#0) in_shardings=[<@mesh, [{"x"}, {}]>] (%arg2: tensor<2x3xi32>) {
      %7 = "sdy.reshard"(%arg2) <{sharding = #sdy.sharding<@mesh, [{}, {}]>}> : (tensor<2x3xi32>) -> tensor<2x3xi32>
      sdy.return %7 : tensor<2x3xi32>
    } : (tensor<2x3xi32>) -> tensor<2x3xi32>
    sdy.sharding_group %3 group_id=0 : tensor<2x3xi32>
    %4 = sdy.propagation_barrier %3 allowed_direction=NONE : tensor<2x3xi32>
    %5 = sdy.constant dense<1> : tensor<2x3xi32>
    %6 = stablehlo.add %4, %2#1 : tensor<2x3xi32>
    %8 = sdy.reshard %6 <@mesh, [{"x"}, {}]> : tensor<2x3xi32>
    %9 = stablehlo.subtract %8, %5 : tensor<2x3xi32>
    return %9 : tensor<2x3xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %b = stablehlo.constant dense<[[1, 1, 1], [2, 2, 2]]> : tensor<2x3xi32>
    %r = call @compute(%a, %b) : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
    check.expect_eq_const %r, dense<[[3, 7, 11], [23, 29, 35]]> : tensor<2x3xi32>
    return
  }
}

// -----

// the same within StableHLO, as a portable artifact has it
module @jit_export attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22x\22=1]>}"}} {
  func.func public @compute(%arg0: tensor<3xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22x\22}]>"}}) -> tensor<3xf32> {
    %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>"}} : (tensor<3xf32>) -> tensor<3xf32>
    %1:2 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%0, %arg0) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
    %2 = stablehlo.add %1#0, %1#1 : tensor<3xf32>
    %3 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%2) : (tensor<3xf32>) -> tensor<3xf32>
    stablehlo.custom_call @xla.sdy.ShardingGroup(%3) {has_side_effect = true} : (tensor<3xf32>) -> ()
    %4 = stablehlo.custom_call @xla.sdy.PropagationBarrier(%3) : (tensor<3xf32>) -> tensor<3xf32>
    %5 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%4) {has_side_effect = true} : (tensor<3xf32>) -> tensor<3xf32>
    return %5 : tensor<3xf32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1.0, 2.0, -3.0]> : tensor<3xf32>
    %r = call @compute(%a) : (tensor<3xf32>) -> tensor<3xf32>
    check.expect_eq_const %r, dense<[2.0, 4.0, -6.0]> : tensor<3xf32>
    return
  }
}
