SELECT sku FROM products WHERE products MATCH :any_term ORDER BY rank, rowid LIMIT :depth
