SELECT s.id AS search_id, s.query, c.sku AS document, c.position AS rank, s.customer AS "user", s.at AS time
FROM searches AS s LEFT JOIN clicks AS c ON c.search = s.id WHERE s.at > :'since' ORDER BY s.at, s.id, c.position
