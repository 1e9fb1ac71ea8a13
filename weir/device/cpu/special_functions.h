// Special functions in double precision. Outside a function's domain the answer is NaN, but for K and Y that of zero.
#ifndef WEIR_DEVICE_CPU_SPECIAL_FUNCTIONS_H_
#define WEIR_DEVICE_CPU_SPECIAL_FUNCTIONS_H_

namespace weir {

double LogGamma(double x);  // log |gamma(x)|, safe to call from many threads
double Digamma(double x);
double Igamma(double a, double x);       // regularised lower incomplete gamma function
double Igammac(double a, double x);      // and the upper one
double IgammaGradA(double a, double x);  // d Igamma / da
// How a draw x from a gamma distribution moves with alpha, by implicit differentiation of the distribution function
// P(alpha, x): -(dP/dalpha) / (dP/dx).
double GammaSampleGrad(double alpha, double x);
double HurwitzZeta(double s, double q);
double Polygamma(double n, double x);
// The same as TensorFlow has them of 32-bit floats: left of -9, where its sum is cut short, they are something else.
double ShortHurwitzZeta(double s, double q);
double ShortPolygamma(double n, double x);
double Betainc(double a, double b, double x);  // regularised incomplete beta function
double Erfinv(double x);
double Ndtri(double p);  // the quantile of the normal distribution

double Dawson(double x);
double ExponentialIntegral(double x);  // Ei, for positive x
double FresnelSine(double x);
double FresnelCosine(double x);
double Spence(double x);  // the dilogarithm of 1 - x

// Modified Bessel functions; those with an e are scaled by exp(-|x|) (I) or exp(x) (K).
double BesselI0(double x);
double BesselI0e(double x);
double BesselI1(double x);
double BesselI1e(double x);
double BesselK0(double x);
double BesselK0e(double x);
double BesselK1(double x);
double BesselK1e(double x);
double BesselJ0(double x);
double BesselJ1(double x);
double BesselY0(double x);
double BesselY1(double x);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_SPECIAL_FUNCTIONS_H_
