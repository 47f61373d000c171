"""What follows the ledger's changes and keeps tables in order: components, each alone with the ledger."""
