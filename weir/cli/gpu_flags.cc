#include "weir/cli/gpu_flags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

constexpr double kMebibyte = 1 << 20;

// "1024,1024;512": limits in MiB of the logical devices of each card.
std::string ParseSplit(const std::string& text, std::vector<std::vector<int64_t>>* devices) {
  devices->clear();
  const std::vector<std::string> cards = absl::StrSplit(text, ';');
  for (const std::string& card : cards) {
    std::vector<int64_t>& limits = devices->emplace_back();
    const std::vector<std::string> items = absl::StrSplit(card, ',', absl::SkipEmpty());
    for (const std::string& item : items) {
      double mebibytes = 0;
      if (!absl::SimpleAtod(item, &mebibytes) || mebibytes <= 0) return "'" + item + "' is no size in MiB";
      limits.push_back(static_cast<int64_t>(mebibytes * kMebibyte));
    }
  }
  return "";
}

}  // namespace

void AddGpuFlags(CLI::App* command, GpuOptions* options) {
  command
      ->add_option_function<std::string>(
          "--gpus",
          [options](const std::string& list) {
            options->enabled = list != "none";
            options->visible_devices = options->enabled ? list : "";
          },
          "the GPUs to use by their numbers, as 0,2; none: the host alone; default: all")
      ->group("GPUs");
  command
      ->add_option("--gpu_memory_fraction", options->memory_fraction,
                   "the part of each GPU's memory that tensors may take; default: what is free")
      ->check(CLI::Range(0.0, 1.0))
      ->group("GPUs");
  command
      ->add_option_function<std::string>(
          "--gpu_split",
          [options](const std::string& text) {
            const std::string problem = ParseSplit(text, &options->logical_devices);
            if (!problem.empty()) throw CLI::ValidationError("--gpu_split", problem);
          },
          "logical devices by their memory in MiB: 1024,1024;512 makes two of the first GPU and one of the second")
      ->group("GPUs");
}

}  // namespace weir
