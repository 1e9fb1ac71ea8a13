"""tf.compat.v1.distributions: samples by seed, probabilities, statistics and divergences that TensorFlow gave."""

import unittest

import numpy as np

import weir.compat.v1 as tf

ds = tf.distributions

EXPECTED = [
    ("ds.Normal([0.,1.],2.).sample(2,seed=3)", [[2.123324, -0.757157], [0.223744, 1.370234]]),
    ("ds.Normal([0.,1.],2.).log_prob(0.4)", [-1.632086, -1.657086]),
    ("ds.Normal([0.,1.],2.).cdf(0.4)", [0.57926, 0.382089]),
    ("ds.Normal([0.,1.],2.).mean()", [0.0, 1.0]),
    ("ds.Normal([0.,1.],2.).variance()", [4.0, 4.0]),
    ("ds.Normal([0.,1.],2.).entropy()", [2.112086, 2.112086]),
    ("ds.Normal([0.,1.],2.).mode()", [0.0, 1.0]),
    ("ds.Normal([0.,1.],2.).log_survival_function(0.4)", [-0.865739, -0.48141]),
    ("ds.Uniform(1.,3.).sample(2,seed=3)", [1.773859, 1.720052]),
    ("ds.Uniform(1.,3.).log_prob(1.4)", -0.693147),
    ("ds.Uniform(1.,3.).cdf(1.4)", 0.2),
    ("ds.Uniform(1.,3.).mean()", 2.0),
    ("ds.Uniform(1.,3.).variance()", 0.333333),
    ("ds.Uniform(1.,3.).entropy()", 0.693147),
    ("ds.Uniform(1.,3.).log_survival_function(1.4)", -0.223144),
    ("ds.Gamma(2.,[3.,4.]).sample(2,seed=3)", [[1.014757, 0.668858], [0.531823, 0.806951]]),
    ("ds.Gamma(2.,[3.,4.]).log_prob(0.4)", [0.080934, 0.256298]),
    ("ds.Gamma(2.,[3.,4.]).cdf(0.4)", [0.337373, 0.475069]),
    ("ds.Gamma(2.,[3.,4.]).mean()", [0.666667, 0.5]),
    ("ds.Gamma(2.,[3.,4.]).variance()", [0.222222, 0.125]),
    ("ds.Gamma(2.,[3.,4.]).entropy()", [0.478603, 0.190921]),
    ("ds.Gamma(2.,[3.,4.]).mode()", [0.333333, 0.25]),
    ("ds.Gamma(2.,[3.,4.]).log_survival_function(0.4)", [-0.411543, -0.644488]),
    ("ds.Beta(2.,3.).sample(2,seed=3)", [0.592542, 0.450703]),
    ("ds.Beta(2.,3.).log_prob(0.4)", 0.546965),
    ("ds.Beta(2.,3.).cdf(0.4)", 0.5248),
    ("ds.Beta(2.,3.).mean()", 0.4),
    ("ds.Beta(2.,3.).variance()", 0.04),
    ("ds.Beta(2.,3.).entropy()", -0.234907),
    ("ds.Beta(2.,3.).mode()", 0.333333),
    ("ds.Beta(2.,3.).log_survival_function(0.4)", -0.74402),
    ("ds.Exponential(2.).sample(2,seed=3)", [0.815456, 1.290412]),
    ("ds.Exponential(2.).log_prob(0.4)", -0.106853),
    ("ds.Exponential(2.).cdf(0.4)", 0.550671),
    ("ds.Exponential(2.).mean()", 0.5),
    ("ds.Exponential(2.).variance()", 0.25),
    ("ds.Exponential(2.).entropy()", 0.306853),
    ("ds.Exponential(2.).log_survival_function(0.4)", -0.8),
    ("ds.Laplace(0.,2.).sample(2,seed=3)", [3.617791, 4.359734]),
    ("ds.Laplace(0.,2.).log_prob(0.4)", -1.586294),
    ("ds.Laplace(0.,2.).cdf(0.4)", 0.590635),
    ("ds.Laplace(0.,2.).mean()", 0.0),
    ("ds.Laplace(0.,2.).variance()", 8.0),
    ("ds.Laplace(0.,2.).entropy()", 2.386294),
    ("ds.Laplace(0.,2.).mode()", 0.0),
    ("ds.Laplace(0.,2.).log_survival_function(0.4)", -0.893147),
    ("ds.StudentT(3.,0.,1.).sample(2,seed=3)", [-0.180432, 0.748125]),
    ("ds.StudentT(3.,0.,1.).log_prob(0.4)", -1.104808),
    ("ds.StudentT(3.,0.,1.).cdf(0.4)", 0.642033),
    ("ds.StudentT(3.,0.,1.).mean()", 0.0),
    ("ds.StudentT(3.,0.,1.).variance()", 3.0),
    ("ds.StudentT(3.,0.,1.).entropy()", 1.773477),
    ("ds.StudentT(3.,0.,1.).mode()", 0.0),
    ("ds.StudentT(3.,0.,1.).log_survival_function(0.4)", -1.027313),
    ("ds.Bernoulli(probs=[.2,.7]).sample(2,seed=3)", [[0, 1], [0, 0]]),
    ("ds.Bernoulli(probs=[.2,.7]).log_prob([1, 0])", [-1.609438, -1.203973]),
    ("ds.Bernoulli(probs=[.2,.7]).mean()", [0.2, 0.7]),
    ("ds.Bernoulli(probs=[.2,.7]).variance()", [0.16, 0.21]),
    ("ds.Bernoulli(probs=[.2,.7]).entropy()", [0.500402, 0.610864]),
    ("ds.Bernoulli(probs=[.2,.7]).mode()", [0, 1]),
    ("ds.Categorical(logits=[[1.,2.,3.],[0.,0.,0.]]).sample(2,seed=3)", [[1, 0], [2, 2]]),
    ("ds.Categorical(logits=[[1.,2.,3.],[0.,0.,0.]]).log_prob([0, 2])", [-2.407606, -1.098612]),
    ("ds.Categorical(logits=[[1.,2.,3.],[0.,0.,0.]]).cdf([0, 2])", [0.0, 0.666667]),
    ("ds.Categorical(logits=[[1.,2.,3.],[0.,0.,0.]]).entropy()", [0.832396, 1.098612]),
    ("ds.Categorical(logits=[[1.,2.,3.],[0.,0.,0.]]).mode()", [2, 0]),
    ("ds.Categorical(logits=[[1.,2.,3.],[0.,0.,0.]]).log_survival_function([0, 2])", [-0.0, -1.098612]),
    ("ds.Dirichlet([1.,2.,3.]).sample(2,seed=3)", [[0.113599, 0.370783, 0.515618], [0.112563, 0.213936, 0.673501]]),
    ("ds.Dirichlet([1.,2.,3.]).log_prob([0.2, 0.3, 0.5])", 1.504077),
    ("ds.Dirichlet([1.,2.,3.]).mean()", [0.166667, 0.333333, 0.5]),
    ("ds.Dirichlet([1.,2.,3.]).variance()", [0.019841, 0.031746, 0.035714]),
    ("ds.Dirichlet([1.,2.,3.]).entropy()", -1.244344),
    ("ds.Multinomial(4.,probs=[.2,.3,.5]).log_prob([1.0, 1.0, 2.0])", -1.714798),
    ("ds.Multinomial(4.,probs=[.2,.3,.5]).mean()", [0.8, 1.2, 2.0]),
    ("ds.Multinomial(4.,probs=[.2,.3,.5]).variance()", [0.64, 0.84, 1.0]),
    ("ds.DirichletMultinomial(3.,[1.,2.]).sample(2,seed=3)", [[1.0, 2.0], [0.0, 3.0]]),
    ("ds.DirichletMultinomial(3.,[1.,2.]).log_prob([1.0, 2.0])", -1.203973),
    ("ds.DirichletMultinomial(3.,[1.,2.]).mean()", [1.0, 2.0]),
    ("ds.DirichletMultinomial(3.,[1.,2.]).variance()", [1.0, 1.0]),
    ("ds.kl_divergence(ds.Normal(0.,1.),ds.Normal(1.,2.))", 0.443147),
    ("ds.kl_divergence(ds.Gamma(2.,3.),ds.Gamma(1.,1.))", 0.188063),
    ("ds.kl_divergence(ds.Beta(2.,3.),ds.Beta(1.,1.))", 0.234907),
    ("ds.kl_divergence(ds.Dirichlet([1.,2.]),ds.Dirichlet([2.,2.]))", 0.401388),
    ("ds.kl_divergence(ds.Bernoulli(probs=.2),ds.Bernoulli(probs=.5))", 0.192745),
    ("ds.kl_divergence(ds.Categorical([1.,2.]),ds.Categorical([0.,1.5]))", 0.022622),
]


class Distributions(unittest.TestCase):
    def test_values(self):
        for expression, expected in EXPECTED:
            with self.subTest(expression):
                np.testing.assert_allclose(eval(expression).numpy(), expected, rtol=2e-5, atol=2e-6)  # pylint: disable=eval-used

    def test_printed_forms_and_parameters(self):
        with tf.Graph().as_default():
            normal = ds.Normal([0.0, 1.0], 2.0)
            self.assertEqual(str(normal), 'tfp.distributions.Normal("Normal/", batch_shape=(2,), event_shape=(), '
                                          "dtype=float32)")
            self.assertIs(normal.reparameterization_type, ds.FULLY_REPARAMETERIZED)
            self.assertEqual(normal.sample([3, 4]).shape.as_list(), [3, 4, 2])
        self.assertEqual(ds.Normal([0.0, 1.0], 2.0).copy(scale=1.0).parameters["scale"], 1.0)
        self.assertEqual(ds.Normal.param_static_shapes([3])["loc"].as_list(), [3])

    def test_training(self):
        with tf.Graph().as_default(), tf.Session() as session:
            mean = tf.Variable(0.0)
            loss = -tf.reduce_mean(ds.Normal(mean, 1.0).log_prob([1.0, 2.0, 3.0]))
            step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
            session.run(mean.initializer)
            for _ in range(5):
                session.run(step)
            self.assertAlmostEqual(float(session.run(mean)), 1.9375, places=5)

    def test_mistakes(self):
        with self.assertRaisesRegex(ValueError, "Must pass probs or logits, but not both"):
            ds.Bernoulli()
        with self.assertRaisesRegex(NotImplementedError, "quantile is not implemented: Bernoulli"):
            ds.Bernoulli(probs=0.3).quantile(0.5)
        with self.assertRaisesRegex(NotImplementedError, "registered for distribution_a type Normal and"):
            ds.kl_divergence(ds.Normal(0.0, 1.0), ds.Uniform())
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "mean not defined for components of df <= 1"):
            ds.StudentT(0.5, 0.0, 1.0, allow_nan_stats=False).mean()
        self.assertTrue(np.isnan(ds.Beta(0.5, 0.5).mode().numpy()))


if __name__ == "__main__":
    unittest.main()
