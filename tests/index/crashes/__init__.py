"""What the index promises after kills, power losses, full disks, I/O errors and flipped bits (docs/durability.md)."""
