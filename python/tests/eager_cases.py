"""Expressions whose printed results must be TensorFlow's. `record` writes what TensorFlow gives into fixtures/eager.json;
eager_test.py compares. Names that an expression may use: tf, np, and the values of PRELUDE."""

PRELUDE = """
a = tf.constant([1., 2., 3.])
b = tf.constant([[1, 2], [3, 4]])
i = tf.constant(7)
s = tf.constant(["x", "yz"])
t = tf.constant([True, False])
c = tf.constant(1 + 2j)
z = tf.zeros([2, 3, 4])
v = tf.Variable([1., 2.], name="w")
"""

CASES = """
a
str(a)
b
str(b)
i
str(i)
s
str(s)
t
c
tf.constant("x")
str(tf.constant("x"))
tf.constant(1.5)
tf.constant([])
tf.constant([[]])
tf.constant([1.0, 2])
tf.constant(2**40)
tf.constant([1, 2], tf.float64)
tf.constant(1, shape=[2, 2])
tf.constant([1, 2, 3, 4], shape=[2, 2])
tf.constant(np.float64(3))
tf.constant(np.array([1, 2], np.int8))
tf.constant(np.array([[1.5]]))
tf.constant(np.arange(6).reshape(2, 3)[:, ::2])
tf.constant(True)
tf.constant([None, 1])
tf.constant([1, "a"])
tf.constant([[1], [2, 3]])
tf.constant(1.5, tf.int32)
tf.constant([1.5], tf.int32)
tf.convert_to_tensor(a, tf.float64)
tf.convert_to_tensor(np.array([1, 2]), tf.int32)
tf.convert_to_tensor([a, a])
tf.convert_to_tensor(1, dtype_hint=tf.float32)
a + a
a + 1
1 + a
a - 0.5
a * a
2 / a
b / b
b / 2
b // 2
-b // 2
b % 2
a ** 2
2 ** a
-a
abs(-a)
a < 2
a == a
a == 2
a != 2
a == None
b @ b
i + 1.5
i + a
np.ones(3) + a
a + np.ones(3)
s + s
t & t
t | True
t ^ t
~t
b & 1
~b
a[0]
a[-1]
a[1:]
a[::-1]
a[::2]
b[0]
b[0, 1]
b[:, 1]
b[..., 0]
b[tf.newaxis]
b[:, None, 1]
b[1:, :1]
z[..., 1].shape
z[0, ..., tf.newaxis].shape
a[i - 6]
a[[0, 1]]
a[1.0]
a["x"]
a[5]
bool(tf.constant(1))
bool(a)
int(i)
float(tf.constant(2.5))
list(range(i))[-1]
len(a)
len(i)
[float(e) for e in a]
hash(a)
a.shape
b.shape
i.shape
a.dtype
a.ndim
str(a.dtype)
repr(a.dtype)
a.numpy()
i.numpy()
s.numpy()
np.sum(a)
np.asarray(b)
f"{tf.constant(2.5):.2f}"
a.name
a.op
a.graph
tf.float32
tf.float32 == "float32"
tf.float32 == np.float32
tf.float32 == tf.float64
tf.as_dtype("half")
tf.as_dtype(np.int16)
tf.as_dtype("nope")
tf.int32.max
tf.uint8.min
tf.float16.max
tf.bfloat16.name
tf.int32.is_integer
tf.complex64.real_dtype
tf.string.as_numpy_dtype
tf.float32.as_numpy_dtype
tf.TensorShape([1, None, 3])
str(tf.TensorShape([1, None, 3]))
tf.TensorShape(None)
str(tf.TensorShape(None))
str(tf.TensorShape([5]))
tf.TensorShape([2, 3]).num_elements()
tf.TensorShape([2, 3]) + [4]
tf.TensorShape([2, 3]) == (2, 3)
tf.TensorShape([2, None]).is_compatible_with([2, 5])
tf.TensorShape([2, None]).merge_with([None, 5])
tf.TensorShape([2, 3]).merge_with([3, 3])
tf.TensorShape(None).as_list()
tf.TensorShape([2, 3, 4])[1:]
tf.TensorSpec([None, 2], tf.int32, "x")
tf.TensorSpec([2]) == tf.TensorSpec([2])
v
v + 1
v.assign([3., 4.])
v.assign_add([1., 1.])
v.assign([1.])
v[0]
v.name
v.shape
v.dtype
hash(v)
tf.Variable(1)
tf.Variable("s")
tf.Variable([1, 2], dtype=tf.float16)
tf.raw_ops.AddV2(x=a, y=a)
tf.raw_ops.AddV2(x=1, y=2)
tf.raw_ops.TopKV2(input=a, k=2)
tf.raw_ops.Split(axis=0, value=a, num_split=3)
tf.raw_ops.Concat(concat_dim=0, values=[a, a])
tf.raw_ops.MatMul(a=b, b=b)
tf.raw_ops.MatMul(a=tf.ones([2, 3]), b=tf.ones([2, 3]))
tf.raw_ops.Reshape(tensor=a, shape=[2, 2])
tf.raw_ops.Unpack(value=b, num=2)
tf.raw_ops.Cast(x=a, DstT=tf.int32)
tf.raw_ops.NoSuchOp
tf.is_tensor(a)
tf.is_tensor(v)
tf.is_tensor(1)
tf.executing_eagerly()
tf.get_static_value(b)
type(a).__name__
type(a).__module__
isinstance(a, tf.Tensor)
isinstance(v, tf.Tensor)
tf.errors.NotFoundError(None, None, "m").error_code
tf.errors.NotFoundError(None, None, "m")
issubclass(tf.errors.NotFoundError, tf.errors.OpError)
""".strip().splitlines()


def evaluate(tf, np):
    """[expression, kind, text] for each case: its repr, or the class of its error."""
    out = []
    for case in CASES:
        names = {"tf": tf, "np": np}
        exec(PRELUDE, names)
        try:
            value = eval(case, names)
            # Versions of numpy show scalars in different ways.
            text = f"{type(value).__name__} {value.item()!r}" if isinstance(value, np.generic) else repr(value)
            out.append([case, "value", text])
        except Exception as error:  # the class is what is compared
            out.append([case, "error", type(error).__name__])
    return out
