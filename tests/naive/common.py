"""What the twins share: 64-bit arithmetic, and the constants of the kernels' hashes."""

from __future__ import annotations

Edge = tuple[int, int]

MASK = (1 << 64) - 1  # 64-bit arithmetic wraps
GOLDEN = 0x9E3779B97F4A7C15
STIR = 0xD6E8FEB86659FD93
SECOND = 0xA0761D6478BD642F
LAST = 0xC2B2AE3D27D4EB4F
