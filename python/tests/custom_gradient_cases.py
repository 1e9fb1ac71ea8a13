"""A model whose functions have custom gradients. `record` lets TensorFlow save it into fixtures/custom_gradients."""

GRADIENTS = {"products": [214.0, 421.0, 628.0], "scaled": [202.0, 404.0, 606.0], "chosen": [30.0, 60.0, 90.0],
             "repeated": [1000.0, 1000.0, 1000.0], "nested": [400.0, 800.0, 1200.0]}


def model(tf):
    class Model(tf.Module):
        def __init__(self):
            self.v = tf.Variable(2.0)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def products(self, x):
            @tf.custom_gradient
            def f(x, y):
                return (x * y, x + y), lambda first, second: (first * 100.0 * x, second * 7.0 * y)
            first, second = f(x, x + 1.0)
            return first * self.v + second

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def scaled(self, x):
            @tf.custom_gradient
            def f(x):
                product = self.v * x

                def gradient(dy, variables=None):
                    return dy * 100.0 * self.v, [tf.reduce_sum(dy) * 55.0]
                return product, gradient
            return f(x) * x

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def chosen(self, x):
            @tf.custom_gradient
            def f(y):
                parts = tf.split(tf.concat([y, y * 3.0], 0), 2)
                return y * 1.0, lambda dy: dy * parts[1] * 10.0
            return tf.cond(tf.reduce_sum(x) > 0, lambda: f(x), lambda: x)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def repeated(self, x):
            @tf.custom_gradient
            def f(y):
                return y * 2.0, lambda dy: dy * 10.0
            return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, f(y)), (0, x))[1]

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def nested(self, x):
            @tf.function
            def inner(y):
                @tf.custom_gradient
                def f(y):
                    return y * y, lambda dy: dy * y * 100.0 * self.v
                return f(y)
            return inner(x) * self.v
    return Model()


def gradients(tf, model):
    """The gradient of each function, and the variable's gradient of two of them."""
    x = tf.constant([1.0, 2.0, 3.0])
    found = {}
    for name in GRADIENTS:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = getattr(model, name)(x)
        found[name] = tape.gradient(y, x).numpy().tolist()
        if name in ("products", "scaled"):
            found[name + "_by_v"] = float(tape.gradient(y, model.v))
    return found
