"""The rules of use: what a program must not do, what it gets for it, and the page that explains it."""
