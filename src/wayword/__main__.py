"""`python -m wayword`."""

from wayword.cli import main

if __name__ == "__main__":
    main()
