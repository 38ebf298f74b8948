SELECT sku FROM products WHERE words @@ websearch_to_tsquery('english', replace(%(query)s, ' ', ' or '))
ORDER BY ts_rank(words, websearch_to_tsquery('english', replace(%(query)s, ' ', ' or '))) DESC, sku LIMIT %(depth)s
