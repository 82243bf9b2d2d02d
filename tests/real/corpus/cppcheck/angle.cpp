alignas(8) <> int limits[4];
