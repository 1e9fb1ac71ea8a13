"""How tensors travel."""

__all__ = ["Compression", "Compressor", "FP16Compressor", "NoneCompressor"]


class Compressor:
    """Makes a tensor smaller before it is exchanged, and undoes that after."""

    @staticmethod
    def compress(tensor):
        """The tensor to exchange, and what `decompress` needs."""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor, ctx):
        """The tensor as it was."""
        raise NotImplementedError


class NoneCompressor(Compressor):
    """As it is."""

    @staticmethod
    def compress(tensor):
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        return tensor


class FP16Compressor(Compressor):
    """Floating tensors travel as half."""

    @staticmethod
    def compress(tensor):
        import weir as tf
        if not tensor.dtype.is_floating:
            return tensor, None
        return tf.cast(tensor, tf.float16), tensor.dtype

    @staticmethod
    def decompress(tensor, ctx):
        import weir as tf
        return tensor if ctx is None else tf.cast(tensor, ctx)


class Compression:
    """What may be given as `compression`."""
    none = NoneCompressor
    fp16 = FP16Compressor
