#include "examples/digits/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace examples {
namespace {

using namespace weir;

constexpr int kSize = 28;

// A small generator whose numbers are the same everywhere (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  float Uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(Next() >> 40) * (1.0f / (1 << 24));
  }
  bool Chance(float probability) { return Uniform(0, 1) < probability; }
  // Roughly normal: the sum of a few uniform numbers, so that no library function is needed.
  float Normal() { return Uniform(-1, 1) + Uniform(-1, 1) + Uniform(-1, 1); }

 private:
  uint64_t state_;
};

struct Point {
  float x, y;
};
using Stroke = std::vector<Point>;
using Figure = std::vector<Stroke>;

// Appends part of an ellipse; angles in degrees, clockwise from the right as y points down.
void Arc(Stroke& stroke, float cx, float cy, float rx, float ry, float from, float to) {
  constexpr int kPieces = 10;
  for (int i = 0; i <= kPieces; ++i) {
    const float angle = (from + (to - from) * static_cast<float>(i) / kPieces) * std::numbers::pi_v<float> / 180;
    stroke.push_back({cx + rx * std::cos(angle), cy + ry * std::sin(angle)});
  }
}

Stroke ArcOf(float cx, float cy, float rx, float ry, float from, float to) {
  Stroke stroke;
  Arc(stroke, cx, cy, rx, ry, from, to);
  return stroke;
}

// The strokes of a digit in a unit square, in one of the ways people write it.
Figure Strokes(int digit, Random& random) {
  const bool other = random.Chance(0.35f);
  switch (digit) {
    case 0:
      return {ArcOf(0.5f, 0.5f, other ? 0.22f : 0.3f, 0.4f, -90, 270)};
    case 1:
      if (other) return {{{0.5f, 0.1f}, {0.5f, 0.9f}}};
      return {{{0.33f, 0.28f}, {0.53f, 0.1f}, {0.53f, 0.9f}}};
    case 2: {
      Stroke stroke = ArcOf(0.5f, 0.32f, 0.25f, 0.22f, -170, 40);
      stroke.push_back({0.24f, 0.88f});
      stroke.push_back({0.78f, other ? 0.86f : 0.9f});
      return {stroke};
    }
    case 3: {
      Stroke stroke = ArcOf(0.47f, 0.3f, 0.24f, 0.2f, -150, 90);
      Arc(stroke, 0.47f, 0.7f, 0.27f, 0.2f, -90, 150);
      return {stroke};
    }
    case 4:
      if (other) return {{{0.3f, 0.1f}, {0.27f, 0.52f}, {0.78f, 0.52f}}, {{0.66f, 0.15f}, {0.63f, 0.92f}}};
      return {{{0.6f, 0.1f}, {0.22f, 0.62f}, {0.8f, 0.62f}}, {{0.6f, 0.1f}, {0.6f, 0.92f}}};
    case 5: {
      Stroke stroke = {{0.72f, 0.12f}, {0.34f, 0.12f}, {0.3f, 0.46f}};
      Arc(stroke, 0.48f, 0.65f, 0.25f, 0.23f, -130, 140);
      return {stroke};
    }
    case 6: {
      Stroke stroke = {{0.64f, 0.1f}, {0.4f, 0.3f}, {0.28f, 0.55f}};
      Arc(stroke, 0.5f, 0.68f, 0.23f, 0.2f, 180, -200);
      return {stroke};
    }
    case 7: {
      Figure figure = {{{0.24f, 0.14f}, {0.76f, 0.14f}, {0.44f, 0.9f}}};
      if (other) figure.push_back({{0.36f, 0.5f}, {0.7f, 0.5f}});
      return figure;
    }
    case 8:
      return {ArcOf(0.5f, 0.3f, 0.2f, 0.19f, 90, 450), ArcOf(0.5f, 0.7f, 0.25f, 0.21f, -90, 270)};
    default: {
      Stroke stroke = ArcOf(0.49f, 0.33f, 0.22f, 0.21f, 0, -360);
      if (other) {
        stroke.push_back({0.7f, 0.9f});
      } else {
        Arc(stroke, 0.42f, 0.55f, 0.3f, 0.36f, -10, 80);
      }
      return {stroke};
    }
  }
}

// Moves, turns, slants, scales and bends a figure into the image's coordinates.
void Distort(Figure& figure, Random& random) {
  const float angle = 0.12f * random.Normal(), slant = 0.12f * random.Normal();
  const float width = 20 * random.Uniform(0.75f, 1.15f), height = 20 * random.Uniform(0.85f, 1.1f);
  const float dx = 14 + random.Uniform(-2, 2), dy = 14 + random.Uniform(-2, 2);
  const float bend = 0.05f * random.Normal(), wave = random.Uniform(0, 6.28f);
  const float c = std::cos(angle), s = std::sin(angle);
  for (Stroke& stroke : figure) {
    for (Point& p : stroke) {
      const float u = p.x - 0.5f + bend * std::sin(6 * p.y + wave) + 0.012f * random.Normal();
      const float v = p.y - 0.5f + bend * std::cos(6 * p.x + wave) + 0.012f * random.Normal();
      const float x = (u - slant * v) * width, y = v * height;
      p = {dx + c * x - s * y, dy + s * x + c * y};
    }
  }
}

// Ink on the pixels near a segment; brightest wins.
void DrawSegment(Point a, Point b, float radius, float* image) {
  const float reach = radius + 1;
  const int x0 = std::max(0, static_cast<int>(std::floor(std::min(a.x, b.x) - reach)));
  const int x1 = std::min(kSize - 1, static_cast<int>(std::ceil(std::max(a.x, b.x) + reach)));
  const int y0 = std::max(0, static_cast<int>(std::floor(std::min(a.y, b.y) - reach)));
  const int y1 = std::min(kSize - 1, static_cast<int>(std::ceil(std::max(a.y, b.y) + reach)));
  const float ux = b.x - a.x, uy = b.y - a.y, length = std::max(ux * ux + uy * uy, 1e-6f);
  for (int y = y0; y <= y1; ++y) {
    for (int x = x0; x <= x1; ++x) {
      const float px = static_cast<float>(x) - a.x, py = static_cast<float>(y) - a.y;
      const float t = std::clamp((px * ux + py * uy) / length, 0.0f, 1.0f);
      const float ex = px - t * ux, ey = py - t * uy;
      const float ink = std::clamp(radius + 0.5f - std::sqrt(ex * ex + ey * ey), 0.0f, 1.0f);
      float& pixel = image[y * kSize + x];
      pixel = std::max(pixel, ink);
    }
  }
}

void DrawDigit(int digit, Random& random, float* image) {
  Figure figure = Strokes(digit, random);
  Distort(figure, random);
  const float radius = random.Uniform(0.7f, 1.6f), darkness = random.Uniform(0.75f, 1.0f);
  std::fill(image, image + kSize * kSize, 0.0f);
  for (const Stroke& stroke : figure) {
    for (size_t i = 0; i + 1 < stroke.size(); ++i) DrawSegment(stroke[i], stroke[i + 1], radius, image);
  }
  for (int i = 0; i < kSize * kSize; ++i) {
    image[i] = std::clamp(image[i] * darkness + 0.05f * random.Normal(), 0.0f, 1.0f);
  }
}

}  // namespace

StatusOr<ExampleSet> DrawDigits(int64_t count, int64_t seed) {
  if (count < 0) return InvalidArgument("cannot draw ", count, " digits");
  const int64_t dims[] = {count, kSize, kSize, 1};
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  ExampleSet set;
  WEIR_ASSIGN_OR_RETURN(set.inputs, Tensor::Allocate(DType::kFloat, shape));
  WEIR_ASSIGN_OR_RETURN(set.labels, Tensor::Allocate(DType::kInt64, shape.Slice(0, 1)));
  for (int64_t i = 0; i < count; ++i) {
    // Each image by itself, so that a longer set begins with a shorter one.
    Random random(static_cast<uint64_t>(seed) * 0x100000001b3u + static_cast<uint64_t>(i));
    const int digit = static_cast<int>(random.Next() % 10);
    set.labels.data<int64_t>()[i] = digit;
    DrawDigit(digit, random, set.inputs.data<float>() + i * kSize * kSize);
  }
  return set;
}

}  // namespace examples
