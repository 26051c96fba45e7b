# SPDX-License-Identifier: MIT
"""Makes the tables of networks that no shared model has: small image classifiers with squeeze and
excitation, ConvNeXt, the encoder of Whisper, a block of Stable Diffusion, an LSTM and a GRU. The
shapes are those of the publications.

Each function takes the class Table of networks.py as an argument, because networks.py imports this
file.
"""


def residual(net, x, y):
    return net.add("add", [x, y], net.shapes[y])


def silu(net, x):
    return net.add("mul", [x, net.add("sigmoid", [x], net.shapes[x])], net.shapes[x])


def conv_silu(net, *args):
    return silu(net, net.conv(*args, act=None))


def squeeze(net, x, first, gate):
    """Returns x with each channel multiplied by a factor that two layers compute from the means of
    all channels. `first` adds the first layer, `gate` is the activation of the second one."""
    c, size, _ = net.shapes[x]
    y = net.conv(first(net.pool(x, "averagepool", size, size)), c, 1, act=gate)
    return net.add("mul", [x, y], net.shapes[x])


def efficientnet_b0(Table):
    net = Table("efficientnet_b0")
    x = conv_silu(net, 0, 32, 3, 2, 1)
    for expand, out, blocks, first, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
                                               (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for block in range(blocks):
            stride, c = (1 if block else first), net.shapes[x][0]
            y = conv_silu(net, x, c * expand, 1) if expand > 1 else x
            y = conv_silu(net, y, c * expand, kernel, stride, kernel // 2, c * expand)
            y = squeeze(net, y, lambda mean: conv_silu(net, mean, c // 4, 1), "sigmoid")
            y = net.conv(y, out, 1, act=None)
            x = residual(net, x, y) if stride == 1 and c == out else y
    x = conv_silu(net, x, 1280, 1)
    net.softmax(net.linear(net.pool(x, "averagepool", *net.shapes[x][1:]), 1000))
    return net


def mobilenetv3_large(Table):
    net = Table("mobilenetv3_large")
    x = net.conv(0, 16, 3, 2, 1, act="hardswish")
    # kernel, channels inside the block, channels of the result, channels of the squeeze (0: none),
    # activation, stride
    for kernel, inner, out, squeezed, act, stride in (
            (3, 16, 16, 0, "relu", 1), (3, 64, 24, 0, "relu", 2), (3, 72, 24, 0, "relu", 1),
            (5, 72, 40, 24, "relu", 2), (5, 120, 40, 32, "relu", 1), (5, 120, 40, 32, "relu", 1),
            (3, 240, 80, 0, "hardswish", 2), (3, 200, 80, 0, "hardswish", 1), (3, 184, 80, 0, "hardswish", 1),
            (3, 184, 80, 0, "hardswish", 1), (3, 480, 112, 120, "hardswish", 1), (3, 672, 112, 168, "hardswish", 1),
            (5, 672, 160, 168, "hardswish", 2), (5, 960, 160, 240, "hardswish", 1), (5, 960, 160, 240, "hardswish", 1)):
        c = net.shapes[x][0]
        y = net.conv(x, inner, 1, act=act) if inner != c else x
        y = net.conv(y, inner, kernel, stride, kernel // 2, inner, act=act)
        if squeezed:
            y = squeeze(net, y, lambda mean: net.conv(mean, squeezed, 1), "hardsigmoid")
        y = net.conv(y, out, 1, act=None)
        x = residual(net, x, y) if stride == 1 and c == out else y
    x = net.conv(x, 960, 1, act="hardswish")
    x = net.linear(net.pool(x, "averagepool", *net.shapes[x][1:]), 1280, "hardswish")
    net.softmax(net.linear(x, 1000))
    return net


def to_rows(net, x):
    """Returns a picture as rows: a row of all channels for each position."""
    c, h, w = net.shapes[x]
    return net.reshape(net.add("transpose", [net.reshape(x, 1, c, h * w)], (1, h * w, c)), h * w, c)


def to_picture(net, x, height):
    rows, c = net.shapes[x]
    x = net.add("transpose", [net.reshape(x, 1, rows, c)], (1, c, rows))
    return net.add("reshape", [x], (c, height, rows // height), dims=[1, c, height, rows // height])


def norm_channels(net, x):
    """Adds a normalisation of the channels of each position of a picture; returns its result."""
    return to_picture(net, net.layernorm(to_rows(net, x)), net.shapes[x][1])


def convnext_tiny(Table):
    net = Table("convnext_tiny")
    x = norm_channels(net, net.conv(0, 96, 4, 4, act=None))
    for width, blocks in ((96, 3), (192, 3), (384, 9), (768, 3)):
        if width > 96:
            x = net.conv(norm_channels(net, x), width, 2, 2, act=None)
        for _ in range(blocks):
            y = to_rows(net, net.conv(x, width, 7, 1, 3, width, act=None))
            y = net.gemm(net.gemm(net.layernorm(y), 4 * width, "gelu"), width)
            x = residual(net, x, to_picture(net, y, net.shapes[x][1]))
    x = to_rows(net, net.pool(x, "averagepool", net.shapes[x][1]))
    net.gemm(net.layernorm(x), 1000)
    return net


def attention(net, x, context, heads):
    """Returns the result of an attention whose keys and values come from the rows of `context`."""
    n = net.shapes[x][1]
    q = net.heads(net.gemm(x, n, bias=False), heads)
    k = net.heads(net.gemm(context, n, bias=False), heads, True)
    v = net.heads(net.gemm(context, n, bias=False), heads)
    scores = net.matmul(q, k)
    scores = net.add("scale", [scores], net.shapes[scores], factor=(n // heads) ** -.5)
    return net.gemm(net.join(net.matmul(net.softmax(scores), v)), n)


def whisper_tiny_encoder(Table, rows=1500, n=384, heads=6):
    """Returns the four layers after the two convolutions, for 30 s of sound."""
    net, x = Table("whisper_tiny_encoder", input=(rows, n)), 0
    for _ in range(4):
        y = net.layernorm(x)
        x = residual(net, x, attention(net, y, y, heads))
        x = residual(net, x, net.gemm(net.gemm(net.layernorm(x), 4 * n, "gelu"), n))
    net.layernorm(x)
    return net


def group_norm(net, x, groups=32):
    """Returns a picture with normalised groups of channels, by an instance normalisation of the
    reshaped picture.
    """
    c, h, w = net.shapes[x]
    y = net.add("reshape", [x], (groups, c // groups * h, w), dims=[1, groups, c // groups * h, w])
    y = net.add("instancenorm", [y], net.shapes[y])
    y = net.add("reshape", [y], (c, h, w), dims=[1, c, h, w])
    return net.add("affine", [y], (c, h, w), vectors=[c], weight=net.weight([c], .1, 1), bias=net.weight([c], .1))


def diffusion_block(Table, c=320, size=64, heads=8):
    """Returns a residual and a transformer block of the first level of Stable Diffusion 1.5. The
    second input is the words. The residual block does not add the embedding of the time step."""
    net = Table("diffusion_block", input=(c, size, size))
    words = net.input(77, 768)
    x = net.conv(silu(net, group_norm(net, 0)), c, 3, 1, 1, act=None)
    x = residual(net, 0, net.conv(silu(net, group_norm(net, x)), c, 3, 1, 1, act=None))
    rows = to_rows(net, net.conv(group_norm(net, x), c, 1, act=None))
    y = net.layernorm(rows)
    rows = residual(net, rows, attention(net, y, y, heads))
    rows = residual(net, rows, attention(net, net.layernorm(rows), words, heads))
    y = net.layernorm(rows)
    gate = net.gemm(y, 4 * c, "gelu")
    y = net.add("mul", [net.gemm(y, 4 * c), gate], net.shapes[gate])
    rows = residual(net, rows, net.gemm(y, c))
    residual(net, x, net.conv(to_picture(net, rows, size), c, 1, act=None))
    return net


def recurrent(net, x, op, gates, hidden):
    steps, batch, n = net.shapes[x]
    return net.add(op, [x], (steps, batch, hidden), hidden=hidden, gates=gates,
                   weight=net.weight([gates * hidden, n], .05), recurrent=net.weight([gates * hidden, hidden], .05),
                   bias=net.weight([gates * hidden], .1))


def lstm_two_layers(Table, steps=100, hidden=512):
    net = Table("lstm_two_layers", input=(steps, 1, hidden))
    recurrent(net, recurrent(net, 0, "lstm", 4, hidden), "lstm", 4, hidden)
    return net


def gru(Table, steps=64, hidden=256):
    net = Table("gru", input=(steps, 1, hidden))
    recurrent(net, 0, "gru", 3, hidden)
    return net
