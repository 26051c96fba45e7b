// SPDX-License-Identifier: MIT
// Loops, as test_unroll.c runs them: its table says which of them must be unrolled.

// 0: a scan, as JAX writes it: the number of the iteration is the index of the row
func.func @main(%x: tensor<4x3xf32>, %w: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<4> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<4x3xf32>
  %r:4 = stablehlo.while(%i = %zero, %c = %w, %ys = %init, %xs = %x) : tensor<i32>, tensor<3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %neg = stablehlo.compare LT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %wrapped = stablehlo.add %i, %n : tensor<i32>
      %at = stablehlo.select %neg, %wrapped, %i : tensor<i1>, tensor<i32>
      %s = stablehlo.dynamic_slice %xs, %at, %z, sizes = [1, 3] : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
      %v = stablehlo.reshape %s : (tensor<1x3xf32>) -> tensor<3xf32>
      %t = stablehlo.multiply %v, %c : tensor<3xf32>
      %u = stablehlo.add %t, %v : tensor<3xf32>
      %b = stablehlo.reshape %u : (tensor<3xf32>) -> tensor<1x3xf32>
      %ys2 = stablehlo.dynamic_update_slice %ys, %b, %at, %z : (tensor<4x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %u, %ys2, %xs : tensor<i32>, tensor<3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
    }
  return %r#2, %r#1, %r#0 : tensor<4x3xf32>, tensor<3xf32>, tensor<i32>
}

// -----

// 1: counts down to a bound that the loop carries; two values swap in each iteration
func.func @main(%x: tensor<5xi32>, %y: tensor<5xi32>) -> (tensor<5xi32>, tensor<5xi32>, tensor<i64>) {
  %from = stablehlo.constant dense<9> : tensor<i64>
  %to = stablehlo.constant dense<-1> : tensor<i64>
  %r:4 = stablehlo.while(%i = %from, %end = %to, %a = %x, %b = %y) : tensor<i64>, tensor<i64>, tensor<5xi32>, tensor<5xi32>
    cond {
      %go = stablehlo.compare NE, %i, %end, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %step = stablehlo.constant dense<2> : tensor<i64>
      %next = stablehlo.subtract %i, %step : tensor<i64>
      %c = stablehlo.add %a, %b : tensor<5xi32>
      stablehlo.return %next, %end, %b, %c : tensor<i64>, tensor<i64>, tensor<5xi32>, tensor<5xi32>
    }
  return %r#2, %r#3, %r#0 : tensor<5xi32>, tensor<5xi32>, tensor<i64>
}

// -----

// 2: an inner loop that depends on the outer iteration, and a function with a constant
module {
  func.func private @step(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %k = stablehlo.constant dense<[[0.5, 0.25], [0.125, -0.5]]> : tensor<2x2xf32>
    %y = stablehlo.multiply %x, %k : tensor<2x2xf32>
    %z = stablehlo.add %y, %k : tensor<2x2xf32>
    return %z : tensor<2x2xf32>
  }
  func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %zero = stablehlo.constant dense<0> : tensor<ui8>
    %one = stablehlo.constant dense<1> : tensor<ui8>
    %n = stablehlo.constant dense<3> : tensor<ui8>
    %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<ui8>, tensor<2x2xf32>
      cond {
        %go = stablehlo.compare LE, %i, %n : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
        stablehlo.return %go : tensor<i1>
      } do {
        %s:2 = stablehlo.while(%j = %zero, %b = %a) : tensor<ui8>, tensor<2x2xf32>
          cond {
            %go = stablehlo.compare GT, %i, %j : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
            stablehlo.return %go : tensor<i1>
          } do {
            %c = func.call @step(%b) : (tensor<2x2xf32>) -> tensor<2x2xf32>
            %next = stablehlo.add %j, %one : tensor<ui8>
            stablehlo.return %next, %c : tensor<ui8>, tensor<2x2xf32>
          }
        %d = stablehlo.composite "own.step" %s#1 { decomposition = @step, version = 1 : i32 } : (tensor<2x2xf32>) -> tensor<2x2xf32>
        %next = stablehlo.add %i, %one : tensor<ui8>
        stablehlo.return %next, %d : tensor<ui8>, tensor<2x2xf32>
      }
    return %r#1 : tensor<2x2xf32>
  }
}

// -----

// 3: a region in the body, and the number of the iteration as a value
func.func @main(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %least = stablehlo.constant dense<-8.0> : tensor<f32>
  %first = stablehlo.constant dense<0.0> : tensor<3xf32>
  %r:2 = stablehlo.while(%i = %zero, %a = %first) : tensor<i32>, tensor<3xf32>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %b = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<3xf32>) -> tensor<3x4xf32>
      %c = stablehlo.add %b, %x : tensor<3x4xf32>
      %m = stablehlo.reduce(%c init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
      %k = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
      %ks = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<f32>) -> tensor<3xf32>
      %d = stablehlo.subtract %m, %ks : tensor<3xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %d : tensor<i32>, tensor<3xf32>
    }
  return %r#1 : tensor<3xf32>
}

// -----

// 4: a loop without an iteration, and one of constants alone
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %zero = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %d = stablehlo.add %a, %c : tensor<2xf32>
      stablehlo.return %i, %d : tensor<i32>, tensor<2xf32>
    }
  %s:2 = stablehlo.while(%i = %one, %a = %c) : tensor<i32>, tensor<2xf32>
    cond {
      %go = stablehlo.compare LE, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %d = stablehlo.add %a, %a : tensor<2xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %d : tensor<i32>, tensor<2xf32>
    }
  return %r#1, %s#1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// 5: values so large that the device computes them in a loop that is not unrolled
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>) -> tensor<32x64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<6> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<32x64xf32>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
      %c = stablehlo.tanh %b : tensor<32x64xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %c : tensor<i32>, tensor<32x64xf32>
    }
  return %r#1 : tensor<32x64xf32>
}

// -----

// 6: the number of iterations is an argument, but that of the inner loop is not
func.func @main(%x: tensor<2xf32>, %n: tensor<i32>) -> (tensor<2xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %s:2 = stablehlo.while(%j = %zero, %b = %a) : tensor<i32>, tensor<2xf32>
        cond {
          %go = stablehlo.compare LT, %j, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %go : tensor<i1>
        } do {
          %c = stablehlo.add %b, %x : tensor<2xf32>
          %next = stablehlo.add %j, %one : tensor<i32>
          stablehlo.return %next, %c : tensor<i32>, tensor<2xf32>
        }
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %s#1 : tensor<i32>, tensor<2xf32>
    }
  return %r#1, %r#0 : tensor<2xf32>, tensor<i32>
}

// -----

// 7: an operation that the device lacks
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %b = stablehlo.add %a, %x : tensor<2xf32>
      %c = stablehlo.cbrt %b : tensor<2xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %c : tensor<i32>, tensor<2xf32>
    }
  return %r#1 : tensor<2xf32>
}

// -----

// 8: too many iterations
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5000> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %b = stablehlo.add %a, %x : tensor<2xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %b : tensor<i32>, tensor<2xf32>
    }
  return %r#1 : tensor<2xf32>
}

// -----

// 9: the number of iterations is counted in floats
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %n = stablehlo.constant dense<4.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<f32>, tensor<f32>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %b = stablehlo.add %a, %x : tensor<f32>
      %next = stablehlo.add %i, %one : tensor<f32>
      stablehlo.return %next, %b : tensor<f32>, tensor<f32>
    }
  return %r#1 : tensor<f32>
}

// -----

// 10: values of several kinds, as JAX carries them: a table of f64, rows that are taken and put, a key, a mask, a sorted row
func.func @main(%x: tensor<4xf32>, %m: tensor<3xi32>, %key: tensor<2xui32>, %table: tensor<5x2xf32>)
    -> (tensor<4xf32>, tensor<3xi32>, tensor<2xui32>, tensor<4xi1>, tensor<3x4xf32>, tensor<3x2xf64>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %wide = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf64>
  %doubles = stablehlo.constant dense<0.0> : tensor<3x2xf64>
  %rows = stablehlo.constant dense<0.0> : tensor<3x4xf32>
  %mask = stablehlo.constant dense<false> : tensor<4xi1>
  %r:9 = stablehlo.while(%i = %zero, %c = %x, %a = %m, %k = %key, %p = %mask, %ys = %rows, %ds = %doubles, %w = %wide, %t = %table)
    : tensor<i32>, tensor<4xf32>, tensor<3xi32>, tensor<2xui32>, tensor<4xi1>, tensor<3x4xf32>, tensor<3x2xf64>, tensor<4x2xf64>,
      tensor<5x2xf32>
    cond {
      %go = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %d = stablehlo.dynamic_slice %w, %i, %zero, sizes = [1, 2] : (tensor<4x2xf64>, tensor<i32>, tensor<i32>) -> tensor<1x2xf64>
      %ds2 = stablehlo.dynamic_update_slice %ds, %d, %i, %zero : (tensor<3x2xf64>, tensor<1x2xf64>, tensor<i32>, tensor<i32>) -> tensor<3x2xf64>
      // The index depends on values, not on the iteration.
      %first = stablehlo.slice %a [0:1] : (tensor<3xi32>) -> tensor<1xi32>
      %at = stablehlo.reshape %first : (tensor<1xi32>) -> tensor<i32>
      %row = stablehlo.dynamic_slice %t, %at, %zero, sizes = [1, 2] : (tensor<5x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
      %sum = stablehlo.reshape %row : (tensor<1x2xf32>) -> tensor<2xf32>
      %both = stablehlo.concatenate %sum, %sum, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
      %e = stablehlo.add %c, %both : tensor<4xf32>
      %q = stablehlo.compare GT, %e, %c, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
      %p2 = stablehlo.xor %p, %q : tensor<4xi1>
      %f = stablehlo.select %p2, %e, %c : tensor<4xi1>, tensor<4xf32>
      %g = "stablehlo.sort"(%f) ({
        ^bb0(%l: tensor<f32>, %h: tensor<f32>):
          %less = stablehlo.compare LT, %l, %h, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %less : tensor<i1>
      }) {dimension = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
      %line = stablehlo.reshape %g : (tensor<4xf32>) -> tensor<1x4xf32>
      %ys2 = stablehlo.dynamic_update_slice %ys, %line, %i, %zero : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
      %b = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<3xi32>
      %o = stablehlo.add %a, %b : tensor<3xi32>
      %by = stablehlo.constant dense<[13, 7]> : tensor<2xui32>
      %left = stablehlo.shift_left %k, %by : tensor<2xui32>
      %right = stablehlo.shift_right_logical %k, %by : tensor<2xui32>
      %turned = stablehlo.or %left, %right : tensor<2xui32>
      %k2 = stablehlo.xor %turned, %k : tensor<2xui32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %g, %o, %k2, %p2, %ys2, %ds2, %w, %t : tensor<i32>, tensor<4xf32>, tensor<3xi32>, tensor<2xui32>,
        tensor<4xi1>, tensor<3x4xf32>, tensor<3x2xf64>, tensor<4x2xf64>, tensor<5x2xf32>
    }
  return %r#1, %r#2, %r#3, %r#4, %r#5, %r#6 : tensor<4xf32>, tensor<3xi32>, tensor<2xui32>, tensor<4xi1>, tensor<3x4xf32>, tensor<3x2xf64>
}
