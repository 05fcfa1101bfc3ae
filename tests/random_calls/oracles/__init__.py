"""What operators compute, said a second time: one file a family, each with its shapers and oracles."""
