Map<List<Item> keys = none(), { clear(); }> table()
