// Gamma functions and their kin: the host's own text, computed in double.
#pragma once
#include "weir/device/cuda/device_code/elementwise.cuh"
#include "weir/device/cuda/device_code/host_library.cuh"
#include "weir/device/cpu/gamma_functions.cc"

#define SPECIAL2(Name, of_floats, of_doubles)                            \
  struct Name {                                                          \
    static float Do(float x, float y) { return (float)of_floats(x, y); } \
    static double Do(double x, double y) { return of_doubles(x, y); }    \
  };
SPECIAL(Digamma, weir::Digamma)
SPECIAL2(Igamma, weir::Igamma, weir::Igamma)
SPECIAL2(Igammac, weir::Igammac, weir::Igammac)
SPECIAL2(IgammaGradA, weir::IgammaGradA, weir::IgammaGradA)
SPECIAL2(RandomGammaGrad, weir::GammaSampleGrad, weir::GammaSampleGrad)
SPECIAL2(Zeta, weir::ShortHurwitzZeta, weir::HurwitzZeta)
SPECIAL2(Polygamma, weir::ShortPolygamma, weir::Polygamma)
struct Betainc {
  template <typename T>
  static T Do(T a, T b, T x) {
    return (T)weir::Betainc((double)a, (double)b, (double)x);
  }
};
