"""Pictures and texts that are made up, always the same ones."""

import numpy as np

__all__ = ["coloured", "digits", "garments", "reviews"]

# Which of the segments top, upper left, upper right, middle, lower left, lower right and bottom a digit has.
_SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010",
             "1101011", "1101111", "1010010", "1111111", "1111011"]
_VARIANTS = 24  # of each class, before noise


def _digit(label, rng):
    picture = np.zeros((28, 28), np.float32)
    top, left, height, width = rng.randint(2, 6), rng.randint(4, 9), rng.randint(16, 20), rng.randint(8, 13)
    middle, bottom, right = top + height // 2, top + height, left + width
    lines = [((top, left), (top, right)), ((top, left), (middle, left)), ((top, right), (middle, right)),
             ((middle, left), (middle, right)), ((middle, left), (bottom, left)),
             ((middle, right), (bottom, right)), ((bottom, left), (bottom, right))]
    for has, ((y0, x0), (y1, x1)) in zip(_SEGMENTS[label], lines):
        if has == "1":
            picture[y0:y1 + 2, x0:x1 + 2] = 1.0
    return picture


# The outline of each garment: (top, bottom, left, right) of rectangles in parts of the picture.
_GARMENTS = [
    [(0.15, 0.85, 0.3, 0.7), (0.15, 0.35, 0.1, 0.9)],  # T-shirt
    [(0.1, 0.25, 0.3, 0.7), (0.1, 0.95, 0.3, 0.46), (0.1, 0.95, 0.54, 0.7)],  # trousers
    [(0.15, 0.85, 0.3, 0.7), (0.15, 0.8, 0.08, 0.25), (0.15, 0.8, 0.75, 0.92)],  # pullover
    [(0.1, 0.45, 0.38, 0.62), (0.45, 0.95, 0.25, 0.75)],  # dress
    [(0.1, 0.9, 0.25, 0.47), (0.1, 0.9, 0.53, 0.75), (0.15, 0.7, 0.08, 0.2), (0.15, 0.7, 0.8, 0.92)],  # coat
    [(0.7, 0.8, 0.1, 0.9), (0.5, 0.7, 0.6, 0.7), (0.55, 0.6, 0.2, 0.7)],  # sandal
    [(0.1, 0.9, 0.28, 0.72), (0.15, 0.5, 0.1, 0.28), (0.15, 0.5, 0.72, 0.9), (0.1, 0.2, 0.4, 0.6)],  # shirt
    [(0.5, 0.75, 0.1, 0.9), (0.4, 0.5, 0.5, 0.9)],  # sneaker
    [(0.35, 0.9, 0.15, 0.85), (0.15, 0.2, 0.35, 0.65), (0.15, 0.35, 0.35, 0.4), (0.15, 0.35, 0.6, 0.65)],  # bag
    [(0.1, 0.85, 0.5, 0.85), (0.6, 0.85, 0.1, 0.85)],  # boot
]


def _garment(label, rng):
    picture = np.zeros((28, 28), np.float32)
    shift, scale = rng.uniform(-0.05, 0.05, 2), rng.uniform(0.85, 1.1)
    for number, (top, bottom, left, right) in enumerate(_GARMENTS[label]):
        y0, y1, x0, x1 = [int(round(28 * min(1, max(0, 0.5 + (v - 0.5) * scale + shift[i // 2]))))
                          for i, v in enumerate((top, bottom, left, right))]
        picture[y0:y1, x0:x1] = 1.0 if number == 0 else 0.75
    return picture


def _shape(label, rng):
    """One of ten shapes on 32 x 32 points."""
    y, x = np.mgrid[0:32, 0:32].astype(np.float32)
    cy, cx, r = rng.uniform(13, 19), rng.uniform(13, 19), rng.uniform(8, 12)
    dy, dx = y - cy, x - cx
    far, square = np.hypot(dy, dx), np.maximum(abs(dy), abs(dx))
    shapes = [far < r, square < r * 0.8, abs(dy) + abs(dx) < r, (far < r) & (far > r * 0.55),
              (abs(dx) < r * 0.3) | (abs(dy) < r * 0.3), abs(dx) < r * 0.4, abs(dy) < r * 0.4, (dy > 0) & (far < r),
              abs(dy - dx) < r * 0.4, (square < r) & ((y.astype(int) // 4 + x.astype(int) // 4) % 2 == 0)]
    return shapes[label].astype(np.float32)


def _pick(make, classes, count, seed):
    """Labels, and for each one of the class's variants."""
    rng = np.random.RandomState(seed)
    variants = np.stack([[make(label, rng) for _ in range(_VARIANTS)] for label in range(classes)])
    labels = rng.randint(0, classes, count).astype(np.uint8)
    return variants[labels, rng.randint(0, _VARIANTS, count)], labels, rng


def _noisy(pictures, rng, strength):
    noise = rng.randint(0, strength, pictures.shape).astype(np.uint8)
    out = (pictures * (255 - strength)).astype(np.uint8)
    out += noise
    return out


def _grey(make, seed):
    def part(count, seed):
        pictures, labels, rng = _pick(make, 10, count, seed)
        return _noisy(pictures, rng, 60), labels
    return part(60000, seed), part(10000, seed + 1)


def digits():
    """Drawn digits in the shapes of MNIST."""
    return _grey(_digit, 1)


def garments():
    """Drawn clothes in the shapes of Fashion-MNIST."""
    return _grey(_garment, 11)


def coloured(classes):
    """Drawn shapes in the form of CIFAR: ten of them, and with 100 classes in ten colours."""
    def part(count, seed):
        shapes, kinds, rng = _pick(_shape, 10, count, seed)
        hues = rng.randint(0, 10, count)
        labels = kinds if classes == 10 else (kinds * 10 + hues).astype(np.uint8)
        palette = np.stack([np.cos(np.arange(10) * 0.63 + phase) * 0.45 + 0.5 for phase in (0, 2.1, 4.2)], -1)
        colour = palette[hues][:, None, None, :].astype(np.float32)
        out = np.empty((count, 32, 32, 3), np.uint8)
        for begin in range(0, count, 5000):  # so that little memory is needed
            rows = slice(begin, begin + 5000)
            inside = shapes[rows, ..., None]
            out[rows] = _noisy(inside * colour[rows] + (1 - inside) * (1 - colour[rows]) * 0.5, rng, 60)
        return out, labels[:, None]
    return part(50000, 21), part(10000, 22)


_GOOD = "good great wonderful excellent moving charming brilliant funny delightful superb loved best".split()
_BAD = "bad awful boring terrible dull stupid poor weak ridiculous worst hated waste".split()
_FILL = "the a and of to is in it this that film movie was as with but story actors plot scene ending music one all".split()


def review_words():
    """{word: number}, the most frequent word is number 1."""
    words = _FILL + [w for pair in zip(_GOOD, _BAD) for w in pair]
    words += [f"word{i}" for i in range(len(words), 5000)]
    return {word: i + 1 for i, word in enumerate(words)}


def reviews(count, seed):
    """Lists of word numbers, whose praise or blame is the label."""
    rng, index = np.random.RandomState(seed), review_words()
    tone = [np.array([index[w] for w in words]) for words in (_BAD, _GOOD)]
    labels = rng.randint(0, 2, count)
    lengths = rng.randint(20, 200, count)
    texts = np.empty(count, object)
    for i, (label, length) in enumerate(zip(labels, lengths)):
        words = np.minimum(rng.zipf(1.3, length), 5000)
        strong = rng.rand(length) < 0.12
        side = np.where(rng.rand(length) < 0.8, label, 1 - label)
        chosen = rng.randint(0, len(_GOOD), length)
        words = np.where(strong, np.where(side == 1, tone[1][chosen], tone[0][chosen]), words)
        texts[i] = words.tolist()
    return texts, labels.astype(np.int64)
