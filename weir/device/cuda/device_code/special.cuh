// Further special functions: the host's own text, computed in double.
#pragma once
#include "weir/device/cuda/device_code/elementwise.cuh"
#include "weir/device/cuda/device_code/host_library.cuh"
#include "weir/device/cpu/special_functions.cc"

SPECIAL(Dawsn, weir::Dawson)
SPECIAL(Expint, weir::ExponentialIntegral)
SPECIAL(FresnelSin, weir::FresnelSine)
SPECIAL(FresnelCos, weir::FresnelCosine)
SPECIAL(Spence, weir::Spence)
