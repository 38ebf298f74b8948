"""The experiments, a file each: `write` measures and fills a folder, `section` reads it and tells what it shows."""
