// Attention whose queries, keys and values are parts of one projection takes them where they are.
#ifndef WEIR_PASSES_PACK_ATTENTION_H_
#define WEIR_PASSES_PACK_ATTENTION_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// _Attention of the three reshaped results of a Split along the last dimension becomes _PackedAttention of what is
// split; its gradient, if the parts are only concatenated again, _PackedAttentionGrad. Of half and bfloat16, without
// masks, for heads of 16 to 128 elements.
Status PackAttention(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_PACK_ATTENTION_H_
