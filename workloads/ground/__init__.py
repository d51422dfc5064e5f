"""What everything stands on: errors, units, quantities, random streams, files and registries."""
