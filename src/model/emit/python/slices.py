# Convolutions over slices of the batch: values of which slices are decoded when they are read, and
# places that take slices of gradients. Native steps only.
import math

import torch
from storing import cut_outside, mask_by_signs_, pack_window, unpack_bits, unpack_window

aten = torch.ops.aten


# in place: y
def conv_slices(convolution, samples, x, *arguments, y=None):
    """So many samples of the batch at a time, which needs less memory besides; y may be something
    that x is made of."""
    count = x.shape[0]
    for first in range(0, count, samples):
        part = slice(first, min(first + samples, count))
        y_part = convolution(x[part], *arguments)
        if y is None:
            y = y_part.new_empty((count, *y_part.shape[1:]))
        y[part] = y_part
        del y_part
    return y


# in place: x
def conv_slices_(convolution, samples, x, *arguments):
    """The same in the memory of x."""
    for first in range(0, x.size(0), samples):
        part = x[first : first + samples]
        part.copy_(convolution(part, *arguments))
    return x


# in place: d_x
def conv_backward_slices(samples, gradient, x, d_x, weight, bias, *geometry, add=False):
    """aten.convolution_backward, so many samples at a time. The gradient of x goes to d_x, which
    may be in the memory of x or, if it is not larger, of the gradient; or it is added to d_x.
    What is concatenated in x has weights of its own and is worked on by itself."""
    *geometry, (wanted, _, biased) = geometry
    if d_x is None and wanted:
        d_x = gradient.new_empty(x.shape)
    pieces = [(x, d_x, slice(0, weight.size(1)))]
    transposed, groups = geometry[3], geometry[5]
    if getattr(x, "pieces", None) and hasattr(d_x, "beside") and groups == 1 and not transposed:
        pieces = d_x.beside(x.pieces, gradient)
    d_weight, d_bias = None if len(pieces) == 1 else torch.zeros_like(weight), None
    for first in range(0, x.shape[0], samples):
        part = slice(first, min(first + samples, x.shape[0]))
        for number, (x_piece, d_piece, channels) in enumerate(pieces):
            more_x, more, more_bias = aten.convolution_backward(
                gradient[part], x_piece[part], weight[:, channels], bias, *geometry,
                [wanted, True, biased and number == 0],
            )
            if add:
                d_piece[part] += more_x
            elif d_piece is not None:
                d_piece[part] = more_x
            if d_weight is None:
                d_weight = more
            else:
                d_weight[:, channels] += more
            if biased and number == 0:
                d_bias = more_bias if d_bias is None else d_bias.add_(more_bias)
            del more_x, more, more_bias
    return d_x, d_weight, d_bias


# needs: pack_window
def max_pool_slices(samples, x, geometry, *window):
    """aten.max_pool2d_with_indices, so many samples at a time, with pack_window of the indices."""
    y, packed, count = None, [], x.size(0)
    for first in range(0, count, samples):
        part = slice(first, min(first + samples, count))
        y_part, index = aten.max_pool2d_with_indices(x[part], *window)
        if y is None:
            y = y_part.new_empty((count, *y_part.shape[1:]))
        y[part] = y_part
        packed.append(pack_window(index, *geometry))
        del y_part, index
    return y, torch.cat(packed)


# needs: unpack_window
def max_pool_backward_slices(samples, gradient, packed, shape, geometry, *window):
    """Its gradient, so many samples at a time; of d_x only the shape is read."""
    d_x, each = gradient.new_empty(shape), packed.numel() // max(1, shape[0])
    for first in range(0, shape[0], samples):
        part = slice(first, min(first + samples, shape[0]))
        d_y = gradient[part]
        index = unpack_window(packed[part.start * each : part.stop * each], d_y.shape, *geometry)
        aten.max_pool2d_with_indices_backward(d_y, d_x[part], *window, index, grad_input=d_x[part])
    return d_x


# needs: mask_by_signs_, Slices
def masked_slices(x, signs, slope=0.0):
    """mask_by_signs_, slice by slice of the batch."""
    each = math.prod(x.shape[1:]) // 8
    return Slices(
        x.shape,
        lambda part: mask_by_signs_(x[part], signs[part.start * each : part.stop * each], slope),
    )


# needs: cut_outside, Slices
def cut_slices(x, signs, low, high):
    """cut_outside, slice by slice of the batch."""
    each = math.prod(x.shape[1:]) // 8
    return Slices(
        x.shape,
        lambda part: cut_outside(x[part], signs[part.start * each : part.stop * each], low, high),
    )


# needs: Slices
def affine_slices(normal, weight, bias):
    """bias + weight * normal of every channel, slice by slice of the batch."""
    weight, bias = (each.view(-1, *[1] * (len(normal.shape) - 2)) for each in (weight, bias))
    return Slices(normal.shape, lambda part: torch.addcmul(bias, normal[part], weight))


# needs: unpack_bits, Slices
def unpack_slices(packed, bits, shape, dtype=torch.float32):
    """unpack_bits, slice by slice of the batch; a sample is whole groups."""
    if packed.dtype != torch.uint8:
        return Slices(shape, lambda part: packed[part].clone())
    each = math.prod(shape[1:]) // 256 * (4 + 32 * bits)

    def decode(part):
        samples = (part.stop - part.start, *shape[1:])
        return unpack_bits(packed[part.start * each : part.stop * each], bits, samples, dtype)

    return Slices(shape, decode)


# needs: Slices
def cast_slices(packed, dtype):
    """The values in their own type, slice by slice of the batch."""
    return Slices(packed.shape, lambda part: packed[part].to(dtype))


# needs: Slices
def cat_slices(xs, axis, shape):
    """torch.cat, slice by slice of the batch."""
    cat = Slices(shape, lambda part: torch.cat([x[part] for x in xs], axis))
    cat.pieces = xs if axis == 1 else None
    return cat


# needs: Slices
def mapped_slices(x, function, shape):
    """A function of x, slice by slice of the batch."""
    return Slices(shape, lambda part: function(x[part]))


class Slices:
    """A value of which slices of the batch are decoded when they are read: x[a:b]."""

    def __init__(self, shape, decode):
        self.shape, self.decode = shape, decode

    def __getitem__(self, part):
        return self.decode(part)


class CatSink:
    """Takes slices of the gradient of torch.cat(xs, axis), and puts each part where that of x goes."""

    def __init__(self, sinks, extents, axis):
        self.sinks, self.extents, self.axis = sinks, extents, axis

    def __setitem__(self, part, gradient):
        for sink, piece in zip(self.sinks, gradient.split(self.extents, self.axis)):
            sink[part] = piece

    def beside(self, xs, read):
        """Each x, where its gradient goes, and its channels; what is in the memory of the gradient
        that is read comes last."""
        ends = [sum(self.extents[: i + 1]) for i in range(len(xs))]
        channels = [slice(end - extent, end) for end, extent in zip(ends, self.extents)]
        return sorted(zip(xs, self.sinks, channels), key=lambda piece: piece[1] is read)


class MappedSink:
    """Takes slices of the gradient of a function, and puts those of its input where they go."""

    def __init__(self, sink, backward):
        self.sink, self.backward = sink, backward

    def __setitem__(self, part, gradient):
        self.sink[part] = self.backward(gradient)
