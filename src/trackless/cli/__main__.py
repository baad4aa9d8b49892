"""``python -m trackless.cli``."""

from trackless.cli import main

if __name__ == "__main__":
    main()
