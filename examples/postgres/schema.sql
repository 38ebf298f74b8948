CREATE TABLE products (
  sku text PRIMARY KEY, title text, text text, price numeric,
  words tsvector GENERATED ALWAYS AS (
    setweight(to_tsvector('english', title), 'A') || to_tsvector('english', text)) STORED
);
CREATE INDEX ON products USING gin (words);
CREATE TABLE searches (id bigint PRIMARY KEY, at timestamptz, customer text, query text);
CREATE TABLE clicks (search bigint REFERENCES searches, sku text REFERENCES products, position integer);
