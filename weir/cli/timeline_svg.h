// Draws a timeline of the operations of a step: one lane per thread, devices below each other.
#ifndef WEIR_CLI_TIMELINE_SVG_H_
#define WEIR_CLI_TIMELINE_SVG_H_

#include <string>

#include "weir/runtime/step_report.h"

namespace weir {

// Operations that would be too thin to see are merged with their neighbours, so that drawings stay small.
std::string TimelineToSvg(const StepReport& report);

}  // namespace weir

#endif  // WEIR_CLI_TIMELINE_SVG_H_
