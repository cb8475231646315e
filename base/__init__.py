"""What everything stands on: files, storage, schemas, sources, readers and text-only baselines."""
