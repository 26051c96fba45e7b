// SPDX-License-Identifier: MIT
// Control flow, calls, tuples, sizes that are known when a program runs.

func.func @sums() {
  %n = stablehlo.constant dense<5> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %i, %s = stablehlo.while(%k = %zero, %sum = %zero) : tensor<i32>, tensor<i32>
    cond {
      %go = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %k, %one : tensor<i32>
      %more = stablehlo.add %sum, %next : tensor<i32>
      stablehlo.return %next, %more : tensor<i32>, tensor<i32>
    }
  check.expect_eq_const %s, dense<15> : tensor<i32>
  return
}

// -----

// An index of no branch selects the last branch.
module {
  func.func private @pick(%which: tensor<i32>) -> tensor<i32> {
    %r = "stablehlo.case"(%which) ({
      %a = stablehlo.constant dense<10> : tensor<i32>
      stablehlo.return %a : tensor<i32>
    }, {
      %b = stablehlo.constant dense<20> : tensor<i32>
      stablehlo.return %b : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    return %r : tensor<i32>
  }
  func.func @main() {
    %m = stablehlo.constant dense<-1> : tensor<i32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %f = stablehlo.constant dense<9> : tensor<i32>
    %0 = call @pick(%m) : (tensor<i32>) -> tensor<i32>
    %1 = func.call @pick(%z) : (tensor<i32>) -> tensor<i32>
    %2 = call @pick(%f) : (tensor<i32>) -> tensor<i32>
    check.expect_eq_const %0, dense<20> : tensor<i32>
    check.expect_eq_const %1, dense<10> : tensor<i32>
    check.expect_eq_const %2, dense<20> : tensor<i32>
    return
  }
}

// -----

module {
  func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = stablehlo.add %x, %x : tensor<2xf32>
    return %y : tensor<2xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %y = stablehlo.composite "own.twice" %x { decomposition = @twice, version = 1 : i32 } : (tensor<2xf32>) -> tensor<2xf32>
    check.expect_eq_const %y, dense<[2.0, 4.0]> : tensor<2xf32>
    %b = stablehlo.optimization_barrier %y : tensor<2xf32>
    %t = stablehlo.tuple %b, %x : tuple<tensor<2xf32>, tensor<2xf32>>
    %e = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
    check.expect_eq_const %e, dense<[1.0, 2.0]> : tensor<2xf32>
    return
  }
}

// -----

// Elements beyond the size that was set take no part: 1 + 2 + 3.
func.func @bounded() {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<5xi32>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<5>>
  %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xi32, #stablehlo.bounds<5>>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %r, dense<6> : tensor<i32>
  %size = stablehlo.get_dimension_size %s, dim = 0 : (tensor<?xi32, #stablehlo.bounds<5>>) -> tensor<i32>
  check.expect_eq_const %size, dense<3> : tensor<i32>
  return
}

// -----

func.func @no_elements() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %zero = stablehlo.constant dense<7.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %r, dense<7.0> : tensor<3xf32>
  return
}

// -----

// A reducer that uses a value from outside, and one with operations on tensors.
func.func @reducers() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %bias = stablehlo.constant dense<100> : tensor<i32>
  %r = "stablehlo.reduce"(%x, %zero) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      %d = stablehlo.add %c, %bias : tensor<i32>
      stablehlo.return %d : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %r, dense<306> : tensor<i32>
  %s = "stablehlo.reduce"(%x, %zero) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.reshape %a : (tensor<i32>) -> tensor<1xi32>
      %d = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
      %e = stablehlo.concatenate %c, %d, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %f = stablehlo.reduce(%e init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
      stablehlo.return %f : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %s, dense<3> : tensor<i32>
  return
}

// -----

// A demand on an open size, as JAX writes it.
func.func private @sum(%x: tensor<?xf32>) -> tensor<f32> {
  %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %is = stablehlo.compare GE, %size, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%is, %size) {api_version = 2 : i32, error_message = "the size is {0}",
    has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %open = stablehlo.convert %x : (tensor<3xf32>) -> tensor<?xf32>
  %sum = call @sum(%open) : (tensor<?xf32>) -> tensor<f32>
  check.expect_eq_const %sum, dense<7.0> : tensor<f32>
  return
}
