"""The experiments, a file each: `write` measures and fills a folder, `section` reads it and tells what it shows.

`paper`, `seeds`, `times`, `origin` and `lead` measure nothing: they tell what others measured.
"""
