// SPDX-License-Identifier: MIT
// Collectives of four processes, with values that are sent in parts, and with all groupings.

module @sum_in_parts {
  func.func private @f() -> tensor<1001xf32> {
    %i = stablehlo.iota dim = 0 : tensor<1001xf32>
    %r = stablehlo.replica_id : tensor<ui32>
    %f = stablehlo.convert %r : (tensor<ui32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<1001xf32>
    %x = stablehlo.add %i, %b : tensor<1001xf32>
    %s = "stablehlo.all_reduce"(%x) ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %t = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %t : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<1001xf32>) -> tensor<1001xf32>
    return %s : tensor<1001xf32>
  }
  func.func @main() {
    %r:4 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f]]} : () -> (tensor<1001xf32>, tensor<1001xf32>, tensor<1001xf32>, tensor<1001xf32>)
    %i = stablehlo.iota dim = 0 : tensor<1001xf32>
    %four = stablehlo.constant dense<4.0> : tensor<1001xf32>
    %six = stablehlo.constant dense<6.0> : tensor<1001xf32>
    %m = stablehlo.multiply %i, %four : tensor<1001xf32>
    %e = stablehlo.add %m, %six : tensor<1001xf32>
    check.expect_eq %r#0, %e : tensor<1001xf32>
    check.expect_eq %r#3, %e : tensor<1001xf32>
    return
  }
}

// -----

// The region is no sum: its result shows that members are taken in the order of the group, 2, 0.
module @region_in_order {
  func.func private @f() -> tensor<700xi64> {
    %r = stablehlo.replica_id : tensor<ui32>
    %w = stablehlo.convert %r : (tensor<ui32>) -> tensor<i64>
    %x = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<i64>) -> tensor<700xi64>
    %s = "stablehlo.all_reduce"(%x) ({
      ^bb0(%p: tensor<i64>, %q: tensor<i64>):
        %ten = stablehlo.constant dense<10> : tensor<i64>
        %a = stablehlo.multiply %p, %ten : tensor<i64>
        %t = stablehlo.add %a, %q : tensor<i64>
        stablehlo.return %t : tensor<i64>
    }) {replica_groups = dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>} : (tensor<700xi64>) -> tensor<700xi64>
    return %s : tensor<700xi64>
  }
  func.func @main() {
    %r:4 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f]]} : () -> (tensor<700xi64>, tensor<700xi64>, tensor<700xi64>, tensor<700xi64>)
    check.expect_eq_const %r#0, dense<20> : tensor<700xi64>
    check.expect_eq_const %r#2, dense<20> : tensor<700xi64>
    check.expect_eq_const %r#1, dense<13> : tensor<700xi64>
    check.expect_eq_const %r#3, dense<13> : tensor<700xi64>
    return
  }
}

// -----

// NaN stays NaN, and -0 is less than 0; f16 has no loop of its own.
module @extremes {
  func.func private @f(%x: tensor<3xf32>, %y: tensor<2xf16>) -> (tensor<3xf32>, tensor<2xf16>) {
    %s = "stablehlo.all_reduce"(%x) ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %t = stablehlo.minimum %p, %q : tensor<f32>
        stablehlo.return %t : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<3xf32>) -> tensor<3xf32>
    %h = "stablehlo.all_reduce"(%y) ({
      ^bb0(%p: tensor<f16>, %q: tensor<f16>):
        %t = stablehlo.add %p, %q : tensor<f16>
        stablehlo.return %t : tensor<f16>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<2xf16>) -> tensor<2xf16>
    return %s, %h : tensor<3xf32>, tensor<2xf16>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1.0, 0.0, 5.0]> : tensor<3xf32>
    %b = stablehlo.constant dense<[2.0, -0.0, -7.0]> : tensor<3xf32>
    %c = stablehlo.constant dense<[0x7FC00000, 0.0, 0.5]> : tensor<3xf32>
    %h = stablehlo.constant dense<[1.0, 2048.0]> : tensor<2xf16>
    %one = stablehlo.constant dense<1.0> : tensor<2xf16>
    %r:8 = "interpreter.run_parallel"(%a, %h, %b, %one, %c, %one, %a, %one) {programs = [[@f], [@f], [@f], [@f]]} : (tensor<3xf32>, tensor<2xf16>, tensor<3xf32>, tensor<2xf16>, tensor<3xf32>, tensor<2xf16>, tensor<3xf32>, tensor<2xf16>) -> (tensor<3xf32>, tensor<2xf16>, tensor<3xf32>, tensor<2xf16>, tensor<3xf32>, tensor<2xf16>, tensor<3xf32>, tensor<2xf16>)
    %i = stablehlo.bitcast_convert %r#4 : (tensor<3xf32>) -> tensor<3xui32>
    check.expect_eq_const %i, dense<[2143289344, 2147483648, 3235905536]> : tensor<3xui32>
    check.expect_eq_const %r#7, dense<[4.0, 2048.0]> : tensor<2xf16>
    return
  }
}

// -----

// Two replicas of two partitions: process 2 * replica + partition.
module @groupings {
  func.func private @f() -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) {
    %r = stablehlo.replica_id : tensor<ui32>
    %p = stablehlo.partition_id : tensor<ui32>
    %rw = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
    %pw = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %rt = stablehlo.multiply %rw, %ten : tensor<i32>
    %rp = stablehlo.add %rt, %pw : tensor<i32>
    %x = stablehlo.add %rp, %one : tensor<i32>
    %a = "stablehlo.all_reduce"(%x) ({
      ^bb0(%u: tensor<i32>, %v: tensor<i32>):
        %t = stablehlo.add %u, %v : tensor<i32>
        stablehlo.return %t : tensor<i32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<i32>) -> tensor<i32>
    %b = "stablehlo.all_reduce"(%x) ({
      ^bb0(%u: tensor<i32>, %v: tensor<i32>):
        %t = stablehlo.add %u, %v : tensor<i32>
        stablehlo.return %t : tensor<i32>
    }) {replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<i32>) -> tensor<i32>
    %c = "stablehlo.all_reduce"(%x) ({
      ^bb0(%u: tensor<i32>, %v: tensor<i32>):
        %t = stablehlo.add %u, %v : tensor<i32>
        stablehlo.return %t : tensor<i32>
    }) {replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<i32>) -> tensor<i32>
    %d = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>} : (tensor<i32>) -> tensor<i32>
    return %a, %b, %c, %d : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>
  }
  func.func @main() {
    %r:16 = "interpreter.run_parallel"() {programs = [[@f, @f], [@f, @f]]} : () -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>)
    check.expect_eq_const %r#0, dense<12> : tensor<i32>
    check.expect_eq_const %r#4, dense<14> : tensor<i32>
    check.expect_eq_const %r#1, dense<3> : tensor<i32>
    check.expect_eq_const %r#9, dense<23> : tensor<i32>
    check.expect_eq_const %r#2, dense<13> : tensor<i32>
    check.expect_eq_const %r#10, dense<13> : tensor<i32>
    check.expect_eq_const %r#3, dense<2> : tensor<i32>
    check.expect_eq_const %r#15, dense<11> : tensor<i32>
    return
  }
}

// -----

module @moves {
  func.func private @f() -> (tensor<2x4800xi32>, tensor<2x4800xi32>, tensor<8x300xi32>, tensor<2x1200xi32>, tensor<2x1200xi32>) {
    %i = stablehlo.iota dim = 1 : tensor<2x1200xi32>
    %r = stablehlo.replica_id : tensor<ui32>
    %w = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
    %t = stablehlo.constant dense<10000> : tensor<i32>
    %o = stablehlo.multiply %w, %t : tensor<i32>
    %b = stablehlo.broadcast_in_dim %o, dims = [] : (tensor<i32>) -> tensor<2x1200xi32>
    %x = stablehlo.add %i, %b : tensor<2x1200xi32>
    %g = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[3, 1, 0, 2]]> : tensor<1x4xi64>} : (tensor<2x1200xi32>) -> tensor<2x4800xi32>
    %s = "stablehlo.reduce_scatter"(%g) ({
      ^bb0(%u: tensor<i32>, %v: tensor<i32>):
        %m = stablehlo.maximum %u, %v : tensor<i32>
        stablehlo.return %m : tensor<i32>
    }) {scatter_dimension = 1 : i64, replica_groups = dense<[[3, 1, 0, 2]]> : tensor<1x4xi64>} : (tensor<2x4800xi32>) -> tensor<2x1200xi32>
    %k = "stablehlo.all_gather"(%s) {all_gather_dim = 1 : i64, replica_groups = dense<[[3, 1, 0, 2]]> : tensor<1x4xi64>} : (tensor<2x1200xi32>) -> tensor<2x4800xi32>
    %a = "stablehlo.all_to_all"(%x) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<2x1200xi32>) -> tensor<8x300xi32>
    %c = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[2, 0, 1]]> : tensor<1x3xi64>} : (tensor<2x1200xi32>) -> tensor<2x1200xi32>
    %p = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 2], [2, 0], [3, 3]]> : tensor<4x2xi64>} : (tensor<2x1200xi32>) -> tensor<2x1200xi32>
    return %g, %k, %a, %c, %x : tensor<2x4800xi32>, tensor<2x4800xi32>, tensor<8x300xi32>, tensor<2x1200xi32>, tensor<2x1200xi32>
  }
  func.func @main() {
    %r:20 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f]]} : () -> (tensor<2x4800xi32>, tensor<2x4800xi32>, tensor<8x300xi32>, tensor<2x1200xi32>, tensor<2x1200xi32>, tensor<2x4800xi32>, tensor<2x4800xi32>, tensor<8x300xi32>, tensor<2x1200xi32>, tensor<2x1200xi32>, tensor<2x4800xi32>, tensor<2x4800xi32>, tensor<8x300xi32>, tensor<2x1200xi32>, tensor<2x1200xi32>, tensor<2x4800xi32>, tensor<2x4800xi32>, tensor<8x300xi32>, tensor<2x1200xi32>, tensor<2x1200xi32>)
    %g = stablehlo.concatenate %r#19, %r#9, %r#4, %r#14, dim = 1 : (tensor<2x1200xi32>, tensor<2x1200xi32>, tensor<2x1200xi32>, tensor<2x1200xi32>) -> tensor<2x4800xi32>
    check.expect_eq %r#0, %g : tensor<2x4800xi32>
    check.expect_eq %r#1, %g : tensor<2x4800xi32>
    check.expect_eq %r#16, %g : tensor<2x4800xi32>
    %p0 = stablehlo.slice %r#4 [0:2, 300:600] : (tensor<2x1200xi32>) -> tensor<2x300xi32>
    %p1 = stablehlo.slice %r#9 [0:2, 300:600] : (tensor<2x1200xi32>) -> tensor<2x300xi32>
    %p2 = stablehlo.slice %r#14 [0:2, 300:600] : (tensor<2x1200xi32>) -> tensor<2x300xi32>
    %p3 = stablehlo.slice %r#19 [0:2, 300:600] : (tensor<2x1200xi32>) -> tensor<2x300xi32>
    %a = stablehlo.concatenate %p0, %p1, %p2, %p3, dim = 0 : (tensor<2x300xi32>, tensor<2x300xi32>, tensor<2x300xi32>, tensor<2x300xi32>) -> tensor<8x300xi32>
    check.expect_eq %r#7, %a : tensor<8x300xi32>
    check.expect_eq %r#3, %r#14 : tensor<2x1200xi32>
    check.expect_eq_const %r#18, dense<0> : tensor<2x1200xi32>
    return
  }
}

// -----

// A ring of pairs, with values that are sent in parts; the last process gets its own value.
module @ring {
  func.func private @f() -> tensor<2000xi32> {
    %r = stablehlo.replica_id : tensor<ui32>
    %w = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
    %x = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<i32>) -> tensor<2000xi32>
    %p = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 2], [2, 0], [3, 3]]> : tensor<4x2xi64>} : (tensor<2000xi32>) -> tensor<2000xi32>
    return %p : tensor<2000xi32>
  }
  func.func @main() {
    %r:4 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f]]} : () -> (tensor<2000xi32>, tensor<2000xi32>, tensor<2000xi32>, tensor<2000xi32>)
    check.expect_eq_const %r#0, dense<2> : tensor<2000xi32>
    check.expect_eq_const %r#1, dense<0> : tensor<2000xi32>
    check.expect_eq_const %r#2, dense<1> : tensor<2000xi32>
    check.expect_eq_const %r#3, dense<3> : tensor<2000xi32>
    return
  }
}

// -----

// Two processes send and two receive on one channel: the pairs say who sends to whom.
module @pairs {
  func.func private @send() -> tensor<1500xi32> {
    %r = stablehlo.replica_id : tensor<ui32>
    %w = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
    %x = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<i32>) -> tensor<1500xi32>
    %t = stablehlo.create_token : !stablehlo.token
    %s = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>} : (tensor<1500xi32>, !stablehlo.token) -> !stablehlo.token
    return %x : tensor<1500xi32>
  }
  func.func private @receive() -> tensor<1500xi32> {
    %t = stablehlo.create_token : !stablehlo.token
    %r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<1500xi32>, !stablehlo.token)
    return %r#0 : tensor<1500xi32>
  }
  func.func @main() {
    %r:4 = "interpreter.run_parallel"() {programs = [[@send], [@send], [@receive], [@receive]]} : () -> (tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>)
    check.expect_eq_const %r#2, dense<1> : tensor<1500xi32>
    check.expect_eq_const %r#3, dense<0> : tensor<1500xi32>
    return
  }
}

// -----

// Each process takes the next value of the infeed: the order is open, but the sum is not.
module @infeed {
  func.func private @one() -> tensor<i64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    return %c : tensor<i64>
  }
  func.func private @two() -> tensor<i64> {
    %c = stablehlo.constant dense<20> : tensor<i64>
    return %c : tensor<i64>
  }
  func.func private @f() -> tensor<i64> {
    %t = stablehlo.create_token : !stablehlo.token
    %r:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<i64>, !stablehlo.token)
    %o = "stablehlo.outfeed"(%r#0, %r#1) : (tensor<i64>, !stablehlo.token) -> !stablehlo.token
    %s = "stablehlo.all_reduce"(%r#0) ({
      ^bb0(%u: tensor<i64>, %v: tensor<i64>):
        %m = stablehlo.add %u, %v : tensor<i64>
        stablehlo.return %m : tensor<i64>
    }) {replica_groups = dense<> : tensor<0x0xi64>} : (tensor<i64>) -> tensor<i64>
    return %s : tensor<i64>
  }
  func.func @main() {
    %r:4 = "interpreter.run_parallel"() {infeed = [@one, @two, @two, @two], programs = [[@f], [@f], [@f], [@f]]} : () -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
    check.expect_eq_const %r#0, dense<61> : tensor<i64>
    %s:4 = "interpreter.run_parallel"() {infeed = [@two, @two, @two, @two], programs = [[@f], [@f], [@f], [@f]]} : () -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
    check.expect_eq_const %s#1, dense<80> : tensor<i64>
    return
  }
}

// -----

// Collectives that are started, and are done later.
module @async {
  func.func private @f() -> tensor<600xi32> {
    %i = stablehlo.iota dim = 0 : tensor<600xi32>
    %a = "stablehlo.async_start"(%i) ({
      ^bb0(%x: tensor<600xi32>):
        %s = "stablehlo.all_reduce"(%x) ({
          ^bb0(%u: tensor<i32>, %v: tensor<i32>):
            %m = stablehlo.add %u, %v : tensor<i32>
            stablehlo.return %m : tensor<i32>
        }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<600xi32>) -> tensor<600xi32>
        stablehlo.return %s : tensor<600xi32>
    }) : (tensor<600xi32>) -> !stablehlo.future<tensor<600xi32>>
    %d = "stablehlo.async_done"(%a) : (!stablehlo.future<tensor<600xi32>>) -> tensor<600xi32>
    return %d : tensor<600xi32>
  }
  func.func @main() {
    %r:4 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f]]} : () -> (tensor<600xi32>, tensor<600xi32>, tensor<600xi32>, tensor<600xi32>)
    %i = stablehlo.iota dim = 0 : tensor<600xi32>
    %four = stablehlo.constant dense<4> : tensor<600xi32>
    %e = stablehlo.multiply %i, %four : tensor<600xi32>
    check.expect_eq %r#2, %e : tensor<600xi32>
    return
  }
}

// -----

// Sizes that are known only when the program runs.
module @open {
  func.func private @f(%x: tensor<?x2xi32>) -> (tensor<?x2xi32>, tensor<?x2xi32>) {
    %g = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<?x2xi32>) -> tensor<?x2xi32>
    %s = "stablehlo.all_reduce"(%x) ({
      ^bb0(%u: tensor<i32>, %v: tensor<i32>):
        %m = stablehlo.add %u, %v : tensor<i32>
        stablehlo.return %m : tensor<i32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<?x2xi32>) -> tensor<?x2xi32>
    return %g, %s : tensor<?x2xi32>, tensor<?x2xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi32>
    %x = stablehlo.convert %a : (tensor<1x2xi32>) -> tensor<?x2xi32>
    %r:8 = "interpreter.run_parallel"(%x, %x, %x, %x) {programs = [[@f], [@f], [@f], [@f]]} : (tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi32>) -> (tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi32>)
    %g = stablehlo.convert %r#2 : (tensor<?x2xi32>) -> tensor<4x2xi32>
    %s = stablehlo.convert %r#3 : (tensor<?x2xi32>) -> tensor<1x2xi32>
    check.expect_eq_const %g, dense<[[1, 2], [1, 2], [1, 2], [1, 2]]> : tensor<4x2xi32>
    check.expect_eq_const %s, dense<[[4, 8]]> : tensor<1x2xi32>
    return
  }
}

// -----

// Each result has a root of its own; the third process is in no group.
module @roots {
  func.func private @f() -> (tensor<1500xi32>, tensor<2xi32>, tensor<1500xi32>, tensor<2xi32>) {
    %r = stablehlo.replica_id : tensor<ui32>
    %w = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
    %x = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<i32>) -> tensor<1500xi32>
    %y = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
    %z = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %u = stablehlo.add %y, %z : tensor<2xi32>
    %roots = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
    %b:2 = "stablehlo.collective_broadcast"(%x, %u, %roots) {has_dynamic_root, replica_groups = dense<[[0, 1, 3]]> : tensor<1x3xi64>} : (tensor<1500xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<1500xi32>, tensor<2xi32>)
    %s:2 = "stablehlo.collective_reduce"(%x, %u, %roots) ({
      ^bb0(%p: tensor<i32>, %q: tensor<i32>):
        %t = stablehlo.add %p, %q : tensor<i32>
        stablehlo.return %t : tensor<i32>
    }) {has_dynamic_root, replica_groups = dense<[[0, 1, 3]]> : tensor<1x3xi64>} : (tensor<1500xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<1500xi32>, tensor<2xi32>)
    return %b#0, %b#1, %s#0, %s#1 : tensor<1500xi32>, tensor<2xi32>, tensor<1500xi32>, tensor<2xi32>
  }
  func.func @main() {
    %r:16 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f]]} : () -> (tensor<1500xi32>, tensor<2xi32>, tensor<1500xi32>, tensor<2xi32>, tensor<1500xi32>, tensor<2xi32>, tensor<1500xi32>, tensor<2xi32>, tensor<1500xi32>, tensor<2xi32>, tensor<1500xi32>, tensor<2xi32>, tensor<1500xi32>, tensor<2xi32>, tensor<1500xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<3> : tensor<1500xi32>
    check.expect_eq_const %r#1, dense<[11, 21]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<0> : tensor<1500xi32>
    check.expect_eq_const %r#3, dense<0> : tensor<2xi32>
    check.expect_eq_const %r#5, dense<[11, 21]> : tensor<2xi32>
    check.expect_eq_const %r#6, dense<0> : tensor<1500xi32>
    check.expect_eq_const %r#7, dense<[34, 64]> : tensor<2xi32>
    check.expect_eq_const %r#8, dense<0> : tensor<1500xi32>
    check.expect_eq_const %r#9, dense<0> : tensor<2xi32>
    check.expect_eq_const %r#10, dense<0> : tensor<1500xi32>
    check.expect_eq_const %r#12, dense<3> : tensor<1500xi32>
    check.expect_eq_const %r#14, dense<4> : tensor<1500xi32>
    check.expect_eq_const %r#15, dense<0> : tensor<2xi32>
    return
  }
}

// -----

// Broadcasts several values at once, from the first of the group.
module @broadcast_two {
  func.func private @f() -> (tensor<2xi32>, tensor<f32>) {
    %r = stablehlo.replica_id : tensor<ui32>
    %w = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
    %x = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %y = stablehlo.convert %r : (tensor<ui32>) -> tensor<f32>
    %b:2 = "stablehlo.collective_broadcast"(%x, %y) {replica_groups = dense<[[2, 0], [3, 1]]> : tensor<2x2xi64>} : (tensor<2xi32>, tensor<f32>) -> (tensor<2xi32>, tensor<f32>)
    return %b#0, %b#1 : tensor<2xi32>, tensor<f32>
  }
  func.func @main() {
    %r:8 = "interpreter.run_parallel"() {programs = [[@f], [@f], [@f], [@f]]} : () -> (tensor<2xi32>, tensor<f32>, tensor<2xi32>, tensor<f32>, tensor<2xi32>, tensor<f32>, tensor<2xi32>, tensor<f32>)
    check.expect_eq_const %r#0, dense<2> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<2.0> : tensor<f32>
    check.expect_eq_const %r#2, dense<3> : tensor<2xi32>
    check.expect_eq_const %r#7, dense<3.0> : tensor<f32>
    return
  }
}

// -----

// The host passes on a value if a channel with this number also comes from it, else drops it.
module @host {
  func.func private @send() -> tensor<1500xi32> {
    %x = stablehlo.constant dense<7> : tensor<1500xi32>
    %y = stablehlo.constant dense<8> : tensor<1500xi32>
    %t = stablehlo.create_token : !stablehlo.token
    %s = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<1500xi32>, !stablehlo.token) -> !stablehlo.token
    %u = "stablehlo.send"(%x, %s) {channel_handle = #stablehlo.channel_handle<handle = 6, type = 2>, is_host_transfer = true} : (tensor<1500xi32>, !stablehlo.token) -> !stablehlo.token
    %v = "stablehlo.send"(%y, %u) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<1500xi32>, !stablehlo.token) -> !stablehlo.token
    return %x : tensor<1500xi32>
  }
  func.func private @receive() -> tensor<1500xi32> {
    %t = stablehlo.create_token : !stablehlo.token
    %a:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<1500xi32>, !stablehlo.token)
    %b:2 = "stablehlo.recv"(%a#1) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<1500xi32>, !stablehlo.token)
    %d = stablehlo.subtract %b#0, %a#0 : tensor<1500xi32>
    return %d : tensor<1500xi32>
  }
  func.func private @rest() -> tensor<1500xi32> {
    %x = stablehlo.constant dense<0> : tensor<1500xi32>
    return %x : tensor<1500xi32>
  }
  func.func @main() {
    %r:4 = "interpreter.run_parallel"() {programs = [[@rest], [@receive], [@send], [@rest]]} : () -> (tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>, tensor<1500xi32>)
    check.expect_eq_const %r#1, dense<1> : tensor<1500xi32>
    return
  }
}
