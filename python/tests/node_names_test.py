"""Names of nodes in graphs and the words of errors: literals recorded from TensorFlow 2.21."""

import unittest

import numpy as np

import weir as tf

# (expression over x float32 [2, 3], i int32 [2] and b bool [2]; names and types of the nodes that it adds)
NODES = [
    ('x+1',
     'add/y:Const add:AddV2'),
    ('1+x',
     'add/x:Const add:AddV2'),
    ('x+x',
     'add:AddV2'),
    ('x-1',
     'sub/y:Const sub:Sub'),
    ('x*2',
     'mul/y:Const mul:Mul'),
    ('2/x',
     'truediv/x:Const truediv:RealDiv'),
    ('x/2',
     'truediv/y:Const truediv:RealDiv'),
    ('x//2',
     'floordiv/y:Const floordiv:FloorDiv'),
    ('x%2',
     'mod/y:Const mod:FloorMod'),
    ('x**2',
     'pow/y:Const pow:Pow'),
    ('2**x',
     'pow/x:Const pow:Pow'),
    ('-x',
     'Neg:Neg'),
    ('abs(x)',
     'Abs:Abs'),
    ('x<1',
     'Less/y:Const Less:Less'),
    ('x>=1',
     'GreaterEqual/y:Const GreaterEqual:GreaterEqual'),
    ('x@tf.transpose(x)',
     'transpose/perm:Const transpose:Transpose matmul:MatMul'),
    ('b&b',
     'and:LogicalAnd'),
    ('b^b',
     'xor/LogicalOr:LogicalOr xor/LogicalAnd:LogicalAnd xor/LogicalNot:LogicalNot xor:LogicalAnd'),
    ('~b',
     'LogicalNot:LogicalNot'),
    ('x[0]',
     'strided_slice/stack:Const strided_slice/stack_1:Const strided_slice/stack_2:Const strided_slice:StridedSlice'),
    ('x[0,1:]',
     'strided_slice/stack:Const strided_slice/stack_1:Const strided_slice/stack_2:Const strided_slice:StridedSlice'),
    ('tf.add(x,1)',
     'Add/y:Const Add:AddV2'),
    ('tf.subtract(x,1)',
     'Sub/y:Const Sub:Sub'),
    ('tf.multiply(x,2)',
     'Mul/y:Const Mul:Mul'),
    ('tf.divide(x,2)',
     'truediv/y:Const truediv:RealDiv'),
    ('tf.matmul(x,x,transpose_b=True)',
     'MatMul:MatMul'),
    ('tf.reduce_sum(x)',
     'Const:Const Sum:Sum'),
    ('tf.reduce_sum(x,1)',
     'Sum/reduction_indices:Const Sum:Sum'),
    ('tf.reduce_mean(x,axis=[0])',
     'Mean/reduction_indices:Const Mean:Mean'),
    ('tf.reduce_max(x)',
     'Const:Const Max:Max'),
    ('tf.argmax(x,1)',
     'ArgMax/dimension:Const ArgMax:ArgMax'),
    ('tf.cast(x,tf.int32)',
     'Cast:Cast'),
    ('tf.reshape(x,[3,2])',
     'Reshape/shape:Const Reshape:Reshape'),
    ('tf.reshape(x,[-1])',
     'Reshape/shape:Const Reshape:Reshape'),
    ('tf.transpose(x)',
     'transpose/perm:Const transpose:Transpose'),
    ('tf.concat([x,x],0)',
     'concat/axis:Const concat:ConcatV2'),
    ('tf.stack([x,x])',
     'stack:Pack'),
    ('tf.unstack(x)',
     'unstack:Unpack'),
    ('tf.split(x,3,1)',
     'split/split_dim:Const split:Split'),
    ('tf.expand_dims(x,0)',
     'ExpandDims/dim:Const ExpandDims:ExpandDims'),
    ('tf.squeeze(x)',
     'Squeeze:Squeeze'),
    ('tf.tile(x,[1,2])',
     'Tile/multiples:Const Tile:Tile'),
    ('tf.zeros([2])',
     'zeros:Const'),
    ('tf.ones([2])',
     'ones:Const'),
    ('tf.fill([2],3.)',
     'Fill/dims:Const Fill/value:Const Fill:Fill'),
    ('tf.zeros_like(x)',
     'zeros_like:Const'),
    ('tf.ones_like(x)',
     'ones_like:Const'),
    ('tf.shape(x)',
     'Shape:Const'),
    ('tf.size(x)',
     'Size:Const'),
    ('tf.rank(x)',
     'Rank:Const'),
    ('tf.range(3)',
     'range/start:Const range/limit:Const range/delta:Const range:Range'),
    ('tf.equal(i,1)',
     'Equal/y:Const Equal:Equal'),
    ('tf.where(b)',
     'Where:Where'),
    ('tf.where(x>0,x,-x)',
     'Greater/y:Const Greater:Greater Neg:Neg SelectV2:SelectV2'),
    ('tf.nn.relu(x)',
     'Relu:Relu'),
    ('tf.nn.softmax(x)',
     'Softmax:Softmax'),
    ('tf.sigmoid(x)',
     'Sigmoid:Sigmoid'),
    ('tf.tanh(x)',
     'Tanh:Tanh'),
    ('tf.exp(x)',
     'Exp:Exp'),
    ('tf.math.log(x)',
     'Log:Log'),
    ('tf.square(x)',
     'Square:Square'),
    ('tf.sqrt(x)',
     'Sqrt:Sqrt'),
    ('tf.clip_by_value(x,0.,1.)',
     'clip_by_value/Minimum/y:Const clip_by_value/Minimum:Minimum clip_by_value/y:Const clip_by_value:Maximum'),
    ('tf.maximum(x,0.)',
     'Maximum/y:Const Maximum:Maximum'),
    ('tf.identity(x)',
     'Identity:Identity'),
    ('tf.stop_gradient(x)',
     'StopGradient:StopGradient'),
    ('tf.pad(x,[[1,1],[0,0]])',
     'Pad/paddings:Const Pad:Pad'),
    ('tf.slice(x,[0,0],[1,1])',
     'Slice/begin:Const Slice/size:Const Slice:Slice'),
    ('tf.nn.l2_loss(x)',
     'L2Loss:L2Loss'),
    ('tf.pow(x,2)',
     'Pow/y:Const Pow:Pow'),
    ('tf.math.top_k(x)',
     'TopKV2/k:Const TopKV2:TopKV2'),
    ('tf.nn.in_top_k(i,x,1)',
     'in_top_k/InTopKV2/k:Const in_top_k/InTopKV2:InTopKV2'),
    ('tf.reduce_all(b)',
     'Const:Const All:All'),
    ('tf.constant(1)',
     'Const:Const'),
    ('tf.constant(1,name="c")',
     'c:Const'),
    ('tf.Variable(1.)',
     'Variable/Initializer/initial_value:Const Variable:VarHandleOp Variable/IsInitialized/VarIsInitializedOp:VarIsInitializedOp Variable/Assign:AssignVariableOp Variable/Read/ReadVariableOp:ReadVariableOp'),
    ('tf.norm(x)',
     'norm/mul:Mul norm/Const:Const norm/Sum:Sum norm/Sqrt:Sqrt norm/Squeeze:Squeeze'),
    ('tf.truediv(x,2)',
     'truediv/y:Const truediv:RealDiv'),
    ('tf.add_n([x,x])',
     'AddN:AddN'),
    ('tf.math.greater(x,1.)',
     'Greater/y:Const Greater:Greater'),
    ('tf.not_equal(i,1)',
     'NotEqual/y:Const NotEqual:NotEqual'),
    ('tf.nn.tanh(x)',
     'Tanh:Tanh'),
    ('tf.nn.elu(x)',
     'Elu:Elu'),
    ('tf.print(x)',
     'StringFormat:StringFormat PrintV2:PrintV2'),
    ('tf.sign(x)',
     'Sign:Sign'),
    ('tf.math.floormod(i,2)',
     'FloorMod/y:Const FloorMod:FloorMod'),
    ('tf.nn.log_softmax(x)',
     'LogSoftmax:LogSoftmax'),
    ('tf.gather_nd(x,[[0,0]])',
     'GatherNd/indices:Const GatherNd:GatherNd'),
    ('tf.scatter_nd([[0]],[1.],[2])',
     'ScatterNd/indices:Const ScatterNd/updates:Const ScatterNd/shape:Const ScatterNd:ScatterNd'),
    ('tf.nn.conv2d(tf.zeros([1,4,4,1]),tf.zeros([2,2,1,1]),1,"SAME")',
     'zeros:Const zeros_1:Const Conv2D:Conv2D'),
    ('v1.nn.max_pool(tf.zeros([1,4,4,1]),[1,2,2,1],[1,2,2,1],"SAME")',
     'zeros:Const MaxPool:MaxPool'),
    ('v1.global_variables_initializer()',
     'init:NoOp'),
    ('tf.group(x)',
     'group_deps:NoOp'),
    ('tf.no_op()',
     'NoOp:NoOp'),
    ('v1.train.get_or_create_global_step()',
     'global_step/Initializer/zeros:Const global_step:VarHandleOp global_step/IsInitialized/VarIsInitializedOp:VarIsInitializedOp global_step/Assign:AssignVariableOp global_step/Read/ReadVariableOp:ReadVariableOp'),
    ('tf.strings.join(["a","b"])',
     'StringJoin/inputs_0:Const StringJoin/inputs_1:Const StringJoin:StringJoin'),
    ('tf.as_string(x)',
     'AsString:AsString'),
    ('tf.math.cumsum(x)',
     'Cumsum/axis:Const Cumsum:Cumsum'),
    ('tf.linalg.inv(tf.matmul(x,x,transpose_b=True))',
     'MatMul:MatMul MatrixInverse:MatrixInverse'),
]

_WRAPPED = "{{function_node __wrapped__%s_device_/job:localhost/replica:0/task:0/device:CPU:0}} "
# (expression; class of the error; its text)
ERRORS = [
    ('tf.debugging.Assert(tf.constant(False),[tf.constant([1,2])])', 'InvalidArgumentError',
     "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: 1, 2"),
    ("tf.debugging.assert_all_finite(tf.constant([1.,np.nan]),'bad')", 'InvalidArgumentError',
     _WRAPPED % 'CheckNumerics' + 'bad : Tensor had NaN values [Op:CheckNumerics] name: '),
    ("tf.debugging.check_numerics(tf.constant([1.,np.inf]),'bad')", 'InvalidArgumentError',
     _WRAPPED % 'CheckNumerics' + 'bad : Tensor had Inf values [Op:CheckNumerics] name: '),
    ("tf.debugging.assert_shapes([(tf.constant([1.,2]),('N',)),(tf.constant([[1.]]),('N','M'))])", 'ValueError',
     'Specified by tensor shape=(2,) dtype=float32 dimension 0.  Tensor shape=(1, 1) dtype=float32 dimension 0 must have size 2.  Received size 1, shape (1, 1)'),
    ('tf.debugging.assert_same_float_dtype([tf.constant(1.),tf.constant(1.,tf.float64)])', 'ValueError',
     "tf.Tensor(1.0, shape=(), dtype=float64), type=<dtype: 'float64'>, must be of the same type (<dtype: 'float32'>) as tf.Tensor(1.0, shape=(), dtype=float32)."),
    ('tf.ensure_shape(tf.constant([1.]),[2])', 'InvalidArgumentError',
     _WRAPPED % 'EnsureShape' + 'Shape of tensor input [1] is not compatible with expected shape [2]. [Op:EnsureShape] name: '),
    ('tf.constant([1.,2.])+tf.constant([1.,2.,3.])', 'InvalidArgumentError',
     _WRAPPED % 'AddV2' + 'Incompatible shapes: [2] vs. [3] [Op:AddV2] name: '),
    ('tf.concat([[[1.]],[[1.,2.]]],0)', 'InvalidArgumentError',
     _WRAPPED % 'ConcatV2_N_2' + 'ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [1,1] vs. shape[1] = [1,2] [Op:ConcatV2]'),
    ('tf.stack([[1.],[1.,2.]])', 'InvalidArgumentError',
     _WRAPPED % 'Pack_N_2' + 'Shapes of all inputs must match: values[0].shape = [1] != values[1].shape = [2] [Op:Pack]'),
    ('tf.split(tf.constant([1.,2.,3.]),2)', 'InvalidArgumentError',
     _WRAPPED % 'Split_num_split_2' + 'Number of ways to split should evenly divide the split dimension, but got split_dim 0 (size = 3) and num_split 2 [Op:Split] name: split'),
    ('tf.gather(tf.constant([1.,2.]),[5])', 'InvalidArgumentError',
     _WRAPPED % 'GatherV2' + 'indices[0] = 5 is not in [0, 2) [Op:GatherV2]'),
    ("tf.strings.to_number('a')", 'InvalidArgumentError',
     _WRAPPED % 'StringToNumber' + 'StringToNumberOp could not correctly convert string: a [Op:StringToNumber]'),
    ('tf.add_n([tf.constant([1.]),tf.constant([1.,2.])])', 'InvalidArgumentError',
     _WRAPPED % 'AddN_N_2' + 'Inputs to operation AddN of type AddN must have the same size and shape.  Input 0: [1] != input 1: [2] [Op:AddN] name: '),
    ('tf.constant(1)//tf.constant(0)', 'InvalidArgumentError',
     _WRAPPED % 'FloorDiv' + 'Integer division by zero [Op:FloorDiv] name: '),
    ('tf.constant(1)+tf.constant(1.)', 'InvalidArgumentError',
     'cannot compute AddV2 as input #1(zero-based) was expected to be a int32 tensor but is a float tensor [Op:AddV2] name: '),
    ("tf.constant('a')+1", 'InvalidArgumentError',
     'cannot compute Add as input #1(zero-based) was expected to be a string tensor but is a int32 tensor [Op:Add] name: '),
    ("tf.constant([1,'a'])", 'ValueError',
     "Can't convert Python sequence with mixed types to Tensor."),
    ('tf.convert_to_tensor([[1],[2,3]])', 'ValueError',
     "Can't convert non-rectangular Python sequence to Tensor."),
    ('tf.raw_ops.SplitV(value=tf.constant([1.,2.]),size_splits=tf.constant([1,2]),axis=0,num_split=2)', 'InvalidArgumentError',
     _WRAPPED % 'SplitV_num_split_2' + 'Determined shape must either match input shape along split_dim exactly if fully specified, or be less than the size of the input along split_dim if not fully specified.  Got: 3 [Op:SplitV] name: '),
    ('tf.linalg.inv(tf.constant([[1.,1.],[1.,1.]]))', 'InvalidArgumentError',
     _WRAPPED % 'MatrixInverse' + 'Input is not invertible. [Op:MatrixInverse] name: '),
    ('tf.dynamic_stitch([[0],[5,1]],[[1.],[2.]])', 'InvalidArgumentError',
     _WRAPPED % 'DynamicStitch_N_2' + 'data[1].shape = [1] does not start with indices[1].shape = [2] [Op:DynamicStitch]'),
    ('tf.Variable([1.,2.]).assign([1.])', 'ValueError',
     "Cannot assign value to variable ' Variable:0': Shape mismatch.The variable shape (2,), and the assigned value shape (1,) are incompatible."),
    ('tf.sparse.to_dense(tf.SparseTensor([[5]],[1.],[2]))', 'InvalidArgumentError',
     _WRAPPED % 'SparseToDense' + 'indices[0] = [5] is out of bounds: need 0 <= index < [2] [Op:SparseToDense] name: '),
    ('tf.math.top_k(tf.constant([1.,2.]),5)', 'InvalidArgumentError',
     _WRAPPED % 'TopKV2' + 'input must have at least k columns. Had 2, needed 5 [Op:TopKV2] name: '),
    ('tf.scatter_nd([[5]],[1.],[2])', 'InvalidArgumentError',
     _WRAPPED % 'ScatterNd' + 'indices[0] = [5] does not index into shape [2] [Op:ScatterNd]'),
    ('tf.pad(tf.constant([1.]),[[1]])', 'InvalidArgumentError',
     _WRAPPED % 'Pad' + 'paddings must be a matrix with 2 columns: [1,1] [Op:Pad]'),
    ('tf.where(tf.constant([True,False]),tf.constant([1.,2.,3.]),tf.constant([1.,2.]))', 'InvalidArgumentError',
     _WRAPPED % 'SelectV2' + 'condition [2], then [3], and else [2] must be broadcastable [Op:SelectV2] name: '),
    ('tf.squeeze(tf.constant([1.,2.]),0)', 'InvalidArgumentError',
     _WRAPPED % 'Squeeze' + 'Can not squeeze dim[0], expected a dimension of 1, got 2 [Op:Squeeze] name: '),
    ('tf.expand_dims(tf.constant([1.,2.]),5)', 'InvalidArgumentError',
     _WRAPPED % 'ExpandDims' + 'Tried to expand dim index 5 for tensor with 1 dimensions. [Op:ExpandDims] name: '),
    ('tf.argmax(tf.constant([1.]),3)', 'InvalidArgumentError',
     _WRAPPED % 'ArgMax' + 'Expected dimension in the range [-1, 1), but got 3 [Op:ArgMax] name: '),
    ('tf.one_hot([1],-1)', 'InvalidArgumentError',
     _WRAPPED % 'OneHot' + 'depth must be non-negative, got: -1 [Op:OneHot]'),
    ('tf.nn.sparse_softmax_cross_entropy_with_logits([5],[[1.,2.]])', 'InvalidArgumentError',
     _WRAPPED % 'SparseSoftmaxCrossEntropyWithLogits' + 'Received a label value of 5 which is outside the valid range of [0, 2).  Label values: 5 [Op:SparseSoftmaxCrossEntropyWithLogits] name: '),
    ("tf.io.read_file('/nonexistent')", 'NotFoundError',
     _WRAPPED % 'ReadFile' + '/nonexistent; No such file or directory [Op:ReadFile]'),
    ("tf.io.decode_jpeg(b'abc')", 'InvalidArgumentError',
     _WRAPPED % 'DecodeJpeg' + 'Unknown image file format. One of JPEG, JPEG XL, PNG, GIF, BMP, WebP required. [Op:DecodeJpeg]'),
    ('tf.unstack(tf.constant([1.,2.]),num=3)', 'InvalidArgumentError',
     _WRAPPED % 'Unpack_num_3' + 'Input shape axis 0 must equal 3, got shape [2] [Op:Unpack] name: unstack'),
]


class Names(unittest.TestCase):
    def test_products(self):
        with tf.Graph().as_default():
            x, m = tf.compat.v1.placeholder(tf.float32), tf.ones([2, 2])
            self.assertEqual([(t.op.name, t.op.type) for t in (tf.matmul(m, x), tf.matmul(x, x, name="q"), x @ x, m @ m)],
                             [("MatMul", "BatchMatMulV2"), ("q", "BatchMatMulV2"), ("matmul_1", "BatchMatMulV2"),
                              ("matmul_2", "MatMul")])
            with self.assertRaisesRegex(ValueError, "Shape must be rank 2 but is rank 1 for '{{node matmul_3}} = MatMul"):
                tf.ones([2]) @ tf.ones([2])

    def test_of_nodes(self):
        for expression, expected in NODES:
            with self.subTest(expression), tf.Graph().as_default() as graph:
                v1 = tf.compat.v1
                values = {"x": v1.placeholder(tf.float32, [2, 3], name="x"), "i": v1.placeholder(tf.int32, [2], name="i"),
                          "b": v1.placeholder(tf.bool, [2], name="b"), "tf": tf, "np": np, "v1": v1}
                before = len(graph.get_operations())
                eval(expression, values)  # pylint: disable=eval-used
                found = " ".join(f"{op.name}:{op.type}" for op in graph.get_operations()[before:])
                self.assertEqual(found, expected)

    def test_of_results(self):
        v1 = tf.compat.v1
        with tf.Graph().as_default():
            x, image = tf.zeros([2, 3], name="x"), tf.zeros([1, 4, 4, 1])
            for result, name in (
                    (tf.tensordot(x, x, [[1], [1]]), "Tensordot"), (tf.einsum("ij,kj->ik", x, x), "einsum/Einsum"),
                    (tf.clip_by_norm(x, 2.0), "clip_by_norm"), (tf.linalg.global_norm([x]), "global_norm/global_norm"),
                    (tf.clip_by_global_norm([x], 2.0)[0][0], "clip_by_global_norm/clip_by_global_norm/_0"),
                    (tf.nn.batch_normalization(x, x, x, None, None, 1e-3), "batchnorm/add_1"),
                    (tf.nn.convolution(image, tf.zeros([2, 2, 1, 1])), "convolution"),
                    (tf.nn.depthwise_conv2d(image, tf.zeros([2, 2, 1, 1]), [1] * 4, "SAME"), "depthwise"),
                    (tf.nn.conv2d_transpose(image, tf.zeros([2, 2, 1, 1]), [1, 8, 8, 1], 2), "conv2d_transpose"),
                    (v1.image.resize_images(image, [2, 2]), "resize/ResizeBilinear"),
                    (v1.losses.mean_squared_error(x, x), "mean_squared_error/value"),
                    (tf.map_fn(tf.identity, x), "map/TensorArrayV2Stack/TensorListStack")):
                self.assertEqual(result.op.name, name)

    def test_seeds_count_in_each_graph(self):
        with tf.Graph().as_default() as graph:
            tf.compat.v1.set_random_seed(5)
            for _ in range(3):
                tf.random.normal([2])
            seeds = [(op.get_attr("seed"), op.get_attr("seed2")) for op in graph.get_operations()
                     if op.type == "RandomStandardNormal"]
            self.assertEqual(seeds, [(5, 0), (5, 1), (5, 2)])

    def test_operations_print_as_nodes(self):
        with tf.Graph().as_default():
            self.assertIn('name: "NoOp"\nop: "NoOp"\n', str(tf.no_op()))


class Errors(unittest.TestCase):
    def test_words(self):
        for expression, kind, text in ERRORS:
            with self.subTest(expression):
                try:
                    eval(expression, {"tf": tf, "np": np, "V": tf.compat.v1})  # pylint: disable=eval-used
                except Exception as error:  # noqa: BLE001
                    self.assertEqual(type(error).__name__, kind)
                    self.assertEqual(str(error), text)
                else:
                    self.fail("no error")


if __name__ == "__main__":
    unittest.main()
