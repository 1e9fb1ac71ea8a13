// Tensors as the values of a Summary; the ops that give summaries and those that write them share these.
#ifndef WEIR_OPS_SUMMARY_SUMMARY_VALUES_H_
#define WEIR_OPS_SUMMARY_SUMMARY_VALUES_H_

#include <string>

#include "weir/tensor/tensor.h"

namespace weir {

class Summary;  // wire format

// The elements as doubles. REQUIRES: a real type or bool.
double NumberAt(const Tensor& tensor, int64_t index);

// A scalar. REQUIRES: one element.
void AddScalar(const std::string& tag, const Tensor& value, Summary* summary);
// How often values fall into each of a fixed set of ranges. INVALID_ARGUMENT for NaN and infinity, naming `node`.
Status AddHistogram(const std::string& tag, const Tensor& values, std::string_view node, Summary* summary);
// The first `max_images` of [batch, height, width, 1 | 3 | 4] as PNG. Pixels that are not finite become `bad_color`.
Status AddImages(const std::string& tag, const Tensor& images, int64_t max_images, const Tensor& bad_color,
                 Summary* summary);
// The first `max_outputs` of [batch, frames] or [batch, frames, channels] as WAV.
Status AddAudio(const std::string& tag, const Tensor& audio, float sample_rate, int64_t max_outputs, Summary* summary);

}  // namespace weir

#endif  // WEIR_OPS_SUMMARY_SUMMARY_VALUES_H_
