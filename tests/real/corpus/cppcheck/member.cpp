(Vector left, Vector right) -> length;
