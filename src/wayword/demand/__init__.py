"""Demand: what people want who issue a query, as a rate for every document that the query returns."""
