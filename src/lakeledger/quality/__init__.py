"""Can it be trusted: what is expected of rows and of volumes, and the verdicts."""
