// SPDX-License-Identifier: MIT
// Loops, as test_unroll.c runs them: its table says of each module whether it becomes operations in a row.

// 0: a scan, as JAX writes it: rows are taken and put at places that the turn says
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

// 1: down, to a bound that is carried along; two values change their places each turn
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

// 2: a loop in a loop, whose turns are those of the outer one, and a function that has a constant
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

// 3: a region in the body, and the number of the turn as a value
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

// 4: no turn, and constants alone
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

// 5: values that are large enough to be computed on the device in a loop that stays
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

// 6: how often it turns is an argument, and what is in it is not
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

// 7: an operation that the device has not
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

// 8: too many turns
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

// 9: the number of turns comes out of the body by floats
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
