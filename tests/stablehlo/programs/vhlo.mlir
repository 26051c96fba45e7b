// SPDX-License-Identifier: MIT
// Operations of VHLO as text, in old and new versions, in the form with functions printed and in the generic one.
vhlo.func_v1 @main() -> () {
  %0 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>>}> : () -> !vhlo.tensor_v1<2x2x!vhlo.f32_v1>
  %1 = "vhlo.transpose_v1"(%0) <{permutation = #vhlo.tensor_v1<dense<[1, 0]> : tensor<2xi64>>}> : (!vhlo.tensor_v1<2x2x!vhlo.f32_v1>) -> !vhlo.tensor_v1<2x2x!vhlo.f32_v1>
  %2 = "vhlo.dot_general_v2"(%0, %1) <{accumulation_type = #vhlo.type_v1<!vhlo.none_v1>, allow_imprecise_accumulation = #vhlo.type_v1<!vhlo.none_v1>, lhs_batching_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>, lhs_component_count = #vhlo.type_v1<!vhlo.none_v1>, lhs_contracting_dimensions = #vhlo.tensor_v1<dense<1> : tensor<1xi64>>, lhs_precision_type = #vhlo.type_v1<!vhlo.none_v1>, num_primitive_operations = #vhlo.type_v1<!vhlo.none_v1>, precision_config = #vhlo.array_v1<[#vhlo<precision_v1 DEFAULT>, #vhlo<precision_v1 DEFAULT>]>, rhs_batching_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>, rhs_component_count = #vhlo.type_v1<!vhlo.none_v1>, rhs_contracting_dimensions = #vhlo.tensor_v1<dense<0> : tensor<1xi64>>, rhs_precision_type = #vhlo.type_v1<!vhlo.none_v1>}> : (!vhlo.tensor_v1<2x2x!vhlo.f32_v1>, !vhlo.tensor_v1<2x2x!vhlo.f32_v1>) -> !vhlo.tensor_v1<2x2x!vhlo.f32_v1>
  %3 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<[[5.0, 11.0], [11.0, 25.0]]> : tensor<2x2xf32>>}> : () -> !vhlo.tensor_v1<2x2x!vhlo.f32_v1>
  "vhlo.custom_call_v1"(%2, %3) <{api_version = #vhlo<api_version_v1 API_VERSION_ORIGINAL>, backend_config = #vhlo.string_v1<"">, call_target_name = #vhlo.string_v1<"check.expect_eq">, called_computations = #vhlo.array_v1<[]>, has_side_effect = #vhlo.bool_v1<true>, operand_layouts = #vhlo.array_v1<[]>, output_operand_aliases = #vhlo.array_v1<[]>, result_layouts = #vhlo.array_v1<[]>}> : (!vhlo.tensor_v1<2x2x!vhlo.f32_v1>, !vhlo.tensor_v1<2x2x!vhlo.f32_v1>) -> ()
  "vhlo.return_v1"() : () -> ()
} {arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>, sym_visibility = #vhlo.string_v1<"">}

// -----
// The generic form; a reduction whose function has arguments of its own, and one that is called.
"builtin.module"() <{sym_name = "generic"}> ({
  "vhlo.func_v1"() <{arg_attrs = #vhlo.array_v1<[]>, function_type = #vhlo.type_v1<!vhlo.func_v1<() -> ()>>, res_attrs = #vhlo.array_v1<[]>, sym_name = #vhlo.string_v1<"main">, sym_visibility = #vhlo.string_v1<"">}> ({
    %0 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<[1, 2, 3]> : tensor<3xi32>>}> : () -> !vhlo.tensor_v1<3x!vhlo.i32_v1>
    %1 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<10> : tensor<i32>>}> : () -> !vhlo.tensor_v1<!vhlo.i32_v1>
    %2 = "vhlo.reduce_v1"(%0, %1) <{dimensions = #vhlo.tensor_v1<dense<0> : tensor<1xi64>>}> ({
    ^bb0(%a: !vhlo.tensor_v1<!vhlo.i32_v1>, %b: !vhlo.tensor_v1<!vhlo.i32_v1>):
      %s = "vhlo.add_v1"(%a, %b) : (!vhlo.tensor_v1<!vhlo.i32_v1>, !vhlo.tensor_v1<!vhlo.i32_v1>) -> !vhlo.tensor_v1<!vhlo.i32_v1>
      "vhlo.return_v1"(%s) : (!vhlo.tensor_v1<!vhlo.i32_v1>) -> ()
    }) : (!vhlo.tensor_v1<3x!vhlo.i32_v1>, !vhlo.tensor_v1<!vhlo.i32_v1>) -> !vhlo.tensor_v1<!vhlo.i32_v1>
    %3 = "vhlo.call_v1"(%2) <{callee = #vhlo.string_v1<"twice">}> : (!vhlo.tensor_v1<!vhlo.i32_v1>) -> !vhlo.tensor_v1<!vhlo.i32_v1>
    "check.expect_eq_const"(%3) {value = dense<32> : tensor<i32>} : (tensor<i32>) -> ()
    "vhlo.return_v1"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>) -> tensor<i32>, sym_name = "twice", sym_visibility = "private"}> ({
  ^bb0(%x: tensor<i32>):
    %0 = "stablehlo.add"(%x, %x) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "func.return"(%0) : (tensor<i32>) -> ()
  }) : () -> ()
}) {some.attribute} : () -> ()

// -----
// Elements that are stored after the module.
func.func @main() {
  %0 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
  check.expect_eq_const %0, dense<[1.0, -2.0]> : tensor<2xf32>
  %1 = "stablehlo.constant"() {value = dense_resource<same> : tensor<2x2xi16>} : () -> tensor<2x2xi16>
  check.expect_eq_const %1, dense<7> : tensor<2x2xi16>
  func.return
}
{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F000000C0",
      same: "0x020000000700"
    }
  },
  external_resources: {
    tool: {
      count: 5,
      name: "anything"
    }
  }
#-}
