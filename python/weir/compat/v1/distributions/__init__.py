"""tf.compat.v1.distributions: the distributions that TensorFlow had before they moved to TensorFlow Probability."""

from weir.compat.v1.distributions.base import (FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution, RegisterKL,
                                               ReparameterizationType, kl_divergence)
from weir.compat.v1.distributions.continuous import (Beta, Exponential, Gamma, Laplace, Normal, StudentT, Uniform)
from weir.compat.v1.distributions.discrete import Bernoulli, Categorical
from weir.compat.v1.distributions.vectors import Dirichlet, DirichletMultinomial, Multinomial

__all__ = ["Bernoulli", "Beta", "Categorical", "Dirichlet", "DirichletMultinomial", "Distribution", "Exponential",
           "FULLY_REPARAMETERIZED", "Gamma", "Laplace", "Multinomial", "NOT_REPARAMETERIZED", "Normal", "RegisterKL",
           "ReparameterizationType", "StudentT", "Uniform", "kl_divergence"]

for _class in (Bernoulli, Beta, Categorical, Dirichlet, DirichletMultinomial, Distribution, Exponential, Gamma, Laplace,
               Multinomial, Normal, StudentT, Uniform):
    _class.__module__ = "tensorflow.python.ops.distributions"
