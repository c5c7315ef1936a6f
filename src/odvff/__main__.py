"""`python -m odvff` is `odvff`."""

from odvff.cli import main

main()
