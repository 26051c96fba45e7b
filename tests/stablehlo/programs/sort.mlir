// SPDX-License-Identifier: MIT
// Sorts whose regions compare keys, beside sorts whose regions say the same in another form, which are called for each comparison.

// Many equal keys, both zeros and NaN of both signs: the order of equal keys stays, also when it falls.
func.func @one_key() {
  %i = stablehlo.iota dim = 0 : tensor<600xi32>
  %p = stablehlo.constant dense<7919> : tensor<600xi32>
  %m = stablehlo.constant dense<37> : tensor<600xi32>
  %a = stablehlo.multiply %i, %p : tensor<600xi32>
  %b = stablehlo.remainder %a, %m : tensor<600xi32>
  %c = stablehlo.convert %b : (tensor<600xi32>) -> tensor<600xf32>
  %s = stablehlo.constant dense<16.0> : tensor<600xf32>
  %d = stablehlo.subtract %c, %s : tensor<600xf32>
  %n = stablehlo.negate %d : tensor<600xf32>
  %root = stablehlo.sqrt %d : tensor<600xf32>
  %odd = stablehlo.convert %i : (tensor<600xi32>) -> tensor<600xi1>
  %x = stablehlo.select %odd, %n, %root : tensor<600xi1>, tensor<600xf32>
  %y = "stablehlo.tanh"(%x) : (tensor<600xf32>) -> tensor<600xf32>
  %r:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %i0: tensor<i32>, %i1: tensor<i32>):
    %lt = stablehlo.compare LT, %x0, %x1, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<600xf32>, tensor<600xi32>) -> (tensor<600xf32>, tensor<600xi32>)
  %e:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %i0: tensor<i32>, %i1: tensor<i32>):
    %lt = stablehlo.compare LT, %x0, %x1, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %same = stablehlo.and %lt, %lt : tensor<i1>
    stablehlo.return %same : tensor<i1>
  }) : (tensor<600xf32>, tensor<600xi32>) -> (tensor<600xf32>, tensor<600xi32>)
  check.expect_eq %r#1, %e#1 : tensor<600xi32>
  %f:2 = "stablehlo.sort"(%y, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %i0: tensor<i32>, %i1: tensor<i32>):
    %gt = stablehlo.compare GT, %x0, %x1, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %gt : tensor<i1>
  }) : (tensor<600xf32>, tensor<600xi32>) -> (tensor<600xf32>, tensor<600xi32>)
  %g:2 = "stablehlo.sort"(%y, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %i0: tensor<i32>, %i1: tensor<i32>):
    %gt = stablehlo.compare LT, %x1, %x0, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %gt : tensor<i1>
  }) : (tensor<600xf32>, tensor<600xi32>) -> (tensor<600xf32>, tensor<600xi32>)
  check.expect_eq %f#1, %g#1 : tensor<600xi32>
  return
}

// -----

// Without the total order, both zeros are equal; NaN, for which the region is always false, is left to the region.
func.func @partial_order() {
  %x = stablehlo.constant dense<[0.0, 2.0, -0.0, -1.0, 0.0, -0.0]> : tensor<6xf32>
  %i = stablehlo.iota dim = 0 : tensor<6xi32>
  %r:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %i0: tensor<i32>, %i1: tensor<i32>):
    %lt = stablehlo.compare LT, %x0, %x1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<6xf32>, tensor<6xi32>) -> (tensor<6xf32>, tensor<6xi32>)
  check.expect_eq_const %r#1, dense<[3, 0, 2, 4, 5, 1]> : tensor<6xi32>
  %y = stablehlo.constant dense<[[3.0, 0x7FC00000, 1.0], [3.0, 2.0, 1.0]]> : tensor<2x3xf32>
  %s = "stablehlo.sort"(%y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %lt = stablehlo.compare LT, %x0, %x1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %t = "stablehlo.sort"(%y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %lt = stablehlo.compare LT, %x0, %x1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %same = stablehlo.or %lt, %lt : tensor<i1>
    stablehlo.return %same : tensor<i1>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2x3xf32>) -> tensor<2x3xi32>
  %wanted = stablehlo.bitcast_convert %t : (tensor<2x3xf32>) -> tensor<2x3xi32>
  check.expect_eq %bits, %wanted : tensor<2x3xi32>
  return
}

// -----

// Two keys of integers along a dimension that is not the last: the first rises, the second falls, a value from outside joins in.
func.func @two_keys() {
  %i = stablehlo.iota dim = 0 : tensor<200x3xi64>
  %j = stablehlo.iota dim = 1 : tensor<200x3xi64>
  %five = stablehlo.constant dense<5> : tensor<200x3xi64>
  %some = stablehlo.constant dense<31> : tensor<200x3xi64>
  %ij = stablehlo.multiply %i, %some : tensor<200x3xi64>
  %k = stablehlo.add %ij, %j : tensor<200x3xi64>
  %a = stablehlo.remainder %k, %five : tensor<200x3xi64>
  %seven = stablehlo.constant dense<7> : tensor<200x3xi64>
  %b = stablehlo.remainder %k, %seven : tensor<200x3xi64>
  %u = stablehlo.convert %b : (tensor<200x3xi64>) -> tensor<200x3xui8>
  %out = stablehlo.constant dense<2> : tensor<i64>
  %r:3 = "stablehlo.sort"(%a, %u, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a0: tensor<i64>, %a1: tensor<i64>, %u0: tensor<ui8>, %u1: tensor<ui8>, %i0: tensor<i64>, %i1: tensor<i64>):
    %c0 = stablehlo.subtract %a0, %out : tensor<i64>
    %c1 = stablehlo.subtract %a1, %out : tensor<i64>
    %lt = stablehlo.compare LT, %c0, %c1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %eq = stablehlo.compare EQ, %c0, %c1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %gt = stablehlo.compare GT, %u0, %u1, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    %and = stablehlo.and %gt, %eq : tensor<i1>
    %or = stablehlo.or %and, %lt : tensor<i1>
    stablehlo.return %or : tensor<i1>
  }) : (tensor<200x3xi64>, tensor<200x3xui8>, tensor<200x3xi64>) -> (tensor<200x3xi64>, tensor<200x3xui8>, tensor<200x3xi64>)
  %e:3 = "stablehlo.sort"(%a, %u, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a0: tensor<i64>, %a1: tensor<i64>, %u0: tensor<ui8>, %u1: tensor<ui8>, %i0: tensor<i64>, %i1: tensor<i64>):
    %eq = stablehlo.compare EQ, %a0, %a1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %lt = stablehlo.compare LT, %a0, %a1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %gt = stablehlo.compare GT, %u0, %u1, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    %which = stablehlo.select %eq, %gt, %lt : tensor<i1>, tensor<i1>
    stablehlo.return %which : tensor<i1>
  }) : (tensor<200x3xi64>, tensor<200x3xui8>, tensor<200x3xi64>) -> (tensor<200x3xi64>, tensor<200x3xui8>, tensor<200x3xi64>)
  check.expect_eq %r#0, %e#0 : tensor<200x3xi64>
  check.expect_eq %r#1, %e#1 : tensor<200x3xui8>
  check.expect_eq %r#2, %e#2 : tensor<200x3xi64>
  return
}

// -----

// More elements than top_k keeps at once; among equal ones the first counts, and NaN is the largest.
func.func @largest() {
  %i = stablehlo.iota dim = 0 : tensor<500xi32>
  %p = stablehlo.constant dense<7919> : tensor<500xi32>
  %m = stablehlo.constant dense<101> : tensor<500xi32>
  %a = stablehlo.multiply %i, %p : tensor<500xi32>
  %b = stablehlo.remainder %a, %m : tensor<500xi32>
  %x = stablehlo.convert %b : (tensor<500xi32>) -> tensor<500xf32>
  %values, %at = chlo.top_k %x, k = 7 : tensor<500xf32> -> (tensor<7xf32>, tensor<7xi32>)
  %s:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %i0: tensor<i32>, %i1: tensor<i32>):
    %gt = stablehlo.compare GT, %x0, %x1, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %same = stablehlo.and %gt, %gt : tensor<i1>
    stablehlo.return %same : tensor<i1>
  }) : (tensor<500xf32>, tensor<500xi32>) -> (tensor<500xf32>, tensor<500xi32>)
  %first = stablehlo.slice %s#1 [0:7] : (tensor<500xi32>) -> tensor<7xi32>
  check.expect_eq %at, %first : tensor<7xi32>
  %c = stablehlo.constant dense<[0.0, 0x7FC00000, 3.0, -0.0, 3.0, 0xFFC00000]> : tensor<6xf32>
  %v, %w = chlo.top_k %c, k = 6 : tensor<6xf32> -> (tensor<6xf32>, tensor<6xi32>)
  check.expect_eq_const %w, dense<[1, 2, 4, 0, 3, 5]> : tensor<6xi32>
  return
}

// -----

// Two slices read the first elements of this sort, along a dimension that is not the last.
func.func @first_of_sorted() {
  %i = stablehlo.iota dim = 0 : tensor<300x2xi32>
  %j = stablehlo.iota dim = 1 : tensor<300x2xi32>
  %p = stablehlo.constant dense<7919> : tensor<300x2xi32>
  %m = stablehlo.constant dense<83> : tensor<300x2xi32>
  %a = stablehlo.multiply %i, %p : tensor<300x2xi32>
  %b = stablehlo.add %a, %j : tensor<300x2xi32>
  %x = stablehlo.remainder %b, %m : tensor<300x2xi32>
  %r:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<i32>, %x1: tensor<i32>, %i0: tensor<i32>, %i1: tensor<i32>):
    %gt = stablehlo.compare GT, %x0, %x1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %gt : tensor<i1>
  }) : (tensor<300x2xi32>, tensor<300x2xi32>) -> (tensor<300x2xi32>, tensor<300x2xi32>)
  %e:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<i32>, %x1: tensor<i32>, %i0: tensor<i32>, %i1: tensor<i32>):
    %gt = stablehlo.compare GT, %x0, %x1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %same = stablehlo.and %gt, %gt : tensor<i1>
    stablehlo.return %same : tensor<i1>
  }) : (tensor<300x2xi32>, tensor<300x2xi32>) -> (tensor<300x2xi32>, tensor<300x2xi32>)
  %whole = stablehlo.add %e#1, %e#1 : tensor<300x2xi32>
  %half = stablehlo.subtract %whole, %e#1 : tensor<300x2xi32>
  %few = stablehlo.slice %r#1 [1:4, 0:2] : (tensor<300x2xi32>) -> tensor<3x2xi32>
  %wanted = stablehlo.slice %half [1:4, 0:2] : (tensor<300x2xi32>) -> tensor<3x2xi32>
  check.expect_eq %few, %wanted : tensor<3x2xi32>
  %more = stablehlo.slice %r#0 [0:7:2, 0:1] : (tensor<300x2xi32>) -> tensor<4x1xi32>
  check.expect_eq_const %more, dense<[[82], [82], [81], [81]]> : tensor<4x1xi32>
  return
}
