"""What should run: the control table, its documents, plans and jobs."""
