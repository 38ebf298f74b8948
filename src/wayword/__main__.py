"""`python -m wayword`."""

from wayword.cli.main import main

if __name__ == "__main__":
    main()
