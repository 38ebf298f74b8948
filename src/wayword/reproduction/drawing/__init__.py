"""What figures are made of: scales, labels that keep apart, a sheet of Matplotlib, and one file per kind of figure."""
