// The parameters of a training run, for TensorBoard's HPARAMS page: runs side by side with what they gave.
#ifndef WEIR_IO_HPARAMS_H_
#define WEIR_IO_HPARAMS_H_

#include <map>
#include <string>
#include <variant>

#include "weir/base/export.h"
#include "weir/io/event_writer.h"

namespace WEIR_PUBLIC weir {

using HParams = std::map<std::string, std::variant<double, bool, std::string>>;

// Into the folder of the run's event files, once, at its beginning. The scalars of the same folder are its results.
Status WriteHParams(EventWriter& writer, const HParams& parameters, const std::string& run_name = "");
// At its end.
Status WriteHParamsEnd(EventWriter& writer, bool success = true);

}  // namespace weir

#endif  // WEIR_IO_HPARAMS_H_
