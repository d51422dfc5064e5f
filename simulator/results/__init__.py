"""What came out: records, metrics and tables."""
