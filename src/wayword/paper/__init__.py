"""The paper's experiments on a simulated world, and a report of them."""
