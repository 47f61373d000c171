"""Do two places hold the same: what is compared between them, and down to which rows they differ."""
