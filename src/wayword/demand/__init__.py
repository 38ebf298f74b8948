"""Demand: how much the people who issue a query want each document that it returns."""
