"""Single operators as calls: models, their files, compiling, finding, running."""
