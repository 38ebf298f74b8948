"""Importers: the logs of other systems as a log for `wayword run`. One file per format; `formats` lists them."""
