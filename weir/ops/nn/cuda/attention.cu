// Attention without its matrix of scores: blocks of queries meet blocks of keys in shared memory and registers, softmax
// goes along.
#include "weir/ops/nn/cuda/attention_tiles.cuh"

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

// As weir/ops/nn/cuda/attention_tiles.cc declares them. Distances are in elements.
struct Strides {
  int64 batch, time, head;
};
struct Mask {
  const void* data;
  int64 batch, head, query, key;  // steps
  float value;                    // of scores that bools hide
};
struct AttentionArguments {
  const void *q, *k, *v, *o, *dy;
  void *out, *second;  // forward: the output; backward: gradients of keys and values, or of queries
  float* stats;        // [batch, heads, queries]: logarithms of the softmax's denominators
  float* delta;        // the same shape: sums of output times gradient
  Strides q_at, k_at, v_at, o_at, dy_at, out_at, second_at;
  Mask mask;
  int heads, queries, keys, is_causal;
  float scale;
};

constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLowestScore = -20000 * kLog2E;  // nn::kLowestScore

// What a mask makes of scores in powers of two. M is the type of its elements, or void.
template <typename M>
struct HeadMask {
  static constexpr bool kIsThere = true, kHides = IsSame<M, bool>::value;
  const M* first;
  int64 query_step, key_step;
  int queries, keys;
  float value;

  __device__ __forceinline__ HeadMask(const AttentionArguments& p, int batch, int head)
      : first((const M*)p.mask.data + batch * p.mask.batch + head * p.mask.head),
        query_step(p.mask.query),
        key_step(p.mask.key),
        queries(p.queries),
        keys(p.keys),
        value(Floor(p.mask.value * kLog2E, p.mask.value)) {}
  // A score that something was added to. The lowest numbers become infinite in powers of two.
  __device__ __forceinline__ static float Floor(float score, float added) {
    return score < kLowestScore && added != -INFINITY ? kLowestScore : score;
  }
  __device__ __forceinline__ float Apply(float score, int query, int key) const {
    if (query >= queries || key >= keys) return score;
    const M element = first[query * query_step + key * key_step];
    if constexpr (kHides)
      return element ? score : value;
    else
      return Floor(fmaf((float)element, kLog2E, score), (float)element);
  }
  __device__ __forceinline__ bool Hides(int query, int key) const {
    if constexpr (!kHides) return false;
    return query < queries && key < keys && !first[query * query_step + key * key_step];
  }
  // Of a query without keys.
  __device__ __forceinline__ static float Nothing() { return __int_as_float(0x7fffffff); }
};
template <>
struct HeadMask<void> {
  static constexpr bool kIsThere = false, kHides = false;
  __device__ __forceinline__ HeadMask(const AttentionArguments&, int, int) {}
  __device__ __forceinline__ float Apply(float score, int, int) const { return score; }
  __device__ __forceinline__ bool Hides(int, int) const { return false; }
  __device__ __forceinline__ static float Nothing() { return 0; }
};

__device__ __forceinline__ float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <typename T>
__device__ __forceinline__ const T* HeadOf(const void* base, const Strides& at, int batch, int head) {
  return (const T*)base + batch * at.batch + head * at.head;
}

// Over the four threads that share a row.
__device__ __forceinline__ float RowMax(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ __forceinline__ float RowTotal(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// A block for 64 queries of a head.
template <typename T, int kSize, typename M>
__global__ void __launch_bounds__(kWarps * 32) AttentionForward(const AttentionArguments p) {
  extern __shared__ __align__(16) unsigned char shared[];
  typedef Tile<T, kSize> Rows;
  Rows* k_tiles = (Rows*)shared;
  Rows* v_tiles = k_tiles + 2;
  const int batch = blockIdx.y / p.heads, head = blockIdx.y % p.heads;
  // The blocks with most keys first.
  const int first = (gridDim.x - 1 - blockIdx.x) * kRows, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const T* k = HeadOf<T>(p.k, p.k_at, batch, head);
  const T* v = HeadOf<T>(p.v, p.v_at, batch, head);
  RowOperands<T, kSize> q;
  k_tiles[0].Start(HeadOf<T>(p.q, p.q_at, batch, head), p.q_at.time, first, p.queries);
  Commit();
  WaitForCopies<0>();
  __syncthreads();
  q.Take(k_tiles[0]);
  __syncthreads();

  const int last = p.is_causal ? min(p.keys, first + kRows) : p.keys;
  const int tiles = (last + kTile - 1) / kTile;
  Sums<kSize> out;
  out.Clear();
  const float scale = p.scale * kLog2E;
  float max[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
  const int row = first + warp * 16 + lane / 4;
  const HeadMask<M> mask(p, batch, head);
  k_tiles[0].Start(k, p.k_at.time, 0, p.keys);
  v_tiles[0].Start(v, p.v_at.time, 0, p.keys);
  Commit();
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      k_tiles[(tile + 1) % 2].Start(k, p.k_at.time, (tile + 1) * kTile, p.keys);
      v_tiles[(tile + 1) % 2].Start(v, p.v_at.time, (tile + 1) * kTile, p.keys);
      Commit();
      WaitForCopies<1>();
    } else {
      WaitForCopies<0>();
    }
    __syncthreads();
    Sums<kTile> scores;
    scores.Clear();
    scores.AddRows(q, k_tiles[tile % 2]);
    const int column = tile * kTile + lane % 4 * 2;
    const bool is_cut = tile * kTile + kTile > p.keys || (p.is_causal && tile * kTile + kTile > first + warp * 16);
    float new_max[2] = {max[0], max[1]};
#pragma unroll
    for (int i = 0; i < kTile / 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& s = scores.c[i][j];
        const int key = column + i * 8 + j % 2;
        s = mask.Apply(s * scale, row + j / 2 * 8, key);
        if (is_cut) {
          if (key >= p.keys || (p.is_causal && key > row + j / 2 * 8)) s = -INFINITY;
        }
        new_max[j / 2] = fmaxf(new_max[j / 2], s);
      }
    }
    float base[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      new_max[r] = RowMax(new_max[r]);
      base[r] = new_max[r] == -INFINITY ? 0 : new_max[r];
      const float factor = Exp2(max[r] - base[r]);
      max[r] = new_max[r];
      total[r] *= factor;
#pragma unroll
      for (int i = 0; i < kSize / 8; ++i) {
        out.c[i][2 * r] *= factor;
        out.c[i][2 * r + 1] *= factor;
      }
    }
#pragma unroll
    for (int i = 0; i < kTile / 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        scores.c[i][j] = Exp2(scores.c[i][j] - base[j / 2]);
        total[j / 2] += scores.c[i][j];
      }
    }
    out.AddWeighted(scores, v_tiles[tile % 2]);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) total[r] = RowTotal(total[r]);
  T* to = (T*)p.out + batch * p.out_at.batch + head * p.out_at.head;
  const float nothing = HeadMask<M>::Nothing();
  out.Store(to, p.out_at.time, first + warp * 16, p.queries, total[0] == 0 ? nothing : 1 / total[0],
            total[1] == 0 ? nothing : 1 / total[1]);
  if (lane % 4 == 0) {
    float* stats = p.stats + (int64)blockIdx.y * p.queries;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (row + r * 8 >= p.queries) continue;
      stats[row + r * 8] = total[r] == 0 ? INFINITY + nothing : max[r] / kLog2E + logf(total[r]);
    }
  }
}

// delta: a warp for each query of a head.
template <typename T, int kSize>
__global__ void AttentionDelta(const AttentionArguments p) {
  const int query = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (query >= p.queries) return;
  const int batch = blockIdx.y / p.heads, head = blockIdx.y % p.heads;
  const T* o = HeadOf<T>(p.o, p.o_at, batch, head) + query * p.o_at.time;
  const T* dy = HeadOf<T>(p.dy, p.dy_at, batch, head) + query * p.dy_at.time;
  float sum = 0;
  for (int i = lane; i < kSize; i += 32) sum = fmaf((float)o[i], (float)dy[i], sum);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  if (lane == 0) p.delta[(int64)blockIdx.y * p.queries + query] = sum;
}

// Gradients of 64 keys and values of a head: all queries that see them pass by.
template <typename T, int kSize, typename M>
__global__ void __launch_bounds__(kWarps * 32) AttentionBackwardKeys(const AttentionArguments p) {
  extern __shared__ __align__(16) unsigned char shared[];
  typedef Tile<T, kSize> Rows;
  Rows* q_tiles = (Rows*)shared;
  Rows* dy_tiles = q_tiles + 2;
  float* stats_tiles = (float*)(dy_tiles + 2);  // and delta behind them
  const int batch = blockIdx.y / p.heads, head = blockIdx.y % p.heads;
  const int first = blockIdx.x * kRows, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  RowOperands<T, kSize> k, v;
  q_tiles[0].Start(HeadOf<T>(p.k, p.k_at, batch, head), p.k_at.time, first, p.keys);
  dy_tiles[0].Start(HeadOf<T>(p.v, p.v_at, batch, head), p.v_at.time, first, p.keys);
  Commit();
  WaitForCopies<0>();
  __syncthreads();
  k.Take(q_tiles[0]);
  v.Take(dy_tiles[0]);
  __syncthreads();

  const T* q = HeadOf<T>(p.q, p.q_at, batch, head);
  const T* dy = HeadOf<T>(p.dy, p.dy_at, batch, head);
  const float* stats = p.stats + (int64)blockIdx.y * p.queries;
  const float* delta = p.delta + (int64)blockIdx.y * p.queries;
  Sums<kSize> dk, dv;
  dk.Clear();
  dv.Clear();
  const float scale = p.scale * kLog2E;
  const int tiles = (p.queries + kTile - 1) / kTile, begin = p.is_causal ? first / kTile : 0;
  const int key = first + warp * 16 + lane / 4;
  const HeadMask<M> mask(p, batch, head);
  auto start = [&](int tile) {
    const int at = tile % 2;
    q_tiles[at].Start(q, p.q_at.time, tile * kTile, p.queries);
    dy_tiles[at].Start(dy, p.dy_at.time, tile * kTile, p.queries);
    if (threadIdx.x < kTile) {
      const int query = tile * kTile + threadIdx.x;
      const bool is_there = query < p.queries;
      stats_tiles[at * 2 * kTile + threadIdx.x] = is_there ? stats[query] * kLog2E : INFINITY;
      stats_tiles[at * 2 * kTile + kTile + threadIdx.x] = is_there ? delta[query] : 0;
    }
    Commit();
  };
  if (begin < tiles) start(begin);
  for (int tile = begin; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      start(tile + 1);
      WaitForCopies<1>();
    } else {
      WaitForCopies<0>();
    }
    __syncthreads();
    const int at = tile % 2;
    const float* row_stats = stats_tiles + at * 2 * kTile;
    const float* row_delta = row_stats + kTile;
    Sums<kTile> weights;
    weights.Clear();
    weights.AddRows(k, q_tiles[at]);
    const bool is_cut = p.is_causal && tile * kTile < first + warp * 16 + 16;
#pragma unroll
    for (int i = 0; i < kTile / 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int column = i * 8 + lane % 4 * 2 + j % 2;
        float& w = weights.c[i][j];
        if constexpr (HeadMask<M>::kIsThere) {
          w = Exp2(mask.Apply(w * scale, tile * kTile + column, key + j / 2 * 8) - row_stats[column]);
        } else {
          w = Exp2(fmaf(w, scale, -row_stats[column]));
        }
        if (is_cut && key + j / 2 * 8 > tile * kTile + column) w = 0;
      }
    }
    dv.AddWeighted(weights, dy_tiles[at]);
    Sums<kTile> slopes;
    slopes.Clear();
    slopes.AddRows(v, dy_tiles[at]);
#pragma unroll
    for (int i = 0; i < kTile / 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int column = i * 8 + lane % 4 * 2 + j % 2;
        slopes.c[i][j] = weights.c[i][j] * (slopes.c[i][j] - row_delta[column]);
        if (mask.Hides(tile * kTile + column, key + j / 2 * 8)) slopes.c[i][j] = 0;
      }
    }
    dk.AddWeighted(slopes, q_tiles[at]);
    __syncthreads();
  }
  T* to_k = (T*)p.out + batch * p.out_at.batch + head * p.out_at.head;
  T* to_v = (T*)p.second + batch * p.second_at.batch + head * p.second_at.head;
  dk.Store(to_k, p.out_at.time, first + warp * 16, p.keys, p.scale, p.scale);
  dv.Store(to_v, p.second_at.time, first + warp * 16, p.keys, 1, 1);
}

// Gradients of 64 queries of a head: all keys that they see pass by.
template <typename T, int kSize, typename M>
__global__ void __launch_bounds__(kWarps * 32) AttentionBackwardQueries(const AttentionArguments p) {
  extern __shared__ __align__(16) unsigned char shared[];
  typedef Tile<T, kSize> Rows;
  Rows* k_tiles = (Rows*)shared;
  Rows* v_tiles = k_tiles + 2;
  const int batch = blockIdx.y / p.heads, head = blockIdx.y % p.heads;
  const int first = (gridDim.x - 1 - blockIdx.x) * kRows, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  RowOperands<T, kSize> q, dy;
  k_tiles[0].Start(HeadOf<T>(p.q, p.q_at, batch, head), p.q_at.time, first, p.queries);
  v_tiles[0].Start(HeadOf<T>(p.dy, p.dy_at, batch, head), p.dy_at.time, first, p.queries);
  Commit();
  WaitForCopies<0>();
  __syncthreads();
  q.Take(k_tiles[0]);
  dy.Take(v_tiles[0]);
  __syncthreads();

  const T* k = HeadOf<T>(p.k, p.k_at, batch, head);
  const T* v = HeadOf<T>(p.v, p.v_at, batch, head);
  const int row = first + warp * 16 + lane / 4;
  float stats[2], delta[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const bool is_there = row + r * 8 < p.queries;
    const int64 place = (int64)blockIdx.y * p.queries + row + r * 8;
    stats[r] = is_there ? p.stats[place] * kLog2E : INFINITY;
    delta[r] = is_there ? p.delta[place] : 0;
  }
  const HeadMask<M> mask(p, batch, head);
  Sums<kSize> dq;
  dq.Clear();
  const float scale = p.scale * kLog2E;
  const int last = p.is_causal ? min(p.keys, first + kRows) : p.keys;
  const int tiles = (last + kTile - 1) / kTile;
  auto start = [&](int tile) {
    k_tiles[tile % 2].Start(k, p.k_at.time, tile * kTile, p.keys);
    v_tiles[tile % 2].Start(v, p.v_at.time, tile * kTile, p.keys);
    Commit();
  };
  start(0);
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      start(tile + 1);
      WaitForCopies<1>();
    } else {
      WaitForCopies<0>();
    }
    __syncthreads();
    Sums<kTile> weights, slopes;
    weights.Clear();
    weights.AddRows(q, k_tiles[tile % 2]);
    slopes.Clear();
    slopes.AddRows(dy, v_tiles[tile % 2]);
    const bool is_cut = tile * kTile + kTile > p.keys || (p.is_causal && tile * kTile + kTile > first + warp * 16);
#pragma unroll
    for (int i = 0; i < kTile / 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int key = tile * kTile + i * 8 + lane % 4 * 2 + j % 2;
        float w;
        if constexpr (HeadMask<M>::kIsThere) {
          w = Exp2(mask.Apply(weights.c[i][j] * scale, row + j / 2 * 8, key) - stats[j / 2]);
          if (mask.Hides(row + j / 2 * 8, key)) w = 0;
        } else {
          w = Exp2(fmaf(weights.c[i][j], scale, -stats[j / 2]));
        }
        if (is_cut && (key >= p.keys || (p.is_causal && key > row + j / 2 * 8))) w = 0;
        weights.c[i][j] = w * (slopes.c[i][j] - delta[j / 2]);
      }
    }
    dq.AddWeighted(weights, k_tiles[tile % 2]);
    __syncthreads();
  }
  T* to = (T*)p.out + batch * p.out_at.batch + head * p.out_at.head;
  dq.Store(to, p.out_at.time, first + warp * 16, p.queries, p.scale, p.scale);
}
