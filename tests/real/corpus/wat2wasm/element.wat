(module (elem funcref ()))
