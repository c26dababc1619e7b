"""One module a suite, each with run(bench), which returns the rows of its table."""
