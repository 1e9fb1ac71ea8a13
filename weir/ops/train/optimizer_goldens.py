"""Writes optimizer_goldens.inc: what TensorFlow's optimizers make of the inputs that optimizer_test.cc gives them.

Usage: optimizer_goldens.py > optimizer_goldens.inc
"""
import numpy as np
import tensorflow as tf

SCALARS = dict(lr=.1, alpha=.1, momentum=.9, rho=.9, epsilon=1e-3, l1=.05, l2=.02, l2_shrinkage=.01, lr_power=-.5,
               beta1_power=.81, beta2_power=.998, beta1=.9, beta2=.999, sign_decay=.8, logbase=1., beta=.7)
STATES = [[1, -2, .5, 3], [.5, .25, 1, 2], [2, 1.5, 3, .75], [.1, .2, .3, .4]]
GRADIENT = [.5, -1, .25, 2]
FLAGS = dict(use_nesterov=True, update_slots=False, multiply_linear_by_lr=True)


def run(op, dtype, flag, name, value):
    is_sparse = 'Sparse' in op
    shape = [2, 2] if is_sparse else [4]
    variables, inputs = [], {}
    for arg in tf.raw_ops.__dict__[op].__signature__.parameters.values():
        if arg.name in ('use_locking', 'name') or arg.name in FLAGS:
            continue
        if arg.name in ('grad', 'delta'):
            inputs[arg.name] = tf.reshape(tf.constant(GRADIENT, dtype), shape)
        elif arg.name == 'indices':
            inputs[arg.name] = tf.constant([1, 0])
        elif arg.name == 'global_step':
            inputs[arg.name] = tf.constant(3, tf.int64)
        elif arg.name in SCALARS:
            inputs[arg.name] = tf.constant(value if arg.name == name else SCALARS[arg.name], dtype)
        else:
            variable = tf.Variable(np.reshape(np.array(STATES[len(variables)], dtype), shape))
            variables.append(variable)
            inputs[arg.name] = variable.handle
    if flag:
        inputs[flag] = FLAGS[flag]
    tf.raw_ops.__dict__[op](**inputs)
    values = ', '.join('{' + ', '.join(repr(float(x)).replace('nan', 'NAN') for x in v.numpy().ravel()) + '}' for v in variables)
    kind = 'kFloat' if dtype == 'float32' else 'kHalf'
    print(f'{{"{op}", DType::{kind}, "{flag}", "{name}", {value}, {{{values}}}}},')


for op in sorted(dir(tf.raw_ops)):
    if not op.startswith(('ResourceApply', 'ResourceSparseApply')):
        continue
    args = tf.raw_ops.__dict__[op].__signature__.parameters
    for flag in [''] + [f for f in FLAGS if f in args]:
        variants = [('', 0.)]
        if 'lr_power' in args:
            variants.append(('lr_power', -.7))
        if 'l1' in args:
            variants.append(('l1', 0.))
        for name, value in variants:
            run(op, 'float32', flag, name, value)
        if 'l1' not in args:
            run(op, 'float16', flag, '', 0.)
